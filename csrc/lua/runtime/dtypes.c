/* What lua/heed knows of dtypes: core.dtypes.floats, halves, and indices, of which index tensors may be. Lists that
 * are sets too. */
#include "lua/runtime/check.h"

/* Appends the name to the table on top, and makes it a key. */
static void add(lua_State *L, hd_dtype t) {
    lua_pushstring(L, hd_dtype_name(t));
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, hd_dtype_name(t));
}

static void add_halves(lua_State *L) {
    for (int t = HD_DTYPE_COUNT - 1; t >= 0; t--)
        if (hd_dtype_is_half((hd_dtype)t)) add(L, (hd_dtype)t);
}

static void add_indices(lua_State *L) {
    for (int t = 0; t < HD_DTYPE_COUNT; t++)
        if (hd_is_index_dtype((hd_dtype)t)) add(L, (hd_dtype)t);
}

void hd_register_dtypes(hd_registrar *r) {
    lua_State *L = r->L;
    lua_newtable(L);
    lua_newtable(L);
    for (int t = 0; t < HD_DTYPE_COUNT; t++)
        if (hd_dtype_is_float((hd_dtype)t) && hd_dtype_computes((hd_dtype)t)) add(L, (hd_dtype)t);
    add_halves(L);
    lua_setfield(L, -2, "floats");
    lua_newtable(L);
    add_halves(L);
    lua_setfield(L, -2, "halves");
    lua_newtable(L);
    add_indices(L);
    lua_setfield(L, -2, "indices");
    hd_define_value(r, "dtypes");
}
