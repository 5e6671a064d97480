#include "lua/io/files.h"

#include <stdio.h>
#include <string.h>

const char *hd_text_at(hd_call *c, int index, const char *argument) {
    size_t length;
    const char *text = lua_tolstring(c->L, index, &length);
    if (strlen(text) != length) hd_arg_error(c, argument, "expected a string without zero bytes");
    return text;
}

const char *hd_path_at(hd_call *c, int index) {
    if (!hd_given(c, index) || lua_type(c->L, index) != LUA_TSTRING)
        hd_arg_expected(c, index, "path", "a string");
    return hd_text_at(c, index, "path");
}

int hd_nil_and_message(hd_call *c, hd_status status) {
    if (status != HD_EIO) return hd_raise(c);
    char message[HD_MESSAGE_SIZE];
    snprintf(message, sizeof message, "%s", c->cx->error.message);
    luaL_pushfail(c->L);
    lua_pushstring(c->L, message);
    return 2;
}

void *hd_push_held(lua_State *L, lua_CFunction release) {
    void **held = lua_newuserdatauv(L, sizeof *held, 0);
    *held = NULL;
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, release);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    return held;
}

hd_named_tensor *hd_named_tensors(hd_call *c, int64_t *count) {
    lua_State *L = c->L;
    char text[HD_VALUE_TEXT];
    if (!hd_given(c, 2) || lua_type(L, 2) != LUA_TTABLE)
        hd_arg_expected(c, 2, "tensors", "a list of pairs {name, tensor}");
    *count = hd_count(c, 2, "tensors");
    hd_named_tensor *named = lua_newuserdatauv(L, sizeof *named * (size_t)(*count + 1), 0);
    lua_createtable(L, (int)*count, 0); /* keeps names and copies */
    int kept = lua_gettop(L);
    for (int64_t i = 0; i < *count; i++) {
        if (lua_rawgeti(L, 2, i + 1) != LUA_TTABLE)
            hd_arg_error(c, "tensors", "expected a pair {name, tensor} at position %lld, got %s",
                         (long long)i + 1, hd_value_text(c, -1, text));
        if (lua_rawgeti(L, -1, 1) != LUA_TSTRING)
            hd_arg_error(c, "tensors", "expected a name at position %lld, got %s", (long long)i + 1,
                         hd_value_text(c, -1, text));
        named[i].name = hd_text_at(c, -1, "tensors");
        lua_rawseti(L, kept, 2 * i + 1);
        hd_handle *copy = hd_push_handle(c);
        lua_rawseti(L, kept, 2 * i + 2);
        hd_tensor *t = hd_list_tensor(c, lua_gettop(L), named[i].name, 2);
        c->cx->grad_enabled = false;
        copy->t = hd_contiguous(c->cx, t);
        if (!copy->t) hd_raise(c);
        named[i].tensor = copy->t;
        lua_pop(L, 1);
    }
    return named;
}
