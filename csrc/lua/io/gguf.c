/* GGUF files: what they say as tables, and their tensors. */
#include "io/gguf.h"

#include "io/mapped.h"
#include "lua/io/files.h"
#include "ops/product/quantized.h"

/* What a file said when it was opened. It is not held open: its tensors are read by its path, from the
 * same file or not at all, or, once one was asked for as memory, from its mapping. User value 1: the path. */
typedef struct hd_gguf_box {
    hd_gguf file;
    hd_source source;
    hd_mapping *mapping; /* NULL: none yet */
    hd_account *account; /* NULL once it was collected */
} hd_gguf_box;

static int collected(lua_State *L) {
    hd_gguf_box *box = lua_touserdata(L, 1);
    if (!box->account) return 0;
    hd_gguf_free(box->account, &box->file);
    hd_mapping_release(box->mapping);
    hd_source_close(&box->source);
    hd_account_release(box->account);
    box->account = NULL;
    return 0;
}

static hd_gguf_box *push_box(hd_call *c) {
    lua_State *L = c->L;
    hd_gguf_box *box = lua_newuserdatauv(L, sizeof *box, 1);
    *box = (hd_gguf_box){.source.fd = -1};
    hd_push_uv(L, HD_UV_GGUF);
    lua_setmetatable(L, -2);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
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

/* The kind of a value's numbers, of a list's elements; of lists in lists, of the first that there is. */
static const char *kind_of(hd_gguf_kind kind, const char *at) {
    static const char *const names[HD_GGUF_KINDS] = {
        [HD_GGUF_U8] = "u8",   [HD_GGUF_I8] = "i8",   [HD_GGUF_U16] = "u16", [HD_GGUF_I16] = "i16",
        [HD_GGUF_U32] = "u32", [HD_GGUF_I32] = "i32", [HD_GGUF_F32] = "f32", [HD_GGUF_BOOL] = "bool",
        [HD_GGUF_U64] = "u64", [HD_GGUF_I64] = "i64", [HD_GGUF_F64] = "f64", [HD_GGUF_STRING] = "string",
    };
    while (kind == HD_GGUF_ARRAY) {
        const hd_gguf_value v = hd_gguf_value_at(kind, at);
        kind = v.array.kind;
        at = v.array.values;
        if (v.array.count == 0 && kind == HD_GGUF_ARRAY) kind = HD_GGUF_I32;
    }
    return names[kind];
}

/* Pushes {name = value} and {name = kind}. */
static void push_metadata(lua_State *L, const hd_gguf *file) {
    lua_createtable(L, 0, (int)file->item_count);
    lua_createtable(L, 0, (int)file->item_count);
    for (int64_t i = 0; i < file->item_count; i++) {
        const hd_gguf_item *item = &file->items[i];
        lua_pushlstring(L, item->name.bytes, (size_t)item->name.size);
        lua_pushvalue(L, -1);
        push_value(L, item->kind, item->value);
        lua_rawset(L, -5);
        lua_pushstring(L, kind_of(item->kind, item->value));
        lua_rawset(L, -3);
    }
}

/* Pushes {name, shape, type, offset, bytes}; without bytes where the type is not read. */
static void push_tensor(lua_State *L, const hd_gguf_tensor *t) {
    lua_createtable(L, 0, 5);
    lua_pushlstring(L, t->name.bytes, (size_t)t->name.size);
    lua_setfield(L, -2, "name");
    lua_createtable(L, t->ndim, 0);
    for (int i = 0; i < t->ndim; i++) {
        lua_pushinteger(L, t->shape[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "shape");
    if (t->type.name)
        lua_pushstring(L, t->type.name);
    else
        lua_pushfstring(L, "number %I", (lua_Integer)t->type.number);
    lua_setfield(L, -2, "type");
    lua_pushinteger(L, t->offset);
    lua_setfield(L, -2, "offset");
    if (!t->type.is_read) return;
    lua_pushinteger(L, hd_gguf_bytes(t));
    lua_setfield(L, -2, "bytes");
}

static void push_tensors(lua_State *L, const hd_gguf *file) {
    lua_createtable(L, (int)file->tensor_count, 0);
    for (int64_t i = 0; i < file->tensor_count; i++) {
        push_tensor(L, &file->tensors[i]);
        lua_rawseti(L, -2, i + 1);
    }
}

/* gguf_open(path) -> {name = value}, {tensors in the file's order}, {name = kind}, version, file */
static int gguf_open(lua_State *L) {
    hd_call c = hd_begin(L, "gguf.open");
    const char *path = hd_path_at(&c, 1);
    hd_gguf_box *box = push_box(&c);
    hd_status status = hd_source_open(c.cx, &box->source, path);
    if (!status) status = hd_gguf_read(&box->source, &box->file);
    hd_source_close(&box->source);
    if (status) return hd_nil_and_message(&c, status);
    push_metadata(L, &box->file);
    push_tensors(L, &box->file);
    lua_insert(L, -2);
    lua_pushinteger(L, box->file.version);
    lua_pushvalue(L, -5);
    return 5;
}

/* What is read of a file, and how: into a tensor that there is (`into` not NULL), or as a new one. */
typedef struct wish {
    hd_gguf_box *box;
    int64_t i;
    bool map;
    hd_tensor *into;
} wish;

static hd_status read_by(hd_source *source, hd_mapping *m, const wish *w, hd_tensor **made) {
    const hd_gguf_tensor *t = &w->box->file.tensors[w->i];
    if (w->into) return hd_gguf_tensor_into(source, m, t, w->into);
    *made = hd_gguf_tensor_read(source, m, t);
    return *made ? HD_OK : source->cx->error.status;
}

/* From the file that was opened; one that has changed is an error. */
static hd_status read_again(hd_call *c, const char *path, const wish *w, hd_tensor **made) {
    hd_source source = {.cx = c->cx, .path = path, .fd = -1, .size = w->box->source.size};
    if (w->box->mapping) return read_by(&source, w->box->mapping, w, made);
    hd_status status = hd_source_open(c->cx, &source, path);
    if (status) return status;
    status = hd_source_check_same(&source, &w->box->source.stamp);
    if (!status && w->map) w->box->mapping = hd_source_map(&source);
    if (!status) status = read_by(&source, w->box->mapping, w, made);
    if (!status && (status = hd_source_check_same(&source, &w->box->source.stamp))) {
        hd_release(*made);
        *made = NULL;
    }
    hd_source_close(&source);
    return status;
}

/* Maps the file that was opened, where this thread can. */
static hd_status map_again(hd_call *c, const wish *w) {
    lua_getiuservalue(c->L, 1, 1);
    hd_source source;
    hd_status status = hd_source_open(c->cx, &source, lua_tostring(c->L, -1));
    if (!status) status = hd_source_check_same(&source, &w->box->source.stamp);
    if (!status) w->box->mapping = hd_source_map(&source);
    hd_source_close(&source);
    return status;
}

static wish wish_at(hd_call *c, int map) {
    hd_gguf_box *box = hd_to_type(c->L, c->h->gguf_type, 1);
    if (!box || !box->account) hd_arg_expected(c, 1, "file", "an open file");
    return (wish){box, hd_arg_position(c, 2, "i", box->file.tensor_count), lua_toboolean(c->L, map), NULL};
}

static hd_status grant(hd_call *c, const wish *w, hd_tensor **made) {
    lua_getiuservalue(c->L, 1, 1);
    return read_again(c, lua_tostring(c->L, -1), w, made);
}

/* gguf_tensor(file, i, map) -> the i-th tensor of the file, or nil and message */
static int gguf_tensor(lua_State *L) {
    hd_call c = hd_enter(L, "gguf.tensor");
    const wish w = wish_at(&c, 3);
    hd_tensor *t = NULL;
    if (grant(&c, &w, &t) == HD_EIO) return hd_nil_and_message(&c, HD_EIO);
    return hd_return(&c, t);
}

/* Can products take these blocks as they lie in the mapping? */
static bool are_taken(const wish *w) {
    const hd_gguf_tensor *t = &w->box->file.tensors[w->i];
    return w->box->mapping && t->type.blocks && hd_quantized_takes(t->type.blocks) && t->ndim == 2 &&
           hd_gguf_bytes(t) > 0;
}

static hd_tensor *blocks_of(hd_call *c, const wish *w) {
    const hd_gguf_tensor *t = &w->box->file.tensors[w->i];
    hd_mapping *m = w->box->mapping;
    const uint8_t *bytes = (const uint8_t *)hd_mapping_bytes(m) + t->offset;
    return hd_quantized_new(c->cx, t->type.blocks, t->shape[0], t->shape[1], bytes, &hd_mapped_memory,
                            hd_mapping_retain(m));
}

/* gguf_quantized(file, i) -> the i-th tensor of the file as a quantised weight; false where that cannot be */
static int gguf_quantized(lua_State *L) {
    hd_call c = hd_enter(L, "gguf.quantized");
    const wish w = wish_at(&c, 0);
    if (!w.box->mapping && map_again(&c, &w)) return hd_nil_and_message(&c, HD_EIO);
    if (are_taken(&w)) return hd_return(&c, blocks_of(&c, &w));
    lua_pushboolean(L, false);
    return 1;
}

/* gguf_tensor_into(file, i, map, t): true, or nil and message */
static int gguf_tensor_into(lua_State *L) {
    hd_call c = hd_begin(L, "gguf.tensor_into");
    wish w = wish_at(&c, 3);
    w.into = hd_arg_tensor(&c, 4, "t");
    hd_tensor *none = NULL;
    hd_status status = grant(&c, &w, &none);
    if (status) return hd_nil_and_message(&c, status);
    hd_wrote(w.into);
    hd_check_losses(&c);
    lua_pushboolean(L, true);
    return 1;
}

/* The third of each {name, tensor, type} of the list at index 2. */
static hd_gguf_type type_at(hd_call *c, int64_t i) {
    lua_State *L = c->L;
    hd_gguf_type type;
    lua_rawgeti(L, 2, i + 1);
    if (lua_rawgeti(L, -1, 3) != LUA_TSTRING)
        hd_arg_error(c, "types", "expected a type at %lld", (long long)i + 1);
    if (!hd_gguf_type_named(lua_tostring(L, -1), &type) || !type.is_read)
        hd_arg_error(c, "types", "expected a type that is read, got \"%s\"", lua_tostring(L, -1));
    lua_pop(L, 2);
    return type;
}

/* gguf_save(path, {{name, tensor, type}, ...}, count of metadata, metadata as bytes, alignment): true, or
 * nil and message */
static int gguf_save(lua_State *L) {
    hd_call c = hd_begin(L, "gguf.save");
    const char *path = hd_path_at(&c, 1);
    hd_gguf_contents contents = {.item_count = hd_arg_integer(&c, 3, "count"),
                                 .alignment = hd_arg_integer(&c, 5, "alignment")};
    size_t size;
    if (lua_type(L, 4) != LUA_TSTRING) hd_arg_expected(&c, 4, "metadata", "a string");
    contents.metadata.bytes = lua_tolstring(L, 4, &size);
    contents.metadata.size = (int64_t)size;
    const hd_named_tensor *named = hd_named_tensors(&c, &contents.count);
    hd_gguf_entry *entries = lua_newuserdatauv(L, sizeof *entries * (size_t)(contents.count + 1), 0);
    for (int64_t i = 0; i < contents.count; i++)
        entries[i] = (hd_gguf_entry){named[i].name, named[i].tensor, type_at(&c, i)};
    contents.entries = entries;
    hd_status status = hd_gguf_save(c.cx, path, &contents);
    if (status) return hd_nil_and_message(&c, status);
    lua_pushboolean(L, true);
    return 1;
}

static const hd_function functions[] = {
    {"gguf_open", gguf_open, HD_INTERNAL},
    {"gguf_tensor", gguf_tensor, HD_INTERNAL},
    {"gguf_tensor_into", gguf_tensor_into, HD_INTERNAL},
    {"gguf_quantized", gguf_quantized, HD_INTERNAL},
    {"gguf_save", gguf_save, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_gguf(hd_registrar *r) {
    hd_define(r, functions);
    r->h->gguf_type = hd_new_type(r, "heed.gguf", HD_UV_GGUF);
    hd_define_meta(r, lua_gettop(r->L), "__gc", collected, NULL);
    lua_pop(r->L, 1);
}
