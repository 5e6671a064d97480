/* attention_tiled_backward.c: the gradients of tiled attention.
 *
 * For a block of queries and a block of keys, with the sums of weights and out known from forward:
 *   s = k q^T, p = 2^(s - lse)       [keys][lanes]
 *   dp = v g^T                       [keys][lanes]
 *   ds = p (dp - delta)              delta = g · out, one number a query
 *   dv += p g, dk += ds q            rows of keys, from rows of g and q as they lie
 *   dq += k^T ds                     [features][lanes]
 *
 * A task goes through one split of the keys of one key head, in sections that stay in the cache with their
 * gradients, and for each section through all queries that see them: what it adds to dk and dv is its own. Only when
 * there are few heads are keys cut into several splits; what those add to dq is kept apart, and summed at the end in
 * their order. How they are cut depends on the sizes alone.
 */
#include "ops/attention/attention_bias.h"
#include "base/minmax.h"
#include "ops/attention/attention_tiled.h"

#include "base/memory.h"
#include "base/parallel.h"
#include "ops/nn/rows.h"
#include "ops/elementwise/element.h"

#include <string.h>

enum { FEW_QUERIES = 4 };
enum { SECTION_BYTES = 256 << 10, MOST_SPLITS = 4, WANTED_TASKS = 32 };

typedef struct backward {
    hd_tiled tiled;
    int64_t section, split; /* keys: of a section, of a task */
    int64_t splits;
    hd_heads dq[MOST_SPLITS]; /* where each split adds to */
    char *partial;            /* of all splits but the first */
} backward;

/* ---- a block of queries against a section of keys ------------------------------------------------------ */

/* The rows of x whose lanes are not finite go only to keys that those lanes see. */
static void accumulate_transposed_carefully(const hd_query_tile *b, int64_t first, int64_t end,
                                            int64_t features, const char *x, int64_t row, const char *p,
                                            char *to, int64_t to_row) {
    const hd_attention_kernels *k = b->all->k;
    const int64_t size = b->all->size;
    for (int64_t l = first; l < end; l++, x += row * size, p += size) {
        if (k->finite(1, features, x, row)) {
            k->accumulate_transposed(b->keys, 1, features, p, x, row, to, to_row);
            continue;
        }
        for (int64_t n = 0; n < b->keys; n++)
            if (b->bits[n] >> l & 1)
                k->accumulate_transposed(1, 1, features, p + n * k->lanes * size, x, row,
                                         to + n * to_row * size, to_row);
    }
}

/* Only lanes of the halves that see the block: what s and ds hold in the others means nothing. */
static void accumulate_transposed(const hd_query_tile *b, int64_t features, const hd_heads *x, const void *p,
                                  const hd_heads *to) {
    const hd_attention_kernels *k = b->all->k;
    const int64_t half = k->lanes / 2, first = b->halves == HD_SECOND_HALF ? half : 0;
    const int64_t end = b->halves == HD_FIRST_HALF ? hd_min(half, b->count) : b->count;
    const char *rows = hd_tile_queries(b, x) + first * x->row * b->all->size;
    const char *weights = (const char *)p + first * b->all->size;
    char *keys = hd_tile_keys(b, to);
    if (b->all_seen || b->finite)
        k->accumulate_transposed(b->keys, end - first, features, weights, rows, x->row, keys, to->row);
    else
        accumulate_transposed_carefully(b, first, end, features, rows, x->row, weights, keys, to->row);
}

/* The sums of n rows of the block, which have `row` elements, to where they belong. */
static void add_row_sums(const hd_query_tile *b, int64_t n, const char *rows, char *to) {
    const hd_tiled *all = b->all;
    for (int64_t l = 0; l < n; l++, rows += b->keys * all->size) {
        char *at = to + l * all->a->dbias.stride[2] * all->size;
        for (int64_t j = 0; j < b->keys; j++)
            all->kernels->accumulate[all->a->dtype](1, rows + j * all->size, at);
    }
}

/* ds, a column a query, to the bias; all of its keys to one entry where it is repeated along them. */
static void accumulate_transposed_bias(const hd_query_tile *b, const char *ds, const void *factor) {
    const hd_tiled *all = b->all;
    const hd_bias_gradient *t = &all->a->dbias;
    const int64_t half = all->k->lanes / 2, first = b->halves == HD_SECOND_HALF ? half : 0;
    const int64_t end = b->halves == HD_FIRST_HALF ? hd_min(half, b->count) : b->count;
    const char *from = ds + first * all->size;
    char *to = hd_bias_at(t, all->size, b->span.batch, b->h, b->i + first, b->j);
    char *rows = hd_tile_scratch(b, all->at.bias);
    if (t->stride[3] != 0 || b->keys == 1) {
        all->k->unpack(end - first, b->keys, from, factor, to, t->stride[2], true);
        return;
    }
    all->k->unpack(end - first, b->keys, from, factor, rows, b->keys, false);
    add_row_sums(b, end - first, rows, to);
}

/* g was taken times scale, so that ds is the gradient of q k^T; of the bias it is without. */
static void add_bias_gradient(const hd_query_tile *b, const void *ds) {
    const hd_tiled *all = b->all;
    const hd_attention_task *a = all->a;
    char *factor = hd_tile_scratch(b, all->at.factor);
    for (int64_t l = 0; l < all->k->lanes; l++) hd_store(factor, a->dtype, l, 1 / a->scale);
    accumulate_transposed_bias(b, ds, factor);
}

static void backward_keys(hd_query_tile *b) {
    const hd_tiled *all = b->all;
    const hd_attention_task *a = all->a;
    const hd_attention_kernels *k = all->k;
    void *s = hd_tile_scratch(b, all->at.s), *ds = hd_tile_scratch(b, all->at.ds);
    const uint32_t *kept = NULL;
    hd_tiled_score(b, NULL, a->softcap > 0);
    k->products(b->halves, b->keys, a->Dv, hd_tile_rows_of(b, &b->v), b->v.row, hd_tile_scratch(b, all->at.g),
                ds, NULL, NULL);
    if (a->dropout > 0) {
        hd_tiled_draw(b);
        kept = b->kept;
    }
    k->slopes(b->halves, b->keys, hd_tile_scratch(b, all->at.lse), hd_tile_scratch(b, all->at.delta),
              hd_tile_bits(b), kept, a->dropout < 1 ? 1 / (1 - a->dropout) : 0, s, ds);
    if (a->dv.data) accumulate_transposed(b, a->Dv, &a->g, s, &a->dv);
    if (a->dbias.data) add_bias_gradient(b, ds);
    if (a->softcap > 0) k->uncap(b->halves, b->keys, hd_tile_scratch(b, all->at.cap), hd_tile_bits(b), ds);
    if (a->dk.data) accumulate_transposed(b, a->D, &a->q, ds, &a->dk);
    if (a->dq.data) hd_tiled_accumulate(b, a->D, &b->k, ds, NULL, hd_tile_scratch(b, all->at.dq));
}

/* q, g, lse and delta of the block, across. */
static void take_queries(hd_query_tile *b) {
    const hd_tiled *all = b->all;
    const hd_attention_task *a = all->a;
    const hd_attention_kernels *k = all->k;
    void *g = hd_tile_scratch(b, all->at.g), *o = hd_tile_scratch(b, all->at.o);
    const char *g_rows = NULL;
    hd_tiled_take(b);
    g_rows = hd_tile_queries(b, &a->g);
    k->pack(b->count, a->Dv, g_rows, a->g.row, a->scale, g);
    k->pack(b->count, a->Dv, hd_tile_queries(b, &a->out), a->out.row, 1, o);
    k->dot(a->Dv, g, o, hd_tile_scratch(b, all->at.delta));
    hd_tiled_load_lse(b);
    b->finite = k->finite(b->count, a->Dv, g_rows, a->g.row) &&
                k->finite(b->count, a->D, hd_tile_queries(b, &a->q), a->q.row);
    memset(hd_tile_scratch(b, all->at.dq), 0, (size_t)(a->D * k->lanes * all->size));
}

static void backward_queries(hd_query_tile *b, const hd_heads *dq, int64_t first, int64_t from, int64_t to) {
    const hd_tiled *all = b->all;
    bool taken = false;
    hd_tiled_place(b, first);
    hd_tiled_narrow(b, &from, &to);
    for (int64_t j = from; j < to; j += b->keys) {
        if (!hd_tiled_look(b, j, to)) continue;
        if (!taken) take_queries(b);
        taken = true;
        backward_keys(b);
    }
    if (taken && dq->data)
        all->k->unpack(b->count, all->a->D, hd_tile_scratch(b, all->at.dq), NULL, hd_tile_queries(b, dq),
                       dq->row, true);
}

/* ---- tasks ------------------------------------------------------------------------------------------- */

static void clear_rows(const hd_tiled *all, const hd_heads *t, int64_t batch, int64_t head, int64_t first,
                       int64_t count, int64_t features) {
    for (int64_t i = 0; t->data && i < count; i++)
        memset(hd_heads_row(all, t, batch, head, first + i), 0, (size_t)(features * all->size));
}

static void backward_task(void *arg, int64_t task, int worker) {
    const backward *all = arg;
    const hd_tiled *lanes = &all->tiled;
    const hd_attention_task *a = lanes->a;
    const int64_t part = task % all->splits, pair = task / all->splits, group = a->H / a->Hk;
    hd_query_tile b = {.all = lanes,
                       .scratch = lanes->scratch + (size_t)worker * lanes->at.size,
                       .wide = hd_tile_wide(lanes, worker),
                       .careful = true};
    b.span = hd_span_of(a, pair / a->Hk), b.hk = pair % a->Hk;
    const int64_t begin = hd_min(part * all->split, b.span.S), end = hd_min(begin + all->split, b.span.S);
    const hd_heads *dq = &all->dq[part];
    clear_rows(lanes, &a->dk, b.span.batch, b.hk, b.span.k_first + begin, end - begin, a->D);
    clear_rows(lanes, &a->dv, b.span.batch, b.hk, b.span.k_first + begin, end - begin, a->Dv);
    for (b.h = b.hk * group; b.h < (b.hk + 1) * group; b.h++)
        clear_rows(lanes, dq, b.span.batch, b.h, b.span.q_first, b.span.L, a->D);
    for (int64_t from = begin; from < end; from += all->section) {
        hd_tiled_load_keys(&b, from, hd_min(from + all->section, end));
        for (b.h = b.hk * group; b.h < (b.hk + 1) * group; b.h++)
            for (int64_t first = 0; first < b.span.L; first += lanes->k->lanes)
                backward_queries(&b, dq, first, from, hd_min(from + all->section, end));
    }
}

static void cut(backward *all) {
    const hd_attention_task *a = all->tiled.a;
    const int64_t block = all->tiled.k->keys, keys = all->tiled.most_keys, pairs = hd_bias_pairs(a);
    int64_t blocks = SECTION_BYTES / (2 * (a->D + a->Dv) * all->tiled.size * block);
    if (pairs < MOST_SPLITS) blocks = hd_min(blocks, keys / (MOST_SPLITS * block));
    all->section = block * (blocks > 2 ? blocks : 2);
    const int64_t sections = (keys + all->section - 1) / all->section;
    all->splits = hd_min(hd_min(sections, MOST_SPLITS), (WANTED_TASKS + pairs - 1) / pairs);
    if (all->splits < 1) all->splits = 1;
    all->split = (sections + all->splits - 1) / all->splits * all->section;
}

static hd_status make_partials(hd_ctx *cx, backward *all) {
    const hd_attention_task *a = all->tiled.a;
    const int64_t elements = a->B * a->H * a->L * a->D;
    all->dq[0] = a->dq;
    if (all->splits == 1 || !a->dq.data) return HD_OK;
    all->partial = hd_alloc(cx, (size_t)((all->splits - 1) * elements * all->tiled.size));
    if (!all->partial) return cx->error.status;
    for (int64_t i = 1; i < all->splits; i++)
        all->dq[i] = (hd_heads){all->partial + (i - 1) * elements * all->tiled.size, a->H * a->L * a->D,
                                a->L * a->D, a->D};
    return HD_OK;
}

/* dq of one row of [B, H, L]. */
static void sum_partials(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const backward *all = arg;
    const hd_attention_task *a = all->tiled.a;
    const hd_kernels *kernels = all->tiled.kernels;
    for (int64_t r = first; r < last; r++)
        for (int64_t i = 1; i < all->splits; i++) {
            const int64_t batch = r / (a->H * a->L), head = r / a->L % a->H, row = r % a->L;
            kernels->accumulate[a->dtype](a->D, hd_heads_row(&all->tiled, &all->dq[i], batch, head, row),
                                          hd_heads_row(&all->tiled, &a->dq, batch, head, row));
        }
}

hd_status hd_attention_backward(hd_ctx *cx, const hd_attention_task *a) {
    backward all = {0};
    int64_t longest, most_keys;
    if (a->sequences * a->Hk == 0) return HD_OK;
    hd_attention_longest(a, &longest, &most_keys);
    if (longest <= FEW_QUERIES && a->key_dtype == a->dtype) return hd_attention_decode_backward(cx, a);
    if (hd_tiled_begin(cx, a, true, &all.tiled)) return cx->error.status;
    cut(&all);
    hd_status status = hd_tiled_begin_wide(cx, all.section, &all.tiled);
    if (!status) status = make_partials(cx, &all);
    if (!status) status = hd_bias_parallel(cx, a, all.splits, backward_task, &all);
    if (!status && all.partial)
        status = hd_parallel_ranges(cx, a->B * a->H * a->L, hd_rows_grain(a->D), sum_partials, &all);
    hd_free(cx->account, all.partial);
    hd_tiled_end(cx, &all.tiled);
    return status;
}
