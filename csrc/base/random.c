#include "base/random.h"

static inline void philox_round(uint32_t c[4], uint32_t k0, uint32_t k1) {
    uint64_t p0 = (uint64_t)0xD2511F53u * c[0];
    uint64_t p1 = (uint64_t)0xCD9E8D57u * c[2];
    uint32_t c1 = c[1], c3 = c[3];
    c[0] = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
    c[1] = (uint32_t)p1;
    c[2] = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c[3] = (uint32_t)p0;
}

void hd_philox(hd_draw draw, uint64_t block, uint32_t out[4]) {
    uint32_t k0 = (uint32_t)draw.seed, k1 = (uint32_t)(draw.seed >> 32);
    out[0] = (uint32_t)block;
    out[1] = (uint32_t)(block >> 32);
    out[2] = (uint32_t)draw.draw;
    out[3] = (uint32_t)(draw.draw >> 32);
    for (int round = 0; round < 10; round++) {
        philox_round(out, k0, k1);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

double hd_draw_f64(hd_draw draw, uint64_t i) {
    uint32_t words[4];
    hd_philox(draw, i / 2, words);
    const uint32_t *pair = words + 2 * (i % 2);
    uint64_t bits = (uint64_t)pair[1] << 32 | pair[0];
    return (double)(bits >> 11) * 0x1p-53;
}
