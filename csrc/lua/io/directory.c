/* What a directory holds. */
#include "io/directory.h"

#include <string.h>

#include "lua/io/files.h"

/* Freed with the userdata, whatever raises before. */
typedef struct directory_box {
    hd_directory directory;
    hd_account *account;
} directory_box;

static int collected(lua_State *L) {
    directory_box *box = lua_touserdata(L, 1);
    if (!box->account) return 0;
    hd_directory_free(box->account, &box->directory);
    hd_account_release(box->account);
    box->account = NULL;
    return 0;
}

static directory_box *push_box(hd_call *c) {
    lua_State *L = c->L;
    directory_box *box = lua_newuserdatauv(L, sizeof *box, 0);
    *box = (directory_box){0};
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, collected);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    hd_account_retain(c->cx->account);
    box->account = c->cx->account;
    return box;
}

/* directory_names(path) -> {names, in no order}, or nil and message */
static int directory_names(lua_State *L) {
    hd_call c = hd_begin(L, "directory_names");
    const char *path = hd_path_at(&c, 1);
    directory_box *box = push_box(&c);
    hd_status status = hd_directory_read(c.cx, &box->directory, path);
    if (status) return hd_nil_and_message(&c, status);
    const char *name = box->directory.names;
    lua_createtable(L, (int)box->directory.count, 0);
    for (int64_t i = 0; i < box->directory.count; i++, name += strlen(name) + 1) {
        lua_pushstring(L, name);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static const hd_function functions[] = {
    {"directory_names", directory_names, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_directory(hd_registrar *r) {
    hd_define(r, functions);
}
