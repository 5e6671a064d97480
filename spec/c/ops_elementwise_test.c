/* ops_elementwise_test.c: unary, binary, where and cast: gradients over dense, transposed, broadcast, empty
 * and 0-d operands, corners, dtypes.
 */
#include "base/parallel.h"
#include "operations_check.h"

/* ---- unary ----------------------------------------------------------------------------------- */

static hd_tensor *unary(hd_tensor *const *in, const void *arg) {
    return hd_unary_op(cx, *(const hd_unary *)arg, in[0]);
}

static hd_tensor *unary_in_place(hd_tensor *const *in, const void *arg) {
    hd_tensor *y = hd_binary_scalar(cx, HD_MUL, in[0], hd_scalar_f(1.5), false);
    if (y && hd_unary_(cx, *(const hd_unary *)arg, y)) {
        hd_release(y);
        return NULL;
    }
    return y;
}

/* From where on an operation is tried, over a range of 2. */
static double least_of(hd_unary op) {
    switch (op) {
    case HD_SQRT:
    case HD_RSQRT:
    case HD_LOG:
    case HD_LOG1P:
    case HD_LOG2:
    case HD_LOG10: return 0.2;
    case HD_ACOSH: return 1.2;
    default: return -1;
    }
}

static hd_tensor *unary_of_share(hd_tensor *const *in, const void *arg) {
    hd_tensor *y = hd_binary_scalar(cx, HD_MUL, in[0], hd_scalar_f(0.3), false);
    if (y && hd_unary_(cx, *(const hd_unary *)arg, y)) {
        hd_release(y);
        return NULL;
    }
    return y;
}

static void test_unary(void) {
    for (hd_unary op = HD_NEG; op <= HD_ROUND; op++) {
        char name[32];
        snprintf(name, sizeof name, "unary %d", (int)op);
        if (op == HD_ASIN || op == HD_ACOS || op == HD_ATANH) {
            check_layouts(name, unary_of_share, &op, -1);
            continue;
        }
        check_shapes(name, unary, &op, least_of(op));
        check_layouts(name, unary_in_place, &op, least_of(op));
    }
}

static void test_unary_corners(void) {
    hd_tensor *x = parameter(HD_F32, SHAPE(2));
    set(x, 0, 0);
    set(x, 1, 0);
    hd_unary zeros[] = {HD_RELU, HD_ABS, HD_SIGN};
    for (int i = 0; i < 3; i++) {
        hd_tensor *y = unary(&x, &zeros[i]);
        hd_tensor *g = random_tensor(HD_F32, 1, y->shape);
        CHECK(!hd_backward_run(cx, y, g, false));
        CHECK(!x->grad || (get(x->grad, 0) == 0 && get(x->grad, 1) == 0));
        clear_grad(x);
        hd_release(y);
        hd_release(g);
    }
    hd_release(x);
    hd_tensor *n = integers(SHAPE(3), (int64_t[]){-4, 0, 9});
    hd_unary root = HD_SQUARE;
    hd_tensor *y = unary(&n, &root);
    CHECK(y->dtype == HD_I64 && get(y, 0) == 16 && get(y, 2) == 81);
    hd_release(y);
    root = HD_EXP;
    y = unary(&n, &root);
    CHECK(y->dtype == HD_F32 && get(y, 1) == 1);
    hd_release(y);
    root = HD_LOGICAL_NOT;
    y = unary(&n, &root);
    CHECK(y->dtype == HD_BOOL && get(y, 0) == 0 && get(y, 1) == 1);
    CHECK(hd_unary_op(cx, HD_NEG, y) == NULL && cx->error.status == HD_EARG);
    CHECK(hd_unary_(cx, HD_EXP, n) == HD_EARG); /* i64 cannot hold f32 */
    hd_release(y);
    hd_release(n);
}

/* ---- binary ---------------------------------------------------------------------------------- */

static hd_tensor *binary(hd_tensor *const *in, const void *arg) {
    return hd_binary_op(cx, *(const hd_binary *)arg, in[0], in[1]);
}

static hd_tensor *binary_in_place(hd_tensor *const *in, const void *arg) {
    hd_tensor *y = hd_binary_scalar(cx, HD_MUL, in[0], hd_scalar_f(1.5), false);
    if (y && hd_binary_(cx, *(const hd_binary *)arg, y, in[1])) {
        hd_release(y);
        return NULL;
    }
    return y;
}

static void make_positive(hd_tensor *t) {
    for (int64_t i = 0; i < hd_numel(t); i++) set(t, i, fabs(get(t, i)) + 0.3);
}

static void check_pair(const char *name, hd_binary op, int na, const int64_t *a, int nb, const int64_t *b) {
    hd_tensor *in[] = {parameter(HD_F64, na, a), parameter(HD_F64, nb, b)};
    make_positive(in[0]);
    make_positive(in[1]);
    check(name, binary, 2, in, &op);
    bool holds = na >= nb;
    for (int d = 0; d < nb; d++) holds = holds && (b[d] == 1 || b[d] == a[na - nb + d]);
    if (holds) check(name, binary_in_place, 2, in, &op);
    if (na == 2) {
        hd_tensor *across[] = {laid_across(in[0]), hd_retain(in[1])};
        check(name, binary, 2, across, &op);
        if (holds) check(name, binary_in_place, 2, across, &op);
        release_inputs(2, across);
    }
    release_inputs(2, in);
}

static void test_binary(void) {
    for (hd_binary op = HD_ADD; op <= HD_MINIMUM; op++) {
        char name[32];
        snprintf(name, sizeof name, "binary %d", (int)op);
        check_pair(name, op, SHAPE(3, 4), SHAPE(3, 4));
        check_pair(name, op, SHAPE(3, 4), SHAPE(1, 4));
        check_pair(name, op, SHAPE(3, 4), SHAPE(4));
        check_pair(name, op, SHAPE(3, 4), 0, NULL);
        check_pair(name, op, SHAPE(4, 1), SHAPE(1, 4));
        check_pair(name, op, SHAPE(1), SHAPE(5, 4));
        check_pair(name, op, 0, NULL, 0, NULL);
        check_pair(name, op, SHAPE(0, 4), SHAPE(1, 4));
    }
}

typedef struct number {
    hd_binary op;
    hd_scalar s;
    bool reversed;
} number;

static hd_tensor *with_number(hd_tensor *const *in, const void *arg) {
    const number *n = arg;
    return hd_binary_scalar(cx, n->op, in[0], n->s, n->reversed);
}

static hd_tensor *with_number_in_place(hd_tensor *const *in, const void *arg) {
    const number *n = arg;
    hd_tensor *y = hd_binary_scalar(cx, HD_ADD, in[0], hd_scalar_f(0.5), false);
    if (y && hd_binary_scalar_(cx, n->op, y, n->s)) {
        hd_release(y);
        return NULL;
    }
    return y;
}

static void test_numbers(void) {
    for (hd_binary op = HD_ADD; op <= HD_MINIMUM; op++) {
        for (int reversed = 0; reversed < 2; reversed++) {
            number n = {op, hd_scalar_f(0.7), reversed};
            check_shapes("number", with_number, &n, 0.2);
            if (!reversed) check_layouts("number in place", with_number_in_place, &n, 0.2);
        }
    }
    double powers[] = {0, 1, 2, 3, -1, 0.5};
    for (int i = 0; i < 6; i++) {
        number n = {HD_POW, hd_scalar_f(powers[i]), false};
        check_shapes("power", with_number, &n, 0.2);
    }
}

static double gradient_at(hd_binary op, double a, double b, int of) {
    hd_tensor *in[] = {parameter(HD_F64, 0, NULL), parameter(HD_F64, 0, NULL)};
    set(in[0], 0, a);
    set(in[1], 0, b);
    hd_tensor *y = binary(in, &op);
    CHECK(!hd_backward_run(cx, y, NULL, false));
    double g = get(in[of]->grad, 0);
    hd_release(y);
    clear_grad(in[0]);
    clear_grad(in[1]);
    release_inputs(2, in);
    return g;
}

static void test_binary_corners(void) {
    CHECK(gradient_at(HD_MAXIMUM, 2, 2, 0) == 0.5 && gradient_at(HD_MAXIMUM, 2, 2, 1) == 0.5);
    CHECK(gradient_at(HD_MINIMUM, 2, 3, 0) == 1 && gradient_at(HD_MINIMUM, 2, 3, 1) == 0);
    CHECK(gradient_at(HD_POW, 0, 2, 0) == 0 && gradient_at(HD_POW, 0, 2, 1) == 0);
    CHECK(gradient_at(HD_POW, 0, 0, 0) == 0 && gradient_at(HD_POW, 0, 1, 0) == 1);
    hd_tensor *a = integers(SHAPE(3), (int64_t[]){7, -7, 5}), *b = integers(SHAPE(3), (int64_t[]){2, 2, 0});
    CHECK(!hd_binary_op(cx, HD_FLOORDIV, a, b) && !strcmp(cx->error.message, "division by zero"));
    CHECK(!hd_binary_scalar(cx, HD_MOD, a, hd_scalar_i(0), false) &&
          !strcmp(cx->error.message, "division by zero"));
    CHECK(!hd_binary_scalar(cx, HD_FLOORDIV, b, hd_scalar_i(1), true));
    CHECK(!hd_binary_scalar(cx, HD_POW, a, hd_scalar_i(-1), false));
    hd_tensor *y = hd_binary_scalar(cx, HD_FLOORDIV, a, hd_scalar_i(2), false);
    CHECK(y->dtype == HD_I64 && get(y, 0) == 3 && get(y, 1) == -4);
    hd_release(y);
    y = hd_binary_op(cx, HD_DIV, a, a);
    CHECK(y->dtype == HD_F32 && get(y, 0) == 1);
    hd_release(y);
    y = hd_binary_scalar(cx, HD_ADD, a, hd_scalar_f(0.5), false);
    CHECK(y->dtype == HD_F32 && get(y, 1) == -6.5);
    hd_release(y);
    y = hd_binary_op(cx, HD_LT, a, b);
    CHECK(y->dtype == HD_BOOL && get(y, 1) == 1 && get(y, 0) == 0);
    hd_tensor *z = hd_binary_op(cx, HD_ADD, y, y);
    CHECK(z->dtype == HD_BOOL && get(z, 1) == 1);
    CHECK(!hd_binary_op(cx, HD_SUB, y, y));
    hd_release(z);
    z = hd_binary_scalar(cx, HD_ADD, y, hd_scalar_i(1), false);
    CHECK(z->dtype == HD_I64 && get(z, 1) == 2);
    hd_release(z);
    hd_release(y);
    CHECK(hd_binary_scalar_(cx, HD_ADD, a, hd_scalar_f(0.5)) == HD_EARG);
    CHECK(hd_binary_scalar_(cx, HD_DIV, a, hd_scalar_i(2)) == HD_EARG);
    CHECK(hd_fill_(cx, a, hd_scalar_f(2.5)) == HD_EARG);
    CHECK(hd_fill_(cx, a, hd_scalar_f(3)) == HD_OK && get(a, 2) == 3);
    hd_tensor *five = random_tensor(HD_F32, SHAPE(5));
    CHECK(!hd_binary_op(cx, HD_ADD, five, a) && strstr(cx->error.message, "[5]") &&
          strstr(cx->error.message, "[3]"));
    hd_release(five);
    hd_release(a);
    hd_release(b);
}

/* ---- choosing -------------------------------------------------------------------------------- */

static hd_tensor *where(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_where(cx, in[2], in[0], in[1]);
}
static hd_tensor *masked_fill(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_masked_fill(cx, in[0], in[1], hd_scalar_f(-3));
}
static hd_tensor *masked_fill_in_place(hd_tensor *const *in, const void *arg) {
    (void)arg;
    hd_tensor *y = hd_binary_scalar(cx, HD_MUL, in[0], hd_scalar_f(1.5), false);
    if (y && hd_masked_fill_(cx, y, in[1], hd_scalar_f(-3))) {
        hd_release(y);
        return NULL;
    }
    return y;
}
static hd_tensor *clamp(hd_tensor *const *in, const void *arg) {
    const double *ends = arg;
    hd_scalar low = hd_scalar_f(ends[0]), high = hd_scalar_f(ends[1]);
    return hd_clamp(cx, in[0], isnan(ends[0]) ? NULL : &low, isnan(ends[1]) ? NULL : &high);
}
static hd_tensor *tril(hd_tensor *const *in, const void *arg) {
    return hd_tril(cx, in[0], *(const int64_t *)arg);
}
static hd_tensor *triu(hd_tensor *const *in, const void *arg) {
    return hd_triu(cx, in[0], *(const int64_t *)arg);
}
static hd_tensor *decimals(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_round_decimals(cx, in[0], 1);
}
static hd_tensor *to_f32(hd_tensor *const *in, const void *arg) {
    (void)arg;
    hd_tensor *narrow = hd_cast(cx, in[0], HD_F32);
    hd_tensor *wide = narrow ? hd_cast(cx, narrow, HD_F64) : NULL;
    hd_release(narrow);
    return wide;
}

static void test_choosing(void) {
    hd_tensor *in[] = {parameter(HD_F64, SHAPE(3, 4)), parameter(HD_F64, SHAPE(4)),
                       bools(SHAPE(2, 1, 4), 0xA6)};
    check("where", where, 3, in, NULL);
    hd_tensor *nothing = bools(0, NULL, 0);
    hd_tensor *filled[] = {in[0], in[2]};
    check("masked_fill", masked_fill, 2, filled, NULL);
    filled[1] = nothing;
    check("masked_fill", masked_fill_in_place, 2, filled, NULL);
    set(in[0], 0, NAN); /* not chosen: neither value nor gradient may show it */
    hd_tensor *y = hd_where(cx, nothing, in[0], in[1]);
    CHECK(get(y, 0) == get(in[1], 0));
    hd_tensor *g = hd_full(cx, HD_F64, 2, y->shape, hd_scalar_f(NAN));
    CHECK(!hd_backward_run(cx, y, g, false) && get(in[0]->grad, 0) == 0);
    hd_release(y);
    hd_release(g);
    clear_grad(in[0]);
    clear_grad(in[1]);
    release_inputs(3, in);
    hd_release(nothing);
    double ends[][2] = {{-0.3, 0.4}, {NAN, 0.2}, {0.1, NAN}, {NAN, NAN}};
    for (int i = 0; i < 4; i++) check_shapes("clamp", clamp, ends[i], -1);
    for (int64_t d = -4; d <= 5; d++) {
        check_layouts("tril", tril, &d, -1);
        check_layouts("triu", triu, &d, -1);
    }
    hd_tensor *x = parameter(HD_F64, SHAPE(3, 4));
    check_failures("round", decimals, 1, &x, NULL);
    check_failures("to", to_f32, 1, &x, NULL);
    hd_release(x);
    x = parameter(HD_F32, SHAPE(3));
    for (int i = 0; i < 3; i++) set(x, i, i - 1); /* at both bounds and between */
    hd_scalar low = hd_scalar_i(-1), high = hd_scalar_i(1);
    y = hd_clamp(cx, x, &low, &high);
    hd_tensor *ones = hd_full(cx, HD_F32, SHAPE(3), hd_scalar_i(1));
    CHECK(!hd_backward_run(cx, y, ones, false));
    for (int i = 0; i < 3; i++) CHECK(get(x->grad, i) == 1);
    hd_release(y);
    hd_release(ones);
    clear_grad(x);
    hd_release(x);
}

/* ---- large walks ----------------------------------------------------------------------------- */

/* A new tensor whose dimensions lie in memory in another order. */
static hd_tensor *laid_out(hd_dtype dtype, const int64_t shape[3], const int order[3]) {
    int64_t stride[3], step = 1;
    for (int i = 2; i >= 0; i--) {
        stride[order[i]] = step;
        step *= shape[order[i]];
    }
    hd_tensor *memory = random_tensor(dtype, SHAPE(step));
    hd_tensor *t = hd_tensor_view(cx, memory, 3, shape, stride, 0);
    CHECK(t != NULL);
    hd_release(memory);
    return t;
}

/* Enough elements for several tasks, in every pair of orders, with rows and tiles that do not come
 * out even. */
static void test_large(void) {
    const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const int64_t shapes[3][3] = {{65, 9, 133}, {201, 77, 3}, {1, 300, 211}};
    const hd_dtype dtypes[] = {HD_F32, HD_F64};
    for (int n = 0; n < 3 * 36; n++) {
        const int64_t *shape = shapes[n / 36];
        hd_dtype dtype = dtypes[n % 2];
        hd_tensor *a = laid_out(dtype, shape, orders[n % 6]), *b = laid_out(dtype, shape, orders[n / 6 % 6]);
        hd_tensor *row = random_tensor(dtype, SHAPE(shape[1], 1));
        hd_tensor *less = hd_binary_op(cx, HD_LT, a, b), *sum = hd_binary_op(cx, HD_ADD, a, row);
        hd_tensor *chosen = hd_where(cx, less, b, sum), *dense = hd_clone(cx, a);
        CHECK(!hd_binary_(cx, HD_SUB, a, b));
        for (int64_t i = 0; i < hd_numel(a); i += 101) {
            double x = get(dense, i), y = get(b, i), z = get(row, i / shape[2] % shape[1]);
            CHECK(is_near(get(a, i), x - y, 1e-6) && get(less, i) == (x < y));
            CHECK(is_near(get(sum, i), x + z, 1e-6) && get(chosen, i) == (x < y ? y : get(sum, i)));
        }
        hd_tensor *all[] = {a, b, row, less, sum, chosen, dense};
        release_inputs(7, all);
    }
}

/* Results too large for the caches, written past them: copies and sums, turned, backwards, in odd rows, on more threads. */
static void check_streamed(const int64_t *shape, const int *order, int threads) {
    hd_tensor *a = laid_out(HD_F32, shape, order), *row = random_tensor(HD_F32, SHAPE(shape[2]));
    hd_set_num_threads(cx, threads);
    hd_tensor *dense = hd_contiguous(cx, a), *sum = hd_binary_op(cx, HD_ADD, a, row);
    hd_tensor *back = hd_flip(cx, a, 4), *less = hd_binary_op(cx, HD_LT, a, row),
              *wide = hd_cast(cx, a, HD_F64);
    const int64_t n = hd_numel(a), last = shape[2];
    CHECK(hd_is_contiguous(dense) && n * 4 >= 16 << 20);
    for (int64_t i = 0; i < n; i += i % last < last - 40 ? 37 : 1) {
        double x = get(a, i), y = get(row, i % last);
        CHECK(get(dense, i) == x && get(wide, i) == x && get(less, i) == (x < y));
        CHECK(get(sum, i) == (float)(x + y) && get(back, i + last - 1 - 2 * (i % last)) == x);
    }
    CHECK(!hd_binary_(cx, HD_SUB, sum, row));
    for (int64_t i = 0; i < n; i += 997) CHECK(is_near(get(sum, i), get(a, i), 1e-6));
    hd_tensor *all[] = {a, row, dense, sum, back, less, wide};
    release_inputs(7, all);
}

static void test_streamed(void) {
    const int orders[4][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {2, 0, 1}};
    const int64_t shapes[2][3] = {{4, 1031, 1021}, {33, 1200, 107}};
    int threads = hd_max_workers(cx);
    for (int n = 0; n < 8; n++) check_streamed(shapes[n / 4], orders[n % 4], 1 + n % 2);
    hd_set_num_threads(cx, threads);
}

static void test_large_clamp(void) {
    hd_tensor *x = parameter(HD_F64, SHAPE(40000));
    hd_scalar low = hd_scalar_f(-0.25), high = hd_scalar_f(0.5);
    hd_tensor *y = hd_clamp(cx, x, &low, &high), *g = random_tensor(HD_F64, SHAPE(40000));
    CHECK(!hd_backward_run(cx, y, g, false));
    for (int64_t i = 0; i < 40000; i++) {
        double v = get(x, i);
        CHECK(get(y, i) == fmin(fmax(v, -0.25), 0.5));
        CHECK(get(x->grad, i) == (v >= -0.25 && v <= 0.5 ? get(g, i) : 0));
    }
    clear_grad(x);
    hd_tensor *all[] = {x, y, g};
    release_inputs(3, all);
}

int main(void) {
    cx = new_context(2);
    cx->grad_enabled = true;
    test_unary();
    test_unary_corners();
    test_binary();
    test_numbers();
    test_binary_corners();
    test_choosing();
    test_large();
    test_streamed();
    test_large_clamp();
    CHECK(cx->account->live == 0);
    free_context(cx);
    return checks_done();
}
