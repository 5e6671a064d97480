/* gradient.h: how a backward function ends: what has arrived, in the shape and dtype of its inputs. */
#ifndef HD_GRADIENT_H
#define HD_GRADIENT_H

#include "ops/ops.h"

/* The shape and dtype of an input that wants a gradient. */
typedef struct hd_input_meta {
    hd_dtype dtype;
    int ndim;
    const int64_t *shape;
} hd_input_meta;
hd_input_meta hd_node_input(const hd_node *node, int i);
/* What flows to input i when nothing of it is left in the output. */
hd_tensor *hd_zero_for_input(hd_ctx *cx, const hd_node *node, int i);
/* Consumes g: summed and cast to what input i was. NULL gives NULL: it can stand around any operation. */
hd_tensor *hd_grad_to_input(hd_ctx *cx, const hd_node *node, int i, hd_tensor *g);
/* One status for a gradient that was to be made. */
static inline hd_status hd_made(const hd_ctx *cx, const hd_tensor *t) {
    return t ? HD_OK : cx->error.status;
}

#endif
