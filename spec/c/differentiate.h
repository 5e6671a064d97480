/* differentiate.h: the gradients of an operation against central differences, in f64. */
#ifndef HD_DIFFERENTIATE_H
#define HD_DIFFERENTIATE_H

#include <math.h>
#include <string.h>

#include "check.h"
#include "kernels/gemm.h"
#include "ops/ops.h"

static hd_ctx *cx;

/* Makes the result from inputs; may draw from cx->rng, which starts alike at every call. */
typedef hd_tensor *(*hd_function)(hd_tensor *const *inputs, const void *arg);

#define SHAPE(...)                                                                                           \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) {                           \
        __VA_ARGS__                                                                                          \
    }

static hd_ctx *new_context(int threads) {
    hd_ctx *made = hd_ctx_new(threads);
    CHECK(made && !hd_kernels_init(made) && !hd_gemm_init(made));
    made->rng = (hd_rng){7, 0};
    return made;
}

static void free_context(hd_ctx *old) {
    hd_gemm_done(old);
    hd_ctx_free(old);
}

static uint64_t noise = 1;

/* Uniform in [-1, 1), another for every call. */
static double some(void) {
    return 2 * hd_draw_f64((hd_draw){99, 0}, noise++) - 1;
}

static double get(const hd_tensor *t, int64_t index) {
    int64_t at = t->offset;
    for (int d = t->ndim - 1; d >= 0; d--) {
        at += index % t->shape[d] * t->stride[d];
        index /= t->shape[d];
    }
    switch (t->dtype) {
    case HD_F32: return ((const float *)t->storage->data)[at];
    case HD_F64: return ((const double *)t->storage->data)[at];
    case HD_I64: return (double)((const int64_t *)t->storage->data)[at];
    default: return ((const uint8_t *)t->storage->data)[at];
    }
}

static void set(hd_tensor *t, int64_t index, double v) {
    int64_t at = t->offset;
    for (int d = t->ndim - 1; d >= 0; d--) {
        at += index % t->shape[d] * t->stride[d];
        index /= t->shape[d];
    }
    switch (t->dtype) {
    case HD_F32: ((float *)t->storage->data)[at] = (float)v; break;
    case HD_F64: ((double *)t->storage->data)[at] = v; break;
    case HD_I64: ((int64_t *)t->storage->data)[at] = (int64_t)v; break;
    default: ((uint8_t *)t->storage->data)[at] = (uint8_t)v;
    }
}

static hd_tensor *random_tensor(hd_dtype dtype, int ndim, const int64_t *shape) {
    hd_tensor *t = hd_tensor_new(cx, dtype, ndim, shape);
    CHECK(t != NULL);
    for (int64_t i = 0; i < hd_numel(t); i++) set(t, i, some());
    return t;
}

static hd_tensor *parameter(hd_dtype dtype, int ndim, const int64_t *shape) {
    hd_tensor *t = random_tensor(dtype, ndim, shape);
    t->requires_grad = true;
    return t;
}

/* Not every test uses it. */
__attribute__((unused)) static hd_tensor *integers(int ndim, const int64_t *shape, const int64_t *values) {
    hd_tensor *t = hd_tensor_new(cx, HD_I64, ndim, shape);
    CHECK(t != NULL);
    memcpy(hd_data(t), values, (size_t)hd_numel(t) * sizeof *values);
    return t;
}

/* The same values in memory where dimension dims 0 and 1 lie the other way round. */
__attribute__((unused)) static hd_tensor *laid_across(const hd_tensor *t) {
    int64_t shape[HD_MAX_DIMS], stride[HD_MAX_DIMS];
    memcpy(shape, t->shape, sizeof shape);
    shape[0] = t->shape[1];
    shape[1] = t->shape[0];
    hd_tensor *memory = hd_tensor_new(cx, (hd_dtype)t->dtype, t->ndim, shape);
    CHECK(memory != NULL);
    memcpy(stride, memory->stride, sizeof stride);
    stride[0] = memory->stride[1];
    stride[1] = memory->stride[0];
    hd_tensor *view = hd_tensor_view(cx, memory, t->ndim, t->shape, stride, 0);
    CHECK(view != NULL);
    for (int64_t i = 0; i < hd_numel(t); i++) set(view, i, get(t, i));
    hd_release(memory);
    view->requires_grad = t->requires_grad;
    return view;
}

static bool is_near(double a, double b, double tolerance) {
    return fabs(a - b) <= tolerance * (1 + fabs(a) + fabs(b));
}

static void clear_grad(hd_tensor *t) {
    hd_release(t->grad);
    t->grad = NULL;
}

static double weighted_sum(const hd_tensor *y, const hd_tensor *weights) {
    double sum = 0;
    for (int64_t i = 0; i < hd_numel(y); i++) sum += get(y, i) * get(weights, i);
    return sum;
}

static hd_tensor *call_anew(hd_function f, hd_tensor *const *inputs, const void *arg) {
    cx->rng = (hd_rng){7, 0};
    hd_tensor *y = f(inputs, arg);
    if (!y) printf("%s\n", cx->error.message);
    CHECK(y != NULL);
    return y;
}

static double moved(hd_function f, hd_tensor *const *inputs, const void *arg, const hd_tensor *weights,
                    hd_tensor *x, int64_t i, double step) {
    double before = get(x, i);
    set(x, i, before + step);
    hd_tensor *y = call_anew(f, inputs, arg);
    double sum = weighted_sum(y, weights);
    hd_release(y);
    set(x, i, before);
    return sum;
}

/* Each input that wants a gradient, at up to 60 of its elements. */
static void check_gradients(const char *name, hd_function f, int count, hd_tensor *const *inputs,
                            const void *arg) {
    hd_tensor *y = call_anew(f, inputs, arg);
    hd_tensor *weights = random_tensor(HD_F64, y->ndim, y->shape);
    hd_status status = hd_backward_run(cx, y, weights, false);
    if (status) printf("%s: %s\n", name, cx->error.message);
    CHECK(!status);
    hd_release(y);
    const double h = 1e-5;
    cx->grad_enabled = false;
    for (int n = 0; n < count; n++) {
        hd_tensor *x = inputs[n];
        if (!x || !x->requires_grad) continue;
        CHECK(hd_numel(x) == 0 || x->grad != NULL);
        for (int64_t i = 0, step = hd_numel(x) / 60 + 1; i < hd_numel(x); i += step) {
            double slope =
                (moved(f, inputs, arg, weights, x, i, h) - moved(f, inputs, arg, weights, x, i, -h)) /
                (2 * h);
            if (!is_near(slope, get(x->grad, i), 1e-6)) {
                printf("%s: input %d, element %d: difference %.9g, gradient %.9g\n", name, n, (int)i, slope,
                       get(x->grad, i));
                CHECK(0);
            }
            checks_passed++;
        }
        clear_grad(x);
    }
    cx->grad_enabled = true;
    hd_release(weights);
}

static void release_inputs(int count, hd_tensor **inputs) {
    for (int i = 0; i < count; i++) hd_release(inputs[i]);
}

#endif
