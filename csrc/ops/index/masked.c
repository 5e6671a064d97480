/* masked.c: the elements that a mask chooses, as a list.
 *
 *     masked_select: y = x where mask, in order  ->  dx = g back in its places, 0 elsewhere
 */
#include <string.h>

#include "ops/elementwise/cast.h"
#include "ops/gradient.h"
#include "ops/index/indexing.h"
#include "tensor/view.h"

/* Elements as bits, or rows that are as wide, which need not be aligned. Without a branch, which a mask without order would make the processor guess: every element is moved, and the next
 * takes its place where it was not chosen. The lists end with the last that is. */
#define MOVES(bytes, type)                                                                                   \
    typedef type bits_##bytes __attribute__((may_alias, aligned(1)));                                        \
    static void pick_##bytes(int64_t count, const uint8_t *m, const bits_##bytes *x, bits_##bytes *y) {      \
        for (int64_t i = 0, at = 0; at < count; i++) {                                                       \
            y[at] = x[i];                                                                                    \
            at += m[i] != 0;                                                                                 \
        }                                                                                                    \
    }                                                                                                        \
    static void spread_##bytes(int64_t count, const uint8_t *m, const bits_##bytes *list, bits_##bytes *y) { \
        for (int64_t i = 0, at = 0; at < count; i++) {                                                       \
            bits_##bytes chosen = list[at], other = y[i];                                                    \
            y[i] = m[i] ? chosen : other;                                                                    \
            at += m[i] != 0;                                                                                 \
        }                                                                                                    \
    }
MOVES(1, uint8_t)
MOVES(2, uint16_t)
MOVES(4, uint32_t)
MOVES(8, uint64_t)

static void pick_masked(int64_t count, size_t size, const uint8_t *m, const void *x, void *y) {
    switch (size) {
    case 1: pick_1(count, m, x, y); break;
    case 2: pick_2(count, m, x, y); break;
    case 4: pick_4(count, m, x, y); break;
    default: pick_8(count, m, x, y);
    }
}

void hd_unpack_masked(int64_t n, int64_t count, size_t bytes, const uint8_t *m, const void *list, void *y) {
    switch (bytes) {
    case 1: spread_1(count, m, list, y); return;
    case 2: spread_2(count, m, list, y); return;
    case 4: spread_4(count, m, list, y); return;
    case 8: spread_8(count, m, list, y); return;
    }
    const char *from = list;
    for (int64_t i = 0; i < n; i++) {
        if (!m[i]) continue;
        memcpy((char *)y + (size_t)i * bytes, from, bytes);
        from += bytes;
    }
}

int64_t hd_count_true(const hd_tensor *mask) {
    const uint8_t *m = hd_data(mask);
    int64_t n = hd_numel(mask), count = 0;
    for (int64_t i = 0; i < n; i++) count += m[i] != 0;
    return count;
}

/* t as `dtype`, expanded to the shape, contiguous. */
static hd_tensor *spread_out(hd_ctx *cx, hd_tensor *t, hd_dtype dtype, int ndim, const int64_t *shape) {
    hd_tensor *wide = hd_view_expand(cx, t, ndim, shape);
    hd_tensor *dense = wide ? hd_contiguous_as(cx, wide, dtype) : NULL;
    hd_release(wide);
    return dense;
}

static hd_status masked_select_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                        hd_tensor **grad_inputs) {
    /* y = x where mask, in order  ->  dx = g back in its places, 0 elsewhere */
    if (!grads[0]) return HD_OK;
    hd_tensor *mask = hd_node_saved(cx, node, 0);
    hd_tensor *g = mask ? hd_contiguous_as(cx, grads[0], (hd_dtype)grads[0]->dtype) : NULL;
    if (!g) return cx->error.status;
    hd_tensor *dx = hd_tensor_zeros(cx, (hd_dtype)g->dtype, mask->ndim, mask->shape);
    if (dx) {
        hd_unpack_masked(hd_numel(mask), hd_numel(g), hd_dtype_size((hd_dtype)g->dtype), hd_data(mask),
                         hd_data(g), hd_data(dx));
    }
    hd_release(g);
    grad_inputs[0] = hd_grad_to_input(cx, node, 0, dx);
    return hd_made(cx, grad_inputs[0]);
}
static const hd_node_class masked_select_class = {"masked_select", masked_select_backward, NULL};

static hd_tensor *pick(hd_ctx *cx, const hd_tensor *x, const hd_tensor *mask) {
    int64_t count = hd_count_true(mask);
    hd_tensor *y = hd_tensor_new(cx, (hd_dtype)x->dtype, 1, &count);
    if (!y) return NULL;
    pick_masked(count, hd_dtype_size((hd_dtype)x->dtype), hd_data(mask), hd_data(x), hd_data(y));
    return y;
}

hd_tensor *hd_masked_select(hd_ctx *cx, hd_tensor *x, hd_tensor *mask) {
    int ndim;
    int64_t shape[HD_MAX_DIMS];
    if (mask->dtype != HD_BOOL)
        return hd_fail_null(cx, HD_EARG, "mask: expected bool, got %s", hd_dtype_name((hd_dtype)mask->dtype));
    if (hd_broadcast_shape(cx, x, mask, &ndim, shape)) return NULL;
    hd_tensor *m = spread_out(cx, mask, HD_BOOL, ndim, shape);
    hd_tensor *wide = m ? spread_out(cx, x, (hd_dtype)x->dtype, ndim, shape) : NULL;
    hd_tensor *y = wide ? pick(cx, wide, m) : NULL;
    y = hd_record(cx, &masked_select_class, y, 1, &x, 1, &m, NULL, 0);
    hd_release(wide);
    hd_release(m);
    return y;
}
