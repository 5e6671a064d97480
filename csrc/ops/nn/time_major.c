#include "ops/nn/time_major.h"

#include <string.h>

#include "base/parallel.h"
#include "ops/nn/rows.h"

/* ---- the order --------------------------------------------------------------------------------- */

/* Checks lengths; their sum and the greatest. */
static hd_status measure(hd_ctx *cx, const hd_tensor *lengths, hd_time_major *p) {
    p->steps = p->rows = 0;
    if (!lengths) {
        p->steps = p->B > 0 ? p->L : 0;
        if (!__builtin_mul_overflow(p->B, p->steps, &p->rows)) return HD_OK;
        return hd_fail(cx, HD_EARG, "x: more tokens than there can be");
    }
    if (hd_require_dtype(cx, "lengths", lengths, HD_I64) ||
        hd_require_shape(cx, "lengths", lengths, 1, &p->B))
        return cx->error.status;
    for (int64_t b = 0; b < p->B; b++) {
        const int64_t n = ((const int64_t *)hd_data(lengths))[b * lengths->stride[0]];
        if (hd_check_cancel(cx, b)) return cx->error.status;
        if (n < 0 || n > p->L)
            return hd_fail(cx, HD_EARG, "lengths: expected 0..%lld, got %lld at [%lld]", (long long)p->L,
                           (long long)n, (long long)b + 1);
        p->rows += n; /* at most B L, which x has */
        if (n > p->steps) p->steps = n;
    }
    return HD_OK;
}

/* Sorts by counting; sequences of one length stay in their order. */
static void fill(const hd_tensor *lengths, hd_time_major *p, int64_t *order, int64_t *sorted,
                 int64_t *starts) {
    memset(starts, 0, (size_t)(p->steps + 1) * sizeof *starts);
    for (int64_t b = 0; b < p->B; b++) /* starts[n]: sequences of length n */
        starts[lengths ? ((const int64_t *)hd_data(lengths))[b * lengths->stride[0]] : p->steps]++;
    for (int64_t n = p->steps, longer = 0; n >= 0; n--) { /* starts[n]: sequences longer than n */
        const int64_t count = starts[n];
        starts[n] = longer;
        longer += count;
    }
    for (int64_t b = 0; b < p->B; b++) {
        const int64_t n = lengths ? ((const int64_t *)hd_data(lengths))[b * lengths->stride[0]] : p->steps;
        order[starts[n]] = b;
        sorted[starts[n]++] = n; /* starts[n]: sequences of length n or longer, in the end */
    }
    for (int64_t s = 0, before = 0; s <= p->steps; s++) {
        const int64_t running = s < p->steps ? starts[s + 1] : 0;
        starts[s] = before;
        before += running;
    }
}

static void point_into(hd_time_major *p, const hd_tensor *tensor) {
    p->order = hd_data(tensor);
    p->lengths = p->order + p->B;
    p->starts = p->lengths + p->B;
}

hd_tensor *hd_time_major_new(hd_ctx *cx, hd_tensor *lengths, int64_t B, int64_t L, bool reverse,
                             hd_time_major *p) {
    *p = (hd_time_major){.B = B, .L = L, .reverse = reverse};
    if (measure(cx, lengths, p)) return NULL;
    const int64_t size = 2 * B + p->steps + 1;
    hd_tensor *tensor = hd_tensor_new(cx, HD_I64, 1, &size);
    if (!tensor) return NULL;
    int64_t *numbers = hd_data(tensor);
    if (!cx->skipping) fill(lengths, p, numbers, numbers + B, numbers + 2 * B);
    point_into(p, tensor);
    return tensor;
}

hd_time_major hd_time_major_of(const hd_tensor *tensor, int64_t B, int64_t L, bool reverse) {
    hd_time_major p = {.B = B, .L = L, .reverse = reverse, .steps = tensor->shape[0] - 2 * B - 1};
    point_into(&p, tensor);
    p.rows = p.starts[p.steps];
    return p;
}

/* ---- tokens ------------------------------------------------------------------------------------ */

typedef struct token_loop {
    const hd_time_major *plan;
    char *padded, *packed;
    size_t bytes; /* of a token */
    bool pack;
} token_loop;

static void copy_steps(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const token_loop *l = arg;
    for (int64_t s = first; s < last; s++)
        for (int64_t j = 0; j < hd_running(l->plan, s); j++) {
            char *token = l->padded + (size_t)hd_token_of(l->plan, s, j) * l->bytes;
            char *row = l->packed + (size_t)(l->plan->starts[s] + j) * l->bytes;
            memcpy(l->pack ? row : token, l->pack ? token : row, l->bytes);
        }
}

static void clear_rows(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const token_loop *l = arg;
    for (int64_t j = first; j < last; j++) {
        const int64_t n = l->plan->lengths[j];
        memset(l->padded + (size_t)(l->plan->order[j] * l->plan->L + n) * l->bytes, 0,
               (size_t)(l->plan->L - n) * l->bytes);
    }
}

/* Are packed rows and padded tokens in one order? */
static bool is_same_order(const hd_time_major *p) {
    return p->rows == p->B * p->L && (p->L == 1 || (p->B == 1 && !p->reverse));
}

static size_t token_bytes(const hd_tensor *t) {
    return hd_dtype_size((hd_dtype)t->dtype) * (size_t)t->shape[t->ndim - 1];
}

static hd_status copy_tokens(hd_ctx *cx, const hd_time_major *p, const hd_tensor *padded,
                             const hd_tensor *packed, bool pack) {
    token_loop l = {p, hd_data(padded), hd_data(packed), token_bytes(padded), pack};
    return hd_parallel_ranges(cx, p->steps, hd_rows_grain(p->B * padded->shape[2]), copy_steps, &l);
}

hd_tensor *hd_to_time_major(hd_ctx *cx, const hd_time_major *p, hd_tensor *x) {
    const int64_t shape[2] = {p->rows, x->shape[2]}, stride[2] = {x->shape[2], 1};
    if (is_same_order(p)) return hd_tensor_view(cx, x, 2, shape, stride, x->offset);
    hd_tensor *packed = hd_tensor_new(cx, (hd_dtype)x->dtype, 2, shape);
    if (!packed || !copy_tokens(cx, p, x, packed, true)) return packed;
    hd_release(packed);
    return NULL;
}

hd_status hd_clear_padding(hd_ctx *cx, const hd_time_major *p, hd_tensor *y) {
    if (p->rows == p->B * p->L) return HD_OK;
    token_loop l = {.plan = p, .padded = hd_data(y), .bytes = token_bytes(y)};
    return hd_parallel_ranges(cx, p->B, hd_rows_grain(p->L * y->shape[2]), clear_rows, &l);
}

hd_tensor *hd_from_time_major(hd_ctx *cx, const hd_time_major *p, hd_tensor *packed) {
    if (!packed) return NULL;
    const int64_t width = packed->shape[1], shape[3] = {p->B, p->L, width};
    const int64_t stride[3] = {p->L * width, width, 1};
    hd_tensor *padded = is_same_order(p) ? hd_tensor_view(cx, packed, 3, shape, stride, packed->offset)
                                         : hd_tensor_new(cx, (hd_dtype)packed->dtype, 3, shape);
    if (padded && !is_same_order(p) &&
        (copy_tokens(cx, p, padded, packed, false) || hd_clear_padding(cx, p, padded))) {
        hd_release(padded);
        padded = NULL;
    }
    hd_release(packed);
    return padded;
}

/* ---- states ------------------------------------------------------------------------------------ */

typedef struct state_loop {
    const hd_time_major *plan;
    char *rows, *states; /* states NULL: zeros */
    size_t row, state;   /* bytes from one to the next */
    bool gather;
} state_loop;

static void copy_states(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const state_loop *l = arg;
    for (int64_t j = first; j < last; j++) {
        char *row = l->rows + (size_t)j * l->row;
        char *state = l->states ? l->states + (size_t)l->plan->order[j] * l->state : NULL;
        if (!state)
            memset(row, 0, l->state);
        else
            memcpy(l->gather ? row : state, l->gather ? state : row, l->state);
    }
}

hd_status hd_states_to_rows(hd_ctx *cx, const hd_time_major *p, const hd_tensor *state, int64_t width,
                            hd_tensor *rows, int64_t stride) {
    const size_t size = hd_dtype_size((hd_dtype)rows->dtype);
    state_loop l = {
        p, hd_data(rows), state ? hd_data(state) : NULL, (size_t)stride * size, (size_t)width * size, true};
    return hd_parallel_ranges(cx, p->B, hd_rows_grain(width), copy_states, &l);
}

hd_status hd_rows_to_states(hd_ctx *cx, const hd_time_major *p, const hd_tensor *rows, int64_t stride,
                            hd_tensor *state) {
    const size_t size = hd_dtype_size((hd_dtype)rows->dtype);
    state_loop l = {
        p, hd_data(rows), hd_data(state), (size_t)stride * size, (size_t)state->shape[1] * size, false};
    return hd_parallel_ranges(cx, p->B, hd_rows_grain(state->shape[1]), copy_states, &l);
}
