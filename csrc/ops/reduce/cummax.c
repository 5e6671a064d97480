/* cummax.c: running extremes, and where they are. Of equals the last counts; NaN is larger and smaller than
 * all, and stays.
 *
 *     y[i] = x[index[i]]  ->  dx[k] = the sum of all g[i] with index[i] = k
 */
#include <string.h>

#include "base/minmax.h"
#include "base/parallel.h"
#include "ops/elementwise/cast.h"
#include "ops/elementwise/scalar.h"
#include "ops/gradient.h"
#include "ops/lines.h"

#define COLUMNS 64        /* of a task of backward */
#define SEGMENT (1 << 20) /* elements of a line between two looks at the flag that cancels */

typedef struct extreme_loop {
    hd_lines lines;
    hd_dtype dtype;
    bool smallest;
    const void *x; /* of backward: g */
    void *y;       /* dx */
    int64_t *index;
    int64_t first, last; /* the segment */
} extreme_loop;

/* Elements of a line, which are neighbours; and lines of one outer index, row after row: line_f32 line_f64
 * line_i64 line_i32 line_u8 rows_f32 rows_f64 rows_i64 rows_i32 rows_u8 */
#define EXTREMES_OF(name, type)                                                                              \
    static inline bool replaces_##name(type now, type best, bool smallest) {                                 \
        return now != now || (smallest ? now <= best : now >= best);                                         \
    }                                                                                                        \
    static void line_##name(const extreme_loop *l, int64_t outer) {                                          \
        int64_t start = outer * l->lines.size, from = hd_max(l->first, 1);                                   \
        const type *x = (const type *)l->x + start;                                                          \
        type *y = (type *)l->y + start;                                                                      \
        int64_t *index = l->index + start;                                                                   \
        if (l->first == 0) y[0] = x[0], index[0] = 1;                                                        \
        type best = y[from - 1];                                                                             \
        int64_t at = index[from - 1];                                                                        \
        for (int64_t i = from; i < l->last; i++) {                                                           \
            if (replaces_##name(x[i], best, l->smallest)) best = x[i], at = i + 1;                           \
            y[i] = best, index[i] = at;                                                                      \
        }                                                                                                    \
    }                                                                                                        \
    static void rows_##name(const extreme_loop *l, int64_t outer) {                                          \
        int64_t inner = l->lines.inner, start = outer * l->lines.size * inner;                               \
        for (int64_t i = l->first; i < l->last; i++) {                                                       \
            const type *x = (const type *)l->x + start + i * inner;                                          \
            type *y = (type *)l->y + start + i * inner;                                                      \
            int64_t *index = l->index + start + i * inner;                                                   \
            for (int64_t j = 0; j < inner; j++) {                                                            \
                bool wins = i == 0 || replaces_##name(x[j], y[j - inner], l->smallest);                      \
                y[j] = wins ? x[j] : y[j - inner];                                                           \
                index[j] = wins ? i + 1 : index[j - inner];                                                  \
            }                                                                                                \
        }                                                                                                    \
    }
EXTREMES_OF(f32, float)
EXTREMES_OF(f64, double)
EXTREMES_OF(i64, int64_t)
EXTREMES_OF(i32, int32_t)
EXTREMES_OF(u8, uint8_t) /* of bool too */

#define RUN(name) (l->lines.inner == 1 ? line_##name : rows_##name)(l, outer)

static void run_extremes(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const extreme_loop *l = arg;
    for (int64_t outer = first; outer < last; outer++) switch (l->dtype) {
        case HD_F32: RUN(f32); break;
        case HD_F64: RUN(f64); break;
        case HD_I64: RUN(i64); break;
        case HD_I32: RUN(i32); break;
        default: RUN(u8);
        }
}

/* Columns of a block, from the last element on: what goes to one element comes in a row, and is summed in
 * f64. */
#define SLOPES_OF(name, type)                                                                                \
    static void slopes_##name(const extreme_loop *l, int64_t start, int64_t columns) {                       \
        int64_t inner = l->lines.inner;                                                                      \
        const type *g = (const type *)l->x + start;                                                          \
        type *dx = (type *)l->y + start;                                                                     \
        const int64_t *index = l->index + start;                                                             \
        double sum[COLUMNS] = {0};                                                                           \
        for (int64_t i = l->lines.size - 1; i >= 0; i--)                                                     \
            for (int64_t j = 0, to = i * inner; j < columns; j++, to++) {                                    \
                sum[j] += (double)g[to];                                                                     \
                dx[to] = 0;                                                                                  \
                if (i > 0 && index[to - inner] == index[to]) continue;                                       \
                dx[(index[to] - 1) * inner + j] = (type)sum[j];                                              \
                sum[j] = 0;                                                                                  \
            }                                                                                                \
    }
SLOPES_OF(f32, float)
SLOPES_OF(f64, double)

static void run_slopes(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const extreme_loop *l = arg;
    int64_t inner = l->lines.inner, blocks = (inner + COLUMNS - 1) / COLUMNS;
    for (int64_t task = first; task < last; task++) {
        int64_t column = task % blocks * COLUMNS, start = task / blocks * l->lines.size * inner + column;
        (l->dtype == HD_F32 ? slopes_f32 : slopes_f64)(l, start, hd_min(inner - column, COLUMNS));
    }
}

typedef struct extreme_params {
    int dim;
} extreme_params;

static hd_status extreme_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                  hd_tensor **grad_inputs) {
    /* y[i] = x[index[i]]  ->  dx[k] = the sum of all g[i] with index[i] = k */
    if (!grads[0]) return HD_OK;
    hd_tensor *index = hd_node_saved(cx, node, 0);
    if (!index) return cx->error.status;
    const extreme_params *p = (const extreme_params *)node->params;
    hd_tensor *g = hd_contiguous_as(cx, grads[0], hd_node_input(node, 0).dtype);
    hd_tensor *dx = g ? hd_tensor_like(cx, g) : NULL;
    grad_inputs[0] = dx;
    hd_status status = hd_made(cx, dx);
    if (!status && hd_numel(dx) > 0) {
        extreme_loop l = {.lines = hd_lines_of(g, p->dim),
                          .dtype = (hd_dtype)g->dtype,
                          .x = hd_data(g),
                          .y = hd_data(dx),
                          .index = hd_data(index)};
        int64_t blocks = (l.lines.inner + COLUMNS - 1) / COLUMNS;
        int64_t grain = HD_GRAIN_LIGHT / (l.lines.size * hd_min(l.lines.inner, COLUMNS)) + 1;
        status = hd_parallel_ranges(cx, l.lines.outer * blocks, grain, run_slopes, &l);
    }
    hd_release(g);
    return status;
}
static const hd_node_class cummax_class = {"cummax", extreme_backward, NULL};
static const hd_node_class cummin_class = {"cummin", extreme_backward, NULL};

static hd_status extremes(hd_ctx *cx, extreme_loop *l) {
    hd_status status = HD_OK;
    int64_t size = l->lines.size, grain = HD_GRAIN_LIGHT / (hd_min(size, SEGMENT) * l->lines.inner) + 1;
    for (l->first = 0; l->first < size && !status; l->first += SEGMENT) {
        l->last = hd_min(l->first + SEGMENT, size);
        status = hd_parallel_ranges(cx, l->lines.outer, grain, run_extremes, l);
    }
    return status;
}

hd_status hd_cummax(hd_ctx *cx, hd_tensor *x, int dim, bool smallest, hd_tensor **values,
                    hd_tensor **indices) {
    int d = 0;
    if (hd_check_computes(cx, x) || (x->ndim && hd_check_dim(cx, "dim", dim, x->ndim, &d)))
        return cx->error.status;
    hd_tensor *dense = hd_contiguous_as(cx, x, (hd_dtype)x->dtype);
    hd_tensor *y = dense ? hd_tensor_like(cx, dense) : NULL;
    hd_tensor *index = y ? hd_tensor_new(cx, HD_I64, x->ndim, x->shape) : NULL;
    hd_status status = hd_made(cx, index);
    if (!status && hd_numel(x) > 0) {
        extreme_loop l = {.lines = hd_lines_of(x, d),
                          .dtype = (hd_dtype)x->dtype,
                          .smallest = smallest,
                          .x = hd_data(dense),
                          .y = hd_data(y),
                          .index = hd_data(index)};
        status = extremes(cx, &l);
    }
    hd_release(dense);
    if (!status && hd_dtype_is_float((hd_dtype)x->dtype)) {
        extreme_params params = {d};
        y = hd_record(cx, smallest ? &cummin_class : &cummax_class, y, 1, &x, 1, &index, &params,
                      sizeof params);
        status = hd_made(cx, y);
    }
    if (status) {
        hd_release(y);
        hd_release(index);
        return status;
    }
    *values = y;
    *indices = index;
    return HD_OK;
}
