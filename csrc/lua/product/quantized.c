/* Quantised weights: made of numbers, joined. */
#include "ops/product/quantized.h"

#include "lua/runtime/check.h"
#include "lua/runtime/property.h"

/* "q4_0" as a format that is written here. */
static const hd_block_format *format_at(hd_call *c, int index) {
    static const char expected[] = "one of q4_0, q4_1, q5_0, q5_1, q8_0";
    char name[16] = {0};
    size_t length = 0;
    const char *text = lua_type(c->L, index) == LUA_TSTRING ? lua_tolstring(c->L, index, &length) : NULL;
    if (!text || length >= sizeof name) hd_arg_expected(c, index, "type", expected);
    for (size_t i = 0; i < length; i++)
        name[i] = (char)(text[i] >= 'a' && text[i] <= 'z' ? text[i] - 'a' + 'A' : text[i]);
    const hd_block_format *format = hd_block_format_named(name);
    if (!format || !format->quantize || !hd_quantized_takes(format))
        hd_arg_expected(c, index, "type", expected);
    return format;
}

/* quantize(x, type) */
static int quantize(lua_State *L) {
    hd_call c = hd_enter(L, "quantize");
    hd_no_more(&c, 2);
    hd_tensor *x = hd_arg_tensor(&c, 1, "x");
    return hd_return(&c, hd_quantize(c.cx, x, format_at(&c, 2)));
}

static hd_tensor *quantized_at(hd_call *c, int index, const char *argument) {
    hd_tensor *t = hd_weight_at(c, index, argument);
    if (!hd_quantized_of(t)) hd_arg_expected(c, index, argument, "a quantised weight");
    return t;
}

/* quantized_cat({a, b, ...}): their rows, one behind the other */
static int quantized_cat(lua_State *L) {
    hd_call c = hd_enter(L, "quantized_cat");
    if (lua_type(L, 1) != LUA_TTABLE) hd_arg_expected(&c, 1, "weights", "a list");
    const int count = (int)lua_rawlen(L, 1);
    hd_tensor **parts = lua_newuserdatauv(L, sizeof *parts * (size_t)(count + 1), 0);
    luaL_checkstack(L, count + 4, NULL);
    for (int i = 0; i < count; i++) {
        lua_rawgeti(L, 1, i + 1);
        parts[i] = quantized_at(&c, lua_gettop(L), "weights");
        if (parts[i]->shape[1] != parts[0]->shape[1] || parts[i]->offset)
            hd_arg_expected(&c, lua_gettop(L), "weights", "weights of as many columns");
    }
    if (count == 0) hd_arg_expected(&c, 1, "weights", "a list of weights");
    return hd_return(&c, hd_quantized_cat(c.cx, count, parts));
}

/* quantized_rows(w, first, count) */
static int quantized_rows(lua_State *L) {
    hd_call c = hd_enter(L, "quantized_rows");
    hd_tensor *w = quantized_at(&c, 1, "w");
    const int64_t first = hd_arg_integer(&c, 2, "first"), count = hd_arg_integer(&c, 3, "count");
    if (first < 1 || count < 1 || first - 1 > w->shape[0] - count)
        hd_arg_error(&c, "first, count", "expected rows within 1..%lld, got %lld from %lld on",
                     (long long)w->shape[0], (long long)count, (long long)first);
    return hd_return(&c, hd_quantized_rows(c.cx, w, first - 1, count));
}

/* is_quantized(t) */
static int is_quantized(lua_State *L) {
    hd_call c = hd_begin(L, "is_quantized");
    hd_no_more(&c, 1);
    const hd_handle *handle = hd_to_handle(L, c.h, 1);
    lua_pushboolean(L, handle && handle->t && hd_quantized_of(handle->t));
    return 1;
}

static const hd_function functions[] = {
    {"quantize", quantize, HD_MODULE},
    {"quantized_cat", quantized_cat, HD_INTERNAL},
    {"quantized_rows", quantized_rows, HD_INTERNAL},
    {"is_quantized", is_quantized, HD_MODULE},
    {NULL, NULL, 0},
};

void hd_register_quantized(hd_registrar *r) {
    hd_define(r, functions);
}
