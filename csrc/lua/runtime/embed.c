/* luaopen_heed: the library from the Lua sources that libheed carries (embed.h). Not part of core.so.
 *
 * With the standard `package` library the modules become preloaders, as if they were files. Without it, a
 * `require` of our own, known only to our modules, serves and remembers them.
 */
#include "lua/runtime/embed.h"

#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "heed.h"

static const hd_embedded_module *find(const char *name) {
    for (const hd_embedded_module *m = hd_embedded_modules; m->name; m++)
        if (strcmp(m->name, name) == 0) return m;
    return NULL;
}

/* Pushes the module's chunk; its name reads as a file's, so that messages and tracebacks look alike. */
static void push_chunk(lua_State *L, const hd_embedded_module *m) {
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addchar(&b, '@');
    for (const char *p = m->name; *p; p++) luaL_addchar(&b, *p == '.' ? '/' : *p);
    luaL_addstring(&b, ".lua");
    luaL_pushresult(&b);
    if (luaL_loadbufferx(L, m->source, m->length, lua_tostring(L, -1), "t") != LUA_OK) lua_error(L);
    lua_remove(L, -2);
}

/* What heed.sources is here (lua/heed/sources.lua reads files): the text of a module or stub, or nil. */
static int source_text(lua_State *L) {
    const hd_embedded_module *m = find(luaL_checkstring(L, 1));
    if (m)
        lua_pushlstring(L, m->source, m->length);
    else
        lua_pushnil(L);
    return 1;
}

static int open_sources(lua_State *L) {
    lua_pushcfunction(L, source_text);
    return 1;
}

/* Stubs are text for help and language servers, and no modules. */
static bool is_stub(const hd_embedded_module *m) {
    return strncmp(m->name, "heed.types.", 11) == 0;
}

/* Upvalue 1: the module (light userdata). */
static int preload(lua_State *L) {
    const hd_embedded_module *m = lua_touserdata(L, lua_upvalueindex(1));
    lua_settop(L, 1);
    push_chunk(L, m);
    lua_insert(L, 1);
    lua_call(L, 1, 1);
    return 1;
}

static void fill_preload(lua_State *L, int table) {
    for (const hd_embedded_module *m = hd_embedded_modules; m->name; m++) {
        if (is_stub(m)) continue;
        lua_pushlightuserdata(L, (void *)m);
        lua_pushcclosure(L, preload, 1);
        lua_setfield(L, table, m->name);
    }
    lua_pushcfunction(L, luaopen_heed_core);
    lua_setfield(L, table, "heed.core");
    lua_pushcfunction(L, open_sources);
    lua_setfield(L, table, "heed.sources");
}

/* ---- without package --------------------------------------------------------------------- */

/* Upvalue 1: what was loaded, by name; upvalue 2: the environment of our chunks. */
static int require_embedded(lua_State *L) {
    const char *name = luaL_checkstring(L, 1);
    lua_settop(L, 1);
    if (lua_getfield(L, lua_upvalueindex(1), name) != LUA_TNIL) return 1;
    lua_settop(L, 1);
    const hd_embedded_module *m = find(name);
    if (!m || is_stub(m))
        return luaL_error(L, "module '%s' is not part of heed, and this Lua state has no package library",
                          name);
    push_chunk(L, m);
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_setupvalue(L, -2, 1);
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    if (lua_isnil(L, -1)) lua_pushboolean(L, 1);
    lua_pushvalue(L, -1);
    lua_setfield(L, lua_upvalueindex(1), name);
    return 1;
}

/* Our chunks see the state's globals, and a `require` that knows them. */
static void push_require(lua_State *L) {
    lua_newtable(L); /* loaded */
    luaL_requiref(L, "heed.core", luaopen_heed_core, 0);
    lua_setfield(L, -2, "heed.core");
    lua_pushcfunction(L, source_text);
    lua_setfield(L, -2, "heed.sources");
    lua_newtable(L); /* environment */
    lua_createtable(L, 0, 1);
    lua_pushglobaltable(L);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_pushvalue(L, -1);
    lua_insert(L, -3); /* environment, loaded, environment */
    lua_pushcclosure(L, require_embedded, 2);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "require");
    lua_remove(L, -2);
}

static bool has_package(lua_State *L) {
    return lua_getglobal(L, "package") == LUA_TTABLE && lua_getfield(L, -1, "preload") == LUA_TTABLE &&
           lua_getglobal(L, "require") == LUA_TFUNCTION;
}

int luaopen_heed(lua_State *L) {
    lua_settop(L, 0);
    if (has_package(L)) {
        fill_preload(L, 2); /* 1 package, 2 preload, 3 require */
        push_chunk(L, find("heed"));
    } else {
        lua_settop(L, 0);
        push_require(L);
    }
    lua_pushliteral(L, "heed");
    lua_call(L, 1, 1);
    return 1;
}
