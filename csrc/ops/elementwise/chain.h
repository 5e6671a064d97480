/* chain.h: operations in a row, for the formulas of backward. */
#ifndef HD_CHAIN_H
#define HD_CHAIN_H

#include "ops/ops.h"

/* Each consumes its first tensor and passes a NULL on, so that backward formulas read in one go. */
hd_tensor *hd_chain_unary(hd_ctx *cx, hd_unary op, hd_tensor *x);
hd_tensor *hd_chain_binary(hd_ctx *cx, hd_binary op, hd_tensor *a, hd_tensor *b);
hd_tensor *hd_chain_scalar(hd_ctx *cx, hd_binary op, hd_tensor *a, double b);
hd_tensor *hd_chain_masked_fill(hd_ctx *cx, hd_tensor *x, hd_tensor *mask /* consumed too */, double value);

#endif
