/* order_wide.c: whole rows of elements of 8 bytes in order, by digits of items of 64 bits.
 *
 * Keys are counted from the least of the row. Where there is scratch for them above the place, that is the item; else
 * items of the lower halves are put in order, and then, which keeps equal ones as they are, of the upper halves.
 */
#include <string.h>

#include "base/parallel.h"
#include "ops/order/order.h"

#define MOST_BITS 11 /* of a digit */

typedef struct wide_row {
    const hd_order *o;
    const void *x;
    uint64_t *keys, *a, *b;
    int64_t *counts; /* [block][digit]; before there are digits, the least and the largest key */
    int64_t *places;
    int64_t block, count;
    uint64_t least;
    int place_bits; /* of an item, the lowest */
    int shift, bits;
} wide_row;

/* On all threads, or where there is no context, on this one. */
static hd_status each(hd_ctx *cx, wide_row *w, int64_t n, void (*f)(void *, int64_t, int64_t, int)) {
    if (cx) return hd_parallel_ranges(cx, n, w->block, f, w);
    f(w, 0, n, 0);
    return HD_OK;
}

static int64_t *counts_of(const wide_row *w, int64_t first) {
    return w->counts + (first / w->block << MOST_BITS);
}

static void key_block(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const wide_row *w = arg;
    uint64_t least = UINT64_MAX, most = 0;
    w->o->kernels->order_keys[w->o->dtype](last - first, (const uint64_t *)w->x + first, w->o->descending,
                                           w->keys + first);
    for (int64_t i = first; i < last; i++) {
        least = w->keys[i] < least ? w->keys[i] : least;
        most = w->keys[i] > most ? w->keys[i] : most;
    }
    counts_of(w, first)[0] = (int64_t)least;
    counts_of(w, first)[1] = (int64_t)most;
}

static void item_block(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const wide_row *w = arg;
    for (int64_t i = first; i < last; i++) w->a[i] = (w->keys[i] - w->least) << w->place_bits | (uint64_t)i;
}

/* Items of lower halves become those of the upper halves. */
static void upper_block(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const wide_row *w = arg;
    for (int64_t i = first; i < last; i++) {
        uint64_t place = w->a[i] & UINT32_MAX;
        w->a[i] = (w->keys[place] - w->least) >> 32 << 32 | place;
    }
}

static void count_block(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const wide_row *w = arg;
    int64_t *counts = counts_of(w, first);
    uint64_t mask = (UINT64_C(1) << w->bits) - 1;
    memset(counts, 0, sizeof *counts << w->bits);
    for (int64_t i = first; i < last; i++) counts[w->a[i] >> w->shift & mask]++;
}

static void deal_block(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const wide_row *w = arg;
    int64_t *to = counts_of(w, first);
    uint64_t mask = (UINT64_C(1) << w->bits) - 1;
    for (int64_t i = first; i < last; i++) w->b[to[w->a[i] >> w->shift & mask]++] = w->a[i];
}

static void place_block(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const wide_row *w = arg;
    uint64_t mask = (UINT64_C(1) << w->place_bits) - 1;
    for (int64_t i = first; i < last; i++) w->places[i] = (int64_t)(w->a[i] & mask) + 1;
}

/* Counts become where each block's items with a digit go; false when all have one digit. */
static bool begin_digits(const wide_row *w) {
    int64_t before = 0, n = w->o->n;
    for (int64_t d = 0; d < 1 << w->bits; d++) {
        int64_t start = before;
        for (int64_t first = 0; first < n; first += w->block) {
            int64_t *c = counts_of(w, first) + d, count = *c;
            *c = before;
            before += count;
        }
        if (before - start == n) return false;
    }
    return true;
}

/* By `width` bits from `shift` on, the lowest digit first. */
static hd_status sort_bits(hd_ctx *cx, wide_row *w, int shift, int width) {
    int digits = (width + MOST_BITS - 1) / MOST_BITS;
    w->bits = digits ? (width + digits - 1) / digits : 0;
    for (w->shift = shift; digits > 0; digits--, w->shift += w->bits) {
        hd_status status = each(cx, w, w->o->n, count_block);
        if (status) return status;
        if (!begin_digits(w)) continue;
        status = each(cx, w, w->o->n, deal_block);
        if (status) return status;
        uint64_t *t = w->a;
        w->a = w->b, w->b = t;
    }
    return HD_OK;
}

static int bits_of(uint64_t n) {
    return n ? 64 - __builtin_clzll(n) : 0;
}

/* What key_block found: the least, and in how many bits the others are counted from it. */
static int key_width(wide_row *w) {
    uint64_t most = 0;
    w->least = UINT64_MAX;
    for (int64_t first = 0; first < w->o->n; first += w->block) {
        uint64_t low = (uint64_t)counts_of(w, first)[0], high = (uint64_t)counts_of(w, first)[1];
        w->least = low < w->least ? low : w->least;
        most = high > most ? high : most;
    }
    return bits_of(most - w->least);
}

static hd_status order(hd_ctx *cx, wide_row *w) {
    int64_t n = w->o->n;
    hd_status status = each(cx, w, n, key_block);
    if (status) return status;
    int width = key_width(w), place_bits = bits_of((uint64_t)n - 1);
    bool halves = width + place_bits > 64;
    w->place_bits = halves ? 32 : place_bits;
    status = each(cx, w, n, item_block);
    if (!status) status = sort_bits(cx, w, w->place_bits, halves ? 32 : width);
    if (!status && halves) status = each(cx, w, n, upper_block);
    if (!status && halves) status = sort_bits(cx, w, 32, width - 32);
    return status ? status : each(cx, w, w->count, place_block);
}

static wide_row begin(const hd_order *o, const void *x, int64_t count, uint64_t *scratch, int64_t *places) {
    return (wide_row){.o = o,
                      .x = x,
                      .keys = scratch,
                      .a = scratch + o->n,
                      .b = scratch + 2 * o->n,
                      .places = places,
                      .block = o->n,
                      .count = count};
}

void hd_order_wide_row(const hd_order *o, const void *x, int64_t count, void *scratch, int64_t *places) {
    int64_t counts[1 << MOST_BITS];
    wide_row w = begin(o, x, count, scratch, places);
    w.counts = counts;
    order(NULL, &w);
}

hd_status hd_order_wide_long(hd_ctx *cx, const hd_order *o, const void *x, int64_t count, int64_t *places) {
    int64_t block = o->n / 64 < HD_LONG_ROW ? HD_LONG_ROW : o->n / 64;
    int64_t blocks = (o->n + block - 1) / block;
    int64_t *counts = hd_alloc(cx, sizeof *counts * (size_t)blocks << MOST_BITS);
    uint64_t *scratch = counts ? hd_alloc(cx, (size_t)(3 * o->n) * sizeof *scratch) : NULL;
    hd_status status = scratch ? HD_OK : cx->error.status;
    if (scratch) {
        wide_row w = begin(o, x, count, scratch, places);
        w.block = block;
        w.counts = counts;
        status = order(cx, &w);
    }
    hd_free(cx->account, counts);
    hd_free(cx->account, scratch);
    return status;
}
