/* order.c: items of 64 bits for elements of up to 4 bytes, of 128 bits for those of 8 (whole rows of those: order_wide.c). */
#include "ops/order/order.h"

#include <string.h>

#include "base/parallel.h"

#define RANKED 256 /* keys made at a time */
#define FEW 64     /* items that are inserted one by one */
#define MANY 4096  /* items whose digits are MOST_BITS wide */
#define MOST_BITS 11

/* A buffer that keeps the best `count` of n; n when that would be no smaller. */
static int64_t buffer_size(int64_t n, int64_t count) {
    int64_t size = 4 * count < 64 ? 64 : 4 * count;
    return count > n / 4 || size > n ? n : size;
}

#define NAME(name) name##_narrow
#define KEY_BITS 32
#define item uint64_t
#define key uint32_t
#include "ops/order/order_body.h"
#undef NAME
#undef KEY_BITS
#undef item
#undef key

#define NAME(name) name##_wide
#define KEY_BITS 64
#define item unsigned __int128
#define key uint64_t
#include "ops/order/order_body.h"
#undef NAME
#undef KEY_BITS
#undef item
#undef key

static bool is_wide(const hd_order *o) {
    return hd_dtype_size(o->dtype) == 8;
}

static size_t item_size(const hd_order *o) {
    return is_wide(o) ? 16 : 8;
}

size_t hd_order_scratch(const hd_order *o, int64_t count) {
    return (size_t)(2 * buffer_size(o->n, count)) * item_size(o);
}

void hd_order_row(const hd_order *o, const void *x, int64_t count, void *scratch, int64_t *places) {
    if (is_wide(o) && o->n > FEW && buffer_size(o->n, count) == o->n)
        hd_order_wide_row(o, x, count, scratch, places);
    else if (is_wide(o))
        order_row_wide(o, x, count, scratch, places);
    else
        order_row_narrow(o, x, count, scratch, places);
}

/* ---- one long row ----------------------------------------------------------------------------- */

static hd_status sort_long(hd_ctx *cx, const hd_order *o, const void *x, int64_t count, int64_t *places) {
    if (is_wide(o)) return hd_order_wide_long(cx, o, x, count, places);
    int64_t block = o->n / 64 < HD_LONG_ROW ? HD_LONG_ROW : o->n / 64;
    int64_t blocks = (o->n + block - 1) / block;
    int64_t *counts = hd_alloc(cx, sizeof *counts * (size_t)blocks << MOST_BITS);
    uint64_t *items = counts ? hd_alloc(cx, (size_t)(2 * o->n) * sizeof *items) : NULL;
    hd_status status = items ? HD_OK : cx->error.status;
    if (items) {
        long_row_narrow l = {o, x, items, items + o->n, counts, places, block, count, 0, 0};
        status = sort_long_narrow(cx, &l);
    }
    hd_free(cx->account, counts);
    hd_free(cx->account, items);
    return status;
}

static hd_status best_long(hd_ctx *cx, const hd_order *o, const void *x, int64_t count, int64_t *places) {
    const int64_t block = HD_LONG_ROW, blocks = (o->n + block - 1) / block;
    int64_t size = buffer_size(block, count);
    size_t buffers = (size_t)(blocks * 2 * size), finds = (size_t)(blocks * count);
    char *scratch = hd_alloc(cx, (buffers + finds) * item_size(o));
    if (!scratch) return cx->error.status;
    hd_status status;
    if (is_wide(o)) {
        unsigned __int128 *items = (unsigned __int128 *)scratch;
        long_row_wide l = {o, x, items, items + buffers, NULL, places, block, count, size, 0};
        status = best_long_wide(cx, &l);
    } else {
        uint64_t *items = (uint64_t *)scratch;
        long_row_narrow l = {o, x, items, items + buffers, NULL, places, block, count, size, 0};
        status = best_long_narrow(cx, &l);
    }
    hd_free(cx->account, scratch);
    return status;
}

hd_status hd_order_long_row(hd_ctx *cx, const hd_order *o, const void *x, int64_t count, int64_t *places) {
    if (count <= HD_LONG_ROW / 64) return best_long(cx, o, x, count, places);
    return sort_long(cx, o, x, count, places);
}
