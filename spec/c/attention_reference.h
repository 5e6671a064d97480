/* attention_reference.h: attention in f64, entry by entry as the formula stands, with its gradients; and problems at
 * random to hold the real one against it.
 */
#ifndef HD_ATTENTION_REFERENCE_H
#define HD_ATTENTION_REFERENCE_H

#include "differentiate.h"
#include "ops/attention/attention_mask.h"

/* ---- the formula, as it stands --------------------------------------------------------------------- */

enum { MOST_KEYS = 1200 };

typedef struct problem {
    int64_t B, H, Hk, L, S, D, Dv;
    hd_tensor *q, *k, *v, *g; /* f64 */
    hd_attention_options o;
    int steps;
    hd_mask_step step[16]; /* what o.mask was made of */
} problem;

static int64_t at4(const hd_tensor *t, int64_t b, int64_t h, int64_t i, int64_t j) {
    return ((b * t->shape[1] + h) * t->shape[2] + i) * t->shape[3] + j;
}

/* Entry (b, h, i, j) of what broadcasts to [B, H, L, S]. */
static double broadcast_entry(const hd_tensor *t, int64_t b, int64_t h, int64_t i, int64_t j) {
    int64_t index[4] = {b, h, i, j}, flat = 0;
    for (int d = 0; d < t->ndim; d++) {
        int64_t size = t->shape[d];
        flat = flat * size + (size == 1 ? 0 : index[4 - t->ndim + d]);
    }
    return get(t, flat);
}

/* The keys of row b. */
static int64_t end_of(const problem *p, int64_t b) {
    return p->o.mask && p->o.mask->ends ? (int64_t)get(p->o.mask->ends, b) : p->S;
}

static bool primitive_shows(const problem *p, const hd_mask_step *s, int64_t b, int64_t h, int64_t i,
                            int64_t j) {
    const int64_t at = end_of(p, b) - p->L + i;
    switch (s->code) {
    case HD_MASK_CAUSAL: return j <= at;
    case HD_MASK_WINDOW: return at - j <= s->left && j - at <= s->right;
    case HD_MASK_PREFIX: return j < (s->tensor ? get(s->tensor, b) : (double)s->left);
    case HD_MASK_LENGTHS:
    case HD_MASK_ENDS: return j < get(s->tensor, b);
    case HD_MASK_SEGMENTS: return get(s->tensor, b * p->L + i) == get(s->keys, b * p->S + j);
    case HD_MASK_DILATED: return (at - j) % s->left == 0;
    default: return broadcast_entry(s->tensor, b, h, i, j) != 0;
    }
}

static bool program_shows(const problem *p, int64_t b, int64_t h, int64_t i, int64_t j) {
    bool stack[16];
    int depth = 0;
    for (int n = 0; n < p->steps; n++) {
        const hd_mask_step *s = &p->step[n];
        if (s->code == HD_MASK_NOT)
            stack[depth - 1] = !stack[depth - 1];
        else if (s->code == HD_MASK_AND || s->code == HD_MASK_OR) {
            depth--;
            stack[depth - 1] =
                s->code == HD_MASK_AND ? stack[depth - 1] && stack[depth] : stack[depth - 1] || stack[depth];
        } else
            stack[depth++] = primitive_shows(p, s, b, h, i, j);
    }
    return depth == 0 || stack[0];
}

static bool may_see(const problem *p, int64_t b, int64_t h, int64_t i, int64_t j) {
    if (!program_shows(p, b, h, i, j)) return false;
    return !(p->o.bias && broadcast_entry(p->o.bias, b, h, i, j) == -INFINITY);
}

/* The draw of the first attention after `begin_draws`. */
static void begin_draws(void) {
    cx->rng = (hd_rng){7, 0};
}

/* What dropout makes of the weights of a row: 1 / (1 - p) or 0. */
static void draw_row(const problem *p, int64_t b, int64_t h, int64_t i, double *keep) {
    int64_t longest = 0;
    for (int64_t n = 0; n < p->B; n++)
        if (end_of(p, n) > longest) longest = end_of(p, n);
    const int64_t row = (longest + 15) / 16 * 16;
    for (int64_t j = 0; j < p->S; j++) keep[j] = 1;
    if (p->o.dropout > 0)
        cx->kernels->dropout[HD_F64]((hd_draw){7, 0}, ((b * p->H + h) * p->L + i) * row, p->S, p->o.dropout,
                                     keep, keep);
}

typedef struct row {
    double p[MOST_KEYS], slope[MOST_KEYS]; /* weights, and d capped score / d score */
} row;

static double scale_of(const problem *p) {
    return p->o.scale != 0 ? p->o.scale : 1 / sqrt((double)p->D);
}

static void reference_row(const problem *p, int64_t b, int64_t h, int64_t i, row *r) {
    int64_t hk = h / (p->H / p->Hk);
    double s[MOST_KEYS], top = -INFINITY, sum = 0;
    for (int64_t j = 0; j < p->S; j++) {
        r->p[j] = r->slope[j] = 0;
        if (!may_see(p, b, h, i, j)) continue;
        s[j] = 0;
        for (int64_t d = 0; d < p->D; d++)
            s[j] += get(p->q, at4(p->q, b, h, i, d)) * get(p->k, at4(p->k, b, hk, j, d));
        s[j] *= scale_of(p);
        r->slope[j] = 1;
        if (p->o.softcap > 0) {
            double t = tanh(s[j] / p->o.softcap);
            r->slope[j] = 1 - t * t;
            s[j] = p->o.softcap * t;
        }
        if (p->o.alibi) s[j] -= get(p->o.alibi, h) * fabs((double)(end_of(p, b) - p->L + i - j));
        if (p->o.bias) s[j] += broadcast_entry(p->o.bias, b, h, i, j);
        if (s[j] > top) top = s[j];
    }
    for (int64_t j = 0; j < p->S; j++)
        if (may_see(p, b, h, i, j)) sum += r->p[j] = exp(s[j] - top);
    for (int64_t j = 0; j < p->S; j++)
        if (r->p[j] != 0) r->p[j] /= sum;
}

typedef struct reference {
    hd_tensor *out, *weights, *dq, *dk, *dv, *dscores;
} reference;

static hd_tensor *zeros_like(const hd_tensor *t) {
    return hd_tensor_zeros(cx, HD_F64, t->ndim, t->shape);
}

static void add_to(hd_tensor *t, int64_t i, double v) {
    set(t, i, get(t, i) + v);
}

static void reference_pair_row(const problem *p, reference *r, int64_t b, int64_t h, int64_t i) {
    int64_t hk = h / (p->H / p->Hk);
    row w;
    double dp[MOST_KEYS], keep[MOST_KEYS], delta = 0;
    reference_row(p, b, h, i, &w);
    draw_row(p, b, h, i, keep);
    for (int64_t j = 0; j < p->S; j++) {
        set(r->weights, at4(r->weights, b, h, i, j), w.p[j]);
        if (w.p[j] == 0) continue;
        dp[j] = 0;
        for (int64_t d = 0; d < p->Dv; d++) {
            double g = get(p->g, at4(p->g, b, h, i, d)), v = get(p->v, at4(p->v, b, hk, j, d));
            if (keep[j] == 0) continue;
            add_to(r->out, at4(r->out, b, h, i, d), w.p[j] * keep[j] * v);
            add_to(r->dv, at4(r->dv, b, hk, j, d), w.p[j] * keep[j] * g);
            dp[j] += g * v * keep[j];
        }
        delta += w.p[j] * dp[j];
    }
    for (int64_t j = 0; j < p->S; j++) {
        if (w.p[j] == 0) continue;
        double ds = w.p[j] * (dp[j] - delta);
        set(r->dscores, at4(r->dscores, b, h, i, j), ds);
        ds *= w.slope[j] * scale_of(p);
        for (int64_t d = 0; d < p->D; d++) {
            add_to(r->dq, at4(p->q, b, h, i, d), ds * get(p->k, at4(p->k, b, hk, j, d)));
            add_to(r->dk, at4(p->k, b, hk, j, d), ds * get(p->q, at4(p->q, b, h, i, d)));
        }
    }
}

static reference solve(const problem *p) {
    const int64_t out[4] = {p->B, p->H, p->L, p->Dv}, scores[4] = {p->B, p->H, p->L, p->S};
    reference r = {hd_tensor_zeros(cx, HD_F64, 4, out),
                   hd_tensor_zeros(cx, HD_F64, 4, scores),
                   zeros_like(p->q),
                   zeros_like(p->k),
                   zeros_like(p->v),
                   hd_tensor_zeros(cx, HD_F64, 4, scores)};
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < p->H; h++)
            for (int64_t i = 0; i < p->L; i++) reference_pair_row(p, &r, b, h, i);
    return r;
}

static void drop_reference(reference *r) {
    hd_tensor *all[] = {r->out, r->weights, r->dq, r->dk, r->dv, r->dscores};
    release_inputs(6, all);
}

/* ---- problems at random ---------------------------------------------------------------------------- */

static int64_t pick(int64_t low, int64_t high) {
    return low + (int64_t)((some() + 1) / 2 * (double)(high - low + 1));
}

static void random_scores_shape(const problem *p, int *ndim, int64_t *shape) {
    const int64_t whole[4] = {p->B, p->H, p->L, p->S};
    *ndim = (int)pick(2, 4);
    for (int d = 0; d < *ndim; d++) shape[d] = pick(0, 2) ? whole[4 - *ndim + d] : 1;
}

static hd_tensor *random_ids(int64_t rows, int64_t columns, int64_t low, int64_t high) {
    hd_tensor *t =
        columns ? hd_tensor_new(cx, HD_I64, SHAPE(rows, columns)) : hd_tensor_new(cx, HD_I64, 1, &rows);
    for (int64_t i = 0; i < hd_numel(t); i++) set(t, i, (double)pick(low, high));
    return t;
}

static hd_tensor *random_mask(const problem *p) {
    int ndim;
    int64_t shape[4];
    random_scores_shape(p, &ndim, shape);
    hd_tensor *t = hd_tensor_new(cx, pick(0, 1) ? HD_BOOL : HD_I64, ndim, shape);
    for (int64_t i = 0; i < hd_numel(t); i++) set(t, i, pick(0, 2) != 0);
    return t;
}

static hd_mask_step random_primitive(const problem *p) {
    hd_mask_step s = {.code = (hd_mask_code)pick(HD_MASK_CAUSAL, HD_MASK_DENSE)};
    s.left = pick(0, 5) ? pick(0, p->S) : INT64_MAX;
    s.right = pick(0, 1) ? pick(0, 20) : 0;
    if (s.code == HD_MASK_LENGTHS) s.tensor = random_ids(p->B, 0, 0, p->S);
    if (s.code == HD_MASK_PREFIX && pick(0, 1)) s.tensor = random_ids(p->B, 0, 0, p->S + 5);
    if (s.code == HD_MASK_SEGMENTS)
        s.tensor = random_ids(p->B, p->L, 1, 3), s.keys = random_ids(p->B, p->S, 1, 3);
    if (s.code == HD_MASK_DILATED) s.left = pick(0, 5) ? pick(1, 8) : s.left + 1;
    if (s.code == HD_MASK_DENSE) s.tensor = random_mask(p);
    return s;
}

static void add_step(problem *p, hd_mask_step step) {
    p->step[p->steps++] = step;
}

/* What is seen by the rules before, and by this one. */
static void add_rule(problem *p, hd_mask_step step) {
    const bool joins = p->steps > 0;
    add_step(p, step);
    if (joins) add_step(p, (hd_mask_step){.code = HD_MASK_AND});
}

static void random_rules(problem *p) {
    const int64_t joins = pick(0, 2);
    add_step(p, random_primitive(p));
    for (int64_t n = 0; n < joins; n++) {
        add_step(p, random_primitive(p));
        add_step(p, (hd_mask_step){.code = pick(0, 1) ? HD_MASK_AND : HD_MASK_OR});
    }
    if (pick(0, 2) == 0) add_step(p, (hd_mask_step){.code = HD_MASK_NOT});
}

/* Rules that a model would have, behind others. */
static void random_program(problem *p) {
    if (pick(0, 1)) random_rules(p);
    if (pick(0, 1)) add_rule(p, (hd_mask_step){.code = HD_MASK_CAUSAL});
    if (pick(0, 2) == 0)
        add_rule(p, (hd_mask_step){.code = HD_MASK_LENGTHS, .tensor = random_ids(p->B, 0, 0, p->S)});
    if (pick(0, 2) == 0) add_rule(p, (hd_mask_step){.code = HD_MASK_DENSE, .tensor = random_mask(p)});
    if (pick(0, 3) == 0)
        add_rule(p, (hd_mask_step){.code = HD_MASK_ENDS, .tensor = random_ids(p->B, 0, 0, p->S)});
    if (p->steps == 0) return;
    p->o.mask = hd_mask_new(cx, p->steps, p->step);
    CHECK(p->o.mask != NULL);
}

static void random_additions(problem *p) {
    int ndim;
    int64_t shape[4];
    if (pick(0, 1)) {
        random_scores_shape(p, &ndim, shape);
        p->o.bias = parameter(HD_F64, ndim, shape);
        for (int64_t i = 0; i < hd_numel(p->o.bias); i++)
            if (pick(0, 5) == 0) set(p->o.bias, i, -INFINITY);
    }
    if (pick(0, 3) == 0) {
        p->o.alibi = hd_tensor_new(cx, HD_F64, 1, &p->H);
        for (int64_t h = 0; h < p->H; h++) set(p->o.alibi, h, 0.3 / (double)(h + 1));
    }
}

static int64_t one_of(int64_t count, const int64_t *values) {
    return values[pick(0, count - 1)];
}

/* Sizes around those of lanes, vectors, blocks, sections and splits, as many of them as the reference does in no time. */
static void random_sizes(problem *p) {
    static const int64_t longs[] = {1, 2, 5, 9, 16, 20, 31, 33, 64, 65, 90, 150, 257, 600, 1100};
    static const int64_t features[] = {1, 3, 7, 16, 20, 32, 40, 64, 80, 128};
    do {
        *p = (problem){.B = pick(1, 3), .Hk = pick(1, 3)};
        p->H = p->Hk * pick(1, 3);
        p->L = one_of(13, longs), p->S = one_of(15, longs);
        p->D = one_of(10, features), p->Dv = pick(0, 1) ? p->D : one_of(10, features);
    } while (p->B * p->H * p->L * p->S * (p->D + p->Dv) > 1500000);
}

static problem problem_of_sizes(const problem *sizes) {
    problem p = *sizes;
    p.q = parameter(HD_F64, SHAPE(p.B, p.H, p.L, p.D));
    p.k = parameter(HD_F64, SHAPE(p.B, p.Hk, p.S, p.D));
    p.v = parameter(HD_F64, SHAPE(p.B, p.Hk, p.S, p.Dv));
    p.g = random_tensor(HD_F64, SHAPE(p.B, p.H, p.L, p.Dv));
    if (pick(0, 1)) p.o.scale = 1.5;
    if (pick(0, 2) == 0) p.o.softcap = 0.7;
    if (pick(0, 3) == 0) p.o.dropout = 0.3;
    random_program(&p);
    random_additions(&p);
    return p;
}

static problem random_problem(void) {
    problem sizes;
    random_sizes(&sizes);
    return problem_of_sizes(&sizes);
}

static void drop_problem(problem *p) {
    hd_tensor *all[] = {p->q, p->k, p->v, p->g, p->o.bias, p->o.alibi};
    release_inputs(6, all);
    hd_mask_release(p->o.mask);
    for (int n = 0; n < p->steps; n++) {
        hd_release(p->step[n].tensor);
        hd_release(p->step[n].keys);
    }
}

static hd_tensor *copy_as(const hd_tensor *t, hd_dtype dtype) {
    if (!t) return NULL;
    hd_tensor *c = hd_tensor_new(cx, dtype, t->ndim, t->shape);
    CHECK(c != NULL);
    for (int64_t i = 0; i < hd_numel(t); i++) set(c, i, get(t, i));
    c->requires_grad = t->requires_grad;
    return c;
}

static problem problem_as(const problem *p, hd_dtype dtype, bool across) {
    problem c = *p;
    hd_tensor **parts[] = {&c.q, &c.k, &c.v, &c.g, &c.o.bias};
    for (int i = 0; i < 5; i++) {
        *parts[i] = copy_as(*parts[i], dtype);
        if (!across || i == 4) continue;
        hd_tensor *packed = *parts[i];
        *parts[i] = laid_across(packed);
        hd_release(packed);
    }
    return c;
}

static void drop_copy(problem *p) {
    hd_tensor *all[] = {p->q, p->k, p->v, p->g, p->o.bias};
    release_inputs(5, all);
}

static void compare(const char *what, const hd_tensor *got, const hd_tensor *wanted, double tolerance) {
    CHECK(got != NULL && hd_same_shape(got, wanted));
    for (int64_t i = 0; i < hd_numel(got); i++)
        if (!is_near(get(got, i), get(wanted, i), tolerance)) {
            printf("%s: element %d: %.9g instead of %.9g\n", what, (int)i, get(got, i), get(wanted, i));
            CHECK(0);
        }
    checks_passed++;
}

static void compare_bias_gradient(const problem *p, const reference *r, double tolerance) {
    hd_tensor *sum = zeros_like(p->o.bias);
    for (int64_t n = 0; n < hd_numel(r->dscores); n++) {
        int64_t index[4], rest = n, flat = 0;
        for (int d = 3; d >= 0; d--) {
            index[d] = rest % r->dscores->shape[d];
            rest /= r->dscores->shape[d];
        }
        for (int d = 0; d < sum->ndim; d++)
            flat = flat * sum->shape[d] + (sum->shape[d] == 1 ? 0 : index[4 - sum->ndim + d]);
        add_to(sum, flat, get(r->dscores, n));
    }
    compare("dbias", p->o.bias->grad, sum, tolerance);
    hd_release(sum);
}

static void compare_with_reference(problem *p, const reference *r, bool want_weights, double tolerance) {
    hd_tensor *out = NULL, *weights = NULL;
    p->o.want_weights = want_weights;
    begin_draws();
    CHECK(!hd_attention(cx, p->q, p->k, p->v, &p->o, &out, &weights));
    compare("out", out, r->out, tolerance);
    if (want_weights) compare("weights", weights, r->weights, tolerance);
    CHECK(!want_weights || !weights->requires_grad);
    CHECK(!hd_backward_run(cx, out, p->g, false));
    compare("dq", p->q->grad, r->dq, tolerance);
    compare("dk", p->k->grad, r->dk, tolerance);
    compare("dv", p->v->grad, r->dv, tolerance);
    if (p->o.bias) compare_bias_gradient(p, r, tolerance);
    hd_release(out);
    hd_release(weights);
    clear_grad(p->q);
    clear_grad(p->k);
    clear_grad(p->v);
    if (p->o.bias) clear_grad(p->o.bias);
}

/* Whatever no query (or, of values and keys, none of the group) may see gets NaN or infinity. */
static void poison(problem *p) {
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t hk = 0; hk < p->Hk; hk++)
            for (int64_t j = 0; j < p->S; j++) {
                bool seen = false;
                for (int64_t h = hk * (p->H / p->Hk); h < (hk + 1) * (p->H / p->Hk); h++)
                    for (int64_t i = 0; i < p->L; i++) seen |= may_see(p, b, h, i, j);
                for (int64_t d = 0; d < p->D && !seen; d++)
                    set(p->k, at4(p->k, b, hk, j, d), pick(0, 1) ? NAN : INFINITY);
                for (int64_t d = 0; d < p->Dv && !seen; d++)
                    set(p->v, at4(p->v, b, hk, j, d), pick(0, 1) ? NAN : -INFINITY);
            }
    for (int64_t b = 0; b < p->B; b++)
        for (int64_t h = 0; h < p->H; h++)
            for (int64_t i = 0; i < p->L; i++) {
                bool sees = false;
                for (int64_t j = 0; j < p->S; j++) sees |= may_see(p, b, h, i, j);
                for (int64_t d = 0; d < p->D && !sees; d++) set(p->q, at4(p->q, b, h, i, d), NAN);
                for (int64_t d = 0; d < p->Dv && !sees; d++) set(p->g, at4(p->g, b, h, i, d), NAN);
            }
}

#endif
