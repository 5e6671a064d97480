/* heed.recompute: a part of the graph that is not kept but computed again when backward comes to it.
 *
 * Forward runs the function without recording and makes one node for it. When backward visits the node, the function runs
 * once more, recorded, with the same arguments and the same random numbers, and backward goes on through the graph that
 * this makes (backward.c): its nodes are newer than all that waits, so they come next. Arguments are given with their place in
 * the outer graph; so are the tensors that the function knows otherwise, and parameters. Nothing is cut, nothing joined.
 */
#include "lua/autograd/function.h"

/* ---- forward ----------------------------------------------------------------------------- */

/* A table of arguments 1..n, tensors by handles of their own, which belong to no scope. Pushed. */
static void push_arguments(hd_call *c, int n) {
    lua_State *L = c->L;
    lua_createtable(L, n, 0);
    int list = lua_gettop(L);
    for (int i = 1; i <= n; i++) {
        hd_handle *given = hd_to_handle(L, c->h, i);
        if (!given || !given->t) {
            lua_pushvalue(L, i);
        } else {
            hd_handle *own = hd_push_handle(c);
            hd_handle_unscope(own);
            own->t = hd_retain(given->t);
            lua_getiuservalue(L, i, 1);
            lua_setiuservalue(L, -2, 1);
        }
        lua_rawseti(L, list, i);
    }
}

/* recompute(fn, ...): fn(...). Stack while it runs: arguments 1..n, context, guard. */
static int recompute(lua_State *L) {
    hd_call c = hd_begin(L, "recompute");
    if (c.top < 1 || (lua_type(L, 1) != LUA_TFUNCTION && luaL_getmetafield(L, 1, "__call") == LUA_TNIL))
        hd_arg_expected(&c, 1, "fn", "a function or a module");
    lua_settop(L, c.top);
    int n = c.top - 1;
    luaL_checkstack(L, n + 16, NULL);
    hd_function_context *k = hd_push_function_context(&c, 1);
    lua_remove(L, 1);
    k->is_recompute = true;
    k->rng = c.cx->rng;
    k->unrecorded = c.cx->unrecorded;
    hd_function_save(&c, n + 1, 1, n);
    push_arguments(&c, n);
    lua_pushinteger(L, n);
    lua_setfield(L, -2, "n");
    lua_setiuservalue(L, n + 1, HD_FN_FIELDS);
    lua_pushvalue(L, lua_upvalueindex(3)); /* no_grad() */
    lua_call(L, 0, 1);
    lua_toclose(L, n + 2);
    lua_getiuservalue(L, n + 1, HD_FN_BACKWARD);
    for (int i = 1; i <= n; i++) lua_pushvalue(L, i);
    lua_callk(L, n, LUA_MULTRET, n, hd_function_finish);
    return hd_function_finish(L, LUA_OK, n);
}

/* ---- backward ---------------------------------------------------------------------------- */

typedef struct job {
    hd_node *node;
    hd_tensor **again;
} job;

/* The results at first.., which must look like those of the first time. Their anchors stay with the context at index
 * `context`: functions of Lua's in the new graph live as long as backward may come to them. */
static void take_results(hd_call *c, const job *j, int context, int first, int count) {
    lua_State *L = c->L;
    char expected[HD_SHAPE_TEXT], got[HD_VALUE_TEXT];
    if (count != j->node->num_outputs)
        hd_arg_error(c, "fn", "it returned %d tensors the first time, and %d values now",
                     j->node->num_outputs, count);
    lua_createtable(L, count, 0);
    for (int i = 0; i < count; i++) {
        const hd_output_meta *meta = &j->node->outputs[i];
        hd_handle *handle = hd_to_handle(L, c->h, first + i);
        bool is_recorded = hd_dtype_is_float((hd_dtype)meta->dtype); /* others are of no node */
        bool is_same =
            handle && handle->t && handle->t->dtype == meta->dtype && handle->t->ndim == meta->ndim;
        for (int d = 0; is_same && d < meta->ndim; d++) is_same = handle->t->shape[d] == meta->shape[d];
        if (is_recorded && !is_same)
            hd_arg_error(c, "fn", "its result %d was %s %s the first time, and is %s now", i + 1,
                         hd_dtype_name((hd_dtype)meta->dtype),
                         hd_shape_text(meta->ndim, meta->shape, expected), hd_value_text(c, first + i, got));
        if (is_recorded) j->again[i] = hd_retain(handle->t);
        if (handle) {
            lua_getiuservalue(L, first + i, 1);
            lua_rawseti(L, -2, i + 1);
        }
    }
    lua_setiuservalue(L, context, HD_FN_AGAIN);
}

static int run_again(lua_State *L) {
    hd_call c = hd_begin(L, "recompute");
    job *j = lua_touserdata(L, 1);
    hd_push_context_of(&c, j->node);
    int context = lua_gettop(L);
    hd_function_context *k = lua_touserdata(L, context);
    if (k->released)
        hd_arg_error(&c, "fn", "its arguments are released; the first backward needs {retain = true}");
    for (int i = 0; i < k->saved_count; i++) hd_function_check_saved(&c, k, i, "argument");
    lua_getiuservalue(L, context, HD_FN_BACKWARD);
    lua_getiuservalue(L, context, HD_FN_FIELDS);
    int function = context + 1, list = context + 2;
    lua_getfield(L, list, "n");
    int n = (int)lua_tointeger(L, -1);
    luaL_checkstack(L, n + 16, NULL);
    lua_pushvalue(L, function);
    for (int i = 1; i <= n; i++) lua_rawgeti(L, list, i);
    int first = list + 2;
    lua_call(L, n, LUA_MULTRET);
    take_results(&c, j, context, first, lua_gettop(L) - first + 1);
    if (c.h->backward_retain) return 0;
    hd_function_release_saved(k);
    k->released = true;
    lua_pushnil(L);
    lua_setiuservalue(L, context, HD_FN_FIELDS);
    return 0;
}

hd_status hd_recompute_node(hd_ctx *cx, hd_node *node, hd_tensor **again) {
    hd_lua *h = cx->host;
    hd_function_context *k = node->payload;
    if (!k || !h->backward_state)
        return hd_fail(cx, HD_EARG,
                       "recompute: its function is gone: the state let go of all that led to it");
    job j = {node, again};
    hd_rng training = cx->rng;
    bool retain = h->backward_retain;
    cx->rng = k->rng;
    hd_status status = hd_call_lua(cx, run_again, &j, true);
    cx->rng = training;
    h->backward_retain = retain;
    return status;
}

void hd_register_recompute(hd_registrar *r) {
    lua_State *L = r->L;
    lua_pushvalue(L, r->record);
    lua_pushvalue(L, r->tensor);
    lua_getfield(L, r->module, "no_grad");
    lua_pushcclosure(L, recompute, 3);
    lua_setfield(L, r->module, "recompute");
}
