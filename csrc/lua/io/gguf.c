/* GGUF files: their metadata and their tensors' descriptions as tables. */
#include "io/gguf.h"

#include "lua/io/files.h"

/* A file that is being read, until all of it is in Lua. */
typedef struct hd_gguf_box {
    hd_gguf file;
    hd_source source;
    hd_account *account;
} hd_gguf_box;

static int collected(lua_State *L) {
    hd_gguf_box *box = lua_touserdata(L, 1);
    if (!box->account) return 0;
    hd_gguf_free(box->account, &box->file);
    hd_source_close(&box->source);
    hd_account_release(box->account);
    box->account = NULL;
    return 0;
}

static hd_gguf_box *push_box(hd_call *c) {
    lua_State *L = c->L;
    hd_gguf_box *box = lua_newuserdatauv(L, sizeof *box, 0);
    *box = (hd_gguf_box){.source.fd = -1};
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, collected);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    hd_account_retain(c->cx->account);
    box->account = c->cx->account;
    return box;
}

/* Pushes the value; where the next one is. */
static const char *push_value(lua_State *L, hd_gguf_kind kind, const char *at) {
    hd_gguf_value v = hd_gguf_value_at(kind, at);
    if (kind == HD_GGUF_STRING) {
        lua_pushlstring(L, v.text.bytes, (size_t)v.text.size);
    } else if (kind == HD_GGUF_BOOL) {
        lua_pushboolean(L, v.i != 0);
    } else if (kind == HD_GGUF_ARRAY) {
        luaL_checkstack(L, 4, NULL);
        lua_createtable(L, v.array.count < INT32_MAX ? (int)v.array.count : INT32_MAX, 0);
        v.next = v.array.values;
        for (int64_t i = 0; i < v.array.count; i++) {
            v.next = push_value(L, v.array.kind, v.next);
            lua_rawseti(L, -2, i + 1);
        }
    } else if (v.is_float) {
        lua_pushnumber(L, v.f);
    } else {
        lua_pushinteger(L, v.i);
    }
    return v.next;
}

static void push_tensor(lua_State *L, const hd_gguf_tensor *t) {
    lua_createtable(L, 0, 4);
    lua_pushlstring(L, t->name.bytes, (size_t)t->name.size);
    lua_setfield(L, -2, "name");
    lua_createtable(L, t->ndim, 0);
    for (int i = 0; i < t->ndim; i++) {
        lua_pushinteger(L, t->shape[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "shape");
    lua_pushinteger(L, t->type);
    lua_setfield(L, -2, "type");
    lua_pushinteger(L, t->offset);
    lua_setfield(L, -2, "offset");
}

/* gguf_open(path) -> {name = value}, {tensors in the file's order}, version */
static int gguf_open(lua_State *L) {
    hd_call c = hd_begin(L, "gguf.open");
    const char *path = hd_path_at(&c, 1);
    hd_gguf_box *box = push_box(&c);
    hd_status status = hd_source_open(c.cx, &box->source, path);
    if (!status) status = hd_gguf_read(&box->source, &box->file);
    if (status) return hd_nil_and_message(&c, status);
    const hd_gguf *file = &box->file;
    lua_createtable(L, 0, (int)file->item_count);
    for (int64_t i = 0; i < file->item_count; i++) {
        lua_pushlstring(L, file->items[i].name.bytes, (size_t)file->items[i].name.size);
        push_value(L, file->items[i].kind, file->items[i].value);
        lua_rawset(L, -3);
    }
    lua_createtable(L, (int)file->tensor_count, 0);
    for (int64_t i = 0; i < file->tensor_count; i++) {
        push_tensor(L, &file->tensors[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_pushinteger(L, file->version);
    return 3;
}

static const hd_function functions[] = {
    {"gguf_open", gguf_open, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_gguf(hd_registrar *r) {
    hd_define(r, functions);
}
