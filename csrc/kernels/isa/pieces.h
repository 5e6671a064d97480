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

/* ---- a^b = 2^(b log2 a), to 2^-31 -------------------------------------------------------------- */

/* log2 of a finite number above 0: of m in sqrt(1/2)..sqrt(2) by the series of atanh((m - 1) / (m + 1)). */
static inline double quick_log2(double x) {
    const uint64_t root = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000;
    uint64_t u = bits_of_f64(x) - root + one;
    double e = f64_of_bits(u >> 52 | 0x4330000000000000) - (0x1p52 + 1023);
    double m = f64_of_bits((u & 0x000fffffffffffff) + root);
    double z = (m - 1) / (m + 1), s = z * z;
    double s2 = s * s, s4 = s2 * s2;
    double series = (1 + s * (1.0 / 3)) + s2 * (1.0 / 5 + s * (1.0 / 7)) +
                    s4 * (1.0 / 9 + s * (1.0 / 11) + s2 * (1.0 / 13));
    return e + 2 / M_LN2 * z * series;
}

/* 2^x; beyond the range of f32 whatever becomes 0 or infinity there. */
static inline double quick_exp2(double x) {
    x = x > 1000 ? 1000 : x < -1000 ? -1000 : x;
    double shifted = x + 0x1.8p52, whole = shifted - 0x1.8p52, t = (x - whole) * M_LN2;
    double t2 = t * t, t4 = t2 * t2;
    double series = (1 + t) + t2 * (1.0 / 2 + t * (1.0 / 6)) +
                    t4 * (1.0 / 24 + t * (1.0 / 120) + t2 * (1.0 / 720 + t * (1.0 / 5040)) +
                          t4 * (1.0 / 40320 + t * (1.0 / 362880)));
    return series * f64_of_bits((bits_of_f64(shifted) + 1023) << 52);
}

#define POW_PLAIN(a, b) ((a) > 0 && (a) < INFINITY && fabsf(b) < INFINITY)
#define POW_QUICK(a, b) (float)quick_exp2((double)(b)*quick_log2((a)))
#define POW_LIBM(a, b) powf(a, b)

/* ---- a % b = a - floor(a / b) b ------------------------------------------------------------------ */

static inline double mod_of_f64(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* A remainder of 0 has the sign of a. */
static inline double quick_mod(double a, double b) {
    double r = a - floor(a / b) * b;
    return r == 0 ? copysign(r, a) : r;
}

/* With quotients below 2^28 and finite divisors every step in f64 is exact, or rounded as the result is. */
#define MOD_PLAIN(a, b) (fabs((double)(a) / (double)(b)) < 0x1p28 && fabsf(b) < INFINITY)
#define MOD_QUICK(a, b) (float)quick_mod((double)(a), (double)(b))
#define MOD_LIBM(a, b) (float)mod_of_f64((double)(a), (double)(b))

/* ---- the loops ------------------------------------------------------------------------------------- */

static inline void gather_piece(int64_t n, const float *x, int64_t sx, float *piece) {
    if (sx == 1)
        memcpy(piece, x, (size_t)n * sizeof *x);
    else
        for (int64_t i = 0; i < n; i++) piece[i] = x[i * sx];
}

#define PIECES(name, PLAIN, QUICK, LIBM)                                                                     \
    static void name(int64_t n, const void *pa, int64_t sa, const void *pb, int64_t sb, void *py,            \
                     int64_t sy) {                                                                           \
        float a[PIECE], b[PIECE], y[PIECE];                                                                  \
        for (int64_t at = 0; at < n; at += PIECE) {                                                          \
            int64_t count = n - at < PIECE ? n - at : PIECE;                                                 \
            uint32_t plain = 1;                                                                              \
            gather_piece(count, (const float *)pa + at * sa, sa, a);                                         \
            gather_piece(count, (const float *)pb + at * sb, sb, b);                                         \
            HD_INDEPENDENT for (int64_t i = 0; i < count; i++) y[i] = QUICK(a[i], b[i]);                     \
            for (int64_t i = 0; i < count; i++) plain &= PLAIN(a[i], b[i]);                                  \
            for (int64_t i = 0; i < count && !plain; i++)                                                    \
                if (!PLAIN(a[i], b[i])) y[i] = LIBM(a[i], b[i]);                                             \
            for (int64_t i = 0; i < count; i++) ((float *)py)[(at + i) * sy] = y[i];                         \
        }                                                                                                    \
    }

PIECES(any_pow_f32, POW_PLAIN, POW_QUICK, POW_LIBM)
PIECES(mod_f32, MOD_PLAIN, MOD_QUICK, MOD_LIBM)

#endif
