/* vec_random.h: the words of base/random.h, many blocks at once; bit for bit those of hd_philox. */
#ifndef HD_VEC_RANDOM_H
#define HD_VEC_RANDOM_H

#include "base/random.h"
#include "kernels/vec.h"

/* Words that one step gives: a block in each 64-bit lane. */
#define HD_RANDOM_STEP (4 * VD_LANES)
/* Scratch that hd_draw_words needs for n words. */
#define HD_RANDOM_SCRATCH(n) ((n) + 4 + HD_RANDOM_STEP)

/* The product of the low 32 bits of each lane by m. */
HD_INLINE vul vul_mul_low(vul a, uint32_t m) {
#if HD_VEC_AVX512
    return (vul)_mm512_mul_epu32((__m512i)a, (__m512i)vul_set(m));
#elif HD_VEC_AVX2
    return (vul)_mm256_mul_epu32((__m256i)a, (__m256i)vul_set(m));
#elif defined(__SSE2__)
    return (vul)_mm_mul_epu32((__m128i)a, (__m128i)vul_set(m));
#else
    return (a & 0xffffffffu) * m;
#endif
}

/* Blocks block .. block + VD_LANES - 1 of the draw. A lane holds one word of the counter in its low half; the
 * high half carries rubbish that the multiplications ignore. */
HD_INLINE void hd_philox_step(hd_draw draw, uint64_t block, uint32_t *out) {
    vul counter = (vul)HD_IOTA_64 + block;
    vul c0 = counter, c1 = counter >> 32;
    vul c2 = vul_set((uint32_t)draw.draw), c3 = vul_set(draw.draw >> 32);
    uint32_t k0 = (uint32_t)draw.seed, k1 = (uint32_t)(draw.seed >> 32);
    for (int round = 0; round < 10; round++) {
        vul p0 = vul_mul_low(c0, 0xD2511F53u), p1 = vul_mul_low(c2, 0xCD9E8D57u);
        c0 = (p1 >> 32) ^ c1 ^ vul_set(k0);
        c1 = p1;
        c2 = (p0 >> 32) ^ c3 ^ vul_set(k1);
        c3 = p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    vul w01 = (c0 & 0xffffffffu) | c1 << 32, w23 = (c2 & 0xffffffffu) | c3 << 32;
#if VD_LANES == 8
    vul low = __builtin_shufflevector(w01, w23, 0, 8, 1, 9, 2, 10, 3, 11);
    vul high = __builtin_shufflevector(w01, w23, 4, 12, 5, 13, 6, 14, 7, 15);
#elif VD_LANES == 4
    vul low = __builtin_shufflevector(w01, w23, 0, 4, 1, 5);
    vul high = __builtin_shufflevector(w01, w23, 2, 6, 3, 7);
#else
    vul low = __builtin_shufflevector(w01, w23, 0, 2);
    vul high = __builtin_shufflevector(w01, w23, 1, 3);
#endif
    vu_store(out, (vu)low);
    vu_store(out + VF_LANES, (vu)high);
}

/* Words first .. first + n - 1 of the draw; the result points into `scratch` (HD_RANDOM_SCRATCH(n) words). */
HD_INLINE const uint32_t *hd_draw_words(hd_draw draw, int64_t first, int64_t n, uint32_t *scratch) {
    uint64_t block = (uint64_t)first / 4;
    int64_t skip = first % 4;
    for (int64_t i = 0; i < skip + n; i += HD_RANDOM_STEP)
        hd_philox_step(draw, block + (uint64_t)i / 4, scratch + i);
    return scratch + skip;
}

/* An element is dropped when its word is below this; 2^32 (p = 1) drops all. */
HD_INLINE uint64_t hd_drop_below(double p) {
    return p >= 1 ? (uint64_t)1 << 32 : p <= 0 ? 0 : (uint64_t)(p * 0x1p32);
}

/* Which lanes keep their element: words that are not below `below` (< 2^32). A whole vector of
 * words is read. */
HD_INLINE vfm vf_keep(const uint32_t *words, uint64_t below) {
    return vu_ge(vu_load(words), vu_set((uint32_t)below));
}
HD_INLINE vdm vd_keep(const uint32_t *words, uint64_t below) {
#if HD_VEC_AVX512
    return _mm256_cmpge_epu32_mask(_mm256_loadu_si256((const __m256i *)words), _mm256_set1_epi32((int)below));
#else
    vul w = {0};
    for (int i = 0; i < VD_LANES; i++) w[i] = words[i];
    return (vdm)(w >= vul_set(below));
#endif
}

#endif
