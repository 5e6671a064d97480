/* Distances between rows. */
#include "lua/runtime/check.h"

/* cdist(x, y, {p = 2}) */
static int cdist(lua_State *L) {
    hd_call c = hd_enter(L, "cdist");
    hd_take_any_options(&c, "p");
    hd_no_more(&c, 3);
    hd_tensor *x = hd_arg_tensor(&c, 1, "x"), *y = hd_arg_tensor(&c, 2, "y");
    return hd_return(&c, hd_cdist(c.cx, x, y, hd_opt_number(&c, hd_or_option(&c, 3, "p"), "p", 2)));
}

static const hd_function functions[] = {{"cdist", cdist, HD_BOTH}, {NULL, NULL, 0}};

void hd_register_cdist(hd_registrar *r) {
    hd_define(r, functions);
}
