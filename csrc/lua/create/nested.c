/* Nested Lua tables to tensors: the shape from the first elements, then one walk that checks and stores. */
#include <string.h>

#include "lua/runtime/check.h"

typedef struct nested {
    hd_call *c;
    const char *argument;
    hd_shape shape;
    hd_dtype dtype;
    void *data;
    int64_t stored;
    int64_t position[HD_MAX_DIMS]; /* of the element in hand, for messages */
} nested;

static const char *position_text(const nested *n, int depth, char buffer[HD_SHAPE_TEXT]) {
    return hd_shape_text(depth, n->position, buffer);
}

/* Leaves the first leaf on the stack. */
static void measure(nested *n, int index) {
    lua_State *L = n->c->L;
    lua_pushvalue(L, index);
    while (lua_type(L, -1) == LUA_TTABLE) {
        if (n->shape.ndim == HD_MAX_DIMS)
            hd_arg_error(n->c, n->argument, "expected tables nested at most %d deep", HD_MAX_DIMS);
        lua_Integer length = (lua_Integer)lua_rawlen(L, -1);
        n->shape.size[n->shape.ndim++] = length;
        if (length == 0) return;
        lua_rawgeti(L, -1, 1);
        lua_remove(L, -2);
    }
}

static void check_length(nested *n, int depth) {
    lua_State *L = n->c->L;
    char where[HD_SHAPE_TEXT], text[HD_VALUE_TEXT];
    int64_t wanted = n->shape.size[depth];
    if (lua_type(L, -1) != LUA_TTABLE)
        hd_arg_error(n->c, n->argument,
                     "expected a table of %lld values at %s, as long as the one before, got %s",
                     (long long)wanted, position_text(n, depth, where), hd_value_text(n->c, -1, text));
    if ((int64_t)lua_rawlen(L, -1) != wanted)
        hd_arg_error(n->c, n->argument,
                     "expected %lld values at %s, as many as before, got %lld; heed.data.pad fills rows up",
                     (long long)wanted, position_text(n, depth, where), (long long)lua_rawlen(L, -1));
}

static void store_leaf(nested *n, int depth) {
    lua_State *L = n->c->L;
    int type = lua_type(L, -1);
    if (type != LUA_TNUMBER && !(type == LUA_TBOOLEAN && n->dtype == HD_BOOL)) {
        char where[HD_SHAPE_TEXT], text[HD_VALUE_TEXT];
        hd_arg_error(n->c, n->argument, "expected %s at %s, got %s",
                     n->dtype == HD_BOOL ? "booleans" : "numbers", position_text(n, depth, where),
                     hd_value_text(n->c, -1, text));
    }
    hd_store_element(n->c, -1, n->argument, n->dtype, n->data, n->stored++);
}

/* The value on top of the stack is what stands `depth` tables deep. */
static void store(nested *n, int depth) {
    lua_State *L = n->c->L;
    if (depth == n->shape.ndim) {
        store_leaf(n, depth);
        return;
    }
    check_length(n, depth);
    luaL_checkstack(L, 4, NULL);
    for (int64_t i = 1; i <= n->shape.size[depth]; i++) {
        n->position[depth] = i;
        lua_rawgeti(L, -1, i);
        store(n, depth + 1);
        lua_pop(L, 1);
    }
}

/* What comes after the last element in the table's own order: one look, not a walk. */
void hd_check_list(hd_call *c, int index, const char *argument) {
    lua_State *L = c->L;
    lua_Integer length = (lua_Integer)lua_rawlen(L, index);
    luaL_checkstack(L, 4, NULL);
    if (length > 0)
        lua_pushinteger(L, length);
    else
        lua_pushnil(L);
    while (lua_next(L, index)) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "n";
        if (strcmp(name, "n") != 0)
            hd_arg_error(c, argument, "expected a list, got a table with the field '%.60s'", name);
        bool again = lua_type(L, -2) == LUA_TSTRING;
        lua_pop(L, again ? 1 : 2);
        if (!again) return;
    }
}

hd_handle *hd_push_nested(hd_call *c, int index, const char *argument, bool has_dtype, hd_dtype dtype) {
    lua_State *L = c->L;
    index = lua_absindex(L, index);
    luaL_checkstack(L, HD_MAX_DIMS + 8, NULL);
    if (lua_type(L, index) == LUA_TTABLE) hd_check_list(c, index, argument);
    hd_handle *made = hd_push_handle(c);
    nested n = {.c = c, .argument = argument, .dtype = dtype};
    measure(&n, index);
    if (!has_dtype) n.dtype = lua_type(L, -1) == LUA_TBOOLEAN ? HD_BOOL : HD_F32;
    lua_pop(L, 1);
    made->t = hd_tensor_new(c->cx, n.dtype, n.shape.ndim, n.shape.size);
    if (!made->t) hd_raise(c);
    n.data = hd_data(made->t);
    lua_pushvalue(L, index);
    store(&n, 0);
    lua_pop(L, 1);
    hd_set_modes(c);
    return made;
}
