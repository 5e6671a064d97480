/* linear.c: y = residual + dropout(act(x W^T + b)), one node.
 *
 *   z = x W^T                  one product
 *   y = dropout(act(z + b))    one pass over it, rows at a time; or residual + dropout(z + b)
 *
 * Backward, with dz the gradient of z + b:
 *   dz = dropout(g) * act'     recomputed from (seed, draw); relu needs y alone, the others kept z
 *   db = column sums of dz     in the same pass; partial sums are cut by the shape and added in order
 *   dx = dz W,  dW = dz^T x
 */
#include "ops/nn/rows.h"

#include "base/parallel.h"
#include "kernels/gemm.h"
#include "ops/product/quantized.h"

#include <string.h>

typedef struct linear_params {
    hd_draw draw;
    double p;
    hd_activation act;
} linear_params;

enum { IN_X, IN_W, IN_B, IN_RESIDUAL, INPUTS };
enum { SAVED_X, SAVED_W, SAVED_B, SAVED_ACT, SAVED };

/* ---- forward --------------------------------------------------------------------------------- */

typedef struct epilogue {
    const hd_kernels *kernels;
    linear_params params;
    hd_dtype dtype;
    hd_rows z, y, residual; /* residual.data NULL: none */
    const void *bias;
} epilogue;

static void finish_rows(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const epilogue *e = arg;
    const linear_params *o = &e->params;
    int64_t n = e->z.width;
    for (int64_t i = first; i < last; i++) {
        void *z = hd_row(&e->z, i), *y = hd_row(&e->y, i);
        if (o->act == HD_ACT_NONE)
            e->kernels->dropout_add[e->dtype](o->draw, i * n, n, o->p, z, e->bias,
                                              e->residual.data ? hd_row(&e->residual, i) : NULL, y);
        else
            e->kernels->bias_act[o->act][e->dtype](o->draw, i * n, n, o->p, z, e->bias, y);
    }
}

static hd_status product(hd_ctx *cx, hd_dtype dtype, const hd_rows *x, const hd_tensor *w,
                         const hd_tensor *z) {
    if (hd_quantized_of(w)) return hd_quantized_product(cx, w, x, hd_data(z));
    hd_gemm g = {.dtype = dtype, .m = x->count, .n = w->shape[0], .k = w->shape[1], .batch = 1, .alpha = 1};
    g.a = (hd_matrix){x->data, x->stride, 1, 0};
    g.b = (hd_matrix){hd_data(w), w->stride[1], w->stride[0], 0};
    g.c = (hd_matrix){hd_data(z), g.n, 1, 0};
    return hd_gemm_run(cx, &g);
}

static hd_status check(hd_ctx *cx, hd_tensor *x, hd_tensor *w, hd_tensor *b, double dropout) {
    char got[HD_SHAPE_TEXT];
    if (hd_require_dtype_of(cx, "x", x, "weight", w) || hd_require_probability(cx, "dropout", dropout))
        return cx->error.status;
    if (w->ndim != 2)
        return hd_fail(cx, HD_EARG, "weight: expected [out, in], got %s", hd_tensor_shape_text(w, got));
    if (x->ndim < 1 || x->shape[x->ndim - 1] != w->shape[1])
        return hd_fail(cx, HD_EARG, "x: expected %lld features, got %s", (long long)w->shape[1],
                       hd_tensor_shape_text(x, got));
    if (!b) return HD_OK;
    hd_status status = hd_require_dtype(cx, "bias", b, (hd_dtype)x->dtype);
    return status ? status : hd_require_shape(cx, "bias", b, 1, w->shape);
}

/* What backward wants: x and w for each other's gradient; for the activation z, or y where that is enough. */
static const hd_node_class linear_class;

static hd_tensor *record(hd_ctx *cx, hd_tensor *y, hd_tensor *const inputs[INPUTS], hd_tensor *x,
                         hd_tensor *bias, hd_tensor *z, const linear_params *params) {
    hd_tensor *saved[SAVED] = {0};
    if (inputs[IN_W]->requires_grad) saved[SAVED_X] = x;
    if (inputs[IN_X]->requires_grad) saved[SAVED_W] = inputs[IN_W];
    if (params->act == HD_ACT_RELU) saved[SAVED_ACT] = y;
    if (params->act > HD_ACT_RELU) saved[SAVED_ACT] = z, saved[SAVED_B] = bias;
    return hd_record(cx, &linear_class, y, INPUTS, inputs, SAVED, saved, params, sizeof *params);
}

static hd_tensor *linear(hd_ctx *cx, hd_tensor *const inputs[INPUTS], linear_params params) {
    hd_tensor *x = inputs[IN_X], *w = inputs[IN_W];
    hd_tensor *rows = NULL, *bias = NULL, *residual = NULL, *z = NULL, *y = NULL, *result = NULL;
    int64_t shape[HD_MAX_DIMS];
    epilogue e = {.kernels = cx->kernels, .params = params, .dtype = (hd_dtype)x->dtype};
    hd_rows in;
    for (int d = 0; d < x->ndim; d++) shape[d] = x->shape[d];
    shape[x->ndim - 1] = w->shape[0];
    if (!(rows = hd_as_rows(cx, x, &in))) goto done;
    if (inputs[IN_B] && !(bias = hd_contiguous_detached(cx, inputs[IN_B]))) goto done;
    if (inputs[IN_RESIDUAL] && !(residual = hd_as_rows(cx, inputs[IN_RESIDUAL], &e.residual))) goto done;
    if (!(z = hd_tensor_new(cx, e.dtype, x->ndim, shape))) goto done;
    bool keep_z = params.act > HD_ACT_RELU && hd_wants_grad(cx, INPUTS, inputs);
    if (!(y = keep_z ? hd_tensor_like(cx, z) : hd_retain(z))) goto done;
    if (product(cx, e.dtype, &in, w, z)) goto done;
    e.z = hd_rows_of(z);
    e.y = hd_rows_of(y);
    e.bias = bias ? hd_data(bias) : NULL;
    bool plain = params.act == HD_ACT_NONE && !bias && !residual && params.p == 0;
    if (!plain && hd_parallel_ranges(cx, e.z.count, hd_rows_grain(e.z.width), finish_rows, &e)) goto done;
    result = record(cx, y, inputs, rows, bias, z, &params);
    y = NULL;
done:
    hd_release(rows);
    hd_release(bias);
    hd_release(residual);
    hd_release(z);
    hd_release(y);
    return result;
}

hd_tensor *hd_linear(hd_ctx *cx, hd_tensor *x, hd_tensor *w, hd_tensor *b, hd_activation act,
                     double dropout) {
    if (check(cx, x, w, b, dropout)) return NULL;
    hd_tensor *inputs[INPUTS] = {x, w, b, NULL};
    linear_params params = {.p = dropout, .act = act};
    if (dropout > 0) params.draw = hd_rng_take(&cx->rng);
    return linear(cx, inputs, params);
}

hd_tensor *hd_linear_residual(hd_ctx *cx, hd_tensor *residual, hd_tensor *x, hd_tensor *w, hd_tensor *b,
                              double dropout) {
    if (check(cx, x, w, b, dropout)) return NULL;
    int64_t shape[HD_MAX_DIMS];
    for (int d = 0; d < x->ndim; d++) shape[d] = x->shape[d];
    shape[x->ndim - 1] = w->shape[0];
    if (hd_require_dtype(cx, "residual", residual, (hd_dtype)x->dtype) ||
        hd_require_shape(cx, "residual", residual, x->ndim, shape))
        return NULL;
    hd_tensor *inputs[INPUTS] = {x, w, b, residual};
    linear_params params = {.p = dropout, .act = HD_ACT_NONE};
    if (dropout > 0) params.draw = hd_rng_take(&cx->rng);
    return linear(cx, inputs, params);
}

/* ---- backward -------------------------------------------------------------------------------- */

typedef struct back_pass {
    const hd_kernels *kernels;
    linear_params params;
    hd_dtype dtype;
    hd_rows g, act, dz; /* act: y of relu, z of the others */
    const void *bias;
    char *partial; /* [tasks, n] sums of columns; NULL: no gradient of a bias is wanted */
    int64_t grain;
    bool in_place; /* dz is g */
} back_pass;

static void dz_row(const back_pass *b, int64_t i) {
    const linear_params *o = &b->params;
    int64_t n = b->g.width;
    const void *g = hd_row(&b->g, i);
    void *dz = hd_row(&b->dz, i);
    if (o->act == HD_ACT_NONE) {
        b->kernels->dropout[b->dtype](o->draw, i * n, n, o->p, g, dz);
    } else if (o->act == HD_ACT_RELU) {
        /* y > 0 says both that z + b > 0 and that dropout kept it */
        b->kernels->unary_grad[HD_RELU][b->dtype](n, g, 1, hd_row(&b->act, i), 1, dz, 1);
        if (o->p > 0 && o->p < 1) b->kernels->affine[b->dtype](n, 1 / (1 - o->p), 0, dz, 1, dz, 1);
    } else {
        b->kernels->bias_act_grad[o->act][b->dtype](o->draw, i * n, n, o->p, g, hd_row(&b->act, i), b->bias,
                                                    dz);
    }
}

static void back_rows(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const back_pass *b = arg;
    if (!b->in_place)
        for (int64_t i = first; i < last; i++) dz_row(b, i);
    if (!b->partial) return;
    void *sums = b->partial + (size_t)(first / b->grain * b->g.width) * b->g.size;
    b->kernels->column_sums[b->dtype](last - first, b->g.width, hd_row(&b->dz, first), b->dz.stride, sums);
}

/* Few enough partial sums that adding them up costs nothing, tasks small enough to stay in cache. */
static int64_t back_grain(const hd_rows *g) {
    int64_t cache = 2 * hd_rows_grain(g->width), few = (g->count + 63) / 64;
    return cache > few ? cache : few;
}

static hd_status run_back_pass(hd_ctx *cx, back_pass *b, hd_tensor *db) {
    if (b->in_place && !db) return HD_OK;
    b->grain = back_grain(&b->g);
    int64_t tasks = (b->g.count + b->grain - 1) / b->grain;
    if (db) {
        b->partial = hd_alloc_zeroed(cx, (size_t)(tasks * b->g.width) * b->g.size);
        if (!b->partial) return cx->error.status;
    }
    hd_status status = hd_parallel_ranges(cx, b->g.count, b->grain, back_rows, b);
    if (db)
        for (int64_t t = 0; t < tasks; t++)
            b->kernels->accumulate[b->dtype](b->g.width, b->partial + (size_t)(t * b->g.width) * b->g.size,
                                             hd_data(db));
    hd_free(cx->account, b->partial);
    return status;
}

/* dz (a new reference) and, when db is not NULL, the gradient of the bias. */
static hd_tensor *gradient_of_z(hd_ctx *cx, hd_node *node, hd_tensor *g, hd_rows *dz, hd_tensor *db) {
    back_pass b = {.kernels = cx->kernels, .dtype = (hd_dtype)g->dtype};
    hd_tensor *bias = NULL, *act = NULL, *out = NULL;
    memcpy(&b.params, node->params, sizeof b.params);
    if (b.params.act != HD_ACT_NONE && !(act = hd_node_saved(cx, node, SAVED_ACT))) return NULL;
    if (node->saved[SAVED_B].tensor && !(bias = hd_node_saved(cx, node, SAVED_B))) return NULL;
    hd_tensor *rows = hd_as_rows(cx, g, &b.g);
    if (!rows) return NULL;
    if (act) b.act = hd_rows_of(act);
    if (bias) b.bias = hd_data(bias);
    b.in_place = b.params.act == HD_ACT_NONE && b.params.p == 0;
    out = b.in_place ? hd_retain(rows) : hd_tensor_like(cx, g);
    if (out) {
        b.dz = b.in_place ? b.g : hd_rows_of(out);
        *dz = b.dz;
        if (run_back_pass(cx, &b, db)) {
            hd_release(out);
            out = NULL;
        }
    }
    hd_release(rows);
    return out;
}

static hd_tensor *gradient_of_x(hd_ctx *cx, hd_node *node, const hd_tensor *g, const hd_rows *dz) {
    hd_tensor *w = hd_node_saved(cx, node, SAVED_W);
    if (!w) return NULL;
    int64_t shape[HD_MAX_DIMS];
    for (int d = 0; d < g->ndim; d++) shape[d] = g->shape[d];
    shape[g->ndim - 1] = w->shape[1];
    hd_tensor *dx = hd_tensor_new(cx, (hd_dtype)g->dtype, g->ndim, shape);
    if (!dx) return NULL;
    if (hd_quantized_of(w)) {
        if (!hd_quantized_product_grad(cx, w, dz, hd_data(dx))) return dx;
        hd_release(dx);
        return NULL;
    }
    hd_gemm m = {.dtype = (hd_dtype)g->dtype,
                 .m = dz->count,
                 .n = w->shape[1],
                 .k = w->shape[0],
                 .batch = 1,
                 .alpha = 1};
    m.a = (hd_matrix){dz->data, dz->stride, 1, 0};
    m.b = (hd_matrix){hd_data(w), w->stride[0], w->stride[1], 0};
    m.c = (hd_matrix){hd_data(dx), m.n, 1, 0};
    if (!hd_gemm_run(cx, &m)) return dx;
    hd_release(dx);
    return NULL;
}

static hd_tensor *gradient_of_w(hd_ctx *cx, hd_node *node, const hd_tensor *g, const hd_rows *dz) {
    hd_tensor *x = hd_node_saved(cx, node, SAVED_X);
    if (!x) return NULL;
    hd_rows in;
    hd_tensor *rows = hd_as_rows(cx, x, &in); /* folded once already: never a copy */
    if (!rows) return NULL;
    int64_t shape[2] = {dz->width, in.width};
    hd_tensor *dw = hd_tensor_new(cx, (hd_dtype)g->dtype, 2, shape);
    hd_status status = dw ? HD_OK : cx->error.status;
    if (dw) {
        hd_gemm m = {.dtype = (hd_dtype)g->dtype,
                     .m = dz->width,
                     .n = in.width,
                     .k = dz->count,
                     .batch = 1,
                     .alpha = 1};
        m.a = (hd_matrix){dz->data, 1, dz->stride, 0};
        m.b = (hd_matrix){in.data, in.stride, 1, 0};
        m.c = (hd_matrix){hd_data(dw), m.n, 1, 0};
        status = hd_gemm_run(cx, &m);
    }
    hd_release(rows);
    if (!status) return dw;
    hd_release(dw);
    return NULL;
}

static hd_status linear_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                 hd_tensor **grad_inputs) {
    hd_tensor *g = grads[0];
    if (!g) return HD_OK;
    hd_rows dz;
    if (hd_node_needs(node, IN_B)) {
        grad_inputs[IN_B] = hd_tensor_zeros(cx, (hd_dtype)g->dtype, 1, &g->shape[g->ndim - 1]);
        if (!grad_inputs[IN_B]) return cx->error.status;
    }
    if (hd_node_needs(node, IN_RESIDUAL)) grad_inputs[IN_RESIDUAL] = hd_retain(g);
    hd_tensor *z = gradient_of_z(cx, node, g, &dz, grad_inputs[IN_B]);
    if (!z) return cx->error.status;
    bool ok = true;
    if (hd_node_needs(node, IN_X)) ok = (grad_inputs[IN_X] = gradient_of_x(cx, node, g, &dz)) != NULL;
    if (ok && hd_node_needs(node, IN_W)) ok = (grad_inputs[IN_W] = gradient_of_w(cx, node, g, &dz)) != NULL;
    hd_release(z);
    return ok ? HD_OK : cx->error.status;
}

static const hd_node_class linear_class = {"linear", linear_backward, NULL};
