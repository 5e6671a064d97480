#include "attention_reference.h"

#include <limits.h>

/* ---- against the formula ---------------------------------------------------------------------------- */

/* With and without weights, poison, and strides; consumes the problem. */
static void hold_against_the_formula(problem *p, const hd_kernels *kernels, int n) {
    const hd_kernels *own = cx->kernels;
    reference r = solve(p);
    if (n % 2) poison(p);
    cx->kernels = kernels;
    compare_with_reference(p, &r, n % 3 == 0, 1e-11);
    problem f = problem_as(p, HD_F32, n % 4 < 2);
    compare_with_reference(&f, &r, n % 3 == 1, 1e-4);
    cx->kernels = own;
    drop_copy(&f);
    drop_reference(&r);
    drop_problem(p);
}

static void test_against_the_formula(void) {
    for (int isa = 0; isa < HD_ISA_COUNT; isa++)
        for (int n = 0; n < 60 && hd_kernels_of((hd_isa)isa); n++) {
            problem p = random_problem();
            hold_against_the_formula(&p, hd_kernels_of((hd_isa)isa), n);
        }
}

/* Keys enough for several sections of several splits. */
static void test_many_keys(void) {
    const problem sizes = {.B = 1, .H = 2, .Hk = 1, .L = 20, .S = 1100, .D = 64, .Dv = 40};
    for (int n = 0; n < 6; n++) {
        problem p = problem_of_sizes(&sizes);
        hold_against_the_formula(&p, cx->kernels, n);
    }
}

/* A NaN that only later queries may see stays out of the earlier ones. */
static void test_future_nan(void) {
    hd_tensor *q = parameter(HD_F32, SHAPE(1, 1, 40, 8)), *k = parameter(HD_F32, SHAPE(1, 1, 40, 8));
    hd_tensor *v = parameter(HD_F32, SHAPE(1, 1, 40, 8)), *out = NULL;
    hd_attention_options o = {.mask = hd_mask_causal(cx)};
    for (int64_t d = 0; d < 8; d++) set(v, 30 * 8 + d, NAN);
    CHECK(!hd_attention(cx, q, k, v, &o, &out, NULL));
    for (int64_t i = 0; i < 40 * 8; i++) CHECK(isnan(get(out, i)) == (i >= 30 * 8));
    hd_tensor *g = random_tensor(HD_F32, SHAPE(1, 1, 40, 8));
    for (int64_t i = 30 * 8; i < 40 * 8; i++) set(g, i, 0);
    CHECK(!hd_backward_run(cx, out, g, false));
    for (int64_t i = 0; i < 30 * 8; i++) CHECK(isfinite(get(q->grad, i)));
    hd_tensor *all[] = {q, k, v, out, g};
    release_inputs(5, all);
    hd_mask_release(o.mask);
}

/* ---- rows of CASES whose answers are known --------------------------------------------------------- */

static hd_tensor *zero_queries(int64_t B, int64_t H, int64_t L) {
    return hd_tensor_zeros(cx, HD_F32, SHAPE(B, H, L, 1));
}

static hd_tensor *counted_values(int64_t H, int64_t S) {
    hd_tensor *v = hd_tensor_new(cx, HD_F32, SHAPE(1, H, S, 1));
    for (int64_t i = 0; i < H * S; i++) set(v, i, (double)(i % S + 1));
    return v;
}

/* Uniform attention of L queries over the values 1..S. */
static void expect_uniform(int64_t L, int64_t S, const hd_attention_options *o, const double *wanted) {
    hd_tensor *q = zero_queries(1, 1, L), *k = zero_queries(1, 1, S), *v = counted_values(1, S), *out = NULL;
    CHECK(!hd_attention(cx, q, k, v, o, &out, NULL));
    for (int64_t i = 0; i < L; i++) CHECK(is_near(get(out, i), wanted[i], 1e-6));
    hd_tensor *all[] = {q, k, v, out};
    release_inputs(4, all);
}

static void test_causality_is_aligned_to_the_end(void) {
    hd_attention_options o = {.mask = hd_mask_causal(cx)};
    expect_uniform(3, 3, &o, (double[]){1, 1.5, 2});
    expect_uniform(2, 5, &o, (double[]){2.5, 3});
    expect_uniform(5, 2, &o, (double[]){0, 0, 0, 1, 1.5});
    expect_uniform(1, 8, &o, (double[]){4.5});
    hd_mask_release(o.mask);
}

static void test_float_padding_is_the_bool_mask(void) {
    hd_tensor *bias = hd_tensor_zeros(cx, HD_F32, SHAPE(1, 2)),
              *mask = hd_tensor_zeros(cx, HD_BOOL, SHAPE(1, 2));
    set(bias, 1, -INFINITY);
    set(mask, 0, 1);
    hd_attention_options added = {.bias = bias}, hidden = {.mask = hd_mask_of_tensor(cx, mask)};
    expect_uniform(2, 2, &added, (double[]){1, 1});
    expect_uniform(2, 2, &hidden, (double[]){1, 1});
    hd_mask_release(hidden.mask);
    hd_release(bias);
    hd_release(mask);
}

static void test_empty_row(void) {
    hd_tensor *mask = hd_tensor_zeros(cx, HD_BOOL, SHAPE(2, 2)), *q = parameter(HD_F64, SHAPE(1, 1, 2, 3));
    hd_tensor *k = parameter(HD_F64, SHAPE(1, 1, 2, 3)), *v = parameter(HD_F64, SHAPE(1, 1, 2, 2)),
              *out = NULL, *w = NULL;
    for (int i = 0; i < 4; i++) set(v, i, i + 1);
    set(mask, 0, 1);
    hd_attention_options o = {.mask = hd_mask_of_tensor(cx, mask), .want_weights = true};
    CHECK(!hd_attention(cx, q, k, v, &o, &out, &w));
    const double wanted[4] = {1, 2, 0, 0}, weights[4] = {1, 0, 0, 0};
    for (int i = 0; i < 4; i++) CHECK(get(out, i) == wanted[i] && get(w, i) == weights[i]);
    hd_tensor *g = random_tensor(HD_F64, SHAPE(1, 1, 2, 2));
    CHECK(!hd_backward_run(cx, out, g, false));
    for (int i = 0; i < 6; i++) CHECK(isfinite(get(q->grad, i)) && isfinite(get(k->grad, i)));
    for (int i = 0; i < 4; i++) CHECK(isfinite(get(v->grad, i)));
    hd_tensor *all[] = {mask, q, k, v, out, w, g};
    release_inputs(7, all);
    hd_mask_release(o.mask);
}

static void test_grouped_heads_are_not_tiled(void) {
    hd_tensor *q = zero_queries(1, 4, 1), *k = zero_queries(1, 2, 1), *v = zero_queries(1, 2, 1), *out = NULL;
    set(v, 1, 5);
    hd_attention_options o = {0};
    CHECK(!hd_attention(cx, q, k, v, &o, &out, NULL));
    const double wanted[4] = {0, 0, 5, 5};
    for (int h = 0; h < 4; h++) CHECK(get(out, h) == wanted[h]);
    hd_tensor *all[] = {q, k, v, out};
    release_inputs(4, all);
}

static void test_transposed_values(void) {
    hd_tensor *q = zero_queries(1, 1, 1), *k = zero_queries(1, 1, 2),
              *v = hd_tensor_new(cx, HD_F32, SHAPE(1, 1, 2, 2));
    for (int i = 0; i < 4; i++) set(v, i, i + 1);
    hd_tensor *t = hd_tensor_view(cx, v, 4, v->shape, (const int64_t[]){4, 4, 1, 2}, 0), *out = NULL;
    hd_attention_options o = {0};
    CHECK(!hd_attention(cx, q, k, t, &o, &out, NULL));
    CHECK(get(out, 0) == 1.5 && get(out, 1) == 3.5);
    hd_tensor *all[] = {q, k, v, t, out};
    release_inputs(5, all);
}

static void expect_empty(int64_t B, int64_t L, int64_t S) {
    hd_tensor *q = parameter(HD_F32, SHAPE(B, 2, L, 8)), *k = parameter(HD_F32, SHAPE(B, 2, S, 8));
    hd_tensor *v = parameter(HD_F32, SHAPE(B, 2, S, 8)), *out = NULL;
    hd_attention_options o = {.mask = hd_mask_causal(cx)};
    CHECK(!hd_attention(cx, q, k, v, &o, &out, NULL));
    CHECK(out->shape[0] == B && out->shape[1] == 2 && out->shape[2] == L && out->shape[3] == 8);
    for (int64_t i = 0; i < hd_numel(out); i++) CHECK(get(out, i) == 0);
    hd_tensor *g = random_tensor(HD_F32, 4, out->shape);
    CHECK(!hd_backward_run(cx, out, g, false));
    for (int64_t i = 0; i < hd_numel(k); i++) CHECK(get(k->grad, i) == 0 && get(v->grad, i) == 0);
    hd_tensor *all[] = {q, k, v, out, g};
    release_inputs(5, all);
    hd_mask_release(o.mask);
}

static void test_nothing_to_attend(void) {
    expect_empty(0, 3, 4);
    expect_empty(2, 0, 4);
    expect_empty(2, 3, 0);
}

static void test_asking_for_weights_changes_no_bit(void) {
    for (int n = 0; n < 30; n++) {
        problem p = random_problem();
        hd_tensor *out = NULL, *other = NULL, *weights = NULL;
        begin_draws();
        p.o.want_weights = false;
        CHECK(!hd_attention(cx, p.q, p.k, p.v, &p.o, &out, NULL));
        begin_draws();
        p.o.want_weights = true;
        CHECK(!hd_attention(cx, p.q, p.k, p.v, &p.o, &other, &weights));
        for (int64_t i = 0; i < hd_numel(out); i++) CHECK(get(out, i) == get(other, i));
        hd_tensor *all[] = {out, other, weights};
        release_inputs(3, all);
        drop_problem(&p);
    }
}

/* ---- dropout, and forms that must agree ------------------------------------------------------------ */

static hd_tensor *attend(hd_tensor *const *in, const void *arg) {
    hd_tensor *out = NULL;
    hd_attention_options o = *(const hd_attention_options *)arg;
    o.bias = in[3];
    return hd_attention(cx, in[0], in[1], in[2], &o, &out, NULL) ? NULL : out;
}

static void test_gradients(void) {
    hd_tensor *in[] = {parameter(HD_F64, SHAPE(2, 4, 7, 5)), parameter(HD_F64, SHAPE(2, 2, 9, 5)),
                       parameter(HD_F64, SHAPE(2, 2, 9, 3)), parameter(HD_F64, SHAPE(4, 1, 9))};
    hd_attention_options o = {.mask = hd_mask_causal(cx), .dropout = 0.3, .softcap = 2};
    check_gradients("attention", attend, 4, in, &o);
    release_inputs(4, in);
    hd_mask_release(o.mask);
}

static void test_dropout_of_everything(void) {
    hd_tensor *in[] = {parameter(HD_F32, SHAPE(1, 1, 4, 8)), parameter(HD_F32, SHAPE(1, 1, 4, 8)),
                       parameter(HD_F32, SHAPE(1, 1, 4, 8)), NULL};
    hd_attention_options o = {.dropout = 1};
    hd_tensor *out = attend(in, &o);
    for (int i = 0; i < 32; i++) CHECK(get(out, i) == 0);
    hd_release(out);
    release_inputs(3, in);
}

static hd_tensor *packed_self(hd_tensor *const *in, const void *arg) {
    hd_tensor *out = NULL;
    return hd_attention_packed(cx, NULL, in[0], 2, arg, &out, NULL) ? NULL : out;
}

static hd_tensor *packed_cross(hd_tensor *const *in, const void *arg) {
    hd_tensor *out = NULL;
    return hd_attention_packed(cx, in[0], in[1], 2, arg, &out, NULL) ? NULL : out;
}

static void test_packed_forms(void) {
    hd_attention_options o = {.mask = hd_mask_causal(cx), .dropout = 0.2};
    hd_tensor *qkv = parameter(HD_F64, SHAPE(2, 6, 24)), *q = parameter(HD_F64, SHAPE(2, 4, 8));
    hd_tensor *kv = parameter(HD_F64, SHAPE(2, 5, 16)), *cross[] = {q, kv};
    check_gradients("packed self-attention", packed_self, 1, &qkv, &o);
    check_gradients("packed cross-attention", packed_cross, 2, cross, &o);
    hd_tensor *all[] = {qkv, q, kv};
    release_inputs(3, all);
    hd_mask_release(o.mask);
}

static void expect_refused(hd_tensor *q, hd_tensor *k, hd_tensor *v, hd_attention_options o,
                           const char *part) {
    hd_tensor *out = NULL;
    CHECK(hd_attention(cx, q, k, v, &o, &out, NULL) == HD_EARG);
    if (!strstr(cx->error.message, part)) printf("%s\n", cx->error.message);
    CHECK(strstr(cx->error.message, part) != NULL);
}

/* ---- sequences one behind the other ------------------------------------------------------------------ */

static hd_tensor *starts_of(int count, const int64_t *lengths) {
    hd_tensor *t = integers(1, &(int64_t){count}, lengths), *starts = hd_sequence_starts(cx, t);
    CHECK(starts != NULL);
    hd_release(t);
    return starts;
}

/* Rows [first, first + count) of x [1, H, N, D] on their own. */
static hd_tensor *rows_of(const hd_tensor *x, int64_t first, int64_t count) {
    hd_tensor *t = hd_tensor_new(cx, HD_F64, SHAPE(1, x->shape[1], count, x->shape[3]));
    CHECK(t != NULL);
    for (int64_t h = 0; h < x->shape[1]; h++)
        for (int64_t i = 0; i < count; i++)
            for (int64_t d = 0; d < x->shape[3]; d++)
                set(t, at4(t, 0, h, i, d), get(x, at4(x, 0, h, first + i, d)));
    t->requires_grad = true;
    return t;
}

static void expect_rows(const hd_tensor *whole, int64_t first, const hd_tensor *part) {
    hd_tensor *rows = rows_of(whole, first, part->shape[2]);
    compare("a sequence of several", rows, part, 1e-12);
    hd_release(rows);
}

static void test_packed_sequences(void) {
    const int64_t L[] = {3, 90, 0, 20, 1}, S[] = {5, 80, 4, 0, 7};
    int64_t q_first = 0, k_first = 0;
    hd_tensor *q = parameter(HD_F64, SHAPE(1, 4, 114, 6)), *k = parameter(HD_F64, SHAPE(1, 2, 96, 6));
    hd_tensor *v = parameter(HD_F64, SHAPE(1, 2, 96, 5)), *g = random_tensor(HD_F64, SHAPE(1, 4, 114, 5)),
              *out = NULL;
    hd_tensor *weights = NULL, *bias = parameter(HD_F64, SHAPE(4, 1, 96));
    hd_attention_options o = {
        .mask = hd_mask_causal(cx), .query_starts = starts_of(5, L), .key_starts = starts_of(5, S)};
    o.bias = bias;
    o.want_weights = true;
    CHECK(!hd_attention(cx, q, k, v, &o, &out, &weights) && !hd_backward_run(cx, out, g, false));
    for (int s = 0; s < 5; s++) {
        hd_tensor *part[] = {rows_of(q, q_first, L[s]),
                             rows_of(k, k_first, S[s]),
                             rows_of(v, k_first, S[s]),
                             rows_of(g, q_first, L[s]),
                             NULL,
                             NULL};
        part[5] = hd_tensor_view(cx, bias, 3, (const int64_t[]){4, 1, S[s]}, bias->stride, k_first);
        hd_attention_options alone = {.mask = o.mask, .bias = part[5]};
        CHECK(!hd_attention(cx, part[0], part[1], part[2], &alone, &part[4], NULL));
        CHECK(!hd_backward_run(cx, part[4], part[3], false));
        expect_rows(out, q_first, part[4]);
        expect_rows(q->grad, q_first, part[0]->grad);
        expect_rows(k->grad, k_first, part[1]->grad);
        expect_rows(v->grad, k_first, part[2]->grad);
        release_inputs(6, part);
        q_first += L[s];
        k_first += S[s];
    }
    for (int64_t i = 0; i < 3; i++)
        CHECK(get(weights, i * 96 + 5 - 3 + i + 1) == 0 && get(weights, i * 96 + 2) != 0);
    hd_attention_options half = {.query_starts = o.query_starts}, ended = o;
    expect_refused(q, k, v, half, "query_starts: expected key_starts as well");
    hd_tensor *ends = integers(SHAPE(1), (int64_t[]){96});
    ended.mask = hd_mask_new(cx, 1, &(hd_mask_step){.code = HD_MASK_ENDS, .tensor = ends});
    expect_refused(q, k, v, ended, "mask: packed: expected no ends");
    set(o.query_starts, 5, 113);
    expect_refused(q, k, v, o, "mask: packed: expected lengths that add up to 114, the queries");
    hd_tensor *all[] = {q, k, v, g, out, weights, bias, o.query_starts, o.key_starts, ends};
    release_inputs(10, all);
    hd_mask_release(o.mask);
    hd_mask_release(ended.mask);
}

/* ---- threads, memory, misuse ----------------------------------------------------------------------- */

static void run_f32(int threads, float *to) {
    hd_ctx *outer = cx;
    cx = new_context(threads);
    noise = 5;
    hd_tensor *in[] = {parameter(HD_F32, SHAPE(3, 8, 100, 32)), parameter(HD_F32, SHAPE(3, 4, 130, 32)),
                       parameter(HD_F32, SHAPE(3, 4, 130, 32)), NULL};
    hd_attention_options o = {.mask = hd_mask_causal(cx), .dropout = 0.1};
    hd_tensor *out = attend(in, &o), *g = random_tensor(HD_F32, 4, out->shape);
    CHECK(!hd_backward_run(cx, out, g, false));
    int64_t n = 0;
    for (int64_t i = 0; i < hd_numel(out); i++) to[n++] = (float)get(out, i);
    for (int t = 0; t < 3; t++)
        for (int64_t i = 0; i < hd_numel(in[t]); i++) to[n++] = (float)get(in[t]->grad, i);
    release_inputs(3, in);
    hd_release(out);
    hd_release(g);
    hd_mask_release(o.mask);
    free_context(cx);
    cx = outer;
}

static void test_threads_change_no_bit(void) {
    size_t count = 2 * 3 * 8 * 100 * 32 + 2 * 3 * 4 * 130 * 32;
    float *one = malloc(count * sizeof *one), *other = malloc(count * sizeof *other);
    run_f32(1, one);
    for (int threads = 2; threads <= 3; threads++) {
        run_f32(threads, other);
        CHECK(memcmp(one, other, count * sizeof *one) == 0);
    }
    free(one);
    free(other);
}

/* queries: 6 are few, 20 are blocks of lanes */
static void let_allocations_fail(hd_dtype stored, int64_t queries) {
    hd_tensor *bias = parameter(HD_F32, SHAPE(1, 1, queries)),
              *q = parameter(HD_F32, SHAPE(2, 2, queries, 8)), *out, *w, *x;
    hd_tensor *g = random_tensor(HD_F32, SHAPE(2, 2, queries, 8));
    hd_attention_options o = {.bias = bias, .want_weights = true, .dropout = 0.5};
    int64_t live = cx->account->live;
    for (int64_t n = 1, done = 0; !done; n++) {
        CHECK(n < 200);
        out = w = NULL;
        cx->account->fail_at = n;
        x = hd_cast(cx, q, stored);
        hd_status status = x ? hd_attention(cx, x, x, x, &o, &out, &w) : cx->error.status;
        if (!status) status = hd_backward_run(cx, out, g, false);
        done = cx->account->fail_at > 0;
        cx->account->fail_at = 0;
        CHECK(done ? status == HD_OK : status == HD_ENOMEM);
        hd_release(x);
        hd_release(out);
        hd_release(w);
        clear_grad(q);
        clear_grad(bias);
        CHECK(cx->account->live == live);
    }
    hd_tensor *all[] = {bias, q, g};
    release_inputs(3, all);
}

static void test_failing_allocations(void) {
    let_allocations_fail(HD_F32, 6);
    let_allocations_fail(HD_F32, 20);
    let_allocations_fail(HD_BF16, 6);
    let_allocations_fail(HD_F16, 20);
}

static void test_misuse(void) {
    hd_tensor *q = random_tensor(HD_F32, SHAPE(2, 4, 3, 8)), *k = random_tensor(HD_F32, SHAPE(2, 3, 5, 8));
    hd_tensor *d = random_tensor(HD_F64, SHAPE(2, 4, 3, 8)), *three = random_tensor(HD_F32, SHAPE(4, 3, 8));
    hd_tensor *half = hd_cast(cx, q, HD_BF16);
    expect_refused(three, q, q, (hd_attention_options){0}, "q: expected [B, H, L, D], got [4, 3, 8]");
    expect_refused(q, k, k, (hd_attention_options){0}, "divides the 4 of q, got 3");
    expect_refused(q, q, k, (hd_attention_options){0}, "v: expected [B, Hk, S, Dv]");
    expect_refused(q, d, q, (hd_attention_options){0}, "k: expected f32, got f64");
    expect_refused(d, half, half, (hd_attention_options){0}, "k: expected f64, got bf16");
    expect_refused(half, q, q, (hd_attention_options){0}, "k: expected bf16, got f32");
    expect_refused(q, half, q, (hd_attention_options){0}, "v: expected bf16, got f32");
    expect_refused(q, half, half, (hd_attention_options){.bias = half}, "bias: expected f32, got bf16");
    expect_refused(q, q, q, (hd_attention_options){.bias = d}, "bias: expected f32, got f64");
    expect_refused(q, q, q, (hd_attention_options){.bias = k}, "broadcasts to [B, H, L, S] = [2, 4, 3, 3]");
    expect_refused(q, q, q, (hd_attention_options){.dropout = 2}, "dropout: expected a probability");
    hd_tensor *all[] = {q, k, d, three, half};
    release_inputs(5, all);
}

/* ---- programs ---------------------------------------------------------------------------------------- */

static void expect_no_mask(int count, const hd_mask_step *steps, const char *part) {
    CHECK(hd_mask_new(cx, count, steps) == NULL && cx->error.status == HD_EARG);
    if (!strstr(cx->error.message, part)) printf("%s\n", cx->error.message);
    CHECK(strstr(cx->error.message, part) != NULL);
}

static void test_masks_that_are_none(void) {
    hd_tensor *x = random_tensor(HD_F32, SHAPE(3)), *n = integers(SHAPE(2), (int64_t[]){1, 2});
    const hd_mask_step causal = {.code = HD_MASK_CAUSAL}, both = {.code = HD_MASK_AND},
                       either = {.code = HD_MASK_OR};
    const hd_mask_step inverted = {.code = HD_MASK_NOT}, ends = {.code = HD_MASK_ENDS, .tensor = n};
    const char *left = "mask: expected steps that leave one result";
    expect_no_mask(0, NULL, left);
    expect_no_mask(1, &both, left);
    expect_no_mask(2, (hd_mask_step[]){causal, causal}, left);
    expect_no_mask(3, (hd_mask_step[]){causal, ends, either}, left);
    expect_no_mask(2, (hd_mask_step[]){ends, inverted}, left);
    expect_no_mask(4, (hd_mask_step[]){causal, ends, both, inverted}, left);
    expect_no_mask(5, (hd_mask_step[]){causal, ends, both, ends, both}, left);
    hd_mask_step many[HD_MASK_STEPS + 1];
    for (int i = 0; i <= HD_MASK_STEPS; i++) many[i] = i ? inverted : causal;
    expect_no_mask(HD_MASK_STEPS + 1, many, "mask: expected at most 40 steps, got 41");
    CHECK(!hd_mask_of_tensor(cx, x) && strstr(cx->error.message, "mask: expected bool or integers"));
    CHECK(!hd_mask_lengths(cx, x) && strstr(cx->error.message, "mask: lengths: expected i64"));
    CHECK(!hd_mask_and(cx, hd_mask_causal(cx), NULL));
    hd_release(x);
    hd_release(n);
}

/* Three rows of one query, which stands where its row ends. */
static void test_masks_joined(void) {
    hd_tensor *lengths = integers(SHAPE(3), (int64_t[]){5, 1, 2}),
              *ends = integers(SHAPE(3), (int64_t[]){4, 2, 5});
    hd_mask *rows = hd_mask_new(cx, 1, &(hd_mask_step){.code = HD_MASK_ENDS, .tensor = ends});
    hd_mask *m = hd_mask_and(cx, hd_mask_and(cx, hd_mask_causal(cx), rows), hd_mask_lengths(cx, lengths));
    CHECK(m != NULL && m->count == 3 && m->ends == ends);
    const int64_t scores[4] = {3, 1, 1, 5}, wanted[3] = {4, 1, 2};
    hd_tensor *dense = hd_mask_dense(cx, &(hd_attention_options){.mask = m}, scores, NULL);
    for (int64_t b = 0; b < 3; b++)
        for (int64_t j = 0; j < 5; j++) CHECK(get(dense, b * 5 + j) == (j < wanted[b]));
    set(ends, 1, 6);
    CHECK(!hd_mask_dense(cx, &(hd_attention_options){.mask = m}, scores, NULL));
    CHECK(strstr(cx->error.message, "mask: ends: expected lengths from 0 to the 5 keys, got 6 at row 2") !=
          NULL);
    CHECK(!hd_mask_and(cx, hd_mask_retain(m), hd_mask_retain(m)));
    hd_mask_release(m);
    hd_tensor *all[] = {lengths, ends, dense};
    release_inputs(3, all);
}

/* ---- weights ----------------------------------------------------------------------------------------- */

/* How far a weight 2^x is from the true one, in units of its last place. */
static double units_off(hd_dtype dtype, const char *x, const char *weight, int64_t at) {
    const bool wide = dtype == HD_F64;
    const double from = wide ? ((const double *)x)[at] : (double)((const float *)x)[at];
    const double got = wide ? ((const double *)weight)[at] : (double)((const float *)weight)[at];
    const long double wanted = exp2l(from);
    const double unit = ldexp(1, (int)floor(from) - (wide ? 52 : 23));
    return (double)fabsl(got - wanted) / unit;
}

/* 2^x in vectors, where x is counted from the largest score, beside libm's; units of the last place. */
static void test_weights_beside_libm(void) {
    static _Alignas(64) char before[HD_BLOCK_KEYS * HD_LANES * 8], s[sizeof before], lanes[4][HD_LANES * 8];
    for (int isa = 0; isa < HD_ISA_COUNT; isa++)
        for (int wide = 0; wide < 2 && hd_kernels_of((hd_isa)isa); wide++) {
            const hd_dtype dtype = wide ? HD_F64 : HD_F32;
            const hd_attention_kernels *k = hd_kernels_of((hd_isa)isa)->attention[dtype];
            const int64_t count = k->keys * k->lanes;
            double worst = 0;
            for (int trial = 0; trial < 50; trial++) {
                memset(lanes, 0, sizeof lanes);
                const double range = trial % 2 ? 4 : wide ? -960 : -100;
                for (int64_t i = 0; i < count; i++) {
                    if (wide)
                        ((double *)before)[i] = range * fabs(some());
                    else
                        ((float *)before)[i] = (float)(range * fabs(some()));
                }
                memcpy(s, before, sizeof s);
                k->exp_sum(HD_BOTH_HALVES, k->keys, s, lanes[0], lanes[1], lanes[2], lanes[3]);
                for (int64_t i = 0; i < count; i++) worst = fmax(worst, units_off(dtype, before, s, i));
            }
            CHECK(worst > 0.4 && worst < (wide ? 1.5 : 2.5));
        }
}

int main(void) {
    cx = new_context(2);
    test_against_the_formula();
    test_many_keys();
    test_asking_for_weights_changes_no_bit();
    test_future_nan();
    test_causality_is_aligned_to_the_end();
    test_float_padding_is_the_bool_mask();
    test_empty_row();
    test_grouped_heads_are_not_tiled();
    test_transposed_values();
    test_nothing_to_attend();
    test_gradients();
    test_dropout_of_everything();
    test_packed_forms();
    test_packed_sequences();
    test_threads_change_no_bit();
    test_failing_allocations();
    test_misuse();
    test_masks_that_are_none();
    test_masks_joined();
    test_weights_beside_libm();
    CHECK(cx->account->live == 0);
    free_context(cx);
    return checks_done();
}
