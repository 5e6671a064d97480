/* cross_entropy.c: cross entropy of logits against classes (loss_rows.c has the formula).
 *
 * The gradient is made in the same pass over each row as the loss, already divided by what the mean divides
 * by, and saved in place of the logits: backward has nothing to do when the gradient that arrives is 1.
 */
#include "ops/loss/loss_rows.h"

#include "base/parallel.h"
#include "ops/elementwise/element.h"

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
        p->kernels->affine[p->dtype](p->from.width, hd_load(p->g, p->dtype, i * p->g_step), 0,
                                     hd_row(&p->from, i), 1, hd_row(&p->to, i), 1);
}

static hd_status cross_entropy_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                        hd_tensor **grad_inputs) {
    if (!grads[0]) return HD_OK;
    hd_tensor *saved = hd_node_saved(cx, node, 0), *dx = NULL;
    if (!saved) return cx->error.status;
    hd_tensor *g = hd_contiguous_detached(cx, grads[0]);
    if (!g) return cx->error.status;
    bool is_scalar = g->ndim == 0;
    if (is_scalar && hd_load(hd_data(g), (hd_dtype)g->dtype, 0) == 1) {
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
    int last = logits->ndim - 1;
    return hd_loss_check(cx, (hd_dtype)logits->dtype, logits->shape[last], last, logits->shape, targets, o);
}

hd_tensor *hd_cross_entropy(hd_ctx *cx, hd_tensor *logits, hd_tensor *targets,
                            const hd_cross_entropy_options *o) {
    if (check(cx, logits, targets, o)) return NULL;
    hd_loss_pass p = {.dtype = (hd_dtype)logits->dtype, .rule = hd_loss_rule_of(o)};
    hd_tensor *rows = hd_as_rows(cx, logits, &p.logits), *flat = hd_contiguous_detached(cx, targets),
              *weight = NULL, *excluded = NULL, *grad = NULL, *loss = NULL;
    if (!rows || !flat || hd_loss_exclude(cx, p.logits.width, o, &excluded)) goto done;
    if (o->weight && !(weight = hd_contiguous_detached(cx, o->weight))) goto done;
    if (hd_wants_grad(cx, 1, &logits)) {
        if (!(grad = hd_tensor_like(cx, logits))) goto done;
        p.grad = hd_rows_of(grad);
    }
    p.classes = p.logits.width;
    p.count = p.logits.count;
    p.targets = hd_data(flat);
    p.weight = weight ? hd_data(weight) : NULL;
    p.excluded = excluded ? hd_data(excluded) : NULL;
    if (hd_loss_begin(cx, &p)) goto done;
    double divisor = hd_loss_divisor(&p);
    if (hd_loss_rows(cx, &p, 0)) goto done;
    loss = o->reduction == HD_LOSS_NONE ? hd_loss_each(cx, &p, targets) : hd_loss_total(cx, &p, divisor);
    loss = hd_record(cx, &cross_entropy_class, loss, 1, &logits, 1, &grad, NULL, 0);
done:
    hd_loss_end(cx, &p);
    hd_release(rows);
    hd_release(flat);
    hd_release(weight);
    hd_release(excluded);
    hd_release(grad);
    return loss;
}
