/* heed.h: the door for programs that embed heed in their Lua 5.4.
 *
 * Open the library in a state with luaL_requiref(L, "heed", luaopen_heed, 0): all of it comes from libheed,
 * no file is read, and neither package, io, os nor load need exist. Every function here is called with a Lua
 * state (or coroutine) in which it is open, on the thread that runs that state; several states work on
 * several threads.
 */
#ifndef HEED_H
#define HEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>

#include <lua.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HEED_API __attribute__((visibility("default")))
#else
#define HEED_API
#endif

/* The whole library: the table that scripts know as `heed`. */
HEED_API int luaopen_heed(lua_State *L);
/* The part written in C, without Lua sources: `require "heed.core"`. */
HEED_API int luaopen_heed_core(lua_State *L);

/* ---- tensors in and out ------------------------------------------------------------------ */

#define HEED_MAX_DIMS 8

/* What a tensor looks like from outside. Strides are in elements. */
typedef struct heed_view {
    void *data;
    const char
        *dtype; /* "f32", "f64", "i64", "i32", "u8", "bool", "bf16", "f16", "i16", "i8", "u32", "u16" */
    int ndim;
    int64_t shape[HEED_MAX_DIMS];
    int64_t stride[HEED_MAX_DIMS];
} heed_view;

/* Pushes a new contiguous tensor and describes it; when `data` is not NULL, its content is copied from there
 * (in the same layout), else it is zeros. Raises a Lua error when memory fails or an argument is wrong. */
HEED_API void heed_push_tensor(lua_State *L, const char *dtype, int ndim, const int64_t *shape,
                               const void *data, heed_view *view);
/* Describes the tensor at index: true; false when there is something else. The memory is the tensor's own:
 * valid while the tensor stays in Lua. */
HEED_API bool heed_to_tensor(lua_State *L, int index, heed_view *view);
/* The same for an argument of a C function: raises an error that names it. */
HEED_API void heed_check_tensor(lua_State *L, int argument, heed_view *view);
/* After writing into a tensor's memory: gradients that need its former content will refuse rather than be
 * wrong. */
HEED_API void heed_wrote(lua_State *L, int index);

/* Tensors may lie in the pages of a file (heed.models.load). While one does, heed handles SIGBUS: a page that
 * the file lost reads as zeros, and the next operation in Lua raises an error. All other faults go to the
 * handler that the host had installed before. A host that installs one later calls the one that it found
 * for addresses that it does not know; a host that cannot loads with { map = false }. A thread that blocks
 * SIGBUS never maps.
 */

/* ---- interrupting ------------------------------------------------------------------------ */

/* Stops what heed computes in this state: the running (or else the next) operation raises "interrupted". */
HEED_API void heed_interrupt(lua_State *L);
/* The flag behind it. Fetch it once; setting it to 1 is allowed in a signal handler and on any thread. */
HEED_API volatile sig_atomic_t *heed_cancel_flag(lua_State *L);
/* False while what must not be left half done runs (an optimiser's step, heed.uninterrupted): a hook should wait. */
HEED_API bool heed_interruptible(lua_State *L);

#ifdef __cplusplus
}
#endif

#endif
