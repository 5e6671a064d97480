/* run.h: calling Lua with a message handler, and saying what went wrong. */
#ifndef HH_RUN_H
#define HH_RUN_H

#include <lua.h>

/* lua_pcall, interruptible; handler turns the error value into what is left on the stack. */
int hh_call(lua_State *L, int arguments, int results, lua_CFunction handler);
/* Message handler for scripts: the error as text, then the traceback. Other values pass untouched. */
int hh_traceback(lua_State *L);
/* Of a script that did not parse, the message on top of the stack: its line and a hint go below it. */
void hh_explain_syntax(lua_State *L, const char *path);
/* The error value at index as text, left on top of the stack: its __tostring, or what kind of value it is. */
const char *hh_error_text(lua_State *L, int index);
/* For another status than LUA_OK: pops the error value and prints it after "heed: ". Returns status, or
 * HH_INTERRUPTED when that is what the error says. */
int hh_report(lua_State *L, int status);
#define HH_INTERRUPTED 100

#endif
