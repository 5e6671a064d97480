/* conv.h: the two ways of a convolution. conv.c checks, chooses and records. */
#ifndef HD_OPS_CONV_H
#define HD_OPS_CONV_H

#include "ops/ops.h"

/* x [batch, channels, in], w [outputs, channels / groups, kernel], y [batch, outputs, out]; contiguous. */
typedef struct hd_conv {
    hd_conv_plane plane;
    int64_t batch, channels, outputs, groups;
    hd_dtype dtype;
    int64_t in, out, taps; /* elements of a plane of x and of y, and of a kernel's plane */
} hd_conv;

static inline int64_t hd_conv_size(const hd_conv *c) {
    return c->dtype == HD_F64 ? 8 : 4;
}

/* Each function writes all of its result: y = w x + b (NULL: 0), dx, or dw. */
typedef struct hd_conv_way {
    hd_status (*forward)(hd_ctx *cx, const hd_conv *c, const void *x, const void *w, const void *b, void *y);
    hd_status (*grad_x)(hd_ctx *cx, const hd_conv *c, const void *g, const void *w, void *dx);
    hd_status (*grad_w)(hd_ctx *cx, const hd_conv *c, const void *g, const void *x, void *dw);
} hd_conv_way;

extern const hd_conv_way hd_conv_products; /* conv_product.c: patches times weights */
extern const hd_conv_way
    hd_conv_channels; /* conv_channels.c: channel by channel, for groups of one channel */

#endif
