/* gemm_tile.c: the register tiles of matrix products, in the compiler's vector extensions: 14 x 2
 * vectors (8 x 2 on Arm) where there are 32 vector registers, 6 x 2 where there are 16. The sums of a
 * tile leave registers for two vectors of b and a broadcast element of a. gemm_tile_body.h is included
 * once for each element type; NAME(x) is x_f32 or x_f64.
 */
#include "kernels/gemm_tile.h"

#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#define TILE_ROWS 14
#define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#elif defined(__aarch64__)
#define VECTOR_BYTES 16
#define TILE_ROWS 8
#define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#else
#define TILE_ROWS 6
#define EACH_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#if defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
#endif

/* Kernels are called by what they take: tile_6_2_f32 is 6 rows by 2 vectors, dot_2_of_4_f32 two columns of
 * four; pack_across_f32, pack_across_f64. */
#define INLINE static inline __attribute__((always_inline))
#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)

/* ---- the first n lanes of a vector ------------------------------------------------------------------- */

#if defined(__AVX512F__)
typedef __mmask16 mask_f32;
typedef __mmask8 mask_f64;
INLINE mask_f32 first_f32(int64_t n) {
    return (__mmask16)((1u << n) - 1);
}
INLINE mask_f64 first_f64(int64_t n) {
    return (__mmask8)((1u << n) - 1);
}
INLINE __m512 load_f32(const float *p, mask_f32 m) {
    return _mm512_maskz_loadu_ps(m, p);
}
INLINE __m512d load_f64(const double *p, mask_f64 m) {
    return _mm512_maskz_loadu_pd(m, p);
}
INLINE void store_f32(float *p, mask_f32 m, __m512 v) {
    _mm512_mask_storeu_ps(p, m, v);
}
INLINE void store_f64(double *p, mask_f64 m, __m512d v) {
    _mm512_mask_storeu_pd(p, m, v);
}
#elif defined(__AVX2__)
typedef __m256i mask_f32;
typedef __m256i mask_f64;
INLINE mask_f32 first_f32(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
INLINE mask_f64 first_f64(int64_t n) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}
INLINE __m256 load_f32(const float *p, mask_f32 m) {
    return _mm256_maskload_ps(p, m);
}
INLINE __m256d load_f64(const double *p, mask_f64 m) {
    return _mm256_maskload_pd(p, m);
}
INLINE void store_f32(float *p, mask_f32 m, __m256 v) {
    _mm256_maskstore_ps(p, m, v);
}
INLINE void store_f64(double *p, mask_f64 m, __m256d v) {
    _mm256_maskstore_pd(p, m, v);
}
#else
typedef float plain_f32 __attribute__((vector_size(VECTOR_BYTES)));
typedef double plain_f64 __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t mask_f32;
typedef int64_t mask_f64;
INLINE mask_f32 first_f32(int64_t n) {
    return n;
}
INLINE mask_f64 first_f64(int64_t n) {
    return n;
}
INLINE plain_f32 load_f32(const float *p, mask_f32 n) {
    plain_f32 v = {0};
    for (int64_t i = 0; i < n; i++) v[i] = p[i];
    return v;
}
INLINE plain_f64 load_f64(const double *p, mask_f64 n) {
    plain_f64 v = {0};
    for (int64_t i = 0; i < n; i++) v[i] = p[i];
    return v;
}
INLINE void store_f32(float *p, mask_f32 n, plain_f32 v) {
    for (int64_t i = 0; i < n; i++) p[i] = v[i];
}
INLINE void store_f64(double *p, mask_f64 n, plain_f64 v) {
    for (int64_t i = 0; i < n; i++) p[i] = v[i];
}
#endif

/* ---- the tiles ----------------------------------------------------------------------------------------- */

#define T float
#define LANES (VECTOR_BYTES / 4)
#define NAME(x) JOIN(x, f32)
#include "gemm_tile_body.h"
#undef T
#undef LANES
#undef NAME

#define T double
#define LANES (VECTOR_BYTES / 8)
#define NAME(x) JOIN(x, f64)
#include "gemm_tile_body.h"

/* kc: a panel of b (kc x nr) fills the first-level cache. mc: a block of a (mc x kc) fills half of
 * the second-level cache. */
#if defined(__AVX512F__)
#define TILE_F32 .name = "avx512 14x32", .mr = 14, .nr = 32, .mc = 336, .kc = 512
#define TILE_F64 .name = "avx512 14x16", .mr = 14, .nr = 16, .mc = 168, .kc = 512
#elif defined(__AVX2__)
#define TILE_F32 .name = "avx2 6x16", .mr = 6, .nr = 16, .mc = 144, .kc = 256
#define TILE_F64 .name = "avx2 6x8", .mr = 6, .nr = 8, .mc = 72, .kc = 256
#elif defined(__aarch64__)
#define TILE_F32 .name = "plain 8x8", .mr = 8, .nr = 8, .mc = 144, .kc = 256
#define TILE_F64 .name = "plain 8x4", .mr = 8, .nr = 4, .mc = 72, .kc = 256
#else
#define TILE_F32 .name = "plain 6x8", .mr = 6, .nr = 8, .mc = 144, .kc = 256
#define TILE_F64 .name = "plain 6x4", .mr = 6, .nr = 4, .mc = 72, .kc = 256
#endif

const hd_gemm_tiles JOIN(hd_gemm_tiles, HD_ISA_SUFFIX) = {
    .f32 = {TILE_F32, .strided = true, .run = run_f32, .pack = pack_f32, .dots = run_dots_f32},
    .f64 = {TILE_F64, .strided = true, .run = run_f64, .pack = pack_f64, .dots = run_dots_f64},
};
