/* Triangles of matrices. */
#include "lua/runtime/check.h"

/* tril(diagonal = 0), triu alike */
static int64_t diagonal_of(hd_call *c) {
    hd_take_any_options(c, "diagonal");
    hd_no_more(c, 2);
    return hd_opt_integer(c, hd_or_option(c, 2, "diagonal"), "diagonal", 0);
}

static int tril(lua_State *L) {
    hd_call c = hd_enter(L, "tril");
    int64_t diagonal = diagonal_of(&c);
    return hd_return(&c, hd_tril(c.cx, hd_arg_tensor(&c, 1, "t"), diagonal));
}

static int triu(lua_State *L) {
    hd_call c = hd_enter(L, "triu");
    int64_t diagonal = diagonal_of(&c);
    return hd_return(&c, hd_triu(c.cx, hd_arg_tensor(&c, 1, "t"), diagonal));
}

static int tril_(lua_State *L) {
    hd_call c = hd_begin(L, "tril_");
    int64_t diagonal = diagonal_of(&c);
    return hd_return_self(&c, hd_tril_(c.cx, hd_arg_tensor(&c, 1, "t"), diagonal));
}

static int triu_(lua_State *L) {
    hd_call c = hd_begin(L, "triu_");
    int64_t diagonal = diagonal_of(&c);
    return hd_return_self(&c, hd_triu_(c.cx, hd_arg_tensor(&c, 1, "t"), diagonal));
}

static const hd_function functions[] = {
    {"tril", tril, HD_BOTH},   {"triu", triu, HD_BOTH}, {"tril_", tril_, HD_BOTH},
    {"triu_", triu_, HD_BOTH}, {NULL, NULL, 0},
};

void hd_register_tril(hd_registrar *r) {
    hd_define(r, functions);
}
