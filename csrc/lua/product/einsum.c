/* Products whose dimensions are named. */
#include <string.h>

#include "lua/runtime/check.h"

static const char *equation_of(hd_call *c) {
    if (!hd_given(c, 1) || lua_type(c->L, 1) != LUA_TSTRING)
        hd_arg_expected(c, 1, "equation", "a string such as \"bld,bsd->bls\"");
    size_t length;
    const char *equation = lua_tolstring(c->L, 1, &length);
    if (length > 1000 || strlen(equation) != length)
        hd_arg_error(c, "equation", "expected at most 1000 letters, commas, dots and an arrow");
    return equation;
}

/* einsum(equation, tensor, ...) or einsum(equation, { tensor, ... }) */
static int einsum(lua_State *L) {
    hd_call c = hd_enter(L, "einsum");
    const char *equation = equation_of(&c);
    int count = c.top - 1;
    hd_tensor **operands;
    if (hd_given(&c, 2) && lua_type(L, 2) == LUA_TTABLE) {
        hd_no_more(&c, 2);
        operands = hd_arg_tensors(&c, 2, "operands", &count);
    } else {
        operands = lua_newuserdatauv(L, sizeof *operands * (size_t)(count > 0 ? count : 1), 0);
        hd_set_modes(&c);
        for (int i = 0; i < count; i++) operands[i] = hd_arg_tensor(&c, i + 2, "operands");
    }
    return hd_return(&c, hd_einsum(c.cx, equation, count, operands));
}

static int outer(lua_State *L) {
    hd_call c = hd_enter(L, "outer");
    hd_no_more(&c, 2);
    hd_tensor *operands[] = {hd_arg_tensor(&c, 1, "a"), hd_arg_tensor(&c, 2, "b")};
    for (int i = 0; i < 2; i++) {
        char shape[HD_SHAPE_TEXT];
        if (operands[i]->ndim != 1)
            hd_arg_error(&c, i == 0 ? "a" : "b", "expected a vector, got shape %s",
                         hd_tensor_shape_text(operands[i], shape));
    }
    return hd_return(&c, hd_einsum(c.cx, "i,j->ij", 2, operands));
}

static const hd_function functions[] = {
    {"einsum", einsum, HD_MODULE}, {"outer", outer, HD_BOTH}, {NULL, NULL, 0}};

void hd_register_einsum(hd_registrar *r) {
    hd_define(r, functions);
}
