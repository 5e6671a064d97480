/* layer_norm.c: norms over the last dimension.
 *
 *   layer norm (Ba, Kiros & Hinton 2016):   y = (x - mean) rstd w + b,  rstd = 1 / sqrt(variance + eps)
 *   root mean square (Zhang & Sennrich 2019):        y = x rstd w,      rstd = 1 / sqrt(mean(x²) + eps)
 *
 * Saved: x, w, and the statistics of each row. Backward goes over x once and leaves partial sums of dw and db,
 * one a task; tasks are cut by the shape, and the sums are added in order.
 */
#include "ops/nn/rows.h"

#include "base/parallel.h"

#include <string.h>

enum { IN_X, IN_W, IN_B, INPUTS };
enum { SAVED_X, SAVED_W, SAVED_STATS, SAVED };

typedef struct norm_pass {
    const hd_kernels *kernels;
    hd_dtype dtype;
    double eps;
    hd_rows x, y, g, stats; /* stats: mean and rstd, or rstd alone; in backward y is dx */
    const void *w, *b;
    char *partial;     /* [tasks, 2, n]: dw and db */
    bool has_w, has_b; /* which of them are wanted */
    int64_t grain;
} norm_pass;

static bool centres(const norm_pass *p) {
    return p->stats.width == 2;
}

static void forward_row(const norm_pass *p, int64_t i) {
    char *stats = hd_row(&p->stats, i);
    if (centres(p))
        p->kernels->layer_norm_row[p->dtype](p->x.width, hd_row(&p->x, i), p->w, p->b, p->eps,
                                             hd_row(&p->y, i), stats, stats + p->stats.size);
    else
        p->kernels->rms_norm_row[p->dtype](p->x.width, hd_row(&p->x, i), p->w, p->eps, hd_row(&p->y, i),
                                           stats);
}

static void forward_rows(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    for (int64_t i = first; i < last; i++) forward_row(arg, i);
}

static void backward_row(const norm_pass *p, int64_t i, char *dw, char *db) {
    char *stats = hd_row(&p->stats, i);
    if (centres(p))
        p->kernels->layer_norm_row_grad[p->dtype](p->x.width, hd_row(&p->g, i), hd_row(&p->x, i), p->w, stats,
                                                  stats + p->stats.size, hd_row(&p->y, i), dw, db);
    else
        p->kernels->rms_norm_row_grad[p->dtype](p->x.width, hd_row(&p->g, i), hd_row(&p->x, i), p->w, stats,
                                                hd_row(&p->y, i), dw);
}

static void backward_rows(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const norm_pass *p = arg;
    size_t bytes = (size_t)p->x.width * p->x.size;
    char *dw = p->partial + (size_t)(first / p->grain) * 2 * bytes;
    for (int64_t i = first; i < last; i++)
        backward_row(p, i, p->has_w ? dw : NULL, p->has_b ? dw + bytes : NULL);
}

static hd_tensor *add_partials(hd_ctx *cx, const norm_pass *p, int64_t tasks, size_t which) {
    hd_tensor *sum = hd_tensor_zeros(cx, p->dtype, 1, &p->x.width);
    size_t bytes = (size_t)p->x.width * p->x.size;
    if (sum)
        for (int64_t t = 0; t < tasks; t++)
            p->kernels->accumulate[p->dtype](p->x.width, p->partial + ((size_t)t * 2 + which) * bytes,
                                             hd_data(sum));
    return sum;
}

static hd_status run_backward(hd_ctx *cx, norm_pass *p, hd_tensor **grad_inputs) {
    int64_t few = (p->x.count + 63) / 64, cache = hd_rows_grain(p->x.width);
    p->grain = cache > few ? cache : few;
    int64_t tasks = (p->x.count + p->grain - 1) / p->grain;
    p->partial = hd_alloc_zeroed(cx, (size_t)(tasks * 2 * p->x.width) * p->x.size);
    if (!p->partial) return cx->error.status;
    hd_status status = hd_parallel_ranges(cx, p->x.count, p->grain, backward_rows, p);
    if (!status && p->has_w && !(grad_inputs[IN_W] = add_partials(cx, p, tasks, 0)))
        status = cx->error.status;
    if (!status && p->has_b && !(grad_inputs[IN_B] = add_partials(cx, p, tasks, 1)))
        status = cx->error.status;
    hd_free(cx->account, p->partial);
    return status;
}

static hd_status norm_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    if (!grads[0]) return HD_OK;
    hd_tensor *x = hd_node_saved(cx, node, SAVED_X), *stats = hd_node_saved(cx, node, SAVED_STATS), *w = NULL;
    if (!x || !stats) return cx->error.status;
    if (node->saved[SAVED_W].tensor && !(w = hd_node_saved(cx, node, SAVED_W))) return cx->error.status;
    norm_pass p = {.kernels = cx->kernels, .dtype = (hd_dtype)x->dtype};
    p.stats = hd_rows_of(stats);
    p.w = w ? hd_data(w) : NULL;
    p.has_w = hd_node_needs(node, IN_W);
    p.has_b = hd_node_needs(node, IN_B);
    hd_tensor *rows = hd_as_rows(cx, x, &p.x), *g = hd_as_rows(cx, grads[0], &p.g),
              *dx = hd_tensor_like(cx, grads[0]);
    hd_status status = rows && g && dx ? HD_OK : cx->error.status;
    if (!status) {
        p.y = hd_rows_of(dx);
        status = run_backward(cx, &p, grad_inputs);
    }
    if (!status && hd_node_needs(node, IN_X)) grad_inputs[IN_X] = hd_retain(dx);
    hd_release(rows);
    hd_release(g);
    hd_release(dx);
    return status;
}

static const hd_node_class layer_norm_class = {"layer_norm", norm_backward, NULL};
static const hd_node_class rms_norm_class = {"rms_norm", norm_backward, NULL};

static hd_status check(hd_ctx *cx, hd_tensor *x, hd_tensor *w, hd_tensor *b) {
    char got[HD_SHAPE_TEXT];
    if (w ? hd_require_dtype_of(cx, "x", x, "weight", w) : hd_require_float(cx, "x", x))
        return cx->error.status;
    if (x->ndim < 1)
        return hd_fail(cx, HD_EARG, "x: expected at least 1 dimension, got %s", hd_tensor_shape_text(x, got));
    const int64_t *width = &x->shape[x->ndim - 1];
    if (w && w->ndim == 1 && w->shape[0] != width[0])
        return hd_fail(cx, HD_EARG, "x: expected %lld features as weight has, got %s", (long long)w->shape[0],
                       hd_tensor_shape_text(x, got));
    if (w && hd_require_shape(cx, "weight", w, 1, width)) return cx->error.status;
    if (b &&
        (hd_require_dtype(cx, "bias", b, (hd_dtype)x->dtype) || hd_require_shape(cx, "bias", b, 1, width)))
        return cx->error.status;
    return HD_OK;
}

static hd_tensor *norm(hd_ctx *cx, const hd_node_class *class, hd_tensor *x, hd_tensor *w, hd_tensor *b,
                       double eps) {
    if (check(cx, x, w, b)) return NULL;
    norm_pass p = {.kernels = cx->kernels, .dtype = (hd_dtype)x->dtype, .eps = eps};
    hd_tensor *weight = NULL, *bias = NULL, *y = NULL, *stats = NULL, *result = NULL;
    hd_tensor *rows = hd_as_rows(cx, x, &p.x);
    if (!rows || (w && !(weight = hd_contiguous_detached(cx, w))) ||
        (b && !(bias = hd_contiguous_detached(cx, b))))
        goto done;
    int64_t stats_shape[2] = {p.x.count, class == &layer_norm_class ? 2 : 1};
    if (!(y = hd_tensor_like(cx, x)) || !(stats = hd_tensor_new(cx, p.dtype, 2, stats_shape))) goto done;
    p.y = hd_rows_of(y);
    p.stats = hd_rows_of(stats);
    p.w = weight ? hd_data(weight) : NULL;
    p.b = bias ? hd_data(bias) : NULL;
    if (hd_parallel_ranges(cx, p.x.count, hd_rows_grain(p.x.width), forward_rows, &p)) goto done;
    hd_tensor *inputs[INPUTS] = {x, w, b}, *saved[SAVED] = {rows, weight, stats};
    result = hd_record(cx, class, y, INPUTS, inputs, SAVED, saved, NULL, 0);
    y = NULL;
done:
    hd_release(rows);
    hd_release(weight);
    hd_release(bias);
    hd_release(y);
    hd_release(stats);
    return result;
}

hd_tensor *hd_layer_norm(hd_ctx *cx, hd_tensor *x, hd_tensor *w, hd_tensor *b, double eps) {
    return norm(cx, &layer_norm_class, x, w, b, eps);
}

hd_tensor *hd_rms_norm(hd_ctx *cx, hd_tensor *x, hd_tensor *w, double eps) {
    return norm(cx, &rms_norm_class, x, w, NULL, eps);
}
