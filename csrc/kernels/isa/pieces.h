/* pieces.h: % and ^ of f32, whose libm calls no compiler turns into vectors.
 *
 * Piece by piece: a quick formula in f64 for all elements, right wherever `plain` says so; then libm for the others, of
 * which there are few or none. An element's result does not depend on its piece.
 */
#ifndef HD_PIECES_H
#define HD_PIECES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/vec.h"

enum { PIECE = 256 };

static inline double f64_of_bits(uint64_t u) {
    double x;
    memcpy(&x, &u, 8);
    return x;
}
static inline uint64_t bits_of_f64(double x) {
    uint64_t u;
    memcpy(&u, &x, 8);
    return u;
}
static inline float f32_of_bits(uint32_t u) {
    float x;
    memcpy(&x, &u, 4);
    return x;
}
static inline uint32_t bits_of_f32(float x) {
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}

/* ---- a^b = 2^(b log2 a), to 2^-31 -------------------------------------------------------------- */

/* log2 of a normal number above 0, to 2^-37: of m in sqrt(1/2)..sqrt(2) by a polynomial (minimax) for what the series of
 * atanh((m - 1) / (m + 1)) comes to. */
static inline double quick_log2(float x) {
    const uint32_t root = 0x3f3504f3;
    uint32_t u = bits_of_f32(x) - root;
    double e = (double)((int32_t)u >> 23), m = (double)f32_of_bits((u & 0x7fffff) + root);
    double z = (m - 1) / (m + 1), s = z * z;
    double series = (2.8853900817900802 + s * 0.96179667334965269) +
                    s * s * ((0.57708358334717158 + s * 0.41167282257733501) + s * s * 0.3407280825431474);
    return e + z * series;
}

/* 2^x, to 2^-34 (minimax, 1 at 0); beyond the range of f32 whatever becomes 0 or infinity there. */
static inline double quick_exp2(double x) {
    x = x < 1000 ? x : 1000;
    x = x > -1000 ? x : -1000;
    double shifted = x + 0x1.8p52, t = x - (shifted - 0x1.8p52), t2 = t * t;
    double series = (1 + t * 0.69314718070634784) + t2 * (0.24022651070409573 + t * 0.055504103606539582);
    double tail = (0.0096180374755998974 + t * 0.0013333937891929196) +
                  t2 * (0.00015466989654928636 + t * 1.5195923172429949e-05);
    return (series + t2 * t2 * tail) * f64_of_bits((bits_of_f64(shifted) + 1023) << 52);
}

#define POW_PLAIN(a, b) (((a) >= 0x1p-126f) & ((a) < INFINITY) & (fabsf(b) < INFINITY))
#define POW_QUICK(a, b) (float)quick_exp2((double)(b)*quick_log2((a)))
#define POW_LIBM(a, b) powf(a, b)

/* ---- a % b = a - floor(a / b) b ------------------------------------------------------------------ */

static inline double mod_of_f64(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* A remainder of 0 has the sign of a. */
#if defined(__FMA__)
/* The rounded quotient is never below a whole number that the true one reaches; where it reaches one too early, the
 * remainder has the other sign. Either way a - q b fits f32, or is the result, rounded once. */
static inline float quick_mod(float a, float b) {
    float r = __builtin_fmaf(-floorf(a / b), b, a);
    r = r != 0 && (r < 0) != (b < 0) ? r + b : r;
    return r == 0 ? copysignf(r, a) : r;
}
#define MOD_MOST 0x1p22f /* quotients up to here are known to less than 1/2 */
#else
/* Every step in f64 is exact, or rounded as the result is. */
static inline float quick_mod(float x, float y) {
    double a = (double)x, b = (double)y, r = a - floor(a / b) * b;
    return (float)(r == 0 ? copysign(r, a) : r);
}
#define MOD_MOST 0x1p28f
#endif

#define MOD_PLAIN(a, b) ((fabsf((a) / (b)) < MOD_MOST) & (fabsf(b) < INFINITY))
#define MOD_QUICK(a, b) quick_mod(a, b)
#define MOD_LIBM(a, b) (float)mod_of_f64((double)(a), (double)(b))

/* ---- the loops ------------------------------------------------------------------------------------- */

static inline const float *piece_of(int64_t n, const float *x, int64_t sx, float *piece) {
    if (sx == 1) return x;
    for (int64_t i = 0; i < n; i++) piece[i] = x[i * sx];
    return piece;
}

#define PIECES(name, PLAIN, QUICK, LIBM)                                                                     \
    static void name(int64_t n, const void *pa, int64_t sa, const void *pb, int64_t sb, void *py,            \
                     int64_t sy) {                                                                           \
        float a_piece[PIECE], b_piece[PIECE], y[PIECE];                                                      \
        for (int64_t at = 0; at < n; at += PIECE) {                                                          \
            int64_t count = n - at < PIECE ? n - at : PIECE;                                                 \
            uint32_t plain = 1;                                                                              \
            const float *a = piece_of(count, (const float *)pa + at * sa, sa, a_piece);                      \
            const float *b = piece_of(count, (const float *)pb + at * sb, sb, b_piece);                      \
            HD_INDEPENDENT for (int64_t i = 0; i < count; i++) {                                             \
                y[i] = QUICK(a[i], b[i]);                                                                    \
                plain &= PLAIN(a[i], b[i]);                                                                  \
            }                                                                                                \
            for (int64_t i = 0; i < count && !plain; i++)                                                    \
                if (!PLAIN(a[i], b[i])) y[i] = LIBM(a[i], b[i]);                                             \
            for (int64_t i = 0; i < count; i++) ((float *)py)[(at + i) * sy] = y[i];                         \
        }                                                                                                    \
    }

PIECES(any_pow_f32, POW_PLAIN, POW_QUICK, POW_LIBM)
PIECES(mod_f32, MOD_PLAIN, MOD_QUICK, MOD_LIBM)

#endif
