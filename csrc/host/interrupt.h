/* interrupt.h: Ctrl-C. While a script or a line of the prompt runs, SIGINT makes the next safe point of
 * the computation (between two tasks of an operation, or between two instructions of Lua) raise the
 * string "interrupted", which pcall can catch. The third within a second no pcall can keep: it is raised again
 * and again until the whole computation has ended; nor the first one, where functions wait for it
 * (heed.on_interrupt). A computation that gives no such point for a second ends
 * with the process when Ctrl-C comes again. Hooks of the person's own come back afterwards. Only the executable touches signals; the library never does.
 */
#ifndef HH_INTERRUPT_H
#define HH_INTERRUPT_H

#include <stdbool.h>

#include <lua.h>

/* Once, before the first computation, in the thread that will run Lua. */
void hh_interrupt_install(lua_State *L);
/* Says so, once in a computation, before a Ctrl-C that would end the process. */
void hh_interrupt_warn_first(void);
/* Brackets of a computation. Outside of them Ctrl-C only leaves a mark for hh_interrupt_take. */
void hh_interrupt_begin(void);
void hh_interrupt_end(void);
/* From now on the first Ctrl-C ends the whole computation. */
void hh_interrupt_ends_all(bool ends);
/* Whether the last computation was ended so, by the first or by the third. */
bool hh_interrupt_ended(void);
/* Whether Ctrl-C came, and the same with the mark taken away. */
bool hh_interrupt_pending(void);
bool hh_interrupt_take(void);
/* Gives SIGINT back its default effect and dies of it, as a shell expects of an interrupted command. */
void hh_interrupt_die(void);

#endif
