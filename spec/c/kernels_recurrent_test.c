/* Steps of recurrent layers of every table: values against the formulas, gradients against differences. */
#include "kernels_check.h"

static block state, cell, after, inner, dh, dc, dx, dr;

/* What one unit is made of: the input's part of its gates, the state's, the state, the cell. */
typedef struct unit {
    double x[4], u[4], h, c;
} unit;

static double gru_of(const unit *p) {
    double r = sigmoid(p->x[0] + p->u[0]), z = sigmoid(p->x[1] + p->u[1]), n = tanh(p->x[2] + r * p->u[2]);
    return (1 - z) * n + z * p->h;
}

static double cell_of(const unit *p) {
    return sigmoid(p->x[1] + p->u[1]) * p->c + sigmoid(p->x[0] + p->u[0]) * tanh(p->x[2] + p->u[2]);
}

static double lstm_of(const unit *p) {
    return sigmoid(p->x[3] + p->u[3]) * tanh(cell_of(p));
}

/* Unit i of a row of n, whose bias is that of both. */
static unit unit_at(hd_dtype t, int64_t n, int gates, int64_t i, bool biased) {
    unit p = {.h = get(t, &state, 2 + i), .c = get(t, &cell, 3 + i)};
    for (int gate = 0; gate < gates; gate++) {
        const int64_t place = gate * n + i;
        const double b = biased ? get(t, &in_c, 2 + place) : 0;
        p.x[gate] = get(t, &in_a, 1 + place) + b;
        p.u[gate] = get(t, &in_b, 5 + place) + b;
    }
    return p;
}

static void begin(hd_dtype t) {
    make(t, &in_a, 2, 41);
    make(t, &in_b, 2, 42);
    make(t, &in_c, 1, 43);
    make(t, &state, 1, 44);
    make(t, &cell, 2, 45);
    make(t, &out3, 1, 46); /* the gradient of the output */
    make(t, &dh, 1, 47);
    make(t, &dc, 1, 48);
    memcpy(&out, &in_a, sizeof out);
    memcpy(&after, &before, sizeof after);
    memcpy(&out2, &before, sizeof out2);
}

/* d f / d *p, by differences. */
static double slope_by(double (*f)(const unit *), unit *p, double *at_) {
    const double step = 1e-5, value = *at_;
    *at_ = value + step;
    const double ahead = f(p);
    *at_ = value - step;
    const double behind = f(p);
    *at_ = value;
    return (ahead - behind) / (2 * step);
}

/* Differences are no better than this. */
static bool close(hd_dtype t, double got, double wanted) {
    return fabs(got - wanted) <= (t == HD_F32 ? 1e-5 : 1e-8) * (1 + fabs(wanted));
}

static void check_gru(hd_dtype t, int64_t n, bool biased) {
    begin(t);
    const void *bias = biased ? at(t, &in_c, 2) : NULL;
    k->gru_row[t](n, at(t, &out, 1), at(t, &in_b, 5), bias, bias, at(t, &state, 2), at(t, &inner, 1),
                  at(t, &after, 3));
    check_untouched(t, &after, 3, 1, n);
    block g = out3, d = dh;
    k->gru_row_grad[t](n, at(t, &out, 1), at(t, &inner, 1), at(t, &state, 2), at(t, &g, 0), at(t, &d, 1),
                       at(t, &dx, 1), at(t, &dr, 3));
    for (int64_t i = 0; i < n; i++) {
        unit p = unit_at(t, n, 3, i, biased);
        const double arrives = get(t, &out3, i) + get(t, &dh, 1 + i);
        CHECK(near(t, get(t, &after, 3 + i), gru_of(&p), 1e-6));
        CHECK(near(t, get(t, &inner, 1 + i), p.u[2], 1e-6));
        for (int gate = 0; gate < 3; gate++) {
            CHECK(close(t, get(t, &dx, 1 + gate * n + i), arrives * slope_by(gru_of, &p, &p.x[gate])));
            CHECK(close(t, get(t, &dr, 3 + gate * n + i), arrives * slope_by(gru_of, &p, &p.u[gate])));
        }
        CHECK(close(t, get(t, &d, 1 + i), arrives * slope_by(gru_of, &p, &p.h)));
    }
}

static void check_lstm(hd_dtype t, int64_t n, bool biased) {
    begin(t);
    const void *bias = biased ? at(t, &in_c, 2) : NULL;
    k->lstm_row[t](n, at(t, &out, 1), at(t, &in_b, 5), bias, bias, at(t, &cell, 3), at(t, &out2, 3),
                   at(t, &inner, 1), at(t, &after, 3));
    check_untouched(t, &after, 3, 1, n);
    check_untouched(t, &out2, 3, 1, n);
    block d = dc;
    k->lstm_row_grad[t](n, at(t, &out, 1), at(t, &inner, 1), at(t, &cell, 3), at(t, &out3, 0), at(t, &dh, 1),
                        at(t, &d, 1), at(t, &dx, 1));
    for (int64_t i = 0; i < n; i++) {
        unit p = unit_at(t, n, 4, i, biased);
        const double h = get(t, &out3, i) + get(t, &dh, 1 + i), c = get(t, &dc, 1 + i);
        CHECK(near(t, get(t, &after, 3 + i), lstm_of(&p), 1e-6));
        CHECK(near(t, get(t, &out2, 3 + i), cell_of(&p), 1e-6));
        for (int gate = 0; gate < 4; gate++) {
            const double wanted =
                h * slope_by(lstm_of, &p, &p.x[gate]) + c * slope_by(cell_of, &p, &p.x[gate]);
            CHECK(close(t, get(t, &dx, 1 + gate * n + i), wanted));
        }
        CHECK(close(t, get(t, &d, 1 + i), h * slope_by(lstm_of, &p, &p.c) + c * slope_by(cell_of, &p, &p.c)));
    }
}

/* What arrives as 0 goes on as 0, whatever the state was. */
static void check_zeros(hd_dtype t) {
    enum { N = 19 };
    begin(t);
    memset(&dh, 0, sizeof dh);
    memset(&dc, 0, sizeof dc);
    for (int64_t i = 0; i < 4 * N; i++) {
        const double bad = i % 2 ? NAN : INFINITY;
        set(t, &out, i, bad), set(t, &inner, i, bad), set(t, &state, i, bad);
    }
    k->gru_row_grad[t](N, &out, &inner, &state, NULL, &dh, &dx, &dr);
    for (int64_t i = 0; i < 3 * N; i++) CHECK(get(t, &dx, i) == 0 && get(t, &dr, i) == 0);
    for (int64_t i = 0; i < N; i++) CHECK(get(t, &dh, i) == 0);
    k->lstm_row_grad[t](N, &out, &inner, &state, NULL, &dh, &dc, &dx);
    for (int64_t i = 0; i < 4 * N; i++) CHECK(get(t, &dx, i) == 0);
    for (int64_t i = 0; i < N; i++) CHECK(get(t, &dc, i) == 0);
}

static void check_all(void) {
    EACH_DTYPE(t, floats) {
        EACH_LENGTH(n) {
            check_gru(t, n, n % 2 == 0);
            check_lstm(t, n, n % 2 == 0);
        }
        check_zeros(t);
    }
}

int main(void) {
    return check_tables(check_all);
}
