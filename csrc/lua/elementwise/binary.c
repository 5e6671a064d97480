/* Functions of two operands: those of kernels/tables/binary.h, with Lua's operators. */
#include "lua/runtime/check.h"

static hd_binary op_of(const hd_binary_row *row) {
    return (hd_binary)(row - hd_binary_rows);
}

/* Another type's operator gets its chance: mask & tensor also works as tensor & mask. */
static bool delegate(hd_call *c, const hd_binary_row *row) {
    lua_State *L = c->L;
    int type = c->top < 2 ? LUA_TNIL : lua_type(L, 2);
    if (!row->metamethod || (type != LUA_TTABLE && type != LUA_TUSERDATA) || hd_to_handle(L, c->h, 2))
        return false;
    if (luaL_getmetafield(L, 2, row->metamethod) == LUA_TNIL) return false;
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_call(L, 2, 1);
    return true;
}

static int binary(lua_State *L) {
    const hd_binary_row *row = hd_entry(L);
    hd_call c = hd_enter(L, row->name);
    hd_no_more(&c, 2);
    if (c.top < 2) hd_arg_tensor(&c, 2, "b");
    int first = lua_type(L, 1), second = c.top >= 2 ? lua_type(L, 2) : LUA_TNIL;
    if (second == LUA_TNUMBER || second == LUA_TBOOLEAN)
        return hd_return(&c, hd_binary_scalar(c.cx, op_of(row), hd_arg_tensor(&c, 1, "a"),
                                              hd_arg_scalar(&c, 2, "b"), false));
    if (first == LUA_TNUMBER || first == LUA_TBOOLEAN)
        return hd_return(&c, hd_binary_scalar(c.cx, op_of(row), hd_arg_tensor(&c, 2, "b"),
                                              hd_arg_scalar(&c, 1, "a"), true));
    if (delegate(&c, row)) return 1;
    if (second != LUA_TUSERDATA) hd_arg_expected(&c, 2, "b", "a tensor or a number");
    hd_tensor *a = hd_arg_tensor(&c, 1, "a"), *b = hd_arg_tensor(&c, 2, "b");
    return hd_return(&c, hd_binary_op(c.cx, op_of(row), a, b));
}

/* Lua's &, | and ~ are for the bits of integers: here they are of truth values, and take no others. */
static int of_truth_values(lua_State *L) {
    const hd_binary_row *row = hd_entry(L);
    hd_call c = hd_begin(L, row->name);
    bool delegated = lua_type(L, 2) == LUA_TTABLE;
    for (int i = 1; i <= 2 && !delegated; i++) {
        hd_handle *handle = hd_to_handle(L, c.h, i);
        if (lua_type(L, i) == LUA_TNUMBER || (handle && handle->t && handle->t->dtype != HD_BOOL))
            hd_arg_expected(&c, i, i == 1 ? "a" : "b",
                            "bool tensors for &, | and ~ (logical_and and its like take others)");
    }
    return binary(L);
}

static int binary_in_place(lua_State *L) {
    const hd_binary_row *row = hd_entry(L);
    hd_call c = hd_begin(L, row->in_place);
    hd_no_more(&c, 2);
    hd_tensor *a = hd_arg_tensor(&c, 1, "t");
    if (hd_is_number(&c, 2))
        return hd_return_self(&c, hd_binary_scalar_(c.cx, op_of(row), a, hd_arg_scalar(&c, 2, "b")));
    if (!hd_given(&c, 2) || lua_type(L, 2) != LUA_TUSERDATA)
        hd_arg_expected(&c, 2, "b", "a tensor or a number");
    return hd_return_self(&c, hd_binary_(c.cx, op_of(row), a, hd_arg_tensor(&c, 2, "b")));
}

void hd_register_binary(hd_registrar *r) {
    for (const hd_binary_row *row = hd_binary_rows; row < hd_binary_rows + HD_BINARY_COUNT; row++) {
        hd_define_entry(r, row->name, binary, HD_BOTH, row);
        if (row->binding == HD_IN_PLACE) hd_define_entry(r, row->in_place, binary_in_place, HD_BOTH, row);
        if (row->metamethod)
            hd_define_meta(r, r->tensor, row->metamethod, row->sort == HD_LOGIC ? of_truth_values : binary,
                           row);
    }
}
