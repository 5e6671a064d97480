/* function.h: what heed.func (function.c) and heed.recompute (recompute.c) share: contexts.
 *
 * A context is a userdata that the graph's node points to weakly and that its results' handles keep alive.
 */
#ifndef HD_LUA_FUNCTION_H
#define HD_LUA_FUNCTION_H

#include "lua/runtime/check.h"

/* User values of a context. UV_FIELDS: of func, the script's; of recompute, the arguments. */
enum {
    HD_FN_FIELDS = 1,
    HD_FN_BACKWARD,
    HD_FN_UPSTREAM,
    HD_FN_SAVED,
    HD_FN_AGAIN,
    HD_FN_COUNT = HD_FN_AGAIN
};

typedef struct hd_function_context {
    hd_lua *h;
    hd_node *node; /* not owned; NULL: not recorded, or the graph let go of it */
    bool counted;  /* in live_functions */
    bool released; /* backward has passed */
    int saved_count;
    hd_saved *saved; /* memory of user value HD_FN_SAVED; owned references */
    /* of recompute */
    bool is_recompute;
    hd_rng rng;          /* the training stream as the function found it */
    uint64_t unrecorded; /* cx->unrecorded then */
} hd_function_context;

/* A new context, pushed; the function at index `backward` is its user value HD_FN_BACKWARD. */
hd_function_context *hd_push_function_context(hd_call *c, int backward);
/* Detached aliases of the tensors at indices first..last (others hold their places), guarded against being overwritten.
 * Raises. The context is at index `context`. */
void hd_function_save(hd_call *c, int context, int first, int last);
void hd_function_release_saved(hd_function_context *k);
/* Raises when saved tensor i (from 0), which is called so in the message, was overwritten. */
void hd_function_check_saved(hd_call *c, const hd_function_context *k, int i, const char *what);
/* The end of a call whose stack is: arguments 1..n, context, guard, results. A continuation for lua_callk. */
int hd_function_finish(lua_State *L, int status, lua_KContext n_arguments);
/* Pushes the context of a node; raises when it was collected. */
void hd_push_context_of(hd_call *c, const hd_node *node);

/* Runs f(job as light userdata), a function of ours without upvalues, protected, in the coroutine that runs backward;
 * with recording on or off. What it raises is raised again when the graph has put itself in order. */
hd_status hd_call_lua(hd_ctx *cx, lua_CFunction f, void *job, bool recording);

/* recompute.c */
hd_status hd_recompute_node(hd_ctx *cx, hd_node *node, hd_tensor **again);

#endif
