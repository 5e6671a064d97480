/* attention_mask.c: masks and biases as rows over the keys. */
#include "ops/attention.h"

#include <string.h>

static const char *entry_at(const hd_score_map *map, int64_t b, int64_t h, int64_t i, int64_t j) {
    int64_t at = b * map->stride[0] + h * map->stride[1] + i * map->stride[2] + j * map->stride[3];
    return map->data + at * (int64_t)hd_dtype_size(map->dtype);
}

const uint8_t *hd_mask_row(const hd_score_map *mask, int64_t b, int64_t h, int64_t i, int64_t first,
                           int64_t n, uint8_t *room) {
    if (!mask->data) return NULL;
    const char *from = entry_at(mask, b, h, i, first);
    int64_t step = mask->stride[3];
    size_t size = hd_dtype_size(mask->dtype);
    if (size == 1 && step == 1) return (const uint8_t *)from;
    for (int64_t j = 0; j < n; j++) {
        const char *entry = from + j * step * (int64_t)size;
        if (size == 1)
            room[j] = *(const uint8_t *)entry != 0;
        else if (size == 4)
            room[j] = *(const int32_t *)entry != 0;
        else
            room[j] = *(const int64_t *)entry != 0;
    }
    return room;
}

const void *hd_bias_row(const hd_score_map *bias, int64_t b, int64_t h, int64_t i, int64_t first, int64_t n,
                        void *room) {
    if (!bias->data) return NULL;
    const char *from = entry_at(bias, b, h, i, first);
    int64_t step = bias->stride[3];
    if (step == 1) return from;
    for (int64_t j = 0; j < n; j++) {
        if (bias->dtype == HD_F32)
            ((float *)room)[j] = ((const float *)from)[j * step];
        else
            ((double *)room)[j] = ((const double *)from)[j * step];
    }
    return room;
}

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
