/* When to collect, scopes, and what scripts can ask about memory.
 *
 * To Lua's collector a tensor is a few bytes. So the bytes that our pool handed out are the clock: a full
 * collection runs at the entry of an operation when as many were handed out since the last one as a floor or
 * a fraction of what is live, whichever is more; not more often than keeps it under a twentieth of the time,
 * unless memory would grow past a multiple of that.
 */
#include <time.h>

#include "lua/runtime/check.h"

#define FLOOR_BYTES (1ll << 20)
#define FRACTION 0.2              /* of the live bytes */
#define LATEST_BYTES (96ll << 20) /* a collection put off for its cost runs then */
#define LATEST_FRACTION 0.3
#define COST_SHARE 20       /* at most one part in this many of the time is spent collecting */
#define DROP_SECONDS 0.6e-6 /* about what a tensor takes to be dropped */

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double hd_seconds(void) {
    return seconds_of(CLOCK_MONOTONIC);
}

/* Of this thread, so that a crowded machine does not make collections look dear. */
static double work_seconds(void) {
    return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

/* ---- the collector's clock --------------------------------------------------------------- */

/* A fraction of what was live after the last collection, but at least floor. */
static int64_t share(const hd_lua *h, int64_t floor, double fraction) {
    int64_t part = (int64_t)((double)h->clock.live * fraction), limit = h->cx->account->limit;
    int64_t bytes = part > floor ? part : floor;
    return limit > 0 && bytes > limit / 8 ? limit / 8 : bytes;
}

void hd_clock_start(hd_lua *h) {
    h->clock.since = h->cx->account->allocated;
    h->clock.live = h->cx->account->live;
    h->clock.due = h->clock.since + share(h, FLOOR_BYTES, FRACTION);
    h->clock.last_end = work_seconds();
}

/* Dropping what is garbage has to be paid some time; what a collection costs is the marking of what
 * is not. */
static void collect(lua_State *L, hd_lua *h) {
    double start = work_seconds();
    h->clock.dropped = 0;
    lua_gc(L, LUA_GCCOLLECT);
    if (!h->cx) return;
    hd_clock_start(h);
    h->clock.cost = h->clock.last_end - start - DROP_SECONDS * (double)h->clock.dropped;
}

void hd_clock_collect(lua_State *L, hd_lua *h, bool after_backward) {
    int64_t wait = share(h, FLOOR_BYTES, FRACTION), handed_out = h->cx->account->allocated - h->clock.since;
    if (handed_out < (after_backward ? wait / 4 : wait)) return;
    h->clock.due = h->cx->account->allocated + wait / 8; /* ask again then, if it does not run now */
    double since = work_seconds() - h->clock.last_end;
    bool too_often = since >= 0 && since < COST_SHARE * h->clock.cost;
    if (too_often && handed_out < share(h, LATEST_BYTES, LATEST_FRACTION)) return;
    if (lua_gc(L, LUA_GCISRUNNING) == 1)
        collect(L, h); /* -1 inside a finalizer, 0 when the script stopped it */
}

/* ---- dropping ---------------------------------------------------------------------------- */

static void move_to(hd_handle **list, hd_handle *handle) {
    hd_handle_unscope(handle);
    handle->scope_next = *list;
    if (*list) (*list)->scope_link = &handle->scope_next;
    *list = handle;
    handle->scope_link = list;
}

/* A finalizer runs in the middle of somebody's operation, which may hold what is to be dropped: it waits. */
void hd_drop(lua_State *L, hd_lua *h, hd_handle *handle) {
    if (lua_gc(L, LUA_GCISRUNNING) != -1) {
        hd_handle_drop(handle);
        return;
    }
    move_to(&h->doomed, handle);
    h->clock.due = INT64_MIN;
}

void hd_drop_doomed(hd_lua *h) {
    if (!h->doomed) return;
    while (h->doomed) hd_handle_drop(h->doomed);
    h->clock.due = h->clock.since + share(h, FLOOR_BYTES, FRACTION);
}

/* ---- scopes ------------------------------------------------------------------------------ */

struct hd_scope {
    lua_State *L; /* the coroutine it belongs to; user value 1 keeps it alive */
    hd_handle *handles;
    hd_scope *next, **link; /* link NULL: closed */
};

static hd_scope *innermost(hd_scope *first, const lua_State *L) {
    while (first && first->L != L) first = first->next;
    return first;
}

static void adopt(hd_scope *s, hd_handle *handle) {
    if (s)
        move_to(&s->handles, handle);
    else
        hd_handle_unscope(handle);
}

void hd_scope_adopt(hd_lua *h, lua_State *L, hd_handle *handle) {
    adopt(innermost(h->scopes, L), handle);
}

static void unlink_scope(hd_scope *s) {
    if (!s->link) return;
    *s->link = s->next;
    if (s->next) s->next->link = s->link;
    s->link = NULL;
}

static hd_scope *check_scope(hd_call *c) {
    hd_scope *s = hd_to_type(c->L, c->h->scope_type, 1);
    if (!s) hd_arg_expected(c, 1, "scope", "a scope");
    return s;
}

static void push_scope(hd_call *c) {
    lua_State *L = c->L;
    hd_scope *s = lua_newuserdatauv(L, sizeof *s, 1);
    *s = (hd_scope){.L = L};
    hd_push_uv(L, HD_UV_SCOPE);
    lua_setmetatable(L, -2);
    lua_pushthread(L);
    lua_setiuservalue(L, -2, 1);
    s->next = c->h->scopes;
    s->link = &c->h->scopes;
    if (s->next) s->next->link = &s->next;
    c->h->scopes = s;
}

static int scope_close(lua_State *L) {
    hd_call c = {.L = L, .h = lua_touserdata(L, lua_upvalueindex(1)), .name = "scope", .top = 1};
    hd_scope *s = check_scope(&c);
    unlink_scope(s);
    while (s->handles) hd_drop(L, c.h, s->handles);
    return 0;
}

/* Never closed: what was made inside lives on. */
static int scope_collected(lua_State *L) {
    hd_scope *s = lua_touserdata(L, 1);
    unlink_scope(s);
    while (s->handles) hd_handle_unscope(s->handles);
    return 0;
}

#define KEEP_DEPTH 16

static void keep_value(hd_call *c, hd_scope *outer, int index, int depth) {
    lua_State *L = c->L;
    hd_handle *handle = hd_to_handle(L, c->h, index);
    if (handle && handle->scope_link) adopt(outer, handle);
    if (handle || lua_type(L, index) != LUA_TTABLE) return;
    if (depth == KEEP_DEPTH) hd_arg_error(c, "value", "expected tables nested at most %d deep", KEEP_DEPTH);
    luaL_checkstack(L, 4, NULL);
    index = lua_absindex(L, index);
    lua_pushnil(L);
    while (lua_next(L, index)) {
        keep_value(c, outer, -1, depth + 1);
        lua_pop(L, 1);
    }
}

/* scope:keep(...): tensors (and those in tables) go to the scope around this one. Returns its arguments. */
static int scope_keep(lua_State *L) {
    hd_call c = hd_begin(L, "scope:keep");
    hd_scope *s = check_scope(&c), *outer = s->link ? innermost(s->next, s->L) : NULL;
    for (int i = 2; i <= c.top; i++) keep_value(&c, outer, i, 0);
    return c.top - 1;
}

/* What the function returned leaves the scope at index 1, which Lua closes as this one returns. */
static int scoped_results(lua_State *L, int status, lua_KContext context) {
    (void)status, (void)context;
    int top = lua_gettop(L);
    hd_call c = {.L = L, .h = lua_touserdata(L, lua_upvalueindex(1)), .name = "scope", .top = top};
    hd_scope *s = check_scope(&c), *outer = innermost(s->next, s->L);
    for (int i = 2; i <= top; i++) keep_value(&c, outer, i, 0);
    return top - 1;
}

/* scope(f, ...): its results; what else f made is dropped. Without f: a scope for `local scope <close> =`. */
static int scope(lua_State *L) {
    hd_call c = hd_begin(L, "scope");
    if (c.top > 0) hd_check_function(&c, 1, "fn", "a function, or nothing");
    push_scope(&c);
    if (c.top == 0) return 1;
    lua_insert(L, 1);
    lua_toclose(L, 1);
    lua_callk(L, c.top - 1, LUA_MULTRET, 0, scoped_results);
    return scoped_results(L, LUA_OK, 0);
}

/* keep(...): out of every scope, for what outlives a step (parameters, moments, caches). Returns its
 * arguments. */
static int keep(lua_State *L) {
    hd_call c = hd_begin(L, "keep");
    for (int i = 1; i <= c.top; i++) keep_value(&c, NULL, i, 0);
    return c.top;
}

/* ---- accounts ---------------------------------------------------------------------------- */

static void set_bytes(lua_State *L, const char *name, int64_t bytes) {
    lua_pushinteger(L, bytes);
    lua_setfield(L, -2, name);
}

/* memory() or memory{reset_peak = true}: bytes that are live, pooled, at the peak, and the limit
 * (0: none). */
static int memory(lua_State *L) {
    hd_call c = hd_begin(L, "memory");
    hd_take_options(&c, "reset_peak");
    hd_no_more(&c, 0);
    hd_account *account = c.cx->account;
    bool reset = hd_option_boolean(&c, "reset_peak", false);
    lua_createtable(L, 0, 4);
    set_bytes(L, "live", account->live);
    set_bytes(L, "pooled", hd_pool_idle_bytes());
    set_bytes(L, "peak", account->peak);
    set_bytes(L, "limit", account->limit);
    if (reset) account->peak = account->live;
    return 1;
}

/* memory_limit(bytes or nil) returns the former limit. */
static int memory_limit(lua_State *L) {
    hd_call c = hd_begin(L, "memory_limit");
    hd_no_more(&c, 1);
    int64_t limit = hd_opt_integer(&c, 1, "bytes", 0), before = c.cx->account->limit;
    if (limit < 0) hd_arg_error(&c, "bytes", "expected 0 (no limit) or more, got %lld", (long long)limit);
    c.cx->account->limit = limit;
    hd_clock_start(c.h);
    lua_pushinteger(L, before);
    return 1;
}

/* Idle blocks go back to the system; returns how many bytes. */
static int memory_trim(lua_State *L) {
    hd_call c = hd_begin(L, "memory_trim");
    hd_no_more(&c, 0);
    lua_pushinteger(L, hd_pool_trim());
    return 1;
}

/* For specs: the n-th allocation from now fails; 0: none does. */
static int fail_allocation(lua_State *L) {
    hd_call c = hd_begin(L, "fail_allocation");
    c.cx->account->fail_at = hd_arg_integer(&c, 1, "n");
    return 0;
}

static const hd_function functions[] = {
    {"scope", scope, HD_MODULE},
    {"keep", keep, HD_MODULE},
    {"memory", memory, HD_MODULE},
    {"memory_limit", memory_limit, HD_MODULE},
    {"memory_trim", memory_trim, HD_MODULE},
    {"fail_allocation", fail_allocation, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_memory(hd_registrar *r) {
    lua_State *L = r->L;
    hd_define(r, functions);
    r->h->scope_type = hd_new_type(r, "heed.scope", HD_UV_SCOPE);
    int type = lua_gettop(L);
    hd_define_meta(r, type, "__close", scope_close, NULL);
    hd_define_meta(r, type, "__gc", scope_collected, NULL);
    lua_newtable(L);
    int methods = lua_gettop(L);
    hd_define_meta(r, methods, "keep", scope_keep, NULL);
    hd_define_meta(r, methods, "close", scope_close, NULL);
    lua_setfield(L, type, "__index");
    lua_settop(L, type - 1);
}
