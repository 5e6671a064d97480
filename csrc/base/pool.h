/* pool.h: the process-wide pool of memory blocks, used by memory.c. Any thread may call it.
 *
 * A block starts at a multiple of 64 bytes (a cache line, and the widest vector); a record of 16 bytes
 * stands before it. Blocks up to 32 KB are slots of a slab; a slab has slots of one size, its class. Larger
 * blocks are runs of pages (pages.h). Freed blocks stay in the pool, because the first touch of fresh memory
 * costs more than most operations on it.
 */
#ifndef HD_POOL_H
#define HD_POOL_H

#include <stddef.h>
#include <stdint.h>

typedef struct hd_block_record {
    uint32_t class; /* of its slab; 0: the block is a run of pages */
    union {
        struct hd_slab *slab;
        struct hd_run *run;
    };
} hd_block_record;

/* Classes 1 .. HD_FRONT_CLASSES have slots of that many times 64 bytes. Their free blocks are also kept
 * in lists of each account (memory.c), where no lock is needed. */
#define HD_FRONT_CLASSES 16

static inline hd_block_record *hd_block_record_of(void *block) {
    return (hd_block_record *)block - 1;
}
static inline size_t hd_front_class(size_t size) {
    return (size + sizeof(hd_block_record) + 63) / 64;
}

void *hd_pool_take(size_t size); /* NULL: the system gives no more */
void hd_pool_give(void *block);
size_t hd_pool_size(size_t size);    /* bytes that a block of this size takes, its record included */
size_t hd_pool_size_of(void *block); /* bytes that this block takes */

/* Takes up to count blocks of a class under one lock and chains them through their first word; returns how
 * many there are. */
int hd_pool_take_chain(unsigned class, int count, void **chain);
void hd_pool_give_chain(void *chain);

static inline void **hd_chain_next(void *block) {
    return block;
}

#endif
