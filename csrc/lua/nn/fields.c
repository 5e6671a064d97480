#include "lua/nn/fields.h"

#define NAME_OF(name) #name,
static const char *const names[HD_FIELD_COUNT] = {"", HD_EACH_FIELD(NAME_OF)};
#undef NAME_OF

enum { INDEX = HD_FIELD_COUNT }; /* where "__index" stands among the names */

void hd_register_fields(hd_registrar *r) {
    lua_State *L = r->L;
    lua_createtable(L, HD_FIELD_COUNT, 0);
    for (int i = 1; i < HD_FIELD_COUNT; i++) {
        lua_pushstring(L, names[i]);
        lua_rawseti(L, -2, i);
    }
    lua_pushliteral(L, "__index");
    lua_rawseti(L, -2, INDEX);
    lua_setiuservalue(L, r->record, HD_UV_FIELDS);
}

/* "self_attn.out_proj.weight". The argument's own name is left out: the message's path says which module it
 * is. Pushed. */
static const char *path_of(const hd_fields *f, hd_field field) {
    return f->outer ? lua_pushfstring(f->c->L, "%s.%s", path_of(f->outer, f->field), names[field])
                    : names[field];
}

int hd_field_expected(const hd_fields *f, hd_field field, const char *expected) {
    const int index = lua_gettop(f->c->L);
    return hd_arg_expected(f->c, index, path_of(f, field), expected);
}

/* Functions of the user's are about to run, which may drop what was read so far: tensors on the stack get a
 * second reference there. */
static void keep_what_was_read(hd_call *c) {
    lua_State *L = c->L;
    const int top = lua_gettop(L);
    luaL_checkstack(L, top + 20, NULL);
    for (int i = 1; i <= top; i++) {
        const hd_handle *read = lua_type(L, i) == LUA_TUSERDATA ? hd_to_handle(L, c->h, i) : NULL;
        if (!read || !read->t) continue;
        hd_handle *kept = lua_newuserdatauv(L, sizeof *kept, 1); /* of no scope, which they might close */
        *kept = (hd_handle){.t = hd_retain(read->t)};
        lua_pushvalue(L, lua_upvalueindex(2));
        lua_setmetatable(L, -2);
    }
}

/* Does reading a field of the table at this index run functions: is one an __index of its classes? */
static bool runs_functions(lua_State *L, int names, int table) {
    const int top = lua_gettop(L);
    int kind = LUA_TNIL;
    lua_pushvalue(L, table);
    for (int depth = 0; depth < 100 && lua_getmetatable(L, top + 1); depth++) {
        lua_rawgeti(L, names, INDEX);
        kind = lua_rawget(L, -2);
        if (kind != LUA_TTABLE) break;
        lua_replace(L, top + 1);
        lua_settop(L, top + 1);
    }
    lua_settop(L, top);
    return kind != LUA_TNIL && kind != LUA_TTABLE;
}

/* Pushes the field, of which raw assignment, classes and whatever else __index reads are seen. Its type. */
static int push(const hd_fields *f, hd_field field) {
    lua_State *L = f->c->L;
    lua_rawgeti(L, f->names, field);
    if (!f->runs_functions) return lua_gettable(L, f->table);
    const int type = lua_rawget(L, f->table);
    if (type != LUA_TNIL) return type;
    keep_what_was_read(f->c);
    lua_rawgeti(L, f->names, field);
    return lua_gettable(L, f->table);
}

hd_fields hd_fields_of(hd_call *c, int index, const char *argument) {
    if (!hd_given(c, index) || lua_type(c->L, index) != LUA_TTABLE)
        hd_arg_expected(c, index, argument, "a module");
    luaL_checkstack(c->L, 120, NULL);
    c->reads_fields = true;
    hd_push_uv(c->L, HD_UV_FIELDS);
    const int names = lua_gettop(c->L);
    return (hd_fields){c, names, index, NULL, HD_FIELD_NONE, runs_functions(c->L, names, index)};
}

hd_fields hd_fields_opt(const hd_fields *outer, hd_field field) {
    int type = push(outer, field);
    if (type != LUA_TTABLE && lua_toboolean(outer->c->L, -1)) hd_field_expected(outer, field, "a module");
    const int table = type == LUA_TTABLE ? lua_gettop(outer->c->L) : 0;
    return (hd_fields){outer->c, outer->names, table,
                       outer,    field,        table && runs_functions(outer->c->L, outer->names, table)};
}

hd_fields hd_fields_in(const hd_fields *outer, hd_field field) {
    hd_fields f = hd_fields_opt(outer, field);
    if (!f.table) hd_field_expected(outer, field, "a module");
    return f;
}

hd_tensor *hd_field_opt_tensor(const hd_fields *f, hd_field field) {
    lua_State *L = f->c->L;
    const int type = push(f, field);
    if (type == LUA_TNIL) return NULL;
    hd_handle *handle = type == LUA_TUSERDATA ? hd_to_handle(L, f->c->h, -1) : NULL;
    if (handle && handle->t && handle->t->storage->owner_kind == NULL) return handle->t;
    if (!lua_toboolean(L, -1)) return NULL;
    const int index = lua_gettop(L);
    return hd_tensor_at(f->c, index, path_of(f, field));
}

hd_tensor *hd_field_opt_weight(const hd_fields *f, hd_field field) {
    lua_State *L = f->c->L;
    const int type = push(f, field);
    if (type == LUA_TNIL || !lua_toboolean(L, -1)) return NULL;
    const hd_handle *handle = type == LUA_TUSERDATA ? hd_to_handle(L, f->c->h, -1) : NULL;
    if (handle && handle->t && handle->t->storage->owner_kind == NULL) return handle->t;
    const int index = lua_gettop(L);
    return hd_weight_at(f->c, index, path_of(f, field));
}

hd_tensor *hd_field_weight(const hd_fields *f, hd_field field) {
    hd_tensor *t = hd_field_opt_weight(f, field);
    if (!t) hd_field_expected(f, field, "a tensor");
    return t;
}

hd_tensor *hd_field_tensor(const hd_fields *f, hd_field field) {
    hd_tensor *t = hd_field_opt_tensor(f, field);
    if (!t) hd_field_expected(f, field, "a tensor");
    return t;
}

double hd_field_number(const hd_fields *f, hd_field field, double otherwise) {
    lua_State *L = f->c->L;
    if (push(f, field) == LUA_TNUMBER)
        otherwise = lua_tonumber(L, -1);
    else if (lua_toboolean(L, -1))
        hd_field_expected(f, field, "a number");
    lua_pop(L, 1);
    return otherwise;
}

double hd_field_probability(const hd_fields *f, hd_field field, double otherwise) {
    double p = hd_field_number(f, field, otherwise);
    if (!(p >= 0 && p <= 1)) hd_arg_error(f->c, path_of(f, field), "expected a probability 0..1, got %g", p);
    return p;
}

int64_t hd_field_integer(const hd_fields *f, hd_field field, int64_t otherwise) {
    int is_integer = 1;
    if (push(f, field) != LUA_TNIL) otherwise = lua_tointegerx(f->c->L, -1, &is_integer);
    if (!is_integer || lua_type(f->c->L, -1) == LUA_TSTRING) hd_field_expected(f, field, "an integer");
    lua_pop(f->c->L, 1);
    return otherwise;
}

int hd_field_count(const hd_fields *f, hd_field field) {
    int64_t n = hd_field_integer(f, field, 0);
    if (n < 1 || n > 1 << 20)
        hd_arg_error(f->c, path_of(f, field), "expected 1..1048576, got %lld", (long long)n);
    return (int)n;
}

bool hd_field_boolean(const hd_fields *f, hd_field field) {
    push(f, field);
    bool value = lua_toboolean(f->c->L, -1);
    lua_pop(f->c->L, 1);
    return value;
}

const char *hd_field_string(const hd_fields *f, hd_field field) {
    if (push(f, field) != LUA_TSTRING) hd_field_expected(f, field, "a string");
    return lua_tostring(f->c->L, -1);
}
