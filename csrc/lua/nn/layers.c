/* The stock layers whole: one call a layer, parameters as positional arguments. */
#include "layers/layers.h"

#include "lua/nn/nn.h"

/* Reads arguments in order. */
typedef struct reader {
    hd_call *c;
    int next;
} reader;

static hd_tensor *tensor(reader *r, const char *name) {
    return hd_arg_tensor(r->c, r->next++, name);
}
static hd_tensor *maybe(reader *r, const char *name) {
    return hd_opt_tensor(r->c, r->next++, name);
}
static bool flag(reader *r, const char *name) {
    return hd_opt_boolean(r->c, r->next++, name, false);
}
static double probability(reader *r, const char *name) {
    return hd_opt_probability(r->c, r->next++, name);
}

static int heads(reader *r) {
    int64_t n = hd_arg_integer(r->c, r->next++, "num_heads");
    if (n < 1 || n > 1 << 20) hd_arg_error(r->c, "num_heads", "expected 1 or more, got %lld", (long long)n);
    return (int)n;
}

static hd_mha_params attention_params(reader *r, bool crossed) {
    hd_mha_params p = {0};
    p.in_proj_weight = tensor(r, crossed ? "multihead_attn.in_proj_weight" : "self_attn.in_proj_weight");
    p.in_proj_bias = maybe(r, crossed ? "multihead_attn.in_proj_bias" : "self_attn.in_proj_bias");
    p.out_proj_weight = tensor(r, crossed ? "multihead_attn.out_proj.weight" : "self_attn.out_proj.weight");
    p.out_proj_bias = maybe(r, crossed ? "multihead_attn.out_proj.bias" : "self_attn.out_proj.bias");
    return p;
}

static hd_ffn_params ffn_params(reader *r) {
    hd_ffn_params p = {0};
    p.weight1 = tensor(r, "linear1.weight");
    p.bias1 = maybe(r, "linear1.bias");
    p.weight2 = tensor(r, "linear2.weight");
    p.bias2 = maybe(r, "linear2.bias");
    return p;
}

static hd_norm_params norm_params(reader *r, double eps, const char *weight, const char *bias) {
    hd_tensor *w = maybe(r, weight), *b = maybe(r, bias);
    return (hd_norm_params){w, b, eps};
}

static int64_t count(reader *r, const char *name) {
    return hd_opt_integer(r->c, r->next++, name, 0);
}

/* k, v, and of a memory nothing more; else places, before, length. k nil: nothing is kept. Puts them into *kept. */
static const hd_kept *kept_of(reader *r, bool of_memory, hd_kept *kept) {
    *kept = (hd_kept){.k = maybe(r, "keys"), .v = maybe(r, "values"), .of_memory = of_memory};
    if (!of_memory) {
        kept->places = maybe(r, "places");
        kept->before = count(r, "before"), kept->length = count(r, "length");
    } else if (kept->k)
        kept->length = kept->k->ndim > 1 ? kept->k->shape[1] : 0;
    return kept->k && kept->v ? kept : NULL;
}

/* Of an attention that is not a part of a layer. */
static hd_mha_params own_params(reader *r) {
    hd_mha_params p = {0};
    p.in_proj_weight = tensor(r, "in_proj_weight");
    p.in_proj_bias = maybe(r, "in_proj_bias");
    p.out_proj_weight = tensor(r, "out_proj.weight");
    p.out_proj_bias = maybe(r, "out_proj.bias");
    return p;
}

/* Of a sequence without a batch: [1, H, L, S] to [H, L, S]. Consumes t. */
static hd_tensor *without_batch(hd_ctx *cx, hd_tensor *t) {
    hd_tensor *one = hd_select(cx, t, 0, 0);
    hd_release(t);
    return one;
}

/* multi_head_attention(in_w, in_b, out_w, out_b, num_heads, dropout, training, query, key, value, mask,
 * want_weights) -> out, weights or nil */
static int multi_head_attention(lua_State *L) {
    hd_call c = hd_enter(L, "multi_head_attention");
    hd_attention_options o = {.want_weights = hd_opt_boolean(&c, 12, "weights", false)};
    hd_handle *second = o.want_weights ? hd_push_handle(&c) : NULL;
    int second_slot = lua_gettop(L);
    hd_read_mask(&c, 11, "mask", &o);
    reader r = {&c, 1};
    hd_mha_params p = own_params(&r);
    p.num_heads = heads(&r);
    p.dropout = probability(&r, "dropout");
    bool training = flag(&r, "training");
    hd_tensor *query = tensor(&r, "query"), *key = maybe(&r, "key"), *value = maybe(&r, "value");
    hd_tensor *out = NULL, *weights = NULL;
    if (hd_multi_head_attention(c.cx, &p, query, key, value, &o, training, &out, &weights))
        return hd_return(&c, NULL);
    if (weights && query->ndim == 2) weights = without_batch(c.cx, weights);
    return hd_return_attention(&c, out, second, second_slot, weights);
}

/* cached_attention(in_w, in_b, out_w, out_b, num_heads, num_kv_heads, scale, softcap, query, mask, want_weights, cos, sin,
 * interleaved, of_memory, k, v, places, before, length) -> out, weights or nil. query [B, L, E] */
static int cached_attention(lua_State *L) {
    hd_call c = hd_enter(L, "cached_attention");
    hd_attention_options o = {.want_weights = hd_opt_boolean(&c, 11, "weights", false)};
    hd_handle *second = o.want_weights ? hd_push_handle(&c) : NULL;
    int second_slot = lua_gettop(L);
    hd_read_mask(&c, 10, "mask", &o);
    reader r = {&c, 1};
    hd_mha_params p = own_params(&r);
    p.num_heads = heads(&r), p.num_kv_heads = heads(&r);
    p.scale = hd_opt_number(&c, r.next++, "scale", 0), p.softcap = hd_opt_number(&c, r.next++, "softcap", 0);
    hd_tensor *query = tensor(&r, "query"), *out = NULL, *weights = NULL;
    r.next = 12;
    p.rotary.cos = maybe(&r, "cos"), p.rotary.sin = maybe(&r, "sin");
    p.rotary.interleaved = flag(&r, "interleaved");
    hd_kept kept;
    bool of_memory = flag(&r, "of_memory");
    p.kept = kept_of(&r, of_memory, &kept);
    if (!p.kept) hd_arg_expected(&c, 16, "keys", "a tensor");
    if (hd_multi_head_attention(c.cx, &p, query, NULL, NULL, &o, false, &out, &weights))
        return hd_return(&c, NULL);
    return hd_return_attention(&c, out, second, second_slot, weights);
}

/* feed_forward(w1, b1, w2, b2, activation, dropout, training, x) */
static int feed_forward(lua_State *L) {
    hd_call c = hd_enter(L, "feed_forward");
    reader r = {&c, 1};
    hd_ffn_params p = ffn_params(&r);
    p.activation = hd_opt_activation(&c, r.next++, "activation");
    p.dropout = probability(&r, "dropout");
    bool training = flag(&r, "training");
    return hd_return(&c, hd_feed_forward(c.cx, &p, tensor(&r, "x"), training));
}

/* The options that encoder and decoder layers share, in this order. */
typedef struct layer_options {
    bool training, norm_first;
    double dropout, attention_dropout, eps;
    int num_heads;
    hd_activation activation;
} layer_options;

static layer_options read_options(reader *r) {
    layer_options o;
    o.training = flag(r, "training");
    o.dropout = probability(r, "dropout");
    o.attention_dropout = probability(r, "attention_dropout");
    o.num_heads = heads(r);
    o.activation = hd_opt_activation(r->c, r->next++, "activation");
    o.norm_first = flag(r, "norm_first");
    o.eps = hd_opt_number(r->c, r->next++, "eps", 1e-5);
    return o;
}

static void complete(hd_mha_params *p, const layer_options *o) {
    p->num_heads = o->num_heads;
    p->dropout = o->attention_dropout;
}

/* encoder_layer(x, mask, training, dropout, attention_dropout, num_heads, activation, norm_first, eps,
 * in_w, in_b, out_w, out_b, w1, b1, w2, b2, n1w, n1b, n2w, n2b, and of a cache k, v, places, before, length) */
static int encoder_layer(lua_State *L) {
    hd_call c = hd_enter(L, "encoder_layer");
    hd_attention_options masks = {0};
    hd_read_mask(&c, 2, "mask", &masks);
    reader r = {&c, 3};
    layer_options o = read_options(&r);
    hd_encoder_layer_params p = {.norm_first = o.norm_first, .dropout = o.dropout};
    p.self_attn = attention_params(&r, false);
    complete(&p.self_attn, &o);
    p.ffn = ffn_params(&r);
    p.ffn.activation = o.activation;
    p.ffn.dropout = o.dropout;
    p.norm1 = norm_params(&r, o.eps, "norm1.weight", "norm1.bias");
    p.norm2 = norm_params(&r, o.eps, "norm2.weight", "norm2.bias");
    hd_kept kept;
    p.self_attn.kept = kept_of(&r, false, &kept);
    return hd_return(&c, hd_encoder_layer(c.cx, &p, hd_arg_tensor(&c, 1, "x"), &masks, o.training));
}

/* decoder_layer(x, memory, mask, memory_mask, then as above, with the parameters of
 * cross-attention after those of self-attention and n3w, n3b behind the norms; of a cache k and v of the memory too) */
static int decoder_layer(lua_State *L) {
    hd_call c = hd_enter(L, "decoder_layer");
    hd_attention_options masks = {0}, memory_masks = {0};
    hd_read_mask(&c, 3, "mask", &masks);
    hd_read_mask(&c, 4, "memory_mask", &memory_masks);
    reader r = {&c, 5};
    layer_options o = read_options(&r);
    hd_decoder_layer_params p = {.norm_first = o.norm_first, .dropout = o.dropout};
    p.self_attn = attention_params(&r, false);
    p.multihead_attn = attention_params(&r, true);
    complete(&p.self_attn, &o);
    complete(&p.multihead_attn, &o);
    p.ffn = ffn_params(&r);
    p.ffn.activation = o.activation;
    p.ffn.dropout = o.dropout;
    p.norm1 = norm_params(&r, o.eps, "norm1.weight", "norm1.bias");
    p.norm2 = norm_params(&r, o.eps, "norm2.weight", "norm2.bias");
    p.norm3 = norm_params(&r, o.eps, "norm3.weight", "norm3.bias");
    hd_kept kept, memory_kept;
    p.self_attn.kept = kept_of(&r, false, &kept);
    p.multihead_attn.kept = kept_of(&r, true, &memory_kept);
    hd_tensor *x = hd_arg_tensor(&c, 1, "x"), *memory = hd_arg_tensor(&c, 2, "memory");
    return hd_return(&c, hd_decoder_layer(c.cx, &p, x, memory, &masks, &memory_masks, o.training));
}

static const hd_function functions[] = {
    {"multi_head_attention", multi_head_attention, HD_INTERNAL},
    {"cached_attention", cached_attention, HD_INTERNAL},
    {"feed_forward", feed_forward, HD_INTERNAL},
    {"encoder_layer", encoder_layer, HD_INTERNAL},
    {"decoder_layer", decoder_layer, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_layers(hd_registrar *r) {
    hd_define(r, functions);
}
