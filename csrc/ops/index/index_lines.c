/* index_lines.c: lines of an index, some at a time. */
#include "ops/index/index_lines.h"

#include "base/minmax.h"
#include "base/parallel.h"
#include "ops/lines.h"

#define GRAIN 16384       /* elements a task moves */
#define SEGMENT (1 << 20) /* elements of a line between two looks at the flag that cancels */

typedef struct pass {
    hd_lines_pass lines_pass;
    hd_lines lines;      /* of the index */
    int64_t blocks;      /* of columns */
    int64_t first, last; /* the segment of each line */
} pass;

/* Where position `flat` of the index' dimensions first .. last - 1 lies in t. */
static int64_t place_of(const hd_tensor *index, const hd_tensor *t, int first, int last, int64_t flat) {
    int64_t at = 0;
    for (int d = last - 1; d >= first; d--) {
        at += flat % index->shape[d] * t->stride[d];
        flat /= index->shape[d];
    }
    return at;
}

static char *start_of(const hd_lines_pass *p, const hd_tensor *t, int64_t outer) {
    return (char *)hd_data(t) +
           place_of(p->index, t, 0, p->dim, outer) * (int64_t)hd_dtype_size((hd_dtype)t->dtype);
}

static void reverse(hd_line *l, size_t list_size) {
    l->index += (l->size - 1) * l->index_step;
    l->list += (l->size - 1) * l->list_step * (int64_t)list_size;
    l->other += (l->size - 1) * l->list_step * (int64_t)list_size;
    l->index_step = -l->index_step;
    l->list_step = -l->list_step;
}

/* The line from element `first` on. */
static void skip(hd_line *l, int64_t first, size_t list_size) {
    l->index += first * l->index_step;
    l->list += first * l->list_step * (int64_t)list_size;
    l->other += first * l->list_step * (int64_t)list_size;
}

static void run_some(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const pass *q = arg;
    const hd_lines_pass *p = &q->lines_pass;
    const hd_tensor *index = p->index;
    for (int64_t task = first; task < last; task++) {
        int64_t outer = task / q->blocks, column = task % q->blocks * HD_LINE_COLUMNS,
                left = q->lines.inner - column;
        hd_line l = {.index =
                         (const int64_t *)hd_data(index) + outer * q->lines.size * q->lines.inner + column,
                     .size = q->last - q->first,
                     .index_step = q->lines.inner,
                     .columns = left < HD_LINE_COLUMNS ? (int)left : HD_LINE_COLUMNS,
                     .list = start_of(p, p->list, outer),
                     .table = start_of(p, p->table, outer),
                     .other = start_of(p, p->other ? p->other : p->list, outer),
                     .list_step = p->list->stride[p->dim],
                     .table_step = p->table->stride[p->dim]};
        for (int c = 0; c < l.columns; c++) {
            l.list_at[c] = place_of(index, p->list, p->dim + 1, index->ndim, column + c);
            l.table_at[c] = place_of(index, p->table, p->dim + 1, index->ndim, column + c);
        }
        skip(&l, q->first, hd_dtype_size((hd_dtype)p->list->dtype));
        if (p->backwards) reverse(&l, hd_dtype_size((hd_dtype)p->list->dtype));
        p->run(&l);
    }
}

hd_status hd_run_lines(hd_ctx *cx, hd_lines_pass p) {
    if (hd_numel(p.index) == 0) return HD_OK;
    pass q = {.lines_pass = p, .lines = hd_lines_of(p.index, p.dim)};
    q.blocks = (q.lines.inner + HD_LINE_COLUMNS - 1) / HD_LINE_COLUMNS;
    int64_t columns = q.lines.inner < HD_LINE_COLUMNS ? q.lines.inner : HD_LINE_COLUMNS;
    int64_t size = q.lines.size, segments = (size + SEGMENT - 1) / SEGMENT;
    hd_status status = HD_OK;
    for (int64_t k = 0; k < segments && !status; k++) {
        q.first = (p.backwards ? segments - 1 - k : k) * SEGMENT;
        q.last = hd_min(q.first + SEGMENT, size);
        int64_t grain = GRAIN / (hd_min(size, SEGMENT) * columns) + 1;
        status = hd_parallel_ranges(cx, q.lines.outer * q.blocks, grain, run_some, &q);
    }
    return status;
}

/* As many dimensions, and none but `dim` longer. */
hd_status hd_check_fits(hd_ctx *cx, const hd_tensor *index, const hd_tensor *x, int dim) {
    bool fits = index->ndim == x->ndim;
    for (int d = 0; fits && d < x->ndim; d++) fits = d == dim || index->shape[d] <= x->shape[d];
    if (fits) return HD_OK;
    char got[HD_SHAPE_TEXT], of[HD_SHAPE_TEXT];
    return hd_fail(cx, HD_EARG, "index: expected a shape that fits into %s in all dimensions but %d, got %s",
                   hd_tensor_shape_text(x, of), dim + 1, hd_tensor_shape_text(index, got));
}

hd_status hd_check_scatter(hd_ctx *cx, const hd_tensor *x, int dim, const hd_tensor *index,
                           const hd_tensor *src) {
    if (hd_check_fits(cx, index, x, dim)) return cx->error.status;
    bool fits = index->ndim == src->ndim;
    for (int d = 0; fits && d < src->ndim; d++) fits = index->shape[d] <= src->shape[d];
    if (fits) return HD_OK;
    char got[HD_SHAPE_TEXT], of[HD_SHAPE_TEXT];
    return hd_fail(cx, HD_EARG, "src: expected at least the index' shape %s, got %s",
                   hd_tensor_shape_text(index, of), hd_tensor_shape_text(src, got));
}
