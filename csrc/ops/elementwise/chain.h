/* chain.h: operations in a row, for the formulas of backward. */
#ifndef HD_CHAIN_H
#define HD_CHAIN_H

#include "ops/ops.h"

/* Each consumes its first tensor and passes a NULL on, so that backward formulas read in one go. */
hd_tensor *hd_chain_unary(hd_ctx *cx, hd_unary op, hd_tensor *x);
hd_tensor *hd_chain_binary(hd_ctx *cx, hd_binary op, hd_tensor *a, hd_tensor *b);
hd_tensor *hd_chain_scalar(hd_ctx *cx, hd_binary op, hd_tensor *a, double b);
hd_tensor *hd_chain_masked_fill(hd_ctx *cx, hd_tensor *x, hd_tensor *mask /* consumed too */, double value);

/* Of backward: g b and g / b, but 0 where g, the gradient that arrived, is 0: what was not chosen may be NaN
 * or infinite and has no part in the gradient. Broadcasts. */
hd_tensor *hd_gradient_mul(hd_ctx *cx, hd_tensor *g, hd_tensor *b);
hd_tensor *hd_gradient_div(hd_ctx *cx, hd_tensor *g, hd_tensor *b);
/* The first with b consumed. */
hd_tensor *hd_chain_gradient(hd_ctx *cx, hd_tensor *b, hd_tensor *g);

#endif
