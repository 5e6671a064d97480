/* Where a tensor is not zero. */
#include "lua/runtime/check.h"

/* nonzero(): [count, ndim], a row of indices for each element that is not zero, in order. */
static int nonzero(lua_State *L) {
    hd_call c = hd_enter(L, "nonzero");
    hd_no_more(&c, 1);
    return hd_return(&c, hd_nonzero(c.cx, hd_arg_tensor(&c, 1, "t")));
}

static const hd_function functions[] = {{"nonzero", nonzero, HD_BOTH}, {NULL, NULL, 0}};

void hd_register_nonzero(hd_registrar *r) {
    hd_define(r, functions);
}
