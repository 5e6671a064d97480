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
