/* Products of matrices. */
#include "lua/runtime/check.h"

static int matmul(lua_State *L) {
    hd_call c = hd_enter(L, "matmul");
    hd_no_more(&c, 2);
    hd_tensor *a = hd_arg_tensor(&c, 1, "a"), *b = hd_arg_tensor(&c, 2, "b");
    return hd_return(&c, hd_matmul(c.cx, a, b));
}

static const hd_function functions[] = {
    {"matmul", matmul, HD_BOTH},
    {NULL, NULL, 0},
};

void hd_register_matmul(hd_registrar *r) {
    hd_define(r, functions);
}
