/* cumprod.c: running products.
 *
 *     y[i] = x[1] .. x[i]  ->  dx[k] = (x[1] .. x[k-1]) s[k], with s[k] = g[k] + x[k+1] s[k+1]
 *
 * Nothing is divided by, so the gradient is exact where elements are 0. Products of floats run in f64;
 * integers wrap. Where s is 0 so is dx, whatever stands beside it.
 */
#include <string.h>

#include "base/minmax.h"
#include "base/parallel.h"
#include "ops/elementwise/cast.h"
#include "ops/elementwise/scalar.h"
#include "ops/gradient.h"
#include "ops/lines.h"

#define LINES 16          /* that run side by side, because each product waits for the one before it */
#define SEGMENT (1 << 20) /* elements of a line between two looks at the flag that cancels */

typedef struct product_loop {
    hd_lines lines;
    int64_t blocks; /* of up to LINES lines: of all where a line is contiguous, else of one outer index */
    void (*run)(const struct product_loop *l, int64_t task);
    const void *x, *g;   /* g: of backward */
    void *y;             /* products, or dx */
    double *s;           /* like x */
    int64_t first, last; /* the segment */
    uint64_t *state;     /* [tasks][LINES]: a product or an s, as f64 or as an integer */
} product_loop;

/* The lines of a task: element i of line j is at start + i step + j apart. */
typedef struct line_block {
    int64_t start, step, apart, count;
} line_block;

static line_block block_of(const product_loop *l, int64_t task) {
    int64_t inner = l->lines.inner, size = l->lines.size;
    if (inner == 1) {
        int64_t first = task * LINES;
        return (line_block){first * size, 1, size, hd_min(l->lines.outer - first, LINES)};
    }
    int64_t column = task % l->blocks * LINES;
    return (line_block){task / l->blocks * size * inner + column, inner, 1, hd_min(inner - column, LINES)};
}

/* Calls f with the numbers of lines and their distance known to the compiler where they are usual ones. */
#define BLOCKS_OF(f)                                                                                         \
    static void f##_task(const product_loop *l, int64_t task) {                                              \
        line_block b = block_of(l, task);                                                                    \
        void *state = l->state + task * LINES;                                                               \
        if (b.count == LINES && b.apart == 1)                                                                \
            f(l, b, LINES, 1, state);                                                                        \
        else if (b.count == LINES)                                                                           \
            f(l, b, LINES, b.apart, state);                                                                  \
        else                                                                                                 \
            f(l, b, b.count, b.apart, state);                                                                \
    }

/* y[i] = x[1] .. x[i]; state: the products so far. products_f32 products_f64 products_i64 */
#define PRODUCTS_OF(name, type, product)                                                                     \
    static inline void products_##name(const product_loop *l, line_block b, int64_t count, int64_t apart,    \
                                       product *state) {                                                     \
        const type *x = (const type *)l->x + b.start;                                                        \
        type *y = (type *)l->y + b.start;                                                                    \
        product p[LINES];                                                                                    \
        for (int64_t j = 0; j < LINES; j++) p[j] = l->first == 0 ? 1 : state[j];                             \
        for (int64_t i = l->first; i < l->last; i++)                                                         \
            for (int64_t j = 0; j < count; j++)                                                              \
                y[i * b.step + j * apart] = (type)(p[j] *= (product)x[i * b.step + j * apart]);              \
        memcpy(state, p, sizeof p);                                                                          \
    }                                                                                                        \
    BLOCKS_OF(products_##name)
PRODUCTS_OF(f32, float, double)
PRODUCTS_OF(f64, double, double)
PRODUCTS_OF(i64, int64_t, uint64_t)

/* s, from the last element on; then dx by the products before each element. sums_f32 sums_f64 slopes_f32
 * slopes_f64 */
#define SLOPES_OF(name, type)                                                                                \
    static inline void sums_##name(const product_loop *l, line_block b, int64_t count, int64_t apart,        \
                                   double *state) {                                                          \
        const type *x = (const type *)l->x + b.start, *g = (const type *)l->g + b.start;                     \
        double *s = l->s + b.start, behind[LINES];                                                           \
        for (int64_t j = 0; j < LINES; j++) behind[j] = l->last == l->lines.size ? 0 : state[j];             \
        for (int64_t i = l->last - 1; i >= l->first; i--)                                                    \
            for (int64_t j = 0; j < count; j++) {                                                            \
                int64_t at = i * b.step + j * apart;                                                         \
                double sum = behind[j] + (double)g[at];                                                      \
                s[at] = sum;                                                                                 \
                behind[j] = sum == 0 ? 0 : sum * (double)x[at];                                              \
            }                                                                                                \
        memcpy(state, behind, sizeof behind);                                                                \
    }                                                                                                        \
    static inline void slopes_##name(const product_loop *l, line_block b, int64_t count, int64_t apart,      \
                                     double *state) {                                                        \
        const type *x = (const type *)l->x + b.start;                                                        \
        const double *s = l->s + b.start;                                                                    \
        type *dx = (type *)l->y + b.start;                                                                   \
        double p[LINES];                                                                                     \
        for (int64_t j = 0; j < LINES; j++) p[j] = l->first == 0 ? 1 : state[j];                             \
        for (int64_t i = l->first; i < l->last; i++)                                                         \
            for (int64_t j = 0; j < count; j++) {                                                            \
                int64_t at = i * b.step + j * apart;                                                         \
                dx[at] = s[at] == 0 ? 0 : (type)(p[j] * s[at]);                                              \
                p[j] *= (double)x[at];                                                                       \
            }                                                                                                \
        memcpy(state, p, sizeof p);                                                                          \
    }                                                                                                        \
    BLOCKS_OF(sums_##name)                                                                                   \
    BLOCKS_OF(slopes_##name)
SLOPES_OF(f32, float)
SLOPES_OF(f64, double)

static void run_tasks(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const product_loop *l = arg;
    for (int64_t task = first; task < last; task++) l->run(l, task);
}

/* All lines, segment after segment, from the first or from the last on. */
static hd_status run(hd_ctx *cx, product_loop *l, bool backwards) {
    int64_t size = l->lines.size, segments = (size + SEGMENT - 1) / SEGMENT;
    l->blocks = (l->lines.inner + LINES - 1) / LINES;
    int64_t tasks = l->lines.inner == 1 ? (l->lines.outer + LINES - 1) / LINES : l->lines.outer * l->blocks;
    l->state = hd_alloc(cx, (size_t)(tasks * LINES) * sizeof *l->state);
    hd_status status = l->state ? HD_OK : cx->error.status;
    for (int64_t k = 0; k < segments && !status; k++) {
        l->first = (backwards ? segments - 1 - k : k) * SEGMENT;
        l->last = hd_min(l->first + SEGMENT, size);
        int64_t grain = HD_GRAIN_LIGHT / (hd_min(size, SEGMENT) * LINES) + 1;
        status = hd_parallel_ranges(cx, tasks, grain, run_tasks, l);
    }
    hd_free(cx->account, l->state);
    return status;
}

static hd_tensor *products(hd_ctx *cx, hd_tensor *x, int dim, hd_dtype dtype) {
    hd_tensor *dense = hd_contiguous_as(cx, x, dtype);
    hd_tensor *y = dense ? hd_tensor_like(cx, dense) : NULL;
    if (y && hd_numel(y) > 0) {
        product_loop l = {.lines = hd_lines_of(x, dim), .x = hd_data(dense), .y = hd_data(y)};
        l.run = dtype == HD_F32 ? products_f32_task : dtype == HD_F64 ? products_f64_task : products_i64_task;
        if (run(cx, &l, false)) {
            hd_release(y);
            y = NULL;
        }
    }
    hd_release(dense);
    return y;
}

static hd_status slopes(hd_ctx *cx, hd_tensor *x, int dim, hd_tensor *g, hd_tensor *dx, hd_tensor *s) {
    bool single = x->dtype == HD_F32;
    product_loop l = {
        .lines = hd_lines_of(x, dim), .x = hd_data(x), .g = hd_data(g), .y = hd_data(dx), .s = hd_data(s)};
    if (hd_numel(x) == 0) return HD_OK;
    l.run = single ? sums_f32_task : sums_f64_task;
    if (run(cx, &l, true)) return cx->error.status;
    l.run = single ? slopes_f32_task : slopes_f64_task;
    return run(cx, &l, false);
}

static hd_status cumprod_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                  hd_tensor **grad_inputs) {
    /* y[i] = x[1] .. x[i]  ->  dx[k] = (x[1] .. x[k-1]) s[k] */
    if (!grads[0]) return HD_OK;
    int dim;
    memcpy(&dim, node->params, sizeof dim);
    hd_tensor *saved = hd_node_saved(cx, node, 0);
    hd_tensor *x = saved ? hd_contiguous_as(cx, saved, (hd_dtype)saved->dtype) : NULL;
    hd_tensor *g = x ? hd_contiguous_as(cx, grads[0], (hd_dtype)x->dtype) : NULL;
    hd_tensor *s = g ? hd_tensor_new(cx, HD_F64, x->ndim, x->shape) : NULL;
    grad_inputs[0] = s ? hd_tensor_like(cx, x) : NULL;
    hd_status status = grad_inputs[0] ? slopes(cx, x, dim, g, grad_inputs[0], s) : cx->error.status;
    hd_release(x);
    hd_release(g);
    hd_release(s);
    return status;
}
static const hd_node_class cumprod_class = {"cumprod", cumprod_backward, NULL};

hd_tensor *hd_cumprod(hd_ctx *cx, hd_tensor *x, int dim) {
    int d = 0;
    if (hd_check_computes(cx, x) || (x->ndim && hd_check_dim(cx, "dim", dim, x->ndim, &d))) return NULL;
    hd_dtype dtype = hd_dtype_is_float((hd_dtype)x->dtype) ? (hd_dtype)x->dtype : HD_I64;
    return hd_record(cx, &cumprod_class, products(cx, x, d, dtype), 1, &x, 1, &x, &d, sizeof d);
}
