/* sanitizers.h: whether the compiler adds AddressSanitizer or ThreadSanitizer: 1 or 0. */
#ifndef HD_SANITIZERS_H
#define HD_SANITIZERS_H

#if defined(__has_feature)
#define HD_HAS_FEATURE(name) __has_feature(name)
#else
#define HD_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || HD_HAS_FEATURE(address_sanitizer)
#define HD_ASAN 1
#else
#define HD_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__) || HD_HAS_FEATURE(thread_sanitizer)
#define HD_TSAN 1
#else
#define HD_TSAN 0
#endif

#endif
