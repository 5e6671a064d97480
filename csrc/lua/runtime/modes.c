#include "lua/runtime/modes.h"

#include <stdio.h>

#include "lua/runtime/check.h"

/* ---- records --------------------------------------------------------------------------------- */

void hd_guard_push(hd_lua *h, hd_guard *g, lua_State *L, hd_mode mode) {
    *g = (hd_guard){.L = L, .mode = mode, .next = h->guards, .link = &h->guards};
    if (g->next) g->next->link = &g->next;
    h->guards = g;
}

void hd_guard_remove(hd_guard *g) {
    if (!g->link) return;
    *g->link = g->next;
    if (g->next) g->next->link = g->link;
    g->link = NULL;
}

/* ---- what is in force ------------------------------------------------------------------------ */

static bool grad_enabled(const hd_lua *h, const lua_State *L) {
    for (const hd_guard *g = h->guards; g; g = g->next)
        if (g->L == L && g->mode <= HD_MODE_NO_RECORDING) return g->mode == HD_MODE_RECORDING;
    return true;
}

static bool detects_anomaly(const hd_lua *h, const lua_State *L) {
    for (const hd_guard *g = h->guards; g; g = g->next)
        if (g->L == L && g->mode == HD_MODE_ANOMALIES) return true;
    return false;
}

/* A coroutine has another status than LUA_OK as soon as it has yielded or an error has ended it. */
bool hd_mode_is_on(const hd_lua *h, hd_mode mode) {
    for (const hd_guard *g = h->guards; g; g = g->next)
        if (g->mode == mode && lua_status(g->L) == LUA_OK) return true;
    return false;
}

/* The line of the innermost Lua function that is not heed's own. Neither allocates nor raises. */
static void user_line(hd_ctx *cx, char *buffer, size_t size) {
    lua_State *L = ((hd_lua *)cx->host)->trace_state;
    lua_Debug ar;
    for (int level = 0; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (ar.currentline <= 0 || hd_is_own_source(ar.source)) continue;
        snprintf(buffer, size, "%s:%d", ar.short_src, ar.currentline);
        return;
    }
}

void hd_modes_into(hd_lua *h, lua_State *L) {
    hd_ctx *cx = h->cx;
    cx->grad_enabled = true;
    cx->where = NULL;
    cx->shapes_only = false;
    cx->uninterruptible = 0;
    if (!h->guards) return;
    cx->grad_enabled = grad_enabled(h, L);
    cx->where = detects_anomaly(h, L) ? user_line : NULL;
    cx->shapes_only = hd_mode_is_on(h, HD_MODE_SHAPES);
    cx->uninterruptible = hd_mode_is_on(h, HD_MODE_UNINTERRUPTED);
    h->trace_state = L;
}

/* ---- calls under a mode ---------------------------------------------------------------------- */

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
static void push_guard(hd_call *c, hd_mode mode) {
    lua_State *L = c->L;
    hd_guard *g = lua_newuserdatauv(L, sizeof *g, 1);
    g->link = NULL;
    hd_push_uv(L, HD_UV_GUARD);
    lua_setmetatable(L, -2);
    lua_pushthread(L);
    lua_setiuservalue(L, -2, 1); /* the coroutine lives, and its address stays taken, while this does */
    hd_guard_push(c->h, g, L, mode);
}

/* Calls the function at index 1 under the guard on top of the stack. */
static int call_guarded(hd_call *c) {
    lua_State *L = c->L;
    lua_insert(L, 1);
    lua_toclose(L, 1);
    lua_callk(L, c->top - 1, LUA_MULTRET, 0, guarded_results);
    return guarded_results(L, LUA_OK, 0);
}

/* f(...) in a mode: its results. Without f: a value for `local _ <close> =`. */
static int guarded(lua_State *L, const char *name, hd_mode mode) {
    hd_call c = hd_begin(L, name);
    if (c.top > 0) hd_check_function(&c, 1, "fn", "a function, or nothing");
    push_guard(&c, mode);
    return c.top > 0 ? call_guarded(&c) : 1;
}

static int no_grad(lua_State *L) {
    return guarded(L, "no_grad", HD_MODE_NO_RECORDING);
}
static int enable_grad(lua_State *L) {
    return guarded(L, "enable_grad", HD_MODE_RECORDING);
}
static int detect_anomaly(lua_State *L) {
    return guarded(L, "detect_anomaly", HD_MODE_ANOMALIES);
}

static int is_grad_enabled(lua_State *L) {
    hd_call c = hd_begin(L, "is_grad_enabled");
    hd_no_more(&c, 0);
    lua_pushboolean(L, c.cx->grad_enabled);
    return 1;
}

/* uninterrupted(f, ...): an interrupt waits until f has returned, also one that has come before: f may put in order what
 * another has left. */
static int uninterrupted(lua_State *L) {
    hd_lua *h = lua_touserdata(L, lua_upvalueindex(1));
    hd_call c = {.L = L, .h = h, .cx = h->cx, .name = "uninterrupted", .top = lua_gettop(L)};
    if (!h->cx) luaL_error(L, "heed.uninterrupted: this Lua state is closing");
    hd_check_function(&c, 1, "fn", "a function");
    push_guard(&c, HD_MODE_UNINTERRUPTED);
    return call_guarded(&c);
}

/* f(...) in a mode: its results. Without f: is it in force? */
static int guarded_or_asked(lua_State *L, const char *name, hd_mode mode) {
    hd_call c = hd_begin(L, name);
    if (c.top == 0) {
        lua_pushboolean(L, hd_mode_is_on(c.h, mode));
        return 1;
    }
    hd_check_function(&c, 1, "fn", "a function, or nothing");
    push_guard(&c, mode);
    return call_guarded(&c);
}

/* shapes_only(f, ...): while it runs tensors of floats are made without their numbers, and what would compute from them is
 * passed over. */
static int shapes_only(lua_State *L) {
    return guarded_or_asked(L, "shapes_only", HD_MODE_SHAPES);
}
static int differentiating(lua_State *L) {
    return guarded_or_asked(L, "differentiating", HD_MODE_DIFFERENTIATING);
}

static const hd_function functions[] = {
    {"no_grad", no_grad, HD_MODULE},
    {"enable_grad", enable_grad, HD_MODULE},
    {"is_grad_enabled", is_grad_enabled, HD_MODULE},
    {"detect_anomaly", detect_anomaly, HD_MODULE},
    {"uninterrupted", uninterrupted, HD_MODULE},
    {"shapes_only", shapes_only, HD_INTERNAL},
    {"differentiating", differentiating, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_modes(hd_registrar *r) {
    hd_define(r, functions);
    r->h->guard_type = hd_new_type(r, "heed.guard", HD_UV_GUARD);
    hd_define_meta(r, -1, "__close", guard_close, NULL);
    hd_define_meta(r, -1, "__gc", guard_close, NULL);
    lua_pop(r->L, 1);
}
