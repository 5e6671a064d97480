/* memory.h: allocation of everything that tensors and operations need.
 *
 * Blocks come from a pool of the process (pool.h), aligned to 64 bytes. The pool keeps freed blocks for
 * reuse and gives back to the kernel what was not needed for long. Every context has an account, which
 * counts its bytes and keeps some of the smallest free blocks at hand, without a lock. Under
 * AddressSanitizer every block comes from malloc.
 */
#ifndef HD_MEMORY_H
#define HD_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hd_ctx;

/* Refcounted, because storage may outlive the context that made it. */
typedef struct hd_account {
    int refs;
    int64_t live;      /* bytes handed out and not returned */
    int64_t peak;      /* largest live so far */
    int64_t limit;     /* 0: none */
    int64_t allocated; /* bytes ever handed out: the collector's clock */
    int64_t fail_at;   /* tests: the n-th allocation from now fails (counts down); 0: never */
} hd_account;

hd_account *hd_account_new(void);
void hd_account_retain(hd_account *account);
void hd_account_release(hd_account *account);

/* NULL on failure; the message in cx says how many bytes were wanted and why they were refused. Size 0
 * gives a valid block. */
void *hd_alloc(struct hd_ctx *cx, size_t size);
void *hd_alloc_zeroed(struct hd_ctx *cx, size_t size);
/* For results of parallel loops that their caller reads: zeros if the loops may be skipped (cx->shapes_only). */
void *hd_alloc_found(struct hd_ctx *cx, size_t size);
/* Needs no context, because a storage may be freed after its context. NULL is fine. */
void hd_free(hd_account *account, void *block);
/* Bytes that hd_alloc(size) takes from the pool (the size class). */
size_t hd_alloc_size(size_t size);

/* Whole process: bytes held by the pool and not handed out. */
int64_t hd_pool_idle_bytes(void);
/* Gives idle memory back to the kernel; returns the bytes given back. */
int64_t hd_pool_trim(void);

/* *product = a * b; false if it does not fit in int64_t. */
bool hd_mul_fits(int64_t a, int64_t b, int64_t *product);

#endif
