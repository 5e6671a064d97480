/* at_interrupt.h: what a script wants done when Ctrl-C ends it (heed.on_interrupt). */
#ifndef HH_AT_INTERRUPT_H
#define HH_AT_INTERRUPT_H

#include <stdbool.h>

#include <lua.h>

/* From now on functions may wait for an interrupt, or, as at the prompt, no longer. */
void hh_at_interrupt_listen(lua_State *L, bool on);
/* After a computation: runs what waits if an interrupt has ended it. What goes wrong there is printed. The stack is as
 * before. Whether an interrupt had come. */
bool hh_at_interrupt_run(lua_State *L);

#endif
