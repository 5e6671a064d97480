/* multi_head_attention.c: concat(heads) W_o (Vaswani et al. 2017, section 3.2.2), whatever the heads are:
 *
 *     q, k, v = projections of query, key, value                (projections.c)
 *     q, k = rotate(norm(q)), rotate(norm(k))                   where there are norms, and positions
 *     k, v = those of the tokens before, and these              with a kv_cache (kv_cache.c)
 *     out = residual + dropout(attention(q, k, v) W_o^T + b)
 *
 * When nothing comes between projection and attention, the latter reads the product where it lies and writes
 * [B, L, E]: forward and backward nothing is transposed.
 */
#include "layers/sublayers.h"

typedef struct results {
    hd_tensor *joined;  /* [B, L, H D] */
    hd_tensor *weights; /* [B, H, L, S] or NULL */
} results;

/* ---- projections that attention reads fused ---------------------------------------------------------- */

/* Nothing comes between, and all has been projected by in_proj_weight in one product or two. */
static bool reads_fused(const hd_mha_call *c) {
    const hd_mha_params *p = c->p;
    return p->in_proj_weight && c->size.H == c->size.Hk && !c->o->kv_cache && !c->o->rotary.cos &&
           p->q_norm.kind == HD_NORM_NONE && p->k_norm.kind == HD_NORM_NONE && c->key == c->value;
}

static hd_status attend_fused(hd_ctx *cx, const hd_mha_call *c, const hd_attention_options *o, results *r) {
    const int64_t H = c->size.H;
    const bool of_self = c->query == c->key;
    hd_tensor *q = of_self ? NULL : hd_mha_project_part(cx, c, c->query, NULL, 0, H);
    hd_tensor *rest = of_self ? hd_mha_project_part(cx, c, c->query, NULL, 0, 3 * H)
                      : q     ? hd_mha_project_part(cx, c, c->key, NULL, H, 2 * H)
                              : NULL;
    hd_status status =
        rest ? hd_attention_packed(cx, q, rest, (int)H, o, &r->joined, &r->weights) : cx->error.status;
    hd_release(q);
    hd_release(rest);
    return status;
}

/* ---- heads of their own ------------------------------------------------------------------------------ */

/* Rows [first, first + count) of a table of positions. */
static hd_tensor *positions(hd_ctx *cx, hd_tensor *table, int64_t first, int64_t count) {
    const int dim = table->ndim - 2;
    return dim < 0 || table->shape[dim] == count ? hd_retain(table)
                                                 : hd_narrow(cx, table, dim, first, count, 1);
}

/* x [B, heads, L, D], whose first row stands behind `before` others. Consumes x, which may be NULL. */
static hd_tensor *rotated(hd_ctx *cx, const hd_mha_call *c, hd_tensor *x, int64_t before) {
    const hd_rotary_tables *r = &c->o->rotary;
    if (!x || !r->cos) return x;
    hd_tensor *cos = positions(cx, r->cos, before, x->shape[2]);
    hd_tensor *sin = cos ? positions(cx, r->sin, before, x->shape[2]) : NULL;
    hd_tensor *y = sin ? hd_rotary(cx, x, cos, sin, r->interleaved) : NULL;
    hd_release(cos);
    hd_release(sin);
    hd_release(x);
    return y;
}

/* Consumes x, which may be NULL. */
static hd_tensor *normed(hd_ctx *cx, const hd_norm_params *p, hd_tensor *x) {
    hd_tensor *y = x ? hd_norm_layer(cx, p, x) : NULL;
    hd_release(x);
    return y;
}

/* Heads [B, L, heads, D] at their positions: [B, heads, L, D]. Consumes x. */
static hd_tensor *placed(hd_ctx *cx, const hd_mha_call *c, const hd_norm_params *norm, hd_tensor *x,
                         int64_t before) {
    return rotated(cx, c, hd_transpose_heads(cx, normed(cx, norm, x)), before);
}

/* q, k and v [B, heads, L or S, D] as attention takes them. */
static hd_status make_heads(hd_ctx *cx, const hd_mha_call *c, hd_tensor *t[3]) {
    const hd_kv_cache *kv = c->o->kv_cache;
    hd_status status = kv ? hd_kv_cache_check(cx, c) : HD_OK;
    if (!status) status = hd_mha_project_heads(cx, c, t);
    if (status) return status;
    const int64_t ahead = kv ? 0 : c->key->shape[1] - c->query->shape[1];
    t[0] = placed(cx, c, &c->p->q_norm, t[0], ahead > 0 ? ahead : 0);
    if (c->key) {
        t[1] = placed(cx, c, &c->p->k_norm, t[1], ahead < 0 ? -ahead : 0);
        t[2] = hd_transpose_heads(cx, t[2]);
    }
    status = t[0] && (!c->key || (t[1] && t[2])) ? HD_OK : cx->error.status;
    if (status || !kv) return status;
    if (!kv->of_memory && hd_kv_cache_append(cx, c, t[1], t[2])) return cx->error.status;
    hd_release(t[1]);
    hd_release(t[2]);
    t[1] = hd_kv_cache_read(cx, c, kv->k);
    t[2] = t[1] ? hd_kv_cache_read(cx, c, kv->v) : NULL;
    return t[2] ? HD_OK : cx->error.status;
}

static hd_status attend_heads(hd_ctx *cx, const hd_mha_call *c, const hd_attention_options *o, results *r) {
    hd_tensor *t[3] = {NULL, NULL, NULL}, *out = NULL;
    hd_status status = make_heads(cx, c, t);
    if (!status) status = hd_attention(cx, t[0], t[1], t[2], o, &out, &r->weights);
    for (int i = 0; i < 3; i++) hd_release(t[i]);
    hd_tensor *rows = status ? NULL : hd_transpose_heads(cx, out);
    if (!rows) return cx->error.status;
    const int64_t shape[3] = {rows->shape[0], rows->shape[1], rows->shape[2] * rows->shape[3]};
    r->joined = hd_reshape(cx, rows, 3, shape);
    hd_release(rows);
    return r->joined ? HD_OK : cx->error.status;
}

/* ---- the whole --------------------------------------------------------------------------------------- */

static hd_status attend(hd_ctx *cx, const hd_mha_call *c, hd_residual residual, hd_tensor **out,
                        hd_tensor **weights) {
    hd_attention_options o = c->o->attention;
    results r = {NULL, NULL};
    o.scale = c->p->scale, o.softcap = c->p->softcap, o.dropout = c->p->dropout;
    hd_status status = reads_fused(c) ? attend_fused(cx, c, &o, &r) : attend_heads(cx, c, &o, &r);
    hd_tensor *y = status ? NULL : hd_project_onto(cx, r.joined, &c->p->out_proj, residual);
    hd_release(r.joined);
    if (!y) {
        hd_release(r.weights);
        return cx->error.status;
    }
    *out = y;
    if (o.want_weights) *weights = r.weights;
    return HD_OK;
}

static hd_status check_rotary(hd_ctx *cx, const hd_mha_call *c) {
    const hd_tensor *cos = c->o->rotary.cos;
    if (!cos) return HD_OK;
    if (!c->o->rotary.sin) return hd_fail(cx, HD_EARG, "rotary: expected sines beside the cosines");
    const int dim = c->query->ndim - 2;
    const int64_t L = c->query->shape[dim], S = c->key ? c->key->shape[dim] : 0, rows = S > L ? S : L;
    if (c->key && cos->ndim >= 2 && cos->shape[cos->ndim - 2] >= rows) return HD_OK;
    return hd_fail(cx, HD_EARG, "rotary: expected tables of %lld positions, and keys of the call's own",
                   (long long)rows);
}

static hd_status check(hd_ctx *cx, hd_mha_call *c) {
    const hd_tensor *w = c->p->out_proj.weight;
    char got[HD_SHAPE_TEXT];
    if (hd_mha_sizes_of(cx, c->p, &c->size)) return cx->error.status;
    const int64_t features = c->size.H * c->size.D;
    if (!w || w->ndim != 2 || w->shape[1] != features)
        return hd_fail(cx, HD_EARG, "out_proj.weight: expected [E, %lld], got %s", (long long)features,
                       w ? hd_tensor_shape_text(w, got) : "none");
    return hd_mha_inputs_fit(cx, &c->size, c->query, c->key, c->value) ? cx->error.status
                                                                       : check_rotary(cx, c);
}

/* The residual is of the query's shape: it goes along. */
static hd_status attend_unbatched(hd_ctx *cx, const hd_mha_call *c, hd_residual residual, hd_tensor **out,
                                  hd_tensor **weights) {
    hd_mha_call one;
    if (hd_mha_begin_unbatched(cx, c, &one)) return cx->error.status;
    hd_residual onto = {residual.x ? hd_unsqueeze(cx, residual.x, 0) : NULL, residual.dropout};
    hd_tensor *y = NULL;
    hd_status status = onto.x || !residual.x ? attend(cx, &one, onto, &y, weights) : cx->error.status;
    if (!status && !(*out = hd_squeeze_dims(cx, y, 1u << 0))) {
        status = cx->error.status;
        if (c->o->attention.want_weights) hd_release(*weights);
    }
    hd_mha_end_unbatched(&one);
    hd_release(onto.x);
    hd_release(y);
    return status;
}

hd_status hd_mha_sublayer(hd_ctx *cx, const hd_mha_params *p, hd_tensor *query, hd_tensor *key,
                          hd_tensor *value, const hd_mha_options *o, hd_residual residual, hd_tensor **out,
                          hd_tensor **weights) {
    const hd_mha_options none = {0};
    hd_mha_call c = {.p = p, .o = o ? o : &none, .query = query};
    const hd_kv_cache *kv = c.o->kv_cache;
    c.key = kv ? (kv->of_memory ? NULL : query) : key ? key : query;
    c.value = kv || !value ? c.key : value;
    if (check(cx, &c)) return cx->error.status;
    return query->ndim == 2 ? attend_unbatched(cx, &c, residual, out, weights)
                            : attend(cx, &c, residual, out, weights);
}

hd_status hd_multi_head_attention(hd_ctx *cx, const hd_mha_params *p, hd_tensor *query, hd_tensor *key,
                                  hd_tensor *value, const hd_mha_options *o, hd_tensor **out,
                                  hd_tensor **weights) {
    return hd_mha_sublayer(cx, p, query, key, value, o, (hd_residual){0}, out, weights);
}

hd_status hd_mha_project(hd_ctx *cx, const hd_mha_params *p, hd_tensor *query, hd_tensor *key,
                         hd_tensor *value, hd_tensor *heads[3]) {
    const hd_mha_options none = {0};
    hd_mha_call c = {.p = p, .o = &none, .query = query, .key = key, .value = value}, one;
    if (hd_mha_sizes_of(cx, p, &c.size) || hd_mha_inputs_fit(cx, &c.size, query, key, value))
        return cx->error.status;
    if ((query ? query : key)->ndim == 3) return hd_mha_project_heads(cx, &c, heads);
    if (hd_mha_begin_unbatched(cx, &c, &one)) return cx->error.status;
    hd_status status = hd_mha_project_heads(cx, &one, heads);
    hd_mha_end_unbatched(&one);
    return status;
}
