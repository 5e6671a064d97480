/* vec_half.h: loads f16 and bf16 from memory as vectors of f32. Both conversions are exact.
 *
 *     f32     1 sign   8 exponent (bias 127)   23 mantissa
 *     bf16    1        8          (bias 127)    7            the upper half of an f32
 *     f16     1        5          (bias 15)    10
 */
#ifndef HD_VEC_HALF_H
#define HD_VEC_HALF_H

#include "kernels/vec.h"

/* 16 bits each, zero-extended to a lane of 32. */
HD_INLINE vu vu_of_u16(const uint16_t *p) {
#if HD_VEC_AVX512
    return (vu)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
#elif HD_VEC_AVX2
    return (vu)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
#elif defined(__SSE2__)
    return (vu)_mm_unpacklo_epi16(_mm_loadl_epi64((const __m128i *)p), _mm_setzero_si128());
#else
    return (vu){p[0], p[1], p[2], p[3]};
#endif
}

HD_INLINE vf vf_of_bf16(const uint16_t *p) {
    return (vf)(vu_of_u16(p) << 16);
}

HD_INLINE vf vf_of_f16(const uint16_t *p) {
#if HD_VEC_AVX512
    return (vf)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
#elif HD_VEC_AVX2
    return (vf)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
#else
    /* Exponent and mantissa move to their places in an f32, whose bias is larger by 112: the number is
     * 2^-112 of what it should be. Multiplying by 2^112 mends this, for denormals too. Infinity and NaN
     * get all bits of the exponent. */
    const vu h = vu_of_u16(p), rest = h & 0x7fff;
    const vu scaled = (vu)((vf)(rest << 13) * 0x1p112f), special = (vu)(rest >= 0x7c00) & 0x7f800000;
    return (vf)(scaled | special | (h & 0x8000) << 16);
#endif
}

/* name_n(p, n): the first n lanes, 0 <= n <= lanes; the others are 0 and their memory is not touched. */
#define HD_HALVES_N(name)                                                                                    \
    HD_INLINE vf name##_n(const uint16_t *p, int64_t n) {                                                    \
        if (n == VF_LANES) return name(p);                                                                   \
        uint16_t scratch[VF_LANES] = {0};                                                                    \
        for (int64_t i = 0; i < n; i++) scratch[i] = p[i];                                                   \
        return name(scratch);                                                                                \
    }
HD_HALVES_N(vf_of_bf16)
HD_HALVES_N(vf_of_f16)
#undef HD_HALVES_N

#endif
