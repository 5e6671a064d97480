/* score_map.c: dense masks and biases, entry by entry of the scores. */
#include "ops/attention/score_map.h"

#include "ops/ops.h"
#include "ops/elementwise/element.h"

hd_status hd_score_map_of(hd_ctx *cx, const char *argument, const hd_tensor *t, const int64_t shape[4],
                          hd_score_map *map) {
    bool fits = t->ndim <= 4;
    for (int d = 0; fits && d < t->ndim; d++) {
        int64_t size = t->shape[d];
        fits = size == 1 || size == shape[4 - t->ndim + d];
    }
    if (!fits) {
        char expected[HD_SHAPE_TEXT], got[HD_SHAPE_TEXT];
        return hd_fail(cx, HD_EARG, "%s: expected a shape that broadcasts to [B, H, L, S] = %s, got %s",
                       argument, hd_shape_text(4, shape, expected), hd_tensor_shape_text(t, got));
    }
    map->data = hd_data(t);
    map->dtype = (hd_dtype)t->dtype;
    hd_broadcast_strides(t, 4, shape, map->stride);
    return HD_OK;
}

const void *hd_bias_row(const hd_score_map *bias, int64_t b, int64_t h, int64_t i, int64_t first, int64_t n,
                        void *to) {
    if (!bias->data) return NULL;
    int64_t at = b * bias->stride[0] + h * bias->stride[1] + i * bias->stride[2] + first * bias->stride[3];
    const char *from = bias->data + at * (int64_t)hd_dtype_size(bias->dtype);
    int64_t step = bias->stride[3];
    if (step == 1) return from;
    for (int64_t j = 0; j < n; j++) hd_store(to, bias->dtype, j, hd_load(from, bias->dtype, j * step));
    return to;
}
