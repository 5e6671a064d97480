/* walk.c: walking several strided operands in step. */
#include "ops/elementwise/walk.h"

#include <string.h>

#include "base/parallel.h"

/* A tile of a transposed walk, of AREA bytes an operand: whole cache lines of what lies across, runs long enough for
 * vectors and for memory. */
#define TILE_AREA 8192
#define TILE_COLS 128

/* A result that is streamed is computed in pieces of so many bytes, in a buffer. */
#define STREAM_PIECE 2048
#define LINE 64

/* Below this many elements everything is in the first cache, whichever way it is read. */
#define SMALL_TILES 1024

/* An inner dimension shorter than this is exchanged for a longer one: a call a run costs more than
 * strides. */
#define SHORT_RUN 16

void hd_walk_begin(hd_walk *w, int ndim, const int64_t *shape) {
    w->operands = 0;
    w->ndim = ndim;
    memcpy(w->shape, shape, (size_t)ndim * sizeof *shape);
    w->grain = 0;
    w->max_run = 0;
    w->copies = false;
    w->arg = NULL;
    w->kernels = NULL;
    w->streams = w->transposes = false;
}

void hd_walk_add(hd_walk *w, const hd_tensor *t) {
    int i = w->operands++;
    hd_broadcast_strides(t, w->ndim, w->shape, w->stride[i]);
    w->size[i] = hd_dtype_size((hd_dtype)t->dtype);
    w->data[i] = hd_data(t);
}

void hd_walk_add_raw(hd_walk *w, void *data, size_t size, const int64_t *stride) {
    int i = w->operands++;
    size_t bytes = (size_t)w->ndim * sizeof *stride;
    if (stride)
        memcpy(w->stride[i], stride, bytes);
    else
        memset(w->stride[i], 0, bytes);
    w->size[i] = size;
    w->data[i] = data;
}

/* ---- preparing: fewer dimensions, longer runs ------------------------------------------------ */

static void swap_dims(hd_walk *w, int d, int e) {
    int64_t t = w->shape[d];
    w->shape[d] = w->shape[e], w->shape[e] = t;
    for (int i = 0; i < w->operands; i++) {
        t = w->stride[i][d];
        w->stride[i][d] = w->stride[i][e], w->stride[i][e] = t;
    }
}

static int64_t magnitude(int64_t v) {
    return v < 0 ? -v : v;
}

static void drop_unit_dims(hd_walk *w) {
    int kept = 0;
    for (int d = 0; d < w->ndim; d++) {
        if (w->shape[d] == 1) continue;
        if (kept != d) swap_dims(w, kept, d);
        kept++;
    }
    w->ndim = kept;
}

/* Stable insertion sort of the first ndim dimensions: the operand's largest stride outermost. */
static void follow(hd_walk *w, int operand, int ndim) {
    const int64_t *stride = w->stride[operand];
    for (int d = 1; d < ndim; d++)
        for (int e = d; e > 0 && magnitude(stride[e - 1]) < magnitude(stride[e]); e--) swap_dims(w, e - 1, e);
}

static bool joins(const hd_walk *w, int outer, int inner) {
    for (int i = 0; i < w->operands; i++)
        if (w->stride[i][outer] != w->stride[i][inner] * w->shape[inner]) return false;
    return true;
}

static void coalesce(hd_walk *w) {
    int last = 0;
    for (int d = 1; d < w->ndim; d++) {
        if (joins(w, last, d)) {
            w->shape[last] *= w->shape[d];
            for (int i = 0; i < w->operands; i++) w->stride[i][last] = w->stride[i][d];
        } else {
            last++;
            if (last != d) swap_dims(w, last, d);
        }
    }
    w->ndim = last + 1;
}

/* Where the inner dimension went that a longer one took the place of; -1: it stays. */
static int lengthen_runs(hd_walk *w) {
    int inner = w->ndim - 1, longest = inner;
    if (w->shape[inner] >= SHORT_RUN) return -1;
    for (int d = 0; d < inner; d++)
        if (w->shape[d] > 4 * w->shape[longest]) longest = d;
    if (longest == inner) return -1;
    swap_dims(w, longest, inner);
    return longest;
}

/* The dimension along which some operand is dense that the inner dimension takes in strides; -1: none. */
static int crossing_dim(const hd_walk *w) {
    int inner = w->ndim - 1;
    if (w->shape[inner] < 4) return -1;
    for (int i = 1; i < w->operands; i++) {
        if (magnitude(w->stride[i][inner]) <= 1) continue;
        for (int d = 0; d < inner; d++)
            if (magnitude(w->stride[i][d]) == 1 && w->shape[d] >= 4) return d;
    }
    return -1;
}

/* ---- walking in runs ------------------------------------------------------------------------- */

typedef struct cursor {
    int64_t index[HD_MAX_DIMS];
    char *p[HD_MAX_OPERANDS];
    int64_t step[HD_MAX_OPERANDS]; /* the inner stride in elements */
} cursor;

static void advance(const hd_walk *w, cursor *c, int d, int64_t by) {
    c->index[d] += by;
    for (int i = 0; i < w->operands; i++) c->p[i] += by * w->stride[i][d] * (int64_t)w->size[i];
}

/* The cursor at linear position `at` over the first ndim dimensions. */
static void seek(const hd_walk *w, cursor *c, int ndim, int64_t at) {
    for (int i = 0; i < w->operands; i++) {
        c->p[i] = w->data[i];
        c->step[i] = w->stride[i][w->ndim - 1];
    }
    for (int d = ndim - 1; d >= 0; d--) {
        c->index[d] = 0;
        if (at) advance(w, c, d, at % w->shape[d]);
        at /= w->shape[d];
    }
}

/* After dimension d has run full: the next position of the outer ones. */
static void carry(const hd_walk *w, cursor *c, int d) {
    while (d > 0 && c->index[d] == w->shape[d]) {
        advance(w, c, d, -w->shape[d]);
        advance(w, c, --d, 1);
    }
}

/* As many elements as fill a piece, and end where a cache line of the result does. */
static int64_t piece_of(const hd_walk *w, const char *y) {
    return (int64_t)((STREAM_PIECE - (uintptr_t)y % LINE) / w->size[0]);
}

/* What the next piece reads is on its way while this one is written. Beyond the end nothing happens. */
static void ask_for(const hd_walk *w, int64_t n, char *const *p, const int64_t *step) {
    for (int i = 1; i < w->operands; i++) {
        if (step[i] != 1) continue;
        for (int64_t at = 0; at < n * (int64_t)w->size[i]; at += LINE) __builtin_prefetch(p[i] + at);
    }
}

/* A run into a buffer, piece by piece, and from there past the caches. */
static void run_streamed(const hd_walk *w, int64_t n, char *const *p, const int64_t *step) {
    char piece[STREAM_PIECE] __attribute__((aligned(LINE)));
    char *q[HD_MAX_OPERANDS];
    memcpy(q, p, (size_t)w->operands * sizeof *q);
    char *y = q[0];
    while (n > 0) {
        int64_t count = piece_of(w, y);
        if (count > n) count = n;
        q[0] = piece;
        w->run(w->arg, count, q, step);
        for (int i = 1; i < w->operands; i++) q[i] += count * step[i] * (int64_t)w->size[i];
        ask_for(w, count, q, step);
        w->kernels->stream((size_t)count * w->size[0], piece, y);
        n -= count;
        y += count * (int64_t)w->size[0];
    }
}

static bool is_worth_streaming(const hd_walk *w, int64_t n, int64_t y_step) {
    return w->streams && y_step == 1 && n * (int64_t)w->size[0] >= HD_STREAM_RUN;
}

static void run(const hd_walk *w, int64_t n, char *const *p, const int64_t *step) {
    if (!is_worth_streaming(w, n, step[0]))
        w->run(w->arg, n, p, step);
    else if (w->copies && step[1] == 1)
        w->kernels->stream((size_t)n * w->size[0], p[1], p[0]);
    else if (w->copies && step[1] == -1)
        w->kernels->stream_back[hd_size_class(w->size[0])](n, p[1], p[0]);
    else
        run_streamed(w, n, p, step);
}

static void finish(const hd_walk *w) {
    if (w->streams) w->kernels->streamed();
}

static void walk_range(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const hd_walk *w = arg;
    int inner = w->ndim - 1;
    cursor c;
    seek(w, &c, w->ndim, first);
    while (first < last) {
        int64_t n = w->shape[inner] - c.index[inner];
        if (n > last - first) n = last - first;
        if (w->max_run && n > w->max_run) n = w->max_run;
        run(w, n, c.p, c.step);
        first += n;
        if (first == last) break;
        advance(w, &c, inner, n);
        carry(w, &c, inner);
    }
    finish(w);
}

/* ---- walking in tiles: the last two dimensions are rows and columns -------------------------- */

typedef struct tile {
    int64_t rows, n;
    char *p[HD_MAX_OPERANDS];
    int64_t step[HD_MAX_OPERANDS], row_step[HD_MAX_OPERANDS]; /* elements */
} tile;

static bool lies_across(const tile *t, int i) {
    return t->row_step[i] == 1 && magnitude(t->step[i]) > 1;
}

/* Its rows lie behind each other: one long row. */
static bool is_one_run(const hd_walk *w, const tile *t) {
    for (int i = 0; i < w->operands; i++)
        if (t->row_step[i] != t->n * t->step[i]) return false;
    return w->max_run == 0 || t->rows * t->n <= w->max_run;
}

static void run_rows(const hd_walk *w, const tile *t) {
    if (is_one_run(w, t)) {
        w->run(w->arg, t->rows * t->n, t->p, t->step);
        return;
    }
    char *p[HD_MAX_OPERANDS];
    memcpy(p, t->p, sizeof p);
    for (int64_t r = 0; r < t->rows; r++) {
        w->run(w->arg, t->n, p, t->step);
        for (int i = 0; i < w->operands; i++) p[i] += t->row_step[i] * (int64_t)w->size[i];
    }
}

/* Scratch for a tile of each operand. They lie so that what is read is not taken for what was just written, of which the
 * processor compares the last 12 bits of the address first. */
typedef struct tile_scratch {
    char operand[HD_MAX_OPERANDS][TILE_AREA + 2 * LINE];
} __attribute__((aligned(LINE))) tile_scratch;

static void transpose(const hd_walk *w, const tile *t, int i, char *y, int64_t y_row) {
    w->kernels->transpose[hd_size_class(w->size[i])](t->rows, t->n, t->p[i], t->step[i], y, y_row);
}

/* Operands that lie across are transposed first: kernels then run on dense rows. */
static void compute_tile(const hd_walk *w, tile *t, tile_scratch *scratch) {
    if (w->transposes && w->copies && lies_across(t, 1) && t->step[0] == 1) {
        transpose(w, t, 1, t->p[0], t->row_step[0]);
        return;
    }
    for (int i = 1; i < w->operands && w->transposes; i++) {
        if (!lies_across(t, i)) continue;
        transpose(w, t, i, scratch->operand[i], t->n);
        t->p[i] = scratch->operand[i];
        t->step[i] = 1;
        t->row_step[i] = t->n;
    }
    run_rows(w, t);
}

static void compute_tile_streamed(const hd_walk *w, tile *t, tile_scratch *scratch) {
    char *y = t->p[0], *rows = scratch->operand[0];
    int64_t y_row = t->row_step[0] * (int64_t)w->size[0];
    size_t bytes = (size_t)t->n * w->size[0];
    t->p[0] = rows;
    t->row_step[0] = t->n;
    compute_tile(w, t, scratch);
    for (int64_t r = 0; r < t->rows; r++) w->kernels->stream(bytes, rows + (size_t)r * bytes, y + r * y_row);
}

static int64_t at_most(int64_t v, int64_t limit) {
    return v < limit ? v : limit;
}

static void walk_tile(const hd_walk *w, const cursor *c, int64_t row, int64_t col) {
    int outer = w->ndim - 2, inner = w->ndim - 1;
    tile_scratch scratch;
    tile t = {.rows = at_most(w->shape[outer] - row, w->tile_rows),
              .n = at_most(w->shape[inner] - col, w->tile_cols)};
    for (int i = 0; i < w->operands; i++) {
        t.row_step[i] = w->stride[i][outer];
        t.step[i] = w->stride[i][inner];
        t.p[i] = c->p[i] + (row * t.row_step[i] + col * t.step[i]) * (int64_t)w->size[i];
    }
    if (is_worth_streaming(w, t.n, t.step[0]))
        compute_tile_streamed(w, &t, &scratch);
    else
        compute_tile(w, &t, &scratch);
}

static int64_t tiles_down(const hd_walk *w) {
    return (w->shape[w->ndim - 2] + w->tile_rows - 1) / w->tile_rows;
}
static int64_t tiles_across(const hd_walk *w) {
    return (w->shape[w->ndim - 1] + w->tile_cols - 1) / w->tile_cols;
}

/* Down first: what lies across is read as memory has it. */
static void walk_tiles(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const hd_walk *w = arg;
    int64_t down = tiles_down(w), across = tiles_across(w);
    cursor c;
    for (int64_t t = first; t < last; t++) {
        if (t == first || t % (down * across) == 0) seek(w, &c, w->ndim - 2, t / (down * across));
        walk_tile(w, &c, t % down * w->tile_rows, t / down % across * w->tile_cols);
    }
    finish(w);
}

/* Whole lines of the narrowest operand that lies across, in tiles that hold no more than an area of the widest. */
static void choose_tiles(hd_walk *w) {
    int outer = w->ndim - 2, inner = w->ndim - 1;
    size_t narrow = sizeof(uint64_t), wide = 1;
    for (int i = 0; i < w->operands; i++) {
        if (i > 0 && w->stride[i][outer] == 1 && magnitude(w->stride[i][inner]) > 1 && w->size[i] < narrow)
            narrow = w->size[i];
        if (w->size[i] > wide) wide = w->size[i];
    }
    w->tile_rows = narrow < 4 ? LINE / (int64_t)narrow : 16;
    w->tile_cols = at_most(TILE_COLS, TILE_AREA / (int64_t)wide / w->tile_rows);
}

static int64_t walk_size(const hd_walk *w) {
    int64_t n = 1;
    for (int d = 0; d < w->ndim; d++) n *= w->shape[d];
    return n;
}

static bool is_in_place(const hd_walk *w) {
    for (int i = 1; i < w->operands; i++)
        if (w->data[i] == w->data[0]) return true;
    return false;
}

/* dim becomes the rows of tiles. */
static hd_status walk_in_tiles(hd_ctx *cx, hd_walk *w, int dim, int64_t total, int64_t grain) {
    for (int d = dim; d < w->ndim - 2; d++) swap_dims(w, d, d + 1);
    choose_tiles(w);
    int64_t rows = w->shape[w->ndim - 2], cols = w->shape[w->ndim - 1];
    int64_t tiles = total / (rows * cols) * tiles_down(w) * tiles_across(w);
    int64_t per_task = (grain + w->tile_rows * w->tile_cols - 1) / (w->tile_rows * w->tile_cols);
    if (tiles > per_task) return hd_parallel_ranges(cx, tiles, per_task, walk_tiles, w);
    walk_tiles(w, 0, tiles, 0);
    return HD_OK;
}

hd_status hd_walk_run(hd_ctx *cx, hd_walk *w) {
    int64_t total = walk_size(w);
    if (total == 0) return HD_OK;
    drop_unit_dims(w);
    if (w->ndim == 0) {
        w->ndim = 1;
        w->shape[0] = 1;
        for (int i = 0; i < w->operands; i++) w->stride[i][0] = 0;
    }
    if (w->ndim > 1) {
        follow(w, 0, w->ndim);
        coalesce(w);
    }
    int64_t grain = w->grain ? w->grain : HD_GRAIN_LIGHT;
    w->kernels = cx->kernels;
    w->streams = hd_is_streamed(cx, total * (int64_t)w->size[0]) && !is_in_place(w);
    int crossing = w->ndim > 1 && total >= SMALL_TILES ? crossing_dim(w) : -1;
    w->transposes = crossing >= 0;
    if (w->transposes) return walk_in_tiles(cx, w, crossing, total, grain);
    /* In tiles as well: the runs side by side meet the same lines, which stay in the cache for so long. */
    int shortest = w->ndim > 1 ? lengthen_runs(w) : -1;
    w->streams &= grain > HD_GRAIN_HEAVY; /* what computes has time to read lines: a buffer would cost more */
    if (shortest >= 0 && total >= SMALL_TILES) return walk_in_tiles(cx, w, shortest, total, grain);
    /* Lines that are not read may be written in any order; what is read wants its own. */
    if (w->ndim > 2 && is_worth_streaming(w, w->shape[w->ndim - 1], w->stride[0][w->ndim - 1]))
        follow(w, 1, w->ndim - 1);
    if (total > grain) return hd_parallel_ranges(cx, total, grain, walk_range, w);
    walk_range(w, 0, total, 0);
    return HD_OK;
}

/* ---- the usual walks ------------------------------------------------------------------------- */

static void run_unary(const void *arg, int64_t n, char *const *p, const int64_t *s) {
    (*(const hd_unary_fn *)arg)(n, p[1], s[1], p[0], s[0]);
}

static void run_binary(const void *arg, int64_t n, char *const *p, const int64_t *s) {
    (*(const hd_binary_fn *)arg)(n, p[1], s[1], p[2], s[2], p[0], s[0]);
}

static bool is_small_and_dense(const hd_tensor *y, int64_t grain, int64_t *n) {
    *n = hd_numel(y);
    return *n <= grain && hd_is_contiguous(y);
}

static bool is_dense_like(const hd_tensor *x, const hd_tensor *y) {
    return hd_same_shape(x, y) && hd_is_contiguous(x);
}

hd_status hd_apply_unary(hd_ctx *cx, hd_unary_fn f, int64_t grain, hd_tensor *y, const hd_tensor *x) {
    int64_t n;
    if (is_small_and_dense(y, grain, &n) && is_dense_like(x, y)) {
        f(n, hd_data(x), 1, hd_data(y), 1);
        return HD_OK;
    }
    hd_walk w;
    hd_walk_begin(&w, y->ndim, y->shape);
    hd_walk_add(&w, y);
    hd_walk_add(&w, x);
    w.grain = grain;
    w.run = run_unary;
    w.arg = &f;
    return hd_walk_run(cx, &w);
}

hd_status hd_apply_binary(hd_ctx *cx, hd_binary_fn f, int64_t grain, hd_tensor *y, const hd_tensor *a,
                          const hd_tensor *b) {
    int64_t n;
    if (is_small_and_dense(y, grain, &n) && is_dense_like(a, y) && is_dense_like(b, y)) {
        f(n, hd_data(a), 1, hd_data(b), 1, hd_data(y), 1);
        return HD_OK;
    }
    hd_walk w;
    hd_walk_begin(&w, y->ndim, y->shape);
    hd_walk_add(&w, y);
    hd_walk_add(&w, a);
    hd_walk_add(&w, b);
    w.grain = grain;
    w.run = run_binary;
    w.arg = &f;
    return hd_walk_run(cx, &w);
}

hd_status hd_apply_scalar(hd_ctx *cx, hd_binary_fn f, int64_t grain, hd_tensor *y, const hd_tensor *x,
                          const void *s, bool scalar_first) {
    int64_t n;
    if (is_small_and_dense(y, grain, &n) && is_dense_like(x, y)) {
        if (scalar_first)
            f(n, s, 0, hd_data(x), 1, hd_data(y), 1);
        else
            f(n, hd_data(x), 1, s, 0, hd_data(y), 1);
        return HD_OK;
    }
    hd_walk w;
    hd_walk_begin(&w, y->ndim, y->shape);
    hd_walk_add(&w, y);
    if (scalar_first) hd_walk_add_raw(&w, (void *)s, hd_dtype_size((hd_dtype)x->dtype), NULL);
    hd_walk_add(&w, x);
    if (!scalar_first) hd_walk_add_raw(&w, (void *)s, hd_dtype_size((hd_dtype)x->dtype), NULL);
    w.grain = grain;
    w.run = run_binary;
    w.arg = &f;
    return hd_walk_run(cx, &w);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void run_copy(const void *arg, int64_t n, char *const *p, const int64_t *s) {
    (*(const hd_copy_fn *)arg)(n, p[1], s[1], p[0], s[0]);
}

hd_status hd_apply_copy(hd_ctx *cx, hd_tensor *y, const hd_tensor *source) {
    hd_dtype from = (hd_dtype)source->dtype, to = (hd_dtype)y->dtype;
    if (from != to) return hd_apply_unary(cx, cx->kernels->cast[from][to], HD_GRAIN_LIGHT, y, source);
    hd_copy_fn copy = cx->kernels->copy[hd_size_class(hd_dtype_size(to))];
    hd_walk w;
    hd_walk_begin(&w, y->ndim, y->shape);
    hd_walk_add(&w, y);
    hd_walk_add(&w, source);
    w.run = run_copy;
    w.arg = &copy;
    w.copies = true;
    return hd_walk_run(cx, &w);
}
