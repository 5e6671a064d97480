/* Reductions of two numbers, and places of extremes in columns, of every table. */
#include "kernels_check.h"

static double value(const block *x, hd_dtype t, int64_t first, int64_t stride, int64_t i) {
    return get(t, x, first + i * stride);
}

/* The largest turn · |x| or NaN. */
static double extreme(const block *x, hd_dtype t, int64_t first, int64_t stride, int64_t n, double turn) {
    double best = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        double v = turn * fabs(value(x, t, first, stride, i));
        if (v != v) return NAN;
        if (v > best) best = v;
    }
    return best * turn;
}

static void naive(int kind, const block *x, hd_dtype t, int64_t first, int64_t stride, int64_t n, double *a,
                  double *b) {
    double sum = 0, squares = 0, sizes = 0, most = -INFINITY, apart = 0, powers = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = value(x, t, first, stride, i);
        sum += v;
        squares += v * v;
        sizes += fabs(v);
        if (v > most) most = v;
    }
    for (int64_t i = 0; i < n; i++) {
        double v = value(x, t, first, stride, i);
        apart += (v - sum / (double)n) * (v - sum / (double)n);
        powers += v == most ? 1 : v == -INFINITY ? 0 : exp(v - most);
    }
    *b = kind == HD_MOMENTS ? apart : kind == HD_LOGSUMEXP ? powers : 0;
    switch (kind) {
    case HD_MOMENTS: *a = sum / (double)n; break;
    case HD_LOGSUMEXP: *a = most; break;
    case HD_SQUARES: *a = squares; break;
    case HD_ABS_SUM: *a = sizes; break;
    case HD_ABS_MAX: *a = extreme(x, t, first, stride, n, 1); break;
    default: *a = extreme(x, t, first, stride, n, -1);
    }
}

static void check_row(int kind, hd_dtype t, int64_t n) {
    double a, b, want_a, want_b;
    k->partial_row[kind][t](n, at(t, &in_a, 3), &a, &b);
    naive(kind, &in_a, t, 3, 1, n, &want_a, &want_b);
    CHECK(near(t, a, want_a, 2e-6) && near(t, b, want_b, 4e-6));
}

static void check_columns(int kind, hd_dtype t, int64_t rows, int64_t n, int64_t stride) {
    memset(&out, 0x55, sizeof out);
    out2 = out;
    k->partial_cols[kind][t](rows, n, at(t, &in_a, 3), stride, out.d, out2.d);
    for (int64_t j = 0; j < n; j++) {
        double want_a, want_b;
        naive(kind, &in_a, t, 3 + j, stride, rows, &want_a, &want_b);
        CHECK(near(t, out.d[j], want_a, 2e-6) && near(t, out2.d[j], want_b, 4e-6));
    }
    uint64_t beyond[2];
    memcpy(beyond, out.d + n, 8), memcpy(beyond + 1, out2.d + n, 8);
    CHECK(beyond[0] == UINT64_C(0x5555555555555555) && beyond[1] == beyond[0]);
}

static void check_places(hd_dtype t, int64_t rows, int64_t n, int64_t stride) {
    int32_t index[70];
    for (int smallest = 0; smallest < 2; smallest++) {
        (smallest ? k->argmin_cols : k->argmax_cols)[t](rows, n, at(t, &in_b, 3), stride, &out, index);
        for (int64_t j = 0; j < n; j++) {
            int64_t best = 0;
            for (int64_t r = 1; r < rows; r++) {
                double v = value(&in_b, t, 3 + j, stride, r), b = value(&in_b, t, 3 + j, stride, best);
                if (b == b && (v != v || (smallest ? v < b : v > b))) best = r;
            }
            CHECK(index[j] == best && same(get(t, &out, j), value(&in_b, t, 3 + j, stride, best)));
        }
    }
}

static const hd_dtype placed[] = {HD_BOOL, HD_U8, HD_I32, HD_I64, HD_F32, HD_F64};

static void check_sizes(void) {
    EACH_DTYPE(t, floats)
    for (int kind = 0; kind < HD_PARTIAL_COUNT; kind++) {
        make(t, &in_a, 3, kind);
        EACH_LENGTH(n) if (n > 0) check_row(kind, t, n);
        for (int64_t rows = 1; rows < 40; rows += rows < 19 ? 1 : 7)
            for (int64_t n = 1; n < 70; n += 3) {
                check_columns(kind, t, rows, n, n);
                check_columns(kind, t, rows, n, n + 5);
            }
    }
    EACH_DTYPE(t, placed) {
        make(t, &in_b, 2, 4);
        for (int64_t i = 0; i < ROOM && t == HD_F32; i += 3) in_b.f[i] = (float)floor(in_b.f[i]);
        for (int64_t i = 5; i < ROOM && t == HD_F32; i += 97) in_b.f[i] = NAN;
        for (int64_t rows = 1; rows < 40; rows += rows < 19 ? 1 : 7)
            for (int64_t n = 1; n < 70; n += 3) {
                check_places(t, rows, n, n);
                check_places(t, rows, n, n + 5);
            }
    }
}

static void check_corners(void) {
    float x[] = {-INFINITY, NAN, 1, INFINITY};
    double a, b;
    k->partial_row[HD_LOGSUMEXP][HD_F32](1, x, &a, &b);
    CHECK(a == -INFINITY && b == 0);
    k->partial_row[HD_LOGSUMEXP][HD_F32](2, x, &a, &b);
    CHECK(b != b);
    k->partial_row[HD_LOGSUMEXP][HD_F32](2, x + 2, &a, &b);
    CHECK(a == INFINITY && b == 1);
    k->partial_row[HD_ABS_MIN][HD_F32](4, x, &a, &b);
    CHECK(a != a);
    k->partial_cols[HD_LOGSUMEXP][HD_F32](1, 4, x, 4, out.d, out2.d);
    CHECK(out.d[0] == -INFINITY && out2.d[0] == 0 && out2.d[1] != out2.d[1] && out2.d[2] == 1);
    CHECK(out.d[3] == INFINITY && out2.d[3] == 1);
    k->partial_cols[HD_ABS_MAX][HD_F32](1, 4, x, 4, out.d, out2.d);
    CHECK(out.d[0] == INFINITY && out.d[1] != out.d[1] && out.d[2] == 1);
    k->partial_row[HD_SQUARES][HD_F32](1, &(float){1e30f}, &a, &b); /* beyond the range of f32 */
    CHECK(fabs(a / 1e60 - 1) < 1e-6);
}

static void check_all(void) {
    check_sizes();
    check_corners();
}

int main(void) {
    return check_tables(check_all);
}
