/* Softmax along a dimension. */
#include "lua/runtime/check.h"

static int dim_of(hd_call *c, const hd_tensor *t) {
    hd_take_any_options(c, "dim");
    hd_no_more(c, 2);
    return hd_arg_dim(c, hd_or_option(c, 2, "dim"), "dim", t->ndim);
}

static int softmax(lua_State *L) {
    hd_call c = hd_enter(L, "softmax");
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    return hd_return(&c, hd_softmax(c.cx, t, dim_of(&c, t)));
}

static int log_softmax(lua_State *L) {
    hd_call c = hd_enter(L, "log_softmax");
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    return hd_return(&c, hd_log_softmax(c.cx, t, dim_of(&c, t)));
}

static const hd_function functions[] = {
    {"softmax", softmax, HD_BOTH},
    {"log_softmax", log_softmax, HD_BOTH},
    {NULL, NULL, 0},
};

void hd_register_softmax(hd_registrar *r) {
    hd_define(r, functions);
}
