#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <lauxlib.h>

#include "host/line.h"
#include "host/repl.h"
#include "host/run.h"

#define SHOWN_FRAMES 8

/* Registry: chunk name -> text of every input, so that an error can show the lines it came through. */
static const char inputs_key;

static void push_inputs(lua_State *L) {
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &inputs_key) == LUA_TTABLE) return;
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &inputs_key);
}

/* ---- saying what went wrong ---------------------------------------------------------------------------- */
/* Adds "\n  input 3:1: the line" for a line of an input; the buffer is on top of the stack. */
static bool add_input_line(lua_State *L, luaL_Buffer *b, const char *source, int line) {
    push_inputs(L);
    bool found = lua_getfield(L, -1, source) == LUA_TSTRING;
    const char *text = found ? lua_tostring(L, -1) : "";
    for (int i = 1; i < line && *text; i++) {
        const char *newline = strchr(text, '\n');
        text = newline ? newline + 1 : "";
    }
    char where[64];
    snprintf(where, sizeof where, "\n  %s:%d: ", source + 1, line);
    /* The text stays alive in the table while it is copied above the buffer. */
    lua_pop(L, 2);
    if (!found) return false;
    luaL_addstring(b, where);
    luaL_addlstring(b, text, strcspn(text, "\n"));
    return true;
}

static bool is_own_file(const char *source) {
    return source[0] == '@' && strncmp(source, "@heed/", 6) != 0 && strcmp(source, "@heed.lua") != 0;
}

/* Message handler: the message, then those frames that the person wrote, the innermost first. */
static int explain(lua_State *L) {
    const char *message = hh_error_text(L, 1);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addstring(&b, message);
    lua_Debug frame;
    int shown = 0;
    for (int level = 1; shown < SHOWN_FRAMES && lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "Sl", &frame);
        if (frame.currentline < 0) continue;
        if (is_own_file(frame.source)) {
            char where[LUA_IDSIZE + 32];
            snprintf(where, sizeof where, "\n  %s:%d", frame.short_src, frame.currentline);
            luaL_addstring(&b, where);
            shown++;
        } else if (add_input_line(L, &b, frame.source, frame.currentline)) {
            shown++;
        }
    }
    luaL_pushresult(&b);
    return 1;
}

/* The message of a syntax error begins with the chunk's name and line: the line follows. */
static void explain_syntax(lua_State *L, const char *source) {
    const char *message = lua_tostring(L, -1);
    const char *colon = strstr(message, source + 1);
    int line = 0;
    if (colon && sscanf(colon + strlen(source + 1), ":%d:", &line) != 1) line = 0;
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addstring(&b, message);
    if (line > 0) add_input_line(L, &b, source, line);
    luaL_pushresult(&b);
    lua_remove(L, -2);
}

static void show_error(lua_State *L) {
    fflush(stdout);
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    lua_pop(L, 1);
}

/* ---- one input -------------------------------------------------------------------------------------------
 */
static bool is_incomplete(lua_State *L, int status) {
    static const char mark[] = "<eof>";
    size_t length;
    const char *message = lua_tolstring(L, -1, &length);
    return status == LUA_ERRSYNTAX && length >= sizeof mark - 1 &&
           strcmp(message + length - (sizeof mark - 1), mark) == 0;
}

static int load_text(lua_State *L, int index, const char *name) {
    size_t length;
    const char *text = lua_tolstring(L, index, &length);
    return luaL_loadbuffer(L, text, length, name);
}

/* Pushes the function that the text on top of the stack means, an expression or else a statement; or the
 * error. */
static int compile(lua_State *L, const char *name) {
    /* With a variable to close, `return f()` is no tail call, and explain() finds this line on the stack. */
    lua_pushliteral(L, "local heed_prompt <close> = nil return ");
    lua_pushvalue(L, -2);
    lua_concat(L, 2);
    int status = load_text(L, -1, name);
    if (status != LUA_OK) {
        lua_pop(L, 1);
        status = load_text(L, -2, name);
    }
    lua_remove(L, -2);
    return status;
}

/* Reads lines until they are complete. Pushes the function, or the error of a text that can never be one;
 * HH_LINE_END and HH_LINE_INTERRUPTED push nothing. */
static hh_line_status read_input(lua_State *L, hh_lines *lines, const char *name, int *status) {
    const char *line;
    size_t length;
    hh_line_status got = hh_lines_read(lines, "> ", &line, &length);
    if (got != HH_LINE) return got;
    lua_pushlstring(L, line, length);
    while (*status = compile(L, name), is_incomplete(L, *status)) {
        got = hh_lines_read(lines, ">> ", &line, &length);
        if (got == HH_LINE_END) break; /* the error says what is missing */
        lua_pop(L, 1);
        if (got == HH_LINE_INTERRUPTED) {
            lua_pop(L, 1);
            return got;
        }
        lua_pushliteral(L, "\n");
        lua_pushlstring(L, line, length);
        lua_concat(L, 3);
    }
    hh_lines_remember(lines, lua_tostring(L, -2));
    push_inputs(L);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
    lua_remove(L, -2);
    return HH_LINE;
}

/* Prints the values above base with the global print, so that it may be replaced. */
static int print_values(lua_State *L, int base) {
    int count = lua_gettop(L) - base;
    if (count == 0) return LUA_OK;
    luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
    lua_getglobal(L, "print");
    lua_insert(L, base + 1);
    return hh_call(L, count, 0, explain);
}

static bool run_input(lua_State *L, int status, const char *name) {
    int base = lua_gettop(L) - 1;
    if (status != LUA_OK)
        explain_syntax(L, name);
    else if ((status = hh_call(L, 0, LUA_MULTRET, explain)) == LUA_OK)
        status = print_values(L, base);
    if (status != LUA_OK) show_error(L);
    lua_settop(L, base);
    return status == LUA_OK;
}

int hh_repl(lua_State *L) {
    hh_lines *lines = hh_lines_open();
    if (!lines) return luaL_error(L, "not enough memory");
    int failed = 0;
    for (int number = 1;; number++) {
        char name[32];
        snprintf(name, sizeof name, "=input %d", number);
        int status = LUA_OK;
        hh_line_status got = read_input(L, lines, name, &status);
        if (got == HH_LINE_END) break;
        if (got == HH_LINE_INTERRUPTED) continue;
        if (!run_input(L, status, name)) failed++;
        fflush(stdout);
    }
    if (hh_lines_is_terminal(lines)) putchar('\n');
    hh_lines_close(lines);
    return failed;
}
