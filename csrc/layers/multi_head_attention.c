/* multi_head_attention.c: concat(heads) W_o (Vaswani et al. 2017, section 3.2.2).
 *
 * in_proj_weight holds W_q, W_k, W_v below each other. Self-attention makes q, k, v in one product, attention
 * over another sequence k and v in one; attention reads them where they lie and writes [B, L, E]: nothing is
 * transposed.
 */
#include "layers/sublayers.h"

typedef struct mha_call {
    const hd_mha_params *p;
    hd_tensor *query, *key, *value; /* [B, L, E], [B, S, E] */
    hd_attention_options options;
} mha_call;

/* ---- projections ----------------------------------------------------------------------------------- */

/* x times rows [first, first + count) · E of in_proj_weight. */
static hd_tensor *project_part(hd_ctx *cx, const hd_mha_params *p, hd_tensor *x, int64_t first,
                               int64_t count) {
    int64_t E = p->in_proj_weight->shape[1];
    hd_tensor *w = hd_narrow(cx, p->in_proj_weight, 0, first * E, count * E, 1), *b = NULL, *y = NULL;
    if (w && p->in_proj_bias) b = hd_narrow(cx, p->in_proj_bias, 0, first * E, count * E, 1);
    if (w && (b || !p->in_proj_bias)) y = hd_linear(cx, x, w, b, HD_ACT_NONE, 0);
    hd_release(w);
    hd_release(b);
    return y;
}

static hd_status attend_self(hd_ctx *cx, const mha_call *c, hd_tensor **heads, hd_tensor **weights) {
    hd_tensor *qkv = hd_linear(cx, c->query, c->p->in_proj_weight, c->p->in_proj_bias, HD_ACT_NONE, 0);
    if (!qkv) return cx->error.status;
    hd_status status = hd_attention_packed(cx, NULL, qkv, c->p->num_heads, &c->options, heads, weights);
    hd_release(qkv);
    return status;
}

static hd_status attend_other(hd_ctx *cx, const mha_call *c, hd_tensor **heads, hd_tensor **weights) {
    hd_tensor *q = project_part(cx, c->p, c->query, 0, 1);
    hd_tensor *kv = q ? project_part(cx, c->p, c->key, 1, 2) : NULL;
    hd_status status =
        kv ? hd_attention_packed(cx, q, kv, c->p->num_heads, &c->options, heads, weights) : cx->error.status;
    hd_release(q);
    hd_release(kv);
    return status;
}

/* [B, L, E] to [B, H, L, D] (a view) of the projection of x. */
static hd_tensor *project_heads(hd_ctx *cx, const hd_mha_params *p, hd_tensor *x, int64_t part) {
    hd_tensor *y = project_part(cx, p, x, part, 1);
    if (!y) return NULL;
    int64_t shape[4] = {y->shape[0], y->shape[1], p->num_heads, y->shape[2] / p->num_heads};
    const int order[4] = {0, 2, 1, 3};
    hd_tensor *split = hd_view(cx, y, 4, shape), *heads = split ? hd_permute(cx, split, order) : NULL;
    hd_release(y);
    hd_release(split);
    return heads;
}

hd_tensor *hd_join_heads(hd_ctx *cx, hd_tensor *heads) {
    const int order[4] = {0, 2, 1, 3};
    int64_t shape[3] = {heads->shape[0], heads->shape[2], heads->shape[1] * heads->shape[3]};
    hd_tensor *rows = hd_permute(cx, heads, order), *joined = rows ? hd_reshape(cx, rows, 3, shape) : NULL;
    hd_release(rows);
    return joined;
}

/* Values of their own. */
static hd_status attend_apart(hd_ctx *cx, const mha_call *c, hd_tensor **heads, hd_tensor **weights) {
    hd_tensor *q = project_heads(cx, c->p, c->query, 0), *k = q ? project_heads(cx, c->p, c->key, 1) : NULL;
    hd_tensor *v = k ? project_heads(cx, c->p, c->value, 2) : NULL, *out = NULL;
    hd_status status = v ? hd_attention(cx, q, k, v, &c->options, &out, weights) : cx->error.status;
    if (!status && !(*heads = hd_join_heads(cx, out))) {
        status = cx->error.status;
        if (c->options.want_weights) hd_release(*weights);
    }
    hd_release(q);
    hd_release(k);
    hd_release(v);
    hd_release(out);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------------- */

static hd_status expect_features(hd_ctx *cx, const char *argument, const hd_tensor *t, int64_t E, int ndim) {
    char text[HD_SHAPE_TEXT];
    if (t->ndim != ndim)
        return hd_fail(cx, HD_EARG, "%s: expected %d dimensions as the query has, got %s", argument, ndim,
                       hd_tensor_shape_text(t, text));
    if (t->shape[t->ndim - 1] != E)
        return hd_fail(cx, HD_EARG, "%s: expected %lld features (d_model), got %s", argument, (long long)E,
                       hd_tensor_shape_text(t, text));
    return HD_OK;
}

static hd_status check(hd_ctx *cx, const mha_call *c) {
    char text[HD_SHAPE_TEXT];
    const hd_tensor *w = c->p->in_proj_weight;
    int ndim = c->query->ndim;
    if (w->ndim != 2 || w->shape[0] != 3 * w->shape[1])
        return hd_fail(cx, HD_EARG, "in_proj_weight: expected [3E, E], got %s",
                       hd_tensor_shape_text(w, text));
    int64_t E = w->shape[1];
    if (c->p->num_heads < 1 || E % c->p->num_heads != 0)
        return hd_fail(cx, HD_EARG, "num_heads: expected a divisor of d_model %lld, got %d", (long long)E,
                       c->p->num_heads);
    if (ndim != 2 && ndim != 3)
        return hd_fail(cx, HD_EARG, "query: expected [B, L, %lld] or [L, %lld], got %s", (long long)E,
                       (long long)E, hd_tensor_shape_text(c->query, text));
    if (expect_features(cx, "query", c->query, E, ndim) || expect_features(cx, "key", c->key, E, ndim) ||
        expect_features(cx, "value", c->value, E, ndim))
        return cx->error.status;
    if (ndim == 3 && c->key->shape[0] != c->query->shape[0])
        return hd_fail(cx, HD_EARG, "key: expected a batch of %lld as the query's, got %s",
                       (long long)c->query->shape[0], hd_tensor_shape_text(c->key, text));
    if (c->value->shape[ndim - 2] != c->key->shape[ndim - 2] || c->value->shape[0] != c->key->shape[0])
        return hd_fail(cx, HD_EARG, "value: expected %lld positions as the key has, got %s",
                       (long long)c->key->shape[ndim - 2], hd_tensor_shape_text(c->value, text));
    return HD_OK;
}

static hd_status attend(hd_ctx *cx, const mha_call *c, hd_residual residual, hd_tensor **out,
                        hd_tensor **weights) {
    hd_tensor *heads = NULL, *made = NULL;
    hd_status status = c->key == c->query && c->value == c->key ? attend_self(cx, c, &heads, &made)
                       : c->value == c->key                     ? attend_other(cx, c, &heads, &made)
                                                                : attend_apart(cx, c, &heads, &made);
    if (status) return status;
    *out = hd_project_onto(cx, heads, c->p->out_proj_weight, c->p->out_proj_bias, residual);
    hd_release(heads);
    if (!*out) {
        hd_release(made);
        return cx->error.status;
    }
    if (c->options.want_weights) *weights = made;
    return HD_OK;
}

/* One sequence without a batch, as a batch of one. The residual is of the query's shape: it goes along. */
static hd_status attend_unbatched(hd_ctx *cx, const mha_call *c, hd_residual residual, hd_tensor **out,
                                  hd_tensor **weights) {
    mha_call one = *c;
    hd_residual onto = residual;
    hd_tensor *y = NULL;
    one.query = hd_unsqueeze(cx, c->query, 0);
    one.key = c->key == c->query ? one.query : hd_unsqueeze(cx, c->key, 0);
    one.value = c->value == c->key ? one.key : hd_unsqueeze(cx, c->value, 0);
    if (residual.onto) onto.onto = hd_unsqueeze(cx, residual.onto, 0);
    hd_status status = one.query && one.key && one.value && (onto.onto || !residual.onto)
                           ? attend(cx, &one, onto, &y, weights)
                           : cx->error.status;
    if (!status && !(*out = hd_squeeze_dims(cx, y, 1u << 0))) {
        status = cx->error.status;
        if (c->options.want_weights) hd_release(*weights);
    }
    if (one.value != one.key) hd_release(one.value);
    if (one.key != one.query) hd_release(one.key);
    hd_release(one.query);
    if (residual.onto) hd_release(onto.onto);
    hd_release(y);
    return status;
}

hd_status hd_mha_sublayer(hd_ctx *cx, const hd_mha_params *p, hd_tensor *query, hd_tensor *key,
                          hd_tensor *value, const hd_attention_options *options, bool training,
                          hd_residual residual, hd_tensor **out, hd_tensor **weights) {
    mha_call c = {.p = p, .query = query};
    c.key = key ? key : query;
    c.value = value ? value : c.key;
    if (options) c.options = *options;
    c.options.dropout = training ? p->dropout : 0;
    if (p->kept) return hd_cached_sublayer(cx, p, query, &c.options, residual, out, weights);
    hd_status status = check(cx, &c);
    if (status) return status;
    return query->ndim == 2 ? attend_unbatched(cx, &c, residual, out, weights)
                            : attend(cx, &c, residual, out, weights);
}

hd_status hd_multi_head_attention(hd_ctx *cx, const hd_mha_params *p, hd_tensor *query, hd_tensor *key,
                                  hd_tensor *value, const hd_attention_options *options, bool training,
                                  hd_tensor **out, hd_tensor **weights) {
    return hd_mha_sublayer(cx, p, query, key, value, options, training, (hd_residual){0}, out, weights);
}
