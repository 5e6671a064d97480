/* repl.h: the prompt. Reads standard input to its end: an expression prints its values, a statement that
 * is not complete goes on on the next line, an error shows its message and the lines of the person's own
 * that led to it. Returns the number of inputs that failed. */
#ifndef HH_REPL_H
#define HH_REPL_H

#include <lua.h>

int hh_repl(lua_State *L);

#endif
