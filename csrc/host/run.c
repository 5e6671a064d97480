#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <lauxlib.h>

#include "host/interrupt.h"
#include "host/run.h"

int hh_call(lua_State *L, int arguments, int results, lua_CFunction handler) {
    int base = lua_gettop(L) - arguments;
    lua_pushcfunction(L, handler);
    lua_insert(L, base);
    hh_interrupt_begin();
    int status = lua_pcall(L, arguments, results, base);
    hh_interrupt_end();
    lua_remove(L, base);
    return status;
}

const char *hh_error_text(lua_State *L, int index) {
    if (lua_type(L, index) == LUA_TSTRING || luaL_getmetafield(L, index, "__tostring") != LUA_TNIL)
        return luaL_tolstring(L, index, NULL);
    return lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, index));
}

/* coroutine.wrap puts a position before the message. */
static bool is_interrupt(const char *text) {
    static const char word[] = "interrupted";
    size_t first_line = strcspn(text, "\n"), length = sizeof word - 1;
    return first_line >= length && memcmp(text + first_line - length, word, length) == 0;
}

/* The line, and what a newcomer's slip most likely meant, go below the message. Without room or memory for
 * that they do not. `function` of heed.prompt.script takes the message, and a path if there is one. */
static const char *explained(lua_State *L, const char *function, const char *text, const char *path) {
    if (!lua_checkstack(L, 8)) return text;
    int top = lua_gettop(L);
    lua_getglobal(L, "require");
    lua_pushliteral(L, "heed.prompt.script");
    if (lua_pcall(L, 1, 1, 0) == LUA_OK && lua_type(L, -1) == LUA_TTABLE) {
        lua_getfield(L, -1, function);
        lua_pushstring(L, text);
        lua_pushstring(L, path); /* nil without one */
        if (lua_pcall(L, 2, 1, 0) == LUA_OK && lua_type(L, -1) == LUA_TSTRING)
            return lua_pushfstring(L, "%s\n%s", text, lua_tostring(L, -1));
    }
    lua_settop(L, top);
    return text;
}

/* A script that was stopped before a prompt leaves its variables, if nothing else. */
static const char *stopped(lua_State *L, const char *text) {
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    bool before_prompt = lua_getfield(L, -1, "heed.prompt.script") == LUA_TTABLE;
    lua_pop(L, 2);
    return before_prompt ? explained(L, "stopped", text, NULL) : text;
}

/* Frames without a name tell nothing: all that is left where none is of a script. */
static bool tells_nothing(const char *traceback) {
    static const char *const nameless[] = {"\n\t[C]: in ?", "\n\t(...tail calls...)"};
    traceback += strlen("stack traceback:");
    for (size_t i = 0; i < 2;) {
        size_t length = strlen(nameless[i]);
        bool is_next = strncmp(traceback, nameless[i], length) == 0;
        traceback += is_next ? length : 0;
        i = is_next ? 0 : i + 1;
    }
    return *traceback == '\0';
}

int hh_traceback(lua_State *L) {
    const char *text = hh_error_text(L, 1);
    text = is_interrupt(text) ? stopped(L, text) : explained(L, "explain", text, NULL);
    luaL_traceback(L, L, NULL, 1);
    const char *traceback = lua_tostring(L, -1);
    if (tells_nothing(traceback))
        lua_pushstring(L, text);
    else
        lua_pushfstring(L, "%s\n%s", text, traceback);
    return 1;
}

void hh_explain_syntax(lua_State *L, const char *path) {
    int top = lua_gettop(L);
    explained(L, "explain_syntax", hh_error_text(L, top), path);
    lua_replace(L, top);
    lua_settop(L, top);
}

int hh_report(lua_State *L, int status) {
    if (status == LUA_OK) return status;
    fflush(stdout);
    const char *text = hh_error_text(L, -1);
    fprintf(stderr, "heed: %s\n", text);
    if (is_interrupt(text)) status = HH_INTERRUPTED;
    lua_pop(L, 2);
    return status;
}
