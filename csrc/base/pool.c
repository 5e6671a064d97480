#include "base/pool.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/memory.h"
#include "base/pages.h"

enum {
    LARGEST_SLOT = 32 * 1024,
    CLASSES = HD_FRONT_CLASSES + 5 * 8 + 1, /* eight to each power of two between 1 KB and 32 KB */
    FIRST_BLOCK = 128, /* offset of the first block in a slab, behind the slab's record */
    RUN_BLOCK = 64,    /* offset of the block in a run */
    SLAB_BYTES = 64 * 1024,
    SLAB_SLOTS = 8, /* fewest slots of a slab, if they are large */
};

/* A slab is a run of pages: this record, then its slots. A slot is either in use, in the chain `free`, or was
 * never handed out (number `fresh` or higher). Slots are not chained before their first use, so a new slab
 * touches only the pages that it needs. */
typedef struct hd_slab {
    hd_run *run;
    struct hd_slab *previous, *next;    /* in the list of slabs of this class with free slots */
    void *free;                         /* returned blocks, chained through their first word */
    unsigned class, slots, used, fresh; /* fresh: slots from this one on were never handed out */
    bool listed;
} hd_slab;

_Static_assert(sizeof(hd_slab) + sizeof(hd_block_record) <= FIRST_BLOCK, "a slab's record before its blocks");
_Static_assert(sizeof(hd_block_record) == 16, "a block's record is 16 bytes");

/* The lock also guards the pages below (pages.c). */
static struct pool {
    pthread_mutex_t lock;
    hd_slab *with_room[CLASSES]; /* slabs with free slots, by class */
    size_t out;                  /* bytes of slots and runs that are handed out */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- classes ------------------------------------------------------------------------------------------- */

/* 64, 128, ... 1024; then steps of an eighth: 1152, 1280, ... 2048, 2304, ... 32768. So a slot is at most
 * an eighth larger than what was asked for, except for the smallest. */
static size_t slot_size(unsigned class) {
    if (class <= HD_FRONT_CLASSES) return (size_t) class * 64;
    unsigned step = class - HD_FRONT_CLASSES - 1;
    return (size_t)(128 + 16 * (step % 8 + 1)) * 8 << step / 8;
}

/* 0 if the size needs a run of its own. */
static unsigned class_of(size_t size) {
    size_t slot = size + sizeof(hd_block_record);
    if (slot <= 64 * HD_FRONT_CLASSES) return (unsigned)hd_front_class(size);
    if (slot > LARGEST_SLOT) return 0;
    int log = 63 - __builtin_clzll(slot - 1); /* slot lies in (2^log, 2^(log+1)] */
    unsigned eighth = (unsigned)((slot - 1) >> (log - 3) & 7);
    return HD_FRONT_CLASSES + 1 + (unsigned)(log - 10) * 8 + eighth;
}

/* The pages of a run, rounded up in steps of at most 1/32 of the size, so that blocks of nearly equal
 * sizes can reuse each other's runs. */
static size_t run_pages(size_t size) {
    size_t pages = (size + RUN_BLOCK + HD_PAGE_SIZE - 1) / HD_PAGE_SIZE;
    size_t unit = (size_t)1 << (63 - __builtin_clzll(pages));
    unit = unit >= 32 ? unit / 32 : 1;
    return (pages + unit - 1) / unit * unit;
}

size_t hd_pool_size(size_t size) {
    unsigned class = class_of(size);
    return class != 0 ? slot_size(class) : run_pages(size) * HD_PAGE_SIZE;
}

size_t hd_pool_size_of(void *block) {
    const hd_block_record *record = hd_block_record_of(block);
    return record->class != 0 ? slot_size(record->class) : record->run->pages * HD_PAGE_SIZE;
}

/* ---- the process: forks, and unloading --------------------------------------------------------- */

static void lock_pool(void) {
    pthread_mutex_lock(&pool.lock);
}
static void unlock_pool(void) {
    pthread_mutex_unlock(&pool.lock);
}

/* fork copies the lock but only the calling thread. If another thread held the lock, the child could never
 * take it; so the thread that forks takes it first. */
static void watch_forks(void) {
    pthread_atfork(lock_pool, unlock_pool, unlock_pool);
}

static void enter(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    lock_pool();
}

/* When the library is unloaded, its idle memory goes back to the system. */
__attribute__((destructor)) static void leave_nothing_idle(void) {
    hd_pool_trim();
}

/* ---- slabs ----------------------------------------------------------------------------------- */

static void list_slab(hd_slab *slab) {
    hd_slab **head = &pool.with_room[slab->class];
    slab->listed = true;
    slab->previous = NULL;
    slab->next = *head;
    if (*head != NULL) (*head)->previous = slab;
    *head = slab;
}

static void unlist_slab(hd_slab *slab) {
    slab->listed = false;
    if (slab->next != NULL) slab->next->previous = slab->previous;
    if (slab->previous != NULL)
        slab->previous->next = slab->next;
    else
        pool.with_room[slab->class] = slab->next;
}

static hd_slab *slab_new(unsigned class) {
    size_t slot = slot_size(class);
    size_t slots = SLAB_BYTES / slot > SLAB_SLOTS ? SLAB_BYTES / slot : SLAB_SLOTS;
    size_t pages = (FIRST_BLOCK + slots * slot + HD_PAGE_SIZE - 1) / HD_PAGE_SIZE;
    hd_run *run = hd_pages_take(HD_HEAP_SLABS, pages);
    if (run == NULL) return NULL;
    hd_slab *slab = (hd_slab *)run->base;
    slots = (run->pages * HD_PAGE_SIZE - FIRST_BLOCK + sizeof(hd_block_record)) / slot;
    *slab = (hd_slab){.run = run, .class = class, .slots = (unsigned)slots};
    list_slab(slab);
    return slab;
}

static void *fresh_block(hd_slab *slab) {
    char *block = (char *)slab + FIRST_BLOCK + slab->fresh++ * slot_size(slab->class);
    hd_block_record *record = hd_block_record_of(block);
    record->class = slab->class;
    record->slab = slab;
    return block;
}

static void *take_slot(unsigned class) {
    hd_slab *slab = pool.with_room[class];
    if (slab == NULL) slab = slab_new(class);
    if (slab == NULL) return NULL;
    void *block = slab->free;
    if (block != NULL)
        slab->free = *hd_chain_next(block);
    else
        block = fresh_block(slab);
    if (++slab->used == slab->slots) unlist_slab(slab);
    pool.out += slot_size(class);
    return block;
}

static void give_slot(void *block) {
    hd_slab *slab = hd_block_record_of(block)->slab;
    pool.out -= slot_size(slab->class);
    *hd_chain_next(block) = slab->free;
    slab->free = block;
    if (!slab->listed) list_slab(slab);
    /* An empty slab is given back, unless it is the only one of its class with free slots: the next block may
     * be wanted at once. */
    if (--slab->used > 0 || (slab->next == NULL && slab->previous == NULL)) return;
    unlist_slab(slab);
    hd_pages_give(slab->run);
}

int hd_pool_take_chain(unsigned class, int count, void **chain) {
    int taken = 0;
    *chain = NULL;
    enter();
    for (void *block; taken < count && (block = take_slot(class)) != NULL; taken++) {
        *hd_chain_next(block) = *chain;
        *chain = block;
    }
    unlock_pool();
    return taken;
}

void hd_pool_give_chain(void *chain) {
    lock_pool();
    for (void *next; chain != NULL; chain = next) {
        next = *hd_chain_next(chain);
        give_slot(chain);
    }
    unlock_pool();
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void *take_run(size_t size) {
    hd_run *run = hd_pages_take(HD_HEAP_LARGE, run_pages(size));
    if (run == NULL) return NULL;
    void *block = run->base + RUN_BLOCK;
    hd_block_record *record = hd_block_record_of(block);
    record->class = 0;
    record->run = run;
    pool.out += run->pages * HD_PAGE_SIZE;
    return block;
}

static void give_run(hd_run *run) {
    pool.out -= run->pages * HD_PAGE_SIZE;
    hd_pages_give(run);
}

void *hd_pool_take(size_t size) {
    unsigned class = class_of(size);
    enter();
    void *block = class != 0 ? take_slot(class) : take_run(size);
    unlock_pool();
    return block;
}

void hd_pool_give(void *block) {
    const hd_block_record *record = hd_block_record_of(block);
    lock_pool();
    if (record->class != 0)
        give_slot(block);
    else
        give_run(record->run);
    unlock_pool();
}

/* ---- asking ---------------------------------------------------------------------------------- */

int64_t hd_pool_idle_bytes(void) {
    lock_pool();
    int64_t idle = (int64_t)(hd_pages_touched() - pool.out);
    unlock_pool();
    return idle;
}

static void drop_empty_slabs(void) {
    for (unsigned class = 1; class < CLASSES; class ++) {
        for (hd_slab *slab = pool.with_room[class], *next; slab != NULL; slab = next) {
            next = slab->next;
            if (slab->used > 0) continue;
            unlist_slab(slab);
            hd_pages_give(slab->run);
        }
    }
}

int64_t hd_pool_trim(void) {
    lock_pool();
    drop_empty_slabs();
    int64_t given = (int64_t)hd_pages_trim();
    unlock_pool();
    return given;
}
