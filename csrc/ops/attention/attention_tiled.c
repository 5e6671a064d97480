/* attention_tiled.c: attention by blocks of queries that are the lanes of vectors, forward, and what backward shares.
 *
 * For a block of queries, block by block of the keys that they may see, with a running maximum for every query:
 *   s = k q^T                    [keys][lanes]; q lies across, k as it is
 *   p = 2^(s - largest)
 *   o = o · 2^(before - largest) + v^T p    [features][lanes]; v as it is
 * and at the end out = o / sum p, turned back into rows. Beside inputs and results there are only one block of q, o and
 * s for every worker. Blocks of keys of which nothing is seen are left out; where all is seen, no mask is asked.
 */
#include "ops/attention/attention_tiled.h"
#include "base/minmax.h"

#include "base/memory.h"
#include "base/parallel.h"
#include "ops/elementwise/element.h"

#include <math.h>
#include <string.h>

enum {
    FEW_QUERIES = 8,
    FEWER_QUERIES = 6,
    SHORT_KEYS = 64,
    TOGETHER = 4 /* blocks of a task, at most */,
    WANTED_TASKS = 32,
    CHUNK_BLOCKS = 2
};

static const double log2_e = 1.44269504088896340736;

/* ---- scratch ----------------------------------------------------------------------------------------- */

static size_t reserve(hd_tiled *all, int64_t rows) {
    size_t at = all->at.size;
    all->at.size += (size_t)(rows * all->k->lanes * all->size + 63) / 64 * 64;
    return at;
}

static void lay_out(hd_tiled *all, bool backward) {
    const hd_attention_task *a = all->a;
    hd_tile_layout *at = &all->at;
    at->q = reserve(all, a->D);
    at->o = reserve(all, a->Dv);
    at->g = backward ? reserve(all, a->Dv) : 0;
    at->dq = backward ? reserve(all, a->D) : 0;
    at->s = reserve(all, all->k->keys);
    at->ds = backward ? reserve(all, all->k->keys) : 0;
    at->cap = backward && a->softcap > 0 ? reserve(all, all->k->keys) : 0;
    at->bias = a->bias.data ? reserve(all, all->k->keys) : 0;
    size_t *const lanes[] = {&at->best, &at->largest, &at->sum,  &at->factor,
                             &at->lse,  &at->inverse, &at->delta};
    for (int i = 0; i < 7; i++) *lanes[i] = reserve(all, 1);
}

hd_status hd_tiled_begin(hd_ctx *cx, const hd_attention_task *a, bool backward, hd_tiled *all) {
    *all = (hd_tiled){.a = a, .kernels = cx->kernels, .size = (int64_t)hd_dtype_size(a->dtype)};
    all->k = cx->kernels->attention[a->dtype];
    hd_attention_longest(a, &all->longest, &all->most_keys);
    all->row = hd_attention_row(all->most_keys);
    all->blocks = (all->longest + all->k->lanes - 1) / all->k->lanes;
    all->q_scale = a->softcap > 0 ? a->scale / a->softcap : a->scale * log2_e;
    lay_out(all, backward);
    all->together = hd_min(backward ? 1 : TOGETHER, all->blocks * a->sequences * a->H / WANTED_TASKS);
    if (all->together < 1) all->together = 1;
    all->scratch = hd_alloc(cx, all->at.size * (size_t)(all->together * hd_max_workers(cx)));
    return all->scratch ? HD_OK : cx->error.status;
}

hd_status hd_tiled_begin_wide(hd_ctx *cx, int64_t keys, hd_tiled *all) {
    const hd_attention_task *a = all->a;
    if (a->key_dtype == a->dtype) return HD_OK;
    all->wide_keys = keys;
    all->wide = hd_alloc(cx, (size_t)(hd_max_workers(cx) * keys * (a->D + a->Dv) * all->size));
    return all->wide ? HD_OK : cx->error.status;
}

void hd_tiled_end(hd_ctx *cx, hd_tiled *all) {
    hd_free(cx->account, all->scratch);
    hd_free(cx->account, all->wide);
}

/* ---- a block of queries ------------------------------------------------------------------------------ */

void hd_tiled_place(hd_query_tile *b, int64_t first) {
    b->i = b->span.q_first + first;
    b->count = hd_min(b->all->k->lanes, b->span.L - first);
    b->shift = b->span.k_first + b->span.S - b->span.L - b->span.q_first;
}

void hd_tiled_take(hd_query_tile *b) {
    const hd_tiled *all = b->all;
    all->k->pack(b->count, all->a->D, hd_tile_queries(b, &all->a->q), all->a->q.row, all->q_scale,
                 hd_tile_scratch(b, all->at.q));
}

static hd_tile_rows load_rows(const hd_query_tile *b, const hd_heads *x, int64_t features, int64_t from,
                              int64_t to, char *wide) {
    const hd_attention_task *a = b->all->a;
    const int64_t first = b->span.k_first + from, at = b->span.batch * x->batch + b->hk * x->head;
    if (!wide) return (hd_tile_rows){x->data + at * b->all->size, x->row, 0};
    const char *stored = x->data + (at + first * x->row) * (int64_t)hd_dtype_size(a->key_dtype);
    b->all->kernels->attention_rows[a->key_dtype]->widen(to - from, features, stored, x->row, wide);
    return (hd_tile_rows){wide, features, first};
}

void hd_tiled_load_keys(hd_query_tile *b, int64_t from, int64_t to) {
    const hd_attention_task *a = b->all->a;
    b->k = load_rows(b, &a->k, a->D, from, to, b->wide);
    b->v = load_rows(b, &a->v, a->Dv, from, to,
                     b->wide ? b->wide + b->all->wide_keys * a->D * b->all->size : NULL);
}

void hd_tiled_load_lse(hd_query_tile *b) {
    const hd_tiled *all = b->all;
    char *lse = hd_tile_scratch(b, all->at.lse);
    memset(lse, 0, (size_t)(all->k->lanes * all->size));
    memcpy(lse, all->a->lse + hd_tile_row(b) * all->size, (size_t)(b->count * all->size));
}

static hd_resolved_block mask_block(const hd_query_tile *b, int64_t from, int64_t to) {
    return (hd_resolved_block){b->span.batch, b->h, b->i, b->count, from, to - from, b->shift};
}

void hd_tiled_narrow(const hd_query_tile *b, int64_t *from, int64_t *to) {
    hd_resolved_block block = mask_block(b, b->span.k_first + *from, b->span.k_first + *to);
    hd_resolved_narrow(b->all->a->mask, &block);
    *from = block.j - b->span.k_first;
    *to = *from + block.keys;
}

/* ---- against a block of keys ------------------------------------------------------------------------- */

static void bias_by_entries(const hd_query_tile *b, const char *from, char *to) {
    const hd_tiled *all = b->all;
    const hd_score_map *m = &all->a->bias;
    for (int64_t n = 0; n < b->keys; n++)
        for (int64_t l = 0; l < all->k->lanes; l++) {
            const int64_t at = l * m->stride[2] + n * m->stride[3], put = n * all->k->lanes + l;
            if (m->dtype == HD_F32)
                ((float *)to)[put] = l < b->count ? ((const float *)from)[at] * (float)log2_e : 0;
            else
                ((double *)to)[put] = l < b->count ? ((const double *)from)[at] * log2_e : 0;
        }
}

/* The bias of the block, across. Where it is -inf nothing is seen. */
static void take_bias(hd_query_tile *b) {
    const hd_tiled *all = b->all;
    const hd_score_map *m = &all->a->bias;
    char *to = hd_tile_scratch(b, all->at.bias);
    const char *from = m->data + (b->span.batch * m->stride[0] + b->h * m->stride[1] + b->i * m->stride[2] +
                                  b->j * m->stride[3]) *
                                     all->size;
    if (m->stride[3] == 1)
        all->k->pack(b->count, b->keys, from, m->stride[2], log2_e, to);
    else
        bias_by_entries(b, from, to);
    if (b->all_seen) memset(b->bits, 0xff, (size_t)b->keys * sizeof *b->bits);
    if (all->k->unhide(b->keys, to, b->bits)) b->all_seen = false;
}

/* What a run of keys means to the queries: the halves that see any of it, and whether they see all. */
typedef struct outlook {
    unsigned halves;
    bool whole;
} outlook;

static outlook outlook_of(const hd_query_tile *b, int64_t from) {
    const int64_t end = hd_min(from + b->all->k->run, b->keys), half = b->all->k->lanes / 2;
    const uint32_t low = ((uint32_t)1 << half) - 1, lanes = (uint32_t)(((uint64_t)1 << b->count) - 1);
    uint32_t any = 0, every = lanes;
    for (int64_t n = from; n < end; n++) any |= b->bits[n], every &= b->bits[n];
    const unsigned halves = ((any & low) != 0) | (any & ~low ? 2u : 0);
    const uint32_t wanted = lanes & ((halves & 1 ? low : 0) | (halves & 2 ? ~low : 0));
    return (outlook){halves, (every & wanted) == wanted};
}

/* Shortens the block to its first runs of one outlook. */
static bool look_closer(hd_query_tile *b) {
    const int64_t run = b->all->k->run;
    const outlook first = outlook_of(b, 0);
    for (int64_t n = run; n < b->keys; n += run) {
        const outlook next = outlook_of(b, n);
        if (next.halves != first.halves || next.whole != first.whole) b->keys = n;
    }
    b->halves = first.halves;
    b->all_seen = first.whole;
    return first.halves != 0;
}

bool hd_tiled_look(hd_query_tile *b, int64_t from, int64_t to) {
    b->j = b->span.k_first + from;
    b->keys = hd_min(b->all->k->keys, to - from);
    hd_resolved_block block = mask_block(b, b->j, b->j + b->keys);
    hd_seen seen = hd_resolved_seen(b->all->a->mask, &block, b->bits);
    b->all_seen = seen == HD_SEEN_ALL;
    b->halves = b->count > b->all->k->lanes / 2 ? HD_BOTH_HALVES : HD_FIRST_HALF;
    if (seen == HD_SEEN_NONE || (seen == HD_SEEN_SOME && !look_closer(b))) return false;
    if (b->all->a->bias.data) take_bias(b);
    return true;
}

void hd_tiled_score(hd_query_tile *b, void *best, bool cap) {
    const hd_tiled *all = b->all;
    const hd_attention_task *a = all->a;
    const bool scored = !b->all_seen || a->bias.data || a->slopes || a->softcap > 0;
    void *s = hd_tile_scratch(b, all->at.s);
    all->k->products(b->halves, b->keys, a->D, hd_tile_rows_of(b, &b->k), b->k.row,
                     hd_tile_scratch(b, all->at.q), s, scored ? NULL : best, b->ahead);
    if (!scored) return;
    hd_score_rules rules = {.softcap = a->softcap, .bits = hd_tile_bits(b)};
    if (a->bias.data) rules.bias = hd_tile_scratch(b, all->at.bias);
    if (a->slopes) rules.slope = a->slopes[b->h] * log2_e, rules.first = b->i + b->shift - b->j;
    if (cap) rules.cap = hd_tile_scratch(b, all->at.cap);
    all->k->score(b->halves, b->keys, &rules, s, best);
}

/* What lies across at `from`, one number a key and lane, into rows of a whole [B, H, L, S] (zeros), times factor. */
static void write_rows(const hd_query_tile *b, const void *from, const void *factor, char *whole) {
    const hd_tiled *all = b->all;
    const int64_t S = all->a->S, half = all->k->lanes / 2, first = b->halves == HD_SECOND_HALF ? half : 0;
    const int64_t end = b->halves == HD_FIRST_HALF ? hd_min(half, b->count) : b->count;
    all->k->unpack(end - first, b->keys, (const char *)from + first * all->size, factor,
                   whole + ((hd_tile_row(b) + first) * S + b->j) * all->size, S, false);
}

void hd_tiled_draw(hd_query_tile *b) {
    const hd_tiled *all = b->all;
    const int64_t first = hd_tile_row(b) * all->row + b->j - b->span.k_first;
    all->k->draw(all->a->draw, first, all->row, b->count, b->keys, all->a->dropout, b->kept);
}

/* Key by key: those that are not finite go only into lanes that see them. */
static void accumulate_carefully(const hd_query_tile *b, int64_t features, const char *x, int64_t row,
                                 const char *p, char *o) {
    const hd_attention_kernels *k = b->all->k;
    const int64_t size = b->all->size;
    for (int64_t n = 0; n < b->keys; n++, x += row * size, p += k->lanes * size) {
        if (k->finite(1, features, x, row))
            k->accumulate(b->halves, 1, features, x, row, p, NULL, o, b->ahead);
        else
            k->accumulate_seen(features, x, p, b->bits[n], o);
    }
}

void hd_tiled_accumulate(const hd_query_tile *b, int64_t features, const hd_tile_rows *x, const void *p,
                         const void *factor, void *o) {
    const hd_attention_kernels *k = b->all->k;
    const char *rows = hd_tile_rows_of(b, x);
    if (b->all_seen || !b->careful || k->finite(b->keys, features, rows, x->row)) {
        k->accumulate(b->halves, b->keys, features, rows, x->row, p, factor, o, b->ahead);
        return;
    }
    if (factor) k->accumulate(b->halves, 0, features, rows, x->row, p, factor, o, b->ahead);
    accumulate_carefully(b, features, rows, x->row, p, o);
}

/* ---- forward ----------------------------------------------------------------------------------------- */

static double keep_scale(const hd_attention_task *a) {
    return a->dropout < 1 ? 1 / (1 - a->dropout) : 0;
}

static void forward_keys(hd_query_tile *b) {
    const hd_tiled *all = b->all;
    const hd_attention_task *a = all->a;
    void *s = hd_tile_scratch(b, all->at.s), *best = hd_tile_scratch(b, all->at.best);
    void *factor = hd_tile_scratch(b, all->at.factor);
    hd_tiled_score(b, best, false);
    all->k->exp_sum(b->halves, b->keys, s, best, hd_tile_scratch(b, all->at.largest),
                    hd_tile_scratch(b, all->at.sum), factor);
    if (a->dropout > 0) {
        hd_tiled_draw(b);
        all->k->drop(b->halves, b->keys, b->kept, keep_scale(a), s);
    }
    hd_tiled_accumulate(b, a->Dv, &b->v, s, factor, hd_tile_scratch(b, all->at.o));
}

static void nothing_seen_yet(hd_query_tile *b) {
    const hd_tiled *all = b->all;
    char *largest = hd_tile_scratch(b, all->at.largest), *best = hd_tile_scratch(b, all->at.best);
    for (int64_t l = 0; l < all->k->lanes; l++) {
        hd_store(largest, all->a->dtype, l, -INFINITY);
        hd_store(best, all->a->dtype, l, -INFINITY);
    }
    memset(hd_tile_scratch(b, all->at.sum), 0, (size_t)(all->k->lanes * all->size));
    memset(hd_tile_scratch(b, all->at.o), 0, (size_t)(all->a->Dv * all->k->lanes * all->size));
}

/* A second time over the keys, now that the sums are known: rows of a whole [B, H, L, S]. */
static void write_weights(hd_query_tile *b, int64_t from, int64_t to) {
    const hd_tiled *all = b->all;
    const hd_attention_task *a = all->a;
    void *s = hd_tile_scratch(b, all->at.s);
    const int64_t chunk = CHUNK_BLOCKS * all->k->keys;
    memset(a->weights + hd_tile_row(b) * a->S * all->size, 0, (size_t)(b->count * a->S * all->size));
    for (int64_t first = from; first < to; first += chunk) {
        const int64_t end = hd_min(first + chunk, to);
        hd_tiled_load_keys(b, first, end);
        for (int64_t j = first; j < end; j += b->keys) {
            if (!hd_tiled_look(b, j, end)) continue;
            hd_tiled_score(b, NULL, false);
            all->k->weights(b->halves, b->keys, hd_tile_scratch(b, all->at.lse), hd_tile_bits(b), s);
            write_rows(b, s, NULL, a->weights);
        }
    }
}

/* Blocks of queries of one task: each chunk of keys is read once into the nearest cache for all of them. */
typedef struct together {
    int count;
    int64_t first, end;                   /* keys that any of them has to do with */
    int64_t from[TOGETHER], to[TOGETHER]; /* and each of them */
    hd_query_tile block[TOGETHER];
} together;

/* The last blocks of a head come first: under a causal mask these are the long ones, and what is left at the end, when
 * threads have nothing to share, should be short. */
static bool begin_blocks(const hd_tiled *all, int64_t task, int worker, together *t) {
    const hd_attention_task *a = all->a;
    const int64_t tasks = (all->blocks + all->together - 1) / all->together, pair = task / tasks;
    const int64_t group = tasks - 1 - task % tasks;
    char *scratch = all->scratch + (size_t)(worker * all->together) * all->at.size;
    t->count = 0;
    for (int64_t i = 0; i < all->together; i++, scratch += all->at.size) {
        const int64_t first = (group * all->together + i) * all->k->lanes;
        hd_query_tile *b = &t->block[t->count];
        *b = (hd_query_tile){.all = all, .scratch = scratch, .wide = hd_tile_wide(all, worker)};
        b->span = hd_span_of(a, pair / a->H), b->h = pair % a->H, b->hk = b->h / (a->H / a->Hk);
        if (first >= b->span.L) break;
        int64_t *from = &t->from[t->count], *to = &t->to[t->count];
        *from = 0, *to = b->span.S;
        hd_tiled_place(b, first);
        hd_tiled_narrow(b, from, to);
        t->first = t->count ? hd_min(t->first, *from) : *from;
        t->end = t->count && t->end > *to ? t->end : *to;
        t->count++;
    }
    return t->count > 0;
}

/* ---- what is far away, fetched while something else is computed -------------------------------------------- */

static void want(hd_ahead *ahead, const hd_query_tile *b, const char *row, int64_t stride, int64_t features,
                 int64_t rows) {
    if (rows <= 0) return;
    const int64_t size = b->all->size;
    ahead->run[ahead->count++] = (hd_ahead_run){row, stride * size, features * size, rows};
    ahead->rows += rows;
}

static void want_keys(hd_ahead *ahead, const hd_query_tile *b, int64_t from, int64_t to) {
    const hd_attention_task *a = b->all->a;
    const int64_t first = b->span.k_first + from;
    if (b->wide) return;
    want(ahead, b, hd_heads_row(b->all, &a->v, b->span.batch, b->hk, first), a->v.row, a->Dv, to - from);
    want(ahead, b, hd_heads_row(b->all, &a->k, b->span.batch, b->hk, first), a->k.row, a->D, to - from);
}

/* When the last keys are being worked on: where the group's output goes, the queries before it, which are the next task, and
 * the keys that these see first when they see a window. */
static void want_next_task(hd_ahead *ahead, const together *t) {
    const hd_query_tile *b = &t->block[0];
    const hd_tiled *all = b->all;
    const hd_attention_task *a = all->a;
    const int64_t before = hd_min(all->together * all->k->lanes, b->i - b->span.q_first);
    for (int i = 0; i < t->count; i++)
        want(ahead, b, hd_tile_queries(&t->block[i], &a->out), a->out.row, a->Dv, t->block[i].count);
    want_keys(ahead, b, t->first - hd_min(t->first, before), t->first);
    want(ahead, b, hd_heads_row(all, &a->q, b->span.batch, b->h, b->i - before), a->q.row, a->D, before);
}

/* While the keys before `from` are being worked on. */
static void look_ahead(hd_ahead *ahead, const together *t, int64_t from, int64_t to) {
    const hd_attention_kernels *k = t->block[0].all->k;
    const int64_t tiles = 2 * CHUNK_BLOCKS * t->count * (k->keys / k->run);
    ahead->count = 0, ahead->rows = 0;
    if (from < to)
        want_keys(ahead, &t->block[0], from, to);
    else
        want_next_task(ahead, t);
    ahead->rows = (ahead->rows + tiles - 1) / tiles;
}

/* ---- tasks ------------------------------------------------------------------------------------------- */

/* [first, end) of the keys that the group has to do with, as far as this block of it does. */
static void forward_chunk(const together *t, int i, hd_query_tile *b, int64_t first, int64_t end) {
    if (end > t->to[i]) end = t->to[i];
    for (int64_t j = first > t->from[i] ? first : t->from[i]; j < end; j += b->keys)
        if (hd_tiled_look(b, j, end)) {
            b->hides |= !b->all_seen;
            forward_keys(b);
        }
}

/* What comes out finite has met nothing else. If not, once more, with an eye on what is hidden. */
static void forward_again(const together *t, int i, hd_query_tile *b) {
    const hd_tiled *all = b->all;
    const int64_t chunk = CHUNK_BLOCKS * all->k->keys;
    const void *o = hd_tile_scratch(b, all->at.o);
    if (!b->hides || all->k->finite(1, all->a->Dv * all->k->lanes, o, 0)) return;
    b->careful = true;
    nothing_seen_yet(b);
    for (int64_t first = t->first; first < t->end; first += chunk) {
        hd_tiled_load_keys(b, first, hd_min(first + chunk, t->end));
        forward_chunk(t, i, b, first, first + chunk);
    }
}

static void finish_block(hd_query_tile *b) {
    const hd_tiled *all = b->all;
    const hd_attention_task *a = all->a;
    void *lse = hd_tile_scratch(b, all->at.lse), *inverse = hd_tile_scratch(b, all->at.inverse);
    all->k->finish(hd_tile_scratch(b, all->at.largest), hd_tile_scratch(b, all->at.sum), lse, inverse);
    all->k->unpack(b->count, a->Dv, hd_tile_scratch(b, all->at.o), inverse, hd_tile_queries(b, &a->out),
                   a->out.row, false);
    if (a->lse) memcpy(a->lse + hd_tile_row(b) * all->size, lse, (size_t)(b->count * all->size));
}

static void forward_task(void *arg, int64_t task, int worker) {
    const hd_tiled *all = arg;
    const int64_t chunk = CHUNK_BLOCKS * all->k->keys;
    hd_ahead ahead;
    together t;
    if (!begin_blocks(all, task, worker, &t)) return;
    for (int i = 0; i < t.count; i++) {
        nothing_seen_yet(&t.block[i]);
        hd_tiled_take(&t.block[i]);
    }
    for (int64_t first = t.first; first < t.end; first += chunk) {
        hd_tiled_load_keys(&t.block[0], first, hd_min(first + chunk, t.end));
        look_ahead(&ahead, &t, first + chunk, hd_min(first + 2 * chunk, t.end));
        for (int i = 0; i < t.count; i++) {
            hd_query_tile *b = &t.block[i];
            b->k = t.block[0].k, b->v = t.block[0].v, b->ahead = &ahead;
            forward_chunk(&t, i, b, first, first + chunk);
        }
    }
    for (int i = 0; i < t.count; i++) {
        hd_query_tile *b = &t.block[i];
        b->ahead = NULL;
        forward_again(&t, i, b);
        finish_block(b);
        if (all->a->weights) write_weights(b, t.from[i], t.to[i]);
    }
}

static void weights_task(void *arg, int64_t task, int worker) {
    together t;
    if (!begin_blocks(arg, task, worker, &t)) return;
    for (int i = 0; i < t.count; i++) {
        hd_tiled_take(&t.block[i]);
        hd_tiled_load_lse(&t.block[i]);
        write_weights(&t.block[i], t.from[i], t.to[i]);
    }
}

static hd_status by_tiles(hd_ctx *cx, const hd_attention_task *a, hd_task task) {
    hd_tiled all;
    if (hd_tiled_begin(cx, a, false, &all)) return cx->error.status;
    const int64_t tasks = (all.blocks + all.together - 1) / all.together;
    hd_status status = hd_tiled_begin_wide(cx, CHUNK_BLOCKS * all.k->keys, &all);
    if (!status) status = hd_parallel(cx, a->sequences * a->H * tasks, task, &all);
    hd_tiled_end(cx, &all);
    return status;
}

/* Weights come from the sums: asking for them takes no other way to the output. */
static hd_status few_with_weights(hd_ctx *cx, const hd_attention_task *a) {
    hd_attention_task with_sums = *a;
    char *own = NULL;
    if (!a->lse) own = hd_alloc(cx, (size_t)(a->B * a->H * a->L) * hd_dtype_size(a->dtype));
    if (!a->lse && !(with_sums.lse = own)) return cx->error.status;
    hd_status status = hd_attention_decode_forward(cx, &with_sums);
    if (!status) status = by_tiles(cx, &with_sums, weights_task);
    hd_free(cx->account, own);
    return status;
}

/* For short sequences a block of lanes pays from fewer queries on. */
static bool are_few(int64_t longest, int64_t most_keys) {
    return longest <= (most_keys > SHORT_KEYS ? FEW_QUERIES : FEWER_QUERIES);
}

hd_status hd_attention_forward(hd_ctx *cx, const hd_attention_task *a) {
    int64_t longest, most_keys;
    hd_attention_longest(a, &longest, &most_keys);
    if (longest == 0 || a->H == 0) return HD_OK;
    if (!are_few(longest, most_keys)) return by_tiles(cx, a, forward_task);
    return a->weights ? few_with_weights(cx, a) : hd_attention_decode_forward(cx, a);
}
