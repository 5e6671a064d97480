/* Functions of one operand and a number: those of kernels/tables/parametric.h. */
#include "lua/runtime/check.h"

static double parameter_of(hd_call *c, const hd_parametric_row *row) {
    hd_take_any_options(c, row->parameter);
    hd_no_more(c, 2);
    return hd_opt_number(c, hd_or_option(c, 2, row->parameter), row->parameter, row->otherwise);
}

static int parametric(lua_State *L) {
    const hd_parametric_row *row = hd_entry(L);
    hd_call c = hd_enter(L, row->name);
    double parameter = parameter_of(&c, row);
    hd_parametric op = (hd_parametric)(row - hd_parametric_rows);
    return hd_return(&c, hd_parametric_op(c.cx, op, hd_arg_tensor(&c, 1, "t"), parameter));
}

static int parametric_in_place(lua_State *L) {
    const hd_parametric_row *row = hd_entry(L);
    hd_call c = hd_begin(L, row->in_place);
    double parameter = parameter_of(&c, row);
    hd_parametric op = (hd_parametric)(row - hd_parametric_rows);
    return hd_return_self(&c, hd_parametric_(c.cx, op, hd_arg_tensor(&c, 1, "t"), parameter));
}

void hd_register_parametric(hd_registrar *r) {
    for (int op = 0; op < HD_PARAMETRIC_COUNT; op++) {
        const hd_parametric_row *row = &hd_parametric_rows[op];
        hd_define_entry(r, row->name, parametric, HD_BOTH, row);
        hd_define_entry(r, row->in_place, parametric_in_place, HD_BOTH, row);
    }
}
