/* pool.h: the process-wide pool of blocks under memory.c. It knows sizes, not accounts.
 *
 * Every block lies on a multiple of 64 bytes, behind a record of 16 bytes. Small blocks are slots of
 * slabs, one class of size a slab; larger ones are runs of pages.
 */
#ifndef HD_POOL_H
#define HD_POOL_H

#include <stddef.h>
#include <stdint.h>

typedef struct hd_block_record {
    uint32_t class; /* 0: a run of pages */
    union {
        struct hd_slab *slab;
        struct hd_run *run;
    };
} hd_block_record;

/* The classes up to this are multiples of 64 bytes and pass through the front lists of accounts. */
#define HD_FRONT_CLASSES 16

static inline hd_block_record *hd_block_record_of(void *block) {
    return (hd_block_record *)block - 1;
}
static inline size_t hd_front_class(size_t size) {
    return (size + sizeof(hd_block_record) + 63) / 64;
}

void *hd_pool_take(size_t size); /* NULL: the system gives no more */
void hd_pool_give(void *block);
size_t hd_pool_size(size_t size);    /* bytes that hd_pool_take(size) takes */
size_t hd_pool_size_of(void *block); /* the same of a block */

/* Up to count blocks of a class at once, chained through their first word; returns how many. */
int hd_pool_take_chain(unsigned class, int count, void **chain);
void hd_pool_give_chain(void *chain);

static inline void **hd_chain_next(void *block) {
    return block;
}

#endif
