/* Linear interpolation. */
#include "lua/runtime/check.h"

/* lerp(a, b, weight): the weight a number or a tensor. */
static int lerp(lua_State *L) {
    hd_call c = hd_enter(L, "lerp");
    hd_no_more(&c, 3);
    hd_tensor *a = hd_arg_tensor(&c, 1, "a"), *b = hd_arg_tensor(&c, 2, "b");
    if (hd_to_handle(L, c.h, 3)) return hd_return(&c, hd_lerp(c.cx, a, b, hd_arg_tensor(&c, 3, "weight")));
    double number = hd_arg_number(&c, 3, "weight");
    hd_handle *weight = hd_push_handle(&c);
    weight->t = hd_full(c.cx, HD_F64, 0, NULL, hd_scalar_f(number));
    return hd_return(&c, weight->t ? hd_lerp(c.cx, a, b, weight->t) : NULL);
}

static const hd_function functions[] = {
    {"lerp", lerp, HD_BOTH},
    {NULL, NULL, 0},
};

void hd_register_lerp(hd_registrar *r) {
    hd_define(r, functions);
}
