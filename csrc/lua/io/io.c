/* Files of tensors, and files replaced as a whole. What the world does wrong (files, bytes) comes back as nil
 * and a message; misuse raises. */
#include "io/npy.h"
#include "io/npz.h"
#include "io/raw.h"
#include "io/replace.h"
#include "io/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "lua/io/files.h"

/* ---- reading ----------------------------------------------------------------------------- */

/* What hd_safetensors_load gave is held by a userdata until all of it has moved into Lua. */
static int file_collected(lua_State *L) {
    hd_safetensors **file = lua_touserdata(L, 1);
    hd_safetensors_free(*file);
    *file = NULL;
    return 0;
}

/* safetensors_load(path, map) -> {name = tensor}, {key = value} of the metadata, {names in the file's order} */
static int safetensors_load(lua_State *L) {
    hd_call c = hd_begin(L, "safetensors.load");
    const char *path = hd_path_at(&c, 1);
    hd_safetensors **held = hd_push_held(L, file_collected),
                   *file = *held = hd_safetensors_load(c.cx, path, lua_toboolean(L, 2));
    if (!file) return hd_nil_and_message(&c, c.cx->error.status);
    lua_createtable(L, 0, (int)file->count);
    lua_newtable(L);
    lua_createtable(L, (int)file->count, 0);
    int order = lua_gettop(L), metadata = order - 1, tensors = order - 2;
    for (int64_t i = 0; i < file->count; i++) {
        hd_handle *handle = hd_push_handle(&c);
        handle->t = hd_retain(file->tensors[i].tensor);
        lua_setfield(L, tensors, file->tensors[i].name);
        lua_pushstring(L, file->tensors[i].name);
        lua_rawseti(L, order, i + 1);
    }
    for (int64_t i = 0; i < file->metadata_count; i++) {
        lua_pushstring(L, file->metadata[i].value);
        lua_setfield(L, metadata, file->metadata[i].key);
    }
    *held = NULL;
    hd_safetensors_free(file);
    return 3;
}

/* ---- writing ----------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b) {
    return strcmp(((const hd_metadata *)a)->key, ((const hd_metadata *)b)->key);
}

/* Pushes a list of the keys and values of the table at index 3, one behind the other: what is made later may run
 * finalizers, which may change that table. */
static int64_t list_metadata(hd_call *c) {
    lua_State *L = c->L;
    int64_t listed = 0;
    lua_newtable(L);
    int list = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, 3);) {
        if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING)
            hd_arg_error(c, "metadata", "expected strings as keys and values");
        lua_pushvalue(L, -2);
        lua_rawseti(L, list, ++listed);
        lua_rawseti(L, list, ++listed);
    }
    return listed / 2;
}

static hd_metadata *metadata_pairs(hd_call *c, int64_t *count) {
    lua_State *L = c->L;
    *count = 0;
    if (!hd_given(c, 3)) return NULL;
    if (lua_type(L, 3) != LUA_TTABLE) hd_arg_expected(c, 3, "metadata", "a table of strings");
    *count = list_metadata(c);
    int list = lua_gettop(L);
    hd_metadata *pairs = lua_newuserdatauv(L, sizeof *pairs * (size_t)(*count + 1), 0);
    for (int64_t i = 0; i < *count; i++) {
        lua_rawgeti(L, list, 2 * i + 1);
        lua_rawgeti(L, list, 2 * i + 2);
        pairs[i] = (hd_metadata){hd_text_at(c, -2, "metadata"), hd_text_at(c, -1, "metadata")};
        lua_pop(L, 2);
    }
    qsort(pairs, (size_t)*count, sizeof *pairs,
          by_key); /* the order of a table differs from process to process */
    return pairs;
}

/* safetensors_save(path, {{name, tensor}, ...}, metadata): true, or nil and message */
static int safetensors_save(lua_State *L) {
    hd_call c = hd_begin(L, "safetensors.save");
    const char *path = hd_path_at(&c, 1);
    int64_t count, metadata_count;
    hd_metadata *metadata = metadata_pairs(&c, &metadata_count);
    hd_named_tensor *named = hd_named_tensors(&c, &count);
    hd_status status = hd_safetensors_save(c.cx, path, count, named, metadata_count, metadata);
    if (status) return hd_nil_and_message(&c, status);
    lua_pushboolean(L, true);
    return 1;
}

/* npz_save(path, {{name, tensor}, ...}): true, or nil and message */
static int npz_save(lua_State *L) {
    hd_call c = hd_begin(L, "npz.save");
    const char *path = hd_path_at(&c, 1);
    int64_t count;
    hd_named_tensor *named = hd_named_tensors(&c, &count);
    hd_status status = hd_npz_save(c.cx, path, count, named);
    if (status) return hd_nil_and_message(&c, status);
    lua_pushboolean(L, true);
    return 1;
}

/* ---- one tensor a file ----------------------------------------------------------------------- */

/* npy_load(path) -> tensor */
static int npy_load(lua_State *L) {
    hd_call c = hd_begin(L, "npy.load");
    const char *path = hd_path_at(&c, 1);
    hd_handle *handle = hd_push_handle(&c);
    handle->t = hd_npy_load(c.cx, path);
    return handle->t ? 1 : hd_nil_and_message(&c, c.cx->error.status);
}

/* npy_save(path, t): true, or nil and message */
static int npy_save(lua_State *L) {
    hd_call c = hd_begin(L, "npy.save");
    const char *path = hd_path_at(&c, 1);
    hd_tensor *t = hd_arg_tensor(&c, 2, "t");
    hd_handle *copy = hd_push_handle(&c);
    c.cx->grad_enabled = false;
    copy->t = hd_contiguous(c.cx, t);
    if (!copy->t) return hd_raise(&c);
    hd_status status = hd_npy_save(c.cx, path, copy->t);
    if (status) return hd_nil_and_message(&c, status);
    lua_pushboolean(L, true);
    return 1;
}

/* raw_load(path, dtype, offset, {size, ...}) -> tensor of plain numbers */
static int raw_load(lua_State *L) {
    hd_call c = hd_begin(L, "raw_load");
    const char *path = hd_path_at(&c, 1);
    const hd_dtype dtype = hd_arg_dtype(&c, 2, "dtype");
    const int64_t offset = hd_arg_integer(&c, 3, "offset");
    const hd_shape shape = hd_arg_shape(&c, 4, false);
    hd_handle *handle = hd_push_handle(&c);
    handle->t = hd_raw_load(c.cx, path, dtype, shape.ndim, shape.size, offset);
    return handle->t ? 1 : hd_nil_and_message(&c, c.cx->error.status);
}

/* ---- files as a whole ------------------------------------------------------------------------ */

/* replace_file(path, bytes): true, or nil and message */
static int replace_file(lua_State *L) {
    hd_call c = hd_begin(L, "replace_file");
    const char *path = hd_path_at(&c, 1);
    if (!hd_given(&c, 2) || lua_type(L, 2) != LUA_TSTRING) hd_arg_expected(&c, 2, "bytes", "a string");
    size_t count;
    const char *bytes = lua_tolstring(L, 2, &count);
    hd_status status = hd_replace_file(c.cx, path, bytes, count);
    if (status) return hd_nil_and_message(&c, status);
    lua_pushboolean(L, true);
    return 1;
}

/* make_directory(path): true, also where there is one; or nil and message */
static int make_directory(lua_State *L) {
    hd_call c = hd_begin(L, "make_directory");
    const char *path = hd_path_at(&c, 1);
    if (hd_make_directory(c.cx, path)) return hd_nil_and_message(&c, HD_EIO);
    lua_pushboolean(L, true);
    return 1;
}

static const hd_function functions[] = {
    {"safetensors_load", safetensors_load, HD_INTERNAL},
    {"safetensors_save", safetensors_save, HD_INTERNAL},
    {"npz_save", npz_save, HD_INTERNAL},
    {"npy_load", npy_load, HD_INTERNAL},
    {"npy_save", npy_save, HD_INTERNAL},
    {"raw_load", raw_load, HD_INTERNAL},
    {"replace_file", replace_file, HD_INTERNAL},
    {"make_directory", make_directory, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_io(hd_registrar *r) {
    hd_define(r, functions);
}
