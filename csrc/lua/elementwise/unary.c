/* Functions of one operand: those of kernels/tables/unary.h, and gelu and round, which take options. */
#include <string.h>

#include "lua/runtime/check.h"

static int unary(lua_State *L) {
    const hd_unary_row *row = hd_entry(L);
    hd_call c = hd_enter(L, row->name);
    hd_no_more(&c, 1);
    return hd_return(&c, hd_unary_op(c.cx, (hd_unary)(row - hd_unary_rows), hd_arg_tensor(&c, 1, "t")));
}

static int unary_in_place(lua_State *L) {
    const hd_unary_row *row = hd_entry(L);
    hd_call c = hd_begin(L, row->in_place);
    hd_no_more(&c, 1);
    return hd_return_self(&c, hd_unary_(c.cx, (hd_unary)(row - hd_unary_rows), hd_arg_tensor(&c, 1, "t")));
}

/* gelu({approximate = "none" | "tanh" | "sigmoid"}) */
static hd_unary which_gelu(hd_call *c) {
    hd_take_any_options(c, "approximate");
    hd_no_more(c, 1);
    int index = hd_option(c, "approximate");
    const char *name = !index                                 ? "none"
                       : lua_type(c->L, index) == LUA_TSTRING ? lua_tostring(c->L, index)
                                                              : "";
    if (strcmp(name, "none") == 0) return HD_GELU;
    if (strcmp(name, "tanh") == 0) return HD_GELU_TANH;
    if (strcmp(name, "sigmoid") == 0) return HD_GELU_SIGMOID;
    hd_arg_expected(c, index, "approximate", "\"none\", \"tanh\" or \"sigmoid\"");
    return HD_GELU;
}

static int gelu(lua_State *L) {
    hd_call c = hd_enter(L, "gelu");
    hd_unary op = which_gelu(&c);
    return hd_return(&c, hd_unary_op(c.cx, op, hd_arg_tensor(&c, 1, "t")));
}

static int gelu_(lua_State *L) {
    hd_call c = hd_begin(L, "gelu_");
    hd_unary op = which_gelu(&c);
    return hd_return_self(&c, hd_unary_(c.cx, op, hd_arg_tensor(&c, 1, "t")));
}

/* round(decimals = 0): half to even. */
static int decimals_of(hd_call *c) {
    hd_take_any_options(c, "decimals");
    hd_no_more(c, 2);
    int64_t decimals = hd_opt_integer(c, hd_or_option(c, 2, "decimals"), "decimals", 0);
    if (decimals < -300 || decimals > 300)
        hd_arg_error(c, "decimals", "expected -300..300, got %lld", (long long)decimals);
    return (int)decimals;
}

static int round_(lua_State *L) {
    hd_call c = hd_enter(L, "round");
    int decimals = decimals_of(&c);
    return hd_return(&c, hd_round_decimals(c.cx, hd_arg_tensor(&c, 1, "t"), decimals));
}

static int round_in_place(lua_State *L) {
    hd_call c = hd_begin(L, "round_");
    int decimals = decimals_of(&c);
    return hd_return_self(&c, hd_round_decimals_(c.cx, hd_arg_tensor(&c, 1, "t"), decimals));
}

/* ~t: of booleans. */
static int bitwise_not(lua_State *L) {
    hd_call c = hd_enter(L, "logical_not");
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    if (t->dtype != HD_BOOL) hd_arg_expected(&c, 1, "t", "a bool tensor for ~");
    return hd_return(&c, hd_unary_op(c.cx, HD_LOGICAL_NOT, t));
}

static int unary_minus(lua_State *L) {
    hd_call c = hd_enter(L, "neg");
    return hd_return(&c, hd_unary_op(c.cx, HD_NEG, hd_arg_tensor(&c, 1, "t")));
}

static const hd_function functions[] = {
    {"gelu", gelu, HD_BOTH},
    {"gelu_", gelu_, HD_BOTH},
    {"round", round_, HD_BOTH},
    {"round_", round_in_place, HD_BOTH},
    {NULL, NULL, 0},
};

void hd_register_unary(hd_registrar *r) {
    hd_define(r, functions);
    for (const hd_unary_row *row = hd_unary_rows; row < hd_unary_rows + HD_UNARY_COUNT; row++) {
        if (row->binding == HD_BY_HAND) continue;
        hd_define_entry(r, row->name, unary, HD_BOTH, row);
        if (row->binding == HD_IN_PLACE) hd_define_entry(r, row->in_place, unary_in_place, HD_BOTH, row);
    }
    hd_define_meta(r, r->tensor, "__unm", unary_minus, NULL);
    hd_define_meta(r, r->tensor, "__bnot", bitwise_not, NULL);
}
