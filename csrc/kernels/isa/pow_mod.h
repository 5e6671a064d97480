/* pow_mod.h: %, // and ^. Compilers do not vectorise calls of libm or divisions of integers.
 *
 * So each piece of PIECE elements gets a quick formula first, which is right for the elements that
 * PLAIN accepts. The others, few or none, are then computed again by the slow formula. An element's
 * result does not depend on its piece.
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

/* log2 of a normal number above 0, to 2^-37. x = m 2^e with m in [sqrt(1/2), sqrt(2)); with
 * z = (m - 1) / (m + 1), log2 m = 2 / log(2) atanh(z) = z series(z²), whose coefficients are minimax. */
static inline double quick_log2(float x) {
    const uint32_t root = 0x3f3504f3;
    uint32_t u = bits_of_f32(x) - root;
    double e = (double)((int32_t)u >> 23), m = (double)f32_of_bits((u & 0x7fffff) + root);
    double z = (m - 1) / (m + 1), s = z * z;
    double series = (2.8853900817900802 + s * 0.96179667334965269) +
                    s * s * ((0.57708358334717158 + s * 0.41167282257733501) + s * s * 0.3407280825431474);
    return e + z * series;
}

/* 2^x, to 2^-34: 2^n 2^t with n = round(x), |t| <= 1/2, and a minimax polynomial that is 1 at 0. Beyond
 * the range of f32 the result is some number that becomes 0 or infinity in f32. */
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
/* The rounded quotient is never below a whole number that the true quotient reaches. If it reaches one
 * too early, the remainder has the other sign and is mended by adding b. Either way a - q b is exact in
 * the type, or it is the result, rounded once. */
#define QUICK_MOD(name, T, floor_of, fma_of, copysign_of)                                                    \
    static inline T name(T a, T b) {                                                                         \
        T r = fma_of(-floor_of(a / b), b, a);                                                                \
        r = r != 0 && (r < 0) != (b < 0) ? r + b : r;                                                        \
        return r == 0 ? copysign_of(r, a) : r;                                                               \
    }
QUICK_MOD(quick_mod, float, floorf, __builtin_fmaf, copysignf)
QUICK_MOD(quick_mod_f64, double, floor, __builtin_fma, copysign)
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

#define MOD_F64_PLAIN(a, b) ((fabs((a) / (b)) < 0x1p50) & (fabs(b) < INFINITY))
#define MOD_F64_QUICK(a, b) quick_mod_f64(a, b)
#define MOD_F64_LIBM(a, b) mod_of_f64(a, b)

/* ---- a // b and a % b of i64 -------------------------------------------------------------------- */

static inline int64_t mod_of_i64(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0; /* INT64_MIN % -1 traps */
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static inline int64_t floordiv_of_i64(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return (int64_t)(0 - (uint64_t)a);
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

/* Integers between -2^50 and 2^50 are exact in f64, and so is the floor of their quotient: a quotient
 * that is not whole is further from the next whole number than f64 rounds. They are converted by way of
 * the low bits of 1.5 2^52 + x. */
static inline double f64_of_i64(int64_t x) {
    return f64_of_bits((uint64_t)x + 0x4338000000000000) - 0x1.8p52;
}
static inline int64_t i64_of_f64(double x) {
    return (int64_t)(bits_of_f64(x + 0x1.8p52) - 0x4338000000000000);
}
static inline double quick_floordiv(int64_t a, int64_t b) {
    return floor(f64_of_i64(a) / f64_of_i64(b));
}

#define IS_SMALL(x) ((uint64_t)(x) + ((uint64_t)1 << 50) < (uint64_t)1 << 51)
#define I64_PLAIN(a, b) (IS_SMALL(a) & IS_SMALL(b) & ((b) != 0))
#define FLOORDIV_I64_QUICK(a, b) i64_of_f64(quick_floordiv(a, b))
#define MOD_I64_QUICK(a, b) i64_of_f64(f64_of_i64(a) - quick_floordiv(a, b) * f64_of_i64(b))

/* ---- the loops ------------------------------------------------------------------------------------- */

#define PIECES(name, T, PLAIN, QUICK, SLOW)                                                                  \
    static inline const T *piece_of_##name(int64_t n, const T *x, int64_t sx, T *piece) {                    \
        if (sx == 1) return x;                                                                               \
        for (int64_t i = 0; i < n; i++) piece[i] = x[i * sx];                                                \
        return piece;                                                                                        \
    }                                                                                                        \
    static void name(int64_t n, const void *pa, int64_t sa, const void *pb, int64_t sb, void *py,            \
                     int64_t sy) {                                                                           \
        T a_piece[PIECE], b_piece[PIECE], y[PIECE];                                                          \
        for (int64_t at = 0; at < n; at += PIECE) {                                                          \
            int64_t count = n - at < PIECE ? n - at : PIECE;                                                 \
            uint32_t plain = 1;                                                                              \
            const T *a = piece_of_##name(count, (const T *)pa + at * sa, sa, a_piece);                       \
            const T *b = piece_of_##name(count, (const T *)pb + at * sb, sb, b_piece);                       \
            HD_INDEPENDENT for (int64_t i = 0; i < count; i++) {                                             \
                y[i] = QUICK(a[i], b[i]);                                                                    \
                plain &= PLAIN(a[i], b[i]);                                                                  \
            }                                                                                                \
            for (int64_t i = 0; i < count && !plain; i++)                                                    \
                if (!PLAIN(a[i], b[i])) y[i] = SLOW(a[i], b[i]);                                             \
            for (int64_t i = 0; i < count; i++) ((T *)py)[(at + i) * sy] = y[i];                             \
        }                                                                                                    \
    }

PIECES(any_pow_f32, float, POW_PLAIN, POW_QUICK, POW_LIBM)
PIECES(mod_f32, float, MOD_PLAIN, MOD_QUICK, MOD_LIBM)
#if defined(__FMA__)
PIECES(mod_f64, double, MOD_F64_PLAIN, MOD_F64_QUICK, MOD_F64_LIBM)
#endif
PIECES(mod_i64, int64_t, I64_PLAIN, MOD_I64_QUICK, mod_of_i64)
PIECES(floordiv_i64, int64_t, I64_PLAIN, FLOORDIV_I64_QUICK, floordiv_of_i64)

#endif
