/* Fourier transforms. */
#include "lua/runtime/check.h"

/* rfft(t): [.., n] -> [.., n / 2 + 1, 2] */
static int rfft(lua_State *L) {
    hd_call c = hd_enter(L, "rfft");
    hd_no_more(&c, 1);
    return hd_return(&c, hd_rfft(c.cx, hd_arg_tensor(&c, 1, "t")));
}

static const hd_function functions[] = {{"rfft", rfft, HD_BOTH}, {NULL, NULL, 0}};

void hd_register_rfft(hd_registrar *r) {
    hd_define(r, functions);
}
