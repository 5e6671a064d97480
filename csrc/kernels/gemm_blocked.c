/* gemm_blocked.c: large products. A task is a block of c:
 *
 *     for each part of k (depth)
 *         pack the rows of a: [row_end - row][depth], stays in the second-level cache
 *         for each panel of nr columns
 *             pack the panel of b: [depth][nr], stays in the first-level cache
 *             for each mr rows: one register tile of c
 *
 * An operand that caches well where it lies is not packed. Tasks share nothing, so no thread waits for
 * another.
 */
#include "kernels/gemm_tile.h"

#include "base/parallel.h"
#include "kernels/gemm_loops.h"

#define MOST_COLUMNS 1024 /* of a task */
#define MOST_TASKS 16     /* for each thread, unless the caches want more */
#define PACKING 12.0      /* packing an element takes as long as this many products */
#define LATENESS 0.2      /* of a task */
#define PACK_STRETCH 64

typedef struct blocked {
    const hd_gemm_tile *t;
    const hd_gemm *g;
    int64_t rows, columns, depth; /* of the largest task, and of k at a time */
    int64_t row_blocks, column_blocks;
    bool a_as_it_lies, b_as_it_lies;
    int64_t a_panel_bytes;
    char *scratch; /* for each worker: the block of a, then a panel of b */
    int64_t b_offset, scratch_stride;
} blocked;

/* ---- fetching ahead ---------------------------------------------------------------------------------- */

/* The rows and columns that will be packed next are prefetched into the second-level cache, a few lines
 * with each register tile, so that packing does not wait for memory. */
typedef struct ahead {
    const char *row;
    int64_t stride, row_lines, rows; /* bytes, cache lines, rows left */
    int64_t line;                    /* in this row */
    int64_t each;                    /* lines with each tile */
} ahead;

/* rows x columns of a matrix from (row, column) on, to be fetched along with `tiles` tiles. */
static ahead fetch_with(const hd_gemm *g, const hd_matrix *x, int64_t entry, int64_t row, int64_t column,
                        int64_t rows, int64_t columns, int64_t tiles) {
    const int64_t size = hd_gemm_size(g);
    const bool by_rows = x->col_stride == 1;
    if (!by_rows && x->row_stride != 1) return (ahead){0};
    const int64_t length = by_rows ? columns : rows;
    ahead a = {.row = hd_gemm_at(g, x, entry, row, column),
               .stride = (by_rows ? x->row_stride : x->col_stride) * size,
               .row_lines = hd_pieces(length * size, 64),
               .rows = by_rows ? rows : columns};
    a.each = hd_pieces(a.row_lines * a.rows, tiles > 0 ? tiles : 1);
    return a;
}

static inline void fetch_some(ahead *a) {
    for (int64_t i = 0; i < a->each && a->rows > 0; i++) {
        __builtin_prefetch(a->row + 64 * a->line, 0, 2);
        if (++a->line < a->row_lines) continue;
        a->line = 0;
        a->row += a->stride;
        a->rows--;
    }
}

/* ---- a task ---------------------------------------------------------------------------------- */

/* If neighbouring rows are neighbours in memory, a cache line holds parts of two panels. So all panels are
 * packed for a short part of k before the next part, while the line is still in the cache. */
static void pack_rows(const blocked *d, const hd_gemm_block *w, int64_t p, int64_t k, char *to) {
    const hd_gemm *g = d->g;
    const int64_t mr = d->t->mr, size = hd_gemm_size(g), stretch = g->a.row_stride == 1 ? PACK_STRETCH : k;
    for (int64_t q = 0; q < k; q += stretch) {
        char *panel = to + q * mr * size;
        const int64_t part = hd_min(stretch, k - q);
        for (int64_t i = w->row; i < w->row_end; i += mr, panel += d->a_panel_bytes) {
            const int64_t m = hd_min(mr, w->row_end - i);
            if (g->a_panels)
                g->a_panels->write(g->a_panels->source, w->entry, i, m, p + q, part, mr, panel);
            else
                d->t->pack(mr, m, part, hd_gemm_at(g, &g->a, w->entry, i, p + q), g->a.row_stride,
                           g->a.col_stride, panel);
        }
    }
}

/* The panel of n columns of b from column j on. */
static void pack_columns(const blocked *d, int64_t entry, int64_t j, int64_t n, int64_t p, int64_t k,
                         char *to) {
    const hd_gemm *g = d->g;
    if (g->b_panels)
        g->b_panels->write(g->b_panels->source, entry, j, n, p, k, d->t->nr, to);
    else
        d->t->pack(d->t->nr, n, k, hd_gemm_at(g, &g->b, entry, p, j), g->b.col_stride, g->b.row_stride, to);
}

/* The rows of a task: packed, or where they lie. */
typedef struct rows_of_a {
    const char *first;
    int64_t panel_bytes, rs, cs;
} rows_of_a;

static rows_of_a rows_for(const blocked *d, const hd_gemm_block *w, int64_t p, int64_t k, char *scratch) {
    const hd_matrix *a = &d->g->a;
    if (d->a_as_it_lies)
        return (rows_of_a){hd_gemm_at(d->g, a, w->entry, w->row, p),
                           d->t->mr * a->row_stride * hd_gemm_size(d->g), a->row_stride, a->col_stride};
    pack_rows(d, w, p, k, scratch);
    return (rows_of_a){scratch, d->a_panel_bytes, 1, d->t->mr};
}

static void multiply(const blocked *d, const hd_gemm_block *w, int64_t p, int64_t k, rows_of_a a, char *b) {
    const hd_gemm *g = d->g;
    const hd_gemm_tile *t = d->t;
    const double beta = p == 0 ? g->beta : 1;
    const int64_t panels = hd_pieces(w->row_end - w->row, t->mr), next_k = hd_min(d->depth, g->k - p - k);
    ahead rows = fetch_with(g, &g->a, w->entry, w->row, p + k, w->row_end - w->row, next_k,
                            panels * hd_pieces(w->column_end - w->column, t->nr));
    for (int64_t j = w->column; j < w->column_end; j += t->nr) {
        const int64_t n = hd_min(t->nr, w->column_end - j);
        const char *columns_of_b = b;
        int64_t b_rs = t->nr;
        if (d->b_as_it_lies)
            columns_of_b = hd_gemm_at(g, &g->b, w->entry, p, j), b_rs = g->b.row_stride;
        else
            pack_columns(d, w->entry, j, n, p, k, b);
        ahead columns =
            j + n < w->column_end
                ? fetch_with(g, &g->b, w->entry, p, j + n, k, hd_min(t->nr, w->column_end - j - n), panels)
                : fetch_with(g, &g->b, w->entry, p + k, w->column, next_k, t->nr, panels);
        const char *panel = a.first;
        for (int64_t i = w->row; i < w->row_end; i += t->mr, panel += a.panel_bytes) {
            fetch_some(&rows);
            fetch_some(&columns);
            hd_gemm_emit(t, g, w->entry, i, j, hd_min(t->mr, w->row_end - i), n, k, panel, a.rs, a.cs,
                         columns_of_b, b_rs, beta);
        }
    }
}

/* Where block i of `blocks` begins. Blocks are whole tiles and as even as possible, because the last thread
 * determines the time. */
static int64_t block_start(int64_t length, int64_t tile, int64_t blocks, int64_t i) {
    return hd_min(hd_pieces(length, tile) * i / blocks * tile, length);
}

static void run_task(void *arg, int64_t task, int worker) {
    const blocked *d = arg;
    const hd_gemm *g = d->g;
    const int64_t rest = task / d->column_blocks, row = rest % d->row_blocks,
                  column = task % d->column_blocks;
    const hd_gemm_block w = {.entry = rest / d->row_blocks,
                             .row = block_start(g->m, d->t->mr, d->row_blocks, row),
                             .row_end = block_start(g->m, d->t->mr, d->row_blocks, row + 1),
                             .column = block_start(g->n, d->t->nr, d->column_blocks, column),
                             .column_end = block_start(g->n, d->t->nr, d->column_blocks, column + 1)};
    char *scratch = d->scratch + worker * d->scratch_stride;
    for (int64_t p = 0; p < g->k || p == 0; p += d->depth) {
        const int64_t k = hd_min(d->depth, g->k - p);
        multiply(d, &w, p, k, rows_for(d, &w, p, k, scratch), scratch + d->b_offset);
    }
}

/* Lines a multiple of 4096 bytes apart fall into the same few sets of a cache and evict each other. */
static bool lines_spread(int64_t stride, int64_t size) {
    return stride * size % 4096 != 0;
}

/* Whether a may be read where it lies. Packing pays if a is read for many columns. If neighbouring rows are
 * neighbours in memory, the broadcasts of a tile touch fewer lines, and packing pays later. */
static bool may_a_stay(const blocked *d) {
    const hd_matrix *a = &d->g->a;
    const int64_t size = hd_gemm_size(d->g);
    if (!d->t->strided) return false;
    if (a->row_stride == 1) return d->columns <= 1024 && lines_spread(a->col_stride, size);
    return a->col_stride == 1 && d->columns <= 512 && lines_spread(a->row_stride, size);
}

/* A narrow tile reads b so fast that it must come from a packed panel in the first-level cache. */
static bool may_b_stay(const blocked *d) {
    const hd_matrix *b = &d->g->b;
    const int64_t size = hd_gemm_size(d->g);
    return d->t->strided && d->t->nr * size >= 128 && b->col_stride == 1 && lines_spread(b->row_stride, size);
}

/* ---- the cut ------------------------------------------------------------------------------------------- */

typedef struct cut {
    int64_t down, across, rows, columns; /* how many blocks, and what the largest has */
} cut;

static cut cut_of(const blocked *d, int64_t down, int64_t across) {
    const hd_gemm *g = d->g;
    const int64_t mr = d->t->mr, nr = d->t->nr;
    cut c = {.down = hd_min(down, hd_pieces(g->m, mr)), .across = hd_min(across, hd_pieces(g->n, nr))};
    c.rows = hd_pieces(hd_pieces(g->m, mr), c.down) * mr;
    c.columns = hd_pieces(hd_pieces(g->n, nr), c.across) * nr;
    return c;
}

/* The time of the thread that ends last, in elements of c: its tasks, each with its packing, and part of one
 * more task, because threads do not start together. */
static double time_of(const blocked *d, cut c, int workers) {
    const int64_t tasks = c.down * c.across * d->g->batch;
    const double packing = PACKING / (double)c.rows + PACKING / (double)c.columns;
    return (double)(c.rows * c.columns) * ((double)hd_pieces(tasks, workers) + LATENESS) * (1 + packing);
}

/* The cut with the least time. It may depend on the number of threads: however c is cut, each element is
 * computed by a tile at the same place, with the same sums. */
static cut best_cut(const blocked *d, int workers) {
    const int64_t down = hd_pieces(d->g->m, d->t->mc * d->t->kc / d->depth),
                  across = hd_pieces(d->g->n, MOST_COLUMNS), most = MOST_TASKS * workers / d->g->batch;
    cut best = cut_of(d, down, across);
    if (workers == 1) return best;
    double least = time_of(d, best, workers);
    for (int64_t i = across; i * down <= most; i++)
        for (int64_t j = down; i * j <= most; j++) {
            const cut other = cut_of(d, j, i);
            const double time = time_of(d, other, workers);
            if (time >= least) continue;
            best = other;
            least = time;
        }
    return best;
}

static void cut_into_tasks(blocked *d, int workers) {
    d->depth = hd_even_part(d->g->k, d->t->kc, 16);
    const cut c = best_cut(d, workers);
    d->rows = c.rows, d->columns = c.columns;
    d->row_blocks = c.down, d->column_blocks = c.across;
    d->a_as_it_lies = may_a_stay(d);
    d->b_as_it_lies = may_b_stay(d);
}

hd_status hd_gemm_blocked(hd_ctx *cx, const hd_gemm_tile *t, const hd_gemm *g) {
    blocked d = {.t = t, .g = g};
    cut_into_tasks(&d, hd_max_workers(cx));
    const int64_t size = hd_gemm_size(g);
    d.a_panel_bytes = hd_multiple(t->mr * d.depth * size, 64);
    if (!d.a_as_it_lies)
        d.b_offset = hd_multiple(hd_pieces(d.rows, t->mr) * d.a_panel_bytes + HD_GEMM_SLACK, 64);
    const int64_t b_bytes = d.b_as_it_lies ? 0 : t->nr * d.depth * size + HD_GEMM_SLACK;
    d.scratch_stride = hd_multiple(d.b_offset + b_bytes, 4096);
    d.scratch = hd_alloc(cx, (size_t)(d.scratch_stride * hd_max_workers(cx)));
    if (d.scratch == NULL) return HD_ENOMEM;
    hd_status status = hd_gemm_each(cx, g, g->batch * d.row_blocks * d.column_blocks, run_task, &d);
    hd_free(cx->account, d.scratch);
    return status;
}
