/* dropout.c: y = x keep / (1 - p) (Srivastava et al. 2014), alone or added to a residual.
 *
 * Element i of the result is dropped by element i of the draw: backward draws again instead of saving a mask,
 * dx = g keep / (1 - p). p = 1 gives zeros.
 */
#include "ops/nn/rows.h"

#include "base/parallel.h"

#include <string.h>

enum { IN_X, IN_RESIDUAL, INPUTS };

typedef struct dropout_params {
    hd_draw draw;
    double p;
} dropout_params;

typedef struct dropout_pass {
    const hd_kernels *kernels;
    hd_dtype dtype;
    dropout_params params;
    const char *x, *residual; /* residual NULL: none */
    char *y;
    size_t size;
} dropout_pass;

#define GRAIN 16384

static void drop_range(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const dropout_pass *p = arg;
    size_t at = (size_t)first * p->size;
    p->kernels->dropout_add[p->dtype](p->params.draw, first, last - first, p->params.p, p->x + at, NULL,
                                      p->residual ? p->residual + at : NULL, p->y + at);
}

static hd_tensor *run(hd_ctx *cx, hd_tensor *x, hd_tensor *residual, const dropout_params *params) {
    hd_tensor *from = hd_contiguous_detached(cx, x),
              *onto = residual ? hd_contiguous_detached(cx, residual) : NULL;
    hd_tensor *y = from && (onto || !residual) ? hd_tensor_like(cx, x) : NULL;
    if (y) {
        dropout_pass p = {cx->kernels,
                          (hd_dtype)x->dtype,
                          *params,
                          hd_data(from),
                          onto ? hd_data(onto) : NULL,
                          hd_data(y),
                          hd_dtype_size((hd_dtype)x->dtype)};
        if (hd_parallel_ranges(cx, hd_numel(y), GRAIN, drop_range, &p)) {
            hd_release(y);
            y = NULL;
        }
    }
    hd_release(from);
    hd_release(onto);
    return y;
}

static hd_status dropout_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                  hd_tensor **grad_inputs) {
    if (!grads[0]) return HD_OK;
    dropout_params params;
    memcpy(&params, node->params, sizeof params);
    if (node->num_inputs > IN_RESIDUAL && hd_node_needs(node, IN_RESIDUAL))
        grad_inputs[IN_RESIDUAL] = hd_retain(grads[0]);
    if (!hd_node_needs(node, IN_X)) return HD_OK;
    grad_inputs[IN_X] = run(cx, grads[0], NULL, &params);
    return grad_inputs[IN_X] ? HD_OK : cx->error.status;
}

static const hd_node_class dropout_class = {"dropout", dropout_backward, NULL};
static const hd_node_class dropout_add_class = {"dropout_add", dropout_backward, NULL};

hd_tensor *hd_dropout(hd_ctx *cx, hd_tensor *x, double p) {
    if (hd_require_float(cx, "x", x) || hd_require_probability(cx, "p", p)) return NULL;
    if (p == 0) return hd_retain(x);
    dropout_params params = {hd_rng_take(&cx->rng), p};
    return hd_record(cx, &dropout_class, run(cx, x, NULL, &params), 1, &x, 0, NULL, &params, sizeof params);
}

hd_tensor *hd_dropout_add(hd_ctx *cx, hd_tensor *residual, hd_tensor *x, double p) {
    if (hd_require_float(cx, "x", x) || hd_require_dtype(cx, "residual", residual, (hd_dtype)x->dtype) ||
        hd_require_shape(cx, "residual", residual, x->ndim, x->shape) || hd_require_probability(cx, "p", p))
        return NULL;
    if (p == 0) return hd_binary_op(cx, HD_ADD, residual, x);
    dropout_params params = {hd_rng_take(&cx->rng), p};
    hd_tensor *inputs[INPUTS] = {x, residual};
    return hd_record(cx, &dropout_add_class, run(cx, x, residual, &params), INPUTS, inputs, 0, NULL, &params,
                     sizeof params);
}
