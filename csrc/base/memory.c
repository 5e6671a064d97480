#include "base/memory.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"

hd_account *hd_account_new(void) {
    hd_account *account = calloc(1, sizeof *account);
    if (account != NULL) account->refs = 1;
    return account;
}

void hd_account_retain(hd_account *account) {
    account->refs++;
}

void hd_account_release(hd_account *account) {
    if (account == NULL || --account->refs > 0) return;
    free(account);
}

static void *take(size_t size) {
    void *block = NULL;
    return posix_memalign(&block, 64, size) == 0 ? block : NULL;
}

size_t hd_alloc_size(size_t size) {
    return size;
}

static void *refuse(hd_ctx *cx, size_t size, const char *why) {
    return hd_fail_null(cx, HD_ENOMEM, "memory: %zu bytes wanted, %s", size, why);
}

static bool must_fail(hd_account *account) {
    return account->fail_at > 0 && --account->fail_at == 0;
}

void *hd_alloc(hd_ctx *cx, size_t size) {
    hd_account *account = cx->account;
    if (must_fail(account)) return refuse(cx, size, "refused by a test");
    if (size > (size_t)INT64_MAX / 2) return refuse(cx, size, "more than an address can name");
    if (account->limit > 0 && account->live + (int64_t)size > account->limit)
        return hd_fail_null(cx, HD_ENOMEM, "memory: %zu bytes wanted, %lld of the limit of %lld are in use",
                            size, (long long)account->live, (long long)account->limit);
    void *block = take(size);
    if (block == NULL) return refuse(cx, size, "the system has no more");
    int64_t charged = (int64_t)malloc_usable_size(block);
    account->live += charged;
    account->allocated += charged;
    if (account->live > account->peak) account->peak = account->live;
    return block;
}

void *hd_alloc_zeroed(hd_ctx *cx, size_t size) {
    void *block = hd_alloc(cx, size);
    if (block != NULL) memset(block, 0, size);
    return block;
}

void hd_free(hd_account *account, void *block) {
    if (block == NULL) return;
    account->live -= (int64_t)malloc_usable_size(block);
    free(block);
}

int64_t hd_pool_idle_bytes(void) {
    return 0;
}
int64_t hd_pool_trim(void) {
    return 0;
}

bool hd_mul_fits(int64_t a, int64_t b, int64_t *product) {
    return !__builtin_mul_overflow(a, b, product);
}
