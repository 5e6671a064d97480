#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/sanitizers.h"

#if HD_ASAN
#include <malloc.h>
#else
#include "base/pool.h"
#endif

#if HD_ASAN

/* ---- blocks: from libc, exactly as large as they are wanted (sanitizers.h) --------------------- */

static hd_account *account_new(void) {
    return calloc(1, sizeof(hd_account));
}
static void account_free(hd_account *account) {
    free(account);
}

static void *take(hd_account *account, size_t size) {
    (void)account;
    void *block;
    return posix_memalign(&block, 64, hd_alloc_size(size)) == 0 ? block : NULL;
}

static int64_t give(hd_account *account, void *block) {
    (void)account;
    int64_t size = (int64_t)malloc_usable_size(block);
    free(block);
    return size;
}

size_t hd_alloc_size(size_t size) {
    return size > 0 ? size : 1;
}

#else

/* ---- blocks: from the pool, the smallest through the account ----------------------------------- */

/* Free blocks of one class at hand. An account is used by one thread at a time, so they need no lock. An
 * empty list takes FRONT_BATCH blocks from the pool; a list beyond FRONT_MOST gives as many back. The
 * distance between the two keeps a loop that allocates and frees from going to the pool each time. */
typedef struct front {
    void *chain;
    int count;
} front;

enum { FRONT_BATCH = 32, FRONT_MOST = 3 * FRONT_BATCH };

typedef struct fronted_account {
    hd_account account;
    front fronts[HD_FRONT_CLASSES + 1]; /* by class; 0 is empty */
} fronted_account;

static hd_account *account_new(void) {
    fronted_account *fronted = calloc(1, sizeof *fronted);
    return fronted != NULL ? &fronted->account : NULL;
}

static void account_free(hd_account *account) {
    fronted_account *fronted = (fronted_account *)account;
    for (size_t class = 1; class <= HD_FRONT_CLASSES; class ++)
        hd_pool_give_chain(fronted->fronts[class].chain);
    free(fronted);
}

static front *front_of(hd_account *account, size_t class) {
    return &((fronted_account *)account)->fronts[class];
}

static void *pop(front *f) {
    void *block = f->chain;
    f->chain = *hd_chain_next(block);
    f->count--;
    return block;
}

static void push(front *f, void *block) {
    *hd_chain_next(block) = f->chain;
    f->chain = block;
    f->count++;
}

static void *take(hd_account *account, size_t size) {
    size_t class = hd_front_class(size);
    if (class > HD_FRONT_CLASSES) return hd_pool_take(size);
    front *f = front_of(account, class);
    if (f->count == 0) f->count = hd_pool_take_chain((unsigned)class, FRONT_BATCH, &f->chain);
    return f->count > 0 ? pop(f) : NULL;
}

static void shorten(front *f) {
    void *surplus = NULL;
    for (int i = 0; i < FRONT_BATCH; i++) {
        void *block = pop(f);
        *hd_chain_next(block) = surplus;
        surplus = block;
    }
    hd_pool_give_chain(surplus);
}

static int64_t give(hd_account *account, void *block) {
    unsigned class = hd_block_record_of(block)->class;
    if (class == 0 || class > HD_FRONT_CLASSES) {
        int64_t size = (int64_t)hd_pool_size_of(block);
        hd_pool_give(block);
        return size;
    }
    front *f = front_of(account, class);
    push(f, block);
    if (f->count > FRONT_MOST) shorten(f);
    return (int64_t) class * 64;
}

size_t hd_alloc_size(size_t size) {
    return hd_pool_size(size);
}

#endif

/* ---- accounts ------------------------------------------------------------------------------------------ */

hd_account *hd_account_new(void) {
    hd_account *account = account_new();
    if (account != NULL) account->refs = 1;
    return account;
}

void hd_account_retain(hd_account *account) {
    account->refs++;
}

void hd_account_release(hd_account *account) {
    if (account != NULL && --account->refs == 0) account_free(account);
}

/* ---- allocation ------------------------------------------------------------------------------ */

static void *refuse(hd_ctx *cx, size_t size, const char *why) {
    return hd_fail_null(cx, HD_ENOMEM, "out of memory: %zu bytes wanted, %s", size, why);
}

static void *refuse_by_limit(hd_ctx *cx, size_t size) {
    return hd_fail_null(cx, HD_ENOMEM, "out of memory: %zu bytes wanted, %lld of the limit of %lld in use",
                        size, (long long)cx->account->live, (long long)cx->account->limit);
}

static bool must_fail(hd_account *account) {
    return account->fail_at > 0 && --account->fail_at == 0;
}

static void charge(hd_account *account, int64_t size) {
    account->live += size;
    account->allocated += size;
    if (account->live > account->peak) account->peak = account->live;
}

void *hd_alloc(hd_ctx *cx, size_t size) {
    hd_account *account = cx->account;
    if (must_fail(account)) return refuse(cx, size, "refused as a test asked");
    /* Up to a quarter of INT64_MAX, no sum or rounding of sizes below can overflow. */
    if (size > (size_t)INT64_MAX / 4) return refuse(cx, size, "more than there can be");
    int64_t charged = (int64_t)hd_alloc_size(size);
    if (account->limit > 0 && account->live + charged > account->limit) return refuse_by_limit(cx, size);
    void *block = take(account, size);
    if (block == NULL) return refuse(cx, size, "the system has no more");
    charge(account, charged);
    return block;
}

void *hd_alloc_zeroed(hd_ctx *cx, size_t size) {
    void *block = hd_alloc(cx, size);
    if (block != NULL) memset(block, 0, size);
    return block;
}

void *hd_alloc_found(hd_ctx *cx, size_t size) {
    return cx->shapes_only ? hd_alloc_zeroed(cx, size) : hd_alloc(cx, size);
}

void hd_free(hd_account *account, void *block) {
    if (block != NULL) account->live -= give(account, block);
}

bool hd_mul_fits(int64_t a, int64_t b, int64_t *product) {
    return !__builtin_mul_overflow(a, b, product);
}
