/* linear_recurrence.c: a state that is kept in part, and added to, step after step.
 *
 *     y[t] = a[t] y[t-1] + b[t], y[0] = h        (elements of a and b [B, L, E], h [B, E] or nothing)
 *
 *     s[t] = g[t] + a[t+1] s[t+1]  ->  db[t] = s[t], da[t] = s[t] y[t-1], dh = a[1] s[1]
 *
 * Rows and features are independent: each task takes some features of one row through all steps. Without h
 * the first step is b alone.
 */
#include "base/minmax.h"
#include "base/parallel.h"
#include "ops/elementwise/cast.h"
#include "ops/elementwise/scalar.h"
#include "ops/gradient.h"
#include "ops/nn/rows.h"

#define FEATURES 512 /* of a task */

typedef struct recurrence_loop {
    const void *a, *b, *h; /* h NULL: none */
    void *y;
    const void *g; /* backward: what arrives; y is read, b not */
    void *da, *db, *dh;
    int64_t length, features, chunks; /* L, E, tasks of a row */
    hd_dtype dtype;
} recurrence_loop;

/* Features first .. last of one row, of which `at` is the first element in [B, L, E]. */
#define RECURRENCE_OF(type)                                                                                  \
    static void forward_##type(const recurrence_loop *l, int64_t row, int64_t first, int64_t last) {         \
        const int64_t E = l->features, at = row * l->length * E;                                             \
        const type *a = (const type *)l->a + at, *b = (const type *)l->b + at;                               \
        const type *before = l->h ? (const type *)l->h + row * E : NULL;                                     \
        type *y = (type *)l->y + at;                                                                         \
        for (int64_t t = 0; t < l->length; t++, a += E, b += E, y += E) {                                    \
            if (before)                                                                                      \
                for (int64_t i = first; i < last; i++) y[i] = a[i] * before[i] + b[i];                       \
            else                                                                                             \
                for (int64_t i = first; i < last; i++) y[i] = b[i];                                          \
            before = y;                                                                                      \
        }                                                                                                    \
    }                                                                                                        \
    static inline type slope_##type(type s, type of) {                                                       \
        return s == 0 ? s : s * of;                                                                          \
    }                                                                                                        \
    static void backward_##type(const recurrence_loop *l, int64_t row, int64_t first, int64_t last) {        \
        const int64_t E = l->features, at = row * l->length * E;                                             \
        const type *a = (const type *)l->a + at, *g = (const type *)l->g + at, *y = (const type *)l->y + at; \
        const type *h = l->h ? (const type *)l->h + row * E : NULL;                                          \
        type *da = (type *)l->da + at, *s = (type *)l->db + at, *dh = l->h ? (type *)l->dh + row * E : NULL; \
        for (int64_t t = l->length - 1; t >= 0; t--) {                                                       \
            const int64_t now = t * E, next = now + E;                                                       \
            const type *before = t ? y + now - E : h;                                                        \
            for (int64_t i = first; i < last; i++) {                                                         \
                type later = t + 1 < l->length ? slope_##type(s[next + i], a[next + i]) : 0;                 \
                s[now + i] = g[now + i] + later;                                                             \
                da[now + i] = before ? slope_##type(s[now + i], before[i]) : 0;                              \
            }                                                                                                \
        }                                                                                                    \
        for (int64_t i = first; dh && i < last; i++) dh[i] = l->length ? slope_##type(s[i], a[i]) : 0;       \
    }
RECURRENCE_OF(float)
RECURRENCE_OF(double)

static void run_range(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const recurrence_loop *l = arg;
    for (int64_t task = first; task < last; task++) {
        const int64_t row = task / l->chunks, from = task % l->chunks * FEATURES;
        const int64_t to = hd_min(from + FEATURES, l->features);
        if (l->g && l->dtype == HD_F64)
            backward_double(l, row, from, to);
        else if (l->g)
            backward_float(l, row, from, to);
        else if (l->dtype == HD_F64)
            forward_double(l, row, from, to);
        else
            forward_float(l, row, from, to);
    }
}

static hd_status run(hd_ctx *cx, recurrence_loop *l, const hd_tensor *a) {
    l->dtype = (hd_dtype)a->dtype;
    l->length = a->shape[1];
    l->features = a->shape[2];
    l->chunks = (l->features + FEATURES - 1) / FEATURES;
    const int64_t elements = l->length * hd_min(l->features, FEATURES);
    const int64_t grain = elements ? HD_GRAIN_LIGHT / elements + 1 : HD_GRAIN_LIGHT;
    return hd_parallel_ranges(cx, a->shape[0] * l->chunks, grain, run_range, l);
}

/* ---- backward -------------------------------------------------------------------------------------------- */

/* saved: a, y, and h where there is one. */
static hd_status recurrence_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                     hd_tensor **grad_inputs) {
    if (!grads[0]) return HD_OK;
    const bool has_h = node->num_inputs == 3;
    hd_tensor *a = hd_node_saved(cx, node, 0), *y = a ? hd_node_saved(cx, node, 1) : NULL;
    hd_tensor *h = y && has_h ? hd_node_saved(cx, node, 2) : NULL;
    if (!y || (has_h && !h)) return cx->error.status;
    hd_tensor *g = hd_contiguous_as(cx, grads[0], (hd_dtype)a->dtype);
    hd_tensor *da = g ? hd_tensor_like(cx, a) : NULL, *db = da ? hd_tensor_like(cx, a) : NULL;
    hd_tensor *dh = db && has_h ? hd_tensor_like(cx, h) : NULL;
    hd_status status = db && (dh || !has_h) ? HD_OK : cx->error.status;
    if (!status) {
        recurrence_loop l = {.a = hd_data(a), .y = hd_data(y), .g = hd_data(g)};
        l.da = hd_data(da), l.db = hd_data(db);
        if (has_h) l.h = hd_data(h), l.dh = hd_data(dh);
        status = run(cx, &l, a);
    }
    hd_release(g);
    hd_tensor *made[3] = {da, db, dh};
    for (int i = 0; i < 3; i++) {
        if (!status && made[i] && hd_node_needs(node, i))
            grad_inputs[i] = made[i];
        else
            hd_release(made[i]);
    }
    return status;
}
static const hd_node_class recurrence_class = {"linear_recurrence", recurrence_backward, NULL};

/* ---- forward --------------------------------------------------------------------------------------------- */

static hd_status check(hd_ctx *cx, const hd_tensor *a, const hd_tensor *b, const hd_tensor *h) {
    char got[HD_SHAPE_TEXT];
    if (hd_require_dtype_of(cx, "b", b, "a", a)) return cx->error.status;
    if (a->ndim != 3)
        return hd_fail(cx, HD_EARG, "a: expected [B, L, E], got %s", hd_tensor_shape_text(a, got));
    if (hd_require_shape(cx, "b", b, 3, a->shape)) return cx->error.status;
    if (!h) return HD_OK;
    if (hd_require_dtype(cx, "h", h, (hd_dtype)a->dtype)) return cx->error.status;
    return hd_require_shape(cx, "h", h, 2, (const int64_t[]){a->shape[0], a->shape[2]});
}

hd_tensor *hd_linear_recurrence(hd_ctx *cx, hd_tensor *a, hd_tensor *b, hd_tensor *h) {
    if (check(cx, a, b, h)) return NULL;
    const hd_dtype t = (hd_dtype)a->dtype;
    hd_tensor *inputs[3] = {a, b, h}, *dense[3] = {NULL, NULL, NULL};
    bool read = true;
    for (int i = 0; i < 3 && read; i++)
        if (inputs[i]) read = (dense[i] = hd_contiguous_as(cx, inputs[i], t)) != NULL;
    hd_tensor *y = read ? hd_tensor_like(cx, dense[0]) : NULL;
    if (y) {
        recurrence_loop l = {.a = hd_data(dense[0]), .b = hd_data(dense[1]), .y = hd_data(y)};
        l.h = h ? hd_data(dense[2]) : NULL;
        if (run(cx, &l, y)) {
            hd_release(y);
            y = NULL;
        }
    }
    hd_tensor *saved[3] = {dense[0], y, dense[2]};
    y = hd_record(cx, &recurrence_class, y, h ? 3 : 2, inputs, 3, saved, NULL, 0);
    for (int i = 0; i < 3; i++) hd_release(dense[i]);
    return y;
}
