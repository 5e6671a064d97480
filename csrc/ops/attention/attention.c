/* attention.c: out = softmax(scale q k^T + bias) v, what it accepts and how it is recorded;
 * attention_tiled.c and its neighbours compute.
 *
 * Saved: q, k, v (views of what came in), what hides and what is added, out, and of every row the log of its
 * sum of weights. The weights are made again in backward. Recorded in one of three forms, which differ in
 * what the gradients of q, k and v are written into: three tensors, one packed [B, L, 3E], or one [B, L, E]
 * and one [B, S, 2E].
 */
#include "ops/attention/attention_task.h"

#include <math.h>
#include <string.h>

#include "ops/elementwise/inplace.h"
#include "ops/nn/rows.h"
#include "ops/ops.h"

typedef enum packing { SEPARATE, PACKED_QKV, PACKED_KV } packing;

enum {
    SAVED_Q,
    SAVED_K,
    SAVED_V,
    SAVED_BIAS,
    SAVED_Q_STARTS,
    SAVED_K_STARTS,
    SAVED_ALIBI,
    SAVED_OUT,
    SAVED_LSE,
    SAVED
};
enum { IN_Q, IN_K, IN_V, IN_BIAS, INPUTS }; /* PACKED_QKV: all in IN_Q; PACKED_KV: k and v in IN_K */

typedef struct attention_params {
    double scale, softcap, dropout;
    hd_draw draw;
    uint64_t mask_version;
    packing packing;
} attention_params;

/* What a call is about, forward and backward: borrowed tensors. */
typedef struct attention_call {
    hd_tensor *q, *k, *v; /* [B,H,L,D], [B,Hk,S,D], [B,Hk,S,Dv]; features contiguous */
    hd_tensor *bias, *q_starts, *k_starts, *alibi;
    hd_mask *mask;
    hd_tensor *lse; /* saved, or to be; NULL: not needed */
    attention_params params;
} attention_call;

static hd_heads heads_of(const hd_tensor *t) {
    return (hd_heads){hd_data(t), t->stride[0], t->stride[1], t->stride[2]};
}

/* ---- checks ---------------------------------------------------------------------------------------- */

static bool is_half(const hd_tensor *t) {
    return hd_dtype_is_half((hd_dtype)t->dtype);
}

/* All of one dtype; beside q of f32 also k and v of f16 or bf16. */
static hd_status check_types(hd_ctx *cx, const hd_tensor *q, const hd_tensor *k, const hd_tensor *v) {
    if (!is_half(q) && hd_require_float(cx, "q", q)) return cx->error.status;
    const bool apart = q->dtype == HD_F32 && is_half(k);
    if (!apart && hd_require_dtype(cx, "k", k, (hd_dtype)q->dtype)) return cx->error.status;
    return hd_require_dtype(cx, "v", v, (hd_dtype)k->dtype);
}

static hd_status check_heads(hd_ctx *cx, const hd_tensor *q, const hd_tensor *k, const hd_tensor *v) {
    char text[HD_SHAPE_TEXT], other[HD_SHAPE_TEXT];
    if (check_types(cx, q, k, v)) return cx->error.status;
    if (q->ndim != 4 || q->shape[3] < 1)
        return hd_fail(cx, HD_EARG, "q: expected [B, H, L, D], got %s", hd_tensor_shape_text(q, text));
    if (k->ndim != 4 || k->shape[0] != q->shape[0] || k->shape[3] != q->shape[3])
        return hd_fail(cx, HD_EARG, "k: expected [B, Hk, S, D] with B and D as in q %s, got %s",
                       hd_tensor_shape_text(q, other), hd_tensor_shape_text(k, text));
    if (v->ndim != 4 || v->shape[0] != k->shape[0] || v->shape[1] != k->shape[1] ||
        v->shape[2] != k->shape[2])
        return hd_fail(cx, HD_EARG, "v: expected [B, Hk, S, Dv] with B, Hk and S as in k %s, got %s",
                       hd_tensor_shape_text(k, other), hd_tensor_shape_text(v, text));
    if (k->shape[1] == 0 ? q->shape[1] != 0 : q->shape[1] % k->shape[1] != 0)
        return hd_fail(cx, HD_EARG, "k: expected a number of heads that divides the %lld of q, got %lld",
                       (long long)q->shape[1], (long long)k->shape[1]);
    return HD_OK;
}

static hd_status check_starts(hd_ctx *cx, const char *of, const hd_tensor *starts, int64_t total) {
    char text[HD_SHAPE_TEXT];
    if (hd_require_dtype(cx, of, starts, HD_I64)) return cx->error.status;
    if (starts->ndim != 1 || starts->shape[0] < 1 || !hd_is_contiguous(starts))
        return hd_fail(cx, HD_EARG,
                       "mask: packed: expected the starts of %s as [sequences + 1], contiguous, got %s", of,
                       hd_tensor_shape_text(starts, text));
    const int64_t *at = hd_data(starts);
    int64_t count = starts->shape[0] - 1;
    bool rises = at[0] == 0 && at[count] == total;
    for (int64_t s = 0; s < count; s++) rises = rises && at[s] <= at[s + 1];
    if (rises) return HD_OK;
    return hd_fail(cx, HD_EARG, "mask: packed: expected lengths that add up to %lld, the %s",
                   (long long)total, of);
}

hd_status hd_check_starts(hd_ctx *cx, const hd_attention_options *o, const int64_t scores[4]) {
    if (!o->query_starts && !o->key_starts) return HD_OK;
    if (!o->query_starts || !o->key_starts)
        return hd_fail(cx, HD_EARG, "query_starts: expected key_starts as well");
    if (o->mask && o->mask->ends)
        return hd_fail(cx, HD_EARG, "mask: packed: expected no ends: starts say where each sequence ends");
    if (scores[0] != 1)
        return hd_fail(cx, HD_EARG, "mask: packed: expected a batch of 1, got %lld", (long long)scores[0]);
    if (check_starts(cx, "queries", o->query_starts, scores[2]) ||
        check_starts(cx, "keys", o->key_starts, scores[3]))
        return cx->error.status;
    return hd_require_shape(cx, "mask: packed", o->key_starts, 1, o->query_starts->shape);
}

static hd_status check_options(hd_ctx *cx, const hd_tensor *q, const hd_tensor *k,
                               const hd_attention_options *o) {
    const int64_t scores[4] = {q->shape[0], q->shape[1], q->shape[2], k->shape[2]};
    if (hd_check_starts(cx, o, scores) || hd_require_probability(cx, "dropout", o->dropout))
        return cx->error.status;
    if (!(o->softcap >= 0) || isinf(o->softcap))
        return hd_fail(cx, HD_EARG, "softcap: expected a positive number, or 0 for none, got %g", o->softcap);
    if (o->alibi && (hd_require_dtype(cx, "alibi", o->alibi, HD_F64) ||
                     hd_require_shape(cx, "alibi", o->alibi, 1, &q->shape[1])))
        return cx->error.status;
    if (o->alibi && !hd_is_contiguous(o->alibi))
        return hd_fail(cx, HD_EARG, "alibi: expected slopes that lie side by side in memory");
    return o->bias ? hd_require_dtype(cx, "bias", o->bias, (hd_dtype)q->dtype) : HD_OK;
}

/* ---- the task -------------------------------------------------------------------------------------- */

static hd_status task_of(hd_ctx *cx, const attention_call *c, hd_attention_task *a, hd_mask_resolved *mask) {
    *a = (hd_attention_task){.dtype = (hd_dtype)c->q->dtype, .key_dtype = (hd_dtype)c->k->dtype};
    a->B = c->q->shape[0], a->H = c->q->shape[1], a->L = c->q->shape[2], a->D = c->q->shape[3];
    a->Hk = c->k->shape[1], a->S = c->k->shape[2], a->Dv = c->v->shape[3];
    a->scale = c->params.scale, a->softcap = c->params.softcap;
    a->dropout = c->params.dropout, a->draw = c->params.draw;
    a->q = heads_of(c->q), a->k = heads_of(c->k), a->v = heads_of(c->v);
    a->mask = mask;
    a->sequences = c->q_starts ? c->q_starts->shape[0] - 1 : a->B;
    if (c->q_starts) a->q_starts = hd_data(c->q_starts), a->k_starts = hd_data(c->k_starts);
    if (c->alibi) a->slopes = hd_data(c->alibi);
    if (c->lse) a->lse = hd_data(c->lse);
    const int64_t scores[4] = {a->B, a->H, a->L, a->S};
    if (c->bias && hd_score_map_of(cx, "bias", c->bias, scores, &a->bias)) return cx->error.status;
    if (hd_mask_resolve(cx, c->mask, scores, mask)) return cx->error.status;
    a->ends = mask->ends;
    return HD_OK;
}

/* ---- backward -------------------------------------------------------------------------------------- */

static hd_status saved_call(hd_ctx *cx, hd_node *node, attention_call *c) {
    hd_tensor *saved[SAVED];
    for (int i = 0; i < SAVED; i++) {
        saved[i] = NULL;
        if (i <= SAVED_V || (i < node->num_saved && node->saved[i].tensor))
            if (!(saved[i] = hd_node_saved(cx, node, i))) return cx->error.status;
    }
    *c = (attention_call){.q = saved[SAVED_Q], .k = saved[SAVED_K], .v = saved[SAVED_V]};
    c->bias = saved[SAVED_BIAS], c->alibi = saved[SAVED_ALIBI], c->mask = node->payload;
    c->q_starts = saved[SAVED_Q_STARTS], c->k_starts = saved[SAVED_K_STARTS], c->lse = saved[SAVED_LSE];
    memcpy(&c->params, node->params, sizeof c->params);
    if (hd_mask_version(c->mask) == c->params.mask_version) return HD_OK;
    return hd_fail(cx, HD_EARG,
                   "attention: a tensor of its mask was overwritten in place; clone it before writing");
}

/* [B, heads, rows, features] as a view of memory laid out [B, rows, heads, features]. */
static hd_tensor *heads_new(hd_ctx *cx, const hd_attention_task *a, int64_t heads, int64_t rows,
                            int64_t features) {
    const int64_t memory[4] = {a->B, rows, heads, features}, shape[4] = {a->B, heads, rows, features};
    const int64_t stride[4] = {rows * heads * features, features, heads * features, 1};
    hd_tensor *whole = hd_tensor_new(cx, a->dtype, 4, memory);
    hd_tensor *view = whole ? hd_tensor_view(cx, whole, 4, shape, stride, 0) : NULL;
    hd_release(whole);
    return view;
}

/* [B, rows, parts E], and each part as heads. */
static hd_tensor *packed_new(hd_ctx *cx, const hd_attention_task *a, int64_t rows, int64_t parts,
                             hd_heads *const *to) {
    int64_t width = a->H * a->D, shape[3] = {a->B, rows, parts * width};
    hd_tensor *whole = hd_tensor_new(cx, a->dtype, 3, shape);
    for (int64_t i = 0; whole && i < parts; i++)
        *to[i] = (hd_heads){(char *)hd_data(whole) + (size_t)(i * width) * hd_dtype_size(a->dtype),
                            rows * parts * width, a->D, parts * width};
    return whole;
}

static bool separate_gradient(hd_ctx *cx, const hd_node *node, const hd_attention_task *a, int i,
                              const hd_tensor *like, hd_heads *to, hd_tensor **grad_inputs) {
    if (!hd_node_needs(node, i)) return true;
    grad_inputs[i] = heads_new(cx, a, like->shape[1], like->shape[2], like->shape[3]);
    if (grad_inputs[i]) *to = heads_of(grad_inputs[i]);
    return grad_inputs[i] != NULL;
}

/* Keys behind the end of their row are of no task, and get 0. */
static hd_status clear_behind_ends(hd_ctx *cx, const hd_attention_task *a, hd_tensor *const *grad_inputs) {
    const double zero = 0;
    for (int i = 0; a->ends && i < IN_BIAS; i++)
        if (grad_inputs[i] && hd_fill_data(cx, grad_inputs[i], &zero)) return cx->error.status;
    return HD_OK;
}

static hd_status gradients_new(hd_ctx *cx, const hd_node *node, const attention_call *c, hd_attention_task *a,
                               hd_tensor **grad_inputs) {
    hd_heads *parts[3] = {&a->dq, &a->dk, &a->dv};
    bool ok = true;
    if (c->params.packing == PACKED_QKV) {
        if (hd_node_needs(node, IN_Q)) ok = (grad_inputs[IN_Q] = packed_new(cx, a, a->L, 3, parts)) != NULL;
    } else if (c->params.packing == PACKED_KV) {
        if (hd_node_needs(node, IN_Q)) ok = (grad_inputs[IN_Q] = packed_new(cx, a, a->L, 1, parts)) != NULL;
        if (ok && hd_node_needs(node, IN_K))
            ok = (grad_inputs[IN_K] = packed_new(cx, a, a->S, 2, parts + 1)) != NULL;
    } else {
        ok = separate_gradient(cx, node, a, IN_Q, c->q, &a->dq, grad_inputs) &&
             separate_gradient(cx, node, a, IN_K, c->k, &a->dk, grad_inputs) &&
             separate_gradient(cx, node, a, IN_V, c->v, &a->dv, grad_inputs);
    }
    return ok ? clear_behind_ends(cx, a, grad_inputs) : cx->error.status;
}

/* out and its gradient as heads: [B,H,L,Dv] or, packed, [B,L,E]. */
static hd_heads result_heads(const hd_tensor *t, packing packing, int64_t features) {
    return packing == SEPARATE ? heads_of(t) : (hd_heads){hd_data(t), t->stride[0], features, t->stride[1]};
}

/* The gradient of out as heads, whether it came as [B,H,L,Dv] or, packed, as [B,L,E]. A new reference. */
static hd_tensor *upstream(hd_ctx *cx, hd_tensor *g, const attention_call *c, hd_attention_task *a) {
    hd_tensor *own = g->stride[g->ndim - 1] == 1 ? hd_tensor_alias(cx, g) : hd_contiguous_detached(cx, g);
    if (!own) return NULL;
    a->g = result_heads(own, c->params.packing, a->Dv);
    return own;
}

/* In the shape of the bias. */
static hd_status bias_gradient_new(hd_ctx *cx, const attention_call *c, hd_attention_task *a,
                                   hd_tensor **grad_inputs) {
    const int64_t scores[4] = {a->B, a->H, a->L, a->S};
    hd_tensor *t = hd_tensor_zeros(cx, a->dtype, c->bias->ndim, c->bias->shape);
    if (!t) return cx->error.status;
    a->dbias.data = hd_data(t);
    hd_broadcast_strides(t, 4, scores, a->dbias.stride);
    grad_inputs[IN_BIAS] = t;
    return HD_OK;
}

static hd_status attention_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                    hd_tensor **grad_inputs) {
    if (!grads[0]) return HD_OK;
    attention_call c;
    hd_attention_task a;
    hd_mask_resolved mask;
    hd_tensor *out = hd_node_saved(cx, node, SAVED_OUT);
    if (!out || saved_call(cx, node, &c) || task_of(cx, &c, &a, &mask)) return cx->error.status;
    a.out = result_heads(out, c.params.packing, a.Dv);
    hd_tensor *g = upstream(cx, grads[0], &c, &a);
    hd_status status = g ? gradients_new(cx, node, &c, &a, grad_inputs) : cx->error.status;
    if (!status && hd_node_needs(node, IN_BIAS)) status = bias_gradient_new(cx, &c, &a, grad_inputs);
    if (!status) status = hd_attention_backward(cx, &a);
    hd_release(g);
    return status;
}

static void release_mask(hd_node *node) {
    hd_mask_release(node->payload);
}

static const hd_node_class attention_class = {"attention", attention_backward, release_mask};

/* ---- forward --------------------------------------------------------------------------------------- */

static hd_tensor *with_contiguous_features(hd_ctx *cx, hd_tensor *t) {
    int last = t->ndim - 1;
    return t->stride[last] == 1 || t->shape[last] <= 1 ? hd_tensor_alias(cx, t)
                                                       : hd_contiguous_detached(cx, t);
}

static attention_params params_of(const hd_tensor *q, const hd_attention_options *o, packing packing) {
    return (attention_params){.scale = o->scale != 0 ? o->scale : 1 / sqrt((double)q->shape[3]),
                              .softcap = o->softcap,
                              .dropout = o->dropout,
                              .mask_version = hd_mask_version(o->mask),
                              .packing = packing};
}

static attention_call call_of(const hd_attention_options *o) {
    return (attention_call){.mask = o->mask,
                            .bias = o->bias,
                            .alibi = o->alibi,
                            .q_starts = o->query_starts,
                            .k_starts = o->key_starts};
}

static hd_tensor *record(hd_ctx *cx, hd_tensor *out, hd_tensor *const inputs[INPUTS],
                         const attention_call *c) {
    hd_tensor *saved[SAVED] = {c->q, c->k, c->v, c->bias, c->q_starts, c->k_starts, c->alibi, out, c->lse};
    out = hd_record(cx, &attention_class, out, INPUTS, inputs, SAVED, saved, &c->params, sizeof c->params);
    if (out && out->node && c->mask) out->node->payload = hd_mask_retain(c->mask);
    return out;
}

/* out as memory laid out [B, L, H, Dv]: [B, L, E] or, when q, k and v are separate, a view [B, H, L, Dv] of
 * it. */
static hd_tensor *out_new(hd_ctx *cx, hd_attention_task *a, packing packing) {
    hd_heads *parts[1] = {&a->out};
    if (packing != SEPARATE) return packed_new(cx, a, a->L, 1, parts);
    hd_tensor *out = heads_new(cx, a, a->H, a->L, a->Dv);
    if (out) a->out = heads_of(out);
    return out;
}

/* *weights stays NULL when none are wanted. */
static hd_status compute(hd_ctx *cx, hd_attention_task *a, attention_call *c, bool recorded,
                         bool want_weights, hd_tensor **out, hd_tensor **weights) {
    const int64_t scores[4] = {a->B, a->H, a->L, a->S};
    if (!(*out = out_new(cx, a, c->params.packing))) return cx->error.status;
    if (recorded) {
        if (!(c->lse = hd_tensor_new(cx, a->dtype, 3, scores))) return cx->error.status;
        a->lse = hd_data(c->lse);
    }
    if (want_weights) {
        if (!(*weights = hd_tensor_new(cx, a->dtype, 4, scores))) return cx->error.status;
        a->weights = hd_data(*weights);
    }
    return hd_attention_forward(cx, a);
}

static hd_status check_call(hd_ctx *cx, const attention_call *c, const hd_attention_options *o) {
    if (!c->q || !c->k || !c->v) return cx->error.status; /* there was no memory for a view */
    hd_status status = check_heads(cx, c->q, c->k, c->v);
    return status ? status : check_options(cx, c->q, c->k, o);
}

/* Takes over q, k and v of the call. */
static hd_status attend(hd_ctx *cx, attention_call *c, packing packing, hd_tensor *const inputs[INPUTS],
                        const hd_attention_options *o, hd_tensor **out, hd_tensor **weights) {
    hd_attention_task a;
    hd_mask_resolved mask;
    hd_tensor *y = NULL, *made = NULL;
    hd_status status = check_call(cx, c, o);
    if (!status) {
        c->params = params_of(c->q, o, packing);
        status = task_of(cx, c, &a, &mask);
    }
    if (!status && c->params.dropout > 0) a.draw = c->params.draw = hd_rng_take(&cx->rng);
    if (!status) status = compute(cx, &a, c, hd_wants_grad(cx, INPUTS, inputs), o->want_weights, &y, &made);
    if (!status) {
        *out = record(cx, y, inputs, c);
        y = NULL;
        status = *out ? HD_OK : cx->error.status;
    }
    if (!status && o->want_weights) *weights = hd_retain(made);
    hd_release(y);
    hd_release(made);
    hd_release(c->lse);
    hd_release(c->q);
    hd_release(c->k);
    hd_release(c->v);
    return status;
}

static hd_status attend_to_heads(hd_ctx *cx, hd_tensor *q, hd_tensor *k, hd_tensor *v,
                                 const hd_attention_options *o, hd_tensor **out, hd_tensor **weights) {
    attention_call c = call_of(o);
    hd_tensor *inputs[INPUTS] = {q, k, v, o->bias};
    c.q = with_contiguous_features(cx, q);
    c.k = with_contiguous_features(cx, k);
    c.v = with_contiguous_features(cx, v);
    return attend(cx, &c, SEPARATE, inputs, o, out, weights);
}

/* Consumes t (NULL: passes on). */
static hd_tensor *cast_result(hd_ctx *cx, hd_tensor *t, hd_dtype dtype) {
    hd_tensor *as = t ? hd_cast(cx, t, dtype) : NULL;
    hd_release(t);
    return as;
}

/* There are few queries beside what they are compared with: they, and the results, are converted. */
static hd_status attend_in_f32(hd_ctx *cx, hd_tensor *q, hd_tensor *k, hd_tensor *v,
                               const hd_attention_options *o, hd_tensor **out, hd_tensor **weights) {
    hd_tensor *wide = hd_cast(cx, q, HD_F32), *y = NULL, *made = NULL;
    hd_status status = wide ? attend_to_heads(cx, wide, k, v, o, &y, &made) : cx->error.status;
    hd_release(wide);
    y = cast_result(cx, y, (hd_dtype)q->dtype);
    made = cast_result(cx, made, (hd_dtype)q->dtype);
    if (!status && (!y || (o->want_weights && !made))) status = cx->error.status;
    if (!status) {
        *out = y;
        if (o->want_weights) *weights = made;
        return HD_OK;
    }
    hd_release(y);
    hd_release(made);
    return status;
}

hd_status hd_attention(hd_ctx *cx, hd_tensor *q, hd_tensor *k, hd_tensor *v, const hd_attention_options *o,
                       hd_tensor **out, hd_tensor **weights) {
    if (check_heads(cx, q, k, v)) return cx->error.status;
    return is_half(q) ? attend_in_f32(cx, q, k, v, o, out, weights)
                      : attend_to_heads(cx, q, k, v, o, out, weights);
}

/* ---- packed projections ---------------------------------------------------------------------------- */

/* Part `part` of the features of x [B, rows, parts E] as heads [B, H, rows, D]. */
static hd_tensor *part_as_heads(hd_ctx *cx, const hd_tensor *x, int num_heads, int64_t parts, int64_t part) {
    int64_t width = x->shape[2] / parts, features = width / num_heads;
    const int64_t shape[4] = {x->shape[0], num_heads, x->shape[1], features};
    const int64_t stride[4] = {x->stride[0], features, x->stride[1], 1};
    return hd_tensor_view(cx, x, 4, shape, stride, x->offset + part * width);
}

static hd_status check_packed(hd_ctx *cx, const hd_tensor *q, const hd_tensor *packed, int num_heads) {
    char text[HD_SHAPE_TEXT];
    int64_t parts = q ? 2 : 3;
    if (hd_require_float(cx, q ? "q" : "packed", q ? q : packed)) return cx->error.status;
    if (num_heads < 1) return hd_fail(cx, HD_EARG, "num_heads: expected at least 1, got %d", num_heads);
    if (packed->ndim != 3 || packed->shape[2] < 1 || packed->shape[2] % (parts * num_heads) != 0)
        return hd_fail(cx, HD_EARG, "packed: expected [B, S, %d E] with E a multiple of %d heads, got %s",
                       (int)parts, num_heads, hd_tensor_shape_text(packed, text));
    if (q && (q->ndim != 3 || q->shape[2] != packed->shape[2] / 2 || q->shape[0] != packed->shape[0]))
        return hd_fail(cx, HD_EARG, "q: expected [%lld, L, %lld], got %s", (long long)packed->shape[0],
                       (long long)(packed->shape[2] / 2), hd_tensor_shape_text(q, text));
    return HD_OK;
}

hd_status hd_attention_packed(hd_ctx *cx, hd_tensor *q, hd_tensor *packed, int num_heads,
                              const hd_attention_options *o, hd_tensor **out, hd_tensor **weights) {
    if (check_packed(cx, q, packed, num_heads)) return cx->error.status;
    attention_call c = call_of(o);
    hd_tensor *inputs[INPUTS] = {q ? q : packed, q ? packed : NULL, NULL, o->bias};
    hd_tensor *own = with_contiguous_features(cx, packed);
    hd_tensor *own_q = q ? with_contiguous_features(cx, q) : NULL;
    int64_t parts = q ? 2 : 3;
    if (own && (own_q || !q)) {
        c.q = q ? part_as_heads(cx, own_q, num_heads, 1, 0) : part_as_heads(cx, own, num_heads, 3, 0);
        c.k = part_as_heads(cx, own, num_heads, parts, parts - 2);
        c.v = part_as_heads(cx, own, num_heads, parts, parts - 1);
    }
    hd_release(own);
    hd_release(own_q);
    return attend(cx, &c, q ? PACKED_KV : PACKED_QKV, inputs, o, out, weights);
}
