/* cached_attention.c: attention over keys and values that are kept: those of the tokens before and the call's own, or a memory's.
 *
 * The call's own are made with its queries in one product and written behind the others; attention reads all where they lie.
 */
#include "layers/sublayers.h"

typedef struct cached_call {
    const hd_mha_params *p;
    hd_tensor *query;
    int64_t B, L, E, H, Hk, D;
} cached_call;

/* ---- views ------------------------------------------------------------------------------------------- */

/* Features of `count` heads behind `before` others, of [B, L, ...]: [B, L, count, D]. */
static hd_tensor *heads_of(hd_ctx *cx, const cached_call *c, hd_tensor *y, int64_t before, int64_t count) {
    const int64_t shape[4] = {c->B, c->L, count, c->D};
    hd_tensor *part = hd_narrow(cx, y, 2, before * c->D, count * c->D, 1);
    hd_tensor *heads = part ? hd_view(cx, part, 4, shape) : NULL;
    hd_release(part);
    return heads;
}

/* [B, L, H, D] and [B, H, L, D] to each other. Consumes x. */
static hd_tensor *turned(hd_ctx *cx, hd_tensor *x) {
    const int order[4] = {0, 2, 1, 3};
    hd_tensor *y = x ? hd_permute(cx, x, order) : NULL;
    hd_release(x);
    return y;
}

/* [B, H, L, D] at its positions. Consumes x. */
static hd_tensor *rotated(hd_ctx *cx, const cached_call *c, hd_tensor *x) {
    const hd_rotary_tables *r = &c->p->rotary;
    if (!x || !r->cos) return x;
    hd_tensor *y = hd_rotary(cx, x, r->cos, r->sin, r->interleaved);
    hd_release(x);
    return y;
}

/* ---- projections ------------------------------------------------------------------------------------- */

static hd_tensor *project_queries(hd_ctx *cx, const cached_call *c) {
    const hd_mha_params *p = c->p;
    hd_tensor *w = hd_narrow(cx, p->in_proj_weight, 0, 0, c->H * c->D, 1), *b = NULL, *y = NULL;
    if (w && p->in_proj_bias) b = hd_narrow(cx, p->in_proj_bias, 0, 0, c->H * c->D, 1);
    if (w && (b || !p->in_proj_bias)) y = hd_linear(cx, c->query, w, b, HD_ACT_NONE, 0);
    hd_release(w);
    hd_release(b);
    return y;
}

/* Writes t [B, L, Hk, D] into a buffer of kept ones. */
static hd_status append(hd_ctx *cx, const cached_call *c, hd_tensor *buffer, hd_tensor *t) {
    const hd_kept *kept = c->p->kept;
    if (!kept->places) {
        hd_tensor *room = hd_narrow(cx, buffer, 1, kept->before, c->L, 1);
        hd_status status = room ? hd_copy_(cx, room, t) : cx->error.status;
        hd_release(room);
        return status;
    }
    const int64_t rows[2] = {c->B * buffer->shape[1], c->Hk * c->D},
                  new_rows[2] = {c->B * c->L, c->Hk * c->D};
    hd_tensor *index[2] = {kept->places, NULL};
    hd_tensor *cast = t->dtype == buffer->dtype ? hd_retain(t) : hd_cast(cx, t, (hd_dtype)buffer->dtype);
    hd_tensor *to = hd_view(cx, buffer, 2, rows), *from = cast ? hd_reshape(cx, cast, 2, new_rows) : NULL;
    hd_status status = to && from ? hd_assign_index_(cx, buffer, to, index, from) : cx->error.status;
    hd_release(cast);
    hd_release(to);
    hd_release(from);
    return status;
}

/* Queries [B, H, L, D]; the call's keys and values are made with them, and kept. */
static hd_tensor *read_tokens(hd_ctx *cx, const cached_call *c) {
    const hd_kept *kept = c->p->kept;
    hd_tensor *all = hd_linear(cx, c->query, c->p->in_proj_weight, c->p->in_proj_bias, HD_ACT_NONE, 0);
    if (!all) return NULL;
    hd_tensor *q = rotated(cx, c, turned(cx, heads_of(cx, c, all, 0, c->H)));
    hd_tensor *k = heads_of(cx, c, all, c->H, c->Hk), *v = heads_of(cx, c, all, c->H + c->Hk, c->Hk);
    if (c->p->rotary.cos) k = turned(cx, rotated(cx, c, turned(cx, k)));
    hd_release(all);
    bool done = q && k && v && !append(cx, c, kept->k, k) && !append(cx, c, kept->v, v);
    hd_release(k);
    hd_release(v);
    if (done) return q;
    hd_release(q);
    return NULL;
}

static hd_tensor *read_query(hd_ctx *cx, const cached_call *c) {
    hd_tensor *q = project_queries(cx, c), *heads = q ? turned(cx, heads_of(cx, c, q, 0, c->H)) : NULL;
    hd_release(q);
    return heads;
}

/* What is attended to: [B, Hk, length, D], in a dtype that goes with the queries'. */
static hd_tensor *held(hd_ctx *cx, const cached_call *c, hd_tensor *buffer) {
    hd_tensor *t = turned(cx, hd_narrow(cx, buffer, 1, 0, c->p->kept->length, 1));
    if (!t || t->dtype == c->query->dtype) return t;
    if (c->query->dtype == HD_F32 && hd_dtype_is_half((hd_dtype)t->dtype)) return t;
    hd_tensor *cast = hd_cast(cx, t, (hd_dtype)c->query->dtype);
    hd_release(t);
    return cast;
}

/* ---- the whole --------------------------------------------------------------------------------------- */

static hd_status check_buffer(hd_ctx *cx, const cached_call *c, const char *name, const hd_tensor *t) {
    const hd_kept *kept = c->p->kept;
    char got[HD_SHAPE_TEXT];
    if (t->ndim != 4 || t->shape[0] != c->B || t->shape[2] != c->Hk || t->shape[3] != c->D ||
        t->shape[1] < kept->length)
        return hd_fail(cx, HD_EARG, "cache: expected %s as [%lld, %lld or more, %lld, %lld], got %s", name,
                       (long long)c->B, (long long)kept->length, (long long)c->Hk, (long long)c->D,
                       hd_tensor_shape_text(t, got));
    return HD_OK;
}

static hd_status check(hd_ctx *cx, cached_call *c) {
    const hd_mha_params *p = c->p;
    const hd_tensor *w = p->in_proj_weight;
    char got[HD_SHAPE_TEXT];
    if (p->num_heads < 1) return hd_fail(cx, HD_EARG, "num_heads: expected at least 1, got %d", p->num_heads);
    c->H = p->num_heads, c->Hk = p->num_kv_heads > 0 ? p->num_kv_heads : c->H;
    if (w->ndim != 2 || w->shape[0] % (c->H + 2 * c->Hk) != 0)
        return hd_fail(cx, HD_EARG, "in_proj_weight: expected [(H + 2 Hk) D, E], got %s",
                       hd_tensor_shape_text(w, got));
    c->E = w->shape[1], c->D = w->shape[0] / (c->H + 2 * c->Hk);
    if (c->query->ndim != 3 || c->query->shape[2] != c->E)
        return hd_fail(cx, HD_EARG, "query: expected [B, L, %lld], got %s", (long long)c->E,
                       hd_tensor_shape_text(c->query, got));
    c->B = c->query->shape[0], c->L = c->query->shape[1];
    if (hd_wants_grad(cx, 5,
                      (hd_tensor *[]){c->query, p->in_proj_weight, p->in_proj_bias, p->out_proj_weight,
                                      p->out_proj_bias}))
        return hd_fail(cx, HD_EARG,
                       "cache: expected a call under heed.no_grad: nothing goes back through a cache");
    return check_buffer(cx, c, "keys", p->kept->k) ? cx->error.status
                                                   : check_buffer(cx, c, "values", p->kept->v);
}

static hd_status attend(hd_ctx *cx, const cached_call *c, const hd_attention_options *options,
                        hd_residual residual, hd_tensor **out, hd_tensor **weights) {
    hd_attention_options o = *options;
    o.scale = c->p->scale, o.softcap = c->p->softcap;
    hd_tensor *heads = NULL, *made = NULL;
    hd_tensor *q = c->p->kept->of_memory ? read_query(cx, c) : read_tokens(cx, c);
    hd_tensor *k = q ? held(cx, c, c->p->kept->k) : NULL, *v = k ? held(cx, c, c->p->kept->v) : NULL;
    hd_status status = v ? hd_attention(cx, q, k, v, &o, &heads, &made) : cx->error.status;
    hd_release(q);
    hd_release(k);
    hd_release(v);
    if (status) return status;
    hd_tensor *joined = hd_join_heads(cx, heads);
    *out = joined ? hd_project_onto(cx, joined, c->p->out_proj_weight, c->p->out_proj_bias, residual) : NULL;
    hd_release(heads);
    hd_release(joined);
    if (*out && o.want_weights)
        *weights = made;
    else if (o.want_weights)
        hd_release(made);
    return *out ? HD_OK : cx->error.status;
}

hd_status hd_cached_sublayer(hd_ctx *cx, const hd_mha_params *p, hd_tensor *query,
                             const hd_attention_options *options, hd_residual residual, hd_tensor **out,
                             hd_tensor **weights) {
    cached_call c = {.p = p, .query = query};
    return check(cx, &c) ? cx->error.status : attend(cx, &c, options, residual, out, weights);
}
