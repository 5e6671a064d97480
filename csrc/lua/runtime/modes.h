/* modes.h: what is in force for a while: recording off, interrupts that wait, shapes without numbers.
 *
 * A mode belongs to the call that set it and to that call's coroutine, and ends with either, however it ends. A record of
 * it (hd_guard) is closed on the way out by a return or an error; but an error that kills a coroutine closes nothing, and
 * one that yields may never be resumed. So a record counts only while its coroutine can run it:
 *
 *     recording, anomalies   in the coroutine that set it, and in no other
 *     the others             while that coroutine runs, or waits for one that it has resumed
 *
 * Nothing in hd_ctx outlives a call of ours: each finds the modes anew as it begins (hd_set_modes).
 */
#ifndef HD_LUA_MODES_H
#define HD_LUA_MODES_H

#include "lua/runtime/state.h"

typedef enum hd_mode {
    HD_MODE_RECORDING,
    HD_MODE_NO_RECORDING,
    HD_MODE_ANOMALIES,       /* detect_anomaly */
    HD_MODE_UNINTERRUPTED,   /* a cancel waits */
    HD_MODE_SHAPES,          /* tensors of floats have no numbers */
    HD_MODE_DIFFERENTIATING, /* a function runs for its gradients: autograd.lua */
} hd_mode;

/* In a userdata, or on the C stack around a protected call. */
struct hd_guard {
    lua_State *L;
    hd_mode mode;
    hd_guard *next, **link; /* link NULL: not active */
};

void hd_guard_push(hd_lua *h, hd_guard *g, lua_State *L, hd_mode mode);
void hd_guard_remove(hd_guard *g);

/* Is a mode of the others in force? */
bool hd_mode_is_on(const hd_lua *h, hd_mode mode);
/* The modes of coroutine L, into the context. */
void hd_modes_into(hd_lua *h, lua_State *L);

#endif
