/* heed.func: operations whose forward and backward are written in Lua.
 *
 * The graph is C and never refers to Lua, so that the collector sees every cycle. What a node of ours needs
 * (its context: the backward function, fields, saved tensors) lives in a userdata; the node knows its address
 * only, the context knows the node, and whichever dies first tells the other. Who keeps the context alive?
 * Everything that could still run it backward: a recorded result keeps an anchor (user value 1), which is the
 * context of the function that made it, or what its arguments' anchors were, joined. A context keeps the
 * anchors of its own arguments. So closure -> tensor -> anchor -> context -> closure is a cycle of Lua's, and
 * is collected; a node whose tensors in between are gone is still reached through the anchor of the last.
 * While no context is alive, recording an operation costs one comparison more.
 */
#include "lua/autograd/function.h"

#include <string.h>

#include "lua/runtime/modes.h"

typedef hd_function_context context;

/* ---- anchors ----------------------------------------------------------------------------- */

/* The anchor on top of the stack (nil too) joins what is at index acc; popped. *joined: acc is a list of this
 * call's. */
static void join(lua_State *L, int acc, bool *joined) {
    if (lua_isnil(L, -1) || lua_rawequal(L, -1, acc)) {
        lua_pop(L, 1);
    } else if (lua_isnil(L, acc)) {
        lua_replace(L, acc);
    } else if (*joined) {
        lua_rawseti(L, acc, (lua_Integer)lua_rawlen(L, acc) + 1);
    } else {
        lua_createtable(L, 2, 0);
        lua_pushvalue(L, acc);
        lua_rawseti(L, -2, 1);
        lua_insert(L, -2);
        lua_rawseti(L, -2, 2);
        lua_replace(L, acc);
        *joined = true;
    }
}

static void join_argument(lua_State *L, const hd_lua *h, int index, int acc, bool *joined) {
    if (hd_to_handle(L, h, index)) {
        lua_getiuservalue(L, index, 1);
        join(L, acc, joined);
    } else if (hd_to_type(L, h->mask_type, index)) {
        if (lua_getiuservalue(L, index, 1) == LUA_TUSERDATA) { /* its bias */
            lua_getiuservalue(L, -1, 1);
            join(L, acc, joined);
        }
        lua_pop(L, 1);
    } else if (lua_type(L, index) == LUA_TTABLE) {
        lua_Unsigned count = lua_rawlen(L, index),
                     looked_at = count < HD_MOST_LISTED ? count : HD_MOST_LISTED;
        for (lua_Unsigned i = 1; i <= looked_at; i++) {
            if (lua_rawgeti(L, index, (lua_Integer)i) == LUA_TUSERDATA && hd_to_handle(L, h, -1)) {
                lua_getiuservalue(L, -1, 1);
                join(L, acc, joined);
            }
            lua_pop(L, 1);
        }
    }
}

/* Pushes the joined anchor of the values at 1..count; nil when there is none. */
static void push_anchor(lua_State *L, const hd_lua *h, int count) {
    bool joined = false;
    luaL_checkstack(L, 8, NULL);
    lua_pushnil(L);
    int acc = lua_gettop(L);
    for (int i = 1; i <= count; i++) join_argument(L, h, i, acc, &joined);
}

void hd_anchor_result(hd_call *c, int index) {
    hd_handle *handle = lua_touserdata(c->L, index);
    if (!handle->t || !handle->t->node) return;
    push_anchor(c->L, c->h, c->reads_fields ? lua_gettop(c->L) : c->top);
    lua_setiuservalue(c->L, index, 1);
}

/* ---- contexts ---------------------------------------------------------------------------- */

void hd_function_release_saved(context *k) {
    for (int i = 0; i < k->saved_count; i++) {
        hd_release(k->saved[i].tensor);
        k->saved[i].tensor = NULL;
    }
}

static int context_collected(lua_State *L) {
    context *k = lua_touserdata(L, 1);
    if (k->node) k->node->payload = NULL;
    k->node = NULL;
    if (k->counted) k->h->live_functions--;
    k->counted = false;
    hd_function_release_saved(k);
    return 0;
}

static context *check_context(hd_call *c) {
    context *k = hd_to_type(c->L, c->h->function_type, 1);
    if (!k) hd_arg_expected(c, 1, "ctx", "the context of a function (ctx:save(...), with a colon)");
    return k;
}

void hd_function_save(hd_call *c, int index, int first, int last) {
    lua_State *L = c->L;
    context *k = lua_touserdata(L, index);
    int count = last - first + 1;
    hd_saved *saved = lua_newuserdatauv(L, sizeof *saved * (size_t)(count + 1), 0);
    memset(saved, 0, sizeof *saved * (size_t)(count + 1));
    hd_function_release_saved(k);
    lua_setiuservalue(L, index, HD_FN_SAVED);
    k->saved = saved;
    k->saved_count = count;
    for (int i = 0; i < count; i++) {
        hd_handle *handle = hd_to_handle(L, c->h, first + i);
        if (!handle || !handle->t) continue;
        saved[i] = (hd_saved){hd_tensor_alias(c->cx, handle->t), handle->t->storage->version};
        if (!saved[i].tensor) hd_raise(c);
    }
}

void hd_function_check_saved(hd_call *c, const context *k, int i, const char *what) {
    const hd_saved *s = &k->saved[i];
    char text[HD_SHAPE_TEXT];
    if (s->tensor && s->tensor->storage->version != s->version)
        hd_arg_error(c, k->is_recompute ? "fn" : "ctx",
                     "%s %d, %s, was overwritten in place since; clone it before writing", what, i + 1,
                     hd_tensor_shape_text(s->tensor, text));
}

/* ctx:save(...): tensors (nil holds its place) for backward, guarded against being overwritten. */
static int save(lua_State *L) {
    hd_call c = hd_begin(L, "ctx:save");
    check_context(&c);
    for (int i = 2; i <= c.top; i++) hd_opt_tensor(&c, i, "values (keep others in fields, ctx.name = value)");
    hd_function_save(&c, 1, 2, c.top);
    return 0;
}

/* ctx:saved() returns them. */
static int saved(lua_State *L) {
    hd_call c = hd_begin(L, "ctx:saved");
    context *k = check_context(&c);
    if (k->released)
        hd_arg_error(&c, "ctx", "what was saved is released; the first backward needs {retain = true}");
    int count = k->saved_count, first = lua_gettop(L) + 1;
    luaL_checkstack(L, count + 4, "too many saved tensors");
    for (int i = 0; i < count; i++) hd_push_handle(&c);
    if (k->saved_count != count) /* making them may run finalizers */
        hd_arg_error(&c, "ctx", "something else was saved while this was asked for, by a finalizer");
    for (int i = 0; i < count; i++) {
        if (k->saved[i].tensor) {
            hd_function_check_saved(&c, k, i, "saved tensor");
            hd_handle *handle = lua_touserdata(L, first + i);
            handle->t = hd_tensor_alias(c.cx, k->saved[i].tensor);
            if (!handle->t) hd_raise(&c);
        } else {
            lua_pushnil(L);
            lua_replace(L, first + i);
        }
    }
    return count;
}

/* ctx:needs(i): does argument i of forward want a gradient? Of use in backward. */
static int needs(lua_State *L) {
    hd_call c = hd_begin(L, "ctx:needs");
    context *k = check_context(&c);
    int64_t i = hd_arg_integer(&c, 2, "i");
    lua_pushboolean(L, k->node && i >= 1 && i <= k->node->num_inputs && hd_node_needs(k->node, (int)i - 1));
    return 1;
}

/* Upvalue 3: methods. Fields are the script's. */
static int context_index(lua_State *L) {
    hd_call c = hd_begin(L, "heed.func context");
    check_context(&c);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(3)) != LUA_TNIL) return 1;
    if (lua_getiuservalue(L, 1, HD_FN_FIELDS) != LUA_TTABLE) return 1;
    lua_pushvalue(L, 2);
    lua_rawget(L, -2);
    return 1;
}

static int context_newindex(lua_State *L) {
    hd_call c = hd_begin(L, "heed.func context");
    check_context(&c);
    lua_settop(L, 3);
    if (lua_getiuservalue(L, 1, HD_FN_FIELDS) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_setiuservalue(L, 1, HD_FN_FIELDS);
    }
    lua_insert(L, 2);
    lua_settable(L, 2);
    return 0;
}

/* ---- backward: from the graph into Lua --------------------------------------------------- */

typedef struct job {
    hd_node *node;
    hd_tensor *const *grads;
    hd_tensor **grad_inputs;
} job;

static void push_gradient(hd_call *c, const job *j, int output) {
    hd_handle *handle = hd_push_handle(c);
    if (j->grads[output])
        handle->t = hd_retain(j->grads[output]);
    else
        handle->t = hd_tensor_zeros(c->cx, (hd_dtype)j->node->outputs[output].dtype,
                                    j->node->outputs[output].ndim, j->node->outputs[output].shape);
    if (!handle->t) hd_raise(c);
}

static void take_gradients(hd_call *c, const job *j, int first, int count) {
    lua_State *L = c->L;
    for (int i = 0; i < count; i++) {
        bool extra = i >= j->node->num_inputs;
        char text[HD_VALUE_TEXT];
        if (lua_isnil(L, first + i)) continue;
        hd_handle *handle = extra ? NULL : hd_to_handle(L, c->h, first + i);
        if (extra)
            hd_arg_error(c, "backward",
                         "expected one gradient for each of the %d arguments of forward, got %d values",
                         j->node->num_inputs, count);
        if (!handle || !handle->t)
            hd_arg_error(c, "backward", "expected a tensor or nil as gradient of argument %d, got %s", i + 1,
                         hd_value_text(c, first + i, text));
        if (hd_node_needs(j->node, i) && !j->grad_inputs[i]) j->grad_inputs[i] = hd_retain(handle->t);
    }
}

void hd_push_context_of(hd_call *c, const hd_node *node) {
    hd_push_uv(c->L, HD_UV_CONTEXTS);
    if (!node->payload || lua_rawgetp(c->L, -1, node->payload) != LUA_TUSERDATA)
        hd_arg_error(c, "backward", "the function was collected");
}

static int run_backward(lua_State *L) {
    hd_call c = hd_begin(L, "func");
    job *j = lua_touserdata(L, 1);
    luaL_checkstack(L, j->node->num_outputs + 8, NULL);
    hd_push_context_of(&c, j->node);
    lua_getiuservalue(L, -1, HD_FN_BACKWARD);
    lua_insert(L, -2);
    for (int i = 0; i < j->node->num_outputs; i++) push_gradient(&c, j, i);
    int base = lua_gettop(L) - j->node->num_outputs - 1;
    lua_call(L, j->node->num_outputs + 1, LUA_MULTRET);
    take_gradients(&c, j, base, lua_gettop(L) - base + 1);
    return 0;
}

/* Calls the function at index 2 (without upvalues) with those of ours, on the job at index 1. A light function itself:
 * making it cannot fail. */
static int enter_lua(lua_State *L) {
    lua_CFunction f = lua_tocfunction(L, 2);
    lua_settop(L, 1);
    hd_lua_push_record(L);
    lua_getiuservalue(L, -1, HD_UV_TENSOR);
    lua_pushcclosure(L, f, 2);
    lua_insert(L, 1);
    lua_call(L, 1, 0);
    return 0;
}

/* What this library's own Lua raises says all there is to say. */
static bool is_raised_by_us(lua_State *L) {
    lua_Debug ar;
    for (int level = 1; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "S", &ar);
        if (*ar.what != 'C') return hd_is_own_source(ar.source);
    }
    return false;
}

static int add_traceback(lua_State *L) {
    if (lua_type(L, 1) != LUA_TSTRING || strcmp(lua_tostring(L, 1), "interrupted") == 0 || is_raised_by_us(L))
        return 1;
    luaL_traceback(L, L, lua_tostring(L, 1), 1);
    return 1;
}

/* The error on top of the stack is kept until the graph has put itself in order, then raised again
 * (state.c). */
static hd_status keep_error(hd_ctx *cx, lua_State *L) {
    hd_lua_push_record(L);
    lua_insert(L, -2);
    lua_setiuservalue(L, -2, HD_UV_ERROR);
    lua_pop(L, 1);
    return hd_fail(cx, HD_EFOREIGN, "a function of heed.func raised an error");
}

hd_status hd_call_lua(hd_ctx *cx, lua_CFunction f, void *job, bool recording) {
    hd_lua *h = cx->host;
    lua_State *L = h->backward_state;
    if (!lua_checkstack(L, 8)) return hd_fail(cx, HD_ENOMEM, "func: Lua's stack is full");
    hd_guard guard;
    int top = lua_gettop(L);
    bool skipping = cx->skipping;
    hd_guard_push(h, &guard, L, recording ? HD_MODE_RECORDING : HD_MODE_NO_RECORDING);
    lua_pushcfunction(L, add_traceback);
    lua_pushcfunction(L, enter_lua);
    lua_pushlightuserdata(L, job);
    lua_pushcfunction(L, f);
    int failed = lua_pcall(L, 2, 0, top + 1);
    hd_guard_remove(&guard);
    hd_modes_into(h, L); /* as backward had them */
    cx->grad_enabled = false;
    cx->skipping = skipping;
    hd_status status = failed ? keep_error(cx, L) : HD_OK;
    lua_settop(L, top);
    return status;
}

static hd_status function_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                   hd_tensor **grad_inputs) {
    hd_lua *h = cx->host;
    context *k = node->payload;
    if (!k || !h->backward_state)
        return hd_fail(cx, HD_EARG, "func: its Lua function is gone: the state let go of all that led to it");
    job j = {node, grads, grad_inputs};
    bool retain = h->backward_retain;
    hd_status status = hd_call_lua(cx, run_backward, &j, false);
    if (status || retain || node->payload != k) return status;
    hd_function_release_saved(k);
    k->released = true;
    return HD_OK;
}

static void function_release(hd_node *node) {
    context *k = node->payload;
    if (k) k->node = NULL;
}

static const hd_node_class function_class = {"func", function_backward, function_release};
static const hd_node_class recompute_class = {"recompute", function_backward, function_release};

/* ---- forward: from Lua into the graph ---------------------------------------------------- */

/* Stack of a call: 1..n arguments, n+1 context, n+2 guard, then what forward returned. */

hd_function_context *hd_push_function_context(hd_call *c, int backward) {
    lua_State *L = c->L;
    context *k = lua_newuserdatauv(L, sizeof *k, HD_FN_COUNT);
    *k = (context){.h = c->h};
    hd_push_uv(L, HD_UV_FUNCTION);
    lua_setmetatable(L, -2);
    lua_pushvalue(L, backward);
    lua_setiuservalue(L, -2, HD_FN_BACKWARD);
    return k;
}

static bool shares_storage(const hd_tensor *t, int count, hd_tensor *const *inputs) {
    for (int i = 0; i < count; i++)
        if (inputs[i] && inputs[i]->storage == t->storage) return true;
    return false;
}

/* Fills outputs[0..count) with aliases of results[...], those of floats recorded under one new node. */
static hd_status record(hd_ctx *cx, context *k, int num_inputs, hd_tensor *const *inputs, int count,
                        hd_handle *const *results, hd_handle *const *outputs) {
    hd_node *node =
        hd_node_new(cx, k->is_recompute ? &recompute_class : &function_class, num_inputs, inputs, count);
    if (!node) return cx->error.status;
    if (k->is_recompute) node->recompute = hd_recompute_node;
    node->payload = k;
    k->node = node;
    hd_status status = HD_OK;
    for (int i = 0; i < count && !status; i++) {
        hd_tensor *t = hd_tensor_alias(cx, results[i]->t);
        outputs[i]->t = t;
        if (!t)
            status = cx->error.status;
        else if (hd_dtype_is_float((hd_dtype)t->dtype)) {
            t->is_view = shares_storage(t, num_inputs, inputs);
            hd_node_output(node, i, t);
        }
    }
    hd_node_release_ref(node);
    return status;
}

/* The anchor of the arguments goes into the context, the context into each recorded output, and the context
 * into the (weak) table by its address. */
static void anchor_outputs(hd_call *c, context *k, int n, int first_output, int count) {
    lua_State *L = c->L;
    for (int i = 0; i < count; i++) {
        lua_pushvalue(L, n + 1);
        lua_setiuservalue(L, first_output + i, 1);
    }
    c->h->live_functions++;
    k->counted = true;
}

/* Is there anything to go back through? What a recomputed function met is not among its arguments. */
static bool wants_recording(hd_ctx *cx, const context *k, int n, hd_tensor *const *inputs) {
    return hd_wants_grad(cx, n, inputs) ||
           (k->is_recompute && cx->grad_enabled && cx->unrecorded != k->unrecorded);
}

int hd_function_finish(lua_State *L, int status, lua_KContext n_arguments) {
    (void)status;
    int n = (int)n_arguments, first = n + 3, count = lua_gettop(L) - n - 2;
    lua_closeslot(L, n + 2);
    context *k = lua_touserdata(L, n + 1);
    hd_call c = hd_begin(L, k->is_recompute ? "recompute" : "func");
    c.top = n;
    const char *function = k->is_recompute ? "fn" : "forward";
    char text[HD_VALUE_TEXT];
    if (count == 0) hd_arg_error(&c, function, "expected at least one tensor, it returned nothing");
    luaL_checkstack(L, count + 16, NULL);
    hd_tensor **inputs = lua_newuserdatauv(L, sizeof *inputs * (size_t)(n + 1), 0);
    hd_handle **results = lua_newuserdatauv(L, sizeof *results * 2 * (size_t)count, 0),
              **outputs = results + count;
    for (int i = 0; i < count; i++) {
        results[i] = hd_to_handle(L, c.h, first + i);
        if (!results[i] || !results[i]->t)
            hd_arg_error(&c, function, "expected tensors, it returned %s",
                         hd_value_text(&c, first + i, text));
    }
    push_anchor(L, c.h, n);
    lua_setiuservalue(L, n + 1, HD_FN_UPSTREAM);
    hd_push_uv(L, HD_UV_CONTEXTS);
    lua_pushvalue(L, n + 1);
    lua_rawsetp(L, -2, k);
    int first_output = lua_gettop(L) + 1;
    for (int i = 0; i < count; i++) outputs[i] = hd_push_handle(&c);
    for (int i = 0; i < n; i++) {
        hd_handle *handle = hd_to_handle(L, c.h, i + 1);
        inputs[i] = handle ? handle->t : NULL;
    }
    if (!wants_recording(c.cx, k, n, inputs)) {
        hd_function_release_saved(k);
        lua_pushnil(L);
        lua_setiuservalue(L, n + 1, HD_FN_FIELDS);
        lua_settop(L, first + count - 1);
        return count;
    }
    for (int i = 0; i < k->saved_count && k->is_recompute; i++) hd_function_check_saved(&c, k, i, "argument");
    hd_try(&c, record(c.cx, k, n, inputs, count, results, outputs));
    anchor_outputs(&c, k, n, first_output, count);
    return count;
}

/* What heed.func returns. Upvalues 3 and 4: forward and backward. */
static int call(lua_State *L) {
    hd_call c = hd_begin(L, "func");
    int n = c.top;
    luaL_checkstack(L, n + 8, NULL);
    hd_push_function_context(&c, lua_upvalueindex(4));
    lua_pushvalue(L, lua_upvalueindex(5)); /* no_grad() */
    lua_call(L, 0, 1);
    lua_toclose(L, n + 2);
    lua_pushvalue(L, lua_upvalueindex(3));
    lua_pushvalue(L, n + 1);
    for (int i = 1; i <= n; i++) lua_pushvalue(L, i);
    lua_callk(L, n + 1, LUA_MULTRET, n, hd_function_finish);
    return hd_function_finish(L, LUA_OK, n);
}

static bool is_callable(lua_State *L, int index) {
    if (lua_type(L, index) == LUA_TFUNCTION) return true;
    if (luaL_getmetafield(L, index, "__call") == LUA_TNIL) return false;
    lua_pop(L, 1);
    return true;
}

/* func(forward(ctx, ...), backward(ctx, grad, ...)): a function of the arguments of forward after ctx.
 * backward gets one gradient for each result and returns one (or nil) for each argument. */
static int func(lua_State *L) {
    hd_call c = hd_begin(L, "func");
    hd_no_more(&c, 2);
    if (c.top < 1 || !is_callable(L, 1)) hd_arg_expected(&c, 1, "forward", "a function");
    if (c.top < 2 || !is_callable(L, 2)) hd_arg_expected(&c, 2, "backward", "a function");
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    hd_push_uv(L, HD_UV_MODULE);
    lua_getfield(L, -1, "no_grad");
    lua_remove(L, -2);
    lua_pushcclosure(L, call, 5);
    return 1;
}

static const hd_function functions[] = {{"func", func, HD_MODULE}, {NULL, NULL, 0}};

void hd_register_function(hd_registrar *r) {
    lua_State *L = r->L;
    hd_define(r, functions);
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_setiuservalue(L, r->record, HD_UV_CONTEXTS);
    r->h->function_type = hd_new_type(r, "heed.func.context", HD_UV_FUNCTION);
    int type = lua_gettop(L);
    hd_define_meta(r, type, "__gc", context_collected, NULL);
    hd_define_meta(r, type, "__newindex", context_newindex, NULL);
    lua_pushvalue(L, r->record);
    lua_pushvalue(L, r->tensor);
    lua_newtable(L);
    hd_define_meta(r, -1, "save", save, NULL);
    hd_define_meta(r, -1, "saved", saved, NULL);
    hd_define_meta(r, -1, "needs", needs, NULL);
    lua_pushcclosure(L, context_index, 3);
    lua_setfield(L, type, "__index");
    lua_settop(L, type - 1);
}
