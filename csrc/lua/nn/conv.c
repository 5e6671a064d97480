/* Convolution: options as numbers, or as lists with one for each dimension. */
#include <string.h>

#include "lua/runtime/check.h"

/* The option as a number for all dimensions or a list of one each; absent: nothing is written. */
static void read_sizes(hd_call *c, const char *name, int dims, int64_t sizes[2]) {
    int index = hd_option(c, name);
    if (!hd_given(c, index)) return;
    if (lua_type(c->L, index) != LUA_TTABLE) {
        sizes[0] = sizes[1] = hd_integer_at(c, index, name);
        return;
    }
    hd_check_list(c, index, name);
    if ((int)lua_rawlen(c->L, index) != dims)
        hd_arg_error(c, name, "expected a number or a list of %d, got a list of %lld", dims,
                     (long long)lua_rawlen(c->L, index));
    for (int d = 0; d < dims; d++) {
        lua_rawgeti(c->L, index, d + 1);
        sizes[d] = hd_integer_at(c, -1, name);
        lua_pop(c->L, 1);
    }
}

/* As many zeros as keep the size, one more of them after x than before when they are odd. */
static void pad_same(hd_call *c, const hd_tensor *w, hd_conv_options *o) {
    for (int d = 0; d < o->dims; d++) {
        if (o->stride[d] != 1) hd_arg_error(c, "padding", "expected numbers beside a stride, got \"same\"");
        int64_t kernel = w->ndim > 2 + d ? w->shape[2 + d] : 1, all;
        if (!hd_mul_fits(kernel > 0 ? kernel - 1 : 0, o->dilation[d], &all))
            hd_arg_error(c, "dilation", "expected less, got %lld", (long long)o->dilation[d]);
        o->before[d] = all / 2;
        o->after[d] = all - all / 2;
    }
}

static void read_padding(hd_call *c, const hd_tensor *w, hd_conv_options *o) {
    int index = hd_option(c, "padding");
    if (!hd_given(c, index)) return;
    int type = lua_type(c->L, index);
    const char *name = type == LUA_TSTRING ? lua_tostring(c->L, index) : "";
    if (strcmp(name, "valid") == 0) return;
    if (strcmp(name, "same") == 0) {
        pad_same(c, w, o);
        return;
    }
    if (type != LUA_TNUMBER && type != LUA_TTABLE)
        hd_arg_expected(c, index, "padding", "a number, a list, \"same\" or \"valid\"");
    read_sizes(c, "padding", o->dims, o->before);
    memcpy(o->after, o->before, sizeof o->after);
}

/* conv1d, conv2d(x, weight, bias, {stride = 1, padding = 0, dilation = 1, groups = 1}) */
static int convolution(lua_State *L, const char *name, int dims) {
    hd_call c = hd_enter(L, name);
    hd_take_options(&c, "stride padding dilation groups");
    hd_no_more(&c, 3);
    hd_tensor *x = hd_arg_tensor(&c, 1, "x"), *w = hd_arg_tensor(&c, 2, "weight"),
              *b = hd_opt_tensor(&c, 3, "bias");
    hd_conv_options o = {.stride = {1, 1}, .dilation = {1, 1}, .dims = dims};
    o.groups = hd_option_integer(&c, "groups", 1);
    read_sizes(&c, "stride", dims, o.stride);
    read_sizes(&c, "dilation", dims, o.dilation);
    read_padding(&c, w, &o);
    return hd_return(&c, hd_convolution(c.cx, x, w, b, &o));
}

static int conv1d(lua_State *L) {
    return convolution(L, "conv1d", 1);
}

static int conv2d(lua_State *L) {
    return convolution(L, "conv2d", 2);
}

static const hd_function functions[] = {
    {"conv1d", conv1d, HD_MODULE},
    {"conv2d", conv2d, HD_MODULE},
    {NULL, NULL, 0},
};

void hd_register_conv(hd_registrar *r) {
    hd_define(r, functions);
}
