/* Lua values as JSON text. */
#define _GNU_SOURCE
#include "io/json_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "io/json.h"
#include "io/number.h"
#include "lua/io/files.h"

/* A name of an object that is being written: a string of the list at NAMES, by whose bytes it is sorted. */
typedef struct name {
    const char *text;
    size_t length;
    lua_Integer place;
} name;

typedef struct writer {
    hd_call *c;
    locale_t plain; /* the locale "C" */
    bool has_lines; /* every value on its own */
    size_t indent;
    int depth;
    char *bytes; /* what is written, in the userdata at BYTES */
    size_t used, size;
    name *names; /* of all objects that are open, in the userdata at SORTED */
    size_t named, room;
    const char
        *problem; /* why a value cannot be written; it lies at CULPRIT, the keys that lead to it at PATH */
    lua_Integer count; /* values in a list with holes */
} writer;

enum { VALUE = 1, NULL_VALUE, LIST_TYPE, INDENT, BYTES, NAMES, SORTED, CULPRIT, PATH, LAST = PATH };

#define SLOTS 8 /* of Lua's stack that a table takes */

/* ---- what is wrong --------------------------------------------------------------------------- */

/* The value on top cannot be written. */
static bool refuse(writer *w, const char *problem) {
    w->problem = problem;
    lua_copy(w->c->L, -1, CULPRIT);
    return false;
}

/* The key on top leads to it, from the innermost table outwards. */
static bool refused_at_key(writer *w) {
    lua_rawseti(w->c->L, PATH, (lua_Integer)lua_rawlen(w->c->L, PATH) + 1);
    return false;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* A block twice as large in the place of the one at `index`, which holds `used` bytes. */
static void *grow(lua_State *L, int index, size_t used, size_t size) {
    void *block = lua_newuserdatauv(L, size, 0);
    if (used) memcpy(block, lua_touserdata(L, index), used);
    lua_replace(L, index);
    return block;
}

static char *reserve(writer *w, size_t count) {
    if (count > w->size - w->used) {
        w->size = 2 * w->size + count;
        w->bytes = grow(w->c->L, BYTES, w->used, w->size);
    }
    return w->bytes + w->used;
}

static void put(writer *w, const char *text, size_t count) {
    memcpy(reserve(w, count), text, count);
    w->used += count;
}

static void put_line(writer *w) {
    if (!w->has_lines) return;
    size_t blanks = w->indent * (size_t)w->depth;
    char *to = reserve(w, blanks + 1);
    *to = '\n';
    memset(to + 1, ' ', blanks);
    w->used += blanks + 1;
}

/* ---- strings and numbers --------------------------------------------------------------------- */

/* The string on top. */
static bool write_string(writer *w) {
    size_t length;
    const char *text = lua_tolstring(w->c->L, -1, &length);
    size_t size = hd_json_quoted_size(text, length);
    if (!size) return refuse(w, "text");
    w->used += hd_json_quote(text, length, reserve(w, size));
    return true;
}

static bool write_number(writer *w) {
    lua_State *L = w->c->L;
    char *to = reserve(w, HD_FLOAT_TEXT);
    if (lua_isinteger(L, -1)) {
        w->used += (size_t)hd_integer_text(to, lua_tointeger(L, -1));
        return true;
    }
    double value = lua_tonumber(L, -1);
    if (!isfinite(value)) return refuse(w, "number");
    w->used += (size_t)hd_float_text(to, value, w->plain);
    return true;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static bool write_value(writer *w);

static bool is_list_type(lua_State *L) {
    if (!lua_getmetatable(L, -1)) return false;
    bool is_one = lua_rawequal(L, -1, LIST_TYPE);
    lua_pop(L, 1);
    return is_one;
}

/* The string below the top, a key. */
static void add_name(writer *w) {
    lua_State *L = w->c->L;
    if (w->named == w->room) {
        w->room = 2 * w->room + 16;
        w->names = grow(L, SORTED, w->named * sizeof *w->names, w->room * sizeof *w->names);
    }
    name *added = &w->names[w->named++];
    added->text = lua_tolstring(L, -2, &added->length);
    added->place = (lua_Integer)w->named;
    lua_pushvalue(L, -2);
    lua_rawseti(L, NAMES, added->place);
}

/* Adds the strings among the keys of the table on top; *count: of all keys. False if a key is neither a
 * string nor a place of a list. */
static bool find_keys(writer *w, lua_Integer length, lua_Integer *count) {
    lua_State *L = w->c->L;
    *count = 0;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        ++*count;
        if (lua_type(L, -2) == LUA_TSTRING) {
            add_name(w);
        } else if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) < 1 || lua_tointeger(L, -2) > length) {
            lua_pop(L, 1);
            return refuse(w, "key");
        }
    }
    return true;
}

/* Is the table on top a list or an object? The object's names are added. */
static bool find_form(writer *w, bool *is_list) {
    lua_State *L = w->c->L;
    lua_Integer length = (lua_Integer)lua_rawlen(L, -1), count;
    size_t before = w->named;
    if (!find_keys(w, length, &count)) return false;
    lua_Integer names = (lua_Integer)(w->named - before);
    bool marked = is_list_type(L);
    *is_list = names == 0 && (count > 0 || marked);
    if (*is_list && count != length) {
        w->count = count;
        return refuse(w, "holes");
    }
    if (names < count || marked) {
        if (*is_list) return true;
        lua_rawgeti(L, NAMES, w->names[before].place);
        return refuse(w, "mixed");
    }
    return true;
}

static int by_bytes(const void *a, const void *b) {
    const name *x = a, *y = b;
    int order = memcmp(x->text, y->text, x->length < y->length ? x->length : y->length);
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

/* Before each value of a table. */
static void begin_value(writer *w, bool is_first) {
    if (!is_first) put(w, ",", 1);
    put_line(w);
}

static bool write_member(writer *w, lua_Integer place) {
    lua_State *L = w->c->L;
    lua_rawgeti(L, NAMES, place);
    if (!write_string(w)) return refused_at_key(w);
    put(w, ": ", w->has_lines ? 2 : 1);
    lua_rawget(L, -2);
    if (!write_value(w)) {
        lua_rawgeti(L, NAMES, place);
        return refused_at_key(w);
    }
    lua_pop(L, 1);
    return true;
}

static bool write_item(writer *w, lua_Integer i) {
    lua_State *L = w->c->L;
    lua_rawgeti(L, -1, i);
    if (!write_value(w)) {
        lua_pushinteger(L, i);
        return refused_at_key(w);
    }
    lua_pop(L, 1);
    return true;
}

/* The values of the table on top: of a list `count`, else of the names from `first` on. */
static bool write_values(writer *w, bool is_list, size_t first, lua_Integer count) {
    for (lua_Integer i = 0; i < count; i++) {
        begin_value(w, i == 0);
        if (!(is_list ? write_item(w, i + 1) : write_member(w, w->names[first + (size_t)i].place)))
            return false;
    }
    return true;
}

static bool write_table(writer *w) {
    lua_State *L = w->c->L;
    if (w->depth == HD_JSON_DEEPEST) return refuse(w, "deep");
    luaL_checkstack(L, SLOTS, "heed.json.encode");
    size_t first = w->named;
    bool is_list;
    if (!find_form(w, &is_list)) return false;
    size_t names = w->named - first;
    if (names) qsort(w->names + first, names, sizeof *w->names, by_bytes);
    lua_Integer count = is_list ? (lua_Integer)lua_rawlen(L, -1) : (lua_Integer)names;
    put(w, is_list ? "[" : "{", 1);
    w->depth++;
    if (!write_values(w, is_list, first, count)) return false;
    w->depth--;
    if (count) put_line(w);
    put(w, is_list ? "]" : "}", 1);
    w->named = first;
    return true;
}

/* The value on top, which stays there. */
static bool write_value(writer *w) {
    lua_State *L = w->c->L;
    if (hd_must_stop(w->c->cx)) hd_try(w->c, hd_fail(w->c->cx, HD_ECANCEL, "interrupted"));
    switch (lua_type(L, -1)) {
    case LUA_TTABLE: return write_table(w);
    case LUA_TSTRING: return write_string(w);
    case LUA_TNUMBER: return write_number(w);
    case LUA_TBOOLEAN: lua_toboolean(L, -1) ? put(w, "true", 4) : put(w, "false", 5); return true;
    default:
        if (!lua_rawequal(L, -1, NULL_VALUE)) return refuse(w, "kind");
        put(w, "null", 4);
        return true;
    }
}

/* json_encode(value, null, list_type, indent|nil): the text; or nil, why not (a word), what cannot be
 * written, the list of the keys that lead there, the last first, and of a list with holes how many values
 * it has. */
static int json_encode(lua_State *L) {
    hd_call c = hd_begin(L, "json.encode");
    lua_settop(L, LAST);
    writer w = {.c = &c, .has_lines = lua_isinteger(L, INDENT)};
    if (w.has_lines) w.indent = (size_t)hd_max(0, hd_min(lua_tointeger(L, INDENT), INT32_MAX));
    lua_newtable(L);
    lua_replace(L, NAMES);
    lua_newtable(L);
    lua_replace(L, PATH);
    reserve(&w, 1024);
    /* It allocates nothing and cannot fail: "C" is built in. */
    w.plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    lua_pushvalue(L, VALUE);
    bool fine = write_value(&w);
    freelocale(w.plain);
    if (fine) {
        lua_pushlstring(L, w.bytes, w.used);
        return 1;
    }
    luaL_pushfail(L);
    lua_pushstring(L, w.problem);
    lua_pushvalue(L, CULPRIT);
    lua_pushvalue(L, PATH);
    lua_pushinteger(L, w.count);
    return 5;
}

static const hd_function functions[] = {
    {"json_encode", json_encode, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_json_write(hd_registrar *r) {
    hd_define(r, functions);
}
