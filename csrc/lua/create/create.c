/* Making tensors. */
#include "lua/runtime/check.h"
#include "lua/runtime/property.h"

#include <string.h>

static hd_dtype float_option(hd_call *c) {
    hd_dtype dtype = hd_option_dtype(c, HD_F32);
    if (!hd_dtype_is_float(dtype))
        hd_arg_error(c, "dtype", "expected a floating-point dtype, got \"%s\"", hd_dtype_name(dtype));
    return dtype;
}

/* Returns t, as a leaf that wants a gradient when the option says so. */
static int finish(hd_call *c, hd_tensor *t) {
    if (!t) return hd_return(c, t);
    c->out->t = t;
    if (hd_option_boolean(c, "requires_grad", false)) hd_set_requires_grad(c, c->out, true);
    lua_settop(c->L, c->slot);
    return 1;
}

/* ---- from values ------------------------------------------------------------------------- */

static int copy_of_tensor(hd_call *c, bool has_dtype, hd_dtype dtype) {
    hd_tensor *t = hd_arg_tensor(c, 1, "values");
    c->cx->grad_enabled = false;
    hd_tensor *copy = has_dtype && dtype != t->dtype ? hd_cast(c->cx, t, dtype) : hd_clone(c->cx, t);
    return finish(c, copy);
}

static int from_values(hd_call *c, bool has_dtype, hd_dtype dtype) {
    lua_State *L = c->L;
    if (hd_given(c, 1) && hd_to_handle(L, c->h, 1)) return copy_of_tensor(c, has_dtype, dtype);
    int type = hd_given(c, 1) ? lua_type(L, 1) : LUA_TNIL;
    if (type != LUA_TTABLE && type != LUA_TNUMBER && type != LUA_TBOOLEAN)
        hd_arg_expected(c, 1, "values", "nested tables of numbers or booleans");
    hd_handle *made = hd_push_nested(c, 1, "values", has_dtype, dtype);
    hd_tensor *t = made->t;
    made->t = NULL;
    return finish(c, t);
}

/* Options are a table of names: a dtype alone in their place would be passed over. An empty table is fine. */
static void expect_options_at(hd_call *c, int index, const char *example) {
    if (!hd_given(c, index)) return;
    if (lua_type(c->L, index) == LUA_TTABLE) {
        lua_pushnil(c->L);
        if (!lua_next(c->L, index)) return;
        lua_pop(c->L, 2);
    }
    hd_arg_expected(c, index, "options", example);
}

static int tensor(lua_State *L) {
    hd_call c = hd_enter(L, "tensor");
    if (c.top > 1) hd_take_options(&c, "dtype requires_grad");
    expect_options_at(&c, 2, "{dtype = ..., requires_grad = ...}");
    hd_no_more(&c, 2);
    return from_values(&c, hd_option(&c, "dtype") != 0, hd_option_dtype(&c, HD_F32));
}

static int ids(lua_State *L) {
    hd_call c = hd_enter(L, "ids");
    if (hd_given(&c, 2)) hd_arg_expected(&c, 2, "options", "nothing after the values: ids are i64");
    hd_no_more(&c, 1);
    return from_values(&c, true, HD_I64);
}

static int frombytes(lua_State *L) {
    hd_call c = hd_enter(L, "frombytes");
    size_t length;
    if (!hd_given(&c, 1) || lua_type(L, 1) != LUA_TSTRING) hd_arg_expected(&c, 1, "bytes", "a string");
    const char *bytes = lua_tolstring(L, 1, &length);
    hd_dtype dtype = hd_arg_dtype(&c, 2, "dtype");
    hd_shape shape = {.ndim = 1, .size = {(int64_t)(length / hd_dtype_size(dtype))}};
    if (hd_given(&c, 3)) shape = hd_arg_shape(&c, 3, false);
    int64_t count;
    hd_try(&c, hd_check_shape(c.cx, dtype, shape.ndim, shape.size, &count));
    if ((size_t)count * hd_dtype_size(dtype) != length)
        hd_arg_error(&c, "bytes", "expected %lld bytes for %s, got %zu",
                     (long long)count * (long long)hd_dtype_size(dtype), hd_dtype_name(dtype), length);
    hd_tensor *t = hd_tensor_new(c.cx, dtype, shape.ndim, shape.size);
    if (t && length) memcpy(hd_data(t), bytes, length);
    if (t && dtype == HD_BOOL)
        for (size_t i = 0; i < length; i++) ((uint8_t *)hd_data(t))[i] = bytes[i] != 0;
    return hd_return(&c, t);
}

/* ---- of a shape -------------------------------------------------------------------------- */

#define MAKE_OPTIONS "dtype requires_grad"
#define DRAW_OPTIONS "dtype requires_grad generator"

static int filled(lua_State *L, const char *name, int value) {
    hd_call c = hd_enter(L, name);
    hd_take_options(&c, MAKE_OPTIONS);
    hd_shape shape = hd_arg_shape(&c, 1, false);
    hd_dtype dtype = hd_option_dtype(&c, HD_F32);
    if (value == 0) return finish(&c, hd_tensor_zeros(c.cx, dtype, shape.ndim, shape.size));
    return finish(&c, hd_full(c.cx, dtype, shape.ndim, shape.size, hd_scalar_i(value)));
}

static int zeros(lua_State *L) {
    return filled(L, "zeros", 0);
}
static int ones(lua_State *L) {
    return filled(L, "ones", 1);
}

/* Memory as it comes, but not with what another Lua state of the process has left in it. */
static hd_tensor *uncleared(hd_call *c, hd_dtype dtype, int ndim, const int64_t *shape) {
    return hd_ctx_is_alone() ? hd_tensor_new(c->cx, dtype, ndim, shape)
                             : hd_tensor_zeros(c->cx, dtype, ndim, shape);
}

static int empty(lua_State *L) {
    hd_call c = hd_enter(L, "empty");
    hd_take_options(&c, MAKE_OPTIONS);
    hd_shape shape = hd_arg_shape(&c, 1, false);
    return finish(&c, uncleared(&c, hd_option_dtype(&c, HD_F32), shape.ndim, shape.size));
}

static hd_dtype dtype_of_value(hd_call *c, int index) {
    return lua_isboolean(c->L, index) ? HD_BOOL : HD_F32;
}

static int full(lua_State *L) {
    hd_call c = hd_enter(L, "full");
    hd_take_options(&c, MAKE_OPTIONS);
    hd_no_more(&c, 2);
    hd_scalar value = hd_arg_scalar(&c, 2, "value");
    hd_dtype dtype = hd_option_dtype(&c, dtype_of_value(&c, 2));
    int top = c.top;
    c.top = 1;
    hd_shape shape = hd_arg_shape(&c, 1, false);
    c.top = top;
    return finish(&c, hd_full(c.cx, dtype, shape.ndim, shape.size, value));
}

static int eye(lua_State *L) {
    hd_call c = hd_enter(L, "eye");
    hd_take_options(&c, MAKE_OPTIONS);
    hd_no_more(&c, 2);
    int64_t n = hd_arg_integer(&c, 1, "n"), m = hd_opt_integer(&c, 2, "m", n);
    if (n < 0 || m < 0)
        hd_arg_error(&c, n < 0 ? "n" : "m", "expected a size of 0 or more, got %lld",
                     (long long)(n < 0 ? n : m));
    return finish(&c, hd_eye(c.cx, hd_option_dtype(&c, HD_F32), n, m));
}

static int range(lua_State *L) {
    hd_call c = hd_enter(L, "range");
    hd_take_options(&c, MAKE_OPTIONS);
    hd_no_more(&c, 3);
    hd_scalar first = hd_arg_scalar(&c, 1, "first"), last = hd_arg_scalar(&c, 2, "last");
    hd_scalar step = hd_given(&c, 3) ? hd_arg_scalar(&c, 3, "step") : hd_scalar_i(1);
    if (step.f == 0) hd_arg_error(&c, "step", "expected a step that is not 0");
    return finish(&c, hd_range(c.cx, hd_option_dtype(&c, HD_F32), first, last, step));
}

/* linspace(first, last, count) */
static int linspace(lua_State *L) {
    hd_call c = hd_enter(L, "linspace");
    hd_take_options(&c, MAKE_OPTIONS);
    hd_no_more(&c, 3);
    double first = hd_arg_number(&c, 1, "first"), last = hd_arg_number(&c, 2, "last");
    int64_t count = hd_arg_integer(&c, 3, "count");
    if (count < 0) hd_arg_error(&c, "count", "expected an integer of at least 0, got %lld", (long long)count);
    return finish(&c, hd_linspace(c.cx, hd_option_dtype(&c, HD_F32), first, last, count));
}

static int rand_(lua_State *L) {
    hd_call c = hd_enter(L, "rand");
    hd_take_options(&c, DRAW_OPTIONS);
    hd_shape shape = hd_arg_shape(&c, 1, false);
    return finish(&c, hd_rand(c.cx, hd_option_generator(&c), float_option(&c), shape.ndim, shape.size));
}

static int randn(lua_State *L) {
    hd_call c = hd_enter(L, "randn");
    hd_take_options(&c, DRAW_OPTIONS);
    hd_shape shape = hd_arg_shape(&c, 1, false);
    return finish(&c, hd_randn(c.cx, hd_option_generator(&c), float_option(&c), shape.ndim, shape.size));
}

static int randint(lua_State *L) {
    hd_call c = hd_enter(L, "randint");
    hd_take_options(&c, "generator");
    int64_t low = hd_arg_integer(&c, 1, "low"), high = hd_arg_integer(&c, 2, "high");
    if (low > high)
        hd_arg_error(&c, "high", "expected at least low = %lld, got %lld", (long long)low, (long long)high);
    hd_shape shape = hd_arg_shape(&c, 3, false);
    return finish(&c, hd_randint(c.cx, hd_option_generator(&c), low, high, shape.ndim, shape.size));
}

static int randperm(lua_State *L) {
    hd_call c = hd_enter(L, "randperm");
    hd_take_options(&c, "generator");
    hd_no_more(&c, 1);
    int64_t n = hd_arg_integer(&c, 1, "n");
    if (n < 0) hd_arg_error(&c, "n", "expected a size of 0 or more, got %lld", (long long)n);
    return finish(&c, hd_randperm(c.cx, hd_option_generator(&c), n));
}

/* ---- like another ------------------------------------------------------------------------ */

/* The tensor at index 1; its options come after `count` arguments. */
static hd_tensor *like(hd_call *c, const char *options, int count, hd_dtype *dtype) {
    hd_take_options(c, options);
    hd_tensor *t = hd_arg_tensor(c, 1, "t");
    expect_options_at(c, count + 1, "{dtype = ...}");
    hd_no_more(c, count + 1);
    *dtype = hd_option_dtype(c, (hd_dtype)t->dtype);
    return t;
}

static int zeros_like(lua_State *L) {
    hd_call c = hd_enter(L, "zeros_like");
    hd_dtype dtype;
    hd_tensor *t = like(&c, MAKE_OPTIONS, 1, &dtype);
    return finish(&c, hd_tensor_zeros(c.cx, dtype, t->ndim, t->shape));
}

static int ones_like(lua_State *L) {
    hd_call c = hd_enter(L, "ones_like");
    hd_dtype dtype;
    hd_tensor *t = like(&c, MAKE_OPTIONS, 1, &dtype);
    return finish(&c, hd_full(c.cx, dtype, t->ndim, t->shape, hd_scalar_i(1)));
}

static int empty_like(lua_State *L) {
    hd_call c = hd_enter(L, "empty_like");
    hd_dtype dtype;
    hd_tensor *t = like(&c, MAKE_OPTIONS, 1, &dtype);
    return finish(&c, uncleared(&c, dtype, t->ndim, t->shape));
}

static int full_like(lua_State *L) {
    hd_call c = hd_enter(L, "full_like");
    hd_dtype dtype;
    hd_tensor *t = like(&c, MAKE_OPTIONS, 2, &dtype);
    return finish(&c, hd_full(c.cx, dtype, t->ndim, t->shape, hd_arg_scalar(&c, 2, "value")));
}

static int rand_like(lua_State *L) {
    hd_call c = hd_enter(L, "rand_like");
    hd_dtype dtype;
    hd_tensor *t = like(&c, DRAW_OPTIONS, 1, &dtype);
    return finish(&c, hd_rand(c.cx, hd_option_generator(&c), dtype, t->ndim, t->shape));
}

static int randn_like(lua_State *L) {
    hd_call c = hd_enter(L, "randn_like");
    hd_dtype dtype;
    hd_tensor *t = like(&c, DRAW_OPTIONS, 1, &dtype);
    return finish(&c, hd_randn(c.cx, hd_option_generator(&c), dtype, t->ndim, t->shape));
}

static const hd_function functions[] = {
    {"tensor", tensor, HD_MODULE},
    {"ids", ids, HD_MODULE},
    {"frombytes", frombytes, HD_MODULE},
    {"zeros", zeros, HD_MODULE},
    {"ones", ones, HD_MODULE},
    {"empty", empty, HD_MODULE},
    {"full", full, HD_MODULE},
    {"eye", eye, HD_MODULE},
    {"linspace", linspace, HD_MODULE},
    {"range", range, HD_MODULE},
    {"rand", rand_, HD_MODULE},
    {"randn", randn, HD_MODULE},
    {"randint", randint, HD_MODULE},
    {"randperm", randperm, HD_MODULE},
    {"zeros_like", zeros_like, HD_BOTH},
    {"ones_like", ones_like, HD_BOTH},
    {"empty_like", empty_like, HD_BOTH},
    {"full_like", full_like, HD_BOTH},
    {"rand_like", rand_like, HD_BOTH},
    {"randn_like", randn_like, HD_BOTH},
    {NULL, NULL, 0},
};

void hd_register_create(hd_registrar *r) {
    hd_define(r, functions);
}
