/* recurrent.c: one layer of a GRU (Cho et al. 2014) or an LSTM (Hochreiter and Schmidhuber 1997) in one
 * direction, in PyTorch's form: the gates' formulas stand in kernels/isa/recurrent_body.h. One node for all
 * steps.
 *
 *   gates = x W_ih^T                            one product for the tokens of many steps
 *   at each step, of the sequences that run:    (time_major.h)
 *     u = h W_hh^T                              one product
 *     gates, h (and c) after                    one pass over gates and u
 *
 * Saved: the gates after their functions, and the states before each step. Without a graph, two steps of
 * states are held, and the gates of as many steps as a product is made for. A sequence of length 0 keeps its
 * state.
 */
#include "ops/nn/recurrent.h"

#include <string.h>

#include "base/minmax.h"
#include "base/parallel.h"
#include "ops/nn/rows.h"

/* ---- checks -------------------------------------------------------------------------------------- */

static hd_status check_weight(hd_ctx *cx, const char *name, const hd_tensor *w, const hd_tensor *x,
                              int64_t rows, int64_t columns) {
    char got[HD_SHAPE_TEXT];
    if (hd_require_dtype(cx, name, w, (hd_dtype)x->dtype)) return cx->error.status;
    if (w->ndim == 2 && w->shape[0] == rows && w->shape[1] == columns) return HD_OK;
    return hd_fail(cx, HD_EARG, "%s: expected [%lld, %lld], got %s", name, (long long)rows,
                   (long long)columns, hd_tensor_shape_text(w, got));
}

static hd_status check_vector(hd_ctx *cx, const char *name, const hd_tensor *t, const hd_tensor *x, int ndim,
                              const int64_t *shape) {
    if (!t) return HD_OK;
    hd_status status = hd_require_dtype(cx, name, t, (hd_dtype)x->dtype);
    return status ? status : hd_require_shape(cx, name, t, ndim, shape);
}

static hd_status check(hd_ctx *cx, const hd_recurrent_params *p, const hd_tensor *x, const hd_tensor *h,
                       const hd_tensor *c) {
    char got[HD_SHAPE_TEXT];
    const hd_tensor *w = p->weight_hh;
    if (hd_require_dtype_of(cx, "x", x, "weight_ih", p->weight_ih)) return cx->error.status;
    if (w->ndim != 2)
        return hd_fail(cx, HD_EARG, "weight_hh: expected [%lld H, H], got %s",
                       (long long)hd_gate_count(p->kind), hd_tensor_shape_text(w, got));
    const int64_t H = w->shape[1], gates = hd_gate_count(p->kind) * H;
    if (check_weight(cx, "weight_hh", w, x, gates, H)) return cx->error.status;
    const int64_t E = p->weight_ih->ndim == 2 ? p->weight_ih->shape[1] : 0;
    if (check_weight(cx, "weight_ih", p->weight_ih, x, gates, E)) return cx->error.status;
    if (x->ndim != 3)
        return hd_fail(cx, HD_EARG, "x: expected [B, L, %lld], got %s", (long long)E,
                       hd_tensor_shape_text(x, got));
    if (x->shape[2] != E)
        return hd_fail(cx, HD_EARG, "x: expected %lld features, got %s", (long long)E,
                       hd_tensor_shape_text(x, got));
    if (!p->bias_ih != !p->bias_hh)
        return hd_fail(cx, HD_EARG, "%s: expected both biases or none", p->bias_ih ? "bias_hh" : "bias_ih");
    const int64_t state[2] = {x->shape[0], H};
    if (check_vector(cx, "bias_ih", p->bias_ih, x, 1, &gates) ||
        check_vector(cx, "bias_hh", p->bias_hh, x, 1, &gates) || check_vector(cx, "h", h, x, 2, state))
        return cx->error.status;
    return check_vector(cx, "c", c, x, 2, state);
}

/* ---- the run -------------------------------------------------------------------------------------- */

/* All tensors of a run; what is not made is NULL. */
typedef struct run {
    hd_ctx *cx;
    const hd_recurrent_params *p;
    hd_time_major plan;
    int64_t H;
    size_t size;                                      /* bytes of an element */
    bool recorded;                                    /* every step is kept, else two in turn */
    hd_tensor *order;                                 /* what the plan points to */
    hd_tensor *x, *w_ih, *w_hh, *b_ih, *b_hh, *h, *c; /* contiguous */
    hd_tensor *gates, *before_h, *before_c, *inner, *recurrent;
    hd_tensor *y, *last_h, *last_c;
    int64_t width; /* of `recurrent` */
    int64_t step;
    int64_t before_gates; /* rows before those in `gates` */
} run;

/* Rows of a product by W_ih: many enough for its speed, few enough for their gates to stay in cache. */
#define PRODUCT_ROWS 512

/* Where row j of the states before a step stands. */
static int64_t state_row(const run *r, int64_t step, int64_t j) {
    return (r->recorded ? r->plan.starts[step] : step % 2 * r->plan.B) + j;
}

/* Where row j's state after the step goes: before the next, or to the results. */
static char *next_state(const run *r, const hd_tensor *before, const hd_tensor *last, int64_t j) {
    if (r->step + 1 < r->plan.lengths[j])
        return hd_row_of(before, state_row(r, r->step + 1, j), r->H, r->size);
    return hd_row_of(last, r->plan.order[j], r->H, r->size);
}

static void step_row(const run *r, int64_t j) {
    const hd_kernels *k = r->cx->kernels;
    const int dtype = r->y->dtype;
    const int64_t H = r->H, row = r->plan.starts[r->step] + j;
    char *gates = hd_row_of(r->gates, row - r->before_gates, hd_gate_count(r->p->kind) * H, r->size);
    const char *recurrent = hd_row_of(r->recurrent, j, r->width, r->size);
    const void *b_ih = r->b_ih ? hd_data(r->b_ih) : NULL, *b_hh = r->b_hh ? hd_data(r->b_hh) : NULL;
    char *inner = r->inner ? hd_row_of(r->inner, row, H, r->size) : NULL;
    char *h = next_state(r, r->before_h, r->last_h, j);
    const int64_t before = state_row(r, r->step, j);
    if (r->p->kind == HD_GRU)
        k->gru_row[dtype](H, gates, recurrent, b_ih, b_hh, hd_row_of(r->before_h, before, H, r->size), inner,
                          h);
    else
        k->lstm_row[dtype](H, gates, recurrent, b_ih, b_hh, hd_row_of(r->before_c, before, H, r->size),
                           next_state(r, r->before_c, r->last_c, j), inner, h);
    memcpy(hd_row_of(r->y, hd_token_of(&r->plan, r->step, j), H, r->size), h, (size_t)H * r->size);
}

static void step_rows(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    for (int64_t j = first; j < last; j++) step_row(arg, j);
}

/* gates = x W_ih^T, for the rows from `first` on. x: rows as the plan has them. */
static hd_status input_product(run *r, const hd_tensor *x, int64_t first, int64_t rows) {
    const int64_t E = r->w_ih->shape[1], width = r->w_ih->shape[0];
    hd_gemm g = {.dtype = (hd_dtype)x->dtype, .m = rows, .n = width, .k = E, .batch = 1, .alpha = 1};
    r->before_gates = r->recorded ? 0 : first;
    g.a = (hd_matrix){hd_row_of(x, first, E, r->size), E, 1, 0};
    g.b = (hd_matrix){hd_data(r->w_ih), 1, E, 0};
    g.c = (hd_matrix){hd_row_of(r->gates, first - r->before_gates, width, r->size), width, 1, 0};
    return hd_gemm_run(r->cx, &g);
}

static hd_status one_step(run *r, const hd_state_product *product) {
    const int64_t running = hd_running(&r->plan, r->step);
    const int64_t grain = HD_GRAIN_HEAVY / (hd_gate_count(r->p->kind) * r->H + 1) + 1;
    char *before = hd_row_of(r->before_h, state_row(r, r->step, 0), r->H, r->size);
    const hd_status status = hd_state_product_run(r->cx, product, running, before, hd_data(r->recurrent));
    return status ? status : hd_parallel_ranges(r->cx, running, grain, step_rows, r);
}

/* The step behind those whose input is multiplied together with that of `step`. */
static int64_t end_of_product(const hd_time_major *p, int64_t step) {
    int64_t end = step + 1;
    while (end < p->steps && p->starts[end + 1] - p->starts[step] <= PRODUCT_ROWS) end++;
    return end;
}

static hd_status all_steps(run *r, const hd_state_product *product, const hd_tensor *x) {
    hd_status status = HD_OK;
    while (r->step < r->plan.steps && !status) {
        const int64_t end = end_of_product(&r->plan, r->step), first = r->plan.starts[r->step];
        status = input_product(r, x, first, r->plan.starts[end] - first);
        for (; r->step < end && !status; r->step++) status = one_step(r, product);
    }
    return status;
}

static hd_status each_step(run *r) {
    hd_state_product product;
    hd_tensor *x = hd_to_time_major(r->cx, &r->plan, r->x);
    hd_status status = hd_state_product_begin(r->cx, &product, r->w_hh, true, &r->plan, 0);
    const int64_t shape[2] = {r->plan.B, product.width};
    r->width = product.width;
    if (x && !status) r->recurrent = hd_tensor_new(r->cx, (hd_dtype)r->y->dtype, 2, shape);
    status = r->recurrent ? all_steps(r, &product, x) : r->cx->error.status;
    hd_state_product_end(&product);
    hd_release(x);
    return status;
}

/* The results for sequences without a step, and the states before the first. */
static hd_status begin_states(run *r, const hd_tensor *state, hd_tensor *before, hd_tensor *last) {
    const int64_t H = r->H, B = r->plan.B;
    if (!state)
        memset(hd_data(last), 0, (size_t)(B * H) * r->size);
    else
        memcpy(hd_data(last), hd_data(state), (size_t)(B * H) * r->size);
    if (r->plan.steps == 0) return HD_OK;
    hd_time_major running = r->plan;
    running.B = hd_running(&r->plan, 0);
    return hd_states_to_rows(r->cx, &running, state, H, before, H);
}

static hd_status compute(run *r) {
    if (r->cx->skipping) return HD_OK;
    if (begin_states(r, r->h, r->before_h, r->last_h) ||
        (r->before_c && begin_states(r, r->c, r->before_c, r->last_c)) ||
        hd_clear_padding(r->cx, &r->plan, r->y))
        return r->cx->error.status;
    return r->plan.steps == 0 ? HD_OK : each_step(r);
}

/* ---- what a run needs ------------------------------------------------------------------------------ */

static hd_tensor *matrix(const run *r, int64_t rows, int64_t width) {
    const int64_t shape[2] = {rows, width};
    return hd_tensor_new(r->cx, (hd_dtype)r->y->dtype, 2, shape);
}

static bool read_in(hd_ctx *cx, hd_tensor *from, hd_tensor **to) {
    return !from || (*to = hd_contiguous_detached(cx, from)) != NULL;
}

static bool read_inputs(run *r, hd_tensor *const inputs[INPUTS]) {
    return read_in(r->cx, inputs[IN_X], &r->x) && read_in(r->cx, inputs[IN_H], &r->h) &&
           read_in(r->cx, inputs[IN_C], &r->c) && read_in(r->cx, inputs[IN_W_IH], &r->w_ih) &&
           read_in(r->cx, inputs[IN_W_HH], &r->w_hh) && read_in(r->cx, inputs[IN_B_IH], &r->b_ih) &&
           read_in(r->cx, inputs[IN_B_HH], &r->b_hh);
}

static bool make_tensors(run *r, hd_tensor *lengths) {
    const bool lstm = r->p->kind == HD_LSTM;
    const int64_t B = r->x->shape[0], L = r->x->shape[1], shape[3] = {B, L, r->H};
    r->order = hd_time_major_new(r->cx, lengths, B, L, r->p->reverse, &r->plan);
    if (!r->order || !(r->y = hd_tensor_new(r->cx, (hd_dtype)r->x->dtype, 3, shape))) return false;
    const int64_t rows = r->plan.rows, states = r->recorded ? rows : 2 * B;
    const int64_t gates = r->recorded ? rows : hd_min(rows, hd_max(B, PRODUCT_ROWS));
    if (!(r->last_h = matrix(r, B, r->H)) || (lstm && !(r->last_c = matrix(r, B, r->H)))) return false;
    if (!(r->gates = matrix(r, gates, hd_gate_count(r->p->kind) * r->H))) return false;
    if (!(r->before_h = matrix(r, states, r->H))) return false;
    if (lstm && !(r->before_c = matrix(r, states, r->H))) return false;
    return !r->recorded || (r->inner = matrix(r, rows, r->H)) != NULL;
}

static void release_run(run *r) {
    hd_tensor *all[] = {r->order,     r->x, r->w_ih,   r->w_hh,     r->b_ih,     r->b_hh,
                        r->h,         r->c, r->gates,  r->before_h, r->before_c, r->inner,
                        r->recurrent, r->y, r->last_h, r->last_c};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hd_release(all[i]);
}

/* ---- recording ------------------------------------------------------------------------------------- */

static const hd_node_class gru_class = {"gru", hd_recurrent_backward, NULL};
static const hd_node_class lstm_class = {"lstm", hd_recurrent_backward, NULL};

static hd_status record(run *r, hd_tensor *const inputs[INPUTS]) {
    hd_ctx *cx = r->cx;
    const bool lstm = r->p->kind == HD_LSTM;
    hd_tensor *const saved[SAVED] = {[SAVED_PLAN] = r->order,
                                     [SAVED_X] = inputs[IN_W_IH]->requires_grad ? r->x : NULL,
                                     [SAVED_W_IH] = inputs[IN_X]->requires_grad ? r->w_ih : NULL,
                                     [SAVED_W_HH] = r->w_hh,
                                     [SAVED_GATES] = r->gates,
                                     [SAVED_BEFORE_H] = r->before_h,
                                     [SAVED_BEFORE_C] = r->before_c,
                                     [SAVED_INNER] = r->inner};
    const recurrent_node params = {r->p->kind, r->p->reverse, r->plan.B, r->plan.L};
    hd_node *node = hd_node_new(cx, lstm ? &lstm_class : &gru_class, INPUTS, inputs, lstm ? OUTPUTS : OUT_C);
    if (!node) return cx->error.status;
    hd_status status = HD_OK;
    for (int i = 0; i < SAVED && !status; i++) status = hd_node_save(cx, node, i, saved[i]);
    if (!status) {
        memcpy(node->params, &params, sizeof params);
        hd_node_output(node, OUT_Y, r->y);
        hd_node_output(node, OUT_H, r->last_h);
        if (lstm) hd_node_output(node, OUT_C, r->last_c);
    }
    hd_node_release_ref(node);
    return status;
}

hd_status hd_recurrent(hd_ctx *cx, const hd_recurrent_params *p, hd_tensor *x, hd_tensor *lengths,
                       hd_tensor *h, hd_tensor *c, hd_tensor *out[3]) {
    if (check(cx, p, x, h, c)) return cx->error.status;
    hd_tensor *const inputs[INPUTS] = {x, h, c, p->weight_ih, p->weight_hh, p->bias_ih, p->bias_hh};
    run r = {.cx = cx,
             .p = p,
             .H = p->weight_hh->shape[1],
             .size = hd_dtype_size((hd_dtype)x->dtype),
             .recorded = hd_wants_grad(cx, INPUTS, inputs)};
    hd_status status = HD_OK;
    if (!read_inputs(&r, inputs) || !make_tensors(&r, lengths)) status = cx->error.status;
    if (!status) status = compute(&r);
    if (!status && r.recorded) status = record(&r, inputs);
    if (!status) {
        out[OUT_Y] = r.y, out[OUT_H] = r.last_h, out[OUT_C] = r.last_c;
        r.y = r.last_h = r.last_c = NULL;
    }
    release_run(&r);
    return status;
}
