/* attention_decode.c: attention of a few queries against any number of keys: decoding. Bound by how fast keys and values can
 * be read, so each is read once, as it lies, for all queries that share it, and in the order of memory: where the heads of a
 * key lie beside each other (a cache [B, S, Hk, D], a projection) they are taken together, else head by head.
 *
 * Keys are cut into splits, by the sizes alone; every split gives its own softmax, the log of its sum and its own mean
 * of values. These are weighed against each other at the end, in the order of the keys: the number of threads changes no bit.
 */
#include "ops/attention/attention_decode.h"
#include "base/minmax.h"

#include "base/memory.h"
#include "base/parallel.h"
#include "ops/elementwise/element.h"

#include <math.h>
#include <string.h>

enum {
    LEAST_SPLIT = 128, /* keys */
    MOST_SPLIT = 512,
    SPLIT_BYTES = 64 << 10, /* at least, of the keys and values of a split */
    WANTED_TASKS = 8,
    MOST_ROWS = 128 /* queries of a band of heads, where one head does not have more */
};

static int64_t multiple(int64_t n, int64_t of) {
    return (n + of - 1) / of * of;
}

/* ---- splits --------------------------------------------------------------------------------------- */

static int64_t split_of(const hd_attention_task *a, int64_t most_keys) {
    const int64_t key_bytes = a->Hk * (a->D + a->Dv) * (int64_t)hd_dtype_size(a->key_dtype);
    const int64_t shortest = hd_max(LEAST_SPLIT, SPLIT_BYTES / key_bytes);
    const int64_t keys = hd_max(a->sequences * most_keys / WANTED_TASKS, shortest);
    return hd_min(multiple(keys, LEAST_SPLIT), MOST_SPLIT);
}

void hd_decode_cut(hd_ctx *cx, const hd_attention_task *a, int64_t features, hd_decode *all) {
    int64_t most_keys = 0;
    *all = (hd_decode){
        .a = a, .kernels = cx->kernels, .size = (int64_t)hd_dtype_size(a->dtype), .features = features};
    hd_attention_longest(a, &all->longest, &most_keys);
    all->row = hd_attention_row(most_keys);
    all->split = split_of(a, most_keys);
    all->splits = hd_max(1, (most_keys + all->split - 1) / all->split);
    all->parts = all->splits > 1;
}

hd_status hd_decode_alloc(hd_ctx *cx, hd_decode *all) {
    const hd_attention_task *a = all->a;
    const int64_t rows = all->parts ? a->B * a->H * a->L * all->splits : 0;
    const size_t workers = (size_t)hd_max_workers(cx);
    const size_t sums = (size_t)multiple(rows * all->features * all->size, 64);
    all->whole = all->reserved + (size_t)multiple(all->split * (all->size + 1), 64);
    all->scratch = hd_alloc(cx, workers * all->whole + sums + (size_t)rows * sizeof(double));
    if (!all->scratch) return cx->error.status;
    all->sums = all->scratch + workers * all->whole;
    all->logs = (double *)(all->sums + sums);
    return HD_OK;
}

static int64_t shift_of(const hd_span *span) {
    return span->k_first + span->S - span->L - span->q_first;
}

void hd_decode_take(const hd_decode *all, int64_t sequence, int64_t part, int worker, hd_key_split *s) {
    *s = (hd_key_split){.all = all, .part = part, .span = hd_span_of(all->a, sequence)};
    const hd_span *span = &s->span;
    const int64_t from = hd_min(part * all->split, span->S), to = hd_min(from + all->split, span->S);
    s->scratch = all->scratch + (size_t)worker * all->whole;
    s->bias = s->scratch + all->reserved;
    s->see = (uint8_t *)s->bias + all->split * all->size;
    if (span->L == 0) return;
    /* What one head's queries may see at most, others may too: only tensors tell heads apart, and they narrow nothing. */
    hd_resolved_block b = {.b = span->batch,
                           .i = span->q_first,
                           .lanes = span->L,
                           .j = span->k_first + from,
                           .keys = to - from,
                           .shift = shift_of(span)};
    hd_resolved_narrow(all->a->mask, &b);
    s->j = b.j, s->keys = b.keys;
}

char *hd_decode_sums(const hd_key_split *s, const hd_heads *whole, int64_t *step) {
    const hd_decode *all = s->all;
    *step = all->parts ? all->splits * all->features : whole->row;
    if (!all->parts) return hd_decode_queries(s, whole);
    return all->sums + (hd_decode_row(s, 0) * all->splits + s->part) * all->features * all->size;
}

/* ---- scores ------------------------------------------------------------------------------------------ */

static void cap_row(const hd_key_split *s, char *x, char *cap) {
    const hd_attention_task *a = s->all->a;
    const hd_kernels *k = s->all->kernels;
    k->affine[a->dtype](s->keys, a->scale / a->softcap, 0, x, 1, x, 1);
    k->unary[HD_TANH][a->dtype](s->keys, x, 1, x, 1);
    if (cap) {
        k->unary[HD_SQUARE][a->dtype](s->keys, x, 1, cap, 1);
        k->affine[a->dtype](s->keys, -1, 1, cap, 1, cap, 1);
    }
    k->affine[a->dtype](s->keys, a->softcap, 0, x, 1, x, 1);
}

/* The bias of a row, with that of ALiBi; NULL: none. */
static const void *bias_row(const hd_key_split *s, const hd_resolved_block *row) {
    const hd_attention_task *a = s->all->a;
    const void *bias = hd_bias_row(&a->bias, row->b, row->h, row->i, row->j, row->keys, s->bias);
    if (!a->slopes) return bias;
    for (int64_t n = 0; n < row->keys; n++) {
        const double off = a->slopes[s->h] * fabs((double)(row->i + row->shift - row->j - n));
        const double given = bias ? hd_load(bias, a->dtype, n) : 0;
        hd_store(s->bias, a->dtype, n, given - off);
    }
    return s->bias;
}

double hd_decode_softmax(hd_key_split *s, int64_t i, char *x, char *cap) {
    const hd_attention_task *a = s->all->a;
    const hd_resolved_block row = {.b = s->span.batch,
                                   .h = s->h,
                                   .i = s->span.q_first + i,
                                   .lanes = 1,
                                   .j = s->j,
                                   .keys = s->keys,
                                   .shift = shift_of(&s->span)};
    const uint8_t *see = hd_resolved_row(a->mask, &row, s->see);
    const void *bias = bias_row(s, &row);
    s->hides = s->hides || see || a->bias.data;
    if (a->softcap > 0) cap_row(s, x, cap);
    return s->all->kernels->masked_softmax_row[a->dtype](s->keys, x, a->softcap > 0 ? 1 : a->scale, see, bias,
                                                         x);
}

/* ---- a band of heads --------------------------------------------------------------------------------- */

typedef struct forward {
    hd_decode decode;
    const hd_row_kernels *k;
    int64_t key_size;         /* bytes of an element of k and v */
    int64_t bands, heads;     /* of keys: bands, heads of a band */
    int64_t at_once;          /* query heads of a group that go through a split together */
    int64_t q_width, o_width; /* elements of a row of q, of sums */
    int64_t score_row;        /* of scores */
    size_t q, scores, sums;   /* in a worker's scratch: [heads, at_once, L] rows of each */
    size_t line;              /* a row of values, widened */
} forward;

/* Heads hk .. hk + heads of keys, and of each group the query heads first .. first + count. */
typedef struct band {
    const forward *all;
    hd_key_split s;
    int64_t hk, heads, first, count;
} band;

static char *row_at(const band *b, size_t of, int64_t width, int64_t r) {
    return b->s.scratch + of + r * width * b->all->decode.size;
}

/* Head s->h and row i of row r of the band. */
static int64_t to_row(band *b, int64_t r) {
    const hd_attention_task *a = b->all->decode.a;
    const int64_t L = b->s.span.L, g = r / L;
    b->s.h = (b->hk + g / b->count) * (a->H / a->Hk) + b->first + g % b->count;
    return r % L;
}

static hd_row_block rows_of(const band *b, const hd_heads *x, int64_t features) {
    const hd_key_split *s = &b->s;
    return (hd_row_block){.heads = b->heads,
                          .queries = b->count * s->span.L,
                          .keys = s->keys,
                          .features = features,
                          .x = x->data + (s->span.batch * x->batch + b->hk * x->head + s->j * x->row) *
                                             b->all->key_size,
                          .row = x->row,
                          .head = x->head};
}

static void take_queries(band *b, int64_t rows) {
    const forward *all = b->all;
    const hd_attention_task *a = all->decode.a;
    const size_t size = (size_t)all->decode.size, padding = (size_t)(all->q_width - a->D) * size;
    for (int64_t r = 0; r < rows; r++) {
        const int64_t i = to_row(b, r);
        char *to = row_at(b, all->q, all->q_width, r);
        memcpy(to, hd_decode_queries(&b->s, &a->q) + i * a->q.row * all->decode.size, (size_t)a->D * size);
        memset(to + (size_t)a->D * size, 0, padding);
    }
}

static bool is_finite(const hd_decode *all, const char *x, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += hd_load(x, all->a->dtype, i) * 0;
    return sum == 0;
}

void hd_decode_accumulate_seen(const hd_decode *all, int64_t keys, int64_t features, double scale,
                               const char *weights, const hd_decode_rows *rows, char *to) {
    const hd_dtype dtype = all->a->dtype;
    const char *x = rows->x;
    memset(to, 0, (size_t)(features * all->size));
    for (int64_t n = 0; n < keys; n++, x += rows->step) {
        const double w = hd_load(weights, dtype, n);
        if (w == 0) continue;
        if (rows->widen) rows->widen(1, features, x, features, rows->line);
        all->kernels->axpy[dtype](features, scale * w, rows->widen ? rows->line : x, 1, to, 1);
    }
}

/* Row r of the sums again, without what has no weight. */
static void accumulate_seen(const band *b, int64_t r) {
    const forward *all = b->all;
    const hd_row_block v = rows_of(b, &all->decode.a->v, all->decode.a->Dv);
    const hd_decode_rows rows = {.x = (const char *)v.x + r / v.queries * v.head * all->key_size,
                                 .step = v.row * all->key_size,
                                 .widen = all->k->widen,
                                 .line = b->s.scratch + all->line};
    hd_decode_accumulate_seen(&all->decode, v.keys, all->decode.a->Dv, 1,
                              row_at(b, all->scores, all->score_row, r), &rows,
                              row_at(b, all->sums, all->o_width, r));
}

static void write_lse(const hd_decode *all, int64_t row, double log_sum) {
    const double lse = log_sum * 1.44269504088896340736;
    if (all->a->lse) hd_store(all->a->lse, all->a->dtype, row, lse);
}

static void leave_log(const hd_key_split *s, int64_t i, double log_sum) {
    const hd_decode *all = s->all;
    const int64_t row = hd_decode_row(s, i);
    if (all->parts)
        all->logs[row * all->splits + s->part] = log_sum;
    else
        write_lse(all, row, log_sum);
}

static void exp_sum(band *b, int64_t rows) {
    const forward *all = b->all;
    const hd_attention_task *a = all->decode.a;
    for (int64_t r = 0; r < rows; r++) {
        const int64_t i = to_row(b, r);
        const int64_t drawn = hd_decode_row(&b->s, i) * all->decode.row + b->s.j - b->s.span.k_first;
        char *x = row_at(b, all->scores, all->score_row, r);
        leave_log(&b->s, i, hd_decode_softmax(&b->s, i, x, NULL));
        if (a->dropout > 0)
            all->decode.kernels->dropout[a->dtype](a->draw, drawn, b->s.keys, a->dropout, x, x);
    }
}

static void write_sums(band *b, int64_t rows) {
    const forward *all = b->all;
    const hd_attention_task *a = all->decode.a;
    for (int64_t r = 0; r < rows; r++) {
        const int64_t i = to_row(b, r);
        const char *o = row_at(b, all->sums, all->o_width, r);
        int64_t step;
        char *to = hd_decode_sums(&b->s, &a->out, &step);
        if (b->s.hides && !is_finite(&all->decode, o, a->Dv)) accumulate_seen(b, r);
        memcpy(to + i * step * all->decode.size, o, (size_t)(a->Dv * all->decode.size));
    }
}

static void attend(band *b) {
    const forward *all = b->all;
    const hd_attention_task *a = all->decode.a;
    const hd_row_block k = rows_of(b, &a->k, a->D), v = rows_of(b, &a->v, a->Dv);
    const int64_t rows = k.heads * k.queries;
    char *scores = row_at(b, all->scores, 0, 0), *sums = row_at(b, all->sums, 0, 0);
    b->s.hides = false;
    take_queries(b, rows);
    all->k->dots(&k, b->s.scratch + all->q, all->q_width, scores, all->score_row);
    exp_sum(b, rows);
    memset(sums, 0, (size_t)(rows * all->o_width * all->decode.size));
    all->k->accumulate(&v, scores, all->score_row, sums, all->o_width);
    write_sums(b, rows);
}

/* Nothing of the split is seen. */
static void attend_nothing(band *b, int64_t rows) {
    const hd_decode *decode = &b->all->decode;
    for (int64_t r = 0; r < rows; r++) {
        const int64_t i = to_row(b, r);
        leave_log(&b->s, i, -INFINITY);
        if (!decode->parts)
            memset(hd_decode_queries(&b->s, &decode->a->out) + i * decode->a->out.row * decode->size, 0,
                   (size_t)(decode->a->Dv * decode->size));
    }
}

static void forward_task(void *arg, int64_t task, int worker) {
    const forward *all = arg;
    const hd_attention_task *a = all->decode.a;
    const int64_t group = a->H / a->Hk, pair = task / all->decode.splits;
    band b = {.all = all, .hk = pair % all->bands * all->heads};
    b.heads = hd_min(all->heads, a->Hk - b.hk);
    hd_decode_take(&all->decode, pair / all->bands, task % all->decode.splits, worker, &b.s);
    for (; b.first < group; b.first += all->at_once) {
        b.count = hd_min(all->at_once, group - b.first);
        if (b.s.keys > 0)
            attend(&b);
        else
            attend_nothing(&b, b.heads * b.count * b.s.span.L);
    }
}

/* ---- all splits of a row -------------------------------------------------------------------------- */

static void join_splits(void *arg, int64_t row, int worker) {
    (void)worker;
    const hd_decode *all = &((const forward *)arg)->decode;
    const hd_attention_task *a = all->a;
    const double *logs = all->logs + row * all->splits;
    char *to = hd_decode_at(all, &a->out, row / (a->H * a->L), row / a->L % a->H, row % a->L);
    double top = -INFINITY, sum = 0;
    for (int64_t i = 0; i < all->splits; i++) top = logs[i] > top ? logs[i] : top;
    const double origin = top == -INFINITY ? 0 : top; /* NaN may be all that is seen */
    for (int64_t i = 0; i < all->splits; i++) sum += logs[i] == -INFINITY ? 0 : exp(logs[i] - origin);
    memset(to, 0, (size_t)(a->Dv * all->size));
    for (int64_t i = 0; i < all->splits; i++)
        if (logs[i] != -INFINITY)
            all->kernels->axpy[a->dtype](a->Dv, exp(logs[i] - origin) / sum,
                                         all->sums + (row * all->splits + i) * a->Dv * all->size, 1, to, 1);
    write_lse(all, row, sum == 0 ? -INFINITY : origin + log(sum));
}

/* ---- the whole ------------------------------------------------------------------------------------------- */

/* Heads that lie between the rows of one another are read together; how they are grouped changes no bit. */
static void choose_bands(forward *all) {
    const hd_attention_task *a = all->decode.a;
    const int64_t group = a->H / a->Hk, L = all->decode.longest;
    all->at_once = hd_max(1, hd_min(group, MOST_ROWS / L));
    const bool beside = a->k.head < a->k.row && a->v.head < a->v.row;
    const int64_t tasks = a->sequences * all->decode.splits;
    all->heads = beside ? hd_min(a->Hk, hd_max(1, MOST_ROWS / (all->at_once * L))) : 1;
    if (tasks < WANTED_TASKS / 2)
        all->heads = hd_max(1, hd_min(all->heads, a->Hk * tasks * 2 / WANTED_TASKS));
    all->bands = (a->Hk + all->heads - 1) / all->heads;
}

static size_t reserve(forward *all, int64_t bytes) {
    const size_t at = all->decode.reserved;
    all->decode.reserved += (size_t)multiple(bytes, 64);
    return at;
}

static void lay_out(forward *all) {
    const hd_attention_task *a = all->decode.a;
    const int64_t rows = all->heads * all->at_once * all->decode.longest, size = all->decode.size;
    all->q_width = multiple(a->D, all->k->lanes), all->o_width = multiple(a->Dv, all->k->lanes);
    all->score_row =
        all->decode.split + 64 / size; /* powers of two apart they would share few sets of the cache */
    all->q = reserve(all, rows * all->q_width * size);
    all->scores = reserve(all, rows * all->score_row * size);
    all->sums = reserve(all, rows * all->o_width * size);
    all->line = reserve(all, a->Dv * size);
}

hd_status hd_attention_decode_forward(hd_ctx *cx, const hd_attention_task *a) {
    forward all = {.k = cx->kernels->attention_rows[a->key_dtype],
                   .key_size = (int64_t)hd_dtype_size(a->key_dtype)};
    hd_decode_cut(cx, a, a->Dv, &all.decode);
    choose_bands(&all);
    lay_out(&all);
    if (hd_decode_alloc(cx, &all.decode)) return cx->error.status;
    hd_status status = hd_parallel(cx, a->sequences * all.bands * all.decode.splits, forward_task, &all);
    if (!status && all.decode.parts) status = hd_parallel(cx, a->B * a->H * a->L, join_splits, &all);
    hd_free(cx->account, all.decode.scratch);
    return status;
}
