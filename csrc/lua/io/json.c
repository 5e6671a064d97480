/* JSON text as Lua values. */
#include "io/json.h"

#include "lua/io/files.h"

typedef struct building {
    hd_call *c;
    hd_json reader;
    int64_t count[HD_JSON_DEEPEST]; /* values in each open list */
} building;

enum { TEXT = 1, NULL_VALUE, LIST_TYPE }; /* arguments */

static void push_string(lua_State *L, const hd_json_event *event) {
    if (!event->escaped) {
        lua_pushlstring(L, event->text, event->length);
        return;
    }
    luaL_Buffer buffer;
    char *out = luaL_buffinitsize(L, &buffer, event->length);
    luaL_pushresultsize(&buffer, hd_json_unescape(event, out));
}

static void push_table(building *b, bool is_list) {
    lua_State *L = b->c->L;
    luaL_checkstack(L, 8, "heed.json.decode");
    lua_newtable(L);
    if (!is_list) return;
    lua_pushvalue(L, LIST_TYPE);
    lua_setmetatable(L, -2);
    b->count[b->reader.depth - 1] = 0;
}

/* Pushes what the event is; false when no value is complete by it. */
static bool push_event(building *b, const hd_json_event *event) {
    lua_State *L = b->c->L;
    switch (event->kind) {
    case HD_JSON_NULL: lua_pushvalue(L, NULL_VALUE); return true;
    case HD_JSON_FALSE:
    case HD_JSON_TRUE: lua_pushboolean(L, event->kind == HD_JSON_TRUE); return true;
    case HD_JSON_INTEGER: lua_pushinteger(L, event->integer); return true;
    case HD_JSON_FLOAT: lua_pushnumber(L, event->number); return true;
    case HD_JSON_STRING: push_string(L, event); return true;
    case HD_JSON_NAME: push_string(L, event); return false;
    case HD_JSON_LIST:
    case HD_JSON_OBJECT: push_table(b, event->kind == HD_JSON_LIST); return false;
    default: return true; /* a table is complete; it is on top */
    }
}

/* Puts the value on top into the table below it. */
static void store(building *b) {
    int depth = b->reader.depth;
    if (depth == 0) return;
    if (b->reader.is_object[depth - 1])
        lua_rawset(b->c->L, -3);
    else
        lua_rawseti(b->c->L, -2, ++b->count[depth - 1]);
}

/* json_decode(text, null, list_type): the value, with `null` for null and the metatable list_type on lists; or nil and
 * message */
static int json_decode(lua_State *L) {
    hd_call c = hd_begin(L, "json.decode");
    if (lua_type(L, TEXT) != LUA_TSTRING) hd_arg_expected(&c, TEXT, "text", "a string");
    lua_settop(L, LIST_TYPE);
    building b;
    b.c = &c;
    size_t length;
    const char *text = lua_tolstring(L, TEXT, &length);
    hd_json_event event;
    hd_json_begin(&b.reader, text, length);
    bool fine;
    while ((fine = hd_json_next(&b.reader, &event)) && event.kind != HD_JSON_DONE)
        if (push_event(&b, &event)) store(&b);
    hd_json_end(&b.reader);
    if (fine) return 1;
    luaL_pushfail(L);
    lua_pushstring(L, b.reader.message);
    return 2;
}

/* ---- null ------------------------------------------------------------------------------------ */

static int null_text(lua_State *L) {
    lua_pushliteral(L, "null");
    return 1;
}

/* A userdata: no list, no field of an example, and nothing can be put into it. */
static void define_null(hd_registrar *r) {
    lua_newuserdatauv(r->L, 0, 0);
    lua_createtable(r->L, 0, 2);
    lua_pushliteral(r->L, "JSON null");
    lua_setfield(r->L, -2, "__name");
    lua_pushcfunction(r->L, null_text);
    lua_setfield(r->L, -2, "__tostring");
    lua_setmetatable(r->L, -2);
    hd_define_value(r, "json_null");
}

static const hd_function functions[] = {
    {"json_decode", json_decode, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_json(hd_registrar *r) {
    hd_define(r, functions);
    define_null(r);
}
