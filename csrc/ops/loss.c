/* loss.c: cross entropy of logits against classes.
 *
 *   loss of a row = - sum over classes c of weight_c share_c log softmax(logits)_c
 *   share: 1 - eps for the target and eps spread by label smoothing (Szegedy et al. 2016)
 *   d loss / d logit_c = softmax_c (sum of weight share) - weight_c share_c
 *
 * The gradient is made in the same pass over each row as the loss, already divided by what the mean divides
 * by, and saved in place of the logits: backward has nothing to do when the gradient that arrives is 1.
 */
#include "ops/rows.h"

#include "base/parallel.h"

#include <math.h>
#include <string.h>

typedef struct loss_pass {
    const hd_kernels *kernels;
    hd_dtype dtype;
    const hd_cross_entropy_options *o;
    hd_rows logits, grad; /* grad.data NULL: not wanted */
    const int64_t *targets;
    const void *weight;      /* [V] or NULL */
    const uint8_t *excluded; /* [V] or NULL */
    int64_t allowed;         /* classes that are not excluded */
    char *scratch;           /* [workers, V]: logarithms, for weighted smoothing */
    double *losses;          /* [rows] */
    double scale;            /* of the gradient */
} loss_pass;

static double load(const void *p, hd_dtype dtype, int64_t i) {
    return dtype == HD_F32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

static void store(void *p, hd_dtype dtype, int64_t i, double v) {
    if (dtype == HD_F32)
        ((float *)p)[i] = (float)v;
    else
        ((double *)p)[i] = v;
}

static bool is_ignored(const hd_cross_entropy_options *o, int64_t target) {
    return o->has_ignore_index && target == o->ignore_index;
}

/* A target of weight 0 counts for nothing, like an ignored one. */
static double weight_of(const loss_pass *p, int64_t target) {
    if (is_ignored(p->o, target)) return 0;
    return p->weight ? load(p->weight, p->dtype, target - 1) : 1;
}

/* ---- one row --------------------------------------------------------------------------------------- */

static double share(const loss_pass *p, int64_t c, int64_t target) {
    double eps = p->o->label_smoothing;
    if (!p->excluded) return eps / (double)p->logits.width + (c == target ? 1 - eps : 0);
    if (c == target) return 1 - eps;
    return p->excluded[c] ? 0 : eps / (double)(p->allowed - !p->excluded[target]);
}

/* Smoothing spreads over classes of different weights: the formula as it stands. */
static double weighted_smooth_row(const loss_pass *p, int64_t row, int64_t target, void *logs, void *grad) {
    int64_t n = p->logits.width;
    double loss = 0, total = 0;
    p->kernels->log_softmax_row[p->dtype](n, hd_row(&p->logits, row), logs);
    for (int64_t c = 0; c < n; c++) {
        double part = load(p->weight, p->dtype, c) * share(p, c, target);
        if (part == 0) continue;
        loss -= part * load(logs, p->dtype, c);
        total += part;
    }
    if (grad)
        for (int64_t c = 0; c < n; c++) {
            double part = load(p->weight, p->dtype, c) * share(p, c, target);
            store(grad, p->dtype, c, p->scale * (exp(load(logs, p->dtype, c)) * total - part));
        }
    return loss;
}

static double loss_row(const loss_pass *p, int64_t row, int worker) {
    int64_t n = p->logits.width, target = p->targets[row];
    void *grad = p->grad.data ? hd_row(&p->grad, row) : NULL;
    double weight = weight_of(p, target);
    if (is_ignored(p->o, target) || (weight == 0 && !p->scratch)) {
        if (grad) memset(grad, 0, (size_t)n * p->grad.size);
        return 0;
    }
    if (p->scratch)
        return weighted_smooth_row(p, row, target - 1, p->scratch + (size_t)(worker * n) * p->logits.size,
                                   grad);
    double loss = p->kernels->cross_entropy_row[p->dtype](n, hd_row(&p->logits, row), target - 1,
                                                          p->o->label_smoothing, p->excluded, grad);
    double scale = p->scale * weight;
    if (grad && scale != 1) p->kernels->affine[p->dtype](n, scale, 0, grad, 1, grad, 1);
    return loss * weight;
}

static void loss_rows(void *arg, int64_t first, int64_t last, int worker) {
    const loss_pass *p = arg;
    for (int64_t i = first; i < last; i++) p->losses[i] = loss_row(p, i, worker);
}

/* ---- backward -------------------------------------------------------------------------------------- */

typedef struct scale_pass {
    const hd_kernels *kernels;
    hd_dtype dtype;
    hd_rows from, to;
    const void *g;
    int64_t g_step; /* 0: one for all rows */
} scale_pass;

static void scale_rows(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const scale_pass *p = arg;
    for (int64_t i = first; i < last; i++)
        p->kernels->affine[p->dtype](p->from.width, load(p->g, p->dtype, i * p->g_step), 0,
                                     hd_row(&p->from, i), 1, hd_row(&p->to, i), 1);
}

static hd_status cross_entropy_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                        hd_tensor **grad_inputs) {
    if (!grads[0]) return HD_OK;
    hd_tensor *saved = hd_node_saved(cx, node, 0), *dx = NULL;
    if (!saved) return cx->error.status;
    hd_tensor *g = hd_packed(cx, grads[0]);
    if (!g) return cx->error.status;
    bool is_scalar = g->ndim == 0;
    if (is_scalar && load(hd_data(g), (hd_dtype)g->dtype, 0) == 1) {
        dx = hd_tensor_alias(cx, saved);
    } else if ((dx = hd_tensor_like(cx, saved))) {
        scale_pass p = {cx->kernels,    (hd_dtype)g->dtype, hd_rows_of(saved),
                        hd_rows_of(dx), hd_data(g),         !is_scalar};
        if (hd_parallel_ranges(cx, p.from.count, hd_rows_grain(p.from.width), scale_rows, &p)) {
            hd_release(dx);
            dx = NULL;
        }
    }
    hd_release(g);
    grad_inputs[0] = dx;
    return dx ? HD_OK : cx->error.status;
}

static const hd_node_class cross_entropy_class = {"cross_entropy", cross_entropy_backward, NULL};

/* ---- forward --------------------------------------------------------------------------------------- */

static hd_status check(hd_ctx *cx, hd_tensor *logits, hd_tensor *targets, const hd_cross_entropy_options *o) {
    char got[HD_SHAPE_TEXT];
    if (hd_require_float(cx, "logits", logits)) return cx->error.status;
    if (logits->ndim < 1)
        return hd_fail(cx, HD_EARG, "logits: expected [..., classes], got %s",
                       hd_tensor_shape_text(logits, got));
    int64_t classes = logits->shape[logits->ndim - 1];
    const int64_t *ignored = o->has_ignore_index ? &o->ignore_index : NULL;
    if (hd_require_classes(cx, "targets", targets, classes, ignored) ||
        hd_require_shape(cx, "targets", targets, logits->ndim - 1, logits->shape) ||
        hd_require_probability(cx, "label_smoothing", o->label_smoothing))
        return cx->error.status;
    for (int i = 0; i < o->excluded_count; i++)
        if (o->excluded[i] < 1 || o->excluded[i] > classes)
            return hd_fail(cx, HD_EARG, "smoothing_exclude: expected classes in 1..%lld, got %lld",
                           (long long)classes, (long long)o->excluded[i]);
    if (!o->weight) return HD_OK;
    if (hd_wants_grad(cx, 1, (hd_tensor *const[]){o->weight}))
        return hd_fail(cx, HD_EARG, "weight: there is no gradient by it; detach it");
    hd_status status = hd_require_dtype(cx, "weight", o->weight, (hd_dtype)logits->dtype);
    return status ? status : hd_require_shape(cx, "weight", o->weight, 1, &classes);
}

/* The table of excluded classes; *table stays NULL when smoothing excludes none. */
static hd_status exclude(hd_ctx *cx, loss_pass *p, uint8_t **table) {
    p->allowed = p->logits.width;
    if (p->o->excluded_count == 0 || p->o->label_smoothing == 0) return HD_OK;
    *table = hd_alloc_zeroed(cx, (size_t)p->logits.width);
    if (!*table) return cx->error.status;
    for (int i = 0; i < p->o->excluded_count; i++) {
        uint8_t *entry = &(*table)[p->o->excluded[i] - 1];
        p->allowed -= !*entry;
        *entry = 1;
    }
    p->excluded = *table;
    return HD_OK;
}

/* What the mean divides by; the gradient is divided as well. */
static double divisor(loss_pass *p) {
    double total = 0;
    p->scale = 1;
    if (p->o->reduction != HD_LOSS_MEAN) return 1;
    for (int64_t i = 0; i < p->logits.count; i++) total += weight_of(p, p->targets[i]);
    p->scale = total != 0 ? 1 / total : 0;
    return total;
}

static hd_tensor *reduce(hd_ctx *cx, const loss_pass *p, const hd_tensor *targets, double total) {
    bool none = p->o->reduction == HD_LOSS_NONE;
    hd_tensor *loss = hd_tensor_new(cx, p->dtype, none ? targets->ndim : 0, targets->shape);
    if (!loss) return NULL;
    double sum = 0;
    for (int64_t i = 0; i < p->logits.count; i++) {
        if (none) store(hd_data(loss), p->dtype, i, p->losses[i]);
        sum += p->losses[i];
    }
    if (!none) store(hd_data(loss), p->dtype, 0, total != 0 ? sum / total : 0);
    return loss;
}

hd_tensor *hd_cross_entropy(hd_ctx *cx, hd_tensor *logits, hd_tensor *targets,
                            const hd_cross_entropy_options *o) {
    if (check(cx, logits, targets, o)) return NULL;
    loss_pass p = {.kernels = cx->kernels, .dtype = (hd_dtype)logits->dtype, .o = o};
    hd_tensor *rows = hd_as_rows(cx, logits, &p.logits), *flat = hd_packed(cx, targets), *weight = NULL,
              *grad = NULL;
    hd_tensor *loss = NULL;
    uint8_t *excluded = NULL;
    bool weighted_smoothing = o->weight && o->label_smoothing > 0;
    if (!rows || !flat || exclude(cx, &p, &excluded)) goto done;
    if (o->weight && !(weight = hd_packed(cx, o->weight))) goto done;
    if (hd_wants_grad(cx, 1, &logits)) {
        if (!(grad = hd_tensor_like(cx, logits))) goto done;
        p.grad = hd_rows_of(grad);
    }
    p.targets = hd_data(flat);
    p.weight = weight ? hd_data(weight) : NULL;
    if (weighted_smoothing &&
        !(p.scratch = hd_alloc(cx, (size_t)(hd_max_workers(cx) * p.logits.width) * p.logits.size)))
        goto done;
    if (!(p.losses = hd_alloc(cx, (size_t)p.logits.count * sizeof *p.losses))) goto done;
    double total = divisor(&p);
    if (hd_parallel_ranges(cx, p.logits.count, hd_rows_grain(p.logits.width), loss_rows, &p)) goto done;
    loss = reduce(cx, &p, targets, total);
    loss = hd_record(cx, &cross_entropy_class, loss, 1, &logits, 1, &grad, NULL, 0);
done:
    hd_free(cx->account, excluded);
    hd_free(cx->account, p.scratch);
    hd_free(cx->account, p.losses);
    hd_release(rows);
    hd_release(flat);
    hd_release(weight);
    hd_release(grad);
    return loss;
}
