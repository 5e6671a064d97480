/* add_lines.c: lines of a tensor added to the lines of another that an index names, in the order of the index.
 *
 * Many lines are looked at from the side of the result: which are added to this one? Then it is read and written once,
 * whatever the number of threads; and y = x + lines is one pass. Few lines, or short ones, are added one after the other.
 */
#include <string.h>

#include "base/minmax.h"
#include "base/parallel.h"
#include "ops/elementwise/walk.h"
#include "ops/index/indexing.h"
#include "ops/lines.h"

/* Elements a task copies or adds. */
#define GRAIN 32768
/* Of the index, between two looks at the flag that cancels. */
#define SEGMENT (1 << 20)
/* Bytes of a line that are summed in a buffer. */
#define PIECE 2048
#define CACHE_LINE 64

typedef struct adding {
    char *y;         /* [outer][size][inner] */
    const char *x;   /* like y: what is added to; y itself */
    const char *src; /* [outer][count][inner] */
    const int64_t *index;
    int64_t count;
    int64_t first, last; /* the segment of the index */
    hd_lines lines;      /* of y */
    size_t size;
    void (*add)(int64_t n, const void *x, void *y); /* lines, and lines that are single elements */
    void (*add_elements)(const struct adding *l, int64_t outer);
    int64_t block, blocks; /* of columns */
    int64_t *places;       /* places[start[i]] .. places[start[i + 1] - 1]: the lines added to line i */
    int64_t *start;
    const hd_kernels *kernels;
    bool streams; /* y is written past the caches */
} adding;

/* ---- one after the other --------------------------------------------------------------------- */

/* Task: one outer position, one block of columns; a segment of the index in order. */
static void add_lines(void *arg, int64_t task, int worker) {
    (void)worker;
    const adding *l = arg;
    int64_t outer = task / l->blocks, col = task % l->blocks * l->block;
    int64_t n = l->lines.inner - col < l->block ? l->lines.inner - col : l->block;
    for (int64_t p = l->first; p < l->last; p++) {
        int64_t to = outer * l->lines.size + l->index[p] - 1, from = outer * l->count + p;
        l->add(n, l->src + (size_t)(from * l->lines.inner + col) * l->size,
               l->y + (size_t)(to * l->lines.inner + col) * l->size);
    }
}

/* y += x of contiguous elements, for dtypes that have no kernel for it. */
#define ADDING(dtype, type, add)                                                                             \
    static void add_##dtype(int64_t n, const void *px, void *py) {                                           \
        const type *x = px;                                                                                  \
        type *y = py;                                                                                        \
        for (int64_t i = 0; i < n; i++) y[i] = (type)(y[i] add x[i]);                                        \
    }
ADDING(i32, uint32_t, +)
ADDING(u8, uint8_t, +)
ADDING(bool, uint8_t, |)

/* Lines that are single elements: one outer position, a segment of the index. */
#define ADDING_ELEMENTS(dtype, type, add)                                                                    \
    static void add_elements_##dtype(const adding *l, int64_t outer) {                                       \
        const type *x = (const type *)l->src + outer * l->count;                                             \
        type *y = (type *)l->y + outer * l->lines.size - 1;                                                  \
        for (int64_t p = l->first; p < l->last; p++) y[l->index[p]] = (type)(y[l->index[p]] add x[p]);       \
    }
ADDING_ELEMENTS(f32, float, +)
ADDING_ELEMENTS(f64, double, +)
ADDING_ELEMENTS(i64, uint64_t, +)
ADDING_ELEMENTS(i32, uint32_t, +)
ADDING_ELEMENTS(u8, uint8_t, +)
ADDING_ELEMENTS(bool, uint8_t, |)

static void set_adders(const hd_ctx *cx, hd_dtype dtype, adding *l) {
    l->add = cx->kernels->accumulate[dtype];
    switch (dtype) {
    case HD_F32: l->add_elements = add_elements_f32; break;
    case HD_F64: l->add_elements = add_elements_f64; break;
    case HD_I64: l->add_elements = add_elements_i64; break;
    case HD_I32: l->add = add_i32, l->add_elements = add_elements_i32; break;
    case HD_U8: l->add = add_u8, l->add_elements = add_elements_u8; break;
    default: l->add = add_bool, l->add_elements = add_elements_bool;
    }
}

/* Task: outer positions, each with a segment of the index in order. */
static void add_single_elements(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const adding *l = arg;
    for (int64_t outer = first; outer < last; outer++) l->add_elements(l, outer);
}

static hd_status add_in_order(hd_ctx *cx, adding *l) {
    l->block = l->lines.inner < 64 || l->count * l->lines.inner < GRAIN ? l->lines.inner : 64;
    l->blocks = l->block ? (l->lines.inner + l->block - 1) / l->block : 0;
    hd_status status = HD_OK;
    for (l->first = 0; l->first < l->count && !status; l->first += SEGMENT) {
        l->last = hd_min(l->first + SEGMENT, l->count);
        if (l->lines.inner == 1)
            status = hd_parallel_ranges(cx, l->lines.outer, GRAIN / (hd_min(l->count, SEGMENT) + 1) + 1,
                                        add_single_elements, l);
        else
            status = hd_parallel(cx, l->lines.outer * l->blocks, add_lines, l);
    }
    return status;
}

/* ---- from the side of the result ------------------------------------------------------------- */

/* Stable, so that a line's are in order. */
static hd_status sort_places(hd_ctx *cx, adding *l) {
    int64_t size = l->lines.size;
    l->start = hd_alloc(cx, (size_t)(size + 2 + l->count) * sizeof *l->start);
    if (!l->start) return cx->error.status;
    l->places = l->start + size + 2;
    memset(l->start, 0, (size_t)(size + 2) * sizeof *l->start);
    if (cx->skipping) return HD_OK;
    for (int64_t p = 0; p < l->count; p++) {
        if (hd_check_cancel(cx, p)) return cx->error.status;
        l->start[l->index[p] + 1]++;
    }
    for (int64_t i = 0; i < size; i++) l->start[i + 2] += l->start[i + 1];
    for (int64_t p = 0; p < l->count; p++) {
        if (hd_check_cancel(cx, p)) return cx->error.status;
        l->places[l->start[l->index[p]]++] = p;
    }
    return HD_OK;
}

static void ask_for(const char *x, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += CACHE_LINE) __builtin_prefetch(x + at);
}

/* The line at y = the one at x + the n at src[place], bytes long. */
static void sum_line(const adding *l, char *y, const char *x, const char *src, const int64_t *place,
                     int64_t n, int64_t bytes) {
    char piece[PIECE] __attribute__((aligned(CACHE_LINE)));
    for (int64_t at = 0; at < bytes;) {
        int64_t count = PIECE - (int64_t)((uintptr_t)(y + at) % CACHE_LINE);
        if (count > bytes - at) count = bytes - at;
        char *sum = l->streams ? piece : y + at;
        if (sum != x + at) memcpy(sum, x + at, (size_t)count);
        for (int64_t i = 0; i < n; i++) {
            const char *more = src + place[i] * bytes + at;
            l->add(count / (int64_t)l->size, more, sum);
            ask_for(more + count, count);
        }
        if (l->streams) {
            ask_for(x + at + count, count);
            l->kernels->stream((size_t)count, piece, y + at);
        }
        at += count;
    }
}

/* Lines first .. last - 1 of y, of all outer positions. */
static void sum_lines(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const adding *l = arg;
    int64_t bytes = l->lines.inner * (int64_t)l->size;
    for (int64_t line = first; line < last; line++) {
        int64_t outer = line / l->lines.size, to = line % l->lines.size;
        int64_t n = l->start[to + 1] - l->start[to];
        if (n == 0 && l->x == l->y) continue;
        sum_line(l, l->y + line * bytes, l->x + line * bytes, l->src + outer * l->count * bytes,
                 l->places + l->start[to], n, bytes);
    }
    if (l->streams) l->kernels->streamed();
}

static hd_status sum_by_line(hd_ctx *cx, adding *l) {
    hd_status status = sort_places(cx, l);
    int64_t work = l->lines.inner * (1 + l->count / l->lines.size);
    if (!status)
        status = hd_parallel_ranges(cx, l->lines.outer * l->lines.size, GRAIN / work + 1, sum_lines, l);
    hd_free(cx->account, l->start);
    return status;
}

/* ---- both ------------------------------------------------------------------------------------- */

static adding adding_of(hd_ctx *cx, hd_tensor *y, const hd_tensor *x, int dim, const hd_tensor *index,
                        const hd_tensor *src) {
    hd_dtype dtype = (hd_dtype)y->dtype;
    adding l = {.y = hd_data(y),
                .x = hd_data(x),
                .src = hd_data(src),
                .index = hd_data(index),
                .count = hd_numel(index),
                .lines = hd_lines_of(y, dim),
                .size = hd_dtype_size(dtype),
                .kernels = cx->kernels};
    l.streams = x != y && hd_is_streamed(cx, hd_numel(y) * (int64_t)l.size);
    set_adders(cx, dtype, &l);
    return l;
}

static bool is_by_line(const adding *l) {
    return l->lines.inner * (int64_t)l->size >= HD_STREAM_RUN && l->count >= l->lines.size / 8;
}

hd_status hd_add_lines(hd_ctx *cx, hd_tensor *y, int dim, const hd_tensor *index, const hd_tensor *g) {
    if (hd_numel(y) == 0) return HD_OK;
    adding l = adding_of(cx, y, y, dim, index, g);
    return is_by_line(&l) ? sum_by_line(cx, &l) : add_in_order(cx, &l);
}

hd_status hd_sum_lines(hd_ctx *cx, hd_tensor *y, const hd_tensor *x, int dim, const hd_tensor *index,
                       const hd_tensor *g) {
    if (hd_numel(y) == 0) return HD_OK;
    adding l = adding_of(cx, y, x, dim, index, g);
    if (hd_is_contiguous(x) && is_by_line(&l)) return sum_by_line(cx, &l);
    hd_status status = hd_apply_copy(cx, y, x);
    l.x = l.y;
    return status ? status : add_in_order(cx, &l);
}
