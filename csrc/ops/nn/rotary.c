/* rotary.c: rotary position embedding (Su et al. 2021, "RoFormer").
 *
 * Pair i of the features at position l is rotated by an angle of which c and s are cosine and sine:
 *
 *   y_a = x_a c - x_b s,  y_b = x_b c + x_a s;  (a, b) = (i, P + i), or (2i, 2i + 1) when interleaved
 *
 * Features after the P pairs pass unchanged. The gradient rotates the other way. cos and sin are constants.
 */
#include <string.h>

#include "base/parallel.h"
#include "ops/nn/rows.h"

enum { SAVED_COS, SAVED_SIN, SAVED };

typedef void (*rotate_fn)(int64_t n, double sign, const void *x, const void *cos, const void *sin, void *y);

typedef struct rotation {
    const hd_tensor *x; /* [..., L, D], features contiguous */
    char *y;            /* contiguous */
    const char *cos, *sin;
    rotate_fn rotate;
    double sign;
    int64_t pairs, rows_per_batch; /* rows that share one [L, P] of the tables */
    size_t size;
} rotation;

static void rotate_row(const rotation *r, int64_t row, int64_t from) {
    const hd_tensor *x = r->x;
    int64_t L = x->shape[x->ndim - 2], D = x->shape[x->ndim - 1], rotated = 2 * r->pairs;
    int64_t at = (row / r->rows_per_batch * L + row % L) * r->pairs;
    const char *source = (const char *)hd_data(x) + (size_t)from * r->size;
    char *y = r->y + (size_t)(row * D) * r->size;
    r->rotate(r->pairs, r->sign, source, r->cos + (size_t)at * r->size, r->sin + (size_t)at * r->size, y);
    if (rotated < D)
        memcpy(y + (size_t)rotated * r->size, source + (size_t)rotated * r->size,
               (size_t)(D - rotated) * r->size);
}

static void rotate_rows(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const rotation *r = arg;
    const hd_tensor *x = r->x;
    int64_t index[HD_MAX_DIMS], from = 0;
    for (int64_t d = x->ndim - 2, rest = first; d >= 0; rest /= x->shape[d], d--) {
        index[d] = rest % x->shape[d];
        from += index[d] * x->stride[d];
    }
    for (int64_t row = first; row < last; row++) {
        rotate_row(r, row, from);
        for (int d = x->ndim - 2; d >= 0; d--) {
            from += x->stride[d];
            if (++index[d] < x->shape[d]) break;
            from -= x->shape[d] * x->stride[d];
            index[d] = 0;
        }
    }
}

/* cos and sin contiguous, [L, P] or [B, L, P]. */
static hd_tensor *rotated(hd_ctx *cx, hd_tensor *x, hd_tensor *cos, hd_tensor *sin, bool interleaved,
                          double sign) {
    hd_tensor *y = hd_tensor_like(cx, x);
    if (!y || hd_numel(y) == 0) return y;
    int64_t D = x->shape[x->ndim - 1], rows = hd_numel(x) / D;
    bool dense = D == 1 || x->stride[x->ndim - 1] == 1;
    hd_tensor *source = dense ? hd_tensor_alias(cx, x) : hd_contiguous_detached(cx, x);
    hd_status status = source ? HD_OK : cx->error.status;
    if (!status) {
        rotation r = {source, hd_data(y), hd_data(cos), hd_data(sin), .sign = sign};
        r.rotate = interleaved ? cx->kernels->rotate_pairs[x->dtype] : cx->kernels->rotate_halves[x->dtype];
        r.pairs = cos->shape[cos->ndim - 1];
        r.rows_per_batch = cos->ndim == 3 ? rows / x->shape[0] : rows;
        r.size = hd_dtype_size((hd_dtype)x->dtype);
        status = hd_parallel_ranges(cx, rows, hd_rows_grain(D), rotate_rows, &r);
    }
    hd_release(source);
    if (!status) return y;
    hd_release(y);
    return NULL;
}

static hd_status rotary_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                 hd_tensor **grad_inputs) {
    /* y_a = x_a c - x_b s, y_b = x_b c + x_a s  ->  dx_a = g_a c + g_b s, dx_b = g_b c - g_a s */
    if (!grads[0]) return HD_OK;
    bool interleaved;
    memcpy(&interleaved, node->params, sizeof interleaved);
    hd_tensor *cos = hd_node_saved(cx, node, SAVED_COS), *sin = hd_node_saved(cx, node, SAVED_SIN);
    if (!cos || !sin) return cx->error.status;
    grad_inputs[0] = rotated(cx, grads[0], cos, sin, interleaved, -1);
    return grad_inputs[0] ? HD_OK : cx->error.status;
}

static const hd_node_class rotary_class = {"rotary", rotary_backward, NULL};

static hd_status check_table(hd_ctx *cx, const char *argument, const hd_tensor *x, const hd_tensor *table) {
    char got[HD_SHAPE_TEXT];
    if (hd_require_dtype(cx, argument, table, (hd_dtype)x->dtype)) return cx->error.status;
    int64_t L = x->shape[x->ndim - 2], D = x->shape[x->ndim - 1];
    bool batched = table->ndim == 3 && x->ndim >= 3 && table->shape[0] == x->shape[0];
    if ((table->ndim != 2 && !batched) || table->shape[table->ndim - 2] != L)
        return hd_fail(cx, HD_EARG, "%s: expected [%lld, pairs], or that for each batch entry of x, got %s",
                       argument, (long long)L, hd_tensor_shape_text(table, got));
    if (2 * table->shape[table->ndim - 1] > D)
        return hd_fail(cx, HD_EARG, "x: expected %lld features or more (two a pair), got %s",
                       (long long)(2 * table->shape[table->ndim - 1]), hd_tensor_shape_text(x, got));
    return HD_OK;
}

static hd_status check(hd_ctx *cx, const hd_tensor *x, const hd_tensor *cos, const hd_tensor *sin) {
    char got[HD_SHAPE_TEXT];
    if (hd_require_float(cx, "x", x)) return cx->error.status;
    if (x->ndim < 2)
        return hd_fail(cx, HD_EARG, "x: expected [..., L, D], got %s", hd_tensor_shape_text(x, got));
    if (check_table(cx, "cos", x, cos)) return cx->error.status;
    return hd_require_dtype(cx, "sin", sin, (hd_dtype)x->dtype)
               ? cx->error.status
               : hd_require_shape(cx, "sin", sin, cos->ndim, cos->shape);
}

hd_tensor *hd_rotary(hd_ctx *cx, hd_tensor *x, hd_tensor *cos, hd_tensor *sin, bool interleaved) {
    if (check(cx, x, cos, sin)) return NULL;
    hd_tensor *c = hd_contiguous_detached(cx, cos), *s = c ? hd_contiguous_detached(cx, sin) : NULL,
              *y = NULL;
    if (s) y = rotated(cx, x, c, s, interleaved, 1);
    hd_tensor *saved[SAVED] = {c, s};
    if (y) y = hd_record(cx, &rotary_class, y, 1, &x, SAVED, saved, &interleaved, sizeof interleaved);
    hd_release(c);
    hd_release(s);
    return y;
}
