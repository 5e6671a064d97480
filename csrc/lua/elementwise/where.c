/* Elements chosen by a condition: where, masked_fill, clamp. */
#include "lua/runtime/check.h"

/* A number beside a tensor is weak: it takes the tensor's dtype, or f32 when it is a float beside integers.
 */
static hd_tensor *weak_tensor(hd_call *c, int index, const char *argument, const hd_tensor *beside) {
    lua_State *L = c->L;
    if (!hd_is_number(c, index) && !(hd_given(c, index) && lua_isboolean(L, index)))
        return hd_arg_tensor(c, index, argument);
    bool is_float = lua_type(L, index) == LUA_TNUMBER && !lua_isinteger(L, index);
    hd_dtype dtype = beside ? (hd_dtype)beside->dtype : lua_isboolean(L, index) ? HD_BOOL : HD_F32;
    if (beside && !hd_dtype_is_float(dtype) && is_float) dtype = HD_F32;
    if (beside && dtype == HD_BOOL && lua_type(L, index) == LUA_TNUMBER) dtype = is_float ? HD_F32 : HD_I64;
    hd_handle *made = hd_push_handle(c);
    made->t = hd_tensor_new(c->cx, dtype, 0, NULL);
    if (!made->t) hd_raise(c);
    hd_store_element(c, index, argument, dtype, made->t->storage->data, 0);
    lua_replace(L, index);
    return made->t;
}

/* where(condition, a, b) */
static int where(lua_State *L) {
    hd_call c = hd_enter(L, "where");
    hd_no_more(&c, 3);
    hd_arg_tensor(&c, 1, "condition");
    hd_handle *a = hd_to_handle(L, c.h, 2), *b = hd_to_handle(L, c.h, 3);
    weak_tensor(&c, 2, "a", b ? b->t : NULL);
    weak_tensor(&c, 3, "b", a ? a->t : NULL);
    return hd_return(&c, hd_where(c.cx, hd_arg_tensor(&c, 1, "condition"), hd_arg_tensor(&c, 2, "a"),
                                  hd_arg_tensor(&c, 3, "b")));
}

static int masked_fill(lua_State *L) {
    hd_call c = hd_enter(L, "masked_fill");
    hd_no_more(&c, 3);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t"), *mask = hd_arg_tensor(&c, 2, "mask");
    return hd_return(&c, hd_masked_fill(c.cx, t, mask, hd_arg_scalar(&c, 3, "value")));
}

static int masked_fill_(lua_State *L) {
    hd_call c = hd_begin(L, "masked_fill_");
    hd_no_more(&c, 3);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t"), *mask = hd_arg_tensor(&c, 2, "mask");
    return hd_return_self(&c, hd_masked_fill_(c.cx, t, mask, hd_arg_scalar(&c, 3, "value")));
}

/* clamp(low, high) or clamp{min = , max = }; either may be nil. */
typedef struct bounds {
    hd_scalar lowest, highest;
    const hd_scalar *low, *high; /* NULL: open */
} bounds;

static void read_bounds(hd_call *c, bounds *b) {
    hd_take_any_options(c, "min max");
    hd_no_more(c, 3);
    int low = hd_or_option(c, 2, "min"), high = hd_or_option(c, 3, "max");
    if (low) b->lowest = hd_arg_scalar(c, low, "min");
    if (high) b->highest = hd_arg_scalar(c, high, "max");
    if (!low && !high) hd_arg_error(c, "min, max", "expected at lowest one number");
    b->low = low ? &b->lowest : NULL;
    b->high = high ? &b->highest : NULL;
}

static int clamp(lua_State *L) {
    hd_call c = hd_enter(L, "clamp");
    bounds b;
    read_bounds(&c, &b);
    return hd_return(&c, hd_clamp(c.cx, hd_arg_tensor(&c, 1, "t"), b.low, b.high));
}

static int clamp_(lua_State *L) {
    hd_call c = hd_begin(L, "clamp_");
    bounds b;
    read_bounds(&c, &b);
    return hd_return_self(&c, hd_clamp_(c.cx, hd_arg_tensor(&c, 1, "t"), b.low, b.high));
}

static const hd_function functions[] = {
    {"where", where, HD_BOTH}, {"masked_fill", masked_fill, HD_BOTH}, {"masked_fill_", masked_fill_, HD_BOTH},
    {"clamp", clamp, HD_BOTH}, {"clamp_", clamp_, HD_BOTH},           {NULL, NULL, 0},
};

void hd_register_where(hd_registrar *r) {
    hd_define(r, functions);
}
