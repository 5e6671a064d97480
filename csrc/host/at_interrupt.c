#include <stdio.h>

#include <lauxlib.h>

#include "host/at_interrupt.h"
#include "host/interrupt.h"
#include "host/run.h"

/* Lua tells whether any function waits. */
static int told(lua_State *L) {
    hh_interrupt_ends_all(lua_toboolean(L, 1));
    return 0;
}

static int report(lua_State *L) {
    fflush(stdout);
    fprintf(stderr, "heed: at the interrupt: %s\n", hh_error_text(L, 1));
    return 0;
}

/* heed.interrupts.NAME(argument), protected; what it says when it fails is printed. */
static void call(lua_State *L, const char *name, lua_CFunction argument) {
    int top = lua_gettop(L);
    lua_getglobal(L, "require");
    lua_pushliteral(L, "heed.interrupts");
    if (lua_pcall(L, 1, 1, 0) == LUA_OK && lua_type(L, -1) == LUA_TTABLE) {
        lua_getfield(L, -1, name);
        if (argument)
            lua_pushcfunction(L, argument);
        else
            lua_pushnil(L);
        hh_report(L, hh_call(L, 1, 0, hh_traceback));
    }
    lua_settop(L, top);
}

void hh_at_interrupt_listen(lua_State *L, bool on) {
    call(L, "attach", on ? told : NULL);
    if (!on) hh_interrupt_ends_all(false);
}

bool hh_at_interrupt_run(lua_State *L) {
    if (!hh_interrupt_ended()) return false;
    call(L, "run", report);
    return true;
}
