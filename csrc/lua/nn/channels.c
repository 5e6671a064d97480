/* Operations on channels [B, C, ...]: convolution and pooling, whose options are numbers or lists of one for
 * each dimension, and norms. */
#include <string.h>

#include "lua/runtime/check.h"

/* A number for all dimensions, or a list of one each. */
static void sizes_at(hd_call *c, int index, const char *name, int dims, int64_t sizes[2]) {
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

/* An absent option: nothing is written. */
static void read_sizes(hd_call *c, const char *name, int dims, int64_t sizes[2]) {
    int index = hd_option(c, name);
    if (hd_given(c, index)) sizes_at(c, index, name, dims, sizes);
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

/* ---- pooling --------------------------------------------------------------------------------------- */

/* kernel_size at 2, and the options that are allowed. */
static int pool(lua_State *L, const char *name, hd_pool_options o, const char *allowed) {
    hd_call c = hd_enter(L, name);
    hd_take_options(&c, allowed);
    hd_no_more(&c, 2);
    hd_tensor *x = hd_arg_tensor(&c, 1, "x");
    const char *size = o.adaptive ? "output_size" : "kernel_size";
    if (!hd_given(&c, 2)) hd_arg_expected(&c, 2, size, o.dims == 1 ? "a number" : "a number or a list of 2");
    sizes_at(&c, 2, size, o.dims, o.kernel);
    o.dilation[0] = o.dilation[1] = o.stride[0] = o.stride[1] = 1;
    if (!o.adaptive) {
        memcpy(o.stride, o.kernel, sizeof o.stride);
        read_sizes(&c, "stride", o.dims, o.stride);
        read_sizes(&c, "padding", o.dims, o.padding);
        read_sizes(&c, "dilation", o.dims, o.dilation);
        o.ceil_mode = hd_option_boolean(&c, "ceil_mode", false);
        o.count_include_pad = hd_option_boolean(&c, "count_include_pad", true);
    }
    return hd_return(&c, hd_pool(c.cx, x, &o));
}

#define MAX_OPTIONS "stride padding dilation ceil_mode"
#define AVERAGE_OPTIONS "stride padding ceil_mode count_include_pad"

static int max_pool1d(lua_State *L) {
    return pool(L, "max_pool1d", (hd_pool_options){.dims = 1, .largest = true}, MAX_OPTIONS);
}
static int max_pool2d(lua_State *L) {
    return pool(L, "max_pool2d", (hd_pool_options){.dims = 2, .largest = true}, MAX_OPTIONS);
}
static int avg_pool1d(lua_State *L) {
    return pool(L, "avg_pool1d", (hd_pool_options){.dims = 1}, AVERAGE_OPTIONS);
}
static int avg_pool2d(lua_State *L) {
    return pool(L, "avg_pool2d", (hd_pool_options){.dims = 2}, AVERAGE_OPTIONS);
}
static int adaptive_avg_pool1d(lua_State *L) {
    return pool(L, "adaptive_avg_pool1d", (hd_pool_options){.dims = 1, .adaptive = true}, "");
}
static int adaptive_avg_pool2d(lua_State *L) {
    return pool(L, "adaptive_avg_pool2d", (hd_pool_options){.dims = 2, .adaptive = true}, "");
}

/* ---- norms of channels -------------------------------------------------------------------------- */

static double eps_at(hd_call *c, double eps) {
    if (!(eps >= 0)) hd_arg_error(c, "eps", "expected a number of at least 0, got %g", eps);
    return eps;
}

/* batch_norm(x, running_mean, running_var, weight, bias, {training = false, momentum = 0.1, eps = 1e-5}) */
static int batch_norm(lua_State *L) {
    hd_call c = hd_enter(L, "batch_norm");
    hd_take_options(&c, "training momentum eps");
    hd_no_more(&c, 5);
    hd_tensor *x = hd_arg_tensor(&c, 1, "x"), *w = hd_opt_tensor(&c, 4, "weight"),
              *b = hd_opt_tensor(&c, 5, "bias");
    hd_batch_norm_options o = {.running_mean = hd_opt_tensor(&c, 2, "running_mean"),
                               .running_var = hd_opt_tensor(&c, 3, "running_var"),
                               .training = hd_option_boolean(&c, "training", false),
                               .momentum = hd_option_number(&c, "momentum", 0.1),
                               .eps = eps_at(&c, hd_option_number(&c, "eps", 1e-5))};
    if (!(o.momentum >= 0 && o.momentum <= 1))
        hd_arg_error(&c, "momentum", "expected a number 0..1, got %g", o.momentum);
    return hd_return(&c, hd_batch_norm(c.cx, x, w, b, &o));
}

/* group_norm(x, num_groups, weight, bias, eps = 1e-5) */
static int group_norm(lua_State *L) {
    hd_call c = hd_enter(L, "group_norm");
    hd_no_more(&c, 5);
    hd_tensor *x = hd_arg_tensor(&c, 1, "x"), *w = hd_opt_tensor(&c, 3, "weight"),
              *b = hd_opt_tensor(&c, 4, "bias");
    int64_t groups = hd_arg_integer(&c, 2, "num_groups");
    return hd_return(&c, hd_group_norm(c.cx, x, groups, w, b, eps_at(&c, hd_opt_number(&c, 5, "eps", 1e-5))));
}

static const hd_function functions[] = {
    {"conv1d", conv1d, HD_MODULE},
    {"conv2d", conv2d, HD_MODULE},
    {"max_pool1d", max_pool1d, HD_MODULE},
    {"max_pool2d", max_pool2d, HD_MODULE},
    {"avg_pool1d", avg_pool1d, HD_MODULE},
    {"avg_pool2d", avg_pool2d, HD_MODULE},
    {"adaptive_avg_pool1d", adaptive_avg_pool1d, HD_MODULE},
    {"adaptive_avg_pool2d", adaptive_avg_pool2d, HD_MODULE},
    {"batch_norm", batch_norm, HD_MODULE},
    {"group_norm", group_norm, HD_MODULE},
    {NULL, NULL, 0},
};

void hd_register_channels(hd_registrar *r) {
    hd_define(r, functions);
}
