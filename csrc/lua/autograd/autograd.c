/* Recording on and off, backward, detach. */
#include "lua/runtime/check.h"

/* ---- guards: no_grad, enable_grad, uninterrupted ----------------------------------------- */

void hd_guard_push(hd_lua *h, hd_guard *g, lua_State *L, bool enabled) {
    *g = (hd_guard){.L = L, .enabled = enabled, .next = h->guards, .link = &h->guards};
    if (g->next) g->next->link = &g->next;
    h->guards = g;
}

void hd_guard_remove(hd_guard *g) {
    if (!g->link) return;
    *g->link = g->next;
    if (g->next) g->next->link = g->link;
    g->link = NULL;
    if (g->holds && g->holds->cx) g->holds->cx->uninterruptible--;
}

static int guard_close(lua_State *L) {
    hd_lua *h = lua_touserdata(L, lua_upvalueindex(1));
    hd_guard *g = hd_to_type(L, h->guard_type, 1);
    if (g) hd_guard_remove(g);
    return 0;
}

static int guarded_results(lua_State *L, int status, lua_KContext context) {
    (void)status, (void)context;
    return lua_gettop(L) - 1; /* all but the guard, which Lua closes as this function returns */
}

/* A userdata that is active from now on; pushed. */
static hd_guard *push_guard(hd_call *c, bool enabled) {
    lua_State *L = c->L;
    hd_guard *g = lua_newuserdatauv(L, sizeof *g, 1);
    g->link = NULL;
    hd_push_uv(L, HD_UV_GUARD);
    lua_setmetatable(L, -2);
    lua_pushthread(L);
    lua_setiuservalue(L, -2, 1); /* the address that tells coroutines apart stays taken while this lives */
    hd_guard_push(c->h, g, L, enabled);
    return g;
}

/* Calls the function at index 1 under the guard on top of the stack. */
static int call_guarded(hd_call *c) {
    lua_State *L = c->L;
    lua_insert(L, 1);
    lua_toclose(L, 1);
    lua_callk(L, c->top - 1, LUA_MULTRET, 0, guarded_results);
    return guarded_results(L, LUA_OK, 0);
}

static void check_function(hd_call *c, const char *expected) {
    if (c->top > 0 && lua_type(c->L, 1) == LUA_TFUNCTION) return;
    if (c->top == 0 || luaL_getmetafield(c->L, 1, "__call") == LUA_TNIL)
        hd_arg_expected(c, 1, "fn", expected);
    lua_settop(c->L, c->top);
}

/* f(...) with recording off (or on): its results. Without f: a value for `local _ <close> =`. */
static int guarded(lua_State *L, const char *name, bool enabled) {
    hd_call c = hd_begin(L, name);
    if (c.top > 0) check_function(&c, "a function, or nothing");
    push_guard(&c, enabled);
    return c.top > 0 ? call_guarded(&c) : 1;
}

static int no_grad(lua_State *L) {
    return guarded(L, "no_grad", false);
}
static int enable_grad(lua_State *L) {
    return guarded(L, "enable_grad", true);
}

/* uninterrupted(f, ...): an interrupt waits until f has returned. */
static int uninterrupted(lua_State *L) {
    hd_call c = hd_begin(L, "uninterrupted");
    check_function(&c, "a function");
    hd_guard *g = push_guard(&c, true);
    g->L = NULL; /* the grad mode is nobody's */
    g->holds = c.h;
    c.cx->uninterruptible++;
    return call_guarded(&c);
}

/* detect_anomaly(f, ...): its results; without f a value for `local _ <close> =`. */
static int detect_anomaly(lua_State *L) {
    hd_call c = hd_begin(L, "detect_anomaly");
    if (c.top > 0) check_function(&c, "a function, or nothing");
    push_guard(&c, true)->traces = true;
    return c.top > 0 ? call_guarded(&c) : 1;
}

static int is_grad_enabled(lua_State *L) {
    hd_call c = hd_begin(L, "is_grad_enabled");
    lua_pushboolean(L, c.cx->grad_enabled);
    return 1;
}

/* ---- backward ---------------------------------------------------------------------------- */

/* backward(gradient or nil, {retain = false}) */
static int backward(lua_State *L) {
    hd_call c = hd_begin(L, "backward");
    hd_take_options(&c, "retain");
    hd_tensor *root = hd_arg_tensor(&c, 1, "t"), *gradient = hd_opt_tensor(&c, 2, "gradient");
    bool retain = hd_option_boolean(&c, "retain", false);
    lua_State *outer = c.h->backward_state;
    bool outer_retain = c.h->backward_retain;
    hd_retain(root); /* the run may call Lua, which may drop its handle */
    if (gradient) hd_retain(gradient);
    c.h->backward_state = L;
    c.h->backward_retain = retain;
    hd_status status = hd_backward_run(c.cx, root, gradient, retain);
    c.h->backward_state = outer;
    c.h->backward_retain = outer_retain;
    hd_release(gradient);
    hd_release(root);
    hd_try(&c, status);
    if (!outer) hd_clock_collect(L, c.h, true);
    return 0;
}

static int detach(lua_State *L) {
    hd_call c = hd_enter(L, "detach");
    return hd_return(&c, hd_tensor_alias(c.cx, hd_arg_tensor(&c, 1, "t")));
}

static const hd_function functions[] = {
    {"no_grad", no_grad, HD_MODULE},
    {"enable_grad", enable_grad, HD_MODULE},
    {"is_grad_enabled", is_grad_enabled, HD_MODULE},
    {"detect_anomaly", detect_anomaly, HD_MODULE},
    {"backward", backward, HD_BOTH},
    {"detach", detach, HD_BOTH},
    {"uninterrupted", uninterrupted, HD_MODULE},
    {NULL, NULL, 0},
};

void hd_register_autograd(hd_registrar *r) {
    hd_define(r, functions);
    r->h->guard_type = hd_new_type(r, "heed.guard", HD_UV_GUARD);
    hd_define_meta(r, -1, "__close", guard_close, NULL);
    hd_define_meta(r, -1, "__gc", guard_close, NULL);
    lua_pop(r->L, 1);
}
