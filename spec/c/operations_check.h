/* operations_check.h: an operation in every layout: its gradients, and what happens when its n-th allocation
 * fails, for all n: HD_ENOMEM, and not a byte left behind.
 */
#ifndef HD_OPERATIONS_CHECK_H
#define HD_OPERATIONS_CHECK_H

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
__attribute__((unused)) static void check_layouts(const char *name, hd_function f, const void *arg,
                                                  double low) {
    hd_tensor *x = parameter(HD_F64, SHAPE(3, 4));
    for (int64_t i = 0; i < hd_numel(x); i++) set(x, i, get(x, i) + low + 1);
    check(name, f, 1, &x, arg);
    hd_tensor *across = laid_across(x);
    check(name, f, 1, &across, arg);
    hd_release(across);
    hd_release(x);
}

/* Where the operation takes any shape. */
__attribute__((unused)) static void check_shapes(const char *name, hd_function f, const void *arg,
                                                 double low) {
    check_layouts(name, f, arg, low);
    hd_tensor *empty = parameter(HD_F64, SHAPE(0, 4));
    check(name, f, 1, &empty, arg);
    hd_release(empty);
    hd_tensor *scalar = parameter(HD_F64, 0, NULL);
    set(scalar, 0, low + 1.3);
    check(name, f, 1, &scalar, arg);
    hd_release(scalar);
}

__attribute__((unused)) static hd_tensor *bools(int ndim, const int64_t *shape, unsigned bits) {
    hd_tensor *t = hd_tensor_new(cx, HD_BOOL, ndim, shape);
    CHECK(t != NULL);
    for (int64_t i = 0; i < hd_numel(t); i++) set(t, i, bits >> i & 1);
    return t;
}

#endif
