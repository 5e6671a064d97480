/* projections.c: what multi-head attention takes, and its queries, keys and values as heads.
 *
 * One tensor that is projected several times is in one product: self-attention makes q, k and v together, a
 * memory's k and v. Heads are views of the product's result: nothing is transposed.
 */
#include "layers/sublayers.h"

#include "ops/product/quantized.h"

/* ---- sizes ------------------------------------------------------------------------------------------- */

static hd_status expect_rows(hd_ctx *cx, const char *name, const hd_tensor *w, int64_t rows) {
    char got[HD_SHAPE_TEXT];
    if (w && w->ndim == 2 && w->shape[0] == rows) return HD_OK;
    return hd_fail(cx, HD_EARG, "%s: expected [%lld, features], got %s", name, (long long)rows,
                   w ? hd_tensor_shape_text(w, got) : "none");
}

static hd_status sizes_apart(hd_ctx *cx, const hd_mha_params *p, hd_mha_sizes *s) {
    const hd_tensor *q = p->q_proj_weight;
    char got[HD_SHAPE_TEXT];
    if (!q || q->ndim != 2 || q->shape[0] < 1 || q->shape[0] % s->H != 0)
        return hd_fail(cx, HD_EARG, "q_proj_weight: expected [H D, E], got %s",
                       q ? hd_tensor_shape_text(q, got) : "none");
    s->D = q->shape[0] / s->H;
    if (expect_rows(cx, "k_proj_weight", p->k_proj_weight, s->Hk * s->D) ||
        expect_rows(cx, "v_proj_weight", p->v_proj_weight, s->Hk * s->D))
        return cx->error.status;
    s->E = q->shape[1], s->kdim = p->k_proj_weight->shape[1], s->vdim = p->v_proj_weight->shape[1];
    return HD_OK;
}

hd_status hd_mha_sizes_of(hd_ctx *cx, const hd_mha_params *p, hd_mha_sizes *s) {
    const hd_tensor *w = p->in_proj_weight, *b = p->in_proj_bias;
    char got[HD_SHAPE_TEXT];
    if (p->num_heads < 1) return hd_fail(cx, HD_EARG, "num_heads: expected at least 1, got %d", p->num_heads);
    s->H = p->num_heads, s->Hk = p->num_kv_heads > 0 ? p->num_kv_heads : s->H;
    if (s->H % s->Hk != 0)
        return hd_fail(cx, HD_EARG, "num_kv_heads: expected a divisor of num_heads (%d), got %d",
                       p->num_heads, p->num_kv_heads);
    const int64_t all = s->H + 2 * s->Hk;
    if (!w) {
        if (sizes_apart(cx, p, s)) return cx->error.status;
    } else if (w->ndim != 2 || w->shape[0] < 1 || w->shape[0] % all != 0) {
        return hd_fail(cx, HD_EARG, "in_proj_weight: expected [(H + 2 Hk) D, E] of %lld heads, got %s",
                       (long long)all, hd_tensor_shape_text(w, got));
    } else {
        s->D = w->shape[0] / all, s->E = s->kdim = s->vdim = w->shape[1];
    }
    const int64_t rows = all * s->D;
    return b && (b->ndim != 1 || b->shape[0] != rows)
               ? hd_fail(cx, HD_EARG, "in_proj_bias: expected [%lld], got %s", (long long)rows,
                         hd_tensor_shape_text(b, got))
               : HD_OK;
}

/* ---- inputs ------------------------------------------------------------------------------------------ */

static hd_status expect_features(hd_ctx *cx, const char *argument, const hd_tensor *t, int64_t features,
                                 const char *letter, int ndim) {
    char text[HD_SHAPE_TEXT];
    if (t->ndim != ndim)
        return hd_fail(cx, HD_EARG, "%s: expected %d dimensions as the query has, got %s", argument, ndim,
                       hd_tensor_shape_text(t, text));
    if (t->shape[ndim - 1] != features)
        return hd_fail(cx, HD_EARG, "%s: expected %lld features (%s), got %s", argument, (long long)features,
                       letter, hd_tensor_shape_text(t, text));
    return HD_OK;
}

static hd_status keys_fit(hd_ctx *cx, const hd_mha_sizes *s, const hd_tensor *query, const hd_tensor *key,
                          const hd_tensor *value) {
    const int ndim = query ? query->ndim : key->ndim;
    char text[HD_SHAPE_TEXT];
    if (expect_features(cx, "key", key, s->kdim, s->kdim == s->E ? "d_model" : "kdim", ndim) ||
        expect_features(cx, "value", value, s->vdim, s->vdim == s->E ? "d_model" : "vdim", ndim))
        return cx->error.status;
    if (query && ndim == 3 && key->shape[0] != query->shape[0])
        return hd_fail(cx, HD_EARG, "key: expected a batch of %lld as the query's, got %s",
                       (long long)query->shape[0], hd_tensor_shape_text(key, text));
    if (value->shape[ndim - 2] != key->shape[ndim - 2] || value->shape[0] != key->shape[0])
        return hd_fail(cx, HD_EARG, "value: expected %lld positions as the key has, got %s",
                       (long long)key->shape[ndim - 2], hd_tensor_shape_text(value, text));
    return HD_OK;
}

hd_status hd_mha_inputs_fit(hd_ctx *cx, const hd_mha_sizes *s, const hd_tensor *query, const hd_tensor *key,
                            const hd_tensor *value) {
    const hd_tensor *first = query ? query : key;
    char text[HD_SHAPE_TEXT];
    if (first->ndim != 2 && first->ndim != 3)
        return hd_fail(cx, HD_EARG, "%s: expected [B, L, %lld] or [L, %lld], got %s", query ? "query" : "key",
                       (long long)(query ? s->E : s->kdim), (long long)(query ? s->E : s->kdim),
                       hd_tensor_shape_text(first, text));
    if (query && expect_features(cx, "query", query, s->E, "d_model", query->ndim)) return cx->error.status;
    return key ? keys_fit(cx, s, query, key, value) : HD_OK;
}

hd_status hd_mha_check(hd_ctx *cx, const hd_mha_params *p, const hd_tensor *query, const hd_tensor *key,
                       const hd_tensor *value) {
    hd_mha_sizes size;
    if (!key) key = query;
    return hd_mha_sizes_of(cx, p, &size) ? cx->error.status
                                         : hd_mha_inputs_fit(cx, &size, query, key, value ? value : key);
}

/* ---- one sequence without a batch -------------------------------------------------------------------- */

hd_status hd_mha_begin_unbatched(hd_ctx *cx, const hd_mha_call *c, hd_mha_call *one) {
    *one = *c;
    one->query = c->query ? hd_unsqueeze(cx, c->query, 0) : NULL;
    one->key = !c->key ? NULL : c->key == c->query ? one->query : hd_unsqueeze(cx, c->key, 0);
    one->value = !c->value ? NULL : c->value == c->key ? one->key : hd_unsqueeze(cx, c->value, 0);
    const bool made = (one->query || !c->query) && (one->key || !c->key) && (one->value || !c->value);
    if (made) return HD_OK;
    hd_mha_end_unbatched(one);
    return cx->error.status;
}

void hd_mha_end_unbatched(hd_mha_call *one) {
    if (one->value != one->key) hd_release(one->value);
    if (one->key != one->query) hd_release(one->key);
    hd_release(one->query);
}

/* ---- products ---------------------------------------------------------------------------------------- */

/* Rows [first, first + count) of t. */
static hd_tensor *rows_of(hd_ctx *cx, hd_tensor *t, int64_t first, int64_t count) {
    if (hd_quantized_of(t)) return hd_quantized_rows(cx, t, first, count);
    return count == t->shape[0] ? hd_retain(t) : hd_narrow(cx, t, 0, first, count, 1);
}

hd_tensor *hd_mha_project_part(hd_ctx *cx, const hd_mha_call *c, hd_tensor *x, hd_tensor *own, int64_t first,
                               int64_t count) {
    const int64_t D = c->size.D;
    hd_tensor *bias = c->p->in_proj_bias, *b = NULL, *y = NULL;
    hd_tensor *w = own ? hd_retain(own) : rows_of(cx, c->p->in_proj_weight, first * D, count * D);
    if (w && bias) b = rows_of(cx, bias, first * D, count * D);
    if (w && (b || !bias)) y = hd_linear(cx, x, w, b, HD_ACT_NONE, 0);
    hd_release(w);
    hd_release(b);
    return y;
}

/* ---- heads ------------------------------------------------------------------------------------------- */

hd_tensor *hd_transpose_heads(hd_ctx *cx, hd_tensor *x) {
    const int order[4] = {0, 2, 1, 3};
    hd_tensor *y = x ? hd_permute(cx, x, order) : NULL;
    hd_release(x);
    return y;
}

/* [B, L, heads D] to [B, L, heads, D]. Consumes y, which may be NULL. */
static hd_tensor *as_heads(hd_ctx *cx, const hd_mha_call *c, hd_tensor *y) {
    if (!y) return NULL;
    const int64_t shape[4] = {y->shape[0], y->shape[1], y->shape[2] / c->size.D, c->size.D};
    hd_tensor *heads = hd_view(cx, y, 4, shape);
    hd_release(y);
    return heads;
}

/* The heads of several projections that stand side by side in y [B, L, ...]; counts are of heads. Consumes
 * y. */
static hd_status take_apart(hd_ctx *cx, const hd_mha_call *c, hd_tensor *y, int parts, const int64_t *counts,
                            hd_tensor **heads) {
    int64_t sizes[3];
    for (int i = 0; i < parts; i++) sizes[i] = counts[i] * c->size.D, heads[i] = NULL;
    hd_status status = y ? hd_split(cx, y, 2, parts, sizes, heads) : cx->error.status;
    for (int i = 0; i < parts && !status; i++)
        if (!(heads[i] = as_heads(cx, c, heads[i]))) status = cx->error.status;
    hd_release(y);
    return status;
}

static hd_status project_memory(hd_ctx *cx, const hd_mha_call *c, hd_tensor *heads[2]) {
    const int64_t H = c->size.H, Hk = c->size.Hk, counts[2] = {Hk, Hk};
    const hd_mha_params *p = c->p;
    if (p->in_proj_weight && c->key == c->value)
        return take_apart(cx, c, hd_mha_project_part(cx, c, c->key, NULL, H, 2 * Hk), 2, counts, heads);
    heads[0] = as_heads(cx, c, hd_mha_project_part(cx, c, c->key, p->k_proj_weight, H, Hk));
    if (heads[0])
        heads[1] = as_heads(cx, c, hd_mha_project_part(cx, c, c->value, p->v_proj_weight, H + Hk, Hk));
    return heads[1] ? HD_OK : cx->error.status;
}

static hd_status project(hd_ctx *cx, const hd_mha_call *c, hd_tensor *heads[3]) {
    const int64_t H = c->size.H, Hk = c->size.Hk, counts[3] = {H, Hk, Hk};
    const hd_mha_params *p = c->p;
    if (p->in_proj_weight && c->query == c->key && c->key == c->value)
        return take_apart(cx, c, hd_mha_project_part(cx, c, c->query, NULL, 0, H + 2 * Hk), 3, counts, heads);
    if (c->query &&
        !(heads[0] = as_heads(cx, c, hd_mha_project_part(cx, c, c->query, p->q_proj_weight, 0, H))))
        return cx->error.status;
    return c->key ? project_memory(cx, c, heads + 1) : HD_OK;
}

hd_status hd_mha_project_heads(hd_ctx *cx, const hd_mha_call *c, hd_tensor *heads[3]) {
    for (int i = 0; i < 3; i++) heads[i] = NULL;
    hd_status status = project(cx, c, heads);
    for (int i = 0; i < 3 && status; i++) {
        hd_release(heads[i]);
        heads[i] = NULL;
    }
    return status;
}
