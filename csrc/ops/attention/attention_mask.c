/* attention_mask.c: masks, and what they let a block of queries see. Blocks are judged in three values (Kleene's
 * logic): what a step knows of a whole block without looking at its entries, it says; only where that is not enough,
 * its bits are made.
 */
#include "ops/attention/attention_mask.h"

#include <string.h>

#include "base/memory.h"
#include "ops/ops.h"

struct hd_mask {
    int refs, count;
    hd_account *account;
    hd_mask_step step[];
};

/* ---- making ---------------------------------------------------------------------------------------- */

static hd_status check_numbers(hd_ctx *cx, const char *argument, const hd_tensor *t, int max_dims) {
    char text[HD_SHAPE_TEXT];
    if (!t) return hd_fail(cx, HD_EARG, "mask: %s: expected a tensor of i64, got none", argument);
    if (t->dtype != HD_I64 || t->ndim < 1 || t->ndim > max_dims || !hd_is_contiguous(t))
        return hd_fail(cx, HD_EARG, "mask: %s: expected i64 of 1%s dimension, contiguous, got %s %s",
                       argument, max_dims > 1 ? " or 2" : "", hd_dtype_name((hd_dtype)t->dtype),
                       hd_tensor_shape_text(t, text));
    return HD_OK;
}

static hd_status check_step(hd_ctx *cx, const hd_mask_step *s) {
    switch (s->code) {
    case HD_MASK_LENGTHS:
    case HD_MASK_QUERY_LENGTHS: return check_numbers(cx, "lengths", s->tensor, 1);
    case HD_MASK_SEGMENTS:
        return check_numbers(cx, "segments", s->tensor, 2) ? cx->error.status
                                                           : check_numbers(cx, "segments", s->keys, 2);
    case HD_MASK_DENSE:
        if (s->tensor && !hd_dtype_is_float((hd_dtype)s->tensor->dtype)) return HD_OK;
        return hd_fail(cx, HD_EARG, "mask: expected bool or integers (nonzero may attend), got %s",
                       s->tensor ? hd_dtype_name((hd_dtype)s->tensor->dtype) : "none");
    default: return HD_OK;
    }
}

static hd_status check_steps(hd_ctx *cx, int count, const hd_mask_step *steps) {
    int depth = 0, fits = count <= HD_MASK_STEPS;
    for (int i = 0; i < count && fits; i++) {
        if (check_step(cx, &steps[i])) return cx->error.status;
        if (steps[i].code == HD_MASK_AND || steps[i].code == HD_MASK_OR)
            depth--;
        else if (steps[i].code != HD_MASK_NOT)
            depth++;
        fits = depth > 0;
    }
    if (fits && depth == 1) return HD_OK;
    return hd_fail(cx, HD_EARG, "mask: expected at most %d steps that leave one result, got %d that do not",
                   HD_MASK_STEPS, count);
}

hd_mask *hd_mask_new(hd_ctx *cx, int count, const hd_mask_step *steps) {
    if (check_steps(cx, count, steps)) return NULL;
    hd_mask *m = hd_alloc(cx, sizeof *m + (size_t)count * sizeof *steps);
    if (!m) return NULL;
    m->refs = 1, m->count = count, m->account = cx->account;
    hd_account_retain(m->account);
    memcpy(m->step, steps, (size_t)count * sizeof *steps);
    for (int i = 0; i < count; i++) {
        if (m->step[i].tensor) hd_retain(m->step[i].tensor);
        if (m->step[i].keys) hd_retain(m->step[i].keys);
    }
    return m;
}

hd_mask *hd_mask_retain(hd_mask *m) {
    m->refs++;
    return m;
}

void hd_mask_release(hd_mask *m) {
    if (!m || --m->refs > 0) return;
    for (int i = 0; i < m->count; i++) {
        hd_release(m->step[i].tensor);
        hd_release(m->step[i].keys);
    }
    hd_account *account = m->account;
    hd_free(account, m);
    hd_account_release(account);
}

uint64_t hd_mask_version(const hd_mask *m) {
    uint64_t sum = 0;
    for (int i = 0; m && i < m->count; i++) {
        if (m->step[i].tensor) sum += m->step[i].tensor->storage->version;
        if (m->step[i].keys) sum += m->step[i].keys->storage->version;
    }
    return sum;
}

/* ---- resolving ------------------------------------------------------------------------------------- */

hd_status hd_score_map_of(hd_ctx *cx, const char *argument, const hd_tensor *t, const int64_t shape[4],
                          hd_score_map *map) {
    bool fits = t->ndim <= 4;
    for (int d = 0; fits && d < t->ndim; d++) {
        int64_t size = t->shape[d];
        fits = size == 1 || size == shape[4 - t->ndim + d];
    }
    if (!fits) {
        char expected[HD_SHAPE_TEXT], got[HD_SHAPE_TEXT];
        return hd_fail(cx, HD_EARG, "%s: expected a shape that broadcasts to [B, H, L, S] = %s, got %s",
                       argument, hd_shape_text(4, shape, expected), hd_tensor_shape_text(t, got));
    }
    map->data = hd_data(t);
    map->dtype = (hd_dtype)t->dtype;
    hd_broadcast_strides(t, 4, shape, map->stride);
    return HD_OK;
}

/* t [B] or, when there is a length, [length] or [B, length]. */
static hd_status resolve_numbers(hd_ctx *cx, const char *argument, const hd_tensor *t, int64_t B,
                                 int64_t length, const int64_t **numbers, int64_t *batch, int64_t *step) {
    char text[HD_SHAPE_TEXT];
    bool fits =
        length < 0 ? t->shape[0] == B : t->shape[t->ndim - 1] == length && (t->ndim == 1 || t->shape[0] == B);
    if (!fits)
        return hd_fail(cx, HD_EARG, "mask: %s: expected %s%lld numbers, got %s", argument,
                       length < 0 ? "one a row of the batch, " : "one an element, ",
                       (long long)(length < 0 ? B : length), hd_tensor_shape_text(t, text));
    *numbers = hd_data(t);
    *batch = length < 0 ? t->stride[0] : t->ndim == 1 ? 0 : length;
    *step = length < 0 ? 0 : 1;
    return HD_OK;
}

hd_status hd_sight_add_step(hd_ctx *cx, hd_sight *sight, const hd_mask_step *step, const int64_t scores[4]) {
    hd_sight_step *s = &sight->step[sight->count];
    *s =
        (hd_sight_step){.code = step->code, .within = step->within, .left = step->left, .right = step->right};
    hd_status status = HD_OK;
    if (step->code == HD_MASK_LENGTHS)
        status = resolve_numbers(cx, "lengths", step->tensor, scores[0], -1, &s->a, &s->a_batch, &s->a_step);
    else if (step->code == HD_MASK_QUERY_LENGTHS)
        status =
            resolve_numbers(cx, "query lengths", step->tensor, scores[0], -1, &s->a, &s->a_batch, &s->a_step);
    else if (step->code == HD_MASK_SEGMENTS) {
        status = resolve_numbers(cx, "segments of queries", step->tensor, scores[0], scores[2], &s->a,
                                 &s->a_batch, &s->a_step);
        if (!status)
            status = resolve_numbers(cx, "segments of keys", step->keys, scores[0], scores[3], &s->b,
                                     &s->b_batch, &s->b_step);
    } else if (step->code == HD_MASK_DENSE)
        status = hd_score_map_of(cx, "mask", step->tensor, scores, &s->dense);
    if (!status) sight->count++;
    return status;
}

hd_status hd_sight_add(hd_ctx *cx, hd_sight *sight, const hd_mask *mask, const int64_t scores[4]) {
    bool joins = sight->count > 0;
    for (int i = 0; i < mask->count; i++)
        if (hd_sight_add_step(cx, sight, &mask->step[i], scores)) return cx->error.status;
    return joins ? hd_sight_add_step(cx, sight, &(hd_mask_step){.code = HD_MASK_AND}, scores) : HD_OK;
}

/* ---- a range of keys for a block of queries ---------------------------------------------------------- */

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}
/* a + b, where b may be as large as it likes. */
static int64_t sum_within(int64_t a, int64_t b) {
    const int64_t far = INT64_MAX / 4;
    return a + least(b, far);
}

/* Key j stands at the position of query i when j = i + shift. */
static int64_t shift_of(const hd_sight *sight, const hd_sight_step *s, const hd_sight_block *b) {
    return s->within ? b->shift : sight->S - sight->L;
}

/* [from, to): of a row of keys, what query i sees by a step that shows one stretch to each. */
typedef struct stretch {
    int64_t from, to;
} stretch;

static stretch seen_by(const hd_sight *sight, const hd_sight_step *s, const hd_sight_block *b, int64_t i) {
    int64_t p = i + shift_of(sight, s, b);
    switch (s->code) {
    case HD_MASK_CAUSAL: return (stretch){0, p + 1};
    case HD_MASK_WINDOW: return (stretch){-sum_within(-p, s->left), sum_within(p, s->right) + 1};
    case HD_MASK_PREFIX: return (stretch){0, s->left};
    case HD_MASK_LENGTHS: return (stretch){0, s->a[b->b * s->a_batch]};
    case HD_MASK_QUERY_LENGTHS: return (stretch){0, i < s->a[b->b * s->a_batch] ? INT64_MAX : 0};
    default: return (stretch){0, INT64_MAX};
    }
}

static bool shows_stretches(const hd_sight_step *s) {
    return s->code <= HD_MASK_QUERY_LENGTHS;
}

/* Stretches move to the right as queries do, so the first and the last query say it; of lengths of queries only the
 * first sees at all, when one does. */
static stretch hull_of(const hd_sight *sight, const hd_sight_step *s, const hd_sight_block *b) {
    stretch first = seen_by(sight, s, b, b->i), last = seen_by(sight, s, b, b->i + b->lanes - 1);
    return (stretch){least(first.from, last.from), most(first.to, last.to)};
}

/* The smallest and the largest of some segment numbers. */
typedef struct numbers {
    int64_t low, high;
} numbers;

static numbers numbers_of(const int64_t *x, int64_t step, int64_t count) {
    numbers n = {x[0], x[0]};
    for (int64_t i = 1; i < count; i++) {
        n.low = least(n.low, x[i * step]);
        n.high = most(n.high, x[i * step]);
    }
    return n;
}

static bool is_within(numbers n, int64_t x) {
    return n.low <= x && x <= n.high;
}

static const int64_t *query_numbers(const hd_sight_step *s, const hd_sight_block *b) {
    return s->a + b->b * s->a_batch + b->i * s->a_step;
}
static const int64_t *key_numbers(const hd_sight_step *s, const hd_sight_block *b) {
    return s->b + b->b * s->b_batch + b->j * s->b_step;
}

/* From the first to the last key whose segment may be that of a query. */
static stretch segments_hull(const hd_sight_step *s, const hd_sight_block *b) {
    const numbers wanted = numbers_of(query_numbers(s, b), s->a_step, b->lanes);
    const int64_t *key = key_numbers(s, b);
    int64_t from = 0, to = b->keys;
    while (from < to && !is_within(wanted, key[from * s->b_step])) from++;
    while (to > from && !is_within(wanted, key[(to - 1) * s->b_step])) to--;
    return (stretch){b->j + from, b->j + to};
}

void hd_sight_narrow(const hd_sight *sight, hd_sight_block *b) {
    stretch stack[HD_MASK_STEPS + 8];
    int depth = 0;
    for (int i = 0; i < sight->count; i++) {
        const hd_sight_step *s = &sight->step[i];
        if (s->code == HD_MASK_AND) {
            depth--;
            stack[depth - 1].from = most(stack[depth - 1].from, stack[depth].from);
            stack[depth - 1].to = least(stack[depth - 1].to, stack[depth].to);
        } else if (s->code == HD_MASK_OR) {
            stretch x = stack[--depth], *y = &stack[depth - 1];
            if (y->from >= y->to)
                *y = x;
            else if (x.from < x.to)
                *y = (stretch){least(x.from, y->from), most(x.to, y->to)};
        } else if (s->code == HD_MASK_NOT)
            stack[depth - 1] = (stretch){0, INT64_MAX};
        else if (s->code == HD_MASK_SEGMENTS)
            stack[depth++] = segments_hull(s, b);
        else
            stack[depth++] = hull_of(sight, s, b);
    }
    if (depth == 0) return;
    int64_t from = most(b->j, stack[0].from), to = least(b->j + b->keys, stack[0].to);
    b->j = from;
    b->keys = most(to - from, 0);
}

/* ---- a block ----------------------------------------------------------------------------------------- */

typedef struct view {
    hd_seen seen;
    uint32_t bits[HD_SIGHT_KEYS]; /* when SOME */
} view;

static uint32_t first_lanes(int64_t n) {
    return n >= 32 ? ~(uint32_t)0 : n <= 0 ? 0 : ((uint32_t)1 << n) - 1;
}

/* Keys that all queries see, and that one does, by the first and the last query. */
static hd_seen stretches_seen(const hd_sight *sight, const hd_sight_step *s, const hd_sight_block *b) {
    stretch first = seen_by(sight, s, b, b->i), last = seen_by(sight, s, b, b->i + b->lanes - 1);
    stretch hull = hull_of(sight, s, b);
    if (hull.from >= b->j + b->keys || hull.to <= b->j || hull.from >= hull.to) return HD_SEEN_NONE;
    bool all = most(first.from, last.from) <= b->j && least(first.to, last.to) >= b->j + b->keys;
    return all ? HD_SEEN_ALL : HD_SEEN_SOME;
}

/* Of CAUSAL and WINDOW key j is seen by the lanes from j - right - p to j + left - p, p the position of lane 0. */
static void band_bits(const hd_sight *sight, const hd_sight_step *s, const hd_sight_block *b,
                      uint32_t *bits) {
    const bool window = s->code == HD_MASK_WINDOW;
    const int64_t offset = b->j - (b->i + shift_of(sight, s, b)), right = window ? s->right : 0;
    const uint32_t whole = first_lanes(b->lanes);
    for (int64_t n = 0; n < b->keys; n++) {
        const int64_t at = offset + n, low = -sum_within(-at, right);
        const int64_t high = window ? sum_within(at, s->left) + 1 : HD_SIGHT_LANES;
        bits[n] = whole & first_lanes(high) & ~first_lanes(low);
    }
}

static void stretches_bits(const hd_sight *sight, const hd_sight_step *s, const hd_sight_block *b,
                           uint32_t *bits) {
    if (s->code <= HD_MASK_WINDOW) {
        band_bits(sight, s, b, bits);
        return;
    }
    memset(bits, 0, (size_t)b->keys * sizeof *bits);
    for (int64_t l = 0; l < b->lanes; l++) {
        stretch seen = seen_by(sight, s, b, b->i + l);
        int64_t to = least(seen.to - b->j, b->keys);
        for (int64_t n = most(seen.from - b->j, 0); n < to; n++) bits[n] |= (uint32_t)1 << l;
    }
}

/* Neighbouring keys are mostly of one segment. */
static void segments_bits(const hd_sight_step *s, const hd_sight_block *b, uint32_t *bits) {
    const int64_t *query = query_numbers(s, b), *key = key_numbers(s, b);
    for (int64_t n = 0; n < b->keys; n++) {
        const int64_t number = key[n * s->b_step];
        if (n > 0 && number == key[(n - 1) * s->b_step]) {
            bits[n] = bits[n - 1];
            continue;
        }
        bits[n] = 0;
        for (int64_t l = 0; l < b->lanes; l++) bits[n] |= (uint32_t)(query[l * s->a_step] == number) << l;
    }
}

static hd_seen segments_seen(const hd_sight_step *s, const hd_sight_block *b) {
    const numbers queries = numbers_of(query_numbers(s, b), s->a_step, b->lanes);
    const numbers keys = numbers_of(key_numbers(s, b), s->b_step, b->keys);
    if (keys.high < queries.low || keys.low > queries.high) return HD_SEEN_NONE;
    const bool one = queries.low == queries.high && keys.low == keys.high;
    return one ? HD_SEEN_ALL : HD_SEEN_SOME;
}

static bool entry_is_set(const char *entry, size_t size) {
    return size == 1   ? *(const uint8_t *)entry != 0
           : size == 4 ? *(const int32_t *)entry != 0
                       : *(const int64_t *)entry != 0;
}

static void dense_bits(const hd_sight_step *s, const hd_sight_block *b, uint32_t *bits) {
    const hd_score_map *m = &s->dense;
    const size_t size = hd_dtype_size(m->dtype);
    const int64_t down = m->stride[2] * (int64_t)size, along = m->stride[3] * (int64_t)size;
    const char *from =
        m->data + (b->b * m->stride[0] + b->h * m->stride[1]) * (int64_t)size + b->i * down + b->j * along;
    memset(bits, 0, (size_t)b->keys * sizeof *bits);
    for (int64_t l = 0; l < b->lanes; l++) {
        const char *row = from + l * down;
        if (down == 0 && l > 0) break;
        if (size == 1 && along == 1)
            for (int64_t n = 0; n < b->keys; n++) bits[n] |= (uint32_t)(row[n] != 0) << l;
        else
            for (int64_t n = 0; n < b->keys; n++)
                bits[n] |= (uint32_t)entry_is_set(row + n * along, size) << l;
    }
    for (int64_t n = 0; n < b->keys && down == 0; n++) bits[n] = bits[n] ? first_lanes(b->lanes) : 0;
}

/* SOME whose bits are all alike is something more definite. */
static void settle(const hd_sight_block *b, view *v) {
    const uint32_t whole = first_lanes(b->lanes);
    uint32_t any = 0, every = whole;
    for (int64_t n = 0; n < b->keys; n++) any |= v->bits[n], every &= v->bits[n];
    v->seen = any == 0 ? HD_SEEN_NONE : every == whole ? HD_SEEN_ALL : HD_SEEN_SOME;
}

static void push(const hd_sight *sight, const hd_sight_step *s, const hd_sight_block *b, view *v) {
    if (shows_stretches(s)) {
        v->seen = stretches_seen(sight, s, b);
        if (v->seen == HD_SEEN_SOME) stretches_bits(sight, s, b, v->bits);
        return;
    }
    if (s->code == HD_MASK_SEGMENTS) {
        v->seen = segments_seen(s, b);
        if (v->seen != HD_SEEN_SOME) return;
        segments_bits(s, b, v->bits);
    } else
        dense_bits(s, b, v->bits);
    settle(b, v);
}

static void join(const hd_sight_block *b, hd_mask_code code, view *x, const view *y) {
    const hd_seen stops = code == HD_MASK_AND ? HD_SEEN_NONE : HD_SEEN_ALL;
    const hd_seen passes = code == HD_MASK_AND ? HD_SEEN_ALL : HD_SEEN_NONE;
    if (x->seen == stops || y->seen == passes) return;
    if (x->seen == passes || y->seen == stops) {
        x->seen = y->seen;
        if (y->seen == HD_SEEN_SOME) memcpy(x->bits, y->bits, (size_t)b->keys * sizeof *x->bits);
        return;
    }
    for (int64_t n = 0; n < b->keys; n++)
        x->bits[n] = code == HD_MASK_AND ? x->bits[n] & y->bits[n] : x->bits[n] | y->bits[n];
    settle(b, x);
}

static void turn_around(const hd_sight_block *b, view *x) {
    if (x->seen != HD_SEEN_SOME)
        x->seen = x->seen == HD_SEEN_ALL ? HD_SEEN_NONE : HD_SEEN_ALL;
    else
        for (int64_t n = 0; n < b->keys; n++) x->bits[n] ^= first_lanes(b->lanes);
}

hd_seen hd_sight_of(const hd_sight *sight, const hd_sight_block *b, uint32_t *bits) {
    view stack[HD_MASK_STEPS + 8];
    int depth = 0;
    if (sight->count == 0) return HD_SEEN_ALL;
    for (int i = 0; i < sight->count; i++) {
        const hd_sight_step *s = &sight->step[i];
        if (s->code == HD_MASK_AND || s->code == HD_MASK_OR) {
            depth--;
            join(b, s->code, &stack[depth - 1], &stack[depth]);
        } else if (s->code == HD_MASK_NOT)
            turn_around(b, &stack[depth - 1]);
        else
            push(sight, s, b, &stack[depth++]);
    }
    if (stack[0].seen == HD_SEEN_SOME) memcpy(bits, stack[0].bits, (size_t)b->keys * sizeof *bits);
    return stack[0].seen;
}

/* ---- rows -------------------------------------------------------------------------------------------- */

const uint8_t *hd_sight_row(const hd_sight *sight, const hd_sight_block *row, uint8_t *room) {
    uint32_t bits[HD_SIGHT_KEYS];
    bool all = true;
    for (int64_t j = 0; j < row->keys; j += HD_SIGHT_KEYS) {
        hd_sight_block b = *row;
        b.j = row->j + j, b.lanes = 1, b.keys = least(row->keys - j, HD_SIGHT_KEYS);
        hd_seen seen = hd_sight_of(sight, &b, bits);
        all = all && seen == HD_SEEN_ALL;
        if (seen != HD_SEEN_SOME)
            memset(room + j, seen == HD_SEEN_ALL, (size_t)b.keys);
        else
            for (int64_t n = 0; n < b.keys; n++) room[j + n] = (uint8_t)bits[n];
    }
    return all ? NULL : room;
}

const void *hd_bias_row(const hd_score_map *bias, int64_t b, int64_t h, int64_t i, int64_t first, int64_t n,
                        void *room) {
    if (!bias->data) return NULL;
    int64_t at = b * bias->stride[0] + h * bias->stride[1] + i * bias->stride[2] + first * bias->stride[3];
    const char *from = bias->data + at * (int64_t)hd_dtype_size(bias->dtype);
    int64_t step = bias->stride[3];
    if (step == 1) return from;
    for (int64_t j = 0; j < n; j++) {
        if (bias->dtype == HD_F32)
            ((float *)room)[j] = ((const float *)from)[j * step];
        else
            ((double *)room)[j] = ((const double *)from)[j * step];
    }
    return room;
}
