/* attention.c: the steps of attention (kernels/attention.h) for one instruction set. */
#include "kernels/isa/parts.h"
#include "kernels/vec_math.h"
#include "kernels/vec_random.h"

/* Rows of a register tile, two vectors of sums each. With 16 registers, 6 rows leave room for the
 * two vectors that they are multiplied with and for a broadcast. With 32, 8 rows divide 64 keys and
 * most numbers of features, so that few tiles are partial. */
#if HD_VEC_AVX512
#define ROWS 8
#define EACH_ROWS(F) F(8) F(7) F(6) F(5) F(4) F(3) F(2) F(1)
#else
#define ROWS 6
#define EACH_ROWS(F) F(6) F(5) F(4) F(3) F(2) F(1)
#endif
#define LOG2_E 1.44269504088896340736

/* 2^x = 2^n 2^f with n = round(x) and |f| <= 1/2, for x <= 64, to two units in the last place. 2^f
 * is a polynomial. Adding `magic` rounds x and leaves n + 127 in the low bits of the sum, from where
 * it is shifted into the exponent. Taking off 2^-126 at the end makes the result exactly 0 for
 * x <= -126, -inf included; it changes no weight that matters. NaN stays. */
HD_INLINE vf vf_weight(vf x) {
    const vf magic = vf_set(0x1.8p23f + 127);
    x = vf_max(vf_set(-126.0f), x);
    vf n = x + magic, f = x - (n - magic);
    vf p = 9.671512688e-03f + f * 1.326472725e-03f;
    p = 5.550733744e-02f + f * p;
    p = 2.402224208e-01f + f * p;
    p = 6.931469776e-01f + f * p;
    p = 1.0f + f * p;
    return p * (vf)((vu)n << 23) - 0x1p-126f;
}
/* The same in f64 for x <= 512, to one unit in the last place; 0 for x <= -1022. */
HD_INLINE vd vd_weight(vd x) {
    const vd magic = vd_set(0x1.8p52 + 1023);
    x = vd_max(vd_set(-1022.0), x);
    vd n = x + magic, f = x - (n - magic);
    vd p = 7.07258594926922339e-09 + f * 4.45496059818651856e-10;
    p = 1.01780624458457737e-07 + f * p;
    p = 1.32154425879216893e-06 + f * p;
    p = 1.52527338298361192e-05 + f * p;
    p = 1.54035304417360499e-04 + f * p;
    p = 1.33335581464169356e-03 + f * p;
    p = 9.61812910760688825e-03 + f * p;
    p = 5.55041086648215970e-02 + f * p;
    p = 2.40226506959100972e-01 + f * p;
    p = 6.93147180559945286e-01 + f * p;
    p = 1.0 + f * p;
    return p * (vd)((vul)n << 52) - 0x1p-1022;
}

/* A mask of lanes from the lowest bits of a word, and back. */
HD_INLINE vfm vf_of_bits(uint32_t bits) {
#if HD_VEC_AVX512
    return (vfm)bits;
#elif HD_VEC_AVX2
    const vi each = {1, 2, 4, 8, 16, 32, 64, 128};
    return (vi_set((int32_t)bits) & each) == each;
#else
    const vi each = {1, 2, 4, 8};
    return (vi_set((int32_t)bits) & each) == each;
#endif
}
HD_INLINE vdm vd_of_bits(uint32_t bits) {
#if HD_VEC_AVX512
    return (vdm)bits;
#elif HD_VEC_AVX2
    const vl each = {1, 2, 4, 8};
    return (((vl){0} + (int64_t)bits) & each) == each;
#else
    const vl each = {1, 2};
    return (((vl){0} + (int64_t)bits) & each) == each;
#endif
}

HD_INLINE uint32_t bits_of(vfm m) {
#if HD_VEC_AVX512
    return m;
#elif HD_VEC_AVX2
    return (uint32_t)_mm256_movemask_ps((__m256)m);
#elif defined(__SSE2__)
    return (uint32_t)_mm_movemask_ps((__m128)m);
#else
    return (m[0] & 1u) | (m[1] & 2u) | (m[2] & 4u) | (m[3] & 8u);
#endif
}

/* Prefetches the next rows. It stays out of line, apart from the tiles' code. */
static __attribute__((noinline)) void fetch_ahead(hd_ahead *ahead) {
    for (int64_t n = ahead->rows; n > 0 && ahead->count > 0; n--) {
        hd_ahead_run *run = &ahead->run[ahead->count - 1];
        for (int64_t at = 0; at < run->bytes; at += 64) __builtin_prefetch(run->row + at, 0, 2);
        run->row += run->step;
        if (--run->left == 0) ahead->count--;
    }
}

/* Bit l of words[n] = bit n of rows[l]. */
static void transpose_bits(int64_t lanes, int64_t keys, const uint64_t *rows, uint32_t *words) {
    for (int64_t n = 0; n < keys; n++) words[n] = 0;
    for (int64_t l = 0; l < lanes; l++) {
        const uint64_t row = rows[l];
        for (int64_t n = 0; n < keys; n++) words[n] |= (uint32_t)(row >> n & 1) << l;
    }
}

/* The draw counts along the keys of a query, so bits are made query by query and then transposed to
 * words of a key. With p = 1 (`below` = 2^32) nothing is kept. */
static void draw(hd_draw draw, int64_t first, int64_t row, int64_t count, int64_t keys, double p,
                 uint32_t *kept) {
    uint32_t scratch[HD_RANDOM_SCRATCH(HD_BLOCK_KEYS) + VF_LANES];
    uint64_t below = hd_drop_below(p), rows[HD_LANES];
    for (int64_t l = 0; l < count; l++) {
        const uint32_t *words = hd_draw_words(draw, first + l * row, keys, scratch);
        rows[l] = 0;
        for (int64_t n = 0; n < keys && !(below >> 32); n += VF_LANES)
            rows[l] |= (uint64_t)bits_of(vf_keep(words + n, below)) << n;
    }
    transpose_bits(count, keys, rows, kept);
}

/* pack_f32 unpack_f32 products_f32 accumulate_f32 accumulate_transposed_f32 score_f32 exp_sum_f32
 * finish_f32 drop_f32 dot_f32 weights_f32 slopes_f32 uncap_f32 unhide_f32 finite_f32
 * accumulate_seen_f32, and the same in _f64 */
#define HD_REAL 32
#include "kernels/isa/attention_body.h"
#define HD_REAL 64
#include "kernels/isa/attention_body.h"

void HD_ISA(hd_fill_attention)(hd_kernels *k) {
    k->attention[HD_F32] = &steps_f32;
    k->attention[HD_F64] = &steps_f64;
}
