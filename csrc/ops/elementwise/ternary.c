/* ternary.c: a function of three elements, which broadcast, without the graph. */
#include "ops/elementwise/ternary.h"

#include <string.h>

#include "ops/elementwise/cast.h"

hd_tensor *hd_apply_ternary(hd_ctx *cx, const hd_ternary *f, hd_tensor *const x[3]) {
    int ndim = 0;
    int64_t shape[HD_MAX_DIMS];
    if (hd_broadcast_shape(cx, x[0], x[1], &ndim, shape)) return NULL;
    hd_tensor both = *x[0]; /* a header for its shape alone */
    both.ndim = (uint8_t)ndim;
    memcpy(both.shape, shape, sizeof shape);
    if (hd_broadcast_shape(cx, &both, x[2], &ndim, shape)) return NULL;
    hd_tensor *y = hd_tensor_new(cx, (hd_dtype)x[0]->dtype, ndim, shape);
    if (!y) return NULL;
    hd_walk w;
    hd_walk_begin(&w, ndim, shape);
    hd_walk_add(&w, y);
    for (int i = 0; i < 3; i++) hd_walk_add(&w, x[i]);
    w.run = y->dtype == HD_F32 ? f->f32 : f->f64;
    if (!hd_walk_run(cx, &w)) return y;
    hd_release(y);
    return NULL;
}

hd_tensor *hd_gradient_ternary(hd_ctx *cx, const hd_ternary *f, hd_tensor *g, hd_tensor *a, hd_tensor *b) {
    hd_tensor *x[3] = {g, hd_as_dtype(cx, a, (hd_dtype)g->dtype), NULL};
    if (x[1]) x[2] = hd_as_dtype(cx, b, (hd_dtype)g->dtype);
    hd_tensor *y = x[2] ? hd_apply_ternary(cx, f, x) : NULL;
    hd_release(x[1]);
    hd_release(x[2]);
    return y;
}
