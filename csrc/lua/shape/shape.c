/* Shapes: views where possible; joins and copies. */
#include "lua/runtime/check.h"
#include "ops/product/quantized.h"

/* ---- new sizes --------------------------------------------------------------------------- */

static int view(lua_State *L) {
    hd_call c = hd_enter(L, "view");
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    hd_shape shape = hd_arg_shape(&c, 2, true);
    return hd_return(&c, hd_view(c.cx, t, shape.ndim, shape.size));
}

static int reshape(lua_State *L) {
    hd_call c = hd_enter(L, "reshape");
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    hd_shape shape = hd_arg_shape(&c, 2, true);
    return hd_return(&c, hd_reshape(c.cx, t, shape.ndim, shape.size));
}

static int expand(lua_State *L) {
    hd_call c = hd_enter(L, "expand");
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    hd_shape shape = hd_arg_shape(&c, 2, true);
    return hd_return(&c, hd_expand(c.cx, t, shape.ndim, shape.size));
}

/* flatten(first = 1, last = -1): these dimensions become one. */
static int flatten(lua_State *L) {
    hd_call c = hd_enter(L, "flatten");
    hd_no_more(&c, 3);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    int first = hd_opt_dim(&c, 2, "first", t->ndim, 0),
        last = t->ndim ? hd_opt_dim(&c, 3, "last", t->ndim, t->ndim - 1) : -1;
    if (t->ndim > 0 && first > last)
        hd_arg_error(&c, "last", "expected a dimension from %d on, got %d", first + 1, last + 1);
    hd_shape shape = {0};
    for (int i = 0; i < first; i++) shape.size[shape.ndim++] = t->shape[i];
    int64_t joined = 1;
    for (int i = first; i <= last && i < t->ndim; i++) joined *= t->shape[i];
    shape.size[shape.ndim++] = joined;
    for (int i = last + 1; i < t->ndim; i++) shape.size[shape.ndim++] = t->shape[i];
    return hd_return(&c, hd_reshape(c.cx, t, shape.ndim, shape.size));
}

static int squeeze(lua_State *L) {
    hd_call c = hd_enter(L, "squeeze");
    hd_no_more(&c, 2);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    return hd_return(&c, hd_squeeze_dims(c.cx, t, hd_opt_dims(&c, 2, "dims", t->ndim)));
}

static int unsqueeze(lua_State *L) {
    hd_call c = hd_enter(L, "unsqueeze");
    hd_no_more(&c, 2);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    return hd_return(&c, hd_unsqueeze(c.cx, t, hd_arg_dim(&c, 2, "dim", t->ndim + 1)));
}

/* unfold(dim, size, step): windows along dim, their elements along a new last dimension. */
static int unfold(lua_State *L) {
    hd_call c = hd_enter(L, "unfold");
    hd_no_more(&c, 4);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    int dim = hd_arg_dim(&c, 2, "dim", t->ndim);
    int64_t size = hd_arg_integer(&c, 3, "size"), step = hd_arg_integer(&c, 4, "step");
    return hd_return(&c, hd_unfold(c.cx, t, dim, size, step));
}

/* ---- joins ------------------------------------------------------------------------------- */

static int cat(lua_State *L) {
    hd_call c = hd_enter(L, "cat");
    hd_no_more(&c, 2);
    int count;
    hd_tensor **parts = hd_arg_tensors(&c, 1, "tensors", &count);
    if (count == 0) hd_arg_error(&c, "tensors", "expected at least one tensor, got an empty list");
    return hd_return(&c, hd_cat(c.cx, count, parts, hd_opt_dim(&c, 2, "dim", parts[0]->ndim, 0)));
}

static int stack(lua_State *L) {
    hd_call c = hd_enter(L, "stack");
    hd_no_more(&c, 2);
    int count;
    hd_tensor **parts = hd_arg_tensors(&c, 1, "tensors", &count);
    if (count == 0) hd_arg_error(&c, "tensors", "expected at least one tensor, got an empty list");
    return hd_return(&c, hd_stack(c.cx, count, parts, hd_opt_dim(&c, 2, "dim", parts[0]->ndim + 1, 0)));
}

/* ---- copies ------------------------------------------------------------------------------ */

static int contiguous(lua_State *L) {
    hd_call c = hd_enter(L, "contiguous");
    hd_no_more(&c, 1);
    return hd_return_or_same(&c, 1, hd_contiguous(c.cx, hd_arg_tensor(&c, 1, "t")));
}

static int clone(lua_State *L) {
    hd_call c = hd_enter(L, "clone");
    hd_no_more(&c, 1);
    return hd_return(&c, hd_clone(c.cx, hd_arg_tensor(&c, 1, "t")));
}

/* to(dtype) or to{dtype = } */
static int to(lua_State *L) {
    hd_call c = hd_enter(L, "to");
    hd_take_options(&c, "dtype");
    hd_no_more(&c, 2);
    hd_dtype dtype = hd_arg_dtype(&c, hd_or_option(&c, 2, "dtype"), "dtype");
    hd_tensor *t = hd_arg_weight(&c, 1, "t"), *numbers = hd_quantized_of(t) ? hd_dequantize(c.cx, t) : NULL;
    if (!hd_quantized_of(t)) return hd_return_or_same(&c, 1, hd_cast(c.cx, t, dtype));
    if (!numbers) return hd_return(&c, NULL);
    hd_tensor *y = hd_cast(c.cx, numbers, dtype);
    hd_release(numbers);
    return hd_return(&c, y);
}

static const hd_function functions[] = {
    {"view", view, HD_BOTH},
    {"reshape", reshape, HD_BOTH},
    {"expand", expand, HD_BOTH},
    {"flatten", flatten, HD_BOTH},
    {"squeeze", squeeze, HD_BOTH},
    {"unsqueeze", unsqueeze, HD_BOTH},
    {"unfold", unfold, HD_BOTH},
    {"cat", cat, HD_MODULE},
    {"stack", stack, HD_MODULE},
    {"contiguous", contiguous, HD_BOTH},
    {"clone", clone, HD_BOTH},
    {"to", to, HD_BOTH},
    {NULL, NULL, 0},
};

void hd_register_shape(hd_registrar *r) {
    hd_define(r, functions);
}
