/* loss_rows.c: the pass over rows of logits that cross_entropy and linear_cross_entropy share.
 *
 *   loss of a row = - sum over classes c of weight_c share_c log softmax(logits)_c
 *   share: 1 - eps for the target and eps spread by label smoothing (Szegedy et al. 2016)
 *   d loss / d logit_c = softmax_c (sum of weight share) - weight_c share_c
 */
#include "ops/loss/loss_rows.h"

#include "base/parallel.h"
#include "ops/elementwise/element.h"

#include <math.h>
#include <string.h>

/* ---- checks ---------------------------------------------------------------------------------------- */

static hd_status check_weight(hd_ctx *cx, hd_dtype dtype, int64_t classes, hd_tensor *weight) {
    if (hd_wants_grad(cx, 1, &weight))
        return hd_fail(cx, HD_EARG, "weight: there is no gradient by it; detach it");
    hd_status status = hd_require_dtype(cx, "weight", weight, dtype);
    return status ? status : hd_require_shape(cx, "weight", weight, 1, &classes);
}

/* PyTorch's logits [B, V, ...] beside targets [B, ...]: do these fit when the classes stand second? `shape`
 * and `classes` are those of [..., V]. */
static bool classes_come_second(int64_t classes, int ndim, const int64_t *shape, const hd_tensor *targets) {
    if (ndim < 2 || targets->ndim != ndim || targets->shape[0] != shape[0]) return false;
    for (int d = 1; d < ndim; d++)
        if (targets->shape[d] != (d + 1 < ndim ? shape[d + 1] : classes)) return false;
    return true;
}

static hd_status check_targets(hd_ctx *cx, int64_t classes, int ndim, const int64_t *shape,
                               const hd_tensor *targets) {
    char expected[HD_SHAPE_TEXT], got[HD_SHAPE_TEXT];
    hd_status status = hd_require_shape(cx, "targets", targets, ndim, shape);
    if (!status || !classes_come_second(classes, ndim, shape, targets)) return status;
    return hd_fail(cx, HD_EARG,
                   "targets: expected shape %s, got %s; classes come last, [..., V]: logits:movedim(2, -1)",
                   hd_shape_text(ndim, shape, expected), hd_tensor_shape_text(targets, got));
}

hd_status hd_loss_check(hd_ctx *cx, hd_dtype dtype, int64_t classes, int ndim, const int64_t *shape,
                        hd_tensor *targets, const hd_cross_entropy_options *o) {
    const int64_t *ignored = o->has_ignore_index ? &o->ignore_index : NULL;
    if (check_targets(cx, classes, ndim, shape, targets) ||
        hd_require_classes(cx, "targets", targets, classes, ignored) ||
        hd_require_probability(cx, "label_smoothing", o->label_smoothing))
        return cx->error.status;
    for (int i = 0; i < o->excluded_count; i++)
        if (o->excluded[i] < 1 || o->excluded[i] > classes)
            return hd_fail(cx, HD_EARG, "smoothing_exclude: expected classes in 1..%lld, got %lld",
                           (long long)classes, (long long)o->excluded[i]);
    return o->weight ? check_weight(cx, dtype, classes, o->weight) : HD_OK;
}

hd_loss_rule hd_loss_rule_of(const hd_cross_entropy_options *o) {
    return (hd_loss_rule){o->has_ignore_index, o->ignore_index, o->label_smoothing, o->reduction};
}

hd_status hd_loss_exclude(hd_ctx *cx, int64_t classes, const hd_cross_entropy_options *o, hd_tensor **table) {
    if (o->excluded_count == 0 || o->label_smoothing == 0) return HD_OK;
    *table = hd_tensor_zeros(cx, HD_BOOL, 1, &classes);
    if (!*table) return cx->error.status;
    uint8_t *excluded = hd_data(*table);
    for (int i = 0; i < o->excluded_count; i++) excluded[o->excluded[i] - 1] = 1;
    return HD_OK;
}

/* ---- one row --------------------------------------------------------------------------------------- */

/* A target of weight 0 counts for nothing, like an ignored one. */
double hd_loss_weight(const hd_loss_pass *p, int64_t row) {
    int64_t target = p->targets[row];
    if (hd_loss_ignores(&p->rule, target)) return 0;
    return p->weight ? hd_load(p->weight, p->dtype, target - 1) : 1;
}

static double share(const hd_loss_pass *p, int64_t c, int64_t target) {
    double eps = p->rule.smoothing;
    if (!p->excluded) return eps / (double)p->classes + (c == target ? 1 - eps : 0);
    if (c == target) return 1 - eps;
    return p->excluded[c] ? 0 : eps / (double)(p->allowed - !p->excluded[target]);
}

/* Smoothing spreads over classes of different weights: the formula as it stands. */
static double weighted_smooth_row(const hd_loss_pass *p, const void *logits, int64_t target, double scale,
                                  void *logs, void *grad) {
    int64_t n = p->classes;
    double loss = 0, total = 0;
    p->kernels->log_softmax_row[p->dtype](n, logits, logs);
    for (int64_t c = 0; c < n; c++) {
        double part = hd_load(p->weight, p->dtype, c) * share(p, c, target);
        if (part == 0) continue;
        loss -= part * hd_load(logs, p->dtype, c);
        total += part;
    }
    if (grad)
        for (int64_t c = 0; c < n; c++) {
            double part = hd_load(p->weight, p->dtype, c) * share(p, c, target);
            hd_store(grad, p->dtype, c, scale * (exp(hd_load(logs, p->dtype, c)) * total - part));
        }
    return loss;
}

static double loss_row(const hd_loss_pass *p, int64_t row, int64_t at, int worker) {
    int64_t n = p->classes, target = p->targets[at];
    void *logits = hd_row(&p->logits, row), *grad = p->grad.data ? hd_row(&p->grad, row) : NULL;
    double weight = hd_loss_weight(p, at), scale = p->scales ? p->scales[at] : p->scale;
    if (hd_loss_ignores(&p->rule, target) || (weight == 0 && !p->scratch)) {
        if (grad) memset(grad, 0, (size_t)n * p->grad.size);
        return 0;
    }
    if (p->bias) p->kernels->accumulate[p->dtype](n, p->bias, logits);
    if (p->scratch)
        return weighted_smooth_row(p, logits, target - 1, scale,
                                   p->scratch + (size_t)(worker * n) * p->logits.size, grad);
    double loss =
        p->kernels->cross_entropy_row[p->dtype](n, logits, target - 1, p->rule.smoothing, p->excluded, grad);
    scale *= weight;
    if (grad && scale != 1) p->kernels->affine[p->dtype](n, scale, 0, grad, 1, grad, 1);
    return loss * weight;
}

/* ---- all rows -------------------------------------------------------------------------------------- */

typedef struct row_loop {
    const hd_loss_pass *pass;
    int64_t first;
} row_loop;

static void loss_rows(void *arg, int64_t first, int64_t last, int worker) {
    const row_loop *l = arg;
    for (int64_t i = first; i < last; i++)
        l->pass->losses[l->first + i] = loss_row(l->pass, i, l->first + i, worker);
}

hd_status hd_loss_rows(hd_ctx *cx, const hd_loss_pass *p, int64_t first) {
    row_loop l = {p, first};
    return hd_parallel_ranges(cx, p->logits.count, hd_rows_grain(p->classes), loss_rows, &l);
}

hd_status hd_loss_begin(hd_ctx *cx, hd_loss_pass *p) {
    p->kernels = cx->kernels;
    p->allowed = p->classes;
    for (int64_t c = 0; p->excluded && c < p->classes; c++) p->allowed -= p->excluded[c];
    p->losses = hd_alloc_found(cx, (size_t)p->count * sizeof *p->losses);
    if (!p->losses) return cx->error.status;
    if (!p->weight || p->rule.smoothing == 0) return HD_OK;
    p->scratch = hd_alloc(cx, (size_t)(hd_max_workers(cx) * p->classes) * hd_dtype_size(p->dtype));
    return p->scratch ? HD_OK : cx->error.status;
}

void hd_loss_end(hd_ctx *cx, hd_loss_pass *p) {
    hd_free(cx->account, p->losses);
    hd_free(cx->account, p->scratch);
}

double hd_loss_divisor(hd_loss_pass *p) {
    double total = 0;
    p->scale = 1;
    if (p->rule.reduction != HD_LOSS_MEAN) return 1;
    for (int64_t i = 0; i < p->count; i++) total += hd_loss_weight(p, i);
    p->scale = total != 0 ? 1 / total : 0;
    return total;
}

hd_tensor *hd_loss_total(hd_ctx *cx, const hd_loss_pass *p, double divisor) {
    hd_tensor *loss = hd_tensor_new(cx, p->dtype, 0, NULL);
    if (!loss) return NULL;
    double sum = 0;
    for (int64_t i = 0; i < p->count; i++) sum += p->losses[i];
    hd_store(hd_data(loss), p->dtype, 0, divisor != 0 ? sum / divisor : 0);
    return loss;
}

hd_tensor *hd_loss_each(hd_ctx *cx, const hd_loss_pass *p, const hd_tensor *targets) {
    hd_tensor *losses = hd_tensor_new(cx, p->dtype, targets->ndim, targets->shape);
    for (int64_t i = 0; losses && i < p->count; i++) hd_store(hd_data(losses), p->dtype, i, p->losses[i]);
    return losses;
}
