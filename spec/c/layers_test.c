#include "differentiate.h"

#include <limits.h>

#include "layers/layers.h"
#include "ops/attention/attention_mask.h"

/* ---- operations on rows: gradients ----------------------------------------------------------------- */

typedef struct linear_case {
    hd_activation act;
    double dropout;
} linear_case;

static hd_tensor *linear(hd_tensor *const *in, const void *arg) {
    const linear_case *c = arg;
    return in[3] ? hd_linear_residual(cx, in[3], in[0], in[1], in[2], c->dropout)
                 : hd_linear(cx, in[0], in[1], in[2], c->act, c->dropout);
}

static void check_linear(linear_case c, bool has_bias, bool has_residual, bool across) {
    hd_tensor *x = parameter(HD_F64, SHAPE(3, 4, 5)), *w = parameter(HD_F64, SHAPE(6, 5));
    hd_tensor *in[] = {x, w, has_bias ? parameter(HD_F64, SHAPE(6)) : NULL,
                       has_residual ? parameter(HD_F64, SHAPE(3, 4, 6)) : NULL};
    for (int i = 0; across && i < 4; i++)
        if (i != 2 && in[i]) {
            hd_tensor *packed = in[i];
            in[i] = laid_across(packed);
            hd_release(packed);
        }
    check_gradients("linear", linear, 4, in, &c);
    release_inputs(4, in);
}

static void test_linear_gradients(void) {
    for (int act = HD_ACT_NONE; act < HD_ACT_COUNT; act++)
        for (int form = 0; form < 8; form++)
            check_linear((linear_case){(hd_activation)act, form & 1 ? 0.4 : 0}, form & 2, false, form & 4);
    for (int form = 0; form < 8; form++)
        check_linear((linear_case){HD_ACT_NONE, form & 1 ? 0.4 : 0}, form & 2, true, form & 4);
}

static hd_tensor *softmax(hd_tensor *const *in, const void *arg) {
    return hd_softmax(cx, in[0], *(const int *)arg);
}

static hd_tensor *log_softmax(hd_tensor *const *in, const void *arg) {
    return hd_log_softmax(cx, in[0], *(const int *)arg);
}

static hd_tensor *layer_norm(hd_tensor *const *in, const void *arg) {
    return hd_layer_norm(cx, in[0], in[1], in[2], *(const double *)arg);
}

static hd_tensor *rms_norm(hd_tensor *const *in, const void *arg) {
    return hd_rms_norm(cx, in[0], in[1], *(const double *)arg);
}

/* cos and sin need not be of one angle for that. */
static hd_tensor *rotary(hd_tensor *const *in, const void *arg) {
    hd_tensor *cos = random_tensor(HD_F64, SHAPE(5, 2)), *sin = random_tensor(HD_F64, SHAPE(5, 2));
    for (int i = 0; i < 10; i++) {
        set(cos, i, 1.0 / (i + 2));
        set(sin, i, 0.1 * i);
    }
    hd_tensor *y = hd_rotary(cx, in[0], cos, sin, *(const bool *)arg);
    hd_release(cos);
    hd_release(sin);
    return y;
}

static hd_tensor *dropout(hd_tensor *const *in, const void *arg) {
    return hd_dropout(cx, in[0], *(const double *)arg);
}

static hd_tensor *dropout_add(hd_tensor *const *in, const void *arg) {
    return hd_dropout_add(cx, in[0], in[1], *(const double *)arg);
}

static void test_row_gradients(void) {
    hd_tensor *packed = parameter(HD_F64, SHAPE(3, 5, 4)), *x = laid_across(packed);
    for (int dim = 0; dim < 3; dim++) {
        check_gradients("softmax", softmax, 1, &packed, &dim);
        check_gradients("softmax", softmax, 1, &x, &dim);
        check_gradients("log_softmax", log_softmax, 1, &x, &dim);
    }
    const double eps = 1e-5, p = 0.3;
    hd_tensor *norm[] = {x, parameter(HD_F64, SHAPE(4)), parameter(HD_F64, SHAPE(4))},
              *bare[] = {packed, NULL, NULL};
    check_gradients("layer_norm", layer_norm, 3, norm, &eps);
    check_gradients("layer_norm", layer_norm, 3, bare, &eps);
    check_gradients("rms_norm", rms_norm, 2, norm, &eps);
    check_gradients("rms_norm", rms_norm, 2, bare, &eps);
    for (int interleaved = 0; interleaved <= 1; interleaved++)
        check_gradients("rotary", rotary, 1, &x, &(bool){interleaved});
    hd_tensor *pair[] = {packed, x};
    check_gradients("dropout", dropout, 1, &x, &p);
    check_gradients("dropout_add", dropout_add, 2, pair, &p);
    hd_tensor *all[] = {packed, x, norm[1], norm[2]};
    release_inputs(4, all);
}

static hd_tensor *embedding(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_embedding(cx, in[0], in[1], 2, 1.7);
}

static void test_embedding(void) {
    hd_tensor *w = parameter(HD_F64, SHAPE(5, 3)),
              *tokens = integers(SHAPE(2, 3), (int64_t[]){1, 5, 1, 3, 1, 4});
    hd_tensor *in[] = {w, tokens};
    check_gradients("embedding", embedding, 2, in, NULL);
    set(tokens, 0, 2); /* the padding row is looked up, and learns nothing */
    hd_tensor *y = embedding(in, NULL), *g = random_tensor(HD_F64, SHAPE(2, 3, 3));
    for (int j = 0; j < 3; j++) CHECK(is_near(get(y, j), 1.7 * get(w, 3 + j), 1e-12));
    CHECK(!hd_backward_run(cx, y, g, false));
    for (int j = 0; j < 3; j++) CHECK(get(w->grad, 3 + j) == 0 && get(w->grad, 12 + j) != 0);
    hd_tensor *all[] = {w, tokens, y, g};
    release_inputs(4, all);
}

static hd_tensor *pack_and_back(hd_tensor *const *in, const void *arg) {
    hd_tensor *packed = hd_pack_sequences(cx, in[0], in[1]);
    CHECK(packed && packed->shape[0] == 5 && packed->ndim == 2);
    if (!arg) return packed;
    hd_tensor *y = hd_unpack_sequences(cx, packed, in[1], 4);
    hd_release(packed);
    return y;
}

static void test_sequences(void) {
    hd_tensor *packed = parameter(HD_F64, SHAPE(3, 3, 2)),
              *in[] = {laid_across(packed), integers(SHAPE(3), (int64_t[]){3, 0, 2})};
    check_gradients("pack_sequences", pack_and_back, 2, in, NULL);
    check_gradients("unpack_sequences", pack_and_back, 2, in, in);
    hd_tensor *y = pack_and_back(in, in), *starts = hd_sequence_starts(cx, in[1]);
    for (int i = 0; i < 6; i++) CHECK(get(y, i) == get(packed, i) && get(y, 8 + i) == 0);
    for (int i = 0; i < 4; i++) CHECK(get(y, 16 + i) == get(packed, 12 + i) && get(y, 20 + i) == 0);
    CHECK(get(starts, 0) == 0 && get(starts, 1) == 3 && get(starts, 2) == 3 && get(starts, 3) == 5);
    set(in[1], 1, 4);
    CHECK(!hd_pack_sequences(cx, packed, in[1]) &&
          strstr(cx->error.message, "lengths: expected 0..3, got 4 at [2]"));
    hd_tensor *all[] = {packed, in[0], in[1], y, starts};
    release_inputs(5, all);
}

/* ---- cross entropy --------------------------------------------------------------------------------- */

static hd_tensor *cross_entropy(hd_tensor *const *in, const void *arg) {
    hd_cross_entropy_options o = *(const hd_cross_entropy_options *)arg;
    o.weight = in[2];
    return hd_cross_entropy(cx, in[0], in[1], &o);
}

static void test_loss_gradients(void) {
    const int64_t excluded[] = {1, 4};
    hd_tensor *packed = parameter(HD_F64, SHAPE(2, 3, 5)), *w = random_tensor(HD_F64, SHAPE(5));
    hd_tensor *in[] = {laid_across(packed), integers(SHAPE(2, 3), (int64_t[]){1, 5, 2, 3, 4, 2}), NULL};
    for (int64_t i = 0; i < 5; i++) set(w, i, fabs(get(w, i)) + 0.1);
    for (int form = 0; form < 48; form++) {
        hd_cross_entropy_options o = {.reduction = (hd_loss_reduction)(form % 3),
                                      .label_smoothing = form / 3 % 2 * 0.3};
        o.has_ignore_index = form / 6 % 2;
        o.ignore_index = 2;
        if (form / 12 % 2) o.excluded = excluded, o.excluded_count = 2;
        in[2] = form / 24 ? w : NULL;
        check_gradients("cross_entropy", cross_entropy, 2, in, &o);
    }
    hd_tensor *all[] = {packed, w, in[0], in[1]};
    release_inputs(4, all);
}

/* Weights of one go another way through smoothing, to the same place. */
static void test_weights_of_one(void) {
    const int64_t excluded[] = {1, 4};
    hd_tensor *in[] = {random_tensor(HD_F64, SHAPE(6, 5)), integers(SHAPE(6), (int64_t[]){1, 5, 2, 3, 4, 2}),
                       NULL};
    hd_tensor *ones = hd_full(cx, HD_F64, SHAPE(5), hd_scalar_f(1));
    hd_cross_entropy_options o = {.label_smoothing = 0.3, .excluded = excluded, .reduction = HD_LOSS_NONE};
    for (o.excluded_count = 0; o.excluded_count < 3; o.excluded_count++) {
        in[2] = NULL;
        hd_tensor *bare = cross_entropy(in, &o);
        in[2] = ones;
        hd_tensor *weighted = cross_entropy(in, &o);
        for (int i = 0; i < 6; i++) CHECK(is_near(get(bare, i), get(weighted, i), 1e-12));
        hd_release(bare);
        hd_release(weighted);
    }
    release_inputs(3, in);
}

static void test_smoothing_excludes(void) {
    const int64_t excluded[] = {1};
    hd_tensor *logits = parameter(HD_F64, SHAPE(1, 5)), *target = integers(SHAPE(1), (int64_t[]){3});
    set(logits, 0, -INFINITY);
    for (int i = 1; i < 5; i++) set(logits, i, 0);
    hd_cross_entropy_options o = {.label_smoothing = 0.4, .excluded = excluded, .excluded_count = 1};
    hd_tensor *loss = hd_cross_entropy(cx, logits, target, &o);
    CHECK(loss && is_near(get(loss, 0), log(4), 1e-12));
    CHECK(!hd_backward_run(cx, loss, NULL, false));
    const double share[] = {0, 0.4 / 3, 0.6, 0.4 / 3, 0.4 / 3};
    for (int i = 0; i < 5; i++) CHECK(is_near(get(logits->grad, i), (i ? 0.25 : 0) - share[i], 1e-12));
    hd_tensor *all[] = {logits, target, loss};
    release_inputs(3, all);
}

static void test_all_targets_ignored(void) {
    hd_tensor *logits = parameter(HD_F32, SHAPE(2, 5)), *targets = integers(SHAPE(2), (int64_t[]){9, 9});
    hd_cross_entropy_options o = {.has_ignore_index = true, .ignore_index = 9};
    hd_tensor *loss = hd_cross_entropy(cx, logits, targets, &o);
    CHECK(loss && get(loss, 0) == 0);
    CHECK(!hd_backward_run(cx, loss, NULL, false));
    for (int i = 0; i < 10; i++) CHECK(get(logits->grad, i) == 0);
    hd_tensor *all[] = {logits, targets, loss};
    release_inputs(3, all);
}

/* ---- misuse ---------------------------------------------------------------------------------- */

#define REFUSED(call, part)                                                                                  \
    do {                                                                                                     \
        CHECK((call) == NULL && cx->error.status == HD_EARG);                                                \
        if (!strstr(cx->error.message, part)) printf("%s\n", cx->error.message);                             \
        CHECK(strstr(cx->error.message, part) != NULL);                                                      \
    } while (0)

static void test_misuse(void) {
    hd_tensor *x = random_tensor(HD_F32, SHAPE(2, 3, 5)), *w = random_tensor(HD_F32, SHAPE(4, 6));
    hd_tensor *tokens = integers(SHAPE(2, 3), (int64_t[]){1, 2, 3, 4, 5, 2});
    hd_cross_entropy_options o = {0}, ignoring = {.has_ignore_index = true, .ignore_index = 7};
    REFUSED(hd_linear(cx, x, w, NULL, HD_ACT_NONE, 0), "x: expected 6 features, got [2, 3, 5]");
    REFUSED(hd_embedding(cx, w, tokens, 0, 1), "tokens: expected values in 1..4, got 5 at [2, 2]");
    REFUSED(hd_embedding(cx, w, x, 0, 1), "tokens: expected integers, got f32; heed.ids(...) makes them");
    REFUSED(hd_embedding(cx, w, tokens, 9, 1), "padding_idx: expected 1..4, got 9");
    set(tokens, 4, 0);
    REFUSED(hd_cross_entropy(cx, x, tokens, &o), "targets: expected values in 1..5, got 0 at [2, 2]");
    REFUSED(hd_cross_entropy(cx, x, tokens, &ignoring), "in 1..5 or ignore_index 7, got 0 at [2, 2]");
    REFUSED(hd_layer_norm(cx, x, w, NULL, 1e-5), "weight: expected shape [5], got [4, 6]");
    REFUSED(hd_rms_norm(cx, x, w, 1e-5), "weight: expected shape [5], got [4, 6]");
    REFUSED(hd_rotary(cx, x, w, w, false),
            "cos: expected [3, pairs], or that for each batch entry of x, got [4, 6]");
    REFUSED(hd_rotary(cx, w, w, w, false), "x: expected 12 features or more (two a pair), got [4, 6]");
    REFUSED(hd_softmax(cx, tokens, 0), "t: expected f32 or f64, got i64; t:to \"f32\" converts");
    REFUSED(hd_dropout(cx, x, 1.5), "p: expected a probability from 0 to 1, got 1.5");
    REFUSED(hd_dropout_add(cx, w, x, 0.5), "residual: expected shape [2, 3, 5], got [4, 6]");
    hd_tensor *all[] = {x, w, tokens};
    release_inputs(3, all);
}

static void test_no_rows(void) {
    hd_tensor *x = parameter(HD_F32, SHAPE(0, 5)), *w = parameter(HD_F32, SHAPE(4, 5)),
              *b = parameter(HD_F32, SHAPE(4));
    hd_tensor *y = hd_linear(cx, x, w, b, HD_ACT_RELU, 0.5), *g = y ? hd_tensor_like(cx, y) : NULL;
    CHECK(y && g && y->shape[0] == 0 && y->shape[1] == 4);
    CHECK(!hd_backward_run(cx, y, g, false));
    for (int i = 0; i < 20; i++) CHECK(get(w->grad, i) == 0);
    for (int i = 0; i < 4; i++) CHECK(get(b->grad, i) == 0);
    hd_tensor *all[] = {x, w, b, y, g};
    release_inputs(5, all);
}

/* ---- layers ---------------------------------------------------------------------------------- */

enum { E = 8, F = 12, HEADS = 2 };

static hd_mha_params mha_params(hd_dtype dtype, int64_t e) {
    return (hd_mha_params){.in_proj_weight = parameter(dtype, SHAPE(3 * e, e)),
                           .in_proj_bias = parameter(dtype, SHAPE(3 * e)),
                           .out_proj = {parameter(dtype, SHAPE(e, e)), parameter(dtype, SHAPE(e))},
                           .num_heads = HEADS,
                           .dropout = 0.2};
}

static hd_ffn_params ffn_params(hd_dtype dtype, int64_t e, int64_t f) {
    return (hd_ffn_params){.linear1 = {parameter(dtype, SHAPE(f, e)), parameter(dtype, SHAPE(f))},
                           .linear2 = {parameter(dtype, SHAPE(e, f)), parameter(dtype, SHAPE(e))},
                           .activation = HD_ACT_GELU,
                           .dropout = 0.2};
}

static hd_norm_params norm_params(hd_dtype dtype, int64_t e) {
    return (hd_norm_params){HD_NORM_LAYER, parameter(dtype, SHAPE(e)), parameter(dtype, SHAPE(e)), 1e-5,
                            false};
}

/* x, memory, and everything that learns in a decoder layer (an encoder layer uses the first part). */
enum {
    IN_X,
    IN_SELF,
    IN_FFN = IN_SELF + 4,
    IN_NORMS = IN_FFN + 4,
    IN_MEMORY = IN_NORMS + 4,
    IN_CROSS,
    INPUTS = IN_CROSS + 6
};

typedef struct layer_case {
    bool norm_first, is_decoder, in_sandwich; /* whose second norms are the first ones again */
    hd_attention_options mask, memory_mask;
} layer_case;

static void layer_inputs(hd_tensor **in, hd_dtype dtype, int64_t B, int64_t L, int64_t S, int64_t e,
                         int64_t f) {
    hd_mha_params self = mha_params(dtype, e), cross = mha_params(dtype, e);
    hd_ffn_params ffn = ffn_params(dtype, e, f);
    hd_norm_params n1 = norm_params(dtype, e), n2 = norm_params(dtype, e), n3 = norm_params(dtype, e);
    hd_tensor *all[INPUTS] = {parameter(dtype, SHAPE(B, L, e)),
                              self.in_proj_weight,
                              self.in_proj_bias,
                              self.out_proj.weight,
                              self.out_proj.bias,
                              ffn.linear1.weight,
                              ffn.linear1.bias,
                              ffn.linear2.weight,
                              ffn.linear2.bias,
                              n1.weight,
                              n1.bias,
                              n2.weight,
                              n2.bias,
                              parameter(dtype, SHAPE(B, S, e)),
                              cross.in_proj_weight,
                              cross.in_proj_bias,
                              cross.out_proj.weight,
                              cross.out_proj.bias,
                              n3.weight,
                              n3.bias};
    memcpy(in, all, sizeof all);
}

static hd_mha_params mha_of(hd_tensor *const *in) {
    return (hd_mha_params){.in_proj_weight = in[0],
                           .in_proj_bias = in[1],
                           .out_proj = {in[2], in[3]},
                           .num_heads = HEADS,
                           .dropout = 0.2};
}

static hd_norm_params norm_of(hd_tensor *const *in) {
    return (hd_norm_params){HD_NORM_LAYER, in[0], in[1], 1e-5, false};
}

static hd_tensor *layer(hd_tensor *const *in, const void *arg) {
    const layer_case *c = arg;
    hd_transformer_layer_params p = {.self_attn = mha_of(in + IN_SELF),
                                     .multihead_attn = mha_of(in + IN_CROSS),
                                     .ffn = {.linear1 = {in[IN_FFN], in[IN_FFN + 1]},
                                             .linear2 = {in[IN_FFN + 2], in[IN_FFN + 3]},
                                             .activation = HD_ACT_GELU,
                                             .dropout = 0.2},
                                     .norm1 = norm_of(in + IN_NORMS),
                                     .norm2 = norm_of(in + IN_NORMS + 2),
                                     .norm3 = norm_of(in + IN_CROSS + 4),
                                     .norm_first = c->norm_first,
                                     .dropout = 0.1};
    if (c->in_sandwich) p.post_norm1 = p.norm1, p.post_norm2 = p.norm2, p.post_norm3 = p.norm3;
    const hd_mha_options self = {.attention = c->mask}, across = {.attention = c->memory_mask};
    return c->is_decoder ? hd_decoder_layer(cx, &p, in[IN_X], in[IN_MEMORY], &self, &across)
                         : hd_encoder_layer(cx, &p, in[IN_X], &self);
}

static void test_layer_gradients(void) {
    hd_tensor *in[INPUTS];
    layer_inputs(in, HD_F64, 2, 4, 5, E, F);
    hd_tensor *lengths = integers(SHAPE(2), (int64_t[]){4, 2});
    hd_mask *causal = hd_mask_causal(cx), *padding = hd_mask_lengths(cx, lengths);
    for (int form = 0; form < 6; form++) {
        layer_case c = {
            .norm_first = form & 1 || form > 3, .is_decoder = form & 2 || form == 5, .in_sandwich = form > 3};
        c.mask.mask = c.is_decoder ? causal : padding;
        c.memory_mask.mask = padding;
        check_gradients(c.is_decoder ? "decoder layer" : "encoder layer", layer,
                        c.is_decoder ? INPUTS : IN_MEMORY, in, &c);
    }
    hd_mask_release(causal);
    hd_mask_release(padding);
    hd_release(lengths);
    release_inputs(INPUTS, in);
}

/* ---- multi-head attention: its three forms agree --------------------------------------------------- */

static hd_tensor *mha(const hd_mha_params *p, hd_tensor *q, hd_tensor *k, hd_tensor *v) {
    hd_tensor *out = NULL, *weights = NULL;
    hd_mha_options o = {.attention.want_weights = true};
    hd_status status = hd_multi_head_attention(cx, p, q, k, v, &o, &out, &weights);
    if (status) printf("%s\n", cx->error.message);
    CHECK(!status && weights->ndim == 4);
    hd_release(weights);
    return out;
}

static void expect_same(hd_tensor *a, hd_tensor *b) {
    CHECK(hd_numel(a) == hd_numel(b) && a->ndim == 3);
    for (int64_t i = 0; i < hd_numel(a); i++) CHECK(is_near(get(a, i), get(b, i), 1e-12));
    hd_release(b);
}

static void test_forms_of_multi_head_attention(void) {
    hd_mha_params p = mha_params(HD_F64, E);
    p.dropout = 0;
    hd_tensor *x = random_tensor(HD_F64, SHAPE(1, 5, E)), *copy = hd_clone(cx, x), *other = hd_clone(cx, x);
    hd_tensor *self = mha(&p, x, NULL, NULL);
    expect_same(self, mha(&p, x, copy, NULL));
    expect_same(self, mha(&p, x, copy, other));
    hd_tensor *one = hd_tensor_view(cx, x, 2, (const int64_t[]){5, E}, (const int64_t[]){E, 1}, 0);
    hd_tensor *y = mha(&p, one, NULL, NULL);
    CHECK(y->ndim == 2 && y->shape[0] == 5);
    for (int64_t i = 0; i < hd_numel(y); i++) CHECK(is_near(get(y, i), get(self, i), 1e-12));
    hd_tensor *wide = random_tensor(HD_F64, SHAPE(1, 5, E + 1)), *out = NULL, *weights = NULL;
    CHECK(hd_multi_head_attention(cx, &p, x, wide, NULL, NULL, &out, &weights) == HD_EARG);
    CHECK(strstr(cx->error.message, "key: expected 8 features (d_model), got [1, 5, 9]") != NULL);
    hd_tensor *all[] = {p.in_proj_weight,
                        p.in_proj_bias,
                        p.out_proj.weight,
                        p.out_proj.bias,
                        x,
                        copy,
                        other,
                        self,
                        one,
                        y,
                        wide};
    release_inputs(11, all);
}

static void test_positions(void) {
    const double wanted[] = {.841471, .540302, .025116, .999685, .000631};
    const double rates[] = {1, 0.5, 0.25};
    hd_tensor *t = hd_sinusoidal_positions(cx, 2, 5, 0, HD_POSITIONS_INTERLEAVED, NULL);
    hd_tensor *h = hd_sinusoidal_positions(cx, 3, 5, 1, HD_POSITIONS_HALVES, rates);
    CHECK(t && h);
    for (int i = 0; i < 5; i++) CHECK(fabs(get(t, 5 + i) - wanted[i]) < 1e-6);
    for (int i = 0; i < 3; i++) CHECK(fabs(get(h, 5 + i) - sin(2 * rates[i])) < 1e-6);
    for (int i = 0; i < 2; i++) CHECK(fabs(get(h, 5 + 3 + i) - cos(2 * rates[i])) < 1e-6);
    hd_release(t);
    hd_release(h);
}

/* ---- memory and threads ---------------------------------------------------------------------------- */

static void test_failing_allocations(void) {
    hd_tensor *in[INPUTS];
    layer_inputs(in, HD_F32, 2, 4, 5, E, F);
    layer_case c = {.is_decoder = true, .mask = {.mask = hd_mask_causal(cx)}};
    hd_tensor *targets = integers(SHAPE(2, 4), (int64_t[]){1, 2, 3, 4, 5, 6, 7, 8});
    hd_cross_entropy_options o = {.label_smoothing = 0.1};
    int64_t live = cx->account->live;
    for (int64_t n = 1, done = 0; !done; n++) {
        CHECK(n < 2000);
        cx->account->fail_at = n;
        hd_tensor *y = layer(in, &c), *loss = y ? hd_cross_entropy(cx, y, targets, &o) : NULL;
        hd_status status = loss ? hd_backward_run(cx, loss, NULL, false) : cx->error.status;
        done = cx->account->fail_at > 0;
        cx->account->fail_at = 0;
        CHECK(done ? status == HD_OK : status == HD_ENOMEM);
        hd_release(y);
        hd_release(loss);
        for (int i = 0; i < INPUTS; i++) clear_grad(in[i]);
        CHECK(cx->account->live == live);
    }
    hd_mask_release(c.mask.mask);
    hd_release(targets);
    release_inputs(INPUTS, in);
}

/* Outside recording a layer holds its widest intermediate result and little else. */
static void test_peak_without_recording(void) {
    hd_tensor *in[INPUTS];
    const int64_t rows = 512, e = 64, f = 256;
    layer_inputs(in, HD_F32, 4, rows / 4, 8, e, f);
    layer_case c = {0};
    cx->grad_enabled = false;
    hd_release(layer(in, &c));
    int64_t live = cx->account->live;
    cx->account->peak = live;
    hd_tensor *y = layer(in, &c);
    CHECK(y && cx->account->peak - live < rows * (f + 4 * e) * 4 * 3 / 2);
    hd_release(y);
    cx->grad_enabled = true;
    release_inputs(INPUTS, in);
}

static uint64_t mix(uint64_t hash, const hd_tensor *t) {
    const unsigned char *bytes = hd_data(t);
    for (int64_t i = 0; i < hd_numel(t) * 4; i++) hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

static uint64_t hash_of_a_step(int threads) {
    hd_ctx *outer = cx;
    cx = new_context(threads);
    noise = 11;
    hd_tensor *in[INPUTS];
    layer_inputs(in, HD_F32, 16, 24, 31, 64, 200);
    layer_case c = {.is_decoder = true, .mask = {.mask = hd_mask_causal(cx)}};
    hd_tensor *y = layer(in, &c), *g = random_tensor(HD_F32, 3, y->shape);
    uint64_t hash = mix(14695981039346656037u, y);
    CHECK(!hd_backward_run(cx, y, g, false));
    for (int i = 0; i < INPUTS; i++) hash = mix(hash, in[i]->grad);
    hd_release(y);
    hd_release(g);
    release_inputs(INPUTS, in);
    hd_mask_release(c.mask.mask);
    free_context(cx);
    cx = outer;
    return hash;
}

static void test_threads_change_no_bit(void) {
    uint64_t one = hash_of_a_step(1);
    CHECK(hash_of_a_step(1) == one && hash_of_a_step(2) == one && hash_of_a_step(3) == one);
}

int main(void) {
    cx = new_context(2);
    test_linear_gradients();
    test_row_gradients();
    test_embedding();
    test_sequences();
    test_loss_gradients();
    test_weights_of_one();
    test_smoothing_excludes();
    test_all_targets_ignored();
    test_misuse();
    test_no_rows();
    test_layer_gradients();
    test_forms_of_multi_head_attention();
    test_positions();
    test_failing_allocations();
    test_peak_without_recording();
    test_threads_change_no_bit();
    CHECK(cx->account->live == 0);
    free_context(cx);
    return checks_done();
}
