/* pointwise.c: losses of an input x against a target y of its shape, element by element.
 *
 *   squared    (x - y)²
 *   absolute   |x - y|                                     slope 0 at 0
 *   huber      d²/2 where |d| < c, else c (|d| - c/2)      d = x - y (Huber 1964)
 *   bce        p y softplus(-x) + (1 - y) softplus(x)      x a logit, y a probability
 *   kl         y (log y - x)                               x a logarithm, y a probability; 0 where y is 0
 *   kl_log     e^y (y - x)                                 both logarithms; 0 where e^y is 0
 *
 * times weight (broadcast to x) and a factor; then the mean, the sum or none. One pass forward, one back.
 */
#include "ops/nn/rows.h"

#include "base/parallel.h"
#include "ops/elementwise/element.h"
#include "ops/elementwise/inplace.h"

#include <string.h>

#define RANGE 8192
#define PIECE 1024 /* of a range, in a buffer on the stack */

enum { IN_X, IN_Y, INPUTS };
enum { SAVED_X, SAVED_Y, SAVED_WEIGHT, SAVED_POSITIVE, SAVED };

typedef struct pointwise_params {
    hd_pointwise kind;
    double parameter, factor;
    bool each; /* losses one by one */
} pointwise_params;

typedef struct pointwise_pass {
    const hd_kernels *kernels;
    hd_dtype dtype;
    size_t size;
    pointwise_params o;
    const char *x, *y, *weight, *positive; /* contiguous; the last two may be NULL */
    char *out;                             /* each loss, or each gradient */
    double *sums;                          /* one a range */
    const char *g;                         /* backward: one, or one an element */
    bool by_y;
} pointwise_pass;

static const char *at(const pointwise_pass *p, const char *data, int64_t i) {
    return data ? data + (size_t)i * p->size : NULL;
}

static void weigh(const pointwise_pass *p, int64_t first, int64_t n, void *values) {
    if (p->weight) p->kernels->binary[HD_MUL][p->dtype](n, values, 1, at(p, p->weight, first), 1, values, 1);
}

static void find_losses(const pointwise_pass *p, int64_t first, int64_t n, void *out) {
    p->kernels->pointwise_loss[p->o.kind][p->dtype](n, at(p, p->x, first), at(p, p->y, first),
                                                    at(p, p->positive, first), p->o.parameter, out);
    weigh(p, first, n, out);
}

static void each_range(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const pointwise_pass *p = arg;
    void *out = p->out + (size_t)first * p->size;
    find_losses(p, first, last - first, out);
    if (p->o.factor != 1) p->kernels->affine[p->dtype](last - first, p->o.factor, -0.0, out, 1, out, 1);
}

static void sum_range(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const pointwise_pass *p = arg;
    double buffer[PIECE], sum = 0, part;
    for (int64_t i = first; i < last; i += PIECE) {
        int64_t n = last - i < PIECE ? last - i : PIECE;
        find_losses(p, i, n, buffer);
        p->kernels->reduce_row[HD_SUM][p->dtype](n, buffer, 1, &part);
        sum += hd_load(&part, p->dtype, 0);
    }
    p->sums[first / RANGE] = sum;
}

static void slope_range(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const pointwise_pass *p = arg;
    int64_t n = last - first;
    void *out = p->out + (size_t)first * p->size;
    p->kernels->pointwise_loss_slope[p->o.kind][p->dtype](
        n, at(p, p->x, first), at(p, p->y, first), at(p, p->positive, first), p->o.parameter, p->by_y, out);
    weigh(p, first, n, out);
    double scale = p->o.factor;
    if (p->o.each)
        p->kernels->gradient_mul[p->dtype](n, at(p, p->g, first), 1, out, 1, out, 1);
    else
        scale *= hd_load(p->g, p->dtype, 0);
    if (scale != 1) p->kernels->affine[p->dtype](n, scale, -0.0, out, 1, out, 1);
}

static pointwise_pass pass_of(const hd_ctx *cx, hd_tensor *const saved[SAVED], const pointwise_params *o) {
    const char *data[SAVED];
    for (int i = 0; i < SAVED; i++) data[i] = saved[i] ? hd_data(saved[i]) : NULL;
    hd_dtype dtype = (hd_dtype)saved[SAVED_X]->dtype;
    return (pointwise_pass){.kernels = cx->kernels,
                            .dtype = dtype,
                            .size = hd_dtype_size(dtype),
                            .o = *o,
                            .x = data[SAVED_X],
                            .y = data[SAVED_Y],
                            .weight = data[SAVED_WEIGHT],
                            .positive = data[SAVED_POSITIVE]};
}

/* ---- backward -------------------------------------------------------------------------------------- */

static hd_tensor *slope(hd_ctx *cx, pointwise_pass *p, const hd_tensor *x, bool by_y) {
    hd_tensor *d = hd_tensor_like(cx, x);
    if (!d) return NULL;
    p->out = hd_data(d);
    p->by_y = by_y;
    if (!hd_parallel_ranges(cx, hd_numel(x), RANGE, slope_range, p)) return d;
    hd_release(d);
    return NULL;
}

static hd_status pointwise_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                    hd_tensor **grad_inputs) {
    if (!grads[0]) return HD_OK;
    hd_tensor *saved[SAVED] = {0};
    for (int i = 0; i < SAVED; i++)
        if (node->saved[i].tensor && !(saved[i] = hd_node_saved(cx, node, i))) return cx->error.status;
    if (!saved[SAVED_X] && !(saved[SAVED_X] = hd_node_saved(cx, node, SAVED_X))) return cx->error.status;
    pointwise_params o;
    memcpy(&o, node->params, sizeof o);
    pointwise_pass p = pass_of(cx, saved, &o);
    hd_tensor *g = hd_contiguous_detached(cx, grads[0]);
    if (!g) return cx->error.status;
    p.g = hd_data(g);
    bool ok = true;
    for (int i = 0; i < INPUTS && ok; i++)
        if (hd_node_needs(node, i)) ok = (grad_inputs[i] = slope(cx, &p, saved[SAVED_X], i == IN_Y)) != NULL;
    hd_release(g);
    return ok ? HD_OK : cx->error.status;
}

static const hd_node_class classes[HD_POINTWISE_COUNT] = {
#define HD_ROW(op, kernel, name, public_name, ...) [op] = {public_name, pointwise_backward, NULL},
#include "kernels/tables/pointwise.h"
};

/* ---- forward --------------------------------------------------------------------------------------- */

static hd_status check_weight(hd_ctx *cx, const char *argument, hd_tensor *weight, hd_tensor *x) {
    if (!weight) return HD_OK;
    if (hd_wants_grad(cx, 1, &weight))
        return hd_fail(cx, HD_EARG, "%s: there is no gradient by it; detach it", argument);
    hd_status status = hd_require_dtype(cx, argument, weight, (hd_dtype)x->dtype);
    return status ? status : hd_check_broadcasts_to(cx, argument, weight, x);
}

static hd_tensor *expanded(hd_ctx *cx, hd_tensor *weight, const hd_tensor *x) {
    hd_tensor *wide = hd_expand(cx, weight, x->ndim, x->shape),
              *packed = wide ? hd_contiguous_detached(cx, wide) : NULL;
    hd_release(wide);
    return packed;
}

/* The mean divides by the elements, batchmean by the first dimension's size. */
static double divisor(const hd_tensor *x, hd_loss_reduction reduction) {
    if (reduction == HD_LOSS_MEAN) return (double)hd_numel(x);
    if (reduction == HD_LOSS_BATCHMEAN) return x->ndim ? (double)x->shape[0] : 1;
    return 1;
}

static hd_tensor *total(hd_ctx *cx, pointwise_pass *p, int64_t n, double by) {
    int64_t ranges = (n + RANGE - 1) / RANGE;
    hd_tensor *loss = hd_tensor_new(cx, p->dtype, 0, NULL);
    p->sums = hd_alloc_found(cx, (size_t)ranges * sizeof *p->sums);
    hd_status status = loss && p->sums ? hd_parallel_ranges(cx, n, RANGE, sum_range, p) : cx->error.status;
    double sum = 0;
    for (int64_t i = 0; i < ranges && !status; i++) sum += p->sums[i];
    if (!status) hd_store(hd_data(loss), p->dtype, 0, sum * p->o.factor / by);
    hd_free(cx->account, p->sums);
    if (!status) return loss;
    hd_release(loss);
    return NULL;
}

static hd_tensor *each(hd_ctx *cx, pointwise_pass *p, const hd_tensor *x) {
    hd_tensor *losses = hd_tensor_like(cx, x);
    if (!losses) return NULL;
    p->out = hd_data(losses);
    if (!hd_parallel_ranges(cx, hd_numel(x), RANGE, each_range, p)) return losses;
    hd_release(losses);
    return NULL;
}

hd_tensor *hd_pointwise_loss(hd_ctx *cx, hd_tensor *x, hd_tensor *y, const hd_pointwise_options *o) {
    if (hd_require_float(cx, "input", x) || hd_require_dtype(cx, "target", y, (hd_dtype)x->dtype) ||
        hd_require_shape(cx, "target", y, x->ndim, x->shape) || check_weight(cx, "weight", o->weight, x) ||
        check_weight(cx, "pos_weight", o->pos_weight, x))
        return NULL;
    hd_tensor *inputs[INPUTS] = {x, y}, *saved[SAVED] = {0}, *loss = NULL;
    bool ready = (saved[SAVED_X] = hd_contiguous_detached(cx, x)) &&
                 (saved[SAVED_Y] = hd_contiguous_detached(cx, y)) &&
                 (!o->weight || (saved[SAVED_WEIGHT] = expanded(cx, o->weight, x))) &&
                 (!o->pos_weight || (saved[SAVED_POSITIVE] = expanded(cx, o->pos_weight, x)));
    if (ready) {
        pointwise_params params = {o->kind, o->parameter, o->factor, o->reduction == HD_LOSS_NONE};
        pointwise_pass p = pass_of(cx, saved, &params);
        double by = divisor(x, o->reduction);
        loss = params.each ? each(cx, &p, x) : total(cx, &p, hd_numel(x), by);
        params.factor /= by;
        loss = hd_record(cx, &classes[o->kind], loss, INPUTS, inputs, SAVED, saved, &params, sizeof params);
    }
    for (int i = 0; i < SAVED; i++) hd_release(saved[i]);
    return loss;
}
