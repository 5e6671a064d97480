#include "lua/runtime/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mapping.h"
#include "heed.h"
#include "kernels/gemm.h"
#include "lua/runtime/check.h"
#include "lua/runtime/modes.h"

static const char record_key = 0;

void hd_lua_push_record(lua_State *L) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &record_key);
}

hd_lua *hd_lua_of(lua_State *L) {
    hd_lua_push_record(L);
    hd_lua *h = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return h;
}

void hd_push_uv(lua_State *L, int n) {
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_getiuservalue(L, -1, n);
    lua_remove(L, -2);
}

/* ---- a call ------------------------------------------------------------------------------ */

bool hd_is_own_source(const char *source) {
    return strncmp(source, "@heed/", 6) == 0 || strncmp(source, "@lua/heed/", 10) == 0 ||
           strstr(source, "/lua/heed/") || strstr(source, "/lua/5.4/heed/");
}

void hd_set_modes(hd_call *c) {
    hd_modes_into(c->h, c->L);
    c->cx->skipping = c->skipping;
}

static void begin_slowly(hd_call *c) {
    if (!c->cx) luaL_error(c->L, "heed.%s: this Lua state is closing", c->name);
    bool in_finalizer = lua_gc(c->L, LUA_GCISRUNNING) == -1; /* its errors are lost */
    if (hd_cancelled(c->cx) && !hd_mode_is_on(c->h, HD_MODE_UNINTERRUPTED) && !in_finalizer) {
        hd_fail(c->cx, HD_ECANCEL, "interrupted");
        hd_raise(c);
    }
    if (!in_finalizer) hd_drop_doomed(c->h);
    hd_clock_collect(c->L, c->h, false);
}

hd_call hd_begin(lua_State *L, const char *name) {
    hd_lua *h = lua_touserdata(L, lua_upvalueindex(1));
    hd_call c = {.L = L, .h = h, .cx = h->cx, .name = name, .top = lua_gettop(L)};
    if (!c.cx || hd_cancelled(c.cx) || c.cx->account->allocated >= h->clock.due) begin_slowly(&c);
    c.rng = c.cx->rng;
    c.losses = hd_mapping_losses();
    hd_set_modes(&c);
    return c;
}

hd_call hd_enter(lua_State *L, const char *name) {
    hd_call c = hd_begin(L, name);
    c.out = hd_push_handle(&c);
    c.slot = c.top + 1;
    return c;
}

hd_handle *hd_push_handle(hd_call *c) {
    lua_State *L = c->L;
    hd_handle *handle = lua_newuserdatauv(L, sizeof *handle, 1);
    *handle = (hd_handle){0};
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_setmetatable(L, -2);
    if (c->h->scopes) hd_scope_adopt(c->h, L, handle);
    hd_set_modes(c);
    return handle;
}

void hd_check_losses(hd_call *c) {
    if (hd_mapping_losses() != c->losses) hd_try(c, hd_mapping_check_since(c->cx, c->losses));
}

void hd_settle(hd_call *c, int index, hd_handle *handle, hd_tensor *t) {
    if (!t) hd_raise(c);
    handle->t = t;
    hd_check_losses(c);
    if (c->h->live_functions) hd_anchor_result(c, index);
}

/* Memory ran out: what is garbage may be enough, so after a full collection the running function is called
 * again, once, with the arguments that are still on the stack. Only for functions that change nothing before
 * they fail. */
static int try_again(hd_call *c) {
    lua_State *L = c->L;
    lua_Debug ar;
    int count = c->options ? c->options : c->top;
    lua_settop(L, count);
    if (!lua_checkstack(L, count + 2) || !lua_getstack(L, 0, &ar)) return hd_raise(c);
    lua_gc(L, LUA_GCCOLLECT);
    lua_getinfo(L, "f", &ar);
    lua_insert(L, 1);
    c->cx->rng = c->rng;
    c->h->trying_again = true;
    int status = lua_pcall(L, count, LUA_MULTRET, 0);
    c->h->trying_again = false;
    return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

static bool may_try_again(const hd_call *c) {
    return c->cx->error.status == HD_ENOMEM && !c->h->trying_again && lua_gc(c->L, LUA_GCISRUNNING) == 1;
}

int hd_return(hd_call *c, hd_tensor *t) {
    if (!t && may_try_again(c)) return try_again(c);
    hd_settle(c, c->slot, c->out, t);
    lua_settop(c->L, c->slot);
    return 1;
}

int hd_return_or_same(hd_call *c, int argument, hd_tensor *t) {
    hd_handle *given = hd_to_handle(c->L, c->h, argument);
    if (!t || !given || given->t != t) return hd_return(c, t);
    hd_release(t);
    lua_pushvalue(c->L, argument);
    return 1;
}

int hd_return_pair(hd_call *c, hd_handle *second, int second_slot, hd_status status, hd_tensor *values,
                   hd_tensor *indices) {
    if (status) return hd_return(c, NULL);
    second->t = indices;
    hd_settle(c, c->slot, c->out, values);
    lua_settop(c->L, second_slot);
    lua_pushvalue(c->L, c->slot);
    lua_insert(c->L, -2);
    return 2;
}

int hd_return_self(hd_call *c, hd_status status) {
    hd_try(c, status);
    hd_check_losses(c);
    if (c->h->live_functions) hd_anchor_result(c, 1);
    lua_settop(c->L, 1);
    return 1;
}

/* ---- errors ------------------------------------------------------------------------------ */

/* Pushes "file:line: " of the innermost Lua function that is not heed's own. */
static void push_position(lua_State *L) {
    lua_Debug ar;
    for (int level = 1; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (ar.currentline > 0 && !hd_is_own_source(ar.source)) {
            lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
            return;
        }
    }
    luaL_where(L, 1);
}

/* A function's name, or what is written without one: "t[key]", "a < b", "#t", "t.shape"? */
static bool is_function_name(const char *name) {
    return strncmp(name, "t.", 2) != 0 &&
           name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")] == '\0';
}

static int raise_message(hd_call *c, const char *message) {
    lua_State *L = c->L;
    const char *name = lua_pushfstring(L, is_function_name(c->name) ? "heed.%s" : "%s", c->name);
    hd_push_uv(L, HD_UV_LOCATE);
    if (lua_isfunction(L, -1)) { /* it knows the path of the module that runs */
        lua_pushstring(L, name);
        lua_pushstring(L, message);
        if (lua_pcall(L, 2, 1, 0) == LUA_OK && lua_type(L, -1) == LUA_TSTRING) return lua_error(L);
    }
    push_position(L);
    lua_pushfstring(L, "%s: %s", name, message);
    lua_concat(L, 2);
    return lua_error(L);
}

int hd_raise(hd_call *c) {
    lua_State *L = c->L;
    hd_error error = c->cx->error; /* a copy: what follows may run finalizers, whose errors overwrite it */
    luaL_checkstack(L, 8, NULL);
    if (error.status == HD_ECANCEL) {
        hd_set_cancelled(c->cx, false);
        lua_pushliteral(L, "interrupted");
        return lua_error(L);
    }
    if (error.status == HD_EFOREIGN) {
        hd_push_uv(L, HD_UV_ERROR);
        lua_pushvalue(L, lua_upvalueindex(1));
        lua_pushnil(L);
        lua_setiuservalue(L, -2, HD_UV_ERROR);
        lua_pop(L, 1);
        return lua_error(L);
    }
    return raise_message(c, error.message);
}

int hd_arg_error(hd_call *c, const char *argument, const char *format, ...) {
    char message[HD_MESSAGE_SIZE];
    /* Cut, because it may be a name from outside: the tensor of a file. */
    int used = argument ? snprintf(message, sizeof message, "%.80s: ", argument) : 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message + used, sizeof message - (size_t)used, format, arguments);
    va_end(arguments);
    luaL_checkstack(c->L, 8, NULL);
    return raise_message(c, message);
}

/* ---- handles ----------------------------------------------------------------------------- */

void *hd_to_type(lua_State *L, const void *type, int index) {
    if (lua_type(L, index) != LUA_TUSERDATA || !lua_getmetatable(L, index)) return NULL;
    bool same = lua_topointer(L, -1) == type;
    lua_pop(L, 1);
    return same ? lua_touserdata(L, index) : NULL;
}

hd_handle *hd_to_handle(lua_State *L, const hd_lua *h, int index) {
    return hd_to_type(L, h->tensor_type, index);
}

void hd_handle_unscope(hd_handle *handle) {
    if (!handle->scope_link) return;
    *handle->scope_link = handle->scope_next;
    if (handle->scope_next) handle->scope_next->scope_link = handle->scope_link;
    handle->scope_link = NULL;
    handle->scope_next = NULL;
}

void hd_handle_drop(hd_handle *handle) {
    hd_tensor *t = handle->t;
    hd_handle_unscope(handle);
    handle->t = NULL;
    hd_release(t);
}

/* ---- registration ------------------------------------------------------------------------ */

static void push_closure(const hd_registrar *r, lua_CFunction f, const void *entry) {
    lua_State *L = r->L;
    lua_pushvalue(L, r->record);
    lua_pushvalue(L, r->tensor);
    if (entry) lua_pushlightuserdata(L, (void *)entry);
    lua_pushcclosure(L, f, entry ? 3 : 2);
}

void hd_define_entry(const hd_registrar *r, const char *name, lua_CFunction f, hd_place place,
                     const void *entry) {
    push_closure(r, f, entry);
    if (place & HD_METHOD) {
        lua_pushvalue(r->L, -1);
        lua_setfield(r->L, r->methods, name);
    }
    if (place & HD_INTERNAL) {
        hd_define_value(r, name);
    } else if (place & HD_MODULE) {
        lua_setfield(r->L, r->module, name);
    } else {
        lua_pop(r->L, 1);
    }
}

void hd_define_value(const hd_registrar *r, const char *name) {
    lua_setfield(r->L, r->module, name);
    lua_pushboolean(r->L, 1);
    lua_setfield(r->L, r->internal, name);
}

void hd_define(const hd_registrar *r, const hd_function *functions) {
    for (const hd_function *f = functions; f->name; f++)
        hd_define_entry(r, f->name, f->function, f->place, NULL);
}

void hd_define_meta(const hd_registrar *r, int metatable, const char *name, lua_CFunction f,
                    const void *entry) {
    metatable = lua_absindex(r->L, metatable);
    push_closure(r, f, entry);
    lua_setfield(r->L, metatable, name);
}

const void *hd_new_type(const hd_registrar *r, const char *name, int n) {
    lua_State *L = r->L;
    lua_newtable(L);
    lua_pushstring(L, name);
    lua_setfield(L, -2, "__name");
    lua_pushstring(L, name);
    lua_setfield(L, -2, "__metatable"); /* getmetatable(t) gives the name: a script cannot take types apart */
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, r->record, n);
    return lua_topointer(L, -1);
}

static int record_gc(lua_State *L) {
    hd_lua *h = lua_touserdata(L, 1);
    hd_ctx *cx = h->cx;
    h->cx = NULL;
    if (!cx) return 0;
    hd_gemm_done(cx);
    hd_ctx_free(cx);
    return 0;
}

static void push_record(lua_State *L) {
    hd_lua *h = lua_newuserdatauv(L, sizeof *h, HD_UV_COUNT);
    memset(h, 0, sizeof *h);
    lua_createtable(L, 0, 2);
    lua_pushcfunction(L, record_gc);
    lua_setfield(L, -2, "__gc");
    lua_pushliteral(L, "heed.state");
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    h->cx = hd_ctx_new(0);
    if (!h->cx) luaL_error(L, "heed: not enough memory for this state's context");
    h->cx->host = h;
    hd_kernels_init(h->cx);
    if (hd_gemm_init(h->cx)) luaL_error(L, "heed: %s", h->cx->error.message);
    hd_clock_start(h);
}

/* locate_errors(locate, suggest): locate(name, message) gives the whole message of an error, with its position;
 * suggest(kind, name, candidates) what is said of a name that there is not. */
static int locate_errors(lua_State *L) {
    lua_settop(L, 2);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_setiuservalue(L, 1, HD_UV_SUGGEST);
    lua_setiuservalue(L, 1, HD_UV_LOCATE);
    return 0;
}

static const hd_function functions[] = {{"locate_errors", locate_errors, HD_INTERNAL}, {NULL, NULL, 0}};

static void push_methods_and_module(hd_registrar *r) {
    lua_State *L = r->L;
    lua_newtable(L);
    r->module = lua_gettop(L);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, r->record, HD_UV_MODULE);
    lua_newtable(L);
    r->internal = lua_gettop(L);
    lua_pushvalue(L, -1);
    hd_define_value(r, "internal");
    lua_newtable(L);
    r->methods = lua_gettop(L);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, r->record, HD_UV_METHODS);
    lua_pushvalue(L, -1);
    hd_define_value(r, "methods");
    r->h->tensor_type = hd_new_type(r, "heed.tensor", HD_UV_TENSOR);
    r->tensor = lua_gettop(L);
}

int hd_open(lua_State *L, void (*register_rooms)(hd_registrar *r)) {
    lua_settop(L, 0);
    luaL_checkstack(L, 40, NULL);
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &record_key) != LUA_TUSERDATA) {
        lua_settop(L, 0);
        push_record(L);
        hd_registrar r = {.L = L, .h = lua_touserdata(L, 1), .record = 1};
        push_methods_and_module(&r);
        hd_define(&r, functions);
        register_rooms(&r);
        lua_settop(L, 1);
        lua_pushvalue(L, 1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &record_key);
    }
    lua_getiuservalue(L, 1, HD_UV_MODULE);
    return 1;
}
