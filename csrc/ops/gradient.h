/* gradient.h: arithmetic of gradients that the graph itself needs. */
#ifndef HD_GRADIENT_H
#define HD_GRADIENT_H

#include "tensor/tensor.h"

/* sum + gradient: into sum's own memory when nothing else refers to it, else into new memory. A new reference;
 * `sum` stays the caller's to release. */
hd_tensor *hd_gradient_sum(hd_ctx *cx, hd_tensor *sum, hd_tensor *gradient);
/* What a leaf keeps: the gradient itself when nothing else refers to it and it is contiguous, else a copy. */
hd_tensor *hd_gradient_own(hd_ctx *cx, hd_tensor *gradient);
/* A one of root's shape (one element) and dtype. */
hd_tensor *hd_gradient_one(hd_ctx *cx, const hd_tensor *root);

#endif
