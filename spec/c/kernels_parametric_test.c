/* Functions with a parameter, of every table. */
#include "kernels_check.h"

static double parametric_of(int op, double x, double p) {
    if (x > 0) return x;
    return op == HD_LEAKY_RELU ? p * x : p * expm1(x);
}

static double parametric_slope(int op, double x, double p) {
    if (x > 0) return 1;
    return op == HD_LEAKY_RELU ? p : p * exp(x);
}

static void check_once(int op, hd_dtype t, double p, int64_t n, int64_t sx, int64_t sg, int64_t sy) {
    int64_t x0 = base_of(sx), g0 = base_of(sg), y0 = 3;
    memcpy(&out, &before, sizeof out);
    k->parametric[op][t](n, p, at(t, &in_a, x0), sx, at(t, &out, y0), sy);
    for (int64_t i = 0; i < n; i++)
        CHECK(near(t, get(t, &out, y0 + i * sy), parametric_of(op, get(t, &in_a, x0 + i * sx), p), 1e-6));
    check_untouched(t, &out, y0, sy, n);
    memcpy(&out, &before, sizeof out);
    k->parametric_grad[op][t](n, p, at(t, &in_b, g0), sg, at(t, &in_a, x0), sx, at(t, &out, y0), sy);
    for (int64_t i = 0; i < n; i++)
        CHECK(near(t, get(t, &out, y0 + i * sy),
                   get(t, &in_b, g0 + i * sg) * parametric_slope(op, get(t, &in_a, x0 + i * sx), p), 2e-6));
    check_untouched(t, &out, y0, sy, n);
}

static void check_parametric(void) {
    static const double parameters[] = {0.01, 1, -0.5};
    for (int op = 0; op < HD_PARAMETRIC_COUNT; op++) EACH_DTYPE(t, floats) {
            make(t, &in_a, 4, op);
            make(t, &in_b, 2, 7);
            EACH_LENGTH(n)
            for (int s = 0; s < STRIDES * STRIDES; s++) {
                if (n > 40 && s > 2) continue;
                double p = parameters[(n + s) % 3];
                check_once(op, t, p, n, strides[s % STRIDES], strides[s / STRIDES], 1);
                if (n < 20) check_once(op, t, p, n, strides[s % STRIDES], strides[s / STRIDES], 2);
            }
            memcpy(&out, &in_a, sizeof out);
            k->parametric[op][t](MAX, 0.3, &out, 1, &out, 1);
            for (int64_t i = 0; i < MAX; i++)
                CHECK(near(t, get(t, &out, i), parametric_of(op, get(t, &in_a, i), 0.3), 1e-6));
        }
}

static void check_corners(void) {
    float x[] = {0, -0.0f, INFINITY, -INFINITY, NAN, -1e-30f, 1e-30f}, one = 1;
    for (int op = 0; op < HD_PARAMETRIC_COUNT; op++) {
        k->parametric[op][HD_F32](7, 0.5, x, 1, out.f, 1);
        CHECK(out.f[0] == 0 && out.f[1] == 0 && out.f[2] == INFINITY && out.f[4] != out.f[4]);
        CHECK(out.f[3] == (op == HD_ELU ? -0.5f : -INFINITY) && out.f[5] == -0.5e-30f && out.f[6] == 1e-30f);
        k->parametric_grad[op][HD_F32](7, 0.5, &one, 0, x, 1, out.f, 1);
        CHECK(out.f[0] == 0.5f && out.f[1] == 0.5f && out.f[2] == 1 && out.f[3] == (op == HD_ELU ? 0 : 0.5f));
        CHECK(out.f[4] == (op == HD_ELU ? 1 : 0.5f));
    }
}

static void check_all(void) {
    check_parametric();
    check_corners();
}

int main(void) {
    return check_tables(check_all);
}
