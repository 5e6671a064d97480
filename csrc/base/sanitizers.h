/* sanitizers.h: HD_ASAN and HD_TSAN are 1 in a build with AddressSanitizer or ThreadSanitizer, else 0.
 * gcc defines a macro for each sanitizer; clang answers __has_feature.
 *
 * AddressSanitizer checks only the bounds of blocks that malloc made. So under it memory.c asks malloc for
 * every block, as large as it was wanted, and tensor.c keeps no elements behind a storage's record: in the
 * pool, a write beyond one block would land in another block and go unnoticed.
 */
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
