/* meta.c: shapes without numbers, for Module:check. */
#include "lua/runtime/check.h"

/* shapes_only(on) -> how it was before: from now on tensors of floats are made without their numbers, and what would compute
 * from them is passed over. Without an argument it only asks. */
static int shapes_only(lua_State *L) {
    hd_call c = hd_begin(L, "shapes_only");
    bool before = c.cx->shapes_only;
    c.cx->shapes_only = hd_opt_boolean(&c, 1, "on", before);
    lua_pushboolean(L, before);
    return 1;
}

static const hd_function functions[] = {{"shapes_only", shapes_only, HD_INTERNAL}, {NULL, NULL, 0}};

void hd_register_shapes(hd_registrar *r) {
    hd_define(r, functions);
}
