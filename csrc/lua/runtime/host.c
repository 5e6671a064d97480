/* The functions of heed.h that hosts call. */
#include "heed.h"

#include <string.h>

#include "lua/runtime/check.h"
#include "lua/runtime/modes.h"

_Static_assert(HEED_MAX_DIMS == HD_MAX_DIMS, "heed.h and tensor.h agree");

static hd_lua *opened(lua_State *L) {
    hd_lua *h = hd_lua_of(L);
    if (!h || !h->cx)
        luaL_error(L, "heed is not open in this Lua state: luaL_requiref(L, \"heed\", luaopen_heed, 0)");
    return h;
}

static void describe(const hd_tensor *t, heed_view *view) {
    if (!view) return;
    view->data = hd_data(t);
    view->dtype = hd_dtype_name((hd_dtype)t->dtype);
    view->ndim = t->ndim;
    memcpy(view->shape, t->shape, sizeof view->shape);
    memcpy(view->stride, t->stride, sizeof view->stride);
}

/* A call as if from Lua: the record and the tensors' metatable as upvalues. */
static int make(lua_State *L) {
    hd_call c = hd_enter(L, "push_tensor");
    hd_dtype dtype = hd_arg_dtype(&c, 1, "dtype");
    int ndim = (int)lua_tointeger(L, 2);
    const int64_t *shape = lua_touserdata(L, 3);
    const void *data = lua_touserdata(L, 4);
    if (ndim < 0 || ndim > HD_MAX_DIMS) hd_arg_error(&c, "ndim", "expected 0..%d, got %d", HD_MAX_DIMS, ndim);
    hd_tensor *t = hd_tensor_zeros(c.cx, dtype, ndim, shape);
    if (t && data) memcpy(hd_data(t), data, (size_t)hd_numel(t) * hd_dtype_size(dtype));
    return hd_return(&c, t);
}

void heed_push_tensor(lua_State *L, const char *dtype, int ndim, const int64_t *shape, const void *data,
                      heed_view *view) {
    hd_lua *h = opened(L);
    luaL_checkstack(L, 10, NULL);
    hd_lua_push_record(L);
    lua_getiuservalue(L, -1, HD_UV_TENSOR);
    lua_pushcclosure(L, make, 2);
    lua_pushstring(L, dtype);
    lua_pushinteger(L, ndim);
    lua_pushlightuserdata(L, (void *)shape);
    lua_pushlightuserdata(L, (void *)data);
    lua_call(L, 4, 1);
    describe(hd_to_handle(L, h, -1)->t, view);
}

bool heed_to_tensor(lua_State *L, int index, heed_view *view) {
    hd_handle *handle = hd_to_handle(L, opened(L), index);
    if (!handle || !handle->t) return false;
    describe(handle->t, view);
    return true;
}

void heed_check_tensor(lua_State *L, int argument, heed_view *view) {
    if (!heed_to_tensor(L, argument, view)) luaL_typeerror(L, argument, "tensor");
}

void heed_wrote(lua_State *L, int index) {
    hd_handle *handle = hd_to_handle(L, opened(L), index);
    if (handle && handle->t) hd_wrote(handle->t);
}

void heed_interrupt(lua_State *L) {
    hd_set_cancelled(opened(L)->cx, true);
}

volatile sig_atomic_t *heed_cancel_flag(lua_State *L) {
    return &opened(L)->cx->cancel;
}

bool heed_interruptible(lua_State *L) {
    return !hd_mode_is_on(opened(L), HD_MODE_UNINTERRUPTED);
}
