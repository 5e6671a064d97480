/* Reductions, softmax, layer norm and cross-entropy of every table. */
#include "kernels_check.h"

/* ---- reductions ------------------------------------------------------------------------------ */

static double reduced(int op, hd_dtype t, const block *x, int64_t x0, int64_t sx, int64_t n) {
    static const double starts[] = {0, 1, -INFINITY, INFINITY, 0, 1};
    double y = starts[op];
    static const double
        least[] = {[HD_I32] = INT32_MIN, [HD_I64] = (double)INT64_MIN},
        most[] = {[HD_BOOL] = 1, [HD_U8] = UINT8_MAX, [HD_I32] = INT32_MAX, [HD_I64] = (double)INT64_MAX};
    if (!hd_dtype_is_float(t) && op == HD_MAX) y = least[t];
    if (!hd_dtype_is_float(t) && op == HD_MIN) y = most[t];
    for (int64_t i = 0; i < n; i++) {
        double v = get(t, x, x0 + i * sx);
        y = op == HD_SUM    ? y + v
            : op == HD_PROD ? y * v
            : op == HD_MAX  ? fmax(y, v)
            : op == HD_MIN  ? fmin(y, v)
            : op == HD_ANY  ? y || v
                            : y && v;
    }
    return y;
}

static hd_dtype reduced_dtype(int op, hd_dtype t) {
    if (op == HD_ANY || op == HD_ALL) return HD_BOOL;
    return !hd_dtype_is_float(t) && (op == HD_SUM || op == HD_PROD) ? HD_I64 : t;
}

static void check_reductions(void) {
    for (int op = 0; op < HD_REDUCTION_COUNT; op++) {
        EACH_DTYPE(t, computed) {
            hd_dtype to = reduced_dtype(op, t);
            make(t, &in_a, op == HD_PROD ? 1.2 : 5, 9);
            if (op == HD_PROD && hd_dtype_is_integer(t))
                for (int64_t i = 0; i < ROOM; i++) set(t, &in_a, i, i % 7 ? 1 : t == HD_U8 ? 2 : -2);
            EACH_LENGTH(n) {
                if (op == HD_PROD && hd_dtype_is_integer(t) && n > 400) continue;
                for (int s = 0; s < STRIDES; s++) {
                    int64_t x0 = base_of(strides[s]);
                    k->reduce_row[op][t](n, at(t, &in_a, x0), strides[s], at(to, &out, 0));
                    CHECK(near(to, get(to, &out, 0), reduced(op, t, &in_a, x0, strides[s], n), 3e-6));
                }
                block *total = &out;
                for (int64_t i = 0; i < n; i++) set(to, total, i, op == HD_ALL || op == HD_PROD ? 1 : 0);
                const int rows = (int)(n % 19) + 1; /* as they come, four and eight at a time */
                k->reduce_cols[op][t](rows, n, at(t, &in_a, 5), 7, total);
                for (int64_t i = 0; i < n; i++) {
                    double wanted = op == HD_ALL || op == HD_PROD ? 1 : 0;
                    for (int row = 0; row < rows; row++) {
                        set(t, &in_b, 0, get(t, &in_a, 5 + row * 7 + i));
                        double v = get(t, &in_b, 0);
                        wanted = op == HD_SUM    ? wanted + v
                                 : op == HD_PROD ? wanted * v
                                 : op == HD_MAX  ? fmax(wanted, v)
                                 : op == HD_MIN  ? fmin(wanted, v)
                                 : op == HD_ANY  ? wanted || v
                                                 : wanted && v;
                    }
                    CHECK(near(to, get(to, total, i), wanted, 1e-6));
                }
            }
        }
    }
}

static int64_t naive_arg(hd_dtype t, const block *x, int64_t x0, int64_t sx, int64_t n, double turn) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++) {
        double v = get(t, x, x0 + i * sx), b = get(t, x, x0 + best * sx);
        if (b == b && (v != v || v * turn > b * turn)) best = i;
    }
    return best;
}

static void check_arg(void) {
    EACH_DTYPE(t, computed) {
        make(t, &in_a, 4, 10);
        for (int pass = 0; pass < 3; pass++) {
            if (pass == 1 && !hd_dtype_is_float(t)) break;
            if (pass == 1) set(t, &in_a, 40, NAN), set(t, &in_a, 55, NAN);
            if (pass == 2)
                for (int64_t i = 0; i < ROOM; i++) set(t, &in_a, i, hd_dtype_is_float(t) ? -INFINITY : 0);
            EACH_LENGTH(n)
            for (int s = 0; s < 3; s++) {
                int64_t stride = strides[s];
                CHECK(k->argmax_row[t](n, at(t, &in_a, 3), stride) == naive_arg(t, &in_a, 3, stride, n, 1));
                CHECK(k->argmin_row[t](n, at(t, &in_a, 3), stride) == naive_arg(t, &in_a, 3, stride, n, -1));
                if (pass != 1 || n == 0) continue;
                double x = get(t, &in_a, 3 + stride * naive_arg(t, &in_a, 3, stride, n, 1));
                k->reduce_row[HD_MAX][t](n, at(t, &in_a, 3), stride, &out);
                CHECK(same(get(t, &out, 0), x));
                k->reduce_row[HD_MIN][t](n, at(t, &in_a, 3), stride, &out);
                CHECK(x == x || get(t, &out, 0) != get(t, &out, 0));
            }
        }
    }
}

static void check_sums(void) {
    static float ones[10000000];
    const int64_t n = sizeof ones / sizeof *ones;
    float total, strided;
    for (int64_t i = 0; i < n; i++) ones[i] = 1;
    k->reduce_row[HD_SUM][HD_F32](n, ones, 1, &total);
    CHECK(total == 1e7f);
    CHECK(k->sum_squares[HD_F32](n, ones) == 1e7);
    /* the same bits wherever and however the elements lie */
    for (int64_t i = 0; i < 40000; i++) ones[i] = (float)noise(i);
    for (int64_t i = 0; i < 20000; i++) ones[100001 + i] = ones[2 * i + 1];
    k->reduce_row[HD_SUM][HD_F32](20000, ones + 1, 2, &strided);
    k->reduce_row[HD_SUM][HD_F32](20000, ones + 100001, 1, &total);
    CHECK(total == strided);
    EACH_DTYPE(t, floats) {
        make(t, &in_a, 3, 11);
        EACH_LENGTH(m) {
            double squares = 0;
            for (int64_t i = 0; i < m; i++) squares += square(get(t, &in_a, 1 + i));
            CHECK(near(HD_F64, k->sum_squares[t](m, at(t, &in_a, 1)), squares, 1e-5));
        }
    }
    float huge[2] = {1e30f, 1e30f};
    CHECK(fabs(k->sum_squares[HD_F32](2, huge) / 2e60 - 1) < 1e-6);
}

static void check_column_sums(void) {
    EACH_DTYPE(t, floats) {
        hd_dtype to = t;
        make(t, &in_a, 2, 12);
        for (int64_t n = 0; n < 150; n++)
            for (int64_t rows = 0; rows < 25; rows += 1 + rows / 3) {
                for (int64_t j = 0; j < ROOM; j++) set(to, &out, j, 5);
                memcpy(&before, &out, sizeof out);
                k->column_sums[t](rows, n, at(t, &in_a, 1), 151, at(to, &out, 3));
                for (int64_t j = 0; j < n; j++)
                    CHECK(near(to, get(to, &out, 3 + j), 5 + reduced(HD_SUM, t, &in_a, 1 + j, 151, rows),
                               3e-6));
                check_untouched(to, &out, 3, 1, n);
            }
        make(t, &in_a, 2, 12);
        memset(&out, 0, sizeof out);
        k->column_sums[t](1333, 3, at(t, &in_a, 0), 3, &out);
        for (int64_t j = 0; j < 3; j++)
            CHECK(near(to, get(to, &out, j), reduced(HD_SUM, t, &in_a, j, 3, 1333), 2e-6));
    }
}

/* ---- softmax --------------------------------------------------------------------------------- */

static double naive_logsumexp(hd_dtype t, const block *x, int64_t x0, int64_t n) {
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) largest = fmax(largest, get(t, x, x0 + i));
    for (int64_t i = 0; i < n; i++) sum += exp(get(t, x, x0 + i) - largest);
    return n == 0 ? -INFINITY : largest + log(sum);
}

static void check_softmax(void) {
    EACH_DTYPE(t, floats) {
        make(t, &in_a, 6, 13);
        make(t, &in_b, 1, 14);
        EACH_LENGTH(n) {
            double lse = naive_logsumexp(t, &in_a, 1, n), dot = 0, sum = 0;
            CHECK(near(HD_F32, k->logsumexp_row[t](n, at(t, &in_a, 1)), lse, 1e-6));
            memcpy(&out, &before, sizeof out);
            k->softmax_row[t](n, at(t, &in_a, 1), at(t, &out, 3));
            k->log_softmax_row[t](n, at(t, &in_a, 1), at(t, &out2, 3));
            check_untouched(t, &out, 3, 1, n);
            for (int64_t i = 0; i < n; i++) {
                double wanted = get(t, &in_a, 1 + i) - lse, g = get(t, &in_b, 5 + i);
                CHECK(near(t, get(t, &out, 3 + i), exp(wanted), 5e-7));
                CHECK(near(t, get(t, &out2, 3 + i), wanted, 5e-7));
                dot += g * exp(wanted);
                sum += g;
            }
            k->softmax_row_grad[t](n, at(t, &out, 3), at(t, &in_b, 5), at(t, &out3, 1));
            for (int64_t i = 0; i < n; i++) {
                double p = exp(get(t, &in_a, 1 + i) - lse);
                CHECK(near(t, get(t, &out3, 1 + i), p * (get(t, &in_b, 5 + i) - dot), 2e-6));
            }
            k->log_softmax_row_grad[t](n, at(t, &out2, 3), at(t, &in_b, 5), at(t, &out3, 1));
            for (int64_t i = 0; i < n; i++) {
                double p = exp(get(t, &in_a, 1 + i) - lse);
                CHECK(near(t, get(t, &out3, 1 + i), get(t, &in_b, 5 + i) - p * sum, 3e-6));
            }
        }
    }
}

static void check_softmax_special(void) {
    EACH_DTYPE(t, floats) {
        for (int64_t n = 1; n < 40; n++) {
            for (int64_t i = 0; i < n; i++) set(t, &in_a, i, -INFINITY), set(t, &in_b, i, NAN);
            k->softmax_row[t](n, &in_a, &out);
            k->log_softmax_row[t](n, &in_a, &out2);
            CHECK(k->logsumexp_row[t](n, &in_a) == -INFINITY);
            k->softmax_row_grad[t](n, &out, &in_b, &out3);
            for (int64_t i = 0; i < n; i++)
                CHECK(get(t, &out, i) == 0 && get(t, &out2, i) == -INFINITY && get(t, &out3, i) == 0);
            k->log_softmax_row_grad[t](n, &out2, &in_b, &out3);
            for (int64_t i = 0; i < n; i++) CHECK(get(t, &out3, i) == 0);
            static const double bad[] = {NAN, INFINITY};
            for (int which = 0; which < 2; which++) { /* also beside -inf alone */
                set(t, &in_a, n / 2, bad[which]);
                k->softmax_row[t](n, &in_a, &out);
                CHECK(is_nan(get(t, &out, n / 2)));
                k->log_softmax_row[t](n, &in_a, &out);
                CHECK(is_nan(get(t, &out, n / 2)));
                CHECK(same(k->logsumexp_row[t](n, &in_a), bad[which]));
            }
            set(t, &in_a, n / 2, 3);
            k->softmax_row[t](n, &in_a, &out);
            for (int64_t i = 0; i < n; i++) CHECK(get(t, &out, i) == (i == n / 2));
        }
        double big[] = {88.72284, 1e30, 3e38};
        for (int i = 0; i < 3; i++) {
            set(t, &in_a, 0, big[i]);
            k->log_softmax_row[t](1, &in_a, &out);
            CHECK(get(t, &out, 0) == 0);
            CHECK(k->logsumexp_row[t](1, &in_a) == get(t, &in_a, 0));
        }
    }
}

/* Scores at hidden places are NaN or infinite: they must not be looked at. */
static void check_masked_softmax(void) {
    EACH_DTYPE(t, floats)
    for (int mode = 0; mode < 4; mode++) {
        EACH_LENGTH(n) {
            bool by_see = mode & 1, by_bias = mode & 2;
            int64_t shown = 0;
            double largest = -INFINITY, sum = 0, dot = 0, scale = 0.37;
            make(t, &in_a, 9, 15 + mode);
            make(t, &in_b, 2, 16);
            make(t, &out2, 1, 17);
            for (int64_t i = 0; i < n; i++) {
                bool hidden = (by_see || by_bias) && (n % 5 == 1 || noise(i + n) < 0.4);
                in_c.b[1 + i] = by_see ? !hidden * 3 : 0;
                if (hidden && by_bias && (!by_see || i % 2))
                    set(t, &in_b, 3 + i, -INFINITY), in_c.b[1 + i] = 1;
                if (hidden) set(t, &in_a, 1 + i, i % 3 ? NAN : INFINITY), set(t, &out2, i, NAN);
                shown += !hidden;
                set(t, &before, i,
                    hidden ? -INFINITY : get(t, &in_a, 1 + i) * scale + (by_bias ? get(t, &in_b, 3 + i) : 0));
                largest = fmax(largest, get(t, &before, i));
            }
            double lse = k->masked_softmax_row[t](n, at(t, &in_a, 1), scale, by_see ? in_c.b + 1 : NULL,
                                                  by_bias ? at(t, &in_b, 3) : NULL, at(t, &out, 1));
            for (int64_t i = 0; i < n && shown; i++) sum += exp(get(t, &before, i) - largest);
            CHECK(near(t, lse, shown ? largest + log(sum) : -INFINITY, 1e-6));
            for (int64_t i = 0; i < n; i++) {
                double p = get(t, &before, i) == -INFINITY ? 0 : exp(get(t, &before, i) - largest) / sum;
                CHECK(p == 0 ? get(t, &out, 1 + i) == 0 : near(t, get(t, &out, 1 + i), p, 1e-6));
                if (p != 0) dot += p * get(t, &out2, i);
            }
            k->softmax_row_grad[t](n, at(t, &out, 1), &out2, &out3);
            for (int64_t i = 0; i < n; i++) {
                double p = get(t, &out, 1 + i);
                CHECK(p == 0 ? get(t, &out3, i) == 0
                             : near(t, get(t, &out3, i), p * (get(t, &out2, i) - dot), 2e-6));
            }
        }
    }
    float x[3] = {NAN, 1, NAN}, p[3];
    uint8_t see[3] = {0, 1, 1};
    CHECK(is_nan(k->masked_softmax_row[HD_F32](3, x, 1, see, NULL, p)));
    CHECK(p[0] == 0 && is_nan(p[1]) && is_nan(p[2]));
    see[1] = 0;
    CHECK(is_nan(k->masked_softmax_row[HD_F32](3, x, 1, see, NULL, x)));
    CHECK(x[0] == 0 && x[1] == 0 && is_nan(x[2]));
}

/* ---- layer norm, cross-entropy --------------------------------------------------------------- */

static void check_layer_norm_once(hd_dtype t, int64_t n, bool affine, double offset) {
    double mean = 0, variance = 0, eps = 1e-5, sum_h = 0, sum_hz = 0, loose = 2e-6 * (1 + offset);
    make(t, &in_a, 2, 18);
    make(t, &in_b, 2, 19);
    make(t, &in_c, 2, 20);
    for (int64_t i = 0; i < n; i++) set(t, &in_a, 1 + i, get(t, &in_a, 1 + i) + offset);
    for (int64_t i = 0; i < n; i++) mean += get(t, &in_a, 1 + i) / (double)n;
    for (int64_t i = 0; i < n; i++) variance += square(get(t, &in_a, 1 + i) - mean) / (double)n;
    double rstd = 1 / sqrt(variance + eps);
    block *w = &in_b, *b = &in_c, *mean_rstd = &out3;
    memcpy(&out, &before, sizeof out);
    k->layer_norm_row[t](n, at(t, &in_a, 1), affine ? w : NULL, affine ? b : NULL, eps, at(t, &out, 3),
                         mean_rstd, at(t, mean_rstd, 1));
    CHECK(near(t, get(t, mean_rstd, 0), mean, 1e-6) && near(t, get(t, mean_rstd, 1), rstd, loose));
    for (int64_t i = 0; i < n; i++) {
        double z = (get(t, &in_a, 1 + i) - mean) * rstd;
        CHECK(near(t, get(t, &out, 3 + i), affine ? z * get(t, w, i) + get(t, b, i) : z, loose));
    }
    check_untouched(t, &out, 3, 1, n);
    block *g = &in_c, *dw = &out, *db = &out2;
    for (int64_t i = 0; i < n; i++) {
        double h = get(t, g, i) * (affine ? get(t, w, i) : 1), z = (get(t, &in_a, 1 + i) - mean) * rstd;
        sum_h += h;
        sum_hz += h * z;
        set(t, dw, i, 1);
        set(t, db, i, 2);
    }
    k->layer_norm_row_grad[t](n, g, at(t, &in_a, 1), affine ? w : NULL, mean_rstd, at(t, mean_rstd, 1),
                              at(t, mean_rstd, 3), affine ? dw : NULL, affine ? db : NULL);
    for (int64_t i = 0; i < n; i++) {
        double h = get(t, g, i) * (affine ? get(t, w, i) : 1), z = (get(t, &in_a, 1 + i) - mean) * rstd;
        double dx = rstd * (h - sum_h / (double)n - z * sum_hz / (double)n);
        CHECK(near(t, get(t, mean_rstd, 3 + i), dx, rstd > 10 ? 1e-4 : 3 * loose));
        CHECK(!affine || near(t, get(t, dw, i), 1 + get(t, g, i) * z, loose));
        CHECK(!affine || near(t, get(t, db, i), 2 + get(t, g, i), loose));
    }
}

static void check_layer_norm(void) {
    EACH_DTYPE(t, floats) EACH_LENGTH(n) if (n > 0) {
        check_layer_norm_once(t, n, true, 0);
        check_layer_norm_once(t, n, false, 0);
        if (n > 4) check_layer_norm_once(t, n, true, 1000);
    }
    float x[20], y[20], mean, rstd;
    for (int i = 0; i < 20; i++) x[i] = 0.1f;
    k->layer_norm_row[HD_F32](20, x, NULL, NULL, 1e-5, y, &mean, &rstd);
    for (int i = 0; i < 20; i++) CHECK(fabsf(y[i]) < 1e-5f);
}

static void check_rms_norm_once(hd_dtype t, int64_t n, bool affine, double scale) {
    double squares = 0, eps = 1e-5, sum_hz = 0;
    make(t, &in_a, 2, 18);
    make(t, &in_b, 2, 19);
    make(t, &in_c, 2, 20);
    for (int64_t i = 0; i < n; i++) set(t, &in_a, 1 + i, scale * get(t, &in_a, 1 + i));
    for (int64_t i = 0; i < n; i++) squares += square(get(t, &in_a, 1 + i)) / (double)n;
    double rstd = 1 / sqrt(squares + eps);
    block *w = &in_b, *g = &in_c, *dw = &out, *stats = &out3;
    memcpy(&out, &before, sizeof out);
    k->rms_norm_row[t](n, at(t, &in_a, 1), affine ? w : NULL, eps, at(t, &out, 3), stats);
    CHECK(near(t, get(t, stats, 0), rstd, 2e-6));
    for (int64_t i = 0; i < n; i++) {
        double z = get(t, &in_a, 1 + i) * rstd, h = get(t, g, i) * (affine ? get(t, w, i) : 1);
        CHECK(near(t, get(t, &out, 3 + i), affine ? z * get(t, w, i) : z, 2e-6));
        sum_hz += h * z;
    }
    check_untouched(t, &out, 3, 1, n);
    for (int64_t i = 0; i < n; i++) set(t, dw, i, 1);
    k->rms_norm_row_grad[t](n, g, at(t, &in_a, 1), affine ? w : NULL, stats, at(t, stats, 3),
                            affine ? dw : NULL);
    for (int64_t i = 0; i < n; i++) {
        double h = get(t, g, i) * (affine ? get(t, w, i) : 1), z = get(t, &in_a, 1 + i) * rstd;
        CHECK(near(t, get(t, stats, 3 + i), rstd * (h - z * sum_hz / (double)n), rstd > 10 ? 1e-4 : 6e-6));
        CHECK(!affine || near(t, get(t, dw, i), 1 + get(t, g, i) * z, 2e-6));
    }
}

static void check_rms_norm(void) {
    EACH_DTYPE(t, floats) EACH_LENGTH(n) if (n > 0) {
        check_rms_norm_once(t, n, true, 1);
        check_rms_norm_once(t, n, false, 1);
        check_rms_norm_once(t, n, true, 1000);
    }
}

static void check_rotary_once(hd_dtype t, int64_t n, bool pairs, double sign) {
    make(t, &in_a, 2, 23);
    make(t, &in_b, 2, 24);
    make(t, &in_c, 2, 25);
    memcpy(&out, &before, sizeof out);
    (pairs ? k->rotate_pairs : k->rotate_halves)[t](n, sign, at(t, &in_a, 1), &in_b, &in_c, at(t, &out, 3));
    for (int64_t i = 0; i < n; i++) {
        int64_t one = pairs ? 2 * i : i, other = pairs ? 2 * i + 1 : n + i;
        double a = get(t, &in_a, 1 + one), b = get(t, &in_a, 1 + other);
        double c = get(t, &in_b, i), s = sign * get(t, &in_c, i);
        CHECK(near(t, get(t, &out, 3 + one), a * c - b * s, 1e-6));
        CHECK(near(t, get(t, &out, 3 + other), b * c + a * s, 1e-6));
    }
    check_untouched(t, &out, 3, 1, 2 * n);
}

static void check_rotary(void) {
    EACH_DTYPE(t, floats) EACH_LENGTH(n) if (2 * n <= MAX) {
        for (int pairs = 0; pairs <= 1; pairs++) {
            check_rotary_once(t, n, pairs, 1);
            check_rotary_once(t, n, pairs, -1);
        }
    }
}

static double share(int64_t n, int64_t j, int64_t target, double smoothing, const uint8_t *excluded) {
    if (!excluded) return smoothing / (double)n + (j == target ? 1 - smoothing : 0);
    int64_t others = 0;
    for (int64_t i = 0; i < n; i++) others += i != target && !excluded[i];
    if (j == target) return others ? 1 - smoothing : 1;
    return excluded[j] ? 0 : smoothing / (double)others;
}

static void check_cross_entropy_once(hd_dtype t, int64_t n, int64_t target, double smoothing,
                                     const uint8_t *excluded) {
    double lse = naive_logsumexp(t, &in_a, 1, n), loss = 0;
    for (int64_t j = 0; j < n; j++) {
        double s = share(n, j, target, smoothing, excluded);
        if (s != 0) loss += s * (lse - get(t, &in_a, 1 + j));
    }
    memcpy(&out, &before, sizeof out);
    CHECK(
        near(t, k->cross_entropy_row[t](n, at(t, &in_a, 1), target, smoothing, excluded, NULL), loss, 2e-6));
    CHECK(near(t, k->cross_entropy_row[t](n, at(t, &in_a, 1), target, smoothing, excluded, at(t, &out, 3)),
               loss, 2e-6));
    for (int64_t j = 0; j < n; j++)
        CHECK(near(t, get(t, &out, 3 + j),
                   exp(get(t, &in_a, 1 + j) - lse) - share(n, j, target, smoothing, excluded), 1e-6));
    check_untouched(t, &out, 3, 1, n);
    memcpy(&out2, &in_a, sizeof out2);
    CHECK(near(t, k->cross_entropy_row[t](n, at(t, &out2, 1), target, smoothing, excluded, at(t, &out2, 1)),
               loss, 2e-6));
    CHECK(memcmp(at(t, &out, 3), at(t, &out2, 1), (size_t)n * size_of(t)) == 0);
}

static void check_cross_entropy(void) {
    EACH_DTYPE(t, floats) {
        EACH_LENGTH(n) {
            if (n == 0) continue;
            make(t, &in_a, 7, 21);
            make(HD_BOOL, &in_c, 1, 22);
            for (int64_t target = 0; target < n; target += 1 + n / 3) {
                check_cross_entropy_once(t, n, target, 0, NULL);
                check_cross_entropy_once(t, n, target, 0.1, NULL);
                check_cross_entropy_once(t, n, target, 0.4, in_c.b);
                check_cross_entropy_once(t, n, target, 0, in_c.b);
                check_cross_entropy_once(t, n, target, 1, NULL);
            }
            /* an excluded class may have probability 0 */
            in_c.b[n - 1] = 1;
            set(t, &in_a, n, -INFINITY);
            if (n > 1) check_cross_entropy_once(t, n, 0, 0.4, in_c.b);
            if (n > 1) check_cross_entropy_once(t, n, 0, 0, NULL);
            if (n > 1) check_cross_entropy_once(t, n, n - 1, 0.4, in_c.b);
            if (n > 1) check_cross_entropy_once(t, n, n - 1, 0.1, NULL);
        }
        double x[] = {1, 2, 3, 4, 5};
        uint8_t padding[] = {1, 0, 0, 0, 0};
        for (int i = 0; i < 5; i++) set(t, &in_a, i, x[i]), set(t, &in_b, i, -INFINITY);
        k->cross_entropy_row[t](5, &in_a, 2, 0.4, padding, &out);
        k->softmax_row[t](5, &in_a, &out2);
        double shares[] = {0, 0.4 / 3, 0.6, 0.4 / 3, 0.4 / 3};
        for (int i = 0; i < 5; i++) CHECK(near(t, get(t, &out2, i) - get(t, &out, i), shares[i], 1e-6));
        CHECK(k->cross_entropy_row[t](5, &in_b, 2, 0.4, padding, &out) == INFINITY && get(t, &out, 2) == 0);
        set(t, &in_b, 0, NAN);
        CHECK(is_nan(k->cross_entropy_row[t](5, &in_b, 2, 0.4, padding, &out)) && is_nan(get(t, &out, 2)));
    }
}

static void check_all(void) {
    check_reductions();
    check_arg();
    check_sums();
    check_column_sums();
    check_softmax();
    check_softmax_special();
    check_masked_softmax();
    check_layer_norm();
    check_rms_norm();
    check_rotary();
    check_cross_entropy();
}

int main(void) {
    return check_tables(check_all);
}
