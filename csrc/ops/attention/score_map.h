/* score_map.h: tensors that broadcast to the scores [B, H, L, S]: dense masks and biases. */
#ifndef HD_SCORE_MAP_H
#define HD_SCORE_MAP_H

#include "tensor/tensor.h"

/* Strides of 0 repeat. data NULL: none. */
typedef struct hd_score_map {
    const char *data;
    hd_dtype dtype;
    int64_t stride[4];
} hd_score_map;

/* HD_EARG, about `argument`, when t does not broadcast to shape = B, H, L, S. */
hd_status hd_score_map_of(hd_ctx *cx, const char *argument, const hd_tensor *t, const int64_t shape[4],
                          hd_score_map *map);

/* Entries [first, first + n) of row (b, h, i) of a bias: where they lie when they are contiguous, else
 * copied into `to`. NULL: none. */
const void *hd_bias_row(const hd_score_map *bias, int64_t b, int64_t h, int64_t i, int64_t first, int64_t n,
                        void *to);

#endif
