/* repl.h: the prompt. lua/heed/prompt is all of it but the terminal and the signals, which are here. */
#ifndef HH_REPL_H
#define HH_REPL_H

#include <lua.h>

/* Makes the session, before code of anybody's runs that might break what it needs; heed.prompt gets its host. */
void hh_repl_prepare(lua_State *L);
/* luaL_loadfile of a script whose outermost locals become variables of the session when it has run or
 * failed. */
int hh_repl_load(lua_State *L, const char *path);
/* A function of Lua: prints what help says about its arguments, words. False when that is nothing. */
int hh_repl_answer(lua_State *L);
/* Reads standard input to its end and runs it. Returns the number of inputs that failed. */
int hh_repl(lua_State *L);

#endif
