/* resolved_mask.c: what a mask lets a block of queries see. Blocks are scored in three values (Kleene's
 * logic): what a step knows of a whole block without looking at its entries, it says; only where that is not
 * enough, its bits are made.
 */
#include "ops/attention/resolved_mask.h"
#include "base/minmax.h"

#include <string.h>

/* ---- resolving ------------------------------------------------------------------------------------- */

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

/* Lengths of rows of keys: 0 .. S. */
static hd_status check_lengths(hd_ctx *cx, const char *argument, const int64_t *lengths,
                               const int64_t scores[4]) {
    for (int64_t b = 0; b < scores[0]; b++)
        if (lengths[b] < 0 || lengths[b] > scores[3])
            return hd_fail(cx, HD_EARG,
                           "mask: %s: expected lengths from 0 to the %lld keys, got %lld at row %lld",
                           argument, (long long)scores[3], (long long)lengths[b], (long long)b + 1);
    return HD_OK;
}

/* One number a row of the batch. */
static hd_status resolve_rows(hd_ctx *cx, const char *argument, const hd_tensor *t, const int64_t scores[4],
                              hd_resolved_step *s) {
    return resolve_numbers(cx, argument, t, scores[0], -1, &s->a, &s->a_batch, &s->a_step);
}

static hd_status resolve_segments(hd_ctx *cx, const hd_mask_step *step, const int64_t scores[4],
                                  hd_resolved_step *s) {
    if (resolve_numbers(cx, "segments of queries", step->tensor, scores[0], scores[2], &s->a, &s->a_batch,
                        &s->a_step))
        return cx->error.status;
    return resolve_numbers(cx, "segments of keys", step->keys, scores[0], scores[3], &s->b, &s->b_batch,
                           &s->b_step);
}

static hd_status resolve_step(hd_ctx *cx, const hd_mask_step *step, const int64_t scores[4],
                              hd_resolved_step *s) {
    *s = (hd_resolved_step){.code = step->code, .left = step->left, .right = step->right};
    switch (step->code) {
    case HD_MASK_PREFIX: return step->tensor ? resolve_rows(cx, "prefix", step->tensor, scores, s) : HD_OK;
    case HD_MASK_LENGTHS:
        return resolve_rows(cx, "padding", step->tensor, scores, s)
                   ? cx->error.status
                   : check_lengths(cx, "padding", s->a, scores);
    case HD_MASK_SEGMENTS: return resolve_segments(cx, step, scores, s);
    case HD_MASK_DENSE: return hd_score_map_of(cx, "mask", step->tensor, scores, &s->dense);
    default: return HD_OK;
    }
}

static hd_status resolve_ends(hd_ctx *cx, const hd_tensor *ends, const int64_t scores[4],
                              hd_mask_resolved *r) {
    hd_resolved_step rows = {0};
    if (resolve_rows(cx, "ends", ends, scores, &rows)) return cx->error.status;
    r->ends = rows.a;
    return check_lengths(cx, "ends", r->ends, scores);
}

hd_status hd_mask_resolve(hd_ctx *cx, const hd_mask *mask, const int64_t scores[4], hd_mask_resolved *r) {
    r->count = 0, r->ends = NULL;
    if (!mask) return HD_OK;
    for (; r->count < mask->count; r->count++)
        if (resolve_step(cx, &mask->step[r->count], scores, &r->step[r->count])) return cx->error.status;
    return mask->ends ? resolve_ends(cx, mask->ends, scores, r) : HD_OK;
}

/* ---- a range of keys for a block of queries ---------------------------------------------------------- */

/* a + b, where b may be as large as it likes. */
static int64_t sum_within(int64_t a, int64_t b) {
    const int64_t far = INT64_MAX / 4;
    return a + hd_min(b, far);
}

/* [from, to): the keys that query i sees by a step that shows one range to each. */
typedef struct key_range {
    int64_t from, to;
} key_range;

static key_range seen_by(const hd_resolved_step *s, const hd_resolved_block *b, int64_t i) {
    int64_t p = i + b->shift;
    switch (s->code) {
    case HD_MASK_CAUSAL: return (key_range){0, p + 1};
    case HD_MASK_WINDOW: return (key_range){-sum_within(-p, s->left), sum_within(p, s->right) + 1};
    case HD_MASK_PREFIX:
    case HD_MASK_LENGTHS: return (key_range){0, s->a ? s->a[b->b * s->a_batch] : s->left};
    default: return (key_range){0, INT64_MAX};
    }
}

static bool shows_ranges(const hd_resolved_step *s) {
    return s->code < HD_MASK_SEGMENTS;
}

/* Ranges move to the right as queries do, so the first and the last query say it. */
static key_range hull_of(const hd_resolved_step *s, const hd_resolved_block *b) {
    key_range first = seen_by(s, b, b->i), last = seen_by(s, b, b->i + b->lanes - 1);
    return (key_range){hd_min(first.from, last.from), hd_max(first.to, last.to)};
}

/* The smallest and the largest of some segment numbers. */
typedef struct numbers {
    int64_t low, high;
} numbers;

static numbers numbers_of(const int64_t *x, int64_t step, int64_t count) {
    numbers n = {x[0], x[0]};
    for (int64_t i = 1; i < count; i++) {
        n.low = hd_min(n.low, x[i * step]);
        n.high = hd_max(n.high, x[i * step]);
    }
    return n;
}

static bool is_within(numbers n, int64_t x) {
    return n.low <= x && x <= n.high;
}

static const int64_t *query_numbers(const hd_resolved_step *s, const hd_resolved_block *b) {
    return s->a + b->b * s->a_batch + b->i * s->a_step;
}
static const int64_t *key_numbers(const hd_resolved_step *s, const hd_resolved_block *b) {
    return s->b + b->b * s->b_batch + b->j * s->b_step;
}

/* From the first to the last key whose segment may be that of a query. */
static key_range segments_hull(const hd_resolved_step *s, const hd_resolved_block *b) {
    const numbers wanted = numbers_of(query_numbers(s, b), s->a_step, b->lanes);
    const int64_t *key = key_numbers(s, b);
    int64_t from = 0, to = b->keys;
    while (from < to && !is_within(wanted, key[from * s->b_step])) from++;
    while (to > from && !is_within(wanted, key[(to - 1) * s->b_step])) to--;
    return (key_range){b->j + from, b->j + to};
}

void hd_resolved_narrow(const hd_mask_resolved *r, hd_resolved_block *b) {
    key_range stack[HD_MASK_STEPS];
    int depth = 0;
    for (int i = 0; i < r->count; i++) {
        const hd_resolved_step *s = &r->step[i];
        if (s->code == HD_MASK_AND) {
            depth--;
            stack[depth - 1].from = hd_max(stack[depth - 1].from, stack[depth].from);
            stack[depth - 1].to = hd_min(stack[depth - 1].to, stack[depth].to);
        } else if (s->code == HD_MASK_OR) {
            key_range x = stack[--depth], *y = &stack[depth - 1];
            if (y->from >= y->to)
                *y = x;
            else if (x.from < x.to)
                *y = (key_range){hd_min(x.from, y->from), hd_max(x.to, y->to)};
        } else if (s->code == HD_MASK_NOT)
            stack[depth - 1] = (key_range){0, INT64_MAX};
        else if (s->code == HD_MASK_SEGMENTS)
            stack[depth++] = segments_hull(s, b);
        else
            stack[depth++] = hull_of(s, b);
    }
    if (depth == 0) return;
    int64_t from = hd_max(b->j, stack[0].from), to = hd_min(b->j + b->keys, stack[0].to);
    b->j = from;
    b->keys = hd_max(to - from, 0);
}

/* ---- a block ----------------------------------------------------------------------------------------- */

typedef struct view {
    hd_seen seen;
    uint32_t bits[HD_RESOLVED_KEYS]; /* when SOME */
} view;

static uint32_t first_lanes(int64_t n) {
    return n >= 32 ? ~(uint32_t)0 : n <= 0 ? 0 : ((uint32_t)1 << n) - 1;
}

/* Keys that all queries see, and that one does, by the first and the last query. */
static hd_seen ranges_seen(const hd_resolved_step *s, const hd_resolved_block *b) {
    key_range first = seen_by(s, b, b->i), last = seen_by(s, b, b->i + b->lanes - 1);
    key_range hull = hull_of(s, b);
    if (hull.from >= b->j + b->keys || hull.to <= b->j || hull.from >= hull.to) return HD_SEEN_NONE;
    bool all = hd_max(first.from, last.from) <= b->j && hd_min(first.to, last.to) >= b->j + b->keys;
    return all ? HD_SEEN_ALL : HD_SEEN_SOME;
}

/* Of CAUSAL and WINDOW key j is seen by the lanes from j - right - p to j + left - p, p the position of lane
 * 0. */
static void band_bits(const hd_resolved_step *s, const hd_resolved_block *b, uint32_t *bits) {
    const bool window = s->code == HD_MASK_WINDOW;
    const int64_t offset = b->j - (b->i + b->shift), right = window ? s->right : 0;
    const uint32_t whole = first_lanes(b->lanes);
    for (int64_t n = 0; n < b->keys; n++) {
        const int64_t at = offset + n, low = -sum_within(-at, right);
        const int64_t high = window ? sum_within(at, s->left) + 1 : HD_RESOLVED_LANES;
        bits[n] = whole & first_lanes(high) & ~first_lanes(low);
    }
}

static void ranges_bits(const hd_resolved_step *s, const hd_resolved_block *b, uint32_t *bits) {
    if (s->code <= HD_MASK_WINDOW) {
        band_bits(s, b, bits);
        return;
    }
    memset(bits, 0, (size_t)b->keys * sizeof *bits);
    for (int64_t l = 0; l < b->lanes; l++) {
        key_range seen = seen_by(s, b, b->i + l);
        int64_t to = hd_min(seen.to - b->j, b->keys);
        for (int64_t n = hd_max(seen.from - b->j, 0); n < to; n++) bits[n] |= (uint32_t)1 << l;
    }
}

/* Neighbouring keys are mostly of one segment. */
static void segments_bits(const hd_resolved_step *s, const hd_resolved_block *b, uint32_t *bits) {
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

static hd_seen segments_seen(const hd_resolved_step *s, const hd_resolved_block *b) {
    const numbers queries = numbers_of(query_numbers(s, b), s->a_step, b->lanes);
    const numbers keys = numbers_of(key_numbers(s, b), s->b_step, b->keys);
    if (keys.high < queries.low || keys.low > queries.high) return HD_SEEN_NONE;
    const bool one = queries.low == queries.high && keys.low == keys.high;
    return one ? HD_SEEN_ALL : HD_SEEN_SOME;
}

/* Key j is seen by every left-th lane: l with (l + p - j) a multiple of left, p the position of lane 0. */
static void dilated_bits(const hd_resolved_step *s, const hd_resolved_block *b, uint32_t *bits) {
    const int64_t offset = b->j - (b->i + b->shift), step = hd_min(s->left, HD_RESOLVED_LANES);
    for (int64_t n = 0; n < b->keys; n++) {
        const int64_t rest = (offset + n) % s->left;
        bits[n] = 0;
        for (int64_t l = rest < 0 ? rest + s->left : rest; l < b->lanes; l += step)
            bits[n] |= (uint32_t)1 << l;
    }
}

static bool entry_is_set(const char *entry, size_t size) {
    return size == 1   ? *(const uint8_t *)entry != 0
           : size == 2 ? *(const int16_t *)entry != 0
           : size == 4 ? *(const int32_t *)entry != 0
                       : *(const int64_t *)entry != 0;
}

static void dense_bits(const hd_resolved_step *s, const hd_resolved_block *b, uint32_t *bits) {
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
static void settle(const hd_resolved_block *b, view *v) {
    const uint32_t whole = first_lanes(b->lanes);
    uint32_t any = 0, every = whole;
    for (int64_t n = 0; n < b->keys; n++) any |= v->bits[n], every &= v->bits[n];
    v->seen = any == 0 ? HD_SEEN_NONE : every == whole ? HD_SEEN_ALL : HD_SEEN_SOME;
}

static void push(const hd_resolved_step *s, const hd_resolved_block *b, view *v) {
    if (shows_ranges(s)) {
        v->seen = ranges_seen(s, b);
        if (v->seen == HD_SEEN_SOME) ranges_bits(s, b, v->bits);
        return;
    }
    if (s->code == HD_MASK_SEGMENTS) {
        v->seen = segments_seen(s, b);
        if (v->seen != HD_SEEN_SOME) return;
        segments_bits(s, b, v->bits);
    } else if (s->code == HD_MASK_DILATED)
        dilated_bits(s, b, v->bits);
    else
        dense_bits(s, b, v->bits);
    settle(b, v);
}

static void join(const hd_resolved_block *b, hd_mask_code code, view *x, const view *y) {
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

static void invert(const hd_resolved_block *b, view *x) {
    if (x->seen != HD_SEEN_SOME)
        x->seen = x->seen == HD_SEEN_ALL ? HD_SEEN_NONE : HD_SEEN_ALL;
    else
        for (int64_t n = 0; n < b->keys; n++) x->bits[n] ^= first_lanes(b->lanes);
}

hd_seen hd_resolved_seen(const hd_mask_resolved *r, const hd_resolved_block *b, uint32_t *bits) {
    view stack[HD_MASK_STEPS];
    int depth = 0;
    if (r->count == 0) return HD_SEEN_ALL;
    for (int i = 0; i < r->count; i++) {
        const hd_resolved_step *s = &r->step[i];
        if (s->code == HD_MASK_AND || s->code == HD_MASK_OR) {
            depth--;
            join(b, s->code, &stack[depth - 1], &stack[depth]);
        } else if (s->code == HD_MASK_NOT)
            invert(b, &stack[depth - 1]);
        else
            push(s, b, &stack[depth++]);
    }
    if (stack[0].seen == HD_SEEN_SOME) memcpy(bits, stack[0].bits, (size_t)b->keys * sizeof *bits);
    return stack[0].seen;
}

/* ---- rows -------------------------------------------------------------------------------------------- */

const uint8_t *hd_resolved_row(const hd_mask_resolved *r, const hd_resolved_block *row, uint8_t *to) {
    uint32_t bits[HD_RESOLVED_KEYS];
    bool all = true;
    for (int64_t j = 0; j < row->keys; j += HD_RESOLVED_KEYS) {
        hd_resolved_block b = *row;
        b.j = row->j + j, b.lanes = 1, b.keys = hd_min(row->keys - j, HD_RESOLVED_KEYS);
        hd_seen seen = hd_resolved_seen(r, &b, bits);
        all = all && seen == HD_SEEN_ALL;
        if (seen != HD_SEEN_SOME)
            memset(to + j, seen == HD_SEEN_ALL, (size_t)b.keys);
        else
            for (int64_t n = 0; n < b.keys; n++) to[j + n] = (uint8_t)bits[n];
    }
    return all ? NULL : to;
}
