/* Reductions: over all elements, one dimension or a list; keepdim as third argument or option. */
#include <limits.h>

#include "lua/runtime/check.h"

typedef struct over {
    hd_tensor *t;
    uint32_t dims;
    bool keepdim;
} over;

static bool keepdim_of(hd_call *c, int index) {
    char text[HD_VALUE_TEXT];
    if (index <= c->top && hd_is_number(c, index))
        hd_arg_error(c, "keepdim", "expected a boolean, got %s; several dimensions are a table: {1, 2}",
                     hd_value_text(c, index, text));
    return hd_opt_boolean(c, hd_or_option(c, index, "keepdim"), "keepdim", false);
}

static over read_over(hd_call *c, const char *options) {
    hd_take_any_options(c, options);
    hd_no_more(c, 3);
    over o = {.t = hd_arg_tensor(c, 1, "t")};
    o.dims = hd_opt_dims(c, hd_or_option(c, 2, "dim"), "dim", o.t->ndim);
    o.keepdim = keepdim_of(c, 3);
    return o;
}

static int sum(lua_State *L) {
    hd_call c = hd_enter(L, "sum");
    over o = read_over(&c, "dim keepdim");
    return hd_return(&c, hd_reduce(c.cx, HD_SUM, o.t, o.dims, o.keepdim));
}

static int prod(lua_State *L) {
    hd_call c = hd_enter(L, "prod");
    over o = read_over(&c, "dim keepdim");
    return hd_return(&c, hd_reduce(c.cx, HD_PROD, o.t, o.dims, o.keepdim));
}

static int mean(lua_State *L) {
    hd_call c = hd_enter(L, "mean");
    over o = read_over(&c, "dim keepdim");
    return hd_return(&c, hd_mean(c.cx, o.t, o.dims, o.keepdim));
}

static int correction_of(hd_call *c) {
    int64_t correction = hd_option_integer(c, "correction", 1);
    if (correction < 0 || correction > INT_MAX)
        hd_arg_error(c, "correction", "expected 0 or more, got %lld", (long long)correction);
    return (int)correction;
}

static int var(lua_State *L) {
    hd_call c = hd_enter(L, "var");
    over o = read_over(&c, "dim keepdim correction");
    return hd_return(&c, hd_var(c.cx, o.t, o.dims, o.keepdim, correction_of(&c)));
}

static int std(lua_State *L) {
    hd_call c = hd_enter(L, "std");
    over o = read_over(&c, "dim keepdim correction");
    return hd_return(&c, hd_std(c.cx, o.t, o.dims, o.keepdim, correction_of(&c)));
}

static int logsumexp(lua_State *L) {
    hd_call c = hd_enter(L, "logsumexp");
    over o = read_over(&c, "dim keepdim");
    return hd_return(&c, hd_logsumexp(c.cx, o.t, o.dims, o.keepdim));
}

/* norm({p = 2, dim = , keepdim = }) */
static int norm(lua_State *L) {
    hd_call c = hd_enter(L, "norm");
    hd_take_any_options(&c, "p dim keepdim");
    hd_no_more(&c, 4);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    double p = hd_opt_number(&c, hd_or_option(&c, 2, "p"), "p", 2);
    uint32_t dims = hd_opt_dims(&c, hd_or_option(&c, 3, "dim"), "dim", t->ndim);
    if (p != p) hd_arg_error(&c, "p", "expected a number, got nan");
    return hd_return(&c, hd_norm(c.cx, t, p, dims, keepdim_of(&c, 4)));
}

/* Without a dimension a Lua boolean, else a bool tensor. */
static int truth(lua_State *L, const char *name, hd_reduction op) {
    hd_call c = hd_enter(L, name);
    over o = read_over(&c, "dim keepdim");
    hd_tensor *answer = hd_reduce(c.cx, op, o.t, o.dims, o.keepdim);
    if (o.dims != HD_ALL_DIMS || !answer) return hd_return(&c, answer);
    lua_pushboolean(L, hd_element(answer, answer->offset) != 0);
    hd_release(answer);
    return 1;
}

static int all(lua_State *L) {
    return truth(L, "all", HD_ALL);
}
static int any(lua_State *L) {
    return truth(L, "any", HD_ANY);
}

/* amax(dim, keepdim), amin: values alone, over any dimensions. */
static int amax(lua_State *L) {
    hd_call c = hd_enter(L, "amax");
    over o = read_over(&c, "dim keepdim");
    return hd_return(&c, hd_reduce(c.cx, HD_MAX, o.t, o.dims, o.keepdim));
}
static int amin(lua_State *L) {
    hd_call c = hd_enter(L, "amin");
    over o = read_over(&c, "dim keepdim");
    return hd_return(&c, hd_reduce(c.cx, HD_MIN, o.t, o.dims, o.keepdim));
}

/* ---- largest and smallest ---------------------------------------------------------------- */

/* max(): the largest of all; max(dim): values and indices (from 1), the first of equals. */
static int extreme(lua_State *L, const char *name, bool smallest) {
    hd_call c = hd_enter(L, name);
    hd_take_any_options(&c, "dim keepdim");
    hd_no_more(&c, 3);
    int at = hd_or_option(&c, 2, "dim");
    if (!at)
        return hd_return(
            &c, hd_reduce(c.cx, smallest ? HD_MIN : HD_MAX, hd_arg_tensor(&c, 1, "t"), HD_ALL_DIMS, false));
    if (hd_to_handle(L, c.h, at))
        hd_arg_error(&c, "dim", "expected a dimension; of two tensors elementwise: %s(a, b)",
                     smallest ? "minimum" : "maximum");
    hd_handle *second = hd_push_handle(&c);
    int second_slot = lua_gettop(L);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t"), *values = NULL, *indices = NULL;
    int dim = hd_arg_dim(&c, at, "dim", t->ndim);
    bool keepdim = keepdim_of(&c, 3);
    hd_set_modes(&c);
    hd_status status = hd_max_dim(c.cx, t, dim, keepdim, smallest, &values, &indices);
    return hd_return_pair(&c, second, second_slot, status, values, indices);
}

static int max(lua_State *L) {
    return extreme(L, "max", false);
}
static int min(lua_State *L) {
    return extreme(L, "min", true);
}

static int arg_extreme(lua_State *L, const char *name, bool smallest) {
    hd_call c = hd_enter(L, name);
    hd_take_any_options(&c, "dim keepdim");
    hd_no_more(&c, 3);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    int dim = hd_opt_dim(&c, hd_or_option(&c, 2, "dim"), "dim", t->ndim, INT_MIN);
    return hd_return(&c, hd_argmax(c.cx, t, dim, keepdim_of(&c, 3), smallest));
}

static int argmax(lua_State *L) {
    return arg_extreme(L, "argmax", false);
}
static int argmin(lua_State *L) {
    return arg_extreme(L, "argmin", true);
}

/* ---- running sums, products and extremes --------------------------------------------------------------- */

static int cumsum(lua_State *L) {
    hd_call c = hd_enter(L, "cumsum");
    hd_take_any_options(&c, "dim");
    hd_no_more(&c, 2);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    return hd_return(&c, hd_cumsum(c.cx, t, hd_arg_dim(&c, hd_or_option(&c, 2, "dim"), "dim", t->ndim)));
}

static int cumprod(lua_State *L) {
    hd_call c = hd_enter(L, "cumprod");
    hd_take_any_options(&c, "dim");
    hd_no_more(&c, 2);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    return hd_return(&c, hd_cumprod(c.cx, t, hd_arg_dim(&c, hd_or_option(&c, 2, "dim"), "dim", t->ndim)));
}

/* Values and indices, the last of equals. */
static int running_extreme(lua_State *L, const char *name, bool smallest) {
    hd_call c = hd_enter(L, name);
    hd_take_any_options(&c, "dim");
    hd_no_more(&c, 2);
    hd_handle *second = hd_push_handle(&c);
    int second_slot = lua_gettop(L);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t"), *values = NULL, *indices = NULL;
    int dim = hd_arg_dim(&c, hd_or_option(&c, 2, "dim"), "dim", t->ndim);
    hd_set_modes(&c);
    hd_status status = hd_cummax(c.cx, t, dim, smallest, &values, &indices);
    return hd_return_pair(&c, second, second_slot, status, values, indices);
}

static int cummax(lua_State *L) {
    return running_extreme(L, "cummax", false);
}
static int cummin(lua_State *L) {
    return running_extreme(L, "cummin", true);
}

static const hd_function functions[] = {
    {"sum", sum, HD_BOTH},         {"prod", prod, HD_BOTH},
    {"mean", mean, HD_BOTH},       {"var", var, HD_BOTH},
    {"std", std, HD_BOTH},         {"logsumexp", logsumexp, HD_BOTH},
    {"norm", norm, HD_BOTH},       {"all", all, HD_BOTH},
    {"any", any, HD_BOTH},         {"amax", amax, HD_BOTH},
    {"amin", amin, HD_BOTH},       {"max", max, HD_BOTH},
    {"min", min, HD_BOTH},         {"argmax", argmax, HD_BOTH},
    {"argmin", argmin, HD_BOTH},   {"cumsum", cumsum, HD_BOTH},
    {"cumprod", cumprod, HD_BOTH}, {"cummax", cummax, HD_BOTH},
    {"cummin", cummin, HD_BOTH},   {NULL, NULL, 0},
};

void hd_register_reduce(hd_registrar *r) {
    hd_define(r, functions);
}
