/* attention_mask.c: programs of masks: checked, made, joined. */
#include "ops/attention/attention_mask.h"

#include <string.h>

#include "base/memory.h"
#include "ops/ops.h"

/* ---- checks ---------------------------------------------------------------------------------------- */

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
    case HD_MASK_PREFIX: return s->tensor ? check_numbers(cx, "prefix", s->tensor, 1) : HD_OK;
    case HD_MASK_LENGTHS: return check_numbers(cx, "lengths", s->tensor, 1);
    case HD_MASK_ENDS: return check_numbers(cx, "ends", s->tensor, 1);
    case HD_MASK_SEGMENTS:
        return check_numbers(cx, "segments", s->tensor, 2) ? cx->error.status
                                                           : check_numbers(cx, "segments", s->keys, 2);
    case HD_MASK_DILATED:
        if (s->left >= 1) return HD_OK;
        return hd_fail(cx, HD_EARG, "mask: step: expected at least 1, got %lld", (long long)s->left);
    case HD_MASK_DENSE:
        if (s->tensor && !hd_dtype_is_float((hd_dtype)s->tensor->dtype)) return HD_OK;
        return hd_fail(cx, HD_EARG,
                       "mask: expected bool or integers (nonzero may be seen), got %s; floats are a bias",
                       s->tensor ? hd_dtype_name((hd_dtype)s->tensor->dtype) : "none");
    default: return HD_OK;
    }
}

/* ---- making ---------------------------------------------------------------------------------------- */

/* A result on the stack of a program: of rules, the ends and nothing else, or rules that ends were joined
 * to. */
typedef enum result { RULES, ENDS, RULES_AND_ENDS } result;

typedef struct maker {
    hd_mask *mask;
    int depth;
    result stack[HD_MASK_STEPS];
} maker;

static void keep_step(maker *m, const hd_mask_step *s) {
    m->mask->step[m->mask->count++] = *s;
}

/* Joining ends to rules leaves the rules. */
static bool join(maker *m, const hd_mask_step *s) {
    if (m->depth < 2) return false;
    const result b = m->stack[--m->depth], a = m->stack[m->depth - 1];
    if (s->code == HD_MASK_OR && (a != RULES || b != RULES)) return false;
    if (a != ENDS && b != ENDS) keep_step(m, s);
    if (a != RULES || b != RULES) m->stack[m->depth - 1] = RULES_AND_ENDS;
    return true;
}

/* False when there is no place for the step. */
static bool take_step(maker *m, const hd_mask_step *s) {
    if (s->code == HD_MASK_AND || s->code == HD_MASK_OR) return join(m, s);
    if (s->code == HD_MASK_NOT) {
        if (m->depth < 1 || m->stack[m->depth - 1] != RULES) return false;
        keep_step(m, s);
        return true;
    }
    m->stack[m->depth++] = s->code == HD_MASK_ENDS ? ENDS : RULES;
    if (s->code != HD_MASK_ENDS) {
        keep_step(m, s);
        return true;
    }
    if (m->mask->ends) return false;
    m->mask->ends = s->tensor;
    return true;
}

static hd_status take_steps(hd_ctx *cx, hd_mask *mask, int count, const hd_mask_step *steps) {
    maker m = {.mask = mask};
    bool fits = true;
    for (int i = 0; i < count && fits; i++) {
        if (check_step(cx, &steps[i])) return cx->error.status;
        fits = take_step(&m, &steps[i]);
    }
    if (fits && m.depth == 1) return HD_OK;
    return hd_fail(cx, HD_EARG,
                   "mask: expected steps that leave one result, with ends once and joined by and, "
                   "got %d that do not",
                   count);
}

hd_mask *hd_mask_new(hd_ctx *cx, int count, const hd_mask_step *steps) {
    if (count > HD_MASK_STEPS)
        return hd_fail_null(cx, HD_EARG, "mask: expected at most %d steps, got %d", HD_MASK_STEPS, count);
    hd_mask *m = hd_alloc(cx, sizeof *m + (size_t)count * sizeof *steps);
    if (!m) return NULL;
    *m = (hd_mask){.refs = 1, .account = cx->account};
    if (take_steps(cx, m, count, steps)) {
        hd_free(m->account, m);
        return NULL;
    }
    hd_account_retain(m->account);
    if (m->ends) hd_retain(m->ends);
    for (int i = 0; i < m->count; i++) {
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
    hd_release(m->ends);
    hd_account *account = m->account;
    hd_free(account, m);
    hd_account_release(account);
}

uint64_t hd_mask_version(const hd_mask *m) {
    uint64_t sum = m && m->ends ? m->ends->storage->version : 0;
    for (int i = 0; m && i < m->count; i++) {
        if (m->step[i].tensor) sum += m->step[i].tensor->storage->version;
        if (m->step[i].keys) sum += m->step[i].keys->storage->version;
    }
    return sum;
}

/* ---- the usual programs ------------------------------------------------------------------------------ */

static hd_mask *of_one_step(hd_ctx *cx, hd_mask_code code, hd_tensor *t) {
    return hd_mask_new(cx, 1, &(hd_mask_step){.code = code, .tensor = t});
}

hd_mask *hd_mask_causal(hd_ctx *cx) {
    return of_one_step(cx, HD_MASK_CAUSAL, NULL);
}
hd_mask *hd_mask_lengths(hd_ctx *cx, hd_tensor *lengths) {
    return of_one_step(cx, HD_MASK_LENGTHS, lengths);
}
hd_mask *hd_mask_of_tensor(hd_ctx *cx, hd_tensor *t) {
    return of_one_step(cx, HD_MASK_DENSE, t);
}

/* The steps that m was made of, at `to`; how many. */
static int steps_of(const hd_mask *m, hd_mask_step *to) {
    int count = m->count;
    memcpy(to, m->step, (size_t)count * sizeof *to);
    if (!m->ends) return count;
    to[count++] = (hd_mask_step){.code = HD_MASK_ENDS, .tensor = m->ends};
    if (m->count > 0) to[count++] = (hd_mask_step){.code = HD_MASK_AND};
    return count;
}

hd_mask *hd_mask_and(hd_ctx *cx, hd_mask *a, hd_mask *b) {
    hd_mask_step steps[2 * (HD_MASK_STEPS + 2) + 1];
    hd_mask *both = NULL;
    if (a && b) {
        int count = steps_of(a, steps);
        count += steps_of(b, steps + count);
        steps[count++] = (hd_mask_step){.code = HD_MASK_AND};
        both = hd_mask_new(cx, count, steps);
    }
    hd_mask_release(a);
    hd_mask_release(b);
    return both;
}
