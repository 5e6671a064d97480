/* attention_pairs.c: attention by pairs of batch entry and head, a block of queries at a time, all of it in
 * cache.
 *
 * Forward, a task for each pair and block of queries:
 *   s = q k^T             by register tiles, k transposed into panels
 *   p = softmax(s)        rows, masked: exactly 0 where hidden
 *   out = dropout(p) v    v read where it lies, out written where it belongs
 *
 * Backward, a task for each batch entry and key head, whose queries it goes through in order; p is made
 * again: dp = dropout(g v^T) ds = p (dp - sum dp p) dv += dropout(p)^T g,  dq = scale ds k,  dk += scale ds^T
 * q
 *
 * Memory beside inputs and results: one block of p and ds for each worker. Loops end where causality and
 * lengths end.
 *
 * p and ds are exactly 0 where hidden, but 0 times NaN is NaN. So what a task has written is looked through
 * when something could be hidden inside it, and if it is not finite the task runs again in the careful way,
 * which leaves out products with an exact 0.
 */
#include "ops/attention.h"

#include "base/parallel.h"
#include "kernels/gemm_tile.h"

#include <math.h>
#include <string.h>

#define BLOCK_QUERIES 72 /* about: a whole number of register tiles */

typedef struct pairs {
    const hd_attention_task *a;
    const hd_kernels *kernels;
    const hd_gemm_tile *tile;
    size_t size;    /* bytes of an element */
    int64_t ld;     /* elements of a row of p, ds */
    int64_t rows;   /* queries of a block */
    int64_t blocks; /* of one pair */
    bool may_hide;  /* more than whole columns for all queries */
    char *scratch;  /* workers * scratch_size */
    size_t scratch_size, at_ds, at_cap, at_kt, at_vt, at_bias, at_see;
} pairs;

/* One block of queries of one pair, and a worker's scratch. */
typedef struct block {
    const pairs *w;
    int64_t b, h, hk, first, rows;
    int64_t keys; /* that the last of its queries sees: the most */
    bool careful;
    char *p, *ds, *cap, *kt, *vt, *bias;
    uint8_t *see;
} block;

/* ---- where things lie
 * ----------------------------------------------------------------------------------------- */

static char *row_of(const pairs *w, const hd_heads *t, int64_t b, int64_t h, int64_t i) {
    return t->data + (b * t->batch + h * t->head + i * t->row) * (int64_t)w->size;
}

static char *score(const block *k, char *base, int64_t i, int64_t j) {
    return base + (i * k->w->ld + j) * (int64_t)k->w->size;
}

static int64_t row_number(const block *k, int64_t i) {
    const hd_attention_task *a = k->w->a;
    return (k->b * a->H + k->h) * a->L + k->first + i;
}

static int64_t keys_of(const block *k, int64_t i) {
    return hd_visible_keys(k->w->a, k->b, k->first + i);
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static void use_scratch(block *k, int worker) {
    const pairs *w = k->w;
    char *base = w->scratch + (size_t)worker * w->scratch_size;
    k->p = base;
    k->ds = base + w->at_ds;
    k->cap = base + w->at_cap;
    k->kt = base + w->at_kt;
    k->vt = base + w->at_vt;
    k->bias = base + w->at_bias;
    k->see = (uint8_t *)base + w->at_see;
}

static void move_to(block *k, int64_t first) {
    const hd_attention_task *a = k->w->a;
    k->first = first;
    k->rows = least(k->w->rows, a->L - first);
    k->keys = keys_of(k, k->rows - 1);
}

/* ---- products
 * --------------------------------------------------------------------------------------------------- */

/* Keys (or values) [0, count) transposed, in panels as wide as the tile. */
static void transpose(const block *k, const hd_heads *t, int64_t features, int64_t count, char *to) {
    const pairs *w = k->w;
    int64_t width = w->tile->nr;
    for (int64_t j = 0; j < count; j += width)
        w->tile->pack(width, least(width, count - j), features, row_of(w, t, k->b, k->hk, j), t->row, 1,
                      to + j * features * (int64_t)w->size);
}

/* scores[i][j] = x_i . y_j for the keys that a tile's last query sees; y in panels. */
static void dot_products(const block *k, const hd_heads *x, int64_t features, const char *panels,
                         char *scores) {
    const pairs *w = k->w;
    const hd_gemm_tile *t = w->tile;
    for (int64_t i = 0; i < k->rows; i += t->mr) {
        int64_t m = least(t->mr, k->rows - i), keys = keys_of(k, i + m - 1);
        const char *from = row_of(w, x, k->b, k->h, k->first + i);
        for (int64_t j = 0; j < keys; j += t->nr)
            t->run(t, m, least(t->nr, keys - j), features, 1, from, x->row, 1,
                   panels + j * features * (int64_t)w->size, t->nr, 0, score(k, scores, i, j), w->ld);
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

static double element(const pairs *w, const char *p, int64_t i) {
    return w->a->dtype == HD_F32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

static void multiply_carefully(const pairs *w, const factors *f) {
    int64_t size = (int64_t)w->size;
    for (int64_t i = 0; i < f->m; i++) {
        char *c = f->c + i * f->c_rs * size;
        if (f->beta == 0) memset(c, 0, (size_t)(f->n * size));
        for (int64_t p = 0; p < f->k; p++) {
            double x = element(w, f->a, i * f->a_rs + p * f->a_cs);
            if (x != 0) w->kernels->axpy[w->a->dtype](f->n, f->alpha * x, f->b + p * f->b_rs * size, 1, c, 1);
        }
    }
}

static void multiply(const block *k, const factors *f) {
    const hd_gemm_tile *t = k->w->tile;
    int64_t size = (int64_t)k->w->size;
    if (k->careful) {
        multiply_carefully(k->w, f);
        return;
    }
    for (int64_t j = 0; j < f->n; j += t->nr)
        t->run(t, f->m, least(t->nr, f->n - j), f->k, f->alpha, f->a, f->a_rs, f->a_cs, f->b + j * size,
               f->b_rs, f->beta, f->c + j * size, f->c_rs);
}

/* to_i = alpha sum_j x_ij y_j for the queries of the block: out = p v, dq = scale ds k. */
static void sum_over_keys(const block *k, double alpha, char *x, const hd_heads *y, int64_t features,
                          const hd_heads *to) {
    const pairs *w = k->w;
    for (int64_t i = 0; i < k->rows; i += w->tile->mr) {
        factors f = {.m = least(w->tile->mr, k->rows - i), .n = features, .alpha = alpha};
        f.k = keys_of(k, i + f.m - 1);
        f.a = score(k, x, i, 0), f.a_rs = w->ld, f.a_cs = 1;
        f.b = row_of(w, y, k->b, k->hk, 0), f.b_rs = y->row;
        f.c = row_of(w, to, k->b, k->h, k->first + i), f.c_rs = to->row;
        multiply(k, &f);
    }
}

/* The first query of the block that may see key j. */
static int64_t first_query(const block *k, int64_t j) {
    const hd_attention_task *a = k->w->a;
    if (j >= k->keys) return k->rows;
    int64_t i = a->causal ? j - (a->S - a->L) - k->first : 0;
    return i > 0 ? i : 0;
}

/* to_j (+)= alpha sum_i x_ij y_i for all keys: dv = p^T g, dk = scale ds^T q. */
static void sum_over_queries(const block *k, double alpha, bool add, char *x, const hd_heads *y,
                             int64_t features, const hd_heads *to) {
    const pairs *w = k->w;
    int64_t count = add ? k->keys : w->a->S; /* the first time, what nobody sees becomes 0 */
    for (int64_t j = 0, m; j < count; j += m) {
        int64_t i = first_query(k, j);
        m = least(w->tile->mr, (j < k->keys ? k->keys : count) - j);
        factors f = {.m = m, .n = features, .k = k->rows - i, .alpha = alpha, .beta = add};
        f.a = score(k, x, i, j), f.a_rs = 1, f.a_cs = w->ld;
        f.b = row_of(w, y, k->b, k->h, k->first + i), f.b_rs = y->row;
        f.c = row_of(w, to, k->b, k->hk, j), f.c_rs = to->row;
        multiply(k, &f);
    }
}

/* ---- weights
 * ------------------------------------------------------------------------------------------------------- */

/* s becomes c tanh(scale s / c); cap, in backward, its derivative by the scaled s. */
static void cap_row(const block *k, int64_t n, char *s, char *cap, double scale) {
    const pairs *w = k->w;
    hd_dtype dtype = w->a->dtype;
    double c = w->a->softcap;
    w->kernels->affine[dtype](n, scale / c, 0, s, 1, s, 1);
    w->kernels->unary[HD_TANH][dtype](n, s, 1, s, 1);
    w->kernels->unary[HD_SQUARE][dtype](n, s, 1, cap, 1);
    w->kernels->affine[dtype](n, -1, 1, cap, 1, cap, 1);
    w->kernels->affine[dtype](n, c, 0, s, 1, s, 1);
}

static void weights_row(const block *k, int64_t i) {
    const pairs *w = k->w;
    const hd_attention_task *a = w->a;
    int64_t n = keys_of(k, i);
    char *p = score(k, k->p, i, 0);
    double scale = a->scale;
    if (a->softcap > 0) {
        cap_row(k, n, p, score(k, k->cap, i, 0), scale);
        scale = 1;
    }
    w->kernels->masked_softmax_row[a->dtype](n, p, scale,
                                             hd_mask_row(&a->mask, k->b, k->h, k->first + i, n, k->see),
                                             hd_bias_row(&a->bias, k->b, k->h, k->first + i, n, k->bias), p);
    memset(score(k, k->p, i, n), 0, (size_t)(k->keys - n) * w->size);
}

/* p of the block; columns from k->keys on are not written. */
static void make_weights(const block *k) {
    dot_products(k, &k->w->a->q, k->w->a->D, k->kt, k->p);
    for (int64_t i = 0; i < k->rows; i++) weights_row(k, i);
}

static void drop_weights(const block *k, char *x) {
    const hd_attention_task *a = k->w->a;
    for (int64_t i = 0; a->dropout > 0 && i < k->rows; i++)
        k->w->kernels->dropout[a->dtype](a->draw, row_number(k, i) * k->w->ld, keys_of(k, i), a->dropout,
                                         score(k, x, i, 0), score(k, x, i, 0));
}

/* Rows of the block as rows of a whole [B, H, L, S]. */
static void copy_out(const block *k, char *from, char *to) {
    const pairs *w = k->w;
    size_t row = (size_t)w->a->S * w->size, seen = (size_t)k->keys * w->size;
    for (int64_t i = 0; i < k->rows; i++) {
        char *at = to + (size_t)row_number(k, i) * row;
        memcpy(at, score(k, from, i, 0), seen);
        memset(at + seen, 0, row - seen);
    }
}

static bool is_finite(const pairs *w, const hd_heads *t, int64_t b, int64_t h, int64_t first, int64_t rows,
                      int64_t features) {
    double sum = 0;
    for (int64_t i = first; t->data && i < first + rows; i++)
        sum += w->kernels->sum_squares[w->a->dtype](features, row_of(w, t, b, h, i));
    return isfinite(sum);
}

/* ---- forward
 * ---------------------------------------------------------------------------------------------------------
 */

static void forward_block(const block *k) {
    const hd_attention_task *a = k->w->a;
    make_weights(k);
    if (a->weights) copy_out(k, k->p, a->weights);
    drop_weights(k, k->p);
    sum_over_keys(k, 1, k->p, &a->v, a->Dv, &a->out);
}

static void forward_task(void *arg, int64_t task, int worker) {
    const pairs *w = arg;
    const hd_attention_task *a = w->a;
    block k = {.w = w, .b = task / w->blocks / a->H, .h = task / w->blocks % a->H};
    k.hk = k.h / (a->H / a->Hk);
    use_scratch(&k, worker);
    move_to(&k, task % w->blocks * w->rows);
    transpose(&k, &a->k, a->D, k.keys, k.kt);
    forward_block(&k);
    if (!w->may_hide || is_finite(w, &a->out, k.b, k.h, k.first, k.rows, a->Dv)) return;
    k.careful = true;
    forward_block(&k);
}

/* ---- backward
 * -------------------------------------------------------------------------------------------------------- */

/* ds of a row, and what softcap makes of it. Where p is 0 nothing is looked at. */
static void scores_gradient_row(const block *k, int64_t i) {
    const pairs *w = k->w;
    const hd_attention_task *a = w->a;
    char *p = score(k, k->p, i, 0), *ds = score(k, k->ds, i, 0);
    int64_t n = keys_of(k, i);
    w->kernels->softmax_row_grad[a->dtype](n, p, ds, ds);
    memset(score(k, k->ds, i, n), 0, (size_t)(k->keys - n) * w->size);
}

static void uncap_row(const block *k, int64_t i) {
    const pairs *w = k->w;
    const char *p = score(k, k->p, i, 0), *cap = score(k, k->cap, i, 0);
    char *ds = score(k, k->ds, i, 0);
    for (int64_t j = 0, n = keys_of(k, i); j < n; j++) {
        double slope = element(w, p, j) == 0 ? 0 : element(w, ds, j) * element(w, cap, j);
        if (w->a->dtype == HD_F32)
            ((float *)ds)[j] = (float)slope;
        else
            ((double *)ds)[j] = slope;
    }
}

static void backward_block(const block *k, bool add) {
    const hd_attention_task *a = k->w->a;
    make_weights(k);
    dot_products(k, &a->g, a->Dv, k->vt, k->ds);
    drop_weights(k, k->ds);
    for (int64_t i = 0; i < k->rows; i++) scores_gradient_row(k, i);
    if (a->dbias) copy_out(k, k->ds, a->dbias);
    for (int64_t i = 0; a->softcap > 0 && i < k->rows; i++) uncap_row(k, i);
    if (a->dq.data) sum_over_keys(k, a->scale, k->ds, &a->k, a->D, &a->dq);
    if (a->dk.data) sum_over_queries(k, a->scale, add, k->ds, &a->q, a->D, &a->dk);
    if (!a->dv.data) return;
    drop_weights(k, k->p);
    sum_over_queries(k, 1, add, k->p, &a->g, a->Dv, &a->dv);
}

/* All queries of the heads that share one key head. */
static bool backward_group(block *k) {
    const pairs *w = k->w;
    const hd_attention_task *a = w->a;
    int64_t group = a->H / a->Hk;
    bool finite = true;
    for (int64_t step = 0; step < group * w->blocks; step++) {
        k->h = k->hk * group + step / w->blocks;
        move_to(k, step % w->blocks * w->rows);
        backward_block(k, step > 0);
        if (w->may_hide && !k->careful) finite &= is_finite(w, &a->dq, k->b, k->h, k->first, k->rows, a->D);
    }
    if (!w->may_hide || k->careful) return true;
    return finite && is_finite(w, &a->dk, k->b, k->hk, 0, a->S, a->D) &&
           is_finite(w, &a->dv, k->b, k->hk, 0, a->S, a->Dv);
}

static void backward_task(void *arg, int64_t task, int worker) {
    const pairs *w = arg;
    const hd_attention_task *a = w->a;
    block k = {.w = w, .b = task / a->Hk, .hk = task % a->Hk};
    use_scratch(&k, worker);
    int64_t keys = hd_visible_keys(a, k.b, a->L - 1);
    transpose(&k, &a->k, a->D, keys, k.kt);
    transpose(&k, &a->v, a->Dv, keys, k.vt);
    if (backward_group(&k)) return;
    k.careful = true;
    backward_group(&k);
}

/* ---- both
 * -------------------------------------------------------------------------------------------------------------
 */

static size_t room(size_t *total, int64_t elements, size_t size) {
    size_t at = *total;
    *total += ((size_t)elements * size + HD_GEMM_SLACK + 63) / 64 * 64;
    return at;
}

static hd_status begin(hd_ctx *cx, pairs *w, const hd_attention_task *a, bool backward) {
    *w = (pairs){
        .a = a, .kernels = cx->kernels, .size = hd_dtype_size(a->dtype), .ld = hd_attention_row(a->S)};
    w->tile = a->dtype == HD_F32 ? &cx->gemm->direct.f32 : &cx->gemm->direct.f64;
    w->rows = least(BLOCK_QUERIES / w->tile->mr * w->tile->mr, a->L);
    w->blocks = (a->L + w->rows - 1) / w->rows;
    w->may_hide = a->mask.data || a->bias.data || (a->causal && a->L > 1);
    int64_t panels = (a->S + w->tile->nr - 1) / w->tile->nr * w->tile->nr;
    size_t total = 0;
    room(&total, w->rows * w->ld, w->size);
    w->at_ds = backward ? room(&total, w->rows * w->ld, w->size) : 0;
    w->at_cap = a->softcap > 0 ? room(&total, w->rows * w->ld, w->size) : 0;
    w->at_kt = room(&total, panels * a->D, w->size);
    w->at_vt = backward ? room(&total, panels * a->Dv, w->size) : 0;
    w->at_bias = room(&total, w->ld, w->size);
    w->at_see = room(&total, w->ld, 1);
    w->scratch_size = total;
    w->scratch = hd_alloc(cx, total * (size_t)hd_max_workers(cx));
    return w->scratch ? HD_OK : cx->error.status;
}

static hd_status each(hd_ctx *cx, pairs *w, int64_t count, hd_task task) {
    const hd_attention_task *a = w->a;
    double flops = 2.0 * (double)(a->B * a->H) * (double)(a->L * a->S) * (double)(a->D + a->Dv);
    hd_status status = HD_OK;
    if (flops >= HD_SERIAL_FLOPS)
        status = hd_parallel(cx, count, task, w);
    else
        for (int64_t i = 0; i < count; i++) task(w, i, 0);
    hd_free(cx->account, w->scratch);
    return status;
}

hd_status hd_attention_forward(hd_ctx *cx, const hd_attention_task *a) {
    pairs w;
    if (a->B * a->H * a->L == 0) return HD_OK;
    hd_status status = begin(cx, &w, a, false);
    return status ? status : each(cx, &w, a->B * a->H * w.blocks, forward_task);
}

hd_status hd_attention_backward(hd_ctx *cx, const hd_attention_task *a) {
    pairs w;
    if (a->B * a->H * a->L == 0) return HD_OK;
    hd_status status = begin(cx, &w, a, true);
    return status ? status : each(cx, &w, a->B * a->Hk, backward_task);
}
