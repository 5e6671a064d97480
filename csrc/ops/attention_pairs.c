/* attention_pairs.c: attention of short sequences, by pairs of sequence and head, a block of queries at a time, all of
 * it in cache.
 *
 * Forward, a task for each pair and block of queries:
 *   s = q k^T                by register tiles, k transposed into panels
 *   p = softmax(s)           rows, masked: exactly 0 where hidden
 *   w = dropout(p)
 *   out = w v                v read where it lies, out written where it belongs
 *
 * Backward, a task for each sequence and key head, whose queries it goes through in order; p and w are made
 * again:
 *   dw = g v^T
 *   ds = w dw - p sum w dw   rows
 *   dv += w^T g
 *   dq = scale ds k
 *   dk += scale ds^T q
 *
 * Memory beside inputs and results: one block of p, w and ds for each worker. Loops end where causality and
 * lengths end.
 *
 * w and ds are exactly 0 where hidden, but 0 times NaN is NaN. So what a task has written is looked through
 * when something could be hidden inside it, and if it is not finite the task runs again in the careful way,
 * which leaves out products with an exact 0.
 */
#include "ops/attention.h"

#include "base/parallel.h"
#include "kernels/gemm_tile.h"

#include <math.h>
#include <string.h>

#define BLOCK_QUERIES 72 /* about: a whole number of register tiles */
#define SHORT_ROW 64     /* keys; dropout of shorter rows is done for a whole block at once */

typedef struct pairs {
    const hd_attention_task *a;
    const hd_kernels *kernels;
    const hd_gemm_tile *tile;
    size_t size;    /* bytes of an element */
    int64_t ld;     /* elements of a row of p, w, ds */
    int64_t rows;   /* queries of a block */
    int64_t blocks; /* of one pair, at most */
    hd_sight rest;  /* what hides beside causality and lengths */
    bool may_hide;  /* more than whole columns for all queries */
    char *scratch;  /* workers * scratch_size */
    size_t scratch_size, at_w, at_ds, at_cap, at_kt, at_vt, at_bias, at_see;
} pairs;

/* One block of queries of one pair, and a worker's scratch. */
typedef struct block {
    const pairs *all;
    hd_span span;
    int64_t h, hk, first, rows;
    int64_t keys; /* that the last of its queries sees: the most */
    bool careful;
    char *p, *w, *ds, *cap, *kt, *vt, *bias;
    uint8_t *see;
} block;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- where things lie ------------------------------------------------------------------------------ */

static char *row_at(const block *k, const hd_heads *t, int64_t h, int64_t i) {
    return t->data + (k->span.batch * t->batch + h * t->head + i * t->row) * (int64_t)k->all->size;
}

/* Of query i of the block, and of key j of the sequence. */
static char *query_row(const block *k, const hd_heads *t, int64_t i) {
    return row_at(k, t, k->h, k->span.q_first + k->first + i);
}

static char *key_row(const block *k, const hd_heads *t, int64_t j) {
    return row_at(k, t, k->hk, k->span.k_first + j);
}

static char *score(const block *k, char *base, int64_t i, int64_t j) {
    return base + (i * k->all->ld + j) * (int64_t)k->all->size;
}

/* Of all rows [B, H, L] of weights. */
static int64_t row_number(const block *k, int64_t i) {
    const hd_attention_task *a = k->all->a;
    return (k->span.batch * a->H + k->h) * a->L + k->span.q_first + k->first + i;
}

static int64_t keys_of(const block *k, int64_t i) {
    return hd_visible_keys(k->all->a, &k->span, k->first + i);
}

static void use_scratch(block *k, int worker) {
    const pairs *all = k->all;
    char *base = all->scratch + (size_t)worker * all->scratch_size;
    k->p = base;
    k->w = base + all->at_w;
    k->ds = base + all->at_ds;
    k->cap = base + all->at_cap;
    k->kt = base + all->at_kt;
    k->vt = base + all->at_vt;
    k->bias = base + all->at_bias;
    k->see = (uint8_t *)base + all->at_see;
}

static void move_to(block *k, int64_t first) {
    k->first = first;
    k->rows = least(k->all->rows, k->span.L - first);
    k->keys = keys_of(k, k->rows - 1);
}

/* ---- products -------------------------------------------------------------------------------------- */

/* Keys (or values) [0, count) transposed, in panels as wide as the tile. */
static void transpose(const block *k, const hd_heads *t, int64_t features, int64_t count, char *to) {
    const hd_gemm_tile *tile = k->all->tile;
    for (int64_t j = 0; j < count; j += tile->nr)
        tile->pack(tile->nr, least(tile->nr, count - j), features, key_row(k, t, j), t->row, 1,
                   to + j * features * (int64_t)k->all->size);
}

/* scores[i][j] = x_i . y_j for the keys that a tile's last query sees; y in panels. */
static void dot_products(const block *k, const hd_heads *x, int64_t features, const char *panels,
                         char *scores) {
    const pairs *all = k->all;
    const hd_gemm_tile *t = all->tile;
    for (int64_t i = 0; i < k->rows; i += t->mr) {
        int64_t m = least(t->mr, k->rows - i), keys = keys_of(k, i + m - 1);
        for (int64_t j = 0; j < keys; j += t->nr)
            t->run(t, m, least(t->nr, keys - j), features, 1, query_row(k, x, i), x->row, 1,
                   panels + j * features * (int64_t)all->size, t->nr, 0, score(k, scores, i, j), all->ld);
    }
}

typedef struct factors { /* c [m, n] = alpha a [m, k] b [k, n] + beta c; a holds exact zeros where hidden */
    int64_t m, n, k;
    double alpha, beta;
    const char *a;
    int64_t a_rs, a_cs;
    const char *b;
    int64_t b_rs;
    char *c;
    int64_t c_rs;
} factors;

static double element(const pairs *all, const char *p, int64_t i) {
    return all->a->dtype == HD_F32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

static void multiply_carefully(const pairs *all, const factors *f) {
    int64_t size = (int64_t)all->size;
    for (int64_t i = 0; i < f->m; i++) {
        char *c = f->c + i * f->c_rs * size;
        if (f->beta == 0) memset(c, 0, (size_t)(f->n * size));
        for (int64_t p = 0; p < f->k; p++) {
            double x = element(all, f->a, i * f->a_rs + p * f->a_cs);
            if (x == 0) continue;
            all->kernels->axpy[all->a->dtype](f->n, f->alpha * x, f->b + p * f->b_rs * size, 1, c, 1);
        }
    }
}

static void multiply(const block *k, const factors *f) {
    const hd_gemm_tile *t = k->all->tile;
    int64_t size = (int64_t)k->all->size;
    if (k->careful) {
        multiply_carefully(k->all, f);
        return;
    }
    for (int64_t j = 0; j < f->n; j += t->nr)
        t->run(t, f->m, least(t->nr, f->n - j), f->k, f->alpha, f->a, f->a_rs, f->a_cs, f->b + j * size,
               f->b_rs, f->beta, f->c + j * size, f->c_rs);
}

/* to_i = alpha sum_j x_ij y_j for the queries of the block: out = w v, dq = scale ds k. */
static void sum_over_keys(const block *k, double alpha, char *x, const hd_heads *y, int64_t features,
                          const hd_heads *to) {
    const pairs *all = k->all;
    for (int64_t i = 0; i < k->rows; i += all->tile->mr) {
        factors f = {.m = least(all->tile->mr, k->rows - i), .n = features, .alpha = alpha};
        f.k = keys_of(k, i + f.m - 1);
        f.a = score(k, x, i, 0), f.a_rs = all->ld, f.a_cs = 1;
        f.b = key_row(k, y, 0), f.b_rs = y->row;
        f.c = query_row(k, to, i), f.c_rs = to->row;
        multiply(k, &f);
    }
}

/* The first query of the block that may see key j. */
static int64_t first_query(const block *k, int64_t j) {
    if (j >= k->keys) return k->rows;
    int64_t i = k->all->a->causal ? j - (k->span.S - k->span.L) - k->first : 0;
    return i > 0 ? i : 0;
}

/* to_j (+)= alpha sum_i x_ij y_i for all keys: dv = w^T g, dk = scale ds^T q. */
static void sum_over_queries(const block *k, double alpha, bool add, char *x, const hd_heads *y,
                             int64_t features, const hd_heads *to) {
    const pairs *all = k->all;
    int64_t count = add ? k->keys : k->span.S; /* the first time, what nobody sees becomes 0 */
    for (int64_t j = 0, m; j < count; j += m) {
        int64_t i = first_query(k, j);
        m = least(all->tile->mr, (j < k->keys ? k->keys : count) - j);
        factors f = {.m = m, .n = features, .k = k->rows - i, .alpha = alpha, .beta = add};
        f.a = score(k, x, i, j), f.a_rs = 1, f.a_cs = all->ld;
        f.b = query_row(k, y, i), f.b_rs = y->row;
        f.c = key_row(k, to, j), f.c_rs = to->row;
        multiply(k, &f);
    }
}

/* ---- weights --------------------------------------------------------------------------------------- */

/* s becomes c tanh(scale s / c); cap, in backward, its derivative by the scaled s. */
static void cap_row(const block *k, int64_t n, char *s, char *cap, double scale) {
    const hd_kernels *kernels = k->all->kernels;
    hd_dtype dtype = k->all->a->dtype;
    double c = k->all->a->softcap;
    kernels->affine[dtype](n, scale / c, 0, s, 1, s, 1);
    kernels->unary[HD_TANH][dtype](n, s, 1, s, 1);
    kernels->unary[HD_SQUARE][dtype](n, s, 1, cap, 1);
    kernels->affine[dtype](n, -1, 1, cap, 1, cap, 1);
    kernels->affine[dtype](n, c, 0, s, 1, s, 1);
}

/* The bias of a row with that of ALiBi. */
static const void *alibi_row(const block *k, const hd_sight_block *row) {
    const hd_attention_task *a = k->all->a;
    const void *bias = hd_bias_row(&a->bias, row->b, k->h, row->i, row->j, row->keys, k->bias);
    for (int64_t n = 0; n < row->keys; n++) {
        double off = a->slopes[k->h] * fabs((double)(row->i + row->shift - row->j - n));
        if (a->dtype == HD_F32)
            ((float *)k->bias)[n] = (float)((bias ? (double)((const float *)bias)[n] : 0) - off);
        else
            ((double *)k->bias)[n] = (bias ? ((const double *)bias)[n] : 0) - off;
    }
    return k->bias;
}

static void weights_row(const block *k, int64_t i) {
    const pairs *all = k->all;
    const hd_attention_task *a = all->a;
    int64_t n = keys_of(k, i), b = k->span.batch, query = k->span.q_first + k->first + i,
            key = k->span.k_first;
    const int64_t shift = key + k->span.S - k->span.L - k->span.q_first;
    char *p = score(k, k->p, i, 0);
    double scale = a->scale;
    if (a->softcap > 0) {
        cap_row(k, n, p, score(k, k->cap, i, 0), scale);
        scale = 1;
    }
    const hd_sight_block row = {.b = b, .h = k->h, .i = query, .j = key, .keys = n, .shift = shift};
    const uint8_t *see = all->rest.count ? hd_sight_row(&all->rest, &row, k->see) : NULL;
    const void *bias = a->slopes ? alibi_row(k, &row) : hd_bias_row(&a->bias, b, k->h, query, key, n, k->bias);
    all->kernels->masked_softmax_row[a->dtype](n, p, scale, see, bias, p);
    memset(score(k, k->p, i, n), 0, (size_t)(k->keys - n) * all->size);
}

/* w of the block. Of long rows only what may be seen is drawn; the rest stays as it is in p: 0. */
static void drop_weights(const block *k) {
    const pairs *all = k->all;
    const hd_attention_task *a = all->a;
    if (all->ld <= SHORT_ROW) {
        all->kernels->dropout[a->dtype](a->draw, row_number(k, 0) * all->ld, k->rows * all->ld, a->dropout,
                                        k->p, k->w);
        return;
    }
    for (int64_t i = 0; i < k->rows; i++) {
        int64_t n = keys_of(k, i);
        all->kernels->dropout[a->dtype](a->draw, row_number(k, i) * all->ld, n, a->dropout,
                                        score(k, k->p, i, 0), score(k, k->w, i, 0));
        memset(score(k, k->w, i, n), 0, (size_t)(k->keys - n) * all->size);
    }
}

/* p and w of the block (without dropout they are one); columns from k->keys on mean nothing. */
static void make_weights(const block *k) {
    dot_products(k, &k->all->a->q, k->all->a->D, k->kt, k->p);
    for (int64_t i = 0; i < k->rows; i++) weights_row(k, i);
    if (k->all->a->dropout > 0) drop_weights(k);
}

/* Rows of the block as rows of a whole [B, H, L, S]. */
static void copy_out(const block *k, char *from, char *to) {
    const pairs *all = k->all;
    size_t row = (size_t)all->a->S * all->size, before = (size_t)k->span.k_first * all->size;
    for (int64_t i = 0; i < k->rows; i++) {
        char *at = to + (size_t)row_number(k, i) * row;
        memset(at, 0, row);
        memcpy(at + before, score(k, from, i, 0), (size_t)k->keys * all->size);
    }
}

static bool queries_are_finite(const block *k, const hd_heads *t, int64_t features) {
    double sum = 0;
    for (int64_t i = 0; t->data && i < k->rows; i++)
        sum += k->all->kernels->sum_squares[k->all->a->dtype](features, query_row(k, t, i));
    return isfinite(sum);
}

static bool keys_are_finite(const block *k, const hd_heads *t, int64_t features) {
    double sum = 0;
    for (int64_t j = 0; t->data && j < k->span.S; j++)
        sum += k->all->kernels->sum_squares[k->all->a->dtype](features, key_row(k, t, j));
    return isfinite(sum);
}

/* ---- forward --------------------------------------------------------------------------------------- */

static void forward_block(const block *k) {
    const hd_attention_task *a = k->all->a;
    make_weights(k);
    if (a->weights) copy_out(k, k->p, a->weights);
    sum_over_keys(k, 1, k->w, &a->v, a->Dv, &a->out);
}

static void forward_task(void *arg, int64_t task, int worker) {
    const pairs *all = arg;
    const hd_attention_task *a = all->a;
    int64_t pair = task / all->blocks, first = task % all->blocks * all->rows;
    block k = {.all = all, .span = hd_span_of(a, pair / a->H), .h = pair % a->H};
    if (first >= k.span.L) return;
    k.hk = k.h / (a->H / a->Hk);
    use_scratch(&k, worker);
    move_to(&k, first);
    transpose(&k, &a->k, a->D, k.keys, k.kt);
    forward_block(&k);
    if (!all->may_hide || queries_are_finite(&k, &a->out, a->Dv)) return;
    k.careful = true;
    forward_block(&k);
}

/* ---- backward -------------------------------------------------------------------------------------- */

/* ds from dw, in its place. Where p is 0 nothing is looked at. */
static void scores_gradient_row(const block *k, int64_t i) {
    const pairs *all = k->all;
    hd_dtype dtype = all->a->dtype;
    char *p = score(k, k->p, i, 0), *w = score(k, k->w, i, 0), *ds = score(k, k->ds, i, 0);
    int64_t n = keys_of(k, i);
    if (p == w)
        all->kernels->softmax_row_grad[dtype](n, p, ds, ds);
    else
        all->kernels->dropped_softmax_row_grad[dtype](n, p, w, ds, ds);
    memset(score(k, k->ds, i, n), 0, (size_t)(k->keys - n) * all->size);
}

static void uncap_row(const block *k, int64_t i) {
    const pairs *all = k->all;
    const char *p = score(k, k->p, i, 0), *cap = score(k, k->cap, i, 0);
    char *ds = score(k, k->ds, i, 0);
    for (int64_t j = 0, n = keys_of(k, i); j < n; j++) {
        double slope = element(all, p, j) == 0 ? 0 : element(all, ds, j) * element(all, cap, j);
        if (all->a->dtype == HD_F32)
            ((float *)ds)[j] = (float)slope;
        else
            ((double *)ds)[j] = slope;
    }
}

static void backward_block(const block *k, bool add) {
    const hd_attention_task *a = k->all->a;
    make_weights(k);
    if (a->dv.data) sum_over_queries(k, 1, add, k->w, &a->g, a->Dv, &a->dv);
    dot_products(k, &a->g, a->Dv, k->vt, k->ds);
    for (int64_t i = 0; i < k->rows; i++) scores_gradient_row(k, i);
    if (a->dbias) copy_out(k, k->ds, a->dbias);
    for (int64_t i = 0; a->softcap > 0 && i < k->rows; i++) uncap_row(k, i);
    if (a->dq.data) sum_over_keys(k, a->scale, k->ds, &a->k, a->D, &a->dq);
    if (a->dk.data) sum_over_queries(k, a->scale, add, k->ds, &a->q, a->D, &a->dk);
}

/* All queries of the heads that share one key head. Are the gradients finite, or is it all the same? */
static bool backward_group(block *k) {
    const pairs *all = k->all;
    const hd_attention_task *a = all->a;
    int64_t group = a->H / a->Hk;
    bool look = all->may_hide && !k->careful, finite = true;
    for (int64_t h = k->hk * group; h < (k->hk + 1) * group; h++)
        for (int64_t first = 0; first < k->span.L; first += all->rows) {
            k->h = h;
            move_to(k, first);
            backward_block(k, first > 0 || h > k->hk * group);
            if (look) finite &= queries_are_finite(k, &a->dq, a->D);
        }
    return !look || (finite && keys_are_finite(k, &a->dk, a->D) && keys_are_finite(k, &a->dv, a->Dv));
}

static void clear_keys(const block *k, const hd_heads *t, int64_t features) {
    for (int64_t j = 0; t->data && j < k->span.S; j++)
        memset(key_row(k, t, j), 0, (size_t)features * k->all->size);
}

static void backward_task(void *arg, int64_t task, int worker) {
    const pairs *all = arg;
    const hd_attention_task *a = all->a;
    block k = {.all = all, .span = hd_span_of(a, task / a->Hk), .hk = task % a->Hk};
    if (k.span.L == 0) {
        clear_keys(&k, &a->dk, a->D);
        clear_keys(&k, &a->dv, a->Dv);
        return;
    }
    use_scratch(&k, worker);
    int64_t keys = hd_visible_keys(a, &k.span, k.span.L - 1);
    transpose(&k, &a->k, a->D, keys, k.kt);
    transpose(&k, &a->v, a->Dv, keys, k.vt);
    if (backward_group(&k)) return;
    k.careful = true;
    backward_group(&k);
}

/* ---- both ------------------------------------------------------------------------------------------ */

static size_t room(size_t *total, int64_t elements, size_t size) {
    size_t at = *total;
    *total += ((size_t)elements * size + HD_GEMM_SLACK + 63) / 64 * 64;
    return at;
}

static hd_status begin(hd_ctx *cx, pairs *all, const hd_attention_task *a, bool backward) {
    int64_t longest = 0, most_keys = 0;
    for (int64_t s = 0; s < a->sequences; s++) {
        hd_span span = hd_span_of(a, s);
        if (span.L > longest) longest = span.L;
        if (span.S > most_keys) most_keys = span.S;
    }
    *all = (pairs){.a = a, .kernels = cx->kernels, .size = hd_dtype_size(a->dtype)};
    all->ld = hd_attention_row(most_keys);
    all->tile = a->dtype == HD_F32 ? &cx->gemm->direct.f32 : &cx->gemm->direct.f64;
    all->rows = least(BLOCK_QUERIES / all->tile->mr * all->tile->mr, longest > 0 ? longest : 1);
    all->blocks = (longest + all->rows - 1) / all->rows;
    all->rest = *a->sight;
    all->rest.count = a->rest;
    all->may_hide = a->rest || a->bias.data || (a->causal && longest > 1);
    int64_t panels = (most_keys + all->tile->nr - 1) / all->tile->nr * all->tile->nr;
    size_t total = 0;
    room(&total, all->rows * all->ld, all->size);
    all->at_w = a->dropout > 0 ? room(&total, all->rows * all->ld, all->size) : 0;
    all->at_ds = backward ? room(&total, all->rows * all->ld, all->size) : 0;
    all->at_cap = a->softcap > 0 ? room(&total, all->rows * all->ld, all->size) : 0;
    all->at_kt = room(&total, panels * a->D, all->size);
    all->at_vt = backward ? room(&total, panels * a->Dv, all->size) : 0;
    all->at_bias = room(&total, all->ld, all->size);
    all->at_see = room(&total, all->ld, 1);
    all->scratch_size = total;
    all->scratch = hd_alloc(cx, total * (size_t)hd_max_workers(cx));
    return all->scratch ? HD_OK : cx->error.status;
}

static hd_status each(hd_ctx *cx, pairs *all, int64_t count, hd_task task) {
    const hd_attention_task *a = all->a;
    double flops = 2.0 * (double)(a->sequences * a->H) * (double)(all->blocks * all->rows) * (double)all->ld *
                   (double)(a->D + a->Dv);
    hd_status status = HD_OK;
    if (flops >= HD_SERIAL_FLOPS)
        status = hd_parallel(cx, count, task, all);
    else
        for (int64_t i = 0; i < count; i++) task(all, i, 0);
    hd_free(cx->account, all->scratch);
    return status;
}

hd_status hd_attention_pairs_forward(hd_ctx *cx, const hd_attention_task *a) {
    pairs all;
    if (a->sequences * a->H == 0) return HD_OK;
    hd_status status = begin(cx, &all, a, false);
    return status ? status : each(cx, &all, a->sequences * a->H * all.blocks, forward_task);
}

hd_status hd_attention_pairs_backward(hd_ctx *cx, const hd_attention_task *a) {
    pairs all;
    if (a->sequences * a->Hk == 0) return HD_OK;
    hd_status status = begin(cx, &all, a, true);
    return status ? status : each(cx, &all, a->sequences * a->Hk, backward_task);
}
