/* kv_cache.c: keys and values of the tokens before, or of a memory, which attention reads where they lie. */
#include "layers/sublayers.h"

static hd_status check_buffer(hd_ctx *cx, const hd_mha_call *c, const char *name, const hd_tensor *t) {
    const hd_kv_cache *kv = c->o->kv_cache;
    const int64_t B = c->query->shape[0];
    char got[HD_SHAPE_TEXT];
    if (t->ndim != 4 || t->shape[0] != B || t->shape[2] != c->size.Hk || t->shape[3] != c->size.D ||
        t->shape[1] < kv->length)
        return hd_fail(cx, HD_EARG, "cache: expected %s as [%lld, %lld or more, %lld, %lld], got %s", name,
                       (long long)B, (long long)kv->length, (long long)c->size.Hk, (long long)c->size.D,
                       hd_tensor_shape_text(t, got));
    return HD_OK;
}

hd_status hd_kv_cache_check(hd_ctx *cx, const hd_mha_call *c) {
    const hd_mha_params *p = c->p;
    hd_tensor *const inputs[] = {c->query,         p->in_proj_weight, p->q_proj_weight,   p->k_proj_weight,
                                 p->v_proj_weight, p->in_proj_bias,   p->q_norm.weight,   p->q_norm.bias,
                                 p->k_norm.weight, p->k_norm.bias,    p->out_proj.weight, p->out_proj.bias};
    if (hd_wants_grad(cx, (int)(sizeof inputs / sizeof *inputs), inputs))
        return hd_fail(cx, HD_EARG,
                       "cache: expected a call under heed.no_grad: nothing goes back through a cache");
    return check_buffer(cx, c, "keys", c->o->kv_cache->k) ? cx->error.status
                                                          : check_buffer(cx, c, "values", c->o->kv_cache->v);
}

/* Writes t [B, L, Hk, D] into a buffer [B, capacity, Hk, D]. */
static hd_status write(hd_ctx *cx, const hd_kv_cache *kv, hd_tensor *buffer, hd_tensor *t) {
    if (!kv->places) {
        hd_tensor *space = hd_narrow(cx, buffer, 1, kv->before, t->shape[1], 1);
        hd_status status = space ? hd_copy_(cx, space, t) : cx->error.status;
        hd_release(space);
        return status;
    }
    const int64_t features = t->shape[2] * t->shape[3], rows[2] = {t->shape[0] * buffer->shape[1], features},
                  new_rows[2] = {t->shape[0] * t->shape[1], features};
    hd_tensor *index[2] = {kv->places, NULL};
    hd_tensor *cast = t->dtype == buffer->dtype ? hd_retain(t) : hd_cast(cx, t, (hd_dtype)buffer->dtype);
    hd_tensor *to = hd_view(cx, buffer, 2, rows), *from = cast ? hd_reshape(cx, cast, 2, new_rows) : NULL;
    hd_status status = to && from ? hd_assign_index_(cx, buffer, to, index, from) : cx->error.status;
    hd_release(cast);
    hd_release(to);
    hd_release(from);
    return status;
}

hd_status hd_kv_cache_append(hd_ctx *cx, const hd_mha_call *c, hd_tensor *k, hd_tensor *v) {
    const hd_kv_cache *kv = c->o->kv_cache;
    hd_tensor *new_k = hd_transpose_heads(cx, hd_retain(k)), *new_v = hd_transpose_heads(cx, hd_retain(v));
    bool done = new_k && new_v && !write(cx, kv, kv->k, new_k) && !write(cx, kv, kv->v, new_v);
    hd_release(new_k);
    hd_release(new_v);
    return done ? HD_OK : cx->error.status;
}

hd_tensor *hd_kv_cache_read(hd_ctx *cx, const hd_mha_call *c, hd_tensor *buffer) {
    hd_tensor *t = hd_transpose_heads(cx, hd_narrow(cx, buffer, 1, 0, c->o->kv_cache->length, 1));
    if (!t || t->dtype == c->query->dtype) return t;
    if (c->query->dtype == HD_F32 && hd_dtype_is_half((hd_dtype)t->dtype)) return t;
    hd_tensor *cast = hd_cast(cx, t, (hd_dtype)c->query->dtype);
    hd_release(t);
    return cast;
}
