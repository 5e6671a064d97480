/* ops_test.c: the gradient of every elementwise, shape, index, reduction and product operation against
 * central differences, over dense, transposed, broadcast, empty and 0-d operands; and every operation with an
 * allocator that fails at its n-th allocation, for all n.
 */
#include <limits.h>

#include "differentiate.h"

/* ---- every operation with failing allocations ------------------------------------------------ */

/* One forward and backward; false when an allocation failed. */
static bool attempt(hd_function f, int count, hd_tensor *const *inputs, const void *arg, hd_tensor *ones) {
    cx->rng = (hd_rng){7, 0};
    hd_tensor *y = f(inputs, arg);
    if (!y) return false;
    bool done = true;
    if (y->requires_grad) done = !hd_backward_run(cx, y, ones, false);
    hd_release(y);
    for (int i = 0; i < count; i++) clear_grad(inputs[i]);
    return done;
}

static void check_failures(const char *name, hd_function f, int count, hd_tensor *const *inputs,
                           const void *arg) {
    hd_tensor *y = call_anew(f, inputs, arg);
    hd_tensor *ones = random_tensor((hd_dtype)y->dtype, y->ndim, y->shape);
    hd_release(y);
    int64_t live = cx->account->live;
    for (int64_t n = 1;; n++) {
        cx->account->fail_at = n;
        bool done = attempt(f, count, inputs, arg, ones);
        cx->account->fail_at = 0;
        if (cx->account->live != live) printf("%s: allocation %d: bytes are left behind\n", name, (int)n);
        CHECK(cx->account->live == live);
        if (done) break;
        if (cx->error.status != HD_ENOMEM) printf("%s: allocation %d: %s\n", name, (int)n, cx->error.message);
        CHECK(cx->error.status == HD_ENOMEM);
        CHECK(n < 200);
    }
    hd_release(ones);
}

static void check(const char *name, hd_function f, int count, hd_tensor *const *inputs, const void *arg) {
    check_gradients(name, f, count, inputs, arg);
    check_failures(name, f, count, inputs, arg);
}

/* One input, in each layout. Values in [low, low + 2). */
static void check_layouts(const char *name, hd_function f, const void *arg, double low) {
    hd_tensor *x = parameter(HD_F64, SHAPE(3, 4));
    for (int64_t i = 0; i < hd_numel(x); i++) set(x, i, get(x, i) + low + 1);
    check(name, f, 1, &x, arg);
    hd_tensor *across = laid_across(x);
    check(name, f, 1, &across, arg);
    hd_release(across);
    hd_release(x);
}

/* Where the operation takes any shape. */
static void check_shapes(const char *name, hd_function f, const void *arg, double low) {
    check_layouts(name, f, arg, low);
    hd_tensor *empty = parameter(HD_F64, SHAPE(0, 4));
    check(name, f, 1, &empty, arg);
    hd_release(empty);
    hd_tensor *scalar = parameter(HD_F64, 0, NULL);
    set(scalar, 0, low + 1.3);
    check(name, f, 1, &scalar, arg);
    hd_release(scalar);
}

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

static void test_unary(void) {
    for (hd_unary op = HD_NEG; op <= HD_ROUND; op++) {
        bool positive = op == HD_SQRT || op == HD_RSQRT || op == HD_LOG;
        char name[32];
        snprintf(name, sizeof name, "unary %d", (int)op);
        check_shapes(name, unary, &op, positive ? 0.2 : -1);
        check_layouts(name, unary_in_place, &op, positive ? 0.2 : -1);
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

static hd_tensor *bools(int ndim, const int64_t *shape, unsigned bits) {
    hd_tensor *t = hd_tensor_new(cx, HD_BOOL, ndim, shape);
    CHECK(t != NULL);
    for (int64_t i = 0; i < hd_numel(t); i++) set(t, i, bits >> i & 1);
    return t;
}

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

/* ---- shapes ---------------------------------------------------------------------------------- */

static hd_tensor *reshape(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_reshape(cx, in[0], 3, (int64_t[]){2, -1, 3});
}
static hd_tensor *permute(hd_tensor *const *in, const void *arg) {
    return hd_permute(cx, in[0], arg);
}
static hd_tensor *transpose(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_transpose(cx, in[0], 0, -1);
}
static hd_tensor *narrow(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_narrow(cx, in[0], -1, 1, 2, 2);
}
static hd_tensor *select_one(hd_tensor *const *in, const void *arg) {
    return hd_select(cx, in[0], *(const int *)arg, 2);
}
static hd_tensor *squeeze(hd_tensor *const *in, const void *arg) {
    (void)arg;
    hd_tensor *wide = hd_unsqueeze(cx, in[0], 1);
    hd_tensor *y = wide ? hd_squeeze(cx, wide, INT_MIN) : NULL;
    hd_release(wide);
    return y;
}
static hd_tensor *expand(hd_tensor *const *in, const void *arg) {
    (void)arg;
    hd_tensor *row = hd_narrow(cx, in[0], 0, 1, 1, 1);
    hd_tensor *y = row ? hd_expand(cx, row, 3, (int64_t[]){2, 3, -1}) : NULL;
    hd_release(row);
    return y;
}
static hd_tensor *flip(hd_tensor *const *in, const void *arg) {
    return hd_flip(cx, in[0], *(const uint32_t *)arg);
}
static hd_tensor *contiguous(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_contiguous(cx, in[0]);
}
static hd_tensor *clone(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_clone(cx, in[0]);
}
static hd_tensor *cat(hd_tensor *const *in, const void *arg) {
    return hd_cat(cx, 3, in, *(const int *)arg);
}
static hd_tensor *stack(hd_tensor *const *in, const void *arg) {
    return hd_stack(cx, 3, in, *(const int *)arg);
}

static void test_shapes(void) {
    check_layouts("reshape", reshape, NULL, -1);
    check_layouts("permute", permute, (int[]){1, 0}, -1);
    check_layouts("transpose", transpose, NULL, -1);
    check_layouts("narrow", narrow, NULL, -1);
    check_layouts("select", select_one, &(int){0}, -1);
    check_layouts("select", select_one, &(int){-1}, -1);
    check_layouts("squeeze", squeeze, NULL, -1);
    check_layouts("expand", expand, NULL, -1);
    for (uint32_t dims = 0; dims < 4; dims++) check_layouts("flip", flip, &dims, -1);
    check_shapes("clone", clone, NULL, -1);
    check_layouts("contiguous", contiguous, NULL, -1);
    hd_tensor *parts[] = {parameter(HD_F64, SHAPE(2, 3)), parameter(HD_F64, SHAPE(2, 3)),
                          parameter(HD_F64, SHAPE(2, 3))};
    for (int dim = -2; dim < 2; dim++) check("cat", cat, 3, parts, &dim);
    for (int dim = -3; dim < 3; dim++) check("stack", stack, 3, parts, &dim);
    hd_tensor *other = parameter(HD_F64, SHAPE(2, 4));
    hd_tensor *unlike[] = {parts[0], other, parts[1]};
    check("cat", cat, 3, unlike, &(int){1});
    CHECK(!hd_cat(cx, 3, unlike, 0) && strstr(cx->error.message, "tensor 2"));
    hd_tensor *v = hd_transpose(cx, other, 0, 1);
    CHECK(v->is_view && !hd_view(cx, v, 1, (int64_t[]){8}));
    CHECK(hd_fill_(cx, v, hd_scalar_i(0)) == HD_EARG);
    hd_release(v);
    hd_release(other);
    release_inputs(3, parts);
    /* Large enough to be walked in tiles by several tasks. */
    hd_tensor *big = random_tensor(HD_F32, SHAPE(300, 2, 301)),
              *turned = hd_permute(cx, big, (int[]){2, 1, 0});
    hd_tensor *dense = hd_contiguous(cx, turned);
    for (int64_t i = 0; i < hd_numel(big); i += 17) CHECK(get(turned, i) == get(dense, i));
    hd_release(big);
    hd_release(turned);
    hd_release(dense);
}

/* ---- indices --------------------------------------------------------------------------------- */

static hd_tensor *index_select(hd_tensor *const *in, const void *arg) {
    return hd_index_select(cx, in[0], *(const int *)arg, in[1]);
}
static hd_tensor *gather(hd_tensor *const *in, const void *arg) {
    return hd_gather(cx, in[0], *(const int *)arg, in[1]);
}
static hd_tensor *masked_select(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_masked_select(cx, in[0], in[1]);
}
static hd_tensor *one_hot(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_one_hot(cx, in[0], 4);
}

static void test_indices(void) {
    hd_tensor *in[] = {parameter(HD_F64, SHAPE(3, 4)), integers(SHAPE(2, 2), (int64_t[]){3, 1, 3, 2})};
    check("index_select", index_select, 2, in, &(int){0});
    check("index_select", index_select, 2, in, &(int){1});
    check("gather", gather, 2, in, &(int){0});
    check("gather", gather, 2, in, &(int){1});
    hd_tensor *across[] = {laid_across(in[0]), in[1]};
    check("index_select", index_select, 2, across, &(int){1});
    check("gather", gather, 2, across, &(int){1});
    check_failures("one_hot", one_hot, 1, &in[1], NULL);
    hd_release(across[0]);
    set(in[1], 2, 5);
    CHECK(!hd_index_select(cx, in[0], 1, in[1]) && strstr(cx->error.message, "1..4, got 5 at position 3"));
    CHECK(!hd_index_select(cx, in[0], 1, in[0]));
    hd_release(in[1]);
    in[1] = bools(SHAPE(3, 1), 5);
    check("masked_select", masked_select, 2, in, NULL);
    hd_release(in[1]);
    in[1] = bools(SHAPE(2, 3, 4), 0xABCDEF);
    check("masked_select", masked_select, 2, in, NULL);
    release_inputs(2, in);
}

/* y = 1.5 x, then y[..] = v */
static hd_tensor *before_assignment(hd_tensor *x) {
    return hd_binary_scalar(cx, HD_MUL, x, hd_scalar_f(1.5), false);
}
static hd_tensor *after_assignment(hd_tensor *y, hd_status status) {
    if (!status) return y;
    hd_release(y);
    return NULL;
}
static hd_tensor *assign_region(hd_tensor *const *in, const void *arg) {
    const int *turns = arg;
    hd_tensor *y = before_assignment(in[0]);
    hd_tensor *x = !y ? NULL : *turns ? hd_transpose(cx, y, 0, 1) : hd_retain(y);
    hd_tensor *part = x ? hd_narrow(cx, x, 1, *turns ? 0 : 1, 2, 2) : NULL;
    hd_status status = part ? hd_assign_(cx, y, part, in[1]) : cx->error.status;
    hd_release(part);
    hd_release(x);
    return y ? after_assignment(y, status) : NULL;
}
static hd_tensor *assign_row(hd_tensor *const *in, const void *arg) {
    (void)arg;
    hd_tensor *y = before_assignment(in[0]);
    hd_tensor *part = y ? hd_select(cx, y, 0, 1) : NULL;
    hd_status status = part ? hd_assign_(cx, y, part, in[1]) : cx->error.status;
    hd_release(part);
    return y ? after_assignment(y, status) : NULL;
}
static hd_tensor *assign_mask(hd_tensor *const *in, const void *arg) {
    (void)arg;
    hd_tensor *y = before_assignment(in[0]);
    return y ? after_assignment(y, hd_assign_mask_(cx, y, in[2], in[1])) : NULL;
}
static hd_tensor *assign_index(hd_tensor *const *in, const void *arg) {
    (void)arg;
    hd_tensor *y = before_assignment(in[0]);
    return y ? after_assignment(y, hd_assign_index_(cx, y, in[2], in[1])) : NULL;
}
static hd_tensor *copy(hd_tensor *const *in, const void *arg) {
    (void)arg;
    hd_tensor *y = before_assignment(in[0]);
    return y ? after_assignment(y, hd_copy_(cx, y, in[1])) : NULL;
}
static hd_tensor *fill(hd_tensor *const *in, const void *arg) {
    (void)arg;
    hd_tensor *y = before_assignment(in[0]);
    if (y && hd_fill_(cx, y, hd_scalar_i(2))) return after_assignment(y, HD_ENOMEM);
    return y;
}

static void test_assignment(void) {
    hd_tensor *in[3] = {parameter(HD_F64, SHAPE(3, 4)), parameter(HD_F64, SHAPE(3, 1)), NULL};
    check("assignment", assign_region, 2, in, &(int){0});
    hd_tensor *across[] = {laid_across(in[0]), in[1]};
    check("assignment", assign_region, 2, across, &(int){0});
    hd_release(across[0]);
    hd_release(in[1]);
    in[1] = parameter(HD_F64, SHAPE(2));
    check("assignment", assign_region, 2, in, &(int){1});
    hd_release(in[1]);
    in[1] = parameter(HD_F64, 0, NULL);
    check("assignment", assign_row, 2, in, NULL);
    check("copy", copy, 2, in, NULL);
    check_failures("fill", fill, 1, in, NULL);
    in[2] = bools(SHAPE(3), 5);
    check("mask assignment", assign_mask, 3, in, NULL);
    hd_release(in[1]);
    in[1] = parameter(HD_F64, SHAPE(1, 2, 4));
    check("mask assignment", assign_mask, 3, in, NULL);
    hd_release(in[2]);
    in[2] = integers(SHAPE(2), (int64_t[]){3, 3});
    check("index assignment", assign_index, 3, in, NULL);
    release_inputs(3, in);
    /* a[{ {}, {2,3} }] = a[{ {}, {1,2} }], which overlap */
    hd_tensor *a = integers(SHAPE(3, 3), (int64_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8});
    hd_tensor *to = hd_narrow(cx, a, 1, 1, 2, 1), *from = hd_narrow(cx, a, 1, 0, 2, 1);
    CHECK(!hd_assign_(cx, a, to, from));
    const int64_t expected[] = {0, 0, 1, 3, 3, 4, 6, 6, 7};
    for (int i = 0; i < 9; i++) CHECK(get(a, i) == expected[i]);
    hd_release(a);
    hd_release(to);
    hd_release(from);
    hd_tensor *whole = random_tensor(HD_F32, SHAPE(3)), *leaf = parameter(HD_F32, SHAPE(3));
    hd_tensor *part = hd_narrow(cx, whole, 0, 0, 1, 1), *first = hd_narrow(cx, leaf, 0, 0, 1, 1);
    CHECK(hd_binary_(cx, HD_ADD, part, first) == HD_EARG && strstr(cx->error.message, "part of another"));
    CHECK(!hd_assign_(cx, whole, part, first) && whole->requires_grad);
    hd_release(whole);
    hd_release(part);
    hd_release(first);
    part = hd_narrow(cx, leaf, 0, 0, 1, 1);
    CHECK(hd_assign_(cx, leaf, part, leaf) == HD_EARG);
    hd_release(part);
    hd_release(leaf);
}

/* ---- reductions ------------------------------------------------------------------------------ */

typedef struct over {
    hd_reduction op;
    uint32_t dims;
    bool keepdim;
} over;

static hd_tensor *reduce(hd_tensor *const *in, const void *arg) {
    const over *o = arg;
    return hd_reduce(cx, o->op, in[0], o->dims, o->keepdim);
}
static hd_tensor *mean(hd_tensor *const *in, const void *arg) {
    const over *o = arg;
    return hd_mean(cx, in[0], o->dims, o->keepdim);
}
static hd_tensor *var(hd_tensor *const *in, const void *arg) {
    const over *o = arg;
    return hd_var(cx, in[0], o->dims, o->keepdim, 1);
}
static hd_tensor *logsumexp(hd_tensor *const *in, const void *arg) {
    const over *o = arg;
    return hd_logsumexp(cx, in[0], o->dims, o->keepdim);
}
static hd_tensor *largest(hd_tensor *const *in, const void *arg) {
    const over *o = arg;
    hd_tensor *values, *indices;
    if (hd_max_dim(cx, in[0], o->dims == 1 ? 0 : -1, o->keepdim, o->op == HD_MIN, &values, &indices))
        return NULL;
    CHECK(indices->dtype == HD_I64 && hd_same_shape(values, indices));
    hd_release(indices);
    return values;
}
static hd_tensor *norm(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_norm2(cx, in[0]);
}
static hd_tensor *cumsum(hd_tensor *const *in, const void *arg) {
    return hd_cumsum(cx, in[0], *(const int *)arg);
}

static void test_reductions(void) {
    for (uint32_t dims = 0; dims < 4; dims++) {
        for (int keepdim = 0; keepdim < 2; keepdim++) {
            for (hd_reduction op = HD_SUM; op <= HD_MIN; op++) {
                over o = {op, dims == 3 ? HD_ALL_DIMS : dims, keepdim};
                check_layouts("reduction", reduce, &o, op == HD_PROD ? 0.3 : -1);
            }
            over o = {HD_MAX, dims, keepdim};
            check_layouts("mean", mean, &o, -1);
            if (dims) check_layouts("var", var, &o, -1);
            check_layouts("logsumexp", logsumexp, &o, -1);
            check_layouts("max", largest, &o, -1);
            o.op = HD_MIN;
            check_layouts("min", largest, &o, -1);
        }
    }
    check_layouts("norm", norm, NULL, -1);
    check_layouts("cumsum", cumsum, &(int){0}, -1);
    check_layouts("cumsum", cumsum, &(int){1}, -1);
    hd_tensor *x = parameter(HD_F64, SHAPE(2, 3, 4, 2));
    for (uint32_t dims = 0; dims < 16; dims++) {
        check_gradients("sum", reduce, 1, &x, &(over){HD_SUM, dims, false});
        check_gradients("prod", reduce, 1, &x, &(over){HD_PROD, dims, false});
        check_gradients("logsumexp", logsumexp, 1, &x, &(over){HD_SUM, dims, true});
    }
    hd_release(x);
}

static void test_reduction_corners(void) {
    hd_tensor *x = parameter(HD_F64, SHAPE(2, 3));
    const double values[] = {3, 3, 1, 0, 0, 3};
    for (int i = 0; i < 6; i++) set(x, i, values[i]);
    hd_tensor *y = hd_reduce(cx, HD_MAX, x, HD_ALL_DIMS, false);
    CHECK(y->ndim == 0 && !hd_backward_run(cx, y, NULL, false));
    CHECK(fabs(get(x->grad, 0) - 1.0 / 3) < 1e-15 && get(x->grad, 2) == 0);
    clear_grad(x);
    hd_release(y);
    hd_tensor *index;
    CHECK(!hd_max_dim(cx, x, 1, false, false, &y, &index) && get(index, 0) == 1 && get(index, 1) == 3);
    hd_tensor *ones = hd_full(cx, HD_F64, SHAPE(2), hd_scalar_i(1));
    CHECK(!hd_backward_run(cx, y, ones, false) && get(x->grad, 0) == 1 && get(x->grad, 1) == 0);
    clear_grad(x);
    hd_release(y);
    hd_release(index);
    y = hd_reduce(cx, HD_PROD, x, 2, false); /* two zeros in the second row: nothing moves it */
    CHECK(!hd_backward_run(cx, y, ones, false) && get(x->grad, 2) == 9 && get(x->grad, 3) == 0);
    clear_grad(x);
    hd_release(y);
    hd_release(ones);
    y = hd_argmax(cx, x, INT_MIN, false, true);
    CHECK(y->ndim == 0 && get(y, 0) == 4);
    hd_release(y);
    hd_release(x);

    x = parameter(HD_F32, SHAPE(3));
    for (int i = 0; i < 3; i++) set(x, i, 0);
    y = hd_norm2(cx, x);
    CHECK(!hd_backward_run(cx, y, NULL, false) && get(x->grad, 1) == 0);
    clear_grad(x);
    hd_release(y);
    for (int i = 0; i < 3; i++) set(x, i, -INFINITY);
    y = hd_logsumexp(cx, x, 1, false);
    CHECK(get(y, 0) == -INFINITY && !hd_backward_run(cx, y, NULL, false) && get(x->grad, 1) == 0);
    clear_grad(x);
    hd_release(y);
    hd_release(x);

    x = random_tensor(HD_F32, SHAPE(2, 0));
    y = hd_reduce(cx, HD_SUM, x, 2, false);
    CHECK(hd_numel(y) == 2 && get(y, 1) == 0);
    hd_release(y);
    y = hd_reduce(cx, HD_MAX, x, 1, false);
    CHECK(y && hd_numel(y) == 0);
    hd_release(y);
    CHECK(!hd_reduce(cx, HD_MAX, x, 2, false) && strstr(cx->error.message, "dimension 2 of [2, 0]"));
    CHECK(hd_max_dim(cx, x, 1, false, false, &y, &index) == HD_EARG &&
          strstr(cx->error.message, "dimension 2"));
    hd_release(x);

    x = integers(SHAPE(3), (int64_t[]){1, 2, 4});
    y = hd_mean(cx, x, HD_ALL_DIMS, false);
    CHECK(y->dtype == HD_F32 && fabs(get(y, 0) - 7.0 / 3) < 1e-6);
    hd_release(y);
    y = hd_reduce(cx, HD_SUM, x, HD_ALL_DIMS, false);
    CHECK(y->dtype == HD_I64 && get(y, 0) == 7);
    hd_release(y);
    hd_release(x);
    x = bools(SHAPE(5), 0x16);
    y = hd_reduce(cx, HD_SUM, x, HD_ALL_DIMS, false);
    CHECK(y->dtype == HD_I64 && get(y, 0) == 3);
    hd_release(y);
    y = hd_reduce(cx, HD_MAX, x, HD_ALL_DIMS, false);
    CHECK(y->dtype == HD_BOOL && get(y, 0) == 1);
    hd_release(y);
    hd_release(x);
}

/* Against a sum in the order of the elements, where blocks and tasks cut it. */
static void test_long_sums(void) {
    const int64_t shapes[][3] = {{3, 50001, 1}, {2, 1, 40001}, {5000, 3, 7}, {3, 7, 5000}, {40, 700, 5}};
    for (int s = 0; s < 5; s++) {
        hd_tensor *x = random_tensor(HD_F64, 3, shapes[s]);
        for (uint32_t dims = 1; dims < 8; dims++) {
            hd_tensor *y = hd_reduce(cx, HD_SUM, x, dims, true);
            hd_tensor *want = hd_tensor_zeros(cx, HD_F64, 3, y->shape);
            int64_t stride[HD_MAX_DIMS];
            for (int d = 0; d < 3; d++) stride[d] = dims >> d & 1 ? 0 : want->stride[d];
            const double *v = hd_data(x);
            double *w = hd_data(want);
            for (int64_t i = 0; i < x->shape[0]; i++)
                for (int64_t j = 0; j < x->shape[1]; j++)
                    for (int64_t k = 0; k < x->shape[2]; k++)
                        w[i * stride[0] + j * stride[1] + k * stride[2]] += *v++;
            for (int64_t i = 0; i < hd_numel(y); i += hd_numel(y) / 97 + 1)
                CHECK(is_near(get(y, i), get(want, i), 1e-10));
            hd_release(y);
            hd_release(want);
        }
        hd_release(x);
    }
}

/* ---- products -------------------------------------------------------------------------------- */

static hd_tensor *matmul(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_matmul(cx, in[0], in[1]);
}

static void check_product(int na, const int64_t *a, int nb, const int64_t *b) {
    hd_tensor *in[] = {parameter(HD_F64, na, a), parameter(HD_F64, nb, b)};
    check("matmul", matmul, 2, in, NULL);
    if (na >= 2 && nb >= 2) {
        hd_tensor *across[] = {laid_across(in[0]), laid_across(in[1])};
        check("matmul", matmul, 2, across, NULL);
        hd_tensor *y = hd_matmul(cx, in[0], in[1]), *z = hd_matmul(cx, across[0], across[1]);
        for (int64_t i = 0; i < hd_numel(y); i++) CHECK(is_near(get(y, i), get(z, i), 1e-12));
        hd_release(y);
        hd_release(z);
        release_inputs(2, across);
    }
    release_inputs(2, in);
}

static void test_matmul(void) {
    check_product(SHAPE(3, 4), SHAPE(4, 2));
    check_product(SHAPE(4), SHAPE(4));
    check_product(SHAPE(4), SHAPE(4, 3));
    check_product(SHAPE(3, 4), SHAPE(4));
    check_product(SHAPE(2, 3, 4), SHAPE(4, 2));
    check_product(SHAPE(3, 4), SHAPE(2, 4, 2));
    check_product(SHAPE(2, 3, 4), SHAPE(2, 4, 2));
    check_product(SHAPE(5, 1, 3, 4), SHAPE(2, 4, 2));
    check_product(SHAPE(2, 3, 4), SHAPE(4));
    check_product(SHAPE(4), SHAPE(2, 4, 3));
    check_product(SHAPE(2, 1, 4), SHAPE(4, 3));
    check_product(SHAPE(2, 3, 1), SHAPE(1, 3));
    check_product(SHAPE(0, 4), SHAPE(4, 2));
    check_product(SHAPE(3, 0), SHAPE(0, 2));
    check_product(SHAPE(0, 3, 4), SHAPE(4, 2));
    hd_tensor *a = random_tensor(HD_F32, SHAPE(2, 3)), *b = random_tensor(HD_F32, SHAPE(4, 5));
    CHECK(!hd_matmul(cx, a, b) &&
          !strcmp(cx->error.message, "[2, 3] and [4, 5]: inner sizes 3 and 4 differ"));
    hd_release(a);
    hd_release(b);
    a = integers(SHAPE(2, 2), (int64_t[]){1, 2, 3, 4});
    b = hd_matmul(cx, a, a);
    CHECK(b->dtype == HD_I64 && get(b, 0) == 7 && get(b, 3) == 22);
    hd_release(a);
    hd_release(b);
    /* y = sum(x w): the gradient that comes back is one number in all places */
    a = parameter(HD_F64, SHAPE(3, 4));
    b = parameter(HD_F64, SHAPE(4, 2));
    hd_tensor *y = hd_matmul(cx, a, b), *sum = hd_reduce(cx, HD_SUM, y, HD_ALL_DIMS, false);
    CHECK(!hd_backward_run(cx, sum, NULL, false));
    CHECK(is_near(get(a->grad, 0), get(b, 0) + get(b, 1), 1e-14));
    clear_grad(a);
    clear_grad(b);
    hd_release(y);
    hd_release(sum);
    hd_release(a);
    hd_release(b);
}

/* ---- creation and the optimiser -------------------------------------------------------------- */

static void test_creation(void) {
    hd_tensor *t = hd_range(cx, HD_F64, hd_scalar_i(0), hd_scalar_f(0.3), hd_scalar_f(0.1));
    CHECK(hd_numel(t) == 4);
    hd_release(t);
    t = hd_range(cx, HD_I64, hd_scalar_i(5), hd_scalar_i(1), hd_scalar_i(-2));
    CHECK(hd_numel(t) == 3 && get(t, 2) == 1);
    hd_release(t);
    t = hd_range(cx, HD_I64, hd_scalar_i(5), hd_scalar_i(1), hd_scalar_i(1));
    CHECK(hd_numel(t) == 0);
    hd_release(t);
    CHECK(!hd_range(cx, HD_F32, hd_scalar_i(0), hd_scalar_i(1), hd_scalar_i(0)));
    CHECK(!hd_full(cx, HD_U8, SHAPE(1), hd_scalar_i(1)) &&
          !strcmp(cx->error.message, "dtype: expected one of bool, i64, f32, f64, got u8"));
    CHECK(!hd_full(cx, HD_F32, SHAPE(1), hd_scalar_f(1e300)) &&
          !hd_full(cx, HD_BOOL, SHAPE(1), hd_scalar_i(2)));
    t = hd_eye(cx, HD_F32, 2, 3);
    for (int i = 0; i < 6; i++) CHECK(get(t, i) == (i == 0 || i == 4));
    hd_release(t);
    t = hd_randperm(cx, NULL, 50);
    uint64_t seen = 0;
    for (int i = 0; i < 50; i++) seen |= 1ull << (int)get(t, i);
    CHECK(seen == ((1ull << 51) - 2));
    hd_release(t);
    t = hd_randint(cx, NULL, -1, 1, SHAPE(300));
    int counts[3] = {0};
    for (int i = 0; i < 300; i++) counts[(int)get(t, i) + 1]++;
    CHECK(counts[0] > 60 && counts[1] > 60 && counts[2] > 60 && counts[0] + counts[1] + counts[2] == 300);
    hd_release(t);
}

static void test_threads(void) {
    hd_ctx *first = cx;
    hd_tensor *results[2][3];
    for (int n = 0; n < 2; n++) {
        cx = new_context(n == 0 ? 1 : 3);
        hd_tensor *x = hd_randn(cx, NULL, HD_F32, SHAPE(300, 401));
        results[n][0] = hd_reduce(cx, HD_SUM, x, 1, false);
        results[n][1] = hd_reduce(cx, HD_SUM, x, HD_ALL_DIMS, false);
        results[n][2] = x;
        double norm;
        CHECK(!hd_total_norm(cx, 1, &x, &norm) && norm > 300 && norm < 400);
        free_context(cx); /* what it made lives on */
    }
    for (int i = 0; i < 3; i++) {
        size_t bytes = (size_t)hd_numel(results[0][i]) * 4;
        CHECK(!memcmp(hd_data(results[0][i]), hd_data(results[1][i]), bytes));
        hd_release(results[0][i]);
        hd_release(results[1][i]);
    }
    cx = first;
}

static void test_adamw(void) {
    hd_tensor *w = random_tensor(HD_F64, SHAPE(3, 4)), *g = random_tensor(HD_F64, SHAPE(3, 4));
    hd_tensor *across = laid_across(g); /* a gradient of another layout */
    hd_tensor *m = hd_tensor_zeros(cx, HD_F64, SHAPE(3, 4)), *v = hd_tensor_zeros(cx, HD_F64, SHAPE(3, 4));
    hd_adamw_options o = {0.1, 0.9, 0.99, 1e-8, 0.01, 1, 0.5};
    hd_adamw_slot slot = {w, across, m, v};
    double before = get(w, 5), slope = 0.5 * get(g, 5);
    uint32_t version = w->storage->version;
    CHECK(!hd_adamw(cx, 1, &slot, &o) && w->storage->version == version + 1);
    CHECK(is_near(get(m, 5), 0.1 * slope, 1e-12) && is_near(get(v, 5), 0.01 * slope * slope, 1e-12));
    CHECK(is_near(get(w, 5), before * (1 - 0.1 * 0.01) - 0.1 * (slope > 0 ? 1 : -1), 1e-6));
    CHECK(!hd_scale_all(cx, 1, &across, 3) && is_near(get(across, 5), 6 * slope, 1e-12));
    int64_t live = cx->account->live;
    for (int n = 1;; n++) {
        cx->account->fail_at = n;
        hd_status status = hd_adamw(cx, 1, &slot, &o);
        cx->account->fail_at = 0;
        CHECK(cx->account->live == live);
        if (!status) break;
        CHECK(status == HD_ENOMEM && n < 20);
    }
    slot.g = m = (hd_release(m), hd_tensor_zeros(cx, HD_F64, SHAPE(4, 3)));
    CHECK(hd_adamw(cx, 1, &slot, &o) == HD_EARG && strstr(cx->error.message, "[4, 3]"));
    hd_release(w);
    hd_release(g);
    hd_release(across);
    hd_release(m);
    hd_release(v);
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
    test_shapes();
    test_indices();
    test_assignment();
    test_reductions();
    test_reduction_corners();
    test_long_sums();
    test_matmul();
    test_creation();
    test_threads();
    test_adamw();
    CHECK(cx->account->live == 0);
    free_context(cx);
    return checks_done();
}
