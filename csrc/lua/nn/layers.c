/* The stock layers whole: one call a layer, its module first, then what the call brings. */
#include <string.h>

#include "layers/layers.h"

#include "lua/nn/fields.h"
#include "lua/nn/nn.h"

/* ---- parameters, by their names in PyTorch ----------------------------------------------------------- */

static hd_linear_params linear_at(const hd_fields *outer, hd_field field) {
    const hd_fields f = hd_fields_in(outer, field);
    hd_tensor *weight = hd_field_weight(&f, HD_FIELD_weight);
    return (hd_linear_params){weight, hd_field_opt_tensor(&f, HD_FIELD_bias)};
}

/* norm_kind is of the classes LayerNorm and RMSNorm. */
static hd_norm_params norm_of(const hd_fields *f) {
    hd_norm_params p = {.weight = hd_field_opt_tensor(f, HD_FIELD_weight),
                        .eps = hd_field_number(f, HD_FIELD_eps, 0)};
    const char *kind = hd_field_string(f, HD_FIELD_norm_kind);
    p.kind = strcmp(kind, "rms") == 0 ? HD_NORM_RMS : HD_NORM_LAYER;
    if (p.kind == HD_NORM_LAYER) p.bias = hd_field_opt_tensor(f, HD_FIELD_bias);
    p.unit_offset = p.kind == HD_NORM_RMS && hd_field_boolean(f, HD_FIELD_unit_offset);
    return p;
}

static hd_norm_params norm_at(const hd_fields *outer, hd_field field) {
    const hd_fields f = hd_fields_in(outer, field);
    return norm_of(&f);
}

static hd_norm_params opt_norm_at(const hd_fields *outer, hd_field field) {
    const hd_fields f = hd_fields_opt(outer, field);
    return f.table ? norm_of(&f) : (hd_norm_params){.kind = HD_NORM_NONE};
}

/* What projects queries, keys and values. */
static hd_mha_params projections_of(const hd_fields *f) {
    hd_mha_params p = {.in_proj_weight = hd_field_opt_weight(f, HD_FIELD_in_proj_weight),
                       .in_proj_bias = hd_field_opt_tensor(f, HD_FIELD_in_proj_bias),
                       .num_heads = hd_field_count(f, HD_FIELD_num_heads),
                       .num_kv_heads = hd_field_count(f, HD_FIELD_num_kv_heads)};
    if (p.in_proj_weight) return p;
    p.q_proj_weight = hd_field_weight(f, HD_FIELD_q_proj_weight);
    p.k_proj_weight = hd_field_weight(f, HD_FIELD_k_proj_weight);
    p.v_proj_weight = hd_field_weight(f, HD_FIELD_v_proj_weight);
    return p;
}

static hd_mha_params attention_of(const hd_fields *f) {
    hd_mha_params p = projections_of(f);
    p.out_proj = linear_at(f, HD_FIELD_out_proj);
    p.q_norm = opt_norm_at(f, HD_FIELD_q_norm);
    if (p.q_norm.kind != HD_NORM_NONE) p.k_norm = norm_at(f, HD_FIELD_k_norm);
    p.scale = hd_field_number(f, HD_FIELD_scale, 0), p.softcap = hd_field_number(f, HD_FIELD_softcap, 0);
    p.dropout = hd_field_boolean(f, HD_FIELD_training) ? hd_field_probability(f, HD_FIELD_dropout, 0) : 0;
    return p;
}

static hd_mha_params attention_at(const hd_fields *outer, hd_field field) {
    const hd_fields f = hd_fields_in(outer, field);
    return attention_of(&f);
}

static const struct {
    const char *name;
    hd_activation activation; /* inside the gate */
} gated[] = {{"swiglu", HD_ACT_SILU},
             {"geglu", HD_ACT_GELU},
             {"geglu_tanh", HD_ACT_GELU_TANH},
             {"reglu", HD_ACT_RELU}};

/* Is the activation a gated one? */
static bool read_activation(const hd_fields *f, hd_activation *activation) {
    const char *name = hd_field_string(f, HD_FIELD_activation);
    for (size_t i = 0; i < sizeof gated / sizeof *gated; i++)
        if (strcmp(name, gated[i].name) == 0) {
            *activation = gated[i].activation;
            return true;
        }
    if (!hd_parse_activation(name, activation)) hd_field_expected(f, HD_FIELD_activation, "the name of one");
    return false;
}

/* Of a module that has it in fields of its own, FeedForward and layers alike. */
static hd_ffn_params feed_forward_of(const hd_fields *f, double dropout) {
    hd_ffn_params p = {.linear1 = linear_at(f, HD_FIELD_linear1), .dropout = dropout};
    p.linear2 = linear_at(f, HD_FIELD_linear2);
    if (read_activation(f, &p.activation)) p.linear3 = linear_at(f, HD_FIELD_linear3);
    return p;
}

static double dropout_of(const hd_fields *f) {
    return hd_field_boolean(f, HD_FIELD_training) ? hd_field_probability(f, HD_FIELD_dropout, 0) : 0;
}

/* Of the hidden features of a layer whose parts have this one. */
static double hidden_dropout_of(const hd_fields *f, double dropout) {
    return hd_field_boolean(f, HD_FIELD_training) ? hd_field_probability(f, HD_FIELD_hidden_dropout, dropout)
                                                  : 0;
}

/* All of them, or none. */
static void add_post_norms(const hd_fields *f, bool is_decoder, hd_transformer_layer_params *p) {
    p->post_norm1 = opt_norm_at(f, HD_FIELD_post_norm1);
    if (p->post_norm1.kind == HD_NORM_NONE) return;
    p->post_norm2 = norm_at(f, HD_FIELD_post_norm2);
    if (is_decoder) p->post_norm3 = norm_at(f, HD_FIELD_post_norm3);
}

static hd_transformer_layer_params layer_of(hd_call *c, bool is_decoder) {
    const hd_fields f = hd_fields_of(c, 1, "layer");
    hd_transformer_layer_params p = {.self_attn = attention_at(&f, HD_FIELD_self_attn),
                                     .norm_first = hd_field_boolean(&f, HD_FIELD_norm_first),
                                     .dropout = dropout_of(&f)};
    if (is_decoder) p.multihead_attn = attention_at(&f, HD_FIELD_multihead_attn);
    p.ffn = feed_forward_of(&f, hidden_dropout_of(&f, p.dropout));
    p.norm1 = norm_at(&f, HD_FIELD_norm1);
    p.norm2 = norm_at(&f, HD_FIELD_norm2);
    if (is_decoder) p.norm3 = norm_at(&f, HD_FIELD_norm3);
    if (p.norm_first) add_post_norms(&f, is_decoder, &p);
    hd_set_modes(c);
    return p;
}

/* ---- what a call brings ------------------------------------------------------------------------------ */

/* cos and sin, or nil, at index and index + 1; the pairs are as the attention's `rotary` says. */
static hd_rotary_tables rotary_at(hd_call *c, const hd_fields *attention, int index) {
    hd_rotary_tables r = {hd_opt_tensor(c, index, "cos"), hd_opt_tensor(c, index + 1, "sin"), false};
    if (!r.cos) return r;
    if (!r.sin) hd_arg_expected(c, index + 1, "sin", "a tensor");
    const hd_fields f = hd_fields_in(attention, HD_FIELD_rotary);
    r.interleaved = hd_field_boolean(&f, HD_FIELD_interleaved);
    return r;
}

/* The step of a cache (heed.nn.cache) at index, or nil: into *kv, or NULL. */
static const hd_kv_cache *kv_cache_at(hd_call *c, int index, hd_kv_cache *kv) {
    if (!hd_given(c, index)) return NULL;
    const hd_fields f = hd_fields_of(c, index, "step");
    *kv = (hd_kv_cache){.k = hd_field_tensor(&f, HD_FIELD_k),
                        .v = hd_field_tensor(&f, HD_FIELD_v),
                        .length = hd_field_integer(&f, HD_FIELD_length, 0),
                        .of_memory = hd_field_boolean(&f, HD_FIELD_of_memory)};
    if (kv->of_memory) return kv;
    kv->places = hd_field_opt_tensor(&f, HD_FIELD_places);
    if (!kv->places) kv->before = hd_field_integer(&f, HD_FIELD_before, 0);
    return kv;
}

/* ---- the layers -------------------------------------------------------------------------------------- */

/* Of a sequence without a batch: [1, H, L, S] to [H, L, S]. Consumes t. */
static hd_tensor *without_batch(hd_ctx *cx, hd_tensor *t) {
    hd_tensor *one = hd_select(cx, t, 0, 0);
    hd_release(t);
    return one;
}

/* multi_head_attention(module, query, key, value, mask, want_weights, cos, sin, step)
 * -> out, weights or nil */
static int multi_head_attention(lua_State *L) {
    hd_call c = hd_enter(L, "multi_head_attention");
    hd_mha_options o = {.attention.want_weights = hd_opt_boolean(&c, 6, "weights", false)};
    hd_handle *second = o.attention.want_weights ? hd_push_handle(&c) : NULL;
    int second_slot = lua_gettop(L);
    hd_kv_cache kv;
    const hd_fields f = hd_fields_of(&c, 1, "module");
    const hd_mha_params p = attention_of(&f);
    hd_read_mask(&c, 5, "mask", &o.attention);
    o.rotary = rotary_at(&c, &f, 7);
    o.kv_cache = kv_cache_at(&c, 9, &kv);
    hd_set_modes(&c);
    hd_tensor *query = hd_arg_tensor(&c, 2, "query"), *out = NULL, *weights = NULL;
    hd_tensor *key = hd_opt_tensor(&c, 3, "key"), *value = hd_opt_tensor(&c, 4, "value");
    if (hd_multi_head_attention(c.cx, &p, query, key, value, &o, &out, &weights)) return hd_return(&c, NULL);
    if (weights && query->ndim == 2) weights = without_batch(c.cx, weights);
    return hd_return_attention(&c, out, second, second_slot, weights);
}

/* project_heads(module, query, key, value) -> q [B, L, H, D], k and v [B, S, Hk, D]: as they leave the
 * projections. query nil, or key and value: those are nil. */
static int project_heads(lua_State *L) {
    hd_call c = hd_begin(L, "project_heads");
    hd_handle *made[3];
    hd_tensor *heads[3];
    lua_settop(L, 4);
    for (int i = 0; i < 3; i++) made[i] = hd_push_handle(&c);
    const hd_fields f = hd_fields_of(&c, 1, "module");
    const hd_mha_params p = projections_of(&f);
    hd_set_modes(&c);
    hd_tensor *query = hd_opt_tensor(&c, 2, "query");
    hd_tensor *key = query ? hd_opt_tensor(&c, 3, "key") : hd_arg_tensor(&c, 3, "key");
    hd_tensor *value = key ? hd_arg_tensor(&c, 4, "value") : NULL;
    hd_try(&c, hd_mha_project(c.cx, &p, query, key, value, heads));
    for (int i = 0; i < 3; i++) made[i]->t = heads[i]; /* all are owned before anything may raise */
    for (int i = 0; i < 3; i++) {
        if (heads[i]) {
            hd_settle(&c, 5 + i, made[i], heads[i]);
        } else {
            lua_pushnil(L);
            lua_replace(L, 5 + i);
        }
    }
    lua_settop(L, 7);
    return 3;
}

/* check_heads(module, query, key, value): raises unless it takes them; key is the query and value the key
 * when left out */
static int check_heads(lua_State *L) {
    hd_call c = hd_begin(L, "check_heads");
    const hd_fields f = hd_fields_of(&c, 1, "module");
    const hd_mha_params p = projections_of(&f);
    hd_tensor *query = hd_arg_tensor(&c, 2, "query"), *key = hd_opt_tensor(&c, 3, "key"),
              *value = hd_opt_tensor(&c, 4, "value");
    hd_try(&c, hd_mha_check(c.cx, &p, query, key, value));
    return 0;
}

/* feed_forward(module, x) */
static int feed_forward(lua_State *L) {
    hd_call c = hd_enter(L, "feed_forward");
    const hd_fields f = hd_fields_of(&c, 1, "module");
    const hd_ffn_params p = feed_forward_of(&f, dropout_of(&f));
    hd_set_modes(&c);
    return hd_return(&c, hd_feed_forward(c.cx, &p, hd_arg_tensor(&c, 2, "x")));
}

/* What a layer's call brings to its self-attention: its mask at `index`, cos, sin and step from `position`
 * on. */
static hd_mha_options own_options(hd_call *c, int index, int position, hd_kv_cache *kv) {
    hd_mha_options o = {0};
    hd_read_mask(c, index, "mask", &o.attention);
    if (hd_given(c, position)) {
        const hd_fields f = hd_fields_of(c, 1, "layer"), attention = hd_fields_in(&f, HD_FIELD_self_attn);
        o.rotary = rotary_at(c, &attention, position);
    }
    o.kv_cache = kv_cache_at(c, position + 2, kv);
    return o;
}

/* encoder_layer(layer, x, mask, cos, sin, step) */
static int encoder_layer(lua_State *L) {
    hd_call c = hd_enter(L, "encoder_layer");
    hd_kv_cache kv;
    const hd_transformer_layer_params p = layer_of(&c, false);
    const hd_mha_options o = own_options(&c, 3, 4, &kv);
    return hd_return(&c, hd_encoder_layer(c.cx, &p, hd_arg_tensor(&c, 2, "x"), &o));
}

/* decoder_layer(layer, x, memory, mask, memory_mask, cos, sin, step, memory_step) */
static int decoder_layer(lua_State *L) {
    hd_call c = hd_enter(L, "decoder_layer");
    hd_kv_cache kv, memory_kv;
    const hd_transformer_layer_params p = layer_of(&c, true);
    const hd_mha_options o = own_options(&c, 4, 6, &kv);
    hd_mha_options across = {0};
    hd_read_mask(&c, 5, "memory_mask", &across.attention);
    across.kv_cache = kv_cache_at(&c, 9, &memory_kv);
    hd_tensor *x = hd_arg_tensor(&c, 2, "x"), *memory = hd_arg_tensor(&c, 3, "memory");
    return hd_return(&c, hd_decoder_layer(c.cx, &p, x, memory, &o, &across));
}

static const hd_function functions[] = {
    {"multi_head_attention", multi_head_attention, HD_INTERNAL},
    {"project_heads", project_heads, HD_INTERNAL},
    {"check_heads", check_heads, HD_INTERNAL},
    {"feed_forward", feed_forward, HD_INTERNAL},
    {"encoder_layer", encoder_layer, HD_INTERNAL},
    {"decoder_layer", decoder_layer, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_layers(hd_registrar *r) {
    hd_register_fields(r);
    hd_define(r, functions);
}
