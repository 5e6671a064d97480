/* pad.c: more elements at the ends of dimensions, or fewer.
 *
 *     constant:  y = x in the middle, a value around it        ->  dx = the middle of g
 *     reflect:   c b | a b c | b a   (without the end itself)
 *     replicate: a a | a b c | c c
 *     circular:  b c | a b c | a b
 *
 * The other modes are x looked up along each dimension in turn, so their gradients are sums over the
 * places an element went to, in order.
 */
#include <string.h>

#include "ops/elementwise/scalar.h"
#include "ops/elementwise/walk.h"
#include "ops/gradient.h"

typedef struct amounts {
    int64_t before[HD_MAX_DIMS];
} amounts;

/* What x and y have in common along a dimension. */
typedef struct overlap {
    int64_t in_x, in_y, length;
} overlap;

static overlap overlap_of(int64_t before, int64_t x_size, int64_t y_size) {
    if (before <= -x_size || before >= y_size) return (overlap){0, 0, 0};
    overlap o = {before < 0 ? -before : 0, before > 0 ? before : 0, 0};
    int64_t from_x = x_size - o.in_x, from_y = y_size - o.in_y;
    o.length = from_x < from_y ? from_x : from_y;
    return o;
}

/* The parts of both that are the same elements: a pair of headers for a copy alone. */
static void common_parts(hd_tensor *x, hd_tensor *y, const amounts *a) {
    for (int d = 0; d < x->ndim; d++) {
        overlap o = overlap_of(a->before[d], x->shape[d], y->shape[d]);
        x->offset += o.in_x * x->stride[d];
        y->offset += o.in_y * y->stride[d];
        x->shape[d] = y->shape[d] = o.length;
    }
}

static hd_status pad_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    /* y = x in the middle  ->  dx = the middle of g, 0 for what was taken away */
    if (!grads[0]) return HD_OK;
    const amounts *a = (const amounts *)node->params;
    hd_input_meta x = hd_node_input(node, 0);
    hd_tensor *dx = hd_tensor_zeros(cx, x.dtype, x.ndim, x.shape);
    grad_inputs[0] = dx;
    if (!dx) return cx->error.status;
    hd_tensor into = *dx, from = *grads[0];
    common_parts(&into, &from, a);
    return hd_apply_copy(cx, &into, &from);
}
static const hd_node_class pad_class = {"pad", pad_backward, NULL};

/* The value as a tensor of x's dtype without dimensions. */
static hd_tensor *value_like(hd_ctx *cx, const hd_tensor *x, hd_scalar value) {
    uint64_t element;
    if (hd_scalar_store(cx, "value", value, (hd_dtype)x->dtype, &element)) return NULL;
    hd_tensor *one = hd_tensor_new(cx, (hd_dtype)x->dtype, 0, NULL);
    if (one) memcpy(hd_data(one), &element, hd_dtype_size((hd_dtype)x->dtype));
    return one;
}

/* The stretches before and behind x's, dimension after dimension inwards: every element once. */
static hd_status fill_around(hd_ctx *cx, const hd_tensor *y, const hd_tensor *x, const amounts *a,
                             const hd_tensor *value) {
    hd_tensor inner = *y;
    for (int d = 0; d < y->ndim; d++) {
        overlap o = overlap_of(a->before[d], x->shape[d], y->shape[d]);
        hd_tensor head = inner, tail = inner;
        head.shape[d] = o.in_y;
        tail.offset += (o.in_y + o.length) * y->stride[d];
        tail.shape[d] = y->shape[d] - o.in_y - o.length;
        if (hd_apply_copy(cx, &head, value) || hd_apply_copy(cx, &tail, value)) return cx->error.status;
        inner.offset += o.in_y * y->stride[d];
        inner.shape[d] = o.length;
    }
    return HD_OK;
}

static hd_status write_padded(hd_ctx *cx, hd_tensor *y, const hd_tensor *x, const amounts *a,
                              const hd_tensor *value) {
    hd_tensor from = *x, into = *y;
    common_parts(&from, &into, a);
    hd_status status = fill_around(cx, y, x, a, value);
    return status ? status : hd_apply_copy(cx, &into, &from);
}

static hd_tensor *pad_constant(hd_ctx *cx, hd_tensor *x, const amounts *a, const int64_t *shape,
                               hd_scalar value) {
    hd_tensor *with = value_like(cx, x, value);
    hd_tensor *y = with ? hd_tensor_new(cx, (hd_dtype)x->dtype, x->ndim, shape) : NULL;
    if (y && write_padded(cx, y, x, a, with)) {
        hd_release(y);
        y = NULL;
    }
    hd_release(with);
    return hd_record(cx, &pad_class, y, 1, &x, 0, NULL, a, sizeof *a);
}

/* ---- modes that look up ---------------------------------------------------------------------- */

/* Where place i of a dimension of n comes from; i may lie outside by what check_mode allows. */
static int64_t source_of(hd_pad_mode mode, int64_t i, int64_t n) {
    if (mode == HD_PAD_REPLICATE) return i < 0 ? 0 : i >= n ? n - 1 : i;
    if (mode == HD_PAD_CIRCULAR) return i < 0 ? i + n : i >= n ? i - n : i;
    return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
}

static hd_status check_mode(hd_ctx *cx, hd_pad_mode mode, int dim, int64_t n, int64_t before, int64_t after) {
    int64_t most = before > after ? before : after;
    int64_t limit = mode == HD_PAD_REFLECT ? n - 1 : mode == HD_PAD_CIRCULAR ? n : most;
    if (n > 0 && most <= limit) return HD_OK;
    if (n == 0)
        return hd_fail(cx, HD_EARG, "amounts: dimension %d is empty: there is nothing to repeat", dim + 1);
    return hd_fail(cx, HD_EARG,
                   "amounts: expected at most %lld at an end of dimension %d of size %lld, got %lld",
                   (long long)limit, dim + 1, (long long)n, (long long)most);
}

/* Consumes x. */
static hd_tensor *look_up_along(hd_ctx *cx, hd_tensor *x, int dim, int64_t before, int64_t size,
                                hd_pad_mode mode) {
    hd_tensor *index = hd_tensor_new(cx, HD_I64, 1, &size), *y = NULL;
    if (index) {
        int64_t *from = hd_data(index);
        for (int64_t i = 0; i < size; i++) from[i] = source_of(mode, i - before, x->shape[dim]) + 1;
        y = hd_index_select(cx, x, dim, index);
    }
    hd_release(index);
    hd_release(x);
    return y;
}

hd_tensor *hd_pad(hd_ctx *cx, hd_tensor *x, const int64_t *before, const int64_t *after, hd_pad_mode mode,
                  hd_scalar value) {
    amounts a = {{0}};
    int64_t shape[HD_MAX_DIMS];
    for (int d = 0; d < x->ndim; d++) {
        a.before[d] = before[d];
        bool fits = !__builtin_add_overflow(x->shape[d], before[d], &shape[d]) &&
                    !__builtin_add_overflow(shape[d], after[d], &shape[d]) && shape[d] >= 0;
        if (!fits)
            return hd_fail_null(cx, HD_EARG,
                                "amounts: dimension %d of size %lld cannot become longer by %lld and %lld",
                                d + 1, (long long)x->shape[d], (long long)before[d], (long long)after[d]);
        if (mode != HD_PAD_CONSTANT && (before[d] || after[d]) &&
            check_mode(cx, mode, d, x->shape[d], before[d], after[d]))
            return NULL;
    }
    if (mode == HD_PAD_CONSTANT) return pad_constant(cx, x, &a, shape, value);
    hd_tensor *y = hd_retain(x);
    for (int d = 0; d < x->ndim && y; d++)
        if (before[d] || after[d]) y = look_up_along(cx, y, d, before[d], shape[d], mode);
    if (y != x) return y;
    hd_release(y);
    return hd_clone(cx, x);
}
