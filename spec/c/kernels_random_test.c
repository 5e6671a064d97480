/* Random numbers, dropout and its fusions, AdamW of every table. */
#include "kernels_check.h"
#include "draws.h"

static const hd_draw seeded = {0x1234567890abcdefu, 7};

/* ---- random ---------------------------------------------------------------------------------- */

typedef void (*drawer)(hd_draw draw, int64_t first, int64_t n, double a, double b, void *y);

/* Any part of a draw has the values of the whole. */
static void check_parts(hd_dtype t, drawer draw) {
    draw(seeded, 0, 3 * MAX, -1.5, 2.5, &in_a);
    EACH_LENGTH(n)
    for (int64_t first = 0; first < 40; first += 1 + n / 30) {
        memcpy(&out, &before, sizeof out);
        draw(seeded, first * 7, n, -1.5, 2.5, at(t, &out, 3));
        CHECK(memcmp(at(t, &out, 3), at(t, &in_a, first * 7), (size_t)n * size_of(t)) == 0);
        check_untouched(t, &out, 3, 1, n);
    }
}

static void check_uniform_and_normal(void) {
    EACH_DTYPE(t, floats) {
        check_parts(t, k->uniform[t]);
        check_parts(t, k->normal[t]);
        const int64_t far = (INT64_C(1) << 40) + 3;
        k->uniform[t](seeded, far, MAX, 0, 1, &out);
        for (int64_t i = 0; i < MAX; i++)
            CHECK(get(t, &out, i) == (t == HD_F32 ? draw_f32(seeded, (uint64_t)(far + i))
                                                  : hd_draw_f64(seeded, (uint64_t)(far + i))));
        k->uniform[t](seeded, 0, MAX, 5, 5, &out);
        for (int64_t i = 0; i < MAX; i++) CHECK(get(t, &out, i) == 5);
        k->uniform[t](seeded, 0, 4 * MAX, 1, 1 + 1e-7, &out);
        for (int64_t i = 0; i < 4 * MAX; i++)
            CHECK(get(t, &out, i) >= 1 && get(t, &out, i) < (t == HD_F32 ? (float)(1 + 1e-7) : 1 + 1e-7));
        double sum = 0, squares = 0, cross = 0;
        k->normal[t](seeded, 1, 4 * MAX, 0, 1, &out);
        for (int64_t i = 0; i < 4 * MAX; i++) {
            double x = get(t, &out, i);
            CHECK(fabs(x) < 9);
            sum += x;
            squares += x * x;
            if (i > 0) cross += x * get(t, &out, i - 1);
        }
        CHECK(fabs(sum) < 4 * MAX * 0.08 && fabs(squares / (4 * MAX) - 1) < 0.1 &&
              fabs(cross) < 4 * MAX * 0.08);
    }
    k->normal[HD_F32](seeded, 0, MAX, 0, 1, out.f);
    for (int64_t i = 0; i < MAX; i++) { /* Box and Muller, as the header of isa/random.c says */
        uint64_t pair = (uint64_t)i & ~(uint64_t)1;
        double radius = sqrt(-2 * log(draw_f32(seeded, pair) + 0x1p-24)),
               angle = 2 * M_PI * draw_f32(seeded, pair + 1);
        CHECK(fabs(out.f[i] - radius * (i & 1 ? sin(angle) : cos(angle))) < 3e-6);
    }
}

static bool kept(int64_t i, double p) {
    return p < 1 && draw_u32(seeded, (uint64_t)i) >= (uint64_t)(p * 0x1p32);
}

static void check_dropout(void) {
    static const double rates[] = {0, 0.1, 0.5, 1};
    EACH_DTYPE(t, floats)
    for (int r = 0; r < 4; r++) {
        double p = rates[r], scale = p < 1 ? 1 / (1 - p) : 0;
        make(t, &in_a, 3, 23);
        make(t, &in_b, 3, 24);
        make(t, &in_c, 1, 25);
        EACH_LENGTH(n)
        for (int64_t first = 0; first < 9; first += 1 + n / 300) {
            memcpy(&out, &before, sizeof out);
            k->dropout[t](seeded, first, n, p, at(t, &in_a, 1), at(t, &out, 3));
            check_untouched(t, &out, 3, 1, n);
            k->dropout_add[t](seeded, first, n, p, at(t, &in_a, 1), at(t, &in_b, 5), at(t, &in_c, 3), &out2);
            k->dropout_add[t](seeded, first, n, p, at(t, &in_a, 1), NULL, at(t, &in_c, 3), &out3);
            for (int64_t i = 0; i < n; i++) {
                double x = get(t, &in_a, 1 + i), b = get(t, &in_b, 5 + i), c = get(t, &in_c, 3 + i);
                double keep = kept(first + i, p) ? scale : 0;
                CHECK(near(t, get(t, &out, 3 + i), x * keep, 1e-6) &&
                      (keep != 0 || get(t, &out, 3 + i) == 0));
                CHECK(near(t, get(t, &out2, i), c + (x + b) * keep, 1e-6));
                CHECK(near(t, get(t, &out3, i), c + x * keep, 1e-6));
            }
        }
        /* what is dropped is not looked at; in place */
        for (int64_t i = 0; i < MAX; i++) set(t, &in_a, i, kept(i, p) ? 2 : NAN);
        k->dropout[t](seeded, 0, MAX, p, &in_a, &in_a);
        for (int64_t i = 0; i < MAX; i++) CHECK(near(t, get(t, &in_a, i), kept(i, p) ? 2 * scale : 0, 1e-6));
    }
    /* the word at the threshold itself is kept */
    double edge = draw_u32(seeded, 17) * 0x1p-32;
    float ones[40];
    for (int i = 0; i < 40; i++) ones[i] = 1;
    k->dropout[HD_F32](seeded, 0, 40, edge, ones, ones);
    CHECK(ones[17] > 1);
    int64_t count = 0;
    for (int64_t i = 0; i < 10000; i++) count += kept(i, 0.1);
    CHECK(count > 8850 && count < 9150);
}

static void check_bias_act(void) {
    EACH_DTYPE(t, floats)
    for (int act = 0; act < HD_ACT_COUNT; act++)
        for (int mode = 0; mode < 4; mode++) {
            double p = mode & 1 ? 0.3 : 0, scale = 1 / (1 - p);
            make(t, &in_a, 3, 26);
            make(t, &in_b, 2, 27);
            make(t, &in_c, 1, 28);
            block *bias = mode & 2 ? &in_b : NULL;
            EACH_LENGTH(n) {
                memcpy(&out, &before, sizeof out);
                k->bias_act[act][t](seeded, 5, n, p, at(t, &in_a, 1), bias, at(t, &out, 3));
                check_untouched(t, &out, 3, 1, n);
                memcpy(&out2, &in_c, sizeof out2);
                k->bias_act_grad[act][t](seeded, 5, n, p, at(t, &out2, 1), at(t, &in_a, 1), bias,
                                         at(t, &out2, 1));
                for (int64_t i = 0; i < n; i++) {
                    double x = get(t, &in_a, 1 + i) + (bias ? get(t, bias, i) : 0),
                           keep = kept(5 + i, p) ? scale : 0;
                    if (t == HD_F32) x = (float)x;
                    hd_unary op = hd_activation_rows[act].op;
                    double y = unary_of[op](x);
                    bool of_output = op == HD_TANH || op == HD_SIGMOID; /* see slope */
                    CHECK(near(t, get(t, &out, 3 + i), y * keep, 1e-6));
                    CHECK(near(t, get(t, &out2, 1 + i),
                               get(t, &in_c, 1 + i) * slope(op, of_output ? y : x) * keep, 1e-6));
                }
            }
        }
}

/* ---- optimisers ----------------------------------------------------------------------------------- */

static double w[MAX], m[MAX], v[MAX];

/* w and g at an odd place, moments 0. */
static void begin_steps(hd_dtype t, int64_t n) {
    make(t, &in_a, 1, 29); /* w */
    make(t, &in_b, 1, 30); /* g */
    memset(&out, 0, sizeof out);
    memset(&out2, 0, sizeof out2);
    for (int64_t i = 0; i < n; i++) w[i] = get(t, &in_a, 1 + i), m[i] = v[i] = 0;
}

static void check_adam(double decay, double decoupled) {
    const double lr = 1e-2, beta1 = 0.9, beta2 = 0.98, eps = 1e-6, scale = 0.5;
    EACH_DTYPE(t, floats) EACH_LENGTH(n) {
        begin_steps(t, n);
        for (int step = 1; step <= 3; step++) {
            double bias1 = 1 - pow(beta1, step), bias2 = 1 - pow(beta2, step);
            hd_adam_rates o = {lr, beta1, beta2, eps, decay, decoupled, bias1, bias2, scale};
            k->adam[t](n, at(t, &in_a, 1), at(t, &in_b, 3), at(t, &out, 1), at(t, &out2, 5), &o);
            for (int64_t i = 0; i < n; i++) {
                double g = get(t, &in_b, 3 + i) * scale + decay * w[i];
                w[i] *= 1 - lr * decoupled;
                m[i] = beta1 * m[i] + (1 - beta1) * g;
                v[i] = beta2 * v[i] + (1 - beta2) * g * g;
                w[i] -= lr / bias1 * m[i] / (sqrt(v[i]) / sqrt(bias2) + eps);
            }
        }
        for (int64_t i = 0; i < n; i++) {
            CHECK(near(t, get(t, &in_a, 1 + i), w[i], 1e-6));
            CHECK(near(t, get(t, &out, 1 + i), m[i], 1e-6) && near(t, get(t, &out2, 5 + i), v[i], 1e-6));
        }
        CHECK(get(t, &out, 1 + n) == 0 && get(t, &out2, 5 + n) == 0);
    }
}

static void check_sgd(hd_sgd_rates o) {
    EACH_DTYPE(t, floats) EACH_LENGTH(n) {
        begin_steps(t, n);
        for (int step = 1; step <= 3; step++) {
            o.first = step == 1;
            k->sgd[t](n, at(t, &in_a, 1), at(t, &in_b, 3), o.momentum ? at(t, &out, 1) : NULL, &o);
            for (int64_t i = 0; i < n; i++) {
                double g = get(t, &in_b, 3 + i) * o.scale + o.decay * w[i];
                m[i] = o.first || !o.momentum ? g : o.momentum * m[i] + (1 - o.dampening) * g;
                w[i] -= o.lr * (o.nesterov ? g + o.momentum * m[i] : m[i]);
            }
        }
        for (int64_t i = 0; i < n; i++) {
            CHECK(near(t, get(t, &in_a, 1 + i), w[i], 1e-6));
            CHECK(near(t, get(t, &out, 1 + i), o.momentum ? m[i] : 0, 1e-6));
        }
        CHECK(get(t, &out, 1 + n) == 0);
    }
}

static void check_rmsprop(hd_rmsprop_rates o, bool centered) {
    EACH_DTYPE(t, floats) EACH_LENGTH(n) {
        double a[MAX] = {0};
        begin_steps(t, n);
        memset(&in_c, 0, sizeof in_c);
        for (int step = 1; step <= 3; step++) {
            k->rmsprop[t](n, at(t, &in_a, 1), at(t, &in_b, 3), o.momentum ? at(t, &out, 1) : NULL,
                          at(t, &out2, 5), centered ? at(t, &in_c, 2) : NULL, &o);
            for (int64_t i = 0; i < n; i++) {
                double g = get(t, &in_b, 3 + i) * o.scale + o.decay * w[i];
                v[i] = o.alpha * v[i] + (1 - o.alpha) * g * g;
                a[i] = o.alpha * a[i] + (1 - o.alpha) * g;
                double u = g / (sqrt(centered ? v[i] - a[i] * a[i] : v[i]) + o.eps);
                m[i] = o.momentum * m[i] + u;
                w[i] -= o.lr * m[i];
            }
        }
        for (int64_t i = 0; i < n; i++) {
            CHECK(near(t, get(t, &in_a, 1 + i), w[i], 1e-5) && near(t, get(t, &out2, 5 + i), v[i], 1e-6));
            CHECK(near(t, get(t, &out, 1 + i), o.momentum ? m[i] : 0, 1e-5));
            CHECK(near(t, get(t, &in_c, 2 + i), centered ? a[i] : 0, 1e-6));
        }
        CHECK(get(t, &out, 1 + n) == 0 && get(t, &out2, 5 + n) == 0 && get(t, &in_c, 2 + n) == 0);
    }
}

static void check_lion(hd_lion_rates o) {
    EACH_DTYPE(t, floats) EACH_LENGTH(n) {
        begin_steps(t, n);
        for (int step = 1; step <= 3; step++) {
            k->lion[t](n, at(t, &in_a, 1), at(t, &in_b, 3), at(t, &out, 1), &o);
            for (int64_t i = 0; i < n; i++) {
                double g = get(t, &in_b, 3 + i) * o.scale, c = o.beta1 * m[i] + (1 - o.beta1) * g;
                w[i] -= o.lr * ((c > 0) - (c < 0) + o.decay * w[i]);
                m[i] = o.beta2 * m[i] + (1 - o.beta2) * g;
            }
        }
        for (int64_t i = 0; i < n; i++)
            CHECK(near(t, get(t, &in_a, 1 + i), w[i], 1e-6) && near(t, get(t, &out, 1 + i), m[i], 1e-6));
        CHECK(get(t, &out, 1 + n) == 0);
    }
}

static void check_optimisers(void) {
    check_adam(0, 0.1);
    check_adam(0.1, 0);
    check_adam(0, 0);
    check_sgd((hd_sgd_rates){.lr = 0.1, .scale = 1});
    check_sgd((hd_sgd_rates){.lr = 0.1, .scale = 0.5, .decay = 0.2});
    check_sgd((hd_sgd_rates){.lr = 0.1, .scale = 1, .momentum = 0.9, .dampening = 0.3});
    check_sgd((hd_sgd_rates){.lr = 0.1, .scale = 1, .momentum = 0.9, .decay = 0.2, .nesterov = true});
    hd_rmsprop_rates rates = {.lr = 0.1, .alpha = 0.9, .eps = 1e-3, .scale = 1};
    check_rmsprop(rates, false);
    rates.momentum = 0.9, rates.decay = 0.2, rates.scale = 0.5;
    check_rmsprop(rates, false);
    check_rmsprop(rates, true);
    check_lion((hd_lion_rates){.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .scale = 1});
    check_lion((hd_lion_rates){.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .decay = 0.2, .scale = 0.5});
}

static void check_all(void) {
    check_uniform_and_normal();
    check_dropout();
    check_bias_act();
    check_optimisers();
}

int main(void) {
    return check_tables(check_all);
}
