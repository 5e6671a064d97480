/* draws.h: single random numbers, word by word: what the kernels that draw whole rows are held against. */
#ifndef HD_DRAWS_H
#define HD_DRAWS_H

#include "base/random.h"

/* Word i of a draw. */
static inline uint32_t draw_u32(hd_draw draw, uint64_t i) {
    uint32_t words[4];
    hd_philox(draw, i / 4, words);
    return words[i % 4];
}

/* Uniform in [0, 1): the upper 24 bits of word i. */
static inline float draw_f32(hd_draw draw, uint64_t i) {
    return (float)(draw_u32(draw, i) >> 8) * 0x1p-24f;
}

#endif
