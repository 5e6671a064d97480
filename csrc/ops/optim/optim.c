/* optim.c: one pass over all tensors. Chunks are cut by the tensors' sizes alone; sums of chunks are added in
 * order.
 *
 * A step is never half done: a cancel waits until it is over, and everything that can fail comes before the
 * first write.
 */
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "ops/elementwise/cast.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/walk.h"

#define CHUNK 16384

/* ---- chunks of many tensors ------------------------------------------------------------------ */

/* first[i]: the number of chunks in tensors before i; first[count]: in all. */
static int64_t *count_chunks(hd_ctx *cx, int64_t count, hd_tensor *const *tensors, size_t step) {
    int64_t *first = hd_alloc(cx, (size_t)(count + 1) * sizeof *first);
    if (!first) return NULL;
    first[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        const hd_tensor *t = *(hd_tensor *const *)((const char *)tensors + (size_t)i * step);
        first[i + 1] = first[i] + (hd_numel(t) + CHUNK - 1) / CHUNK;
    }
    return first;
}

/* The tensor that chunk `task` lies in. */
static int64_t owner_of(const int64_t *first, int64_t count, int64_t task) {
    int64_t low = 0, high = count;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (first[middle] <= task)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int64_t chunk_length(int64_t numel, int64_t start) {
    return numel - start < CHUNK ? numel - start : CHUNK;
}

static char *element(const hd_tensor *t, int64_t at) {
    return (char *)hd_data(t) + (size_t)at * hd_dtype_size((hd_dtype)t->dtype);
}

static hd_status check_float(hd_ctx *cx, const char *what, int64_t i, const hd_tensor *t) {
    if (t->dtype == HD_F32 || t->dtype == HD_F64) return HD_OK;
    return hd_fail(cx, HD_EARG, "%s %lld: expected f32 or f64, got %s", what, (long long)i + 1,
                   hd_dtype_name((hd_dtype)t->dtype));
}

static void release_all(hd_ctx *cx, int64_t count, hd_tensor **tensors) {
    if (!tensors) return;
    for (int64_t i = 0; i < count; i++) hd_release(tensors[i]);
    hd_free(cx->account, tensors);
}

/* Contiguous readings of the tensors: themselves, or copies. */
static hd_tensor **dense_all(hd_ctx *cx, int64_t count, hd_tensor *const *tensors) {
    hd_tensor **dense = hd_alloc_zeroed(cx, (size_t)count * sizeof *dense);
    if (!dense) return NULL;
    for (int64_t i = 0; i < count; i++) {
        dense[i] = hd_contiguous_as(cx, tensors[i], (hd_dtype)tensors[i]->dtype);
        if (dense[i]) continue;
        release_all(cx, count, dense);
        return NULL;
    }
    return dense;
}

/* ---- norm ------------------------------------------------------------------------------------ */

typedef struct norm_loop {
    const hd_kernels *kernels;
    int64_t count;
    const int64_t *first;
    hd_tensor *const *tensors;
    double *sums;
} norm_loop;

static void sum_chunk(void *arg, int64_t task, int worker) {
    (void)worker;
    const norm_loop *l = arg;
    int64_t i = owner_of(l->first, l->count, task), start = (task - l->first[i]) * CHUNK;
    const hd_tensor *t = l->tensors[i];
    l->sums[task] = l->kernels->sum_squares[t->dtype](chunk_length(hd_numel(t), start), element(t, start));
}

static hd_status sum_of_squares(hd_ctx *cx, int64_t count, hd_tensor *const *tensors, double *sum) {
    hd_status status = HD_ENOMEM;
    double *sums = NULL;
    int64_t *first = NULL;
    hd_tensor **dense = dense_all(cx, count, tensors);
    if (dense) first = count_chunks(cx, count, dense, sizeof *dense);
    if (first) sums = hd_alloc_found(cx, (size_t)first[count] * sizeof *sums);
    if (sums) {
        norm_loop l = {cx->kernels, count, first, dense, sums};
        status = hd_parallel(cx, first[count], sum_chunk, &l);
        *sum = 0;
        for (int64_t i = 0; !status && i < first[count]; i++) *sum += sums[i];
    }
    hd_free(cx->account, sums);
    hd_free(cx->account, first);
    release_all(cx, count, dense);
    return status;
}

hd_status hd_total_norm(hd_ctx *cx, int64_t count, hd_tensor *const *tensors, double *norm) {
    for (int64_t i = 0; i < count; i++)
        if (check_float(cx, "tensor", i, tensors[i])) return cx->error.status;
    double sum;
    if (sum_of_squares(cx, count, tensors, &sum)) return cx->error.status;
    *norm = sqrt(sum);
    return HD_OK;
}

/* ---- scale ----------------------------------------------------------------------------------- */

hd_status hd_scale_all(hd_ctx *cx, int64_t count, hd_tensor *const *tensors, double factor) {
    for (int64_t i = 0; i < count; i++)
        if (check_float(cx, "tensor", i, tensors[i]) || hd_check_inplace(cx, tensors[i]))
            return cx->error.status;
    hd_status status = HD_OK;
    cx->uninterruptible++;
    for (int64_t i = 0; !status && i < count; i++) {
        hd_tensor *t = tensors[i];
        uint64_t s;
        status = hd_scalar_store(cx, "factor", hd_scalar_f(factor), (hd_dtype)t->dtype, &s);
        if (!status)
            status =
                hd_apply_scalar(cx, cx->kernels->binary[HD_MUL][t->dtype], HD_GRAIN_LIGHT, t, t, &s, false);
        hd_wrote(t);
    }
    cx->uninterruptible--;
    return status;
}

/* ---- several lists at once ---------------------------------------------------------------------- */

enum { W, G, M, V, A, WIDEST };

/* What one parameter takes part in a pass with: w, g, m, v, a, or less. Entries may be NULL. */
typedef struct row {
    hd_tensor *t[WIDEST];
} row;

static void release_table(hd_ctx *cx, int64_t count, row *table) {
    for (int64_t i = 0; table && i < count; i++)
        for (int k = 0; k < WIDEST; k++) hd_release(table[i].t[k]);
    hd_free(cx->account, table);
}

static bool make_dense(hd_ctx *cx, const row *from, row *to) {
    for (int k = 0; k < WIDEST; k++)
        if (from->t[k] && !(to->t[k] = hd_contiguous_as(cx, from->t[k], (hd_dtype)from->t[k]->dtype)))
            return false;
    return true;
}

/* Contiguous readings of all of them: themselves, or copies. */
static row *dense_table(hd_ctx *cx, int64_t count, const row *table) {
    row *dense = hd_alloc_zeroed(cx, (size_t)count * sizeof *dense);
    for (int64_t i = 0; dense && i < count; i++)
        if (!make_dense(cx, &table[i], &dense[i])) {
            release_table(cx, count, dense);
            return NULL;
        }
    return dense;
}

static hd_status check_row(hd_ctx *cx, int64_t i, const row *r, const char *const names[WIDEST],
                           unsigned written) {
    const hd_tensor *w = r->t[W];
    if (check_float(cx, names[W], i, w)) return cx->error.status;
    for (int k = 0; k < WIDEST; k++) {
        const hd_tensor *t = r->t[k];
        if (!t) continue;
        if (written >> k & 1 && hd_overlaps_itself(t))
            return hd_fail(cx, HD_EARG,
                           "%s %lld: %s is expanded: several of its elements share one place; clone it first",
                           names[W], (long long)i + 1, k == W ? "it" : names[k]);
        if (hd_same_shape(w, t) && w->dtype == t->dtype) continue;
        char expected[HD_SHAPE_TEXT], got[HD_SHAPE_TEXT];
        return hd_fail(cx, HD_EARG, "%s %lld: %s: expected %s %s as it has itself, got %s %s", names[W],
                       (long long)i + 1, names[k], hd_dtype_name((hd_dtype)w->dtype),
                       hd_tensor_shape_text(w, expected), hd_dtype_name((hd_dtype)t->dtype),
                       hd_tensor_shape_text(t, got));
    }
    return HD_OK;
}

typedef struct pass {
    const hd_kernels *kernels;
    int64_t count;
    const int64_t *first;
    const row *dense;
    const hd_optim_slot *slots; /* of a step */
    double decay;               /* of an average */
} pass;

/* Where chunk `task` is: its row, start and length. */
static const row *chunk_of(const pass *p, int64_t task, int64_t *i, int64_t *start, int64_t *length) {
    *i = owner_of(p->first, p->count, task);
    *start = (task - p->first[*i]) * CHUNK;
    *length = chunk_length(hd_numel(p->dense[*i].t[W]), *start);
    return &p->dense[*i];
}

/* Results that were computed in a copy go home. */
static hd_status write_back(hd_ctx *cx, hd_tensor *t, const hd_tensor *dense) {
    hd_status status = t == dense ? HD_OK : hd_apply_copy(cx, t, dense);
    hd_wrote(t);
    return status;
}

/* Never half done: whatever allocates has come before, and a cancel waits. */
static hd_status run(hd_ctx *cx, pass *p, hd_task task, const row *table, unsigned written) {
    cx->uninterruptible++;
    hd_status status = hd_parallel(cx, p->first[p->count], task, p);
    for (int64_t i = 0; i < p->count; i++)
        for (int k = 0; k < WIDEST && !status; k++)
            if (table[i].t[k] && written >> k & 1) status = write_back(cx, table[i].t[k], p->dense[i].t[k]);
    cx->uninterruptible--;
    return status;
}

/* task over all chunks of the table; `written`: a bit for each column that it changes. */
static hd_status each_chunk(hd_ctx *cx, pass *p, hd_task task, const row *table,
                            const char *const names[WIDEST], unsigned written) {
    for (int64_t i = 0; i < p->count; i++)
        if (check_row(cx, i, &table[i], names, written)) return cx->error.status;
    hd_status status = HD_ENOMEM;
    int64_t *first = NULL;
    row *dense = dense_table(cx, p->count, table);
    if (dense) first = count_chunks(cx, p->count, &dense->t[W], sizeof *dense);
    if (first) {
        p->kernels = cx->kernels;
        p->first = first;
        p->dense = dense;
        status = run(cx, p, task, table, written);
    }
    hd_free(cx->account, first);
    release_table(cx, p->count, dense);
    return status;
}

/* ---- a step ---------------------------------------------------------------------------------- */

static hd_sgd_rates sgd_rates(const hd_optim_slot *s) {
    const hd_optim_options *o = s->o;
    return (hd_sgd_rates){.lr = o->lr,
                          .momentum = o->momentum,
                          .dampening = o->dampening,
                          .decay = o->weight_decay,
                          .scale = o->grad_scale,
                          .nesterov = o->nesterov,
                          .first = s->step == 1};
}

static hd_adam_rates adam_rates(const hd_optim_slot *s) {
    const hd_optim_options *o = s->o;
    return (hd_adam_rates){.lr = o->lr,
                           .beta1 = o->beta1,
                           .beta2 = o->beta2,
                           .eps = o->eps,
                           .decay = o->kind == HD_ADAM ? o->weight_decay : 0,
                           .decoupled_decay = o->kind == HD_ADAMW ? o->weight_decay : 0,
                           .bias1 = 1 - pow(o->beta1, (double)s->step),
                           .bias2 = 1 - pow(o->beta2, (double)s->step),
                           .scale = o->grad_scale};
}

static hd_rmsprop_rates rmsprop_rates(const hd_optim_options *o) {
    return (hd_rmsprop_rates){.lr = o->lr,
                              .alpha = o->alpha,
                              .eps = o->eps,
                              .momentum = o->momentum,
                              .decay = o->weight_decay,
                              .scale = o->grad_scale};
}

static hd_lion_rates lion_rates(const hd_optim_options *o) {
    return (hd_lion_rates){
        .lr = o->lr, .beta1 = o->beta1, .beta2 = o->beta2, .decay = o->weight_decay, .scale = o->grad_scale};
}

/* The elements of a chunk of one parameter. */
static void step_elements(const hd_kernels *k, const hd_optim_slot *s, int64_t n, void *const at[WIDEST]) {
    const int dtype = s->w->dtype;
    if (s->o->kind == HD_SGD) {
        const hd_sgd_rates rates = sgd_rates(s);
        k->sgd[dtype](n, at[W], at[G], at[M], &rates);
    } else if (s->o->kind == HD_RMSPROP) {
        const hd_rmsprop_rates rates = rmsprop_rates(s->o);
        k->rmsprop[dtype](n, at[W], at[G], at[M], at[V], at[A], &rates);
    } else if (s->o->kind == HD_LION) {
        const hd_lion_rates rates = lion_rates(s->o);
        k->lion[dtype](n, at[W], at[G], at[M], &rates);
    } else {
        const hd_adam_rates rates = adam_rates(s);
        k->adam[dtype](n, at[W], at[G], at[M], at[V], &rates);
    }
}

static void step_chunk(void *arg, int64_t task, int worker) {
    (void)worker;
    const pass *p = arg;
    int64_t i, start, n;
    const row *r = chunk_of(p, task, &i, &start, &n);
    void *at[WIDEST];
    for (int k = 0; k < WIDEST; k++) at[k] = r->t[k] ? element(r->t[k], start) : NULL;
    step_elements(p->kernels, &p->slots[i], n, at);
}

static const char *const STEP_NAMES[WIDEST] = {"parameter", "gradient", "first moment", "second moment",
                                               "mean gradient"};

hd_status hd_optim_step(hd_ctx *cx, int64_t count, const hd_optim_slot *slots) {
    row *table = hd_alloc(cx, (size_t)count * sizeof *table);
    if (!table) return cx->error.status;
    for (int64_t i = 0; i < count; i++)
        table[i] = (row){{slots[i].w, slots[i].g, slots[i].m, slots[i].v, slots[i].a}};
    pass p = {.count = count, .slots = slots};
    hd_status status =
        each_chunk(cx, &p, step_chunk, table, STEP_NAMES, 1u << W | 1u << M | 1u << V | 1u << A);
    hd_free(cx->account, table);
    return status;
}

/* ---- averages -------------------------------------------------------------------------------- */

static void average_chunk(void *arg, int64_t task, int worker) {
    (void)worker;
    const pass *p = arg;
    int64_t i, start, n;
    const row *r = chunk_of(p, task, &i, &start, &n);
    int dtype = r->t[0]->dtype;
    void *average = element(r->t[0], start);
    p->kernels->affine[dtype](n, p->decay, 0, average, 1, average, 1);
    p->kernels->axpy[dtype](n, 1 - p->decay, element(r->t[1], start), 1, average, 1);
}

static void swap_chunk(void *arg, int64_t task, int worker) {
    (void)worker;
    int64_t i, start, n;
    const row *r = chunk_of(arg, task, &i, &start, &n);
    char *a = element(r->t[0], start), *b = element(r->t[1], start), held[1024];
    size_t left = (size_t)n * hd_dtype_size((hd_dtype)r->t[0]->dtype);
    for (size_t at = 0, size; at < left; at += size) {
        size = left - at < sizeof held ? left - at : sizeof held;
        memcpy(held, a + at, size);
        memcpy(a + at, b + at, size);
        memcpy(b + at, held, size);
    }
}

static hd_status pairs(hd_ctx *cx, int64_t count, hd_tensor *const *a, hd_tensor *const *b, double decay,
                       hd_task task, unsigned written) {
    static const char *const names[WIDEST] = {"average", "tensor"};
    row *table = hd_alloc(cx, (size_t)count * sizeof *table);
    if (!table) return cx->error.status;
    for (int64_t i = 0; i < count; i++) table[i] = (row){{a[i], b[i]}};
    pass p = {.count = count, .decay = decay};
    hd_status status = each_chunk(cx, &p, task, table, names, written);
    hd_free(cx->account, table);
    return status;
}

hd_status hd_average_all(hd_ctx *cx, int64_t count, hd_tensor *const *averages, hd_tensor *const *tensors,
                         double decay) {
    return pairs(cx, count, averages, tensors, decay, average_chunk, 1);
}

hd_status hd_swap_all(hd_ctx *cx, int64_t count, hd_tensor *const *a, hd_tensor *const *b) {
    return pairs(cx, count, a, b, 0, swap_chunk, 3);
}
