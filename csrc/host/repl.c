#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <lauxlib.h>

#include "host/interrupt.h"
#include "host/line.h"
#include "host/repl.h"
#include "host/run.h"

#define COLUMNS 80
#define ROUNDS_WITHOUT_HOPE 10

/* Registry: the session. */
static const char session_key;

/* In a full userdata, an upvalue of the functions that the session calls. */
typedef struct host {
    lua_State *L;
    hh_lines *lines;
    struct {
        lua_Hook function;
        int mask, count;
    } hook; /* that the person has set; it sees his inputs only */
} host;

static host *host_of(lua_State *L) {
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* ---- what the session calls ------------------------------------------------------------------------------ */

/* read(prompt): a line; nil at the end, false after Ctrl-C. */
static int host_read(lua_State *L) {
    const char *text;
    size_t length;
    switch (hh_lines_read(host_of(L)->lines, luaL_checkstring(L, 1), &text, &length)) {
    case HH_LINE: lua_pushlstring(L, text, length); break;
    case HH_LINE_END: lua_pushnil(L); break;
    case HH_LINE_INTERRUPTED: lua_pushboolean(L, false); break;
    }
    return 1;
}

static int host_remember(lua_State *L) {
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    if (strlen(text) == length) hh_lines_remember(host_of(L)->lines, text);
    return 0;
}

/* The function is below its arguments, a message handler at the bottom or none. Leaves ok, results. */
static int call(lua_State *L, int arguments, int handler) {
    hh_interrupt_begin();
    int status = lua_pcall(L, arguments, LUA_MULTRET, handler);
    hh_interrupt_end();
    if (status == LUA_ERRERR) lua_gc(L, LUA_GCRESTART); /* the handler stops it for its time */
    lua_pushboolean(L, status == LUA_OK);
    lua_replace(L, 1);
    return lua_gettop(L);
}

/* run(f, handler): ok, results. For what the person wrote: his hook is on. */
static int host_run(lua_State *L) {
    host *h = host_of(L);
    lua_settop(L, 2);
    lua_insert(L, 1);
    lua_sethook(L, h->hook.function, h->hook.mask, h->hook.count);
    int results = call(L, 0, 1);
    h->hook.function = lua_gethook(L);
    h->hook.mask = lua_gethookmask(L);
    h->hook.count = lua_gethookcount(L);
    lua_sethook(L, NULL, 0, 0);
    return results;
}

/* guard(f, ...): ok, results. For work of the session that Ctrl-C may stop. */
static int host_guard(lua_State *L) {
    luaL_checkany(L, 1);
    lua_pushnil(L);
    lua_insert(L, 1);
    return call(L, lua_gettop(L) - 2, 0);
}

static int host_columns(lua_State *L) {
    struct winsize size;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    lua_pushinteger(L, known ? size.ws_col : COLUMNS);
    return 1;
}

/* ---- completion ------------------------------------------------------------------------------------------ */

static char *copied(lua_State *L, int index) {
    const char *text = lua_tostring(L, index);
    return text ? strdup(text) : NULL;
}

typedef struct text {
    const char *bytes;
    size_t length;
} text;

static int complete_protected(lua_State *L) {
    const text *before = lua_touserdata(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &session_key);
    lua_getfield(L, -1, "complete");
    lua_insert(L, -2);
    lua_pushlstring(L, before->bytes, before->length);
    lua_call(L, 2, 3);
    return 3;
}

/* While it works no code of the person's runs: nor do finalizers. */
static hh_completion complete(void *arg, const char *before, size_t length) {
    lua_State *L = ((host *)arg)->L;
    hh_completion c = {0, NULL, NULL};
    int top = lua_gettop(L), collecting = lua_gc(L, LUA_GCISRUNNING);
    lua_gc(L, LUA_GCSTOP);
    lua_pushcfunction(L, complete_protected);
    lua_pushlightuserdata(L, &(text){before, length});
    if (lua_pcall(L, 1, 3, 0) == LUA_OK) {
        c.remove = lua_isnil(L, -3) ? -1 : (int)lua_tointeger(L, -3);
        c.insert = copied(L, -2);
        c.list = copied(L, -1);
    }
    if (collecting == 1) lua_gc(L, LUA_GCRESTART);
    lua_settop(L, top);
    return c;
}

/* ---- the session ----------------------------------------------------------------------------------------- */

static int close_host(lua_State *L) {
    host *h = lua_touserdata(L, 1);
    if (h->lines) hh_lines_close(h->lines);
    h->lines = NULL;
    return 0;
}

/* Pushes a userdata that closes the lines when the state ends, os.exit(true, true) included. */
static host *push_host(lua_State *L) {
    host *h = lua_newuserdatauv(L, sizeof *h, 0);
    memset(h, 0, sizeof *h);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, close_host);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    h->L = L;
    h->lines = hh_lines_open(complete, h);
    if (!h->lines) luaL_error(L, "not enough memory");
    return h;
}

static void set_stream(lua_State *L, const char *name, const char *stream) {
    lua_getglobal(L, "io");
    lua_getfield(L, -1, stream);
    lua_setfield(L, -3, name);
    lua_pop(L, 1);
}

/* Pushes the table heed.prompt.Host. */
static void push_host_table(lua_State *L) {
    static const luaL_Reg functions[] = {{"read", host_read},       {"remember", host_remember},
                                         {"run", host_run},         {"guard", host_guard},
                                         {"columns", host_columns}, {NULL, NULL}};
    luaL_newlibtable(L, functions);
    host *h = push_host(L);
    luaL_setfuncs(L, functions, 1);
    lua_pushboolean(L, hh_lines_is_terminal(h->lines));
    lua_setfield(L, -2, "terminal");
    lua_pushboolean(L, hh_lines_edits(h->lines));
    lua_setfield(L, -2, "edits");
    set_stream(L, "output", "stdout");
    set_stream(L, "errors", "stderr");
}

void hh_repl_prepare(lua_State *L) {
    lua_getglobal(L, "require");
    lua_pushliteral(L, "heed.prompt");
    lua_call(L, 1, 1);
    lua_getfield(L, -1, "new");
    push_host_table(L);
    lua_call(L, 1, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &session_key);
    lua_pop(L, 1);
}

int hh_repl_load(lua_State *L, const char *path) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &session_key);
    lua_getfield(L, -1, "load_script");
    lua_insert(L, -2);
    lua_pushstring(L, path);
    int status = lua_pcall(L, 2, 2, 0);
    if (status != LUA_OK) return status;
    bool loaded = !lua_isnil(L, -2);
    if (!loaded) lua_remove(L, -2);
    lua_settop(L, lua_gettop(L) - loaded);
    return loaded ? LUA_OK : LUA_ERRSYNTAX;
}

int hh_repl_answer(lua_State *L) {
    int words = lua_gettop(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &session_key);
    lua_getfield(L, -1, "answer");
    lua_insert(L, 1);
    lua_insert(L, 2); /* the method, the session, the words */
    lua_call(L, words + 1, 1);
    return 1;
}

static int step_protected(lua_State *L) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &session_key);
    lua_getfield(L, -1, "step");
    lua_insert(L, -2);
    lua_call(L, 1, 1);
    return 1;
}

typedef enum outcome { DONE, FAILED, BROKEN, ENDED } outcome;

/* The session itself can only fail for want of memory; the next input may ask for less. */
static outcome step(lua_State *L) {
    lua_pushcfunction(L, step_protected);
    outcome result;
    if (lua_pcall(L, 0, 1, 0) != LUA_OK) {
        fflush(stdout);
        fprintf(stderr, "%s\n", hh_error_text(L, -1));
        lua_pop(L, 1);
        result = BROKEN;
    } else {
        result = lua_isnil(L, -1) ? ENDED : lua_toboolean(L, -1) ? DONE : FAILED;
    }
    lua_pop(L, 1);
    return result;
}

static void ignore(int number) {
    (void)number;
}

int hh_repl(lua_State *L) {
    bool terminal = isatty(STDIN_FILENO);
    /* Whoever wrote into a pipe that nobody reads gets an error, and the session goes on. A handler, since
     * programs that are started from here must not inherit that the signal is ignored. */
    if (terminal) sigaction(SIGPIPE, &(struct sigaction){.sa_handler = ignore, .sa_flags = SA_RESTART}, NULL);
    if (terminal) hh_interrupt_warn_first();
    int failed = 0, broken = 0;
    for (outcome last = DONE; last != ENDED && broken < ROUNDS_WITHOUT_HOPE;) {
        last = step(L);
        failed += last == FAILED || last == BROKEN;
        broken = last == BROKEN ? broken + 1 : 0;
    }
    return failed;
}
