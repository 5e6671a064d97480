/* ops_reduce_test.c: reductions, products, creation, the optimiser. */
#include <limits.h>

#include "operations_check.h"

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
    return hd_norm(cx, in[0], 2, HD_ALL_DIMS, false);
}
static hd_tensor *cumsum(hd_tensor *const *in, const void *arg) {
    return hd_cumsum(cx, in[0], *(const int *)arg);
}
static hd_tensor *cumprod(hd_tensor *const *in, const void *arg) {
    return hd_cumprod(cx, in[0], *(const int *)arg);
}
static hd_tensor *cummax(hd_tensor *const *in, const void *arg) {
    hd_tensor *values, *indices;
    if (hd_cummax(cx, in[0], *(const int *)arg, false, &values, &indices)) return NULL;
    hd_release(indices);
    return values;
}
static hd_tensor *median_of_all(hd_tensor *const *in, const void *unused) {
    (void)unused;
    return hd_median(cx, in[0]);
}
static hd_tensor *median(hd_tensor *const *in, const void *arg) {
    hd_tensor *values, *indices;
    if (hd_median_dim(cx, in[0], *(const int *)arg, false, &values, &indices)) return NULL;
    hd_release(indices);
    return values;
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
    for (int dim = 0; dim < 2; dim++) {
        check_layouts("cumprod", cumprod, &dim, -1);
        check_layouts("cummax", cummax, &dim, -1);
        check_layouts("median", median, &dim, -1);
    }
    check_layouts("median", median_of_all, NULL, -1);
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
    y = hd_norm(cx, x, 2, HD_ALL_DIMS, false);
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

static hd_tensor *cdist(hd_tensor *const *in, const void *arg) {
    return hd_cdist(cx, in[0], in[1], *(const double *)arg);
}
static void test_cdist(void) {
    static const double powers[] = {1, 2, 3};
    for (int i = 0; i < 3; i++) {
        hd_tensor *in[] = {parameter(HD_F64, SHAPE(2, 3, 4)), parameter(HD_F64, SHAPE(5, 4))};
        check("cdist", cdist, 2, in, &powers[i]);
        release_inputs(2, in);
    }
}

static hd_tensor *rfft(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_rfft(cx, in[0]);
}
static void test_rfft(void) {
    static const int64_t lengths[] = {1, 2, 12, 15, 14};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        hd_tensor *in[] = {parameter(HD_F64, SHAPE(3, lengths[i]))};
        check("rfft", rfft, 1, in, NULL);
        release_inputs(1, in);
    }
}

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
          !strcmp(cx->error.message, "b: expected 3 rows, as a [2, 3] has columns, got [4, 5]"));
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
    CHECK(!hd_full(cx, HD_U8, SHAPE(1), hd_scalar_i(256)) &&
          !strcmp(cx->error.message, "value: expected a number that u8 can hold, got 256"));
    CHECK(!hd_full(cx, HD_I32, SHAPE(1), hd_scalar_i(INT64_C(1) << 31)) &&
          !hd_full(cx, HD_F16, SHAPE(1), hd_scalar_f(65520)) &&
          !hd_full(cx, HD_U8, SHAPE(1), hd_scalar_f(0.5)));
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
    hd_optim_options o = {.kind = HD_ADAMW, .lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8};
    o.weight_decay = 0.01;
    o.grad_scale = 0.5;
    hd_optim_slot slot = {w, across, m, v, NULL, 1, &o};
    double before = get(w, 5), slope = 0.5 * get(g, 5);
    uint32_t version = w->storage->version;
    CHECK(!hd_optim_step(cx, 1, &slot) && w->storage->version == version + 1);
    CHECK(is_near(get(m, 5), 0.1 * slope, 1e-12) && is_near(get(v, 5), 0.01 * slope * slope, 1e-12));
    CHECK(is_near(get(w, 5), before * (1 - 0.1 * 0.01) - 0.1 * (slope > 0 ? 1 : -1), 1e-6));
    CHECK(!hd_scale_all(cx, 1, &across, 3) && is_near(get(across, 5), 6 * slope, 1e-12));
    int64_t live = cx->account->live;
    for (int n = 1;; n++) {
        cx->account->fail_at = n;
        hd_status status = hd_optim_step(cx, 1, &slot);
        cx->account->fail_at = 0;
        CHECK(cx->account->live == live);
        if (!status) break;
        CHECK(status == HD_ENOMEM && n < 20);
    }
    hd_tensor *other_shape = slot.g = hd_tensor_zeros(cx, HD_F64, SHAPE(4, 3));
    CHECK(hd_optim_step(cx, 1, &slot) == HD_EARG && strstr(cx->error.message, "[4, 3]"));
    hd_release(other_shape);
    hd_release(w);
    hd_release(g);
    hd_release(across);
    hd_release(m);
    hd_release(v);
}

int main(void) {
    cx = new_context(2);
    cx->grad_enabled = true;
    test_reductions();
    test_reduction_corners();
    test_long_sums();
    test_cdist();
    test_rfft();
    test_matmul();
    test_creation();
    test_threads();
    test_adamw();
    CHECK(cx->account->live == 0);
    free_context(cx);
    return checks_done();
}
