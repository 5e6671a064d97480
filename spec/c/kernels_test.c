/* Elementwise kernels and casts of every table. */
#include "kernels_check.h"

/* ---- one operand ----------------------------------------------------------------------------- */

static bool unary_to_bool(int op) {
    return hd_unary_rows[op].result == HD_TO_BOOL;
}

static bool unary_exists(int op, hd_dtype t) {
    hd_result result = hd_unary_rows[op].result;
    return hd_dtype_is_float(t) || result == HD_TO_BOOL || (result == HD_WHOLE && t != HD_BOOL);
}

static void check_unary_once(int op, hd_dtype t, int64_t n, int64_t sx, int64_t sy) {
    hd_dtype to = unary_to_bool(op) ? HD_BOOL : t;
    int64_t x0 = base_of(sx), y0 = base_of(sy);
    memcpy(&out, &before, sizeof out);
    k->unary[op][t](n, at(t, &in_a, x0), sx, at(to, &out, y0), sy);
    for (int64_t i = 0; i < n; i++)
        CHECK(near(to, get(to, &out, y0 + i * sy), unary_of[op](get(t, &in_a, x0 + i * sx)), 1e-6));
    check_untouched(to, &out, y0, sy, n);
}

static void check_unary(void) {
    for (int op = 0; op < HD_UNARY_COUNT; op++) {
        EACH_DTYPE(t, computed) {
            CHECK((k->unary[op][t] != NULL) == unary_exists(op, t));
            if (!k->unary[op][t]) continue;
            make(t, &in_a, 4, op);
            EACH_LENGTH(n)
            for (int s = 0; s < STRIDES; s++) {
                check_unary_once(op, t, n, strides[s], 1);
                if (n < 40) check_unary_once(op, t, n, strides[s], 2);
            }
            if (unary_to_bool(op)) continue;
            memcpy(&out, &in_a, sizeof out);
            k->unary[op][t](MAX, &out, 1, &out, 1);
            for (int64_t i = 0; i < MAX; i++)
                CHECK(near(t, get(t, &out, i), unary_of[op](get(t, &in_a, i)), 1e-6));
        }
    }
}

static void check_unary_special(void) {
    static const float values[] = {0.0f,    -0.0f,   INFINITY, -INFINITY, NAN,           1e-30f, -1e-30f,
                                   1e30f,   -1e30f,  1e-40f,   88.7f,     88.8f,         -87.3f, -103.9f,
                                   -104.1f, -100.0f, 20.0f,    -20.0f,    0.99999f,      1,      -1,
                                   0.625f,  -5,      -10,      3.4e38f,   1.1754944e-38f};
    const int64_t n = sizeof values / sizeof *values;
    for (int op = 0; op < HD_UNARY_COUNT; op++) {
        if (op == HD_SIN || op == HD_COS || unary_to_bool(op)) continue;
        k->unary[op][HD_F32](n, values, 1, out.f, 1);
        for (int64_t i = 0; i < n; i++) {
            double wanted = unary_of[op](values[i]);
            if (op == HD_NEG || op == HD_ABS || op == HD_SIGN || op == HD_SQUARE || op == HD_RELU)
                wanted = (float)wanted;
            float as_float = (float)wanted;
            CHECK(fabs(wanted) < 1e-35 ? fabs(out.f[i] - wanted) < 1e-41
                                       : same(out.f[i], as_float) || fabs(out.f[i] / wanted - 1) < 2e-6);
        }
    }
    static const float edge[] = {-INFINITY, -1e30f, -104.5f, 0};
    k->unary[HD_EXP][HD_F32](4, edge, 1, out.f, 1);
    CHECK(out.f[0] == 0 && out.f[1] == 0 && out.f[2] == 0 && out.f[3] == 1);
    static const double infinite[] = {-INFINITY, INFINITY, NAN};
    k->unary[HD_GELU][HD_F64](3, infinite, 1, out.d, 1);
    CHECK(out.d[0] == 0 && out.d[1] == INFINITY && out.d[2] != out.d[2]);
    k->unary[HD_SILU][HD_F64](3, infinite, 1, out.d, 1);
    CHECK(out.d[0] == 0 && out.d[1] == INFINITY && out.d[2] != out.d[2]);
    static const int64_t least[] = {INT64_MIN};
    k->unary[HD_NEG][HD_I64](1, least, 1, out.i, 1);
    CHECK(out.i[0] == INT64_MIN);
    static const int32_t least_i32[] = {INT32_MIN, 65536};
    k->unary[HD_ABS][HD_I32](1, least_i32, 1, out.i32, 1);
    CHECK(out.i32[0] == INT32_MIN);
    k->unary[HD_SQUARE][HD_I32](2, least_i32, 1, out.i32, 1);
    CHECK(out.i32[0] == 0 && out.i32[1] == 0);
    static const uint8_t bytes[] = {1, 16, 255};
    k->unary[HD_NEG][HD_U8](3, bytes, 1, out.b, 1);
    CHECK(out.b[0] == 255 && out.b[1] == 240 && out.b[2] == 1);
    k->unary[HD_SQUARE][HD_U8](3, bytes, 1, out.b, 1);
    CHECK(out.b[0] == 1 && out.b[1] == 0 && out.b[2] == 1);
}

static void check_unary_grad(void) {
    for (int op = 0; op < HD_UNARY_COUNT; op++) {
        EACH_DTYPE(t, floats) {
            hd_slope saves = hd_unary_rows[op].slope;
            CHECK((k->unary_grad[op][t] != NULL) == (saves == HD_SAVES_INPUT || saves == HD_SAVES_OUTPUT));
            if (!k->unary_grad[op][t]) continue;
            make(t, &in_a, 2, 1);
            make(t, &in_b, 3, 2);
            EACH_LENGTH(n)
            for (int s = 0; s < 9; s++) {
                int64_t sg = strides[s % 3], ss = strides[s / 3];
                k->unary_grad[op][t](n, at(t, &in_a, 3), sg, at(t, &in_b, 1), ss, at(t, &out, 5), 1);
                for (int64_t i = 0; i < n; i++)
                    CHECK(near(t, get(t, &out, 5 + i),
                               get(t, &in_a, 3 + i * sg) * slope(op, get(t, &in_b, 1 + i * ss)), 2e-6));
            }
        }
    }
    float g = 1, x[4] = {-INFINITY, INFINITY, NAN, -1e20f};
    for (int op = HD_GELU; op <= HD_SILU; op++) {
        k->unary_grad[op][HD_F32](4, &g, 0, x, 1, out.f, 1);
        CHECK(out.f[0] == 0 && out.f[1] == 1 && out.f[2] != out.f[2] && out.f[3] == 0);
    }
}

/* ---- two operands ---------------------------------------------------------------------------- */

static double floored(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static double binary_of(int op, hd_dtype t, double a, double b) {
    bool integer = !hd_dtype_is_float(t);
    switch (op) {
    case HD_ADD: return t == HD_BOOL ? a || b : a + b;
    case HD_SUB: return a - b;
    case HD_MUL: return a * b;
    case HD_DIV: return a / b;
    case HD_POW: return integer && b < 0 ? (a == 1 ? 1 : a == -1 ? pow(a, b) : 0) : pow(a, b);
    case HD_MOD: return integer && b == 0 ? 0 : floored(a, b);
    case HD_FLOORDIV: return integer && b == 0 ? 0 : floor(a / b);
    case HD_ATAN2: return atan2(a, b);
    case HD_HYPOT: return hypot(a, b);
    case HD_MAXIMUM: return a != a || b != b ? NAN : fmax(a, b);
    case HD_MINIMUM: return a != a || b != b ? NAN : fmin(a, b);
    case HD_EQ: return a == b;
    case HD_NE: return a != b;
    case HD_LT: return a < b;
    case HD_LE: return a <= b;
    case HD_GT: return a > b;
    case HD_GE: return a >= b;
    case HD_AND: return (double)((int64_t)a & (int64_t)b);
    case HD_OR: return (double)((int64_t)a | (int64_t)b);
    default: return (double)((int64_t)a ^ (int64_t)b);
    }
}

static void check_binary_once(int op, hd_dtype t, int64_t n, int64_t sa, int64_t sb, int64_t sy) {
    hd_dtype to = hd_binary_rows[op].sort == HD_COMPARISON ? HD_BOOL : t;
    int64_t a0 = base_of(sa), b0 = base_of(sb);
    memcpy(&out, &before, sizeof out);
    k->binary[op][t](n, at(t, &in_a, a0), sa, at(t, &in_b, b0), sb, at(to, &out, 3), sy);
    for (int64_t i = 0; i < n; i++) {
        double wanted = binary_of(op, t, get(t, &in_a, a0 + i * sa), get(t, &in_b, b0 + i * sb));
        CHECK(near(to, get(to, &out, 3 + i * sy), wanted, op == HD_MOD ? 1e-6 : 3e-7));
    }
    check_untouched(to, &out, 3, sy, n);
}

static bool binary_exists(int op, hd_dtype t) {
    hd_binary_sort sort = hd_binary_rows[op].sort;
    if (hd_dtype_is_float(t)) return sort != HD_LOGIC;
    if (hd_dtype_is_integer(t)) return sort != HD_LOGIC && sort != HD_DIVISION;
    return sort == HD_LOGIC || sort == HD_COMPARISON || op == HD_ADD || op == HD_MUL || op == HD_MAXIMUM ||
           op == HD_MINIMUM;
}

static void check_binary(void) {
    for (int op = 0; op < HD_BINARY_COUNT; op++) {
        EACH_DTYPE(t, computed) {
            CHECK((k->binary[op][t] != NULL) == binary_exists(op, t));
            if (!k->binary[op][t]) continue;
            make(t, &in_a, 3, 3);
            make(t, &in_b, 2, 4);
            if (op == HD_POW && hd_dtype_is_float(t))
                for (int64_t i = 0; i < ROOM; i++) set(t, &in_a, i, fabs(get(t, &in_a, i)) + 0.01);
            EACH_LENGTH(n)
            for (int s = 0; s < STRIDES * STRIDES; s++) {
                if (n > 40 && s % STRIDES == FORWARD) continue;
                check_binary_once(op, t, n, strides[s % STRIDES], strides[s / STRIDES], 1);
                if (n < 20) check_binary_once(op, t, n, strides[s % STRIDES], strides[s / STRIDES], 2);
            }
        }
    }
}

static void check_binary_special(void) {
    int64_t a[] = {INT64_MIN, 5, -7, 7, -7, INT64_MAX, INT64_MIN, 3},
            b[] = {-1, 0, 2, -2, -2, 2, INT64_MIN, 64};
    k->binary[HD_FLOORDIV][HD_I64](8, a, 1, b, 1, out.i, 1);
    int64_t quotients[] = {INT64_MIN, 0, -4, -4, 3, INT64_MAX / 2, 1, 0};
    CHECK(memcmp(out.i, quotients, sizeof quotients) == 0);
    k->binary[HD_MOD][HD_I64](8, a, 1, b, 1, out.i, 1);
    int64_t rests[] = {0, 0, 1, -1, -1, 1, 0, 3};
    CHECK(memcmp(out.i, rests, sizeof rests) == 0);
    k->binary[HD_ADD][HD_I64](8, a, 1, a, 1, out.i, 1);
    CHECK(out.i[0] == 0 && out.i[5] == -2);
    k->binary[HD_MUL][HD_I64](8, a, 1, b, 1, out.i, 1);
    CHECK(out.i[0] == INT64_MIN && out.i[5] == -2);
    k->binary[HD_POW][HD_I64](8, a, 1, b, 1, out.i, 1);
    CHECK(out.i[1] == 1 && out.i[2] == 49 && out.i[7] == INT64_C(8733086111712066817));
    int32_t c[] = {INT32_MIN, INT32_MAX, INT32_MIN, 65536}, d[] = {-1, 1, INT32_MIN, 65537};
    k->binary[HD_FLOORDIV][HD_I32](4, c, 1, d, 1, out.i32, 1);
    CHECK(out.i32[0] == INT32_MIN && out.i32[1] == INT32_MAX && out.i32[2] == 1 && out.i32[3] == 0);
    k->binary[HD_ADD][HD_I32](4, c, 1, d, 1, out.i32, 1);
    CHECK(out.i32[0] == INT32_MAX && out.i32[1] == INT32_MIN && out.i32[2] == 0);
    k->binary[HD_MUL][HD_I32](4, c, 1, d, 1, out.i32, 1);
    CHECK(out.i32[0] == INT32_MIN && out.i32[3] == 65536);
    k->binary[HD_POW][HD_I32](4, c, 1, &(int32_t){3}, 0, out.i32, 1);
    CHECK(out.i32[0] == 0 && out.i32[1] == INT32_MAX && out.i32[3] == 0);
    uint8_t e[] = {200, 3, 255, 16}, h[] = {100, 5, 255, 17};
    k->binary[HD_ADD][HD_U8](4, e, 1, h, 1, out.b, 1);
    CHECK(out.b[0] == 44 && out.b[1] == 8 && out.b[2] == 254);
    k->binary[HD_SUB][HD_U8](4, e, 1, h, 1, out.b, 1);
    CHECK(out.b[0] == 100 && out.b[1] == 254 && out.b[2] == 0);
    k->binary[HD_MUL][HD_U8](4, e, 1, h, 1, out.b, 1);
    CHECK(out.b[0] == 32 && out.b[2] == 1 && out.b[3] == 16);
    k->binary[HD_GT][HD_U8](4, e, 1, h, 1, out.b, 1);
    CHECK(out.b[0] && !out.b[1] && !out.b[2] && !out.b[3]);
    float f[] = {NAN, 1, INFINITY, -1, -1, 7.5f}, g[] = {1, NAN, 2, INFINITY, 0, -2};
    k->binary[HD_MAXIMUM][HD_F32](6, f, 1, g, 1, out.f, 1);
    CHECK(out.f[0] != out.f[0] && out.f[1] != out.f[1] && out.f[2] == INFINITY && out.f[3] == INFINITY);
    k->binary[HD_MINIMUM][HD_F32](6, f, 1, g, 1, out.f, 1);
    CHECK(out.f[0] != out.f[0] && out.f[1] != out.f[1] && out.f[2] == 2 && out.f[3] == -1);
    k->binary[HD_FLOORDIV][HD_F32](6, f, 1, g, 1, out.f, 1);
    CHECK(out.f[3] == 0 && out.f[4] == -INFINITY && out.f[5] == -4);
    k->binary[HD_LT][HD_F32](6, f, 1, g, 1, out.b, 1);
    CHECK(!out.b[0] && !out.b[1] && !out.b[2] && out.b[3] && out.b[4] && !out.b[5]);
    k->binary[HD_NE][HD_F32](1, f, 1, f, 1, out.b, 1);
    CHECK(out.b[0] == 1);
    enum { MANY = 300 };
    static float many[MANY], by[MANY];
    for (int i = 0; i < MANY; i++) many[i] = (float)(i * 7 % 31) - 15.5f, by[i] = (float)(i % 5) + 0.75f;
    const float left[] = {-6, 6, -0.0f, 5, -5, 1e30f, 0x1p60f, NAN, 1, INFINITY, 3.3e38f, -2, 0, 0},
                right[] = {3, -3, 3, INFINITY, INFINITY, 7, 3, 2, 0, 2, 1e-30f, 3, -1, 0};
    for (int i = 0; i < 14; i++)
        many[20 * i] = left[i], by[20 * i] = right[i]; /* in two pieces, among others */
    k->binary[HD_MOD][HD_F32](MANY, many, 1, by, 1, out.f, 1);
    k->binary[HD_POW][HD_F32](MANY, many, 1, by, 1, out2.f, 1);
    for (int i = 0; i < MANY; i++) {
        double r = fmod(many[i], by[i]), wanted = r != 0 && (r < 0) != (by[i] < 0) ? r + by[i] : r;
        CHECK(same(out.f[i], (float)wanted) && (wanted != wanted || !signbit(out.f[i]) == !signbit(wanted)));
        CHECK(near(HD_F32, out2.f[i], (float)pow(many[i], by[i]), 1.2e-7));
    }
    float two = 2, three = 3, bases[] = {-2, 0, INFINITY, 1.5f};
    k->binary[HD_POW][HD_F32](4, bases, 1, &two, 0, out.f, 1);
    CHECK(out.f[0] == 4 && out.f[1] == 0 && out.f[2] == INFINITY && out.f[3] == 2.25f);
    k->binary[HD_POW][HD_F32](4, bases, 1, &three, 0, out.f, 1);
    CHECK(out.f[0] == -8 && out.f[3] == 3.375f);
}

static void check_where_and_multiples(void) {
    EACH_DTYPE(t, wide) CHECK(k->axpy[t] && k->affine[t] && k->accumulate[t]);
    EACH_DTYPE(t, computed) {
        make(t, &in_a, 3, 5);
        make(t, &in_b, 3, 6);
        make(HD_BOOL, &in_c, 1, 7);
        EACH_LENGTH(n)
        for (int s = 0; s < 27; s++) {
            int64_t sc = strides[s % 3], sa = strides[s / 3 % 3], sb = strides[s / 9];
            k->where[t](n, in_c.b + 1, sc, at(t, &in_a, 1), sa, at(t, &in_b, 3), sb, at(t, &out, 1), 1);
            for (int64_t i = 0; i < n; i++)
                CHECK(get(t, &out, 1 + i) ==
                      (in_c.b[1 + i * sc] ? get(t, &in_a, 1 + i * sa) : get(t, &in_b, 3 + i * sb)));
            if (!k->axpy[t] || s >= 9) continue;
            memcpy(&out, &in_b, sizeof out);
            k->axpy[t](n, -2, at(t, &in_a, 1), sa, at(t, &out, 3), 1);
            for (int64_t i = 0; i < n; i++)
                CHECK(
                    near(t, get(t, &out, 3 + i), get(t, &in_b, 3 + i) - 2 * get(t, &in_a, 1 + i * sa), 1e-6));
            k->affine[t](n, 3, -1, at(t, &in_a, 1), sa, at(t, &out, 3), 2);
            for (int64_t i = 0; i < n; i++)
                CHECK(near(t, get(t, &out, 3 + 2 * i), get(t, &in_a, 1 + i * sa) * 3 - 1, 1e-6));
        }
        if (!k->accumulate[t]) continue;
        memcpy(&out, &in_b, sizeof out);
        k->accumulate[t](MAX, at(t, &in_a, 1), at(t, &out, 3));
        for (int64_t i = 0; i < MAX; i++)
            CHECK(near(t, get(t, &out, 3 + i), get(t, &in_b, 3 + i) + get(t, &in_a, 1 + i), 1e-6));
    }
}

/* Products of i64, which wrap: m by depth times depth by n. */
static void check_integer_product(int64_t m, int64_t n, int64_t depth, int64_t a_col) {
    const int64_t a_row = depth * a_col + 1, b_row = n + 2, y_row = n + 3;
    memcpy(&out, &before, sizeof out);
    k->product_i64(m, n, depth, in_a.i + 1, a_row, a_col, in_b.i + 3, b_row, out.i + 1, y_row);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < y_row; j++) {
            uint64_t sum = (uint64_t)before.i[1 + i * y_row + j];
            for (int64_t r = 0; r < depth && j < n; r++)
                sum += (uint64_t)in_a.i[1 + i * a_row + r * a_col] * (uint64_t)in_b.i[3 + r * b_row + j];
            CHECK((uint64_t)out.i[1 + i * y_row + j] == sum);
        }
    CHECK(out.i[0] == before.i[0]);
}

static void check_integer_products(void) {
    make(HD_I64, &in_a, 40, 11);
    make(HD_I64, &in_b, 40, 12);
    in_b.i[7] = INT64_MAX, in_a.i[2] = INT64_MIN + 3;
    for (int64_t m = 1; m < 11; m++)
        for (int64_t n = 0; n < 75; n++)
            for (int64_t depth = 0; depth < 30; depth += 7)
                for (int64_t a_col = 1; a_col < 3; a_col++) check_integer_product(m, n, depth, a_col);
}

/* ---- casts ----------------------------------------------------------------------------------- */

static void check_casts(void) {
    static const hd_dtype plain[] = {HD_BOOL, HD_U8,  HD_I8,  HD_I16, HD_U16,
                                     HD_I32,  HD_U32, HD_I64, HD_F32, HD_F64};
    EACH_DTYPE(from, plain) EACH_DTYPE(to, plain) {
        make(from, &in_a, from == HD_I8 ? 40 : from == HD_U8 ? 80 : 100, 8);
        if (is_unsigned(to))
            for (int64_t i = 0; i < ROOM; i++)
                set(from, &in_a, i, from == HD_BOOL ? (double)(i & 1) : fabs(get(from, &in_a, i)));
        if (size_of(to) == 1 && hd_dtype_is_integer(from))
            for (int64_t i = 0; i < ROOM; i++)
                set(from, &in_a, i, fmod(get(from, &in_a, i), to == HD_I8 ? 128 : 256));
        EACH_LENGTH(n)
        for (int s = 0; s < 3; s++) {
            memcpy(&out, &before, sizeof out);
            k->cast[from][to](n, at(from, &in_a, 1), strides[s], at(to, &out, 3), 1);
            for (int64_t i = 0; i < n; i++) {
                double x = get(from, &in_a, 1 + i * strides[s]);
                double wanted = to == HD_BOOL ? x != 0 : hd_dtype_is_float(to) ? x : trunc(x);
                CHECK(near(to, get(to, &out, 3 + i), wanted, 1e-7));
            }
            check_untouched(to, &out, 3, 1, n);
        }
    }
    for (int from = 0; from < HD_DTYPE_COUNT; from++)
        for (int to = 0; to < HD_DTYPE_COUNT; to++) CHECK(k->cast[from][to] != NULL);
}

static void check_cast_limits(void) {
    double x[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, 255.9, -0.9, 0x1p63, 0x1p31, -3};
    int64_t i64[] = {0, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, 255, 0, INT64_MAX, INT64_C(1) << 31, -3};
    int32_t i32[] = {0, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 255, 0, INT32_MAX, INT32_MAX, -3};
    uint8_t u8[] = {0, 255, 0, 255, 0, 255, 0, 255, 255, 0}, truth[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    float f[10];
    k->cast[HD_F64][HD_I64](10, x, 1, out.i, 1);
    CHECK(memcmp(out.i, i64, sizeof i64) == 0);
    k->cast[HD_F64][HD_I32](10, x, 1, out.i32, 1);
    CHECK(memcmp(out.i32, i32, sizeof i32) == 0);
    k->cast[HD_F64][HD_U8](10, x, 1, out.b, 1);
    CHECK(memcmp(out.b, u8, sizeof u8) == 0);
    int8_t i8[] = {0, 127, -128, 127, -128, 127, 0, 127, 127, -3};
    int16_t i16[] = {0, INT16_MAX, INT16_MIN, INT16_MAX, INT16_MIN, 255, 0, INT16_MAX, INT16_MAX, -3};
    uint16_t u16[] = {0, UINT16_MAX, 0, UINT16_MAX, 0, 255, 0, UINT16_MAX, UINT16_MAX, 0};
    uint32_t u32[] = {0, UINT32_MAX, 0, UINT32_MAX, 0, 255, 0, UINT32_MAX, UINT32_C(1) << 31, 0};
    k->cast[HD_F64][HD_I8](10, x, 1, out.i8, 1);
    CHECK(memcmp(out.i8, i8, sizeof i8) == 0);
    k->cast[HD_F64][HD_I16](10, x, 1, out.i16, 1);
    CHECK(memcmp(out.i16, i16, sizeof i16) == 0);
    k->cast[HD_F64][HD_U16](10, x, 1, out.u16, 1);
    CHECK(memcmp(out.u16, u16, sizeof u16) == 0);
    k->cast[HD_F64][HD_U32](10, x, 1, out.u32, 1);
    CHECK(memcmp(out.u32, u32, sizeof u32) == 0);
    k->cast[HD_F64][HD_BOOL](10, x, 1, out.b, 1);
    CHECK(memcmp(out.b, truth, sizeof truth) == 0);
    k->cast[HD_F64][HD_F32](10, x, 1, f, 1);
    CHECK(f[3] == INFINITY && f[4] == -INFINITY && f[0] != f[0]);
    k->cast[HD_F32][HD_I64](9, f, 1, out.i, 1);
    CHECK(memcmp(out.i, i64, 5 * sizeof *i64) == 0);
    int64_t wide[] = {-1, 256, (INT64_C(1) << 32) + 7};
    k->cast[HD_I64][HD_U8](3, wide, 1, out.b, 1);
    CHECK(out.b[0] == 255 && out.b[1] == 0 && out.b[2] == 7);
    k->cast[HD_I64][HD_I32](3, wide, 1, out.i32, 1);
    CHECK(out.i32[0] == -1 && out.i32[2] == 7);
    k->cast[HD_I64][HD_U16](3, wide, 1, out.u16, 1);
    CHECK(out.u16[0] == 65535 && out.u16[1] == 256 && out.u16[2] == 7);
    k->cast[HD_U16][HD_I64](1, out.u16, 1, out2.i, 1);
    k->cast[HD_U16][HD_I8](1, out.u16, 1, out2.i8 + 8, 1);
    CHECK(out2.i[0] == 65535 && out2.i8[8] == -1);
    k->cast[HD_I64][HD_U32](3, wide, 1, out.u32, 1);
    k->cast[HD_U32][HD_I64](1, out.u32, 1, out2.i, 1);
    k->cast[HD_U32][HD_F32](1, out.u32, 1, out3.f, 1);
    CHECK(out2.i[0] == UINT32_MAX && out3.f[0] == 0x1p32f && out.u32[2] == 7);
}

static void check_half(void) {
    uint16_t half[8];
    float x[] = {1, -2, 65504, 65520, 5.9604645e-8f, 2.9802322e-8f, NAN, 0.1f};
    k->cast[HD_F32][HD_F16](8, x, 1, half, 1);
    CHECK(half[0] == 0x3c00 && half[1] == 0xc000 && half[2] == 0x7bff && half[3] == 0x7c00 && half[4] == 1);
    CHECK(half[5] == 0 && (half[6] & 0x7fff) > 0x7c00 && half[7] == 0x2e66);
    k->cast[HD_F32][HD_BF16](8, x, 1, half, 1);
    CHECK(half[0] == 0x3f80 && half[1] == 0xc000 && (half[6] & 0x7fff) > 0x7f80 && half[7] == 0x3dcd);
    float ties[] = {1 + 0x1p-11f, 1 + 0x3p-11f, 1 + 0x1.01p-11f,
                    0x1.8p-24f,   1 + 0x1p-8f,  1 + 0x3p-8f}; /* to even */
    k->cast[HD_F32][HD_F16](4, ties, 1, half, 1);
    CHECK(half[0] == 0x3c00 && half[1] == 0x3c02 && half[2] == 0x3c01 && half[3] == 2);
    k->cast[HD_F32][HD_BF16](2, ties + 4, 1, half, 1);
    CHECK(half[0] == 0x3f80 && half[1] == 0x3f82);
    for (int h = 0; h < 0x10000; h++) { /* there and back */
        uint16_t in = (uint16_t)h, back = 0;
        float wide;
        k->cast[HD_F16][HD_F32](1, &in, 1, &wide, 1);
        k->cast[HD_F32][HD_F16](1, &wide, 1, &back, 1);
        CHECK(back == in || ((in & 0x7fff) > 0x7c00 && wide != wide));
        k->cast[HD_BF16][HD_F32](1, &in, 1, &wide, 1);
        k->cast[HD_F32][HD_BF16](1, &wide, 1, &back, 1);
        CHECK(back == in || ((in & 0x7fff) > 0x7f80 && wide != wide));
    }
}

static void check_names(void) {
    CHECK(strcmp(k->name, hd_isa_name(k->isa)) == 0 && hd_kernels_of(k->isa) == k);
    CHECK(hd_kernels_of(HD_ISA_PLAIN) != NULL && hd_kernels_of(HD_ISA_COUNT) == NULL);
}

static void check_all(void) {
    check_names();
    check_unary();
    check_unary_special();
    check_unary_grad();
    check_binary();
    check_binary_special();
    check_where_and_multiples();
    check_integer_products();
    check_casts();
    check_cast_limits();
    check_half();
}

int main(void) {
    return check_tables(check_all);
}
