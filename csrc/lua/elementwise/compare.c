/* Comparisons whose answer is a Lua boolean, and < and <=, which Lua would turn into one. */
#include <math.h>

#include "base/parallel.h"
#include "lua/runtime/check.h"

/* Lua turns a > b into b < a. */
static int no_order(lua_State *L, const char *name, const char *methods) {
    hd_call c = hd_begin(L, name);
    return hd_arg_error(&c, NULL, "tensors are compared elementwise, by %s", methods);
}

static int no_less(lua_State *L) {
    return no_order(L, "a < b", "a:lt(b), and a > b by a:gt(b)");
}
static int no_less_or_equal(lua_State *L) {
    return no_order(L, "a <= b", "a:le(b), and a >= b by a:ge(b)");
}

static bool all_true(hd_call *c, hd_tensor *comparison) {
    hd_tensor *all = comparison ? hd_reduce(c->cx, HD_ALL, comparison, HD_ALL_DIMS, false) : NULL;
    bool answer = all && hd_element(all, all->offset) != 0;
    hd_release(comparison);
    hd_release(all);
    if (!all) hd_raise(c);
    return answer;
}

/* As tensors that compare: f16 and bf16 converted. A new reference. */
static hd_tensor *comparable(hd_call *c, hd_tensor *t) {
    return hd_cast(c->cx, t, hd_dtype_of_gradient((hd_dtype)t->dtype));
}

static bool same_elements(hd_call *c, hd_tensor *a, hd_tensor *b) {
    hd_tensor *x = comparable(c, a), *y = x ? comparable(c, b) : NULL;
    hd_tensor *equal = y ? hd_binary_op(c->cx, HD_EQ, x, y) : NULL;
    hd_release(x);
    hd_release(y);
    return all_true(c, equal);
}

/* equal(a, b): the same shape and the same values. */
static int equal(lua_State *L) {
    hd_call c = hd_begin(L, "equal");
    hd_no_more(&c, 2);
    hd_tensor *a = hd_arg_tensor(&c, 1, "a"), *b = hd_arg_tensor(&c, 2, "b");
    c.cx->grad_enabled = false;
    lua_pushboolean(L, hd_same_shape(a, b) && same_elements(&c, a, b));
    hd_check_losses(&c);
    return 1;
}

typedef struct tolerance {
    double relative, absolute;
    bool equal_nan;
    hd_ctx *cx;
    hd_status status; /* not HD_OK: it was cancelled */
} tolerance;

static bool is_close(double a, double b, const tolerance *t) {
    if (isnan(a) || isnan(b)) return t->equal_nan && isnan(a) && isnan(b);
    return a == b || (isfinite(a) && isfinite(b) && fabs(a - b) <= t->absolute + t->relative * fabs(b));
}

static bool is_whole(const hd_tensor *t) {
    return !hd_dtype_is_float((hd_dtype)t->dtype);
}

static int64_t whole_element(const hd_tensor *t, int64_t position) {
    return t->dtype == HD_I64 ? ((const int64_t *)t->storage->data)[position]
                              : (int64_t)hd_element(t, position);
}

/* Their distance is exact; f64 is only what it is measured by. */
static bool are_close_integers(int64_t a, int64_t b, const tolerance *t) {
    uint64_t apart = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
    return apart == 0 || (double)apart <= t->absolute + t->relative * fabs((double)b);
}

static bool is_close_at(const hd_tensor *a, int64_t pa, const hd_tensor *b, int64_t pb, const tolerance *t) {
    if (is_whole(a) && is_whole(b)) return are_close_integers(whole_element(a, pa), whole_element(b, pb), t);
    return is_close(hd_element(a, pa), hd_element(b, pb), t);
}

static bool all_close(const hd_tensor *a, const int64_t *sa, int64_t pa, const hd_tensor *b,
                      const int64_t *sb, int64_t pb, int ndim, const int64_t *shape, tolerance *t) {
    if (ndim == 0) return is_close_at(a, pa, b, pb, t);
    for (int64_t i = 0; i < shape[0]; i++) {
        if ((t->status = hd_check_cancel(t->cx, i))) return false;
        if (!all_close(a, sa + 1, pa + i * sa[0], b, sb + 1, pb + i * sb[0], ndim - 1, shape + 1, t))
            return false;
    }
    return true;
}

/* allclose(a, b, {rtol = 1e-5, atol = 1e-8, equal_nan = false}): |a - b| <= atol + rtol |b| everywhere,
 * broadcasting. */
static int allclose(lua_State *L) {
    hd_call c = hd_begin(L, "allclose");
    hd_take_options(&c, "rtol atol equal_nan");
    hd_tensor *a = hd_arg_tensor(&c, 1, "a"), *b = hd_arg_tensor(&c, 2, "b");
    if (hd_given(&c, 3) && lua_type(L, 3) != LUA_TTABLE)
        hd_arg_expected(&c, 3, "options", "{rtol = ..., atol = ..., equal_nan = ...}");
    hd_no_more(&c, 3);
    for (int i = 1; i <= 2; i++) {
        hd_dtype dtype = (hd_dtype)hd_arg_tensor(&c, i, i == 1 ? "a" : "b")->dtype;
        if (hd_dtype_is_half(dtype))
            hd_arg_error(&c, i == 1 ? "a" : "b",
                         "dtype: %s is for storing, not for computing; convert it: t:to \"f32\"",
                         hd_dtype_name(dtype));
    }
    tolerance t = {hd_option_number(&c, "rtol", 1e-5), hd_option_number(&c, "atol", 1e-8),
                   hd_option_boolean(&c, "equal_nan", false), c.cx, HD_OK};
    int ndim;
    int64_t shape[HD_MAX_DIMS], sa[HD_MAX_DIMS], sb[HD_MAX_DIMS];
    hd_try(&c, hd_broadcast_shape(c.cx, a, b, &ndim, shape));
    hd_broadcast_strides(a, ndim, shape, sa);
    hd_broadcast_strides(b, ndim, shape, sb);
    bool close = all_close(a, sa, a->offset, b, sb, b->offset, ndim, shape, &t);
    hd_try(&c, t.status);
    hd_check_losses(&c);
    lua_pushboolean(L, close);
    return 1;
}

static const hd_function functions[] = {
    {"equal", equal, HD_BOTH},
    {"allclose", allclose, HD_BOTH},
    {NULL, NULL, 0},
};

void hd_register_compare(hd_registrar *r) {
    hd_define(r, functions);
    hd_define_meta(r, r->tensor, "__lt", no_less, NULL);
    hd_define_meta(r, r->tensor, "__le", no_less_or_equal, NULL);
}
