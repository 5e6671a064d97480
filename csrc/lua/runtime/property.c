/* The fields of a tensor (shape, dtype, grad, requires_grad, is_leaf), and the table that shapes come in. */
#include "lua/runtime/property.h"

#include "ops/product/quantized.h"

#include <string.h>

/* ---- asking ------------------------------------------------------------------------------ */

typedef enum property { SHAPE = 1, DTYPE, GRAD, REQUIRES_GRAD, IS_LEAF } property;
static const struct {
    const char *name;
    property code;
} properties[] = {{"shape", SHAPE},
                  {"dtype", DTYPE},
                  {"grad", GRAD},
                  {"requires_grad", REQUIRES_GRAD},
                  {"is_leaf", IS_LEAF}};

void hd_push_shape(lua_State *L, int ndim, const int64_t *shape) {
    lua_createtable(L, ndim, 0);
    for (int i = 0; i < ndim; i++) {
        lua_pushinteger(L, shape[i]);
        lua_rawseti(L, -2, i + 1);
    }
    hd_push_uv(L, HD_UV_SHAPE);
    lua_setmetatable(L, -2);
}

/* The userdata of a gradient is remembered (weakly), so that t.grad == t.grad. */
static void push_grad(hd_call *c, hd_handle *handle) {
    lua_State *L = c->L;
    if (!handle->t->grad) {
        lua_pushnil(L);
        return;
    }
    hd_push_uv(L, HD_UV_GRADS);
    lua_rawgetp(L, -1, handle->t->grad);
    hd_handle *known = hd_to_handle(L, c->h, -1);
    if (known && known->t == handle->t->grad) return;
    lua_pop(L, 1);
    hd_handle *made = hd_push_handle(c);
    if (!handle->t->grad) { /* a finalizer has taken it away */
        lua_pushnil(L);
        return;
    }
    made->t = hd_retain(handle->t->grad);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, -3, made->t);
}

/* Of a quantised weight the format, in lower case as dtypes are. */
void hd_push_dtype(lua_State *L, const hd_tensor *t) {
    char name[64];
    const hd_quantized *q = hd_quantized_of(t);
    if (!q) {
        lua_pushstring(L, hd_dtype_name((hd_dtype)t->dtype));
        return;
    }
    hd_quantized_name(q, name);
    for (char *p = name; *p; p++)
        if (*p >= 'A' && *p <= 'Z') *p = (char)(*p - 'A' + 'a');
    lua_pushstring(L, name);
}

void hd_push_property(lua_State *L, hd_lua *h, int code) {
    hd_call c = {.L = L, .h = h, .cx = h->cx, .name = "t.shape", .top = 1};
    if (!h->cx) luaL_error(L, "heed: this Lua state is closing");
    hd_tensor *t = hd_arg_weight(&c, 1, "t");
    switch ((property)code) {
    case SHAPE: hd_push_shape(L, t->ndim, t->shape); return;
    case DTYPE: hd_push_dtype(L, t); return;
    case GRAD: push_grad(&c, lua_touserdata(L, 1)); return;
    case REQUIRES_GRAD: lua_pushboolean(L, t->requires_grad); return;
    case IS_LEAF: lua_pushboolean(L, t->node == NULL); return;
    }
}

/* ---- setting ----------------------------------------------------------------------------- */

/* NULL where the call's name says it: "t.grad". */
static const char *unless_said(const hd_call *c, const char *argument) {
    return strncmp(c->name, "t.", 2) == 0 ? NULL : argument;
}

static void refuse_quantized(hd_call *c, const hd_tensor *t) {
    if (hd_quantized_of(t))
        hd_arg_error(c, unless_said(c, "t"),
                     "a quantised weight has no gradient; :to \"f32\" gives a tensor that may");
}

void hd_set_requires_grad(hd_call *c, hd_handle *handle, bool wanted) {
    hd_tensor *t = handle->t;
    if (wanted) refuse_quantized(c, t);
    if (t->node) {
        if (wanted) return;
        hd_arg_error(c, unless_said(c, "requires_grad"),
                     "only a leaf can stop wanting a gradient; t:detach() gives one");
    }
    if (wanted && t->dtype != HD_F32 && t->dtype != HD_F64)
        hd_arg_error(c, unless_said(c, "requires_grad"),
                     "expected f32 or f64, which alone have gradients, got %s",
                     hd_dtype_name((hd_dtype)t->dtype));
    t->requires_grad = wanted;
    if (wanted) hd_handle_unscope(handle);
}

static void set_grad(hd_call *c, hd_tensor *t) {
    if (lua_isnil(c->L, 3)) {
        hd_tensor *old = t->grad;
        t->grad = NULL;
        hd_release(old);
        return;
    }
    refuse_quantized(c, t);
    hd_tensor *grad = hd_arg_tensor(c, 3, "value");
    char want[HD_SHAPE_TEXT], got[HD_SHAPE_TEXT];
    if (t->node) hd_arg_error(c, NULL, "only leaves keep a gradient");
    if (grad->dtype != t->dtype || !hd_same_shape(grad, t))
        hd_arg_error(c, NULL, "expected %s %s like its tensor, got %s %s", hd_dtype_name((hd_dtype)t->dtype),
                     hd_tensor_shape_text(t, want), hd_dtype_name((hd_dtype)grad->dtype),
                     hd_tensor_shape_text(grad, got));
    /* A header of its own for what has a graph, and for what has a gradient or is t: no circle may close. */
    bool apart = grad->node || grad->requires_grad || grad->grad || grad == t;
    hd_tensor *kept = apart ? hd_tensor_alias(c->cx, grad) : hd_retain(grad);
    if (!kept) hd_raise(c);
    hd_tensor *old = t->grad;
    t->grad = kept;
    hd_release(old);
}

void hd_set_property(hd_call *c, const char *name) {
    hd_handle *handle = lua_touserdata(c->L, 1);
    hd_tensor *t = hd_arg_weight(c, 1, "t");
    if (strcmp(name, "grad") == 0) {
        set_grad(c, t);
    } else if (strcmp(name, "requires_grad") == 0) {
        if (!lua_isboolean(c->L, 3)) hd_arg_expected(c, 3, NULL, "a boolean");
        hd_set_requires_grad(c, handle, lua_toboolean(c->L, 3));
    } else {
        hd_arg_error(c, NULL,
                     "expected grad or requires_grad: other fields of tensors are not set; a table beside "
                     "the tensor can keep what is yours");
    }
}

static int requires_grad_(lua_State *L) {
    hd_call c = hd_begin(L, "requires_grad_");
    hd_no_more(&c, 2);
    hd_arg_weight(&c, 1, "t");
    hd_set_requires_grad(&c, lua_touserdata(L, 1), hd_opt_boolean(&c, 2, "requires_grad", true));
    lua_settop(L, 1);
    return 1;
}

/* ---- shapes as tables: [2, 4, 8] --------------------------------------------------------- */

/* Pushes the text of the table at index. */
static void push_shape_text(lua_State *L, int index) {
    luaL_Buffer b;
    index = lua_absindex(L, index);
    luaL_buffinit(L, &b);
    luaL_addchar(&b, '[');
    lua_Integer count = (lua_Integer)lua_rawlen(L, index);
    for (lua_Integer i = 1; i <= count; i++) {
        if (i > 1) luaL_addstring(&b, ", ");
        lua_rawgeti(L, index, i);
        luaL_tolstring(L, -1, NULL);
        lua_remove(L, -2);
        luaL_addvalue(&b);
    }
    luaL_addchar(&b, ']');
    luaL_pushresult(&b);
}

static int shape_tostring(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    push_shape_text(L, 1);
    return 1;
}

static int shape_concat(lua_State *L) {
    for (int i = 1; i <= 2; i++) {
        if (lua_type(L, i) == LUA_TTABLE)
            push_shape_text(L, i);
        else
            luaL_tolstring(L, i, NULL);
    }
    lua_concat(L, 2);
    return 1;
}

static int shape_eq(lua_State *L) {
    bool equal =
        lua_type(L, 1) == LUA_TTABLE && lua_type(L, 2) == LUA_TTABLE && lua_rawlen(L, 1) == lua_rawlen(L, 2);
    lua_Integer count = equal ? (lua_Integer)lua_rawlen(L, 1) : 0;
    for (lua_Integer i = 1; i <= count && equal; i++) {
        lua_rawgeti(L, 1, i);
        lua_rawgeti(L, 2, i);
        equal = lua_rawequal(L, -1, -2);
        lua_pop(L, 2);
    }
    lua_pushboolean(L, equal);
    return 1;
}

static const hd_function functions[] = {{"requires_grad_", requires_grad_, HD_BOTH}, {NULL, NULL, 0}};

void hd_register_property(hd_registrar *r) {
    lua_State *L = r->L;
    hd_define(r, functions);
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
        lua_pushinteger(L, properties[i].code);
        lua_setfield(L, r->methods, properties[i].name);
    }
    r->h->shape_type = hd_new_type(r, "heed.shape", HD_UV_SHAPE);
    hd_define_meta(r, -1, "__tostring", shape_tostring, NULL);
    hd_define_meta(r, -1, "__concat", shape_concat, NULL);
    hd_define_meta(r, -1, "__eq", shape_eq, NULL);
    lua_pop(L, 1);
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_setiuservalue(L, r->record, HD_UV_GRADS);
}
