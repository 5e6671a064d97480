/* optim.c: one pass over all tensors. Chunks are cut by the tensors' sizes alone; sums of chunks are added in
 * order.
 *
 * A step is never half done: a cancel waits until it is over, and everything that can fail comes before the
 * first write.
 */
#include <math.h>

#include "base/parallel.h"
#include "ops/internal.h"

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
        dense[i] = hd_dense(cx, tensors[i], (hd_dtype)tensors[i]->dtype);
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

hd_status hd_sum_of_squares(hd_ctx *cx, int64_t count, hd_tensor *const *tensors, double *sum) {
    hd_status status = HD_ENOMEM;
    double *sums = NULL;
    int64_t *first = NULL;
    hd_tensor **dense = dense_all(cx, count, tensors);
    if (dense) first = count_chunks(cx, count, dense, sizeof *dense);
    if (first) sums = hd_alloc(cx, (size_t)first[count] * sizeof *sums);
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
    if (hd_sum_of_squares(cx, count, tensors, &sum)) return cx->error.status;
    *norm = sqrt(sum);
    return HD_OK;
}

/* ---- scale ----------------------------------------------------------------------------------- */

hd_status hd_scale_all(hd_ctx *cx, int64_t count, hd_tensor *const *tensors, double factor) {
    for (int64_t i = 0; i < count; i++)
        if (check_float(cx, "tensor", i, tensors[i]) || hd_check_inplace(cx, "scale", tensors[i]))
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

/* ---- AdamW (Loshchilov & Hutter 2019) -------------------------------------------------------- */

typedef struct adamw_loop {
    const hd_kernels *kernels;
    int64_t count;
    const int64_t *first;
    const hd_adamw_slot *slots; /* contiguous */
    const hd_adamw_options *o;
    double bias1, bias2;
} adamw_loop;

static void adamw_chunk(void *arg, int64_t task, int worker) {
    (void)worker;
    const adamw_loop *l = arg;
    int64_t i = owner_of(l->first, l->count, task), start = (task - l->first[i]) * CHUNK;
    const hd_adamw_slot *s = &l->slots[i];
    const hd_adamw_options *o = l->o;
    l->kernels->adamw[s->w->dtype](chunk_length(hd_numel(s->w), start), element(s->w, start),
                                   element(s->g, start), element(s->m, start), element(s->v, start), o->lr,
                                   o->beta1, o->beta2, o->eps, o->weight_decay, l->bias1, l->bias2,
                                   o->grad_scale);
}

static hd_status check_slot(hd_ctx *cx, int64_t i, const hd_adamw_slot *s) {
    if (check_float(cx, "parameter", i, s->w)) return cx->error.status;
    if (hd_overlaps_itself(s->w) || hd_overlaps_itself(s->m) || hd_overlaps_itself(s->v))
        return hd_fail(cx, HD_EARG,
                       "parameter %lld: it or a moment is expanded: several of its elements share one place; "
                       "clone it first",
                       (long long)i + 1);
    hd_tensor *const others[] = {s->g, s->m, s->v};
    const char *const names[] = {"gradient", "first moment", "second moment"};
    for (int k = 0; k < 3; k++) {
        if (hd_same_shape(s->w, others[k]) && s->w->dtype == others[k]->dtype) continue;
        char expected[HD_SHAPE_TEXT], got[HD_SHAPE_TEXT];
        return hd_fail(cx, HD_EARG, "parameter %lld: %s: expected %s %s as the parameter, got %s %s",
                       (long long)i + 1, names[k], hd_dtype_name((hd_dtype)s->w->dtype),
                       hd_tensor_shape_text(s->w, expected), hd_dtype_name((hd_dtype)others[k]->dtype),
                       hd_tensor_shape_text(others[k], got));
    }
    return HD_OK;
}

static void release_slots(hd_ctx *cx, int64_t count, hd_adamw_slot *dense) {
    for (int64_t i = 0; dense && i < count; i++) {
        hd_release(dense[i].w);
        hd_release(dense[i].g);
        hd_release(dense[i].m);
        hd_release(dense[i].v);
    }
    hd_free(cx->account, dense);
}

static hd_adamw_slot *dense_slots(hd_ctx *cx, int64_t count, const hd_adamw_slot *slots) {
    hd_adamw_slot *dense = hd_alloc_zeroed(cx, (size_t)count * sizeof *dense);
    for (int64_t i = 0; dense && i < count; i++) {
        hd_dtype t = (hd_dtype)slots[i].w->dtype;
        dense[i].w = hd_dense(cx, slots[i].w, t);
        dense[i].g = dense[i].w ? hd_dense(cx, slots[i].g, t) : NULL;
        dense[i].m = dense[i].g ? hd_dense(cx, slots[i].m, t) : NULL;
        dense[i].v = dense[i].m ? hd_dense(cx, slots[i].v, t) : NULL;
        if (dense[i].v) continue;
        release_slots(cx, count, dense);
        return NULL;
    }
    return dense;
}

/* Results that were computed in a copy go home. */
static hd_status write_back(hd_ctx *cx, hd_tensor *t, const hd_tensor *dense) {
    hd_status status = t == dense ? HD_OK : hd_apply_copy(cx, t, dense);
    hd_wrote(t);
    return status;
}

static hd_status step_all(hd_ctx *cx, adamw_loop *l, const hd_adamw_slot *slots) {
    cx->uninterruptible++;
    hd_status status = hd_parallel(cx, l->first[l->count], adamw_chunk, l);
    for (int64_t i = 0; !status && i < l->count; i++) {
        status = write_back(cx, slots[i].w, l->slots[i].w);
        if (!status) status = write_back(cx, slots[i].m, l->slots[i].m);
        if (!status) status = write_back(cx, slots[i].v, l->slots[i].v);
    }
    cx->uninterruptible--;
    return status;
}

hd_status hd_adamw(hd_ctx *cx, int64_t count, const hd_adamw_slot *slots, const hd_adamw_options *o) {
    for (int64_t i = 0; i < count; i++)
        if (check_slot(cx, i, &slots[i])) return cx->error.status;
    hd_status status = HD_ENOMEM;
    int64_t *first = NULL;
    hd_adamw_slot *dense = dense_slots(cx, count, slots);
    if (dense) first = count_chunks(cx, count, &dense->w, sizeof *dense);
    if (first) {
        adamw_loop l = {cx->kernels,
                        count,
                        first,
                        dense,
                        o,
                        1 - pow(o->beta1, (double)o->step),
                        1 - pow(o->beta2, (double)o->step)};
        status = step_all(cx, &l, slots);
    }
    hd_free(cx->account, first);
    release_slots(cx, count, dense);
    return status;
}
