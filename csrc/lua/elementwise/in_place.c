/* Writing into a tensor that is there. */
#include "lua/runtime/check.h"

static int fill_(lua_State *L) {
    hd_call c = hd_begin(L, "fill_");
    hd_no_more(&c, 2);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    return hd_return_self(&c, hd_fill_(c.cx, t, hd_arg_scalar(&c, 2, "value")));
}

static int zero_(lua_State *L) {
    hd_call c = hd_begin(L, "zero_");
    hd_no_more(&c, 1);
    return hd_return_self(&c, hd_fill_(c.cx, hd_arg_tensor(&c, 1, "t"), hd_scalar_i(0)));
}

static int copy_(lua_State *L) {
    hd_call c = hd_begin(L, "copy_");
    hd_no_more(&c, 2);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t"), *source = hd_arg_tensor(&c, 2, "source");
    return hd_return_self(&c, hd_copy_(c.cx, t, source));
}

static const hd_function functions[] = {
    {"fill_", fill_, HD_BOTH},
    {"zero_", zero_, HD_BOTH},
    {"copy_", copy_, HD_BOTH},
    {NULL, NULL, 0},
};

void hd_register_in_place(hd_registrar *r) {
    hd_define(r, functions);
}
