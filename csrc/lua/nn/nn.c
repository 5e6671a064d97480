/* Operations of neural networks, with positional arguments: heed.nn calls them on its hot paths. */
#include "lua/nn/nn.h"

#include <math.h>
#include <string.h>

#include "layers/layers.h"

/* ---- shared readers ---------------------------------------------------------------------------------- */

bool hd_parse_activation(const char *name, hd_activation *activation) {
    for (int act = 0; act < HD_ACT_COUNT; act++)
        if (strcmp(name, hd_activation_rows[act].name) == 0) {
            *activation = (hd_activation)act;
            return true;
        }
    return false;
}

/* Pushes what may be said: "relu", "gelu" or "silu" */
static const char *activation_names(lua_State *L) {
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (int act = 0; act < HD_ACT_COUNT; act++) {
        if (act > 0) luaL_addstring(&b, act + 1 < HD_ACT_COUNT ? ", " : " or ");
        luaL_addchar(&b, '"');
        luaL_addstring(&b, hd_activation_rows[act].name);
        luaL_addchar(&b, '"');
    }
    luaL_pushresult(&b);
    return lua_tostring(L, -1);
}

hd_activation hd_opt_activation(hd_call *c, int index, const char *argument) {
    hd_activation activation = HD_ACT_NONE;
    if (!hd_given(c, index)) return HD_ACT_NONE;
    if (lua_type(c->L, index) != LUA_TSTRING || !hd_parse_activation(lua_tostring(c->L, index), &activation))
        hd_arg_expected(c, index, argument, activation_names(c->L));
    return activation;
}

double hd_opt_probability(hd_call *c, int index, const char *argument) {
    double p = hd_opt_number(c, index, argument, 0);
    if (!(p >= 0 && p <= 1)) hd_arg_error(c, argument, "expected a probability 0..1, got %g", p);
    return p;
}

int hd_return_attention(hd_call *c, hd_tensor *out, hd_handle *second, int second_slot, hd_tensor *weights) {
    if (second && !weights) {
        hd_release(out);
        hd_raise(c);
    }
    if (second) hd_settle(c, second_slot, second, weights);
    hd_settle(c, c->slot, c->out, out);
    lua_pushvalue(c->L, c->slot);
    if (!second) return 1;
    lua_pushvalue(c->L, second_slot);
    return 2;
}

/* ---- attention --------------------------------------------------------------------------------------- */

/* [L, D] and [B, L, D] as one head. */
static hd_tensor *as_heads(hd_call *c, int index, const char *argument) {
    hd_tensor *t = hd_arg_tensor(c, index, argument);
    if (t->ndim != 2 && t->ndim != 3) return t;
    hd_handle *made = hd_push_handle(c);
    t = hd_arg_tensor(c, index, argument);
    hd_tensor *one = hd_unsqueeze(c->cx, t, t->ndim - 2);
    made->t = one && t->ndim == 2 ? hd_unsqueeze(c->cx, one, 0) : one ? hd_retain(one) : NULL;
    hd_release(one);
    if (!made->t) hd_raise(c);
    return made->t;
}

/* The single head that as_heads added goes away again. Consumes t. */
static hd_tensor *without_heads(hd_ctx *cx, hd_tensor *t, int ndim) {
    if (!t || ndim == 4) return t;
    hd_tensor *one = hd_select(cx, t, 1, 0);
    hd_release(t);
    if (!one || ndim == 3) return one;
    hd_tensor *matrix = hd_select(cx, one, 0, 0);
    hd_release(one);
    return matrix;
}

/* attention(q, k, v, scale, softcap, dropout, mask, want_weights) -> out, weights or nil */
static int attention(lua_State *L) {
    hd_call c = hd_enter(L, "attention");
    hd_no_more(&c, 8);
    hd_attention_options o = {.scale = hd_opt_number(&c, 4, "scale", 0),
                              .softcap = hd_opt_number(&c, 5, "softcap", 0),
                              .dropout = hd_opt_probability(&c, 6, "dropout"),
                              .want_weights = hd_opt_boolean(&c, 8, "weights", false)};
    if (hd_given(&c, 4) && (o.scale == 0 || !isfinite(o.scale)))
        hd_arg_error(&c, "scale", "expected a number that is finite and not 0, got %g", o.scale);
    hd_handle *second = o.want_weights ? hd_push_handle(&c) : NULL;
    int second_slot = lua_gettop(L), ndim = hd_arg_tensor(&c, 1, "q")->ndim;
    hd_read_mask(&c, 7, "mask", &o);
    hd_tensor *q = as_heads(&c, 1, "q"), *k = as_heads(&c, 2, "k"), *v = as_heads(&c, 3, "v");
    hd_tensor *out = NULL, *weights = NULL;
    if (hd_attention(c.cx, q, k, v, &o, &out, &weights)) return hd_return(&c, NULL);
    out = without_heads(c.cx, out, ndim);
    weights = without_heads(c.cx, weights, ndim);
    return hd_return_attention(&c, out, second, second_slot, weights);
}

/* ---- the others -------------------------------------------------------------------------------------- */

/* linear(x, weight, bias, activation, dropout): dropout(act(x W^T + b)) */
static int linear(lua_State *L) {
    hd_call c = hd_enter(L, "linear");
    hd_no_more(&c, 5);
    hd_tensor *x = hd_arg_tensor(&c, 1, "x"), *w = hd_arg_weight(&c, 2, "weight"),
              *b = hd_opt_tensor(&c, 3, "bias");
    hd_activation act = hd_opt_activation(&c, 4, "activation");
    return hd_return(&c, hd_linear(c.cx, x, w, b, act, hd_opt_probability(&c, 5, "dropout")));
}

/* layer_norm(x, weight, bias, eps = 1e-5): over the last dimension */
static int layer_norm(lua_State *L) {
    hd_call c = hd_enter(L, "layer_norm");
    hd_no_more(&c, 4);
    hd_tensor *x = hd_arg_tensor(&c, 1, "x"), *w = hd_opt_tensor(&c, 2, "weight"),
              *b = hd_opt_tensor(&c, 3, "bias");
    return hd_return(&c, hd_layer_norm(c.cx, x, w, b, hd_opt_number(&c, 4, "eps", 1e-5)));
}

/* rms_norm(x, weight, eps = 1e-6): over the last dimension */
static int rms_norm(lua_State *L) {
    hd_call c = hd_enter(L, "rms_norm");
    hd_no_more(&c, 3);
    hd_tensor *x = hd_arg_tensor(&c, 1, "x"), *w = hd_opt_tensor(&c, 2, "weight");
    return hd_return(&c, hd_rms_norm(c.cx, x, w, hd_opt_number(&c, 3, "eps", 1e-6)));
}

/* rotary(x, cos, sin, interleaved) */
static int rotary(lua_State *L) {
    hd_call c = hd_enter(L, "rotary");
    hd_no_more(&c, 4);
    hd_tensor *x = hd_arg_tensor(&c, 1, "x"), *cos = hd_arg_tensor(&c, 2, "cos"),
              *sin = hd_arg_tensor(&c, 3, "sin");
    return hd_return(&c, hd_rotary(c.cx, x, cos, sin, hd_opt_boolean(&c, 4, "interleaved", false)));
}

/* embedding(weight, tokens, padding_idx, scale = 1) */
static int embedding(lua_State *L) {
    hd_call c = hd_enter(L, "embedding");
    hd_no_more(&c, 4);
    hd_tensor *tokens = hd_arg_ids(&c, 2, "tokens"), *weight = hd_arg_weight(&c, 1, "weight");
    int64_t padding = hd_opt_integer(&c, 3, "padding_idx", 0);
    return hd_return(&c, hd_embedding(c.cx, weight, tokens, padding, hd_opt_number(&c, 4, "scale", 1)));
}

/* dropout(x, p, {generator = }) */
static int dropout(lua_State *L) {
    hd_call c = hd_enter(L, "dropout");
    hd_take_options(&c, "generator");
    hd_no_more(&c, 2);
    hd_tensor *x = hd_arg_tensor(&c, 1, "x");
    double p = hd_opt_probability(&c, 2, "p");
    hd_rng *own = hd_option_generator(&c), training = c.cx->rng;
    if (!own) return hd_return_or_same(&c, 1, hd_dropout(c.cx, x, p));
    c.cx->rng = *own;
    hd_tensor *y = hd_dropout(c.cx, x, p);
    if (y) *own = c.cx->rng; /* a second try after memory ran out draws the same numbers */
    c.cx->rng = training;
    return hd_return_or_same(&c, 1, y);
}

/* dropout_add(residual, x, p): residual + dropout(x) */
static int dropout_add(lua_State *L) {
    hd_call c = hd_enter(L, "dropout_add");
    hd_no_more(&c, 3);
    hd_tensor *residual = hd_arg_tensor(&c, 1, "residual"), *x = hd_arg_tensor(&c, 2, "x");
    return hd_return(&c, hd_dropout_add(c.cx, residual, x, hd_opt_probability(&c, 3, "p")));
}

/* pack_sequences(x, lengths): the first lengths[b] elements of each x[b], one behind the other */
static int pack_sequences(lua_State *L) {
    hd_call c = hd_enter(L, "pack_sequences");
    hd_no_more(&c, 2);
    hd_tensor *lengths = hd_arg_ids(&c, 2, "lengths"), *x = hd_arg_tensor(&c, 1, "x");
    return hd_return(&c, hd_pack_sequences(c.cx, x, lengths));
}

/* unpack_sequences(x, lengths, L): the way back, zeros after each sequence */
static int unpack_sequences(lua_State *L) {
    hd_call c = hd_enter(L, "unpack_sequences");
    hd_no_more(&c, 3);
    hd_tensor *lengths = hd_arg_ids(&c, 2, "lengths"), *x = hd_arg_tensor(&c, 1, "x");
    return hd_return(&c, hd_unpack_sequences(c.cx, x, lengths, hd_arg_integer(&c, 3, "L")));
}

/* sequence_starts(lengths): the elements before each sequence, and of all */
static int sequence_starts(lua_State *L) {
    hd_call c = hd_enter(L, "sequence_starts");
    hd_no_more(&c, 1);
    return hd_return(&c, hd_sequence_starts(c.cx, hd_arg_ids(&c, 1, "lengths")));
}

static hd_position_layout layout_at(hd_call *c, int index) {
    const char *name =
        hd_given(c, index) && lua_type(c->L, index) == LUA_TSTRING ? lua_tostring(c->L, index) : "";
    if (!hd_given(c, index) || strcmp(name, "interleaved") == 0) return HD_POSITIONS_INTERLEAVED;
    if (strcmp(name, "halves") != 0) hd_arg_expected(c, index, "layout", "\"interleaved\" or \"halves\"");
    return HD_POSITIONS_HALVES;
}

/* sinusoidal_positions(max_len, d_model, first_position = 0, layout = "interleaved", rates) */
static int sinusoidal_positions(lua_State *L) {
    hd_call c = hd_enter(L, "sinusoidal_positions");
    hd_no_more(&c, 5);
    int64_t max_len = hd_arg_integer(&c, 1, "max_len"), d_model = hd_arg_integer(&c, 2, "d_model");
    int64_t first = hd_opt_integer(&c, 3, "first_position", 0);
    hd_position_layout layout = layout_at(&c, 4);
    if (max_len < 1) hd_arg_error(&c, "max_len", "expected 1 or more, got %lld", (long long)max_len);
    if (d_model < 1) hd_arg_error(&c, "d_model", "expected 1 or more, got %lld", (long long)d_model);
    double *rates = NULL;
    if (hd_given(&c, 5)) {
        int64_t count = d_model / 2 + d_model % 2;
        if (lua_type(L, 5) != LUA_TTABLE || (int64_t)lua_rawlen(L, 5) != count)
            hd_arg_error(&c, "rates", "expected a list of %lld numbers, one a pair of columns",
                         (long long)count);
        rates = lua_newuserdatauv(L, sizeof *rates * (size_t)count, 0);
        for (int64_t i = 0; i < count; i++) {
            if (lua_rawgeti(L, 5, i + 1) != LUA_TNUMBER) hd_arg_expected(&c, -1, "rates", "numbers");
            rates[i] = lua_tonumber(L, -1);
            lua_pop(L, 1);
        }
    }
    return hd_return(&c, hd_sinusoidal_positions(c.cx, max_len, d_model, first, layout, rates));
}

static const hd_function functions[] = {
    {"attention", attention, HD_INTERNAL},
    {"linear", linear, HD_MODULE},
    {"layer_norm", layer_norm, HD_MODULE},
    {"rms_norm", rms_norm, HD_MODULE},
    {"rotary", rotary, HD_INTERNAL},
    {"embedding", embedding, HD_MODULE},
    {"dropout", dropout, HD_MODULE},
    {"dropout_add", dropout_add, HD_MODULE},
    {"pack_sequences", pack_sequences, HD_MODULE},
    {"unpack_sequences", unpack_sequences, HD_MODULE},
    {"sequence_starts", sequence_starts, HD_MODULE},
    {"sinusoidal_positions", sinusoidal_positions, HD_INTERNAL},
    {NULL, NULL, 0},
};

/* core.activations: what linear and feed_forward take, a list. */
static void define_activations(hd_registrar *r) {
    lua_createtable(r->L, HD_ACT_COUNT, 0);
    for (int act = 0; act < HD_ACT_COUNT; act++) {
        lua_pushstring(r->L, hd_activation_rows[act].name);
        lua_rawseti(r->L, -2, act + 1);
    }
    hd_define_value(r, "activations");
}

void hd_register_nn(hd_registrar *r) {
    hd_define(r, functions);
    define_activations(r);
}
