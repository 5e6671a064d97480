/* nll_loss.c: the negative log likelihood of classes whose logarithms are given.
 *
 *   loss of a row = - weight_t x_t, t its target; 0 where t is ignored
 *   d loss / d x_c = - weight_t where c is t, else 0
 */
#include "ops/elementwise/element.h"
#include "ops/gradient.h"
#include "ops/loss/loss_rows.h"

#include <string.h>

typedef struct nll_params {
    hd_loss_rule rule;
    double scale; /* one over what the mean divides by */
} nll_params;

enum { SAVED_TARGETS, SAVED_WEIGHT, SAVED };

static hd_status nll_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    if (!grads[0]) return HD_OK;
    nll_params o;
    memcpy(&o, node->params, sizeof o);
    hd_tensor *targets = hd_node_saved(cx, node, SAVED_TARGETS), *weight = NULL;
    if (!targets || (node->saved[SAVED_WEIGHT].tensor && !(weight = hd_node_saved(cx, node, SAVED_WEIGHT))))
        return cx->error.status;
    hd_input_meta x = hd_node_input(node, 0);
    hd_tensor *g = hd_contiguous_detached(cx, grads[0]),
              *dx = g ? hd_tensor_zeros(cx, x.dtype, x.ndim, x.shape) : NULL;
    if (dx) {
        hd_loss_pass p = {.dtype = x.dtype,
                          .rule = o.rule,
                          .targets = hd_data(targets),
                          .weight = weight ? hd_data(weight) : NULL};
        int64_t V = x.shape[x.ndim - 1], count = hd_numel(targets);
        for (int64_t i = 0; i < count; i++) {
            if (hd_loss_ignores(&o.rule, p.targets[i])) continue;
            double arrived = hd_load(hd_data(g), x.dtype, o.rule.reduction == HD_LOSS_NONE ? i : 0);
            hd_store(hd_data(dx), x.dtype, i * V + p.targets[i] - 1,
                     -hd_loss_weight(&p, i) * o.scale * arrived);
        }
    }
    hd_release(g);
    grad_inputs[0] = dx;
    return hd_made(cx, dx);
}

static const hd_node_class nll_class = {"nll_loss", nll_backward, NULL};

static void find_losses(const hd_loss_pass *p) {
    for (int64_t i = 0; i < p->count; i++) {
        double weight = hd_loss_weight(p, i);
        p->losses[i] = 0;
        if (weight != 0) p->losses[i] = -weight * hd_load(hd_row(&p->logits, i), p->dtype, p->targets[i] - 1);
    }
}

hd_tensor *hd_nll_loss(hd_ctx *cx, hd_tensor *x, hd_tensor *targets, const hd_cross_entropy_options *o) {
    char got[HD_SHAPE_TEXT];
    if (hd_require_float(cx, "log_probs", x)) return NULL;
    if (x->ndim < 1)
        return hd_fail_null(cx, HD_EARG, "log_probs: expected [..., classes], got %s",
                            hd_tensor_shape_text(x, got));
    int64_t classes = x->shape[x->ndim - 1];
    if (hd_loss_check(cx, (hd_dtype)x->dtype, classes, x->ndim - 1, x->shape, targets, o)) return NULL;
    hd_loss_pass p = {.dtype = (hd_dtype)x->dtype, .rule = hd_loss_rule_of(o), .classes = classes};
    hd_tensor *saved[SAVED] = {0}, *loss = NULL, *rows = hd_as_rows(cx, x, &p.logits);
    bool ready = rows && (saved[SAVED_TARGETS] = hd_contiguous_detached(cx, targets)) &&
                 (!o->weight || (saved[SAVED_WEIGHT] = hd_contiguous_detached(cx, o->weight)));
    if (ready) {
        p.count = p.logits.count;
        p.targets = hd_data(saved[SAVED_TARGETS]);
        p.weight = o->weight ? hd_data(saved[SAVED_WEIGHT]) : NULL;
        ready = !hd_loss_begin(cx, &p);
    }
    if (ready) {
        double divisor = hd_loss_divisor(&p);
        find_losses(&p);
        loss = o->reduction == HD_LOSS_NONE ? hd_loss_each(cx, &p, targets) : hd_loss_total(cx, &p, divisor);
        nll_params params = {p.rule, p.scale};
        loss = hd_record(cx, &nll_class, loss, 1, &x, SAVED, saved, &params, sizeof params);
    }
    hd_loss_end(cx, &p);
    hd_release(rows);
    for (int i = 0; i < SAVED; i++) hd_release(saved[i]);
    return loss;
}
