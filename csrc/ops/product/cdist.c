/* cdist.c: distances between all rows of two tensors.
 *
 *     d[i][j] = (sum |x[i] - y[j]|^p)^(1/p), x [.., P, M], y [.., R, M]
 *     ->  dx[i] = sum over j of g[i][j] sign(x[i] - y[j]) (|x[i] - y[j]| / d[i][j])^(p - 1), dy[j] alike
 *
 * p = 0 counts what differs (no gradient), infinity takes the largest difference (whose gradient goes to all
 * that are it). A distance of 0 has the gradient 0. Many rows go through a product of matrices for
 * p = 2, but not the pairs that it would cost digits (kernels/isa/distance.c).
 */
#include <math.h>
#include <string.h>

#include "base/minmax.h"
#include "base/parallel.h"
#include "ops/elementwise/cast.h"
#include "ops/elementwise/scalar.h"
#include "ops/gradient.h"

#define ROWS 25      /* from so many rows on, on both sides, products are worth it */
#define BLOCK 16384  /* elements of y that several rows of x meet before the next ones */
#define GRAIN 100000 /* differences of a task */

typedef struct distance_loop {
    const hd_kernels *kernels;
    hd_dtype dtype;
    size_t size;     /* of an element */
    int64_t P, R, M; /* rows of x and of y in a batch, and their width */
    double p;
    const char *x, *y;       /* [B][P][M], [B][R][M] */
    char *d;                 /* [B][P][R] */
    const char *g;           /* like d */
    char *dx;                /* like x; or dy, with x and y exchanged */
    int64_t d_row, d_column; /* elements of d from one row of x, and of y, to the next */
    const char *yy;          /* [B][R]: |y|²; NULL: not by products */
} distance_loop;

static const char *row_of(const distance_loop *l, const char *rows, int64_t row) {
    return rows + (size_t)(row * l->M) * l->size;
}

/* Rows first .. last - 1 of x, each against rows j .. j + n - 1 of its batch of y. */
static void meet(const distance_loop *l, int64_t first, int64_t last, int64_t j, int64_t n) {
    for (int64_t i = first; i < last; i++) {
        int64_t batch = i / l->P;
        const char *x = row_of(l, l->x, i), *y = row_of(l, l->y, batch * l->R + j);
        size_t at = (size_t)(batch * l->P * l->R + i % l->P * l->d_row + j * l->d_column) * l->size;
        if (l->dx)
            l->kernels->distances_grad[l->dtype](n, l->M, l->p, x, y, l->d + at, l->d_column, l->g + at,
                                                 l->d_column, l->dx + (size_t)(i * l->M) * l->size);
        else if (l->yy)
            l->kernels->distances_by_products[l->dtype](
                n, l->M, x, y, l->kernels->sum_squares[l->dtype](l->M, x),
                l->yy + (size_t)(batch * l->R + j) * l->size, l->d + at);
        else
            l->kernels->distances[l->dtype](n, l->M, l->p, x, y, l->d + at);
    }
}

static void run_rows(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const distance_loop *l = arg;
    int64_t block = BLOCK / (l->M + 1) + 4;
    for (int64_t j = 0; j < l->R; j += block) meet(l, first, last, j, hd_min(block, l->R - j));
}

static hd_status run(hd_ctx *cx, distance_loop *l, int64_t batches) {
    int64_t grain = GRAIN / (l->R * (l->M + 1) + 1) + 1;
    return hd_parallel_ranges(cx, batches * l->P, hd_min(grain, 64), run_rows, l);
}

/* ---- the operation ------------------------------------------------------------------------------------- */

/* x and y, contiguous, their batches broadcast. */
typedef struct operands {
    hd_tensor *x, *y;
    int ndim;
    int64_t shape[HD_MAX_DIMS]; /* of the distances */
    int64_t batches;
} operands;

static void end(operands *o) {
    hd_release(o->x);
    hd_release(o->y);
}

static hd_tensor *spread(hd_ctx *cx, hd_tensor *t, hd_dtype dtype, int ndim, int64_t *shape) {
    hd_tensor *alias = hd_tensor_alias(cx, t);
    hd_tensor *wide = alias ? hd_expand(cx, alias, ndim, shape) : NULL;
    hd_tensor *out = wide ? hd_contiguous_as(cx, wide, dtype) : NULL;
    hd_release(alias);
    hd_release(wide);
    return out;
}

static hd_status begin(hd_ctx *cx, hd_tensor *x, hd_tensor *y, hd_dtype dtype, operands *o) {
    hd_tensor a = *x, b = *y; /* headers for the shapes of the batches alone */
    a.ndim -= 2, b.ndim -= 2;
    o->x = o->y = NULL;
    int ndim;
    if (hd_broadcast_shape(cx, &a, &b, &ndim, o->shape)) return cx->error.status;
    o->ndim = ndim + 2;
    o->batches = 1;
    for (int d = 0; d < ndim; d++) o->batches *= o->shape[d];
    o->shape[ndim] = x->shape[x->ndim - 2];
    o->shape[ndim + 1] = x->shape[x->ndim - 1];
    o->x = spread(cx, x, dtype, o->ndim, o->shape);
    o->shape[ndim] = y->shape[y->ndim - 2];
    o->y = o->x ? spread(cx, y, dtype, o->ndim, o->shape) : NULL;
    o->shape[ndim] = x->shape[x->ndim - 2];
    o->shape[ndim + 1] = y->shape[y->ndim - 2];
    return hd_made(cx, o->y);
}

static distance_loop loop_of(hd_ctx *cx, const operands *o, double p) {
    hd_dtype t = (hd_dtype)o->x->dtype;
    return (distance_loop){.kernels = cx->kernels,
                           .dtype = t,
                           .size = hd_dtype_size(t),
                           .P = o->shape[o->ndim - 2],
                           .R = o->shape[o->ndim - 1],
                           .M = o->x->shape[o->ndim - 1],
                           .p = p,
                           .x = hd_data(o->x),
                           .y = hd_data(o->y),
                           .d_row = o->shape[o->ndim - 1],
                           .d_column = 1};
}

/* d = x y^T; l->yy follows. */
static hd_tensor *products(hd_ctx *cx, const operands *o, hd_tensor **squares) {
    hd_tensor *across = hd_transpose(cx, o->y, o->ndim - 2, o->ndim - 1);
    hd_tensor *d = across ? hd_matmul(cx, o->x, across) : NULL;
    hd_tensor *square = d ? hd_unary_op(cx, HD_SQUARE, o->y) : NULL;
    *squares = square ? hd_reduce(cx, HD_SUM, square, 1u << (o->ndim - 1), false) : NULL;
    hd_release(across);
    hd_release(square);
    if (*squares) return d;
    hd_release(d);
    return NULL;
}

static hd_tensor *distances(hd_ctx *cx, const operands *o, double p) {
    distance_loop l = loop_of(cx, o, p);
    bool by_products = p == 2 && l.P > ROWS && l.R > ROWS;
    hd_tensor *squares = NULL;
    hd_tensor *d = by_products ? products(cx, o, &squares) : hd_tensor_new(cx, l.dtype, o->ndim, o->shape);
    if (!d) return NULL;
    l.d = hd_data(d);
    l.yy = squares ? hd_data(squares) : NULL;
    hd_status status = hd_numel(d) ? run(cx, &l, o->batches) : HD_OK;
    hd_release(squares);
    if (!status) return d;
    hd_release(d);
    return NULL;
}

/* dx, or with `of_y` dy, in the shape of the batches. */
static hd_tensor *slopes(hd_ctx *cx, const operands *o, double p, bool of_y, hd_tensor *d, hd_tensor *g) {
    distance_loop l = loop_of(cx, o, p);
    if (of_y) {
        int64_t rows = l.P;
        l.P = l.R, l.R = rows;
        l.x = hd_data(o->y), l.y = hd_data(o->x);
        l.d_row = 1, l.d_column = l.P;
    }
    hd_tensor *to = of_y ? o->y : o->x, *dx = hd_tensor_zeros(cx, l.dtype, to->ndim, to->shape);
    if (!dx || hd_numel(dx) == 0 || l.R == 0) return dx;
    l.d = hd_data(d);
    l.g = hd_data(g);
    l.dx = hd_data(dx);
    if (!run(cx, &l, o->batches)) return dx;
    hd_release(dx);
    return NULL;
}

static hd_status cdist_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    /* d = (sum |x - y|^p)^(1/p)  ->  dx = sum of g sign(x - y) (|x - y| / d)^(p - 1) */
    if (!grads[0]) return HD_OK;
    double p;
    memcpy(&p, node->params, sizeof p);
    hd_tensor *x = hd_node_saved(cx, node, 0), *y = x ? hd_node_saved(cx, node, 1) : NULL;
    hd_tensor *d = y ? hd_node_saved(cx, node, 2) : NULL;
    if (!d) return cx->error.status;
    operands o;
    hd_status status = begin(cx, x, y, (hd_dtype)d->dtype, &o);
    hd_tensor *g = status ? NULL : hd_contiguous_as(cx, grads[0], (hd_dtype)d->dtype);
    status = hd_made(cx, g);
    for (int i = 0; i < 2 && !status; i++) {
        if (!hd_node_needs(node, i)) continue;
        grad_inputs[i] = hd_grad_to_input(cx, node, i, slopes(cx, &o, p, i == 1, d, g));
        status = hd_made(cx, grad_inputs[i]);
    }
    hd_release(g);
    end(&o);
    return status;
}
static const hd_node_class cdist_class = {"cdist", cdist_backward, NULL};

static hd_status check(hd_ctx *cx, const hd_tensor *x, const hd_tensor *y, double p) {
    char text[2][HD_SHAPE_TEXT];
    if (hd_check_computes(cx, x) || hd_check_computes(cx, y)) return cx->error.status;
    if (!(p >= 0)) return hd_fail(cx, HD_EARG, "p: expected 0 or more, got %g", p);
    if (x->ndim < 2)
        return hd_fail(cx, HD_EARG, "x: expected rows, [.., P, M], got %s", hd_tensor_shape_text(x, text[0]));
    if (y->ndim < 2)
        return hd_fail(cx, HD_EARG, "y: expected rows, [.., R, M], got %s", hd_tensor_shape_text(y, text[0]));
    if (x->shape[x->ndim - 1] == y->shape[y->ndim - 1]) return HD_OK;
    return hd_fail(cx, HD_EARG, "y: expected rows as wide as those of x, got %s and %s",
                   hd_tensor_shape_text(x, text[0]), hd_tensor_shape_text(y, text[1]));
}

hd_tensor *hd_cdist(hd_ctx *cx, hd_tensor *x, hd_tensor *y, double p) {
    if (check(cx, x, y, p)) return NULL;
    hd_dtype t = hd_dtype_promote((hd_dtype)x->dtype, (hd_dtype)y->dtype);
    bool whole = !hd_dtype_is_float(t); /* f64 holds the differences of integers */
    operands o;
    hd_status status = begin(cx, x, y, whole ? HD_F64 : t, &o);
    hd_tensor *d = status ? NULL : distances(cx, &o, p);
    end(&o);
    if (d && whole) {
        hd_tensor *narrow = hd_cast(cx, d, HD_F32);
        hd_release(d);
        return narrow;
    }
    hd_tensor *inputs[] = {x, y}, *saved[] = {x, y, d};
    return hd_record(cx, &cdist_class, d, 2, inputs, 3, saved, &p, sizeof p);
}
