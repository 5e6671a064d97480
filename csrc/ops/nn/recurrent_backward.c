/* recurrent_backward.c: back through time, with d standing for gradients and the steps in reverse order:
 *
 *   dx, du = those of the gates by x and by u   one pass over the rows of a step
 *   dh = dh z (GRU) + du W_hh                   one product: what goes to the step before
 *
 * and then, over all steps at once:
 *   dx W_ih            of the input             dx^T x, du^T h      of the weights
 *   sums of dx, du     of the biases
 *
 * Of an LSTM dx and du are the same.
 */
#include "ops/nn/recurrent.h"

#include <string.h>

#include "base/parallel.h"
#include "ops/elementwise/cast.h"

typedef struct back {
    hd_ctx *cx;
    hd_node *node;
    recurrent_node params;
    hd_time_major plan;
    int64_t H;
    size_t size;
    hd_tensor *w_hh, *gates, *before_h, *before_c, *inner; /* saved, borrowed */
    hd_tensor *g;                                          /* of y, contiguous; or NULL */
    hd_tensor *dh, *dc; /* [B, width] and [B, H]: rows as the plan has them */
    hd_tensor *dx, *du; /* [rows, G H]; of an LSTM the same */
    int64_t width;
    int64_t step;
} back;

static void back_row(const back *b, int64_t j) {
    const hd_kernels *k = b->cx->kernels;
    const int dtype = b->gates->dtype;
    const int64_t H = b->H, row = b->plan.starts[b->step] + j, width = hd_gate_count(b->params.kind) * H;
    const char *gates = hd_row_of(b->gates, row, width, b->size),
               *inner = hd_row_of(b->inner, row, H, b->size);
    const char *g = b->g ? hd_row_of(b->g, hd_token_of(&b->plan, b->step, j), H, b->size) : NULL;
    char *dh = hd_row_of(b->dh, j, b->width, b->size), *dx = hd_row_of(b->dx, row, width, b->size);
    if (b->params.kind == HD_GRU)
        k->gru_row_grad[dtype](H, gates, inner, hd_row_of(b->before_h, row, H, b->size), g, dh, dx,
                               hd_row_of(b->du, row, width, b->size));
    else
        k->lstm_row_grad[dtype](H, gates, inner, hd_row_of(b->before_c, row, H, b->size), g, dh,
                                hd_row_of(b->dc, j, H, b->size), dx);
}

static void back_rows(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    for (int64_t j = first; j < last; j++) back_row(arg, j);
}

static hd_status each_step(back *b, const hd_state_product *product) {
    const int64_t width = hd_gate_count(b->params.kind) * b->H, grain = HD_GRAIN_HEAVY / (width + 1) + 1;
    const bool wants_state = hd_node_needs(b->node, IN_H);
    hd_status status = HD_OK;
    for (b->step = b->plan.steps - 1; b->step >= 0 && !status; b->step--) {
        const int64_t running = hd_running(&b->plan, b->step);
        status = hd_parallel_ranges(b->cx, running, grain, back_rows, b);
        if (!status && (b->step > 0 || wants_state))
            status = hd_state_product_run(b->cx, product, running,
                                          hd_row_of(b->du, b->plan.starts[b->step], width, b->size),
                                          hd_data(b->dh));
    }
    return status;
}

static hd_tensor *matrix(const back *b, int64_t rows, int64_t width) {
    const int64_t shape[2] = {rows, width};
    return hd_tensor_new(b->cx, (hd_dtype)b->gates->dtype, 2, shape);
}

/* What has arrived for a state after the last steps, as rows. */
static hd_tensor *state_rows(const back *b, hd_tensor *g, int64_t width) {
    hd_tensor *rows = matrix(b, b->plan.B, width);
    hd_tensor *state = g ? hd_contiguous_as(b->cx, g, (hd_dtype)g->dtype) : NULL;
    if (!rows || (g && !state)) {
        hd_release(rows);
        rows = NULL;
    } else {
        if (width > b->H && !b->cx->skipping) memset(hd_data(rows), 0, (size_t)(b->plan.B * width) * b->size);
        if (hd_states_to_rows(b->cx, &b->plan, state, b->H, rows, width)) {
            hd_release(rows);
            rows = NULL;
        }
    }
    hd_release(state);
    return rows;
}

/* dx, du, and what arrives at the first states: all that the rest is made of. */
static hd_status back_through_time(back *b, hd_tensor *const *grads) {
    const bool gru = b->params.kind == HD_GRU;
    const int64_t rows = b->plan.rows, width = hd_gate_count(b->params.kind) * b->H;
    hd_state_product product;
    hd_status status = hd_state_product_begin(b->cx, &product, b->w_hh, false, &b->plan, gru ? 1 : 0);
    b->width = product.width;
    const bool made =
        !status &&
        (!grads[OUT_Y] || (b->g = hd_contiguous_as(b->cx, grads[OUT_Y], (hd_dtype)b->gates->dtype))) &&
        (b->dh = state_rows(b, grads[OUT_H], b->width)) &&
        (gru || (b->dc = state_rows(b, grads[OUT_C], b->H))) && (b->dx = matrix(b, rows, width)) &&
        (b->du = gru ? matrix(b, rows, width) : hd_retain(b->dx));
    status = made ? each_step(b, &product) : b->cx->error.status;
    hd_state_product_end(&product);
    return status;
}

/* ---- what follows from dx and du ------------------------------------------------------------------- */

/* d^T x: d [rows, G H], x [rows, W]. Consumes x. */
static hd_tensor *weight_gradient(const back *b, const hd_tensor *d, hd_tensor *x) {
    if (!x) return NULL;
    const int64_t width = d->shape[1], columns = x->shape[1];
    hd_tensor *dw = matrix(b, width, columns);
    hd_gemm g = {
        .dtype = (hd_dtype)d->dtype, .m = width, .n = columns, .k = b->plan.rows, .batch = 1, .alpha = 1};
    g.a = (hd_matrix){hd_data(d), 1, width, 0};
    g.b = (hd_matrix){hd_data(x), columns, 1, 0};
    if (dw) g.c = (hd_matrix){hd_data(dw), columns, 1, 0};
    if (dw && hd_gemm_run(b->cx, &g)) {
        hd_release(dw);
        dw = NULL;
    }
    hd_release(x);
    return dw;
}

/* dx W_ih, back in its place. */
static hd_tensor *input_gradient(const back *b) {
    hd_tensor *w = hd_node_saved(b->cx, b->node, SAVED_W_IH);
    if (!w) return NULL;
    const int64_t width = w->shape[0], E = w->shape[1];
    hd_tensor *packed = matrix(b, b->plan.rows, E);
    if (!packed) return NULL;
    hd_gemm g = {.dtype = (hd_dtype)w->dtype, .m = b->plan.rows, .n = E, .k = width, .batch = 1, .alpha = 1};
    g.a = (hd_matrix){hd_data(b->dx), width, 1, 0};
    g.b = (hd_matrix){hd_data(w), E, 1, 0};
    g.c = (hd_matrix){hd_data(packed), E, 1, 0};
    if (!hd_gemm_run(b->cx, &g)) return hd_from_time_major(b->cx, &b->plan, packed);
    hd_release(packed);
    return NULL;
}

static hd_tensor *state_gradient(const back *b, const hd_tensor *rows, int64_t stride) {
    hd_tensor *state = matrix(b, b->plan.B, b->H);
    if (!state || !hd_rows_to_states(b->cx, &b->plan, rows, stride, state)) return state;
    hd_release(state);
    return NULL;
}

static hd_tensor *x_rows(const back *b) {
    hd_tensor *x = hd_node_saved(b->cx, b->node, SAVED_X);
    return x ? hd_to_time_major(b->cx, &b->plan, x) : NULL;
}

/* Of an LSTM both biases have the same gradient. */
static hd_tensor *second_bias_gradient(const back *b, hd_tensor *first) {
    if (first && b->du == b->dx) return hd_retain(first);
    return hd_reduce(b->cx, HD_SUM, b->du, 1, false);
}

/* `made`: those of the inputs before this one. */
static hd_tensor *gradient_of(const back *b, int input, hd_tensor *const *made) {
    switch (input) {
    case IN_X: return input_gradient(b);
    case IN_H: return state_gradient(b, b->dh, b->width);
    case IN_C: return state_gradient(b, b->dc, b->H);
    case IN_W_IH: return weight_gradient(b, b->dx, x_rows(b));
    case IN_W_HH: return weight_gradient(b, b->du, hd_retain(b->before_h));
    case IN_B_IH: return hd_reduce(b->cx, HD_SUM, b->dx, 1, false);
    default: return second_bias_gradient(b, made[IN_B_IH]);
    }
}

/* The saved tensors that every gradient needs. */
static hd_status read_saved(back *b) {
    hd_ctx *cx = b->cx;
    hd_tensor *plan = hd_node_saved(cx, b->node, SAVED_PLAN);
    if (!plan || !(b->w_hh = hd_node_saved(cx, b->node, SAVED_W_HH)) ||
        !(b->gates = hd_node_saved(cx, b->node, SAVED_GATES)) ||
        !(b->before_h = hd_node_saved(cx, b->node, SAVED_BEFORE_H)) ||
        !(b->inner = hd_node_saved(cx, b->node, SAVED_INNER)))
        return cx->error.status;
    if (b->params.kind == HD_LSTM && !(b->before_c = hd_node_saved(cx, b->node, SAVED_BEFORE_C)))
        return cx->error.status;
    b->plan = hd_time_major_of(plan, b->params.B, b->params.L, b->params.reverse);
    b->H = b->w_hh->shape[1];
    b->size = hd_dtype_size((hd_dtype)b->gates->dtype);
    return HD_OK;
}

hd_status hd_recurrent_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    bool any = false;
    for (int o = 0; o < node->num_outputs; o++) any |= grads[o] != NULL;
    if (!any) return HD_OK;
    back b = {.cx = cx, .node = node};
    memcpy(&b.params, node->params, sizeof b.params);
    if (read_saved(&b)) return cx->error.status;
    hd_status status = back_through_time(&b, grads);
    for (int i = 0; i < INPUTS && !status; i++)
        if (hd_node_needs(node, i) && !(grad_inputs[i] = gradient_of(&b, i, grad_inputs)))
            status = cx->error.status;
    hd_tensor *made[] = {b.g, b.dh, b.dc, b.dx, b.du};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) hd_release(made[i]);
    return status;
}
