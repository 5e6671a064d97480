/* The binary files of marian-nmt: all of their tensors and texts. */
#include "io/marian.h"

#include "lua/io/files.h"

typedef struct marian_box {
    hd_marian file;
    hd_account *account; /* NULL once it was closed */
} marian_box;

static int collected(lua_State *L) {
    marian_box *box = lua_touserdata(L, 1);
    if (!box->account) return 0;
    hd_marian_close(box->account, &box->file);
    hd_account_release(box->account);
    box->account = NULL;
    return 0;
}

/* What was opened is closed when the box is, and so when anything raises. */
static marian_box *push_box(hd_call *c) {
    lua_State *L = c->L;
    marian_box *box = lua_newuserdatauv(L, sizeof *box, 0);
    *box = (marian_box){.file.source.fd = -1};
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, collected);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    hd_account_retain(c->cx->account);
    box->account = c->cx->account;
    return box;
}

/* Pushes the text of an item, read into Lua's own memory. */
static hd_status push_text(hd_call *c, marian_box *box, const hd_marian_item *item) {
    luaL_Buffer buffer;
    char *into = luaL_buffinitsize(c->L, &buffer, (size_t)item->bytes);
    hd_status status = hd_source_read(&box->file.source, into, item->bytes, item->offset);
    luaL_pushresultsize(&buffer, status ? 0 : (size_t)item->bytes);
    return status;
}

static hd_status push_item(hd_call *c, marian_box *box, const hd_marian_item *item) {
    if (item->is_text) return push_text(c, box, item);
    hd_handle *handle = hd_push_handle(c);
    handle->t = hd_marian_read(&box->file, item);
    return handle->t ? HD_OK : c->cx->error.status;
}

/* marian_load(path) -> {name = tensor, or text of "special:..."}, or nil and message */
static int marian_load(lua_State *L) {
    hd_call c = hd_enter(L, "marian_load");
    const char *path = hd_path_at(&c, 1);
    marian_box *box = push_box(&c);
    hd_status status = hd_marian_open(c.cx, &box->file, path);
    if (status) return hd_nil_and_message(&c, status);
    lua_createtable(L, 0, (int)box->file.count);
    for (int64_t i = 0; i < box->file.count; i++) {
        const hd_marian_item *item = &box->file.items[i];
        if (lua_getfield(L, -1, item->name) != LUA_TNIL)
            status = hd_fail(c.cx, HD_EIO, "%s: Marian: an item is given twice", path);
        lua_pop(L, 1);
        if (!status) status = push_item(&c, box, item);
        if (status) return hd_nil_and_message(&c, status);
        lua_setfield(L, -2, item->name);
    }
    hd_marian_close(c.cx->account, &box->file);
    return 1;
}

static const hd_function functions[] = {
    {"marian_load", marian_load, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_marian(hd_registrar *r) {
    hd_define(r, functions);
}
