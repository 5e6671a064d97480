/* panels.c: products of quantised weights (kernels/panels.h). */
#include "kernels/isa/parts.h"

#include "kernels/panels.h"
#include "kernels/vec_half.h"

/* ---- bytes in the lanes of 32 bits --------------------------------------------------------------------- */

HD_INLINE vu vu_load_bytes(const uint8_t *p) {
    vu v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* The same four bytes in every lane. */
HD_INLINE vi vi_four_bytes(const int8_t *p) {
    int32_t four;
    memcpy(&four, p, sizeof four);
    return vi_set(four);
}

HD_INLINE vf vf_of_vi(vi x) {
    return __builtin_convertvector(x, vf);
}

HD_INLINE vu vu_of_u8(const uint8_t *p) {
#if HD_VEC_AVX512
    return (vu)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p));
#elif HD_VEC_AVX2
    return (vu)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
#else
    return (vu){p[0], p[1], p[2], p[3]};
#endif
}

HD_INLINE vf vf_of_small(vu x) {
    return vf_of_vi((vi)x);
}
HD_INLINE vf vf_of_u8(const uint8_t *p) {
    return vf_of_small(vu_of_u8(p));
}
HD_INLINE vf vf_of_i8(const uint8_t *p) {
    return vf_of_vi((vi)(vu_of_u8(p) << 24) >> 24);
}

/* 128 + the values of indices in bytes. */
HD_INLINE vu listed_values(vu index) {
    static const uint8_t values[16] = HD_PANEL_VALUES;
#if HD_VEC_AVX512
    return (vu)_mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)values)),
                                   (__m512i)index);
#elif HD_VEC_AVX2
    return (vu)_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)values)),
                                   (__m256i)index);
#else
    uint8_t bytes[HD_VEC_BYTES];
    memcpy(bytes, &index, sizeof bytes);
    for (int i = 0; i < HD_VEC_BYTES; i++) bytes[i] = values[bytes[i]];
    memcpy(&index, bytes, sizeof bytes);
    return index;
#endif
}

/* ---- sum + four products of bytes, u below 128 by signed s ------------------------------------------- */

#if HD_VEC_AVX512
HD_INLINE vi four_products(vi sum, vu u, vi s) {
    const __m512i pairs = _mm512_maddubs_epi16((__m512i)u, (__m512i)s);
    return sum + (vi)_mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
}
#elif HD_VEC_AVX2
HD_INLINE vi four_products(vi sum, vu u, vi s) {
    const __m256i pairs = _mm256_maddubs_epi16((__m256i)u, (__m256i)s);
    return sum + (vi)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
#elif defined(__SSE2__)
HD_INLINE vi four_products(vi sum, vu u, vi s) {
    const __m128i low = (__m128i)(u & 0x00FF00FF), high = (__m128i)(u >> 8 & 0x00FF00FF);
    const __m128i s_low = _mm_srai_epi16(_mm_slli_epi16((__m128i)s, 8), 8),
                  s_high = _mm_srai_epi16((__m128i)s, 8);
    return sum + (vi)_mm_madd_epi16(low, s_low) + (vi)_mm_madd_epi16(high, s_high);
}
#else
HD_INLINE vi four_products(vi sum, vu u, vi s) {
    for (int byte = 0; byte < 4; byte++)
        sum += (vi)(u >> 8 * byte & 255) * ((vi)((vu)s << (24 - 8 * byte)) >> 24);
    return sum;
}
#endif

/* u up to 255: pairs of products of its halves stay within 16 bits. */
HD_INLINE vi four_wide_products(vi sum, vu u, vi s) {
#if HD_VEC_AVX512 || HD_VEC_AVX2
    const vi low = four_products(sum, u & 0x7F7F7F7F, s);
    return low + (four_products(vi_set(0), u >> 7 & 0x01010101, s) << 7);
#else
    return four_products(sum, u, s);
#endif
}

/* ---- x in bytes ---------------------------------------------------------------------------------------- */

HD_INLINE float largest_of_block(const float *x, float *poison) {
    vf most = vf_set(0), none = vf_set(0);
    for (int k = 0; k < HD_PANEL_BLOCK; k += VF_LANES) {
        const vf v = vf_load(x + k);
        most = vf_max(most, vf_abs(v));
        none += v * 0;
    }
    *poison = vf_sum(none); /* NaN when something is not finite */
    return vf_largest(most);
}

/* The nearest whole numbers of 32, as bytes; their sums by halves. */
HD_INLINE void put_bytes(const vf *x, int8_t *q, int32_t *sums) {
    int32_t wide[HD_PANEL_BLOCK];
    for (int v = 0; v < HD_PANEL_BLOCK / VF_LANES; v++) {
        const vi whole = __builtin_convertvector(x[v], vi);
        memcpy(wide + VF_LANES * v, &whole, sizeof whole);
    }
    for (int half = 0; half < 2; half++) {
        int32_t sum = 0;
        for (int i = 16 * half; i < 16 * half + 16; i++) {
            q[i] = (int8_t)wide[i];
            sum += wide[i];
        }
        sums[2 * half] = sum;
    }
}

static void to_bytes(const float *x, const hd_byte_rows *b, int64_t row) {
    int8_t *q = b->q + row * b->in, *fine = b->fine + row * b->in;
    float *scale = b->scale + row * (b->in / 32), *scaled = b->scaled + row * (b->in / 16);
    int32_t *sums = b->sums + 2 * row * (b->in / 16);
    for (int64_t k = 0; k < b->in; k += HD_PANEL_BLOCK, sums += 4, scaled += 2) {
        float poison;
        const float d = largest_of_block(x + k, &poison) / 127;
        const bool finite = poison == 0; /* else all bytes are 0, and the scale is NaN */
        const vf by = vf_set(d < 0x1p-120f ? 0 : 1 / d);
        vf coarse[HD_PANEL_BLOCK / VF_LANES], rest[HD_PANEL_BLOCK / VF_LANES];
        for (int v = 0; v < HD_PANEL_BLOCK / VF_LANES; v++) {
            const vf steps = finite ? vf_load(x + k + VF_LANES * v) * by : vf_set(0);
            coarse[v] = vf_rint(steps);
            rest[v] = vf_rint((steps - coarse[v]) * HD_FINE_STEPS);
        }
        put_bytes(coarse, q + k, sums);
        put_bytes(rest, fine + k, sums + 1);
        *scale++ = d + poison;
        for (int half = 0; half < 2; half++)
            scaled[half] = ((float)sums[2 * half] + (float)sums[2 * half + 1] / HD_FINE_STEPS) * (d + poison);
    }
}

/* ---- kernels ------------------------------------------------------------------------------------------- */

#if HD_VEC_AVX512
#define MOST_TILE_ROWS 8
#else
#define MOST_TILE_ROWS 4
#endif

#define TARGET
#define DOT4 four_products
#define WIDE_DOT4 four_wide_products
#define NAME(x) x##_exact
#include "kernels/isa/panels_body.h"
#undef TARGET
#undef DOT4
#undef WIDE_DOT4
#undef NAME

#if HD_VEC_AVX512
#define TARGET __attribute__((target("avx512vnni")))
TARGET HD_INLINE vi dot_bytes(vi sum, vu u, vi s) {
    return (vi)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)u, (__m512i)s);
}
#define DOT4 dot_bytes
#define WIDE_DOT4 dot_bytes
#define NAME(x) x##_vnni
#include "kernels/isa/panels_body.h"
#endif

void HD_ISA(hd_fill_panels)(hd_kernels *k) {
    k->panels = &kernels_exact;
#if HD_VEC_AVX512
    if (__builtin_cpu_supports("avx512vnni")) k->panels = &kernels_vnni;
#endif
}
