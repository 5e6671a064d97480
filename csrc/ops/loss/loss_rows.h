/* loss_rows.h: what the cross entropies share: their options, checked; rows of logits to losses and gradients.
 */
#ifndef HD_LOSS_ROWS_H
#define HD_LOSS_ROWS_H

#include "ops/nn/rows.h"

/* Of the options, what a pass over rows looks at. */
typedef struct hd_loss_rule {
    bool has_ignore_index;
    int64_t ignore_index;
    double smoothing;
    hd_loss_reduction reduction;
} hd_loss_rule;

typedef struct hd_loss_pass {
    const hd_kernels *kernels;
    hd_dtype dtype;
    hd_loss_rule rule;
    int64_t classes, count;  /* of the targets */
    const int64_t *targets;  /* from 1 */
    const void *weight;      /* [classes] or NULL */
    const uint8_t *excluded; /* [classes] or NULL: those that smoothing leaves out */
    int64_t allowed;         /* classes that are not excluded */
    const void *bias;        /* [classes] or NULL: added to the logits first, in place */
    hd_rows logits, grad;    /* grad.data NULL: not wanted; may be logits */
    double *losses;          /* [count] */
    double scale;            /* of the gradient; or */
    const double *scales;    /* [count], when not NULL */
    char *scratch;           /* [workers, classes]: logarithms, for weighted smoothing */
} hd_loss_pass;

/* Targets, smoothing, excluded classes and weight against logits of shape[ndim] + [classes]. */
hd_status hd_loss_check(hd_ctx *cx, hd_dtype dtype, int64_t classes, int ndim, const int64_t *shape,
                        hd_tensor *targets, const hd_cross_entropy_options *o);
hd_loss_rule hd_loss_rule_of(const hd_cross_entropy_options *o);
/* bool [classes], 1 for those that smoothing leaves out; *table stays NULL when it leaves none out. */
hd_status hd_loss_exclude(hd_ctx *cx, int64_t classes, const hd_cross_entropy_options *o, hd_tensor **table);

/* What one row counts in the mean: 0 where it is ignored. */
double hd_loss_weight(const hd_loss_pass *p, int64_t row);
static inline bool hd_loss_ignores(const hd_loss_rule *rule, int64_t target) {
    return rule->has_ignore_index && target == rule->ignore_index;
}
/* What the mean divides by (1 without a mean); sets scale, by which the gradient is divided as well. */
double hd_loss_divisor(hd_loss_pass *p);
/* Allocates losses, and scratch where it is needed; hd_loss_end frees them. */
hd_status hd_loss_begin(hd_ctx *cx, hd_loss_pass *p);
void hd_loss_end(hd_ctx *cx, hd_loss_pass *p);
/* Row i of logits meets targets[first + i]. */
hd_status hd_loss_rows(hd_ctx *cx, const hd_loss_pass *p, int64_t first);
/* 0-d: the sum of the losses over the divisor, 0 where that is 0. */
hd_tensor *hd_loss_total(hd_ctx *cx, const hd_loss_pass *p, double divisor);
/* The losses in the shape of the targets. */
hd_tensor *hd_loss_each(hd_ctx *cx, const hd_loss_pass *p, const hd_tensor *targets);

#endif
