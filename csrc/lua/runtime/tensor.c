/* What can be asked of a tensor, and its end. */
#include "lua/runtime/check.h"
#include "lua/runtime/property.h"

static int size(lua_State *L) {
    hd_call c = hd_begin(L, "size");
    hd_no_more(&c, 2);
    hd_tensor *t = hd_arg_weight(&c, 1, "t");
    if (hd_given(&c, 2)) {
        int dim = hd_arg_dim(&c, 2, "dim", t->ndim);
        if (t->ndim == 0) hd_arg_error(&c, "dim", "a tensor without dimensions has no sizes");
        lua_pushinteger(L, t->shape[dim]);
        return 1;
    }
    luaL_checkstack(L, HD_MAX_DIMS, NULL);
    for (int i = 0; i < t->ndim; i++) lua_pushinteger(L, t->shape[i]);
    return t->ndim;
}

static int length(lua_State *L) {
    hd_call c = hd_begin(L, "#t");
    hd_tensor *t = hd_arg_weight(&c, 1, "t");
    if (t->ndim == 0)
        hd_arg_error(&c, NULL, "a tensor without dimensions has no length; t:item() is its number");
    lua_pushinteger(L, t->shape[0]);
    return 1;
}

static int dim(lua_State *L) {
    hd_call c = hd_begin(L, "dim");
    hd_no_more(&c, 1);
    lua_pushinteger(L, hd_arg_weight(&c, 1, "t")->ndim);
    return 1;
}

static int numel(lua_State *L) {
    hd_call c = hd_begin(L, "numel");
    hd_no_more(&c, 1);
    lua_pushinteger(L, hd_numel(hd_arg_weight(&c, 1, "t")));
    return 1;
}

static int is_contiguous(lua_State *L) {
    hd_call c = hd_begin(L, "is_contiguous");
    hd_no_more(&c, 1);
    lua_pushboolean(L, hd_is_contiguous(hd_arg_tensor(&c, 1, "t")));
    return 1;
}

static int stride(lua_State *L) {
    hd_call c = hd_begin(L, "stride");
    hd_no_more(&c, 1);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    hd_push_shape(L, t->ndim, t->stride);
    return 1;
}

static int item(lua_State *L) {
    hd_call c = hd_begin(L, "item");
    hd_no_more(&c, 1);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    char text[HD_SHAPE_TEXT];
    if (hd_numel(t) != 1)
        hd_arg_error(&c, "t", "expected a tensor of one element, got shape %s; t:totable() gives all of them",
                     hd_tensor_shape_text(t, text));
    hd_push_element(L, t, t->offset);
    hd_check_losses(&c);
    return 1;
}

static void push_table(hd_call *c, const hd_tensor *t, int depth, int64_t position) {
    lua_State *L = c->L;
    if (depth == t->ndim) {
        hd_push_element(L, t, position);
        return;
    }
    luaL_checkstack(L, 4, NULL);
    lua_createtable(L, t->shape[depth] < 1 << 20 ? (int)t->shape[depth] : 0, 0);
    for (int64_t i = 0; i < t->shape[depth]; i++) {
        push_table(c, t, depth + 1, position + i * t->stride[depth]);
        lua_rawseti(L, -2, i + 1);
    }
}

/* An expanded tensor has more elements than memory, and each would become a value of Lua's. */
enum { MOST_REPEATED = 1 << 26 };
static void check_fits_table(hd_call *c, const hd_tensor *t) {
    char text[HD_SHAPE_TEXT];
    size_t held = t->storage->bytes / hd_dtype_size((hd_dtype)t->dtype);
    if (hd_numel(t) > MOST_REPEATED && (size_t)hd_numel(t) > held)
        hd_arg_error(c, "t", "expected at most %d elements of an expanded tensor, got shape %s",
                     MOST_REPEATED, hd_tensor_shape_text(t, text));
}

static int totable(lua_State *L) {
    hd_call c = hd_enter(L, "totable");
    hd_no_more(&c, 1);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    check_fits_table(&c, t);
    c.out->t = hd_retain(t); /* filling the table may run finalizers: hold the tensor meanwhile */
    push_table(&c, t, 0, t->offset);
    hd_check_losses(&c);
    return 1;
}

static int bytes(lua_State *L) {
    hd_call c = hd_enter(L, "bytes");
    hd_no_more(&c, 1);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    c.cx->grad_enabled = false;
    c.out->t = hd_contiguous(c.cx, t);
    if (!c.out->t) hd_raise(&c);
    t = c.out->t;
    lua_pushlstring(L, hd_data(t), (size_t)hd_numel(t) * hd_dtype_size((hd_dtype)t->dtype));
    hd_check_losses(&c);
    return 1;
}

static int data_id(lua_State *L) {
    hd_call c = hd_begin(L, "data_id");
    hd_no_more(&c, 1);
    lua_pushlightuserdata(L, hd_arg_weight(&c, 1, "t")->storage);
    return 1;
}

static int is_tensor(lua_State *L) {
    hd_lua *h = lua_touserdata(L, lua_upvalueindex(1));
    lua_pushboolean(L, hd_to_handle(L, h, 1) != NULL);
    return 1;
}

static int free_handle(lua_State *L) {
    hd_call c = hd_begin(L, "free");
    hd_no_more(&c, 1);
    hd_handle *handle = hd_to_handle(L, c.h, 1);
    if (!handle) hd_arg_expected(&c, 1, "t", "a tensor");
    hd_drop(L, c.h, handle);
    return 0;
}

static int collected(lua_State *L) {
    ((hd_lua *)lua_touserdata(L, lua_upvalueindex(1)))->clock.dropped++;
    hd_handle_drop(lua_touserdata(L, 1));
    return 0;
}

static const hd_function functions[] = {
    {"size", size, HD_BOTH},
    {"dim", dim, HD_BOTH},
    {"numel", numel, HD_BOTH},
    {"is_contiguous", is_contiguous, HD_BOTH},
    {"stride", stride, HD_BOTH},
    {"item", item, HD_BOTH},
    {"totable", totable, HD_BOTH},
    {"bytes", bytes, HD_BOTH},
    {"data_id", data_id, HD_INTERNAL | HD_METHOD},
    {"is_tensor", is_tensor, HD_MODULE},
    {"free", free_handle, HD_METHOD},
    {NULL, NULL, 0},
};

void hd_register_tensor(hd_registrar *r) {
    hd_define(r, functions);
    hd_define_meta(r, r->tensor, "__len", length, NULL);
    hd_define_meta(r, r->tensor, "__gc", collected, NULL);
}
