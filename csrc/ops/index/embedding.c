/* embedding.c: y[..., :] = scale * weight[token, :], tokens from 1.
 *
 * Backward adds scale * g into the rows that were looked up. Tasks are ranges of the vocabulary: each looks
 * through all tokens in their order, so a row's sum is the same on any number of threads. Look-ups of
 * padding_idx add nothing.
 */
#include "ops/nn/rows.h"

#include "base/parallel.h"
#include "ops/gradient.h"
#include "ops/product/quantized.h"

#include <string.h>

typedef struct embedding_params {
    double scale;
    int64_t padding_idx; /* 0: none */
} embedding_params;

typedef struct embedding_pass {
    const hd_kernels *kernels;
    hd_dtype dtype;
    embedding_params params;
    hd_rows weight, out; /* backward: gradients of both */
    const int64_t *tokens;
    const hd_tensor *quantized; /* the weight, when it is; NULL: weight has the rows */
} embedding_pass;

static void look_up(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const embedding_pass *p = arg;
    int64_t width = p->out.width;
    for (int64_t i = first; i < last; i++) {
        const int64_t row = p->tokens[i] - 1;
        void *to = hd_row(&p->out, i);
        const void *from = p->quantized ? to : hd_row(&p->weight, row);
        if (p->quantized) hd_quantized_look_up(p->quantized, row, to);
        if (p->params.scale == 1 && from != to)
            memcpy(to, from, (size_t)width * p->out.size);
        else if (p->params.scale != 1)
            p->kernels->affine[p->dtype](width, p->params.scale, -0.0, from, 1, to, 1); /* + -0 keeps -0 */
    }
}

static void gather_gradients(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const embedding_pass *p = arg;
    int64_t width = p->weight.width;
    memset(hd_row(&p->weight, first), 0, (size_t)((last - first) * width) * p->weight.size);
    for (int64_t i = 0; i < p->out.count; i++) {
        int64_t row = p->tokens[i] - 1;
        if (row < first || row >= last || p->tokens[i] == p->params.padding_idx) continue;
        p->kernels->axpy[p->dtype](width, p->params.scale, hd_row(&p->out, i), 1, hd_row(&p->weight, row), 1);
    }
}

static hd_status embedding_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                    hd_tensor **grad_inputs) {
    hd_tensor *g = grads[0];
    if (!g) return HD_OK;
    embedding_pass p = {.kernels = cx->kernels, .dtype = (hd_dtype)g->dtype};
    memcpy(&p.params, node->params, sizeof p.params);
    hd_tensor *tokens = hd_node_saved(cx, node, 0);
    if (!tokens) return cx->error.status;
    hd_tensor *rows = hd_as_rows(cx, g, &p.out);
    if (!rows) return cx->error.status;
    hd_tensor *dw = hd_tensor_new(cx, (hd_dtype)g->dtype, 2, hd_node_input(node, 0).shape);
    hd_status status = dw ? HD_OK : cx->error.status;
    if (dw) {
        p.weight = hd_rows_of(dw);
        p.tokens = hd_data(tokens);
        int64_t ranges = 16;
        status = hd_parallel_ranges(cx, p.weight.count, (p.weight.count + ranges - 1) / ranges,
                                    gather_gradients, &p);
    }
    hd_release(rows);
    if (status)
        hd_release(dw);
    else
        grad_inputs[0] = dw;
    return status;
}

static const hd_node_class embedding_class = {"embedding", embedding_backward, NULL};

static hd_status check(hd_ctx *cx, hd_tensor *weight, hd_tensor *tokens, int64_t padding_idx) {
    char got[HD_SHAPE_TEXT];
    if (hd_require_float(cx, "weight", weight)) return cx->error.status;
    if (weight->ndim != 2)
        return hd_fail(cx, HD_EARG, "weight: expected [count, dim], got %s",
                       hd_tensor_shape_text(weight, got));
    if (padding_idx < 0 || padding_idx > weight->shape[0])
        return hd_fail(cx, HD_EARG, "padding_idx: expected 1..%lld, got %lld", (long long)weight->shape[0],
                       (long long)padding_idx);
    if (tokens->ndim >= HD_MAX_DIMS)
        return hd_fail(cx, HD_EARG, "tokens: expected at most %d dimensions, got %s", HD_MAX_DIMS - 1,
                       hd_tensor_shape_text(tokens, got));
    return hd_require_classes(cx, "tokens", tokens, weight->shape[0], NULL);
}

hd_tensor *hd_embedding(hd_ctx *cx, hd_tensor *weight, hd_tensor *tokens, int64_t padding_idx, double scale) {
    if (check(cx, weight, tokens, padding_idx)) return NULL;
    if (hd_quantized_of(weight) && hd_quantized_check(cx, weight)) return NULL;
    embedding_pass p = {
        .kernels = cx->kernels, .dtype = (hd_dtype)weight->dtype, .params = {scale, padding_idx}};
    if (hd_quantized_of(weight)) p.quantized = weight;
    int64_t shape[HD_MAX_DIMS];
    for (int d = 0; d < tokens->ndim; d++) shape[d] = tokens->shape[d];
    shape[tokens->ndim] = weight->shape[1];
    hd_tensor *rows = p.quantized ? hd_retain(weight) : hd_as_rows(cx, weight, &p.weight),
              *flat = hd_contiguous_detached(cx, tokens), *result = NULL;
    hd_tensor *y = rows && flat ? hd_tensor_new(cx, p.dtype, tokens->ndim + 1, shape) : NULL;
    if (y) {
        p.out = hd_rows_of(y);
        p.tokens = hd_data(flat);
        if (!hd_parallel_ranges(cx, p.out.count, hd_rows_grain(p.out.width), look_up, &p))
            result = hd_record(cx, &embedding_class, hd_retain(y), 1, &weight, 1, &flat, &p.params,
                               sizeof p.params);
    }
    hd_release(rows);
    hd_release(flat);
    hd_release(y);
    return result;
}
