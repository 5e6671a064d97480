/* distance_body.h: distance.c for one element type (names: see vec_real.h).
 *
 * Sums of squares that leave the range, and powers other than 1 and 2, are taken of the differences as shares
 * of the largest one: no share is above 1.
 */
#include "kernels/vec_real.h"

#define SAFE_LOW (HD_REAL == 32 ? (real)1e-24 : (real)1e-270) /* between these no square that counts */
#define SAFE_HIGH (HD_REAL == 32 ? (real)1e37 : (real)1e307)  /* has left the range */

HD_INLINE vr NAME(other_than_0)(vr d) {
    return V(select)(V(eq)(d, V(set)(0)), V(set)(0), V(set)(1));
}
HD_INLINE vr NAME(square)(vr d) {
    return d * d;
}

/* The sum of f(x - y). */
HD_INLINE real NAME(sum_of)(int64_t n, const real *x, const real *y, vr (*f)(vr)) {
    vr a = V(set)(0), b = V(set)(0);
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        a += f(V(load)(x + i) - V(load)(y + i));
        b += f(V(load)(x + i + LANES) - V(load)(y + i + LANES));
    }
    for (; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        a += f(V(load_n)(x + i, count) - V(load_n)(y + i, count));
    }
    return V(sum)(a + b);
}

static real NAME(largest_of)(int64_t n, const real *x, const real *y) {
    vr most = V(set)(0), nan = V(set)(0);
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr d = V(abs)(V(load_n)(x + i, count) - V(load_n)(y + i, count));
        most = V(max)(d, most);
        nan = V(select)(V(nan)(d), V(set)(1), nan);
    }
    return V(any)(V(lt)(V(set)(0), nan)) ? (real)NAN : (real)V(largest)(most);
}

/* m (sum (|x - y| / m)^p)^(1/p) with m the largest difference. */
static real NAME(distance_by_shares)(int64_t n, double p, const real *x, const real *y) {
    real m = NAME(largest_of)(n, x, y);
    if (!(m > 0 && m < (real)INFINITY)) return m;
    vr sum = V(set)(0);
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr share = V(abs)(V(load_n)(x + i, count) - V(load_n)(y + i, count)) / m;
        sum += p == 2 ? share * share : V(exp)((real)p * V(log)(share));
    }
    return (real)(m * pow(V(sum)(sum), 1 / p));
}

static real NAME(distance)(int64_t n, double p, const real *x, const real *y) {
    if (p == 0) return NAME(sum_of)(n, x, y, NAME(other_than_0));
    if (p == 1) return NAME(sum_of)(n, x, y, V(abs));
    if (p == INFINITY) return NAME(largest_of)(n, x, y);
    real squares = p == 2 ? NAME(sum_of)(n, x, y, NAME(square)) : 0;
    if (squares > SAFE_LOW && squares < SAFE_HIGH) return (real)sqrt(squares);
    return NAME(distance_by_shares)(n, p, x, y);
}

static void NAME(distances)(int64_t n, int64_t width, double p, const void *px, const void *py, void *pd) {
    real *d = pd;
    for (int64_t j = 0; j < n; j++) d[j] = NAME(distance)(width, p, px, (const real *)py + j * width);
}

/* |x - y|² = |x|² + |y|² - 2 x · y, unless that would cost digits, or squares left the range. */
static void NAME(distances_by_products)(int64_t n, int64_t width, const void *px, const void *py, double xx,
                                        const void *pyy, void *pd) {
    const real *yy = pyy;
    real *d = pd;
    for (int64_t j = 0; j < n; j += LANES) {
        int64_t count = n - j < LANES ? n - j : LANES;
        vr squares = (real)xx + V(load_n)(yy + j, count);
        vr rest = squares - 2 * V(load_n)(d + j, count), none = V(set)(-1);
        vr y = V(select)(V(le)(squares * (real)0.0625, rest), V(sqrt)(rest), none);
        y = V(select)(V(lt)(V(set)(SAFE_LOW), squares), y, none);
        y = V(select)(V(lt)(squares, V(set)(SAFE_HIGH)), y, none);
        V(store_n)(d + j, y, count);
        if (!V(any)(V(lt)(y, V(set)(0)))) continue;
        for (int64_t i = j; i < j + count; i++)
            if (d[i] < 0) d[i] = NAME(distance)(width, 2, px, (const real *)py + i * width);
    }
}

/* ---- gradient ------------------------------------------------------------------------------------------ */

/* What a distance d with gradient g adds to dx, of the difference x - y. */
HD_INLINE vr NAME(distance_slope)(double p, vr difference, real d, real g) {
    vr size = V(abs)(difference), zero = V(set)(0), toward = V(set)(g);
    if (p == INFINITY) toward = V(select)(V(eq)(size, V(set)(d)), toward, zero);
    if (p == 2) return toward * (difference / d);
    if (p != 1 && p != INFINITY) toward *= V(exp)((real)(p - 1) * V(log)(size / d));
    toward = V(select)(V(lt)(difference, zero), -toward, toward);
    return V(select)(V(eq)(difference, zero), zero, toward);
}

HD_INLINE void NAME(add_slopes)(int64_t n, double p, const real *x, const real *y, real d, real g, real *dx) {
    for (int64_t i = 0; i < n; i += LANES) {
        int64_t count = n - i < LANES ? n - i : LANES;
        vr difference = V(load_n)(x + i, count) - V(load_n)(y + i, count);
        V(store_n)(dx + i, V(load_n)(dx + i, count) + NAME(distance_slope)(p, difference, d, g), count);
    }
}

/* dx += s[0] (x - y[0]) + .. + s[3] (x - y[3]), rows of y one behind the other */
static void NAME(add_four)(int64_t n, const real *x, const real *y, const real *s, real *dx) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        vr xi = V(load)(x + i);
        vr a = s[0] * (xi - V(load)(y + i)) + s[1] * (xi - V(load)(y + n + i));
        vr b = s[2] * (xi - V(load)(y + 2 * n + i)) + s[3] * (xi - V(load)(y + 3 * n + i));
        V(store)(dx + i, V(load)(dx + i) + (a + b));
    }
    if (i < n) {
        int64_t count = n - i;
        vr xi = V(load_n)(x + i, count);
        vr a = s[0] * (xi - V(load_n)(y + i, count)) + s[1] * (xi - V(load_n)(y + n + i, count));
        vr b = s[2] * (xi - V(load_n)(y + 2 * n + i, count)) + s[3] * (xi - V(load_n)(y + 3 * n + i, count));
        V(store_n)(dx + i, V(load_n)(dx + i, count) + (a + b), count);
    }
}

/* g / d of four distances, where they and their products with differences keep their digits; a g of 0 gives
 * 0. */
static int NAME(four_scales)(const real *d, int64_t sd, const real *g, int64_t sg, real *s) {
    for (int k = 0; k < 4; k++) {
        s[k] = g[k * sg] == 0 ? 0 : g[k * sg] / d[k * sd];
        if (s[k] != 0 && !(fabs(s[k]) > SAFE_LOW && fabs(s[k]) < 1 / SAFE_LOW)) return 0;
    }
    return 1;
}

static void NAME(distances_grad)(int64_t n, int64_t width, double p, const void *px, const void *py,
                                 const void *pd, int64_t sd, const void *pg, int64_t sg, void *dx) {
    const real *y = py, *d = pd, *g = pg;
    real s[4];
    if (p == 0) return;
    for (int64_t j = 0; j < n;) {
        if (p == 2 && n - j >= 4 && NAME(four_scales)(d + j * sd, sd, g + j * sg, sg, s)) {
            NAME(add_four)(width, px, y + j * width, s, dx);
            j += 4;
            continue;
        }
        real distance = d[j * sd], gradient = g[j * sg];
        if (distance != 0 && gradient != 0)
            NAME(add_slopes)(width, p, px, y + j * width, distance, gradient, dx);
        j++;
    }
}

#undef SAFE_LOW
#undef SAFE_HIGH
#include "kernels/vec_real_end.h"
