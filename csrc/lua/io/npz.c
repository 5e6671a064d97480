/* Archives of tensors. */
#include "io/npz.h"
#include "lua/io/files.h"

/* What is open is held by a userdata, which closes it however the call ends. */
static int closed(lua_State *L) {
    hd_npz **file = lua_touserdata(L, 1);
    hd_npz_close(*file);
    *file = NULL;
    return 0;
}

/* npz_load(path) -> {name = tensor}, or nil and message */
static int npz_load(lua_State *L) {
    hd_call c = hd_begin(L, "npz.load");
    const char *path = hd_path_at(&c, 1);
    hd_npz **held = hd_push_held(L, closed);
    if (!(*held = hd_npz_open(c.cx, path))) return hd_nil_and_message(&c, c.cx->error.status);
    lua_newtable(L);
    hd_status status = HD_OK;
    for (int64_t i = 0; i < hd_npz_count(*held) && !status; i++) {
        hd_handle *handle = hd_push_handle(&c);
        handle->t = hd_npz_read(*held, i);
        if (handle->t)
            lua_setfield(L, -2, hd_npz_name(*held, i));
        else
            status = c.cx->error.status;
    }
    hd_npz_close(*held);
    *held = NULL;
    return status ? hd_nil_and_message(&c, status) : 1;
}

static const hd_function functions[] = {
    {"npz_load", npz_load, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_npz(hd_registrar *r) {
    hd_define(r, functions);
}
