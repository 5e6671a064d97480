/* Losses, with positional arguments: heed.loss calls them. */
#include "lua/runtime/check.h"

#include <string.h>

#include "lua/nn/nn.h"

static hd_loss_reduction reduction_at(hd_call *c, int index) {
    if (!hd_given(c, index)) return HD_LOSS_MEAN;
    const char *name = lua_type(c->L, index) == LUA_TSTRING ? lua_tostring(c->L, index) : "";
    if (strcmp(name, "mean") == 0) return HD_LOSS_MEAN;
    if (strcmp(name, "sum") == 0) return HD_LOSS_SUM;
    if (strcmp(name, "none") == 0) return HD_LOSS_NONE;
    hd_arg_expected(c, index, "reduction", "\"mean\", \"sum\" or \"none\"");
    return HD_LOSS_MEAN;
}

/* The classes of a Lua list, in memory that the collector owns (pushed). */
static void read_excluded(hd_call *c, int index, hd_cross_entropy_options *o) {
    lua_State *L = c->L;
    if (!hd_given(c, index)) return;
    if (lua_type(L, index) != LUA_TTABLE) hd_arg_expected(c, index, "smoothing_exclude", "a list of classes");
    int count = hd_count(c, index, "smoothing_exclude");
    int64_t *classes = lua_newuserdatauv(L, sizeof *classes * (size_t)(count + 1), 0);
    for (int i = 0; i < count; i++) {
        lua_rawgeti(L, index, i + 1);
        classes[i] = hd_integer_at(c, -1, "smoothing_exclude");
        lua_pop(L, 1);
    }
    o->excluded = classes;
    o->excluded_count = count;
}

/* From index on: ignore_index, label_smoothing, weight, reduction, smoothing_exclude. The weight is left out: what is
 * read after it may run Lua. */
static hd_cross_entropy_options class_options(hd_call *c, int index) {
    hd_cross_entropy_options o = {.has_ignore_index = hd_given(c, index),
                                  .ignore_index = hd_opt_integer(c, index, "ignore_index", 0),
                                  .label_smoothing = hd_opt_probability(c, index + 1, "label_smoothing"),
                                  .reduction = reduction_at(c, index + 3)};
    read_excluded(c, index + 4, &o);
    hd_set_modes(c);
    return o;
}

/* cross_entropy(logits, targets, ignore_index, label_smoothing, weight, reduction, smoothing_exclude) */
static int cross_entropy(lua_State *L) {
    hd_call c = hd_enter(L, "loss.cross_entropy");
    hd_tensor *targets = hd_arg_ids(&c, 2, "targets");
    hd_cross_entropy_options o = class_options(&c, 3);
    hd_tensor *logits = hd_arg_tensor(&c, 1, "logits");
    o.weight = hd_opt_tensor(&c, 5, "weight");
    return hd_return(&c, hd_cross_entropy(c.cx, logits, targets, &o));
}

/* linear_cross_entropy(hidden, weight, targets, bias, ignore_index, label_smoothing, class_weight, reduction,
 * smoothing_exclude) */
static int linear_cross_entropy(lua_State *L) {
    hd_call c = hd_enter(L, "loss.linear_cross_entropy");
    hd_tensor *targets = hd_arg_ids(&c, 3, "targets");
    hd_cross_entropy_options o = class_options(&c, 5);
    hd_tensor *hidden = hd_arg_tensor(&c, 1, "hidden"), *weight = hd_arg_tensor(&c, 2, "weight"),
              *bias = hd_opt_tensor(&c, 4, "bias");
    o.weight = hd_opt_tensor(&c, 7, "options.weight");
    return hd_return(&c, hd_linear_cross_entropy(c.cx, hidden, weight, bias, targets, &o));
}

/* nll_loss(log_probs, targets, ignore_index, weight, reduction) */
static int nll_loss(lua_State *L) {
    hd_call c = hd_enter(L, "loss.nll_loss");
    hd_tensor *targets = hd_arg_ids(&c, 2, "targets");
    hd_cross_entropy_options o = {.has_ignore_index = hd_given(&c, 3),
                                  .ignore_index = hd_opt_integer(&c, 3, "ignore_index", 0),
                                  .reduction = reduction_at(&c, 5)};
    hd_tensor *log_probs = hd_arg_tensor(&c, 1, "log_probs");
    o.weight = hd_opt_tensor(&c, 4, "weight");
    return hd_return(&c, hd_nll_loss(c.cx, log_probs, targets, &o));
}

static hd_loss_reduction pointwise_reduction_at(hd_call *c, int index, bool has_batchmean) {
    const char *name =
        hd_given(c, index) && lua_type(c->L, index) == LUA_TSTRING ? lua_tostring(c->L, index) : "";
    if (has_batchmean && strcmp(name, "batchmean") == 0) return HD_LOSS_BATCHMEAN;
    return reduction_at(c, index);
}

/* mse_loss and its kin(input, target, reduction, weight, pos_weight, parameter, factor = 1) */
static int pointwise_loss(lua_State *L) {
    const hd_pointwise_row *row = hd_entry(L);
    hd_call c = hd_enter(L, row->public_name);
    hd_pointwise_options o = {.kind = (hd_pointwise)(row - hd_pointwise_rows),
                              .reduction = pointwise_reduction_at(&c, 3, row->batchmean),
                              .parameter = hd_opt_number(&c, 6, "parameter", 0),
                              .factor = hd_opt_number(&c, 7, "factor", 1)};
    o.weight = hd_opt_tensor(&c, 4, "weight");
    o.pos_weight = hd_opt_tensor(&c, 5, "pos_weight");
    hd_tensor *input = hd_arg_tensor(&c, 1, "input"), *target = hd_arg_tensor(&c, 2, "target");
    return hd_return(&c, hd_pointwise_loss(c.cx, input, target, &o));
}

static const hd_function functions[] = {
    {"cross_entropy", cross_entropy, HD_INTERNAL},
    {"linear_cross_entropy", linear_cross_entropy, HD_INTERNAL},
    {"nll_loss", nll_loss, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_loss(hd_registrar *r) {
    hd_define(r, functions);
    for (int op = 0; op < HD_POINTWISE_COUNT; op++)
        hd_define_entry(r, hd_pointwise_rows[op].name, pointwise_loss, HD_INTERNAL, &hd_pointwise_rows[op]);
}
