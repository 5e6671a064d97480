/* Case and category of characters, for lua/heed/text/template. */
#include <string.h>

#include "lua/runtime/check.h"
#include "text/text.h"
#include "text/unicode.h"
#include "base/utf8.h"

static const char *text_at(hd_call *c, int at, size_t *length) {
    if (lua_type(c->L, at) != LUA_TSTRING) hd_arg_expected(c, at, "text", "a string");
    return lua_tolstring(c->L, at, length);
}

static int changed(hd_char_case to, int32_t c, int32_t out[2]) {
    return to == HD_CASE_LOWER ? hd_lowercase(c, out) : hd_uppercase(to == HD_CASE_TITLE, c, out);
}

static hd_char_case case_at(hd_call *c, int at) {
    const char *name = lua_type(c->L, at) == LUA_TSTRING ? lua_tostring(c->L, at) : "";
    if (strcmp(name, "lower") == 0) return HD_CASE_LOWER;
    if (strcmp(name, "upper") == 0) return HD_CASE_UPPER;
    if (strcmp(name, "title") != 0) hd_arg_expected(c, at, "case", "\"lower\", \"upper\" or \"title\"");
    return HD_CASE_TITLE;
}

/* text_case(text, "lower" | "upper" | "title") -> every character so. Bytes that are no UTF-8 stay. */
static int text_case(lua_State *L) {
    hd_call c = hd_begin(L, "text_case");
    size_t length;
    const char *text = text_at(&c, 1, &length);
    const hd_char_case to = case_at(&c, 2);
    if (!hd_utf8_valid(text, (int64_t)length)) {
        lua_pushvalue(L, 1);
        return 1;
    }
    luaL_Buffer buffer;
    luaL_buffinit(L, &buffer);
    for (size_t i = 0; i < length;) {
        int size;
        int32_t out[2];
        const int count = changed(to, hd_utf8_get(text + i, &size), out);
        for (int j = 0; j < count; j++) {
            char bytes[4];
            luaL_addlstring(&buffer, bytes, (size_t)hd_utf8_put(bytes, out[j]));
        }
        i += (size_t)size;
    }
    luaL_pushresult(&buffer);
    return 1;
}

/* text_category(character) -> Unicode's general category of the first one: "Lu" */
static int text_category(lua_State *L) {
    hd_call c = hd_begin(L, "text_category");
    size_t length;
    int size;
    const char *text = text_at(&c, 1, &length);
    const bool valid = length > 0 && hd_utf8_valid(text, (int64_t)length);
    lua_pushstring(L, valid ? hd_char_category(hd_utf8_get(text, &size)) : "Cn");
    return 1;
}

static const hd_function functions[] = {
    {"text_case", text_case, HD_INTERNAL},
    {"text_category", text_category, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_characters(hd_registrar *r) {
    hd_define(r, functions);
}
