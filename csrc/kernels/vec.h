/* vec.h: SIMD vectors, as wide as the instruction set that a file is compiled for. They are vector
 * extensions of gcc and clang, so + - * / and the integer operators work on them. This header adds what
 * the extensions lack: loads without alignment, tails, masks, selection, rounding, horizontal sums.
 *
 * Names: vf f32, vd f64, vi i32, vu u32, vl i64, vul u64; VF_LANES lanes of 32 bits, VD_LANES of 64.
 * A mask (vfm of f32 lanes, vdm of f64 lanes) comes from a comparison; & | ~ combine masks.
 * Intrinsics are behind #if. Without them everything is plain C, so another processor needs no code
 * here.
 */
#ifndef HD_VEC_H
#define HD_VEC_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define HD_VEC_AVX512 1
#define HD_VEC_BYTES 64
#elif defined(__AVX2__)
#define HD_VEC_AVX2 1
#define HD_VEC_BYTES 32
#else
#define HD_VEC_BYTES 16
#endif

#define VF_LANES (HD_VEC_BYTES / 4)
#define VD_LANES (HD_VEC_BYTES / 8)

#define HD_INLINE static inline __attribute__((always_inline, unused))

/* HD_ISA(name) is name_plain, name_avx2 or name_avx512: the only symbols that an ISA source exports. */
#define HD_ISA_PASTE(name, suffix) name##_##suffix
#define HD_ISA_EXPAND(name, suffix) HD_ISA_PASTE(name, suffix)
#define HD_ISA(name) HD_ISA_EXPAND(name, HD_ISA_SUFFIX)

/* Before a loop whose iterations do not depend on each other (y == x at most). */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* a loop over a libm function stays one */
#define HD_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define HD_INDEPENDENT _Pragma("GCC ivdep")
#endif

typedef float vf __attribute__((vector_size(HD_VEC_BYTES)));
typedef double vd __attribute__((vector_size(HD_VEC_BYTES)));
typedef int32_t vi __attribute__((vector_size(HD_VEC_BYTES)));
typedef uint32_t vu __attribute__((vector_size(HD_VEC_BYTES)));
typedef int64_t vl __attribute__((vector_size(HD_VEC_BYTES)));
typedef uint64_t vul __attribute__((vector_size(HD_VEC_BYTES)));

/* The same in memory: aligned as an element. */
typedef float vf_mem __attribute__((vector_size(HD_VEC_BYTES), aligned(4), may_alias));
typedef double vd_mem __attribute__((vector_size(HD_VEC_BYTES), aligned(8), may_alias));
typedef uint32_t vu_mem __attribute__((vector_size(HD_VEC_BYTES), aligned(4), may_alias));

/* ---- constants ------------------------------------------------------------------------------- */
HD_INLINE vf vf_set(float x) {
    return x - (vf){0}; /* x - 0 is x for every x, -0 included */
}
HD_INLINE vd vd_set(double x) {
    return x - (vd){0};
}
HD_INLINE vi vi_set(int32_t x) {
    return x - (vi){0};
}
HD_INLINE vu vu_set(uint32_t x) {
    return x - (vu){0};
}
HD_INLINE vul vul_set(uint64_t x) {
    return x - (vul){0};
}

#if VF_LANES == 16
#define HD_IOTA_32                                                                                           \
    { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 }
#define HD_IOTA_64                                                                                           \
    { 0, 1, 2, 3, 4, 5, 6, 7 }
#elif VF_LANES == 8
#define HD_IOTA_32                                                                                           \
    { 0, 1, 2, 3, 4, 5, 6, 7 }
#define HD_IOTA_64                                                                                           \
    { 0, 1, 2, 3 }
#else
#define HD_IOTA_32                                                                                           \
    { 0, 1, 2, 3 }
#define HD_IOTA_64                                                                                           \
    { 0, 1 }
#endif

/* ---- masks ----------------------------------------------------------------------------------- */
#if HD_VEC_AVX512
typedef __mmask16 vfm;
typedef __mmask8 vdm;
HD_INLINE vfm vf_lt(vf a, vf b) {
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ);
}
HD_INLINE vfm vf_le(vf a, vf b) {
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LE_OQ);
}
HD_INLINE vfm vf_eq(vf a, vf b) {
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_EQ_OQ);
}
HD_INLINE vfm vf_nan(vf a) {
    return _mm512_cmp_ps_mask((__m512)a, (__m512)a, _CMP_UNORD_Q);
}
HD_INLINE vfm vu_ge(vu a, vu b) {
    return _mm512_cmpge_epu32_mask((__m512i)a, (__m512i)b);
}
HD_INLINE vf vf_select(vfm m, vf a, vf b) {
    return (vf)_mm512_mask_blend_ps(m, (__m512)b, (__m512)a);
}
HD_INLINE vfm vf_first(int64_t n) { /* the first n lanes, n <= VF_LANES */
    return (vfm)((1u << n) - 1);
}
HD_INLINE int vf_any(vfm m) {
    return m != 0;
}
HD_INLINE vdm vd_lt(vd a, vd b) {
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LT_OQ);
}
HD_INLINE vdm vd_le(vd a, vd b) {
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LE_OQ);
}
HD_INLINE vdm vd_eq(vd a, vd b) {
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_EQ_OQ);
}
HD_INLINE vdm vd_nan(vd a) {
    return _mm512_cmp_pd_mask((__m512d)a, (__m512d)a, _CMP_UNORD_Q);
}
HD_INLINE vd vd_select(vdm m, vd a, vd b) {
    return (vd)_mm512_mask_blend_pd(m, (__m512d)b, (__m512d)a);
}
HD_INLINE vdm vd_first(int64_t n) {
    return (vdm)((1u << n) - 1);
}
HD_INLINE int vd_any(vdm m) {
    return m != 0;
}
#else
typedef vi vfm;
typedef vl vdm;
HD_INLINE vfm vf_lt(vf a, vf b) {
    return a < b;
}
HD_INLINE vfm vf_le(vf a, vf b) {
    return a <= b;
}
HD_INLINE vfm vf_eq(vf a, vf b) {
    return a == b;
}
HD_INLINE vfm vf_nan(vf a) {
    return a != a;
}
HD_INLINE vfm vu_ge(vu a, vu b) {
    return (vfm)(a >= b);
}
HD_INLINE vf vf_select(vfm m, vf a, vf b) {
#if HD_VEC_AVX2
    return (vf)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)m);
#else
    return (vf)((m & (vi)a) | (~m & (vi)b));
#endif
}
HD_INLINE vfm vf_first(int64_t n) {
    return (vi)HD_IOTA_32 < vi_set((int32_t)n);
}
HD_INLINE vdm vd_lt(vd a, vd b) {
    return a < b;
}
HD_INLINE vdm vd_le(vd a, vd b) {
    return a <= b;
}
HD_INLINE vdm vd_eq(vd a, vd b) {
    return a == b;
}
HD_INLINE vdm vd_nan(vd a) {
    return a != a;
}
HD_INLINE vd vd_select(vdm m, vd a, vd b) {
#if HD_VEC_AVX2
    return (vd)_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)m);
#else
    return (vd)((m & (vl)a) | (~m & (vl)b));
#endif
}
HD_INLINE vdm vd_first(int64_t n) {
    return (vl)HD_IOTA_64 < n;
}
HD_INLINE int vd_any(vdm m) {
#if HD_VEC_AVX2
    return _mm256_movemask_pd((__m256d)m) != 0;
#elif defined(__SSE2__)
    return _mm_movemask_pd((__m128d)m) != 0;
#else
    return (m[0] | m[1]) != 0;
#endif
}
HD_INLINE int vf_any(vfm m) {
#if HD_VEC_AVX2
    return _mm256_movemask_ps((__m256)m) != 0;
#elif defined(__SSE2__)
    return _mm_movemask_ps((__m128)m) != 0;
#else
    return (m[0] | m[1] | m[2] | m[3]) != 0;
#endif
}
#endif

/* ---- memory ---------------------------------------------------------------------------------- */
HD_INLINE vf vf_load(const float *p) {
    return *(const vf_mem *)p;
}
HD_INLINE void vf_store(float *p, vf v) {
    *(vf_mem *)p = v;
}
HD_INLINE vd vd_load(const double *p) {
    return *(const vd_mem *)p;
}
HD_INLINE void vd_store(double *p, vd v) {
    *(vd_mem *)p = v;
}
HD_INLINE vu vu_load(const uint32_t *p) {
    return *(const vu_mem *)p;
}
HD_INLINE void vu_store(uint32_t *p, vu v) {
    *(vu_mem *)p = v;
}

/* The first n lanes, 0 <= n <= lanes; lanes beyond n are 0 and their memory is not touched. A full vector
 * is loaded and stored without a mask: masked stores are slow on some processors and delay a load that
 * follows. */
HD_INLINE vf vf_load_n(const float *p, int64_t n) {
    if (n == VF_LANES) return vf_load(p);
#if HD_VEC_AVX512
    return (vf)_mm512_maskz_loadu_ps(vf_first(n), p);
#elif HD_VEC_AVX2
    return (vf)_mm256_maskload_ps(p, (__m256i)vf_first(n));
#else
    vf v = {0};
    for (int64_t i = 0; i < n; i++) v[i] = p[i];
    return v;
#endif
}
HD_INLINE void vf_store_n(float *p, vf v, int64_t n) {
    if (n == VF_LANES) {
        vf_store(p, v);
        return;
    }
#if HD_VEC_AVX512
    _mm512_mask_storeu_ps(p, vf_first(n), (__m512)v);
#elif HD_VEC_AVX2
    __m128 part = _mm256_castps256_ps128((__m256)v);
    if (n & 4) {
        _mm_storeu_ps(p, part);
        part = _mm256_extractf128_ps((__m256)v, 1);
        p += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)p, part);
        part = _mm_movehl_ps(part, part);
        p += 2;
    }
    if (n & 1) _mm_store_ss(p, part);
#else
    for (int64_t i = 0; i < n; i++) p[i] = v[i];
#endif
}
HD_INLINE vd vd_load_n(const double *p, int64_t n) {
    if (n == VD_LANES) return vd_load(p);
#if HD_VEC_AVX512
    return (vd)_mm512_maskz_loadu_pd(vd_first(n), p);
#elif HD_VEC_AVX2
    return (vd)_mm256_maskload_pd(p, (__m256i)vd_first(n));
#else
    vd v = {0};
    for (int64_t i = 0; i < n; i++) v[i] = p[i];
    return v;
#endif
}
HD_INLINE void vd_store_n(double *p, vd v, int64_t n) {
    if (n == VD_LANES) {
        vd_store(p, v);
        return;
    }
#if HD_VEC_AVX512
    _mm512_mask_storeu_pd(p, vd_first(n), (__m512d)v);
#elif HD_VEC_AVX2
    __m128d part = _mm256_castpd256_pd128((__m256d)v);
    if (n & 2) {
        _mm_storeu_pd(p, part);
        part = _mm256_extractf128_pd((__m256d)v, 1);
        p += 2;
    }
    if (n & 1) _mm_store_sd(p, part);
#else
    for (int64_t i = 0; i < n; i++) p[i] = v[i];
#endif
}

/* n elements that lie `stride` apart (0: one, repeated). */
HD_INLINE vf vf_gather(const float *p, int64_t stride, int64_t n) {
    vf v = {0};
    for (int64_t i = 0; i < n; i++) v[i] = p[i * stride];
    return v;
}
HD_INLINE void vf_scatter(float *p, int64_t stride, vf v, int64_t n) {
    for (int64_t i = 0; i < n; i++) p[i * stride] = v[i];
}
HD_INLINE vd vd_gather(const double *p, int64_t stride, int64_t n) {
    vd v = {0};
    for (int64_t i = 0; i < n; i++) v[i] = p[i * stride];
    return v;
}
HD_INLINE void vd_scatter(double *p, int64_t stride, vd v, int64_t n) {
    for (int64_t i = 0; i < n; i++) p[i * stride] = v[i];
}

/* Which of n bytes are not 0. */
HD_INLINE vfm vf_bytes(const uint8_t *p, int64_t n) {
#if HD_VEC_AVX512
    __m128i bytes =
        n == VF_LANES ? _mm_loadu_si128((const __m128i *)p) : _mm_maskz_loadu_epi8(vf_first(n), p);
    return _mm_test_epi8_mask(bytes, bytes);
#else
    uint8_t bytes[VF_LANES] = {0};
    if (n == VF_LANES)
        memcpy(bytes, p, VF_LANES);
    else
        for (int64_t i = 0; i < n; i++) bytes[i] = p[i];
#if HD_VEC_AVX2
    return (vi)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)bytes)) != 0;
#else
    return (vi){bytes[0], bytes[1], bytes[2], bytes[3]} != 0;
#endif
#endif
}
HD_INLINE vdm vd_bytes(const uint8_t *p, int64_t n) {
#if HD_VEC_AVX512
    __m128i bytes = _mm_maskz_loadu_epi8(vd_first(n), p);
    return (vdm)_mm_test_epi8_mask(bytes, bytes);
#else
    vl v = {0};
    for (int64_t i = 0; i < n; i++) v[i] = p[i];
    return v != 0;
#endif
}

/* ---- functions that operators lack ----------------------------------------------------------- */
/* The larger, the smaller; b where either is NaN. */
HD_INLINE vf vf_max(vf a, vf b) {
#if HD_VEC_AVX512
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif HD_VEC_AVX2
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (vf)_mm_max_ps((__m128)a, (__m128)b);
#else
    return vf_select(a > b, a, b);
#endif
}
HD_INLINE vf vf_min(vf a, vf b) {
#if HD_VEC_AVX512
    return (vf)_mm512_min_ps((__m512)a, (__m512)b);
#elif HD_VEC_AVX2
    return (vf)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
    return (vf)_mm_min_ps((__m128)a, (__m128)b);
#else
    return vf_select(a < b, a, b);
#endif
}
HD_INLINE vd vd_max(vd a, vd b) {
    return vd_select(vd_lt(b, a), a, b);
}
HD_INLINE vd vd_min(vd a, vd b) {
    return vd_select(vd_lt(a, b), a, b);
}

HD_INLINE vf vf_abs(vf x) {
    return (vf)((vu)x & 0x7fffffffu);
}
HD_INLINE vf vf_copysign(vf magnitude, vf sign) {
    return (vf)(((vu)magnitude & 0x7fffffffu) | ((vu)sign & 0x80000000u));
}
HD_INLINE vd vd_abs(vd x) {
    return (vd)((vul)x & 0x7fffffffffffffffu);
}

HD_INLINE vf vf_sqrt(vf x) {
#if HD_VEC_AVX512
    return (vf)_mm512_sqrt_ps((__m512)x);
#elif HD_VEC_AVX2
    return (vf)_mm256_sqrt_ps((__m256)x);
#else
    vf y = {0};
    for (int i = 0; i < VF_LANES; i++) y[i] = sqrtf(x[i]);
    return y;
#endif
}
HD_INLINE vd vd_sqrt(vd x) {
#if HD_VEC_AVX512
    return (vd)_mm512_sqrt_pd((__m512d)x);
#elif HD_VEC_AVX2
    return (vd)_mm256_sqrt_pd((__m256d)x);
#else
    vd y = {0};
    for (int i = 0; i < VD_LANES; i++) y[i] = sqrt(x[i]);
    return y;
#endif
}

/* To the nearest integer, half to even. */
HD_INLINE vf vf_rint(vf x) {
#if HD_VEC_AVX512
    return (vf)_mm512_roundscale_ps((__m512)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#elif HD_VEC_AVX2
    return (vf)_mm256_round_ps((__m256)x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
    vf a = vf_abs(x), shifted = a + 0x1p23f;
    return vf_select(vf_lt(a, vf_set(0x1p23f)), vf_copysign(shifted - 0x1p23f, x), x);
#endif
}

/* 2^n · x for an integral n in [-252, 254]; rounds once only when the result is normal (twice: the last bit
 * of a denormal). */
HD_INLINE vf vf_ldexp(vf x, vf n) {
#if HD_VEC_AVX512
    return (vf)_mm512_scalef_ps((__m512)x, (__m512)n);
#else
    vi whole = __builtin_convertvector(n, vi), half = whole >> 1;
    vf low = (vf)((vu)(half + 127) << 23), high = (vf)((vu)(whole - half + 127) << 23);
    return x * low * high;
#endif
}

/* ---- horizontal, in a fixed order: halves onto each other ------------------------------------ */
typedef float hd_vf4 __attribute__((vector_size(16)));
typedef double hd_vd2 __attribute__((vector_size(16)));

#if VF_LANES >= 8
typedef float hd_vf8 __attribute__((vector_size(32)));
typedef double hd_vd4 __attribute__((vector_size(32)));
#define HD_FOLD8(v, op)                                                                                      \
    op(__builtin_shufflevector(v, v, 0, 1, 2, 3), __builtin_shufflevector(v, v, 4, 5, 6, 7))
#define HD_FOLD4(v, op) op(__builtin_shufflevector(v, v, 0, 1), __builtin_shufflevector(v, v, 2, 3))
#endif
#define HD_PLUS(a, b) ((a) + (b))

HD_INLINE float vf_sum(vf v) {
#if VF_LANES == 16
    hd_vf8 v8 = HD_PLUS(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7),
                        __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15));
    hd_vf4 v4 = HD_FOLD8(v8, HD_PLUS);
#elif VF_LANES == 8
    hd_vf4 v4 = HD_FOLD8(v, HD_PLUS);
#else
    hd_vf4 v4 = v;
#endif
    return (v4[0] + v4[2]) + (v4[1] + v4[3]);
}
HD_INLINE double vd_sum(vd v) {
#if VD_LANES == 8
    hd_vd4 v4 = HD_FOLD8(v, HD_PLUS);
    hd_vd2 v2 = HD_FOLD4(v4, HD_PLUS);
#elif VD_LANES == 4
    hd_vd2 v2 = HD_FOLD4(v, HD_PLUS);
#else
    hd_vd2 v2 = v;
#endif
    return v2[0] + v2[1];
}
/* The largest lane. With NaN among the lanes the result is unspecified: test with vf_nan where it
 * matters. */
HD_INLINE float vf_largest(vf v) {
#if HD_VEC_AVX512
    return _mm512_reduce_max_ps((__m512)v);
#else
    float best = v[0];
    for (int i = 1; i < VF_LANES; i++) best = v[i] > best ? v[i] : best;
    return best;
#endif
}
HD_INLINE double vd_largest(vd v) {
    double best = v[0];
    for (int i = 1; i < VD_LANES; i++) best = v[i] > best ? v[i] : best;
    return best;
}

/* even, odd: lanes 0 2 4 ... and 1 3 5 ... of a followed by b. zip_low, zip_high: the halves of
 * a0 b0 a1 b1 ... */
#if VF_LANES == 16
#define HD_EVEN 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define HD_ODD 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define HD_ZIP_LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HD_ZIP_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif VF_LANES == 8
#define HD_EVEN 0, 2, 4, 6, 8, 10, 12, 14
#define HD_ODD 1, 3, 5, 7, 9, 11, 13, 15
#define HD_ZIP_LOW 0, 8, 1, 9, 2, 10, 3, 11
#define HD_ZIP_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#else
#define HD_EVEN 0, 2, 4, 6
#define HD_ODD 1, 3, 5, 7
#define HD_ZIP_LOW 0, 4, 1, 5
#define HD_ZIP_HIGH 2, 6, 3, 7
#endif
HD_INLINE vu vu_even(vu a, vu b) {
    return __builtin_shufflevector(a, b, HD_EVEN);
}
HD_INLINE vu vu_odd(vu a, vu b) {
    return __builtin_shufflevector(a, b, HD_ODD);
}
HD_INLINE vf vf_zip_low(vf a, vf b) {
    return __builtin_shufflevector(a, b, HD_ZIP_LOW);
}
HD_INLINE vf vf_zip_high(vf a, vf b) {
    return __builtin_shufflevector(a, b, HD_ZIP_HIGH);
}
#if VD_LANES == 8
#define HD_ZIP_LOW_64 0, 8, 1, 9, 2, 10, 3, 11
#define HD_ZIP_HIGH_64 4, 12, 5, 13, 6, 14, 7, 15
#elif VD_LANES == 4
#define HD_ZIP_LOW_64 0, 4, 1, 5
#define HD_ZIP_HIGH_64 2, 6, 3, 7
#else
#define HD_ZIP_LOW_64 0, 2
#define HD_ZIP_HIGH_64 1, 3
#endif
HD_INLINE vd vd_zip_low(vd a, vd b) {
    return __builtin_shufflevector(a, b, HD_ZIP_LOW_64);
}
HD_INLINE vd vd_zip_high(vd a, vd b) {
    return __builtin_shufflevector(a, b, HD_ZIP_HIGH_64);
}

/* The halves of an f32 vector as f64. */
HD_INLINE vd vf_low(vf v) {
#if VF_LANES == 16
    return __builtin_convertvector(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7), vd);
#elif VF_LANES == 8
    return __builtin_convertvector(__builtin_shufflevector(v, v, 0, 1, 2, 3), vd);
#else
    return (vd){v[0], v[1]};
#endif
}
HD_INLINE vd vf_high(vf v) {
#if VF_LANES == 16
    return __builtin_convertvector(__builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15), vd);
#elif VF_LANES == 8
    return __builtin_convertvector(__builtin_shufflevector(v, v, 4, 5, 6, 7), vd);
#else
    return (vd){v[2], v[3]};
#endif
}

/* An f32 vector from two halves of f64. */
HD_INLINE vf vf_of_halves(vd low, vd high) {
#if VF_LANES == 16
    return __builtin_shufflevector(__builtin_convertvector(low, hd_vf8),
                                   __builtin_convertvector(high, hd_vf8), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
                                   11, 12, 13, 14, 15);
#elif VF_LANES == 8
    return __builtin_shufflevector(__builtin_convertvector(low, hd_vf4),
                                   __builtin_convertvector(high, hd_vf4), 0, 1, 2, 3, 4, 5, 6, 7);
#else
    return (vf){(float)low[0], (float)low[1], (float)high[0], (float)high[1]};
#endif
}

#endif
