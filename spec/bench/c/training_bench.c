/* training_bench.c: training steps of an encoder-decoder in C: embeddings, layers (norm first), tied logits,
 * cross entropy with label smoothing, backward, AdamW. Prints the time of each part, best and median, and
 * GFLOPS on products.
 *
 *   training_bench [threads] [large|small] [padded|packed]
 *
 * Lengths vary by a fifth; packed computes no padding. CPU_TIME=1 in the environment counts processor time
 * instead.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/gemm.h"
#include "layers/layers.h"
#include "ops/attention/attention_mask.h"

typedef struct sizes {
    int64_t B, S, L, E, H, F, V, layers;
    double dropout, smoothing;
} sizes;

enum { MAX_PARAMETERS = 400, PARTS = 5 };

typedef struct model {
    hd_tensor *parameters[MAX_PARAMETERS];
    int count;
    hd_tensor *embedding;
    hd_transformer_layer_params encoder[6], decoder[6];
    hd_norm_params encoder_norm, decoder_norm;
    hd_optim_slot slots[MAX_PARAMETERS];
} model;

static hd_ctx *cx;

static double now(void) {
    struct timespec t;
    clock_gettime(getenv("CPU_TIME") ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *need(void *p) {
    if (p) return p;
    fprintf(stderr, "%s\n", cx->error.message);
    exit(1);
}

static hd_tensor *parameter(model *m, int64_t rows, int64_t columns, double scale) {
    const int64_t shape[2] = {rows, columns};
    hd_tensor *t = need(hd_tensor_new(cx, HD_F32, columns ? 2 : 1, shape));
    hd_uniform_(cx, NULL, t, -scale, scale);
    t->requires_grad = true;
    m->parameters[m->count++] = t;
    return t;
}

static hd_norm_params norm_of(model *m, int64_t E) {
    hd_norm_params p = {HD_NORM_LAYER, parameter(m, E, 0, 0), parameter(m, E, 0, 0), 1e-5};
    cx->grad_enabled = false;
    hd_fill_(cx, p.weight, hd_scalar_f(1));
    cx->grad_enabled = true;
    return p;
}

static hd_linear_params linear_of(model *m, int64_t out, int64_t in) {
    hd_tensor *weight = parameter(m, out, in, 0.06);
    return (hd_linear_params){weight, parameter(m, out, 0, 0)};
}

static hd_mha_params mha_of(model *m, const sizes *s) {
    return (hd_mha_params){.in_proj_weight = parameter(m, 3 * s->E, s->E, 0.06),
                           .in_proj_bias = parameter(m, 3 * s->E, 0, 0),
                           .out_proj = linear_of(m, s->E, s->E),
                           .num_heads = (int)s->H,
                           .dropout = s->dropout};
}

static hd_transformer_layer_params layer_of(model *m, const sizes *s, bool is_decoder) {
    hd_transformer_layer_params p = {.norm_first = true, .dropout = s->dropout};
    p.self_attn = mha_of(m, s);
    if (is_decoder) p.multihead_attn = mha_of(m, s);
    p.ffn = (hd_ffn_params){.linear1 = linear_of(m, s->F, s->E),
                            .linear2 = linear_of(m, s->E, s->F),
                            .activation = HD_ACT_RELU,
                            .dropout = s->dropout};
    p.norm1 = norm_of(m, s->E);
    p.norm2 = norm_of(m, s->E);
    if (is_decoder) p.norm3 = norm_of(m, s->E);
    return p;
}

static void build(model *m, const sizes *s) {
    memset(m, 0, sizeof *m);
    m->embedding = parameter(m, s->V, s->E, 0.06);
    for (int i = 0; i < s->layers; i++) {
        m->encoder[i] = layer_of(m, s, false);
        m->decoder[i] = layer_of(m, s, true);
    }
    m->encoder_norm = norm_of(m, s->E);
    m->decoder_norm = norm_of(m, s->E);
    for (int i = 0; i < m->count; i++) {
        hd_tensor *w = m->parameters[i];
        m->slots[i] = (hd_optim_slot){.w = w,
                                      .m = need(hd_tensor_zeros(cx, HD_F32, w->ndim, w->shape)),
                                      .v = need(hd_tensor_zeros(cx, HD_F32, w->ndim, w->shape))};
    }
}

static hd_tensor *integers(int64_t rows, int64_t columns, int64_t low, int64_t high) {
    const int64_t shape[2] = {rows, columns};
    return need(hd_randint(cx, NULL, low, high, columns ? 2 : 1, shape));
}

static hd_tensor *next(hd_tensor *y, hd_tensor *x) {
    hd_release(x);
    return need(y);
}

static hd_tensor *embed(const model *m, const sizes *s, hd_tensor *tokens) {
    hd_tensor *x = need(hd_embedding(cx, m->embedding, tokens, 0, 16));
    return next(hd_dropout(cx, x, s->dropout), x);
}

static hd_tensor *norm(const hd_norm_params *p, hd_tensor *x) {
    return next(hd_layer_norm(cx, x, p->weight, p->bias, p->eps), x);
}

static void update(model *m, int64_t step) {
    const hd_optim_options o = {.kind = HD_ADAMW,
                                .lr = 1e-3,
                                .weight_decay = 0.01,
                                .grad_scale = 1,
                                .beta1 = 0.9,
                                .beta2 = 0.98,
                                .eps = 1e-9};
    for (int i = 0; i < m->count; i++) {
        m->slots[i].g = m->parameters[i]->grad;
        m->slots[i].step = step;
        m->slots[i].o = &o;
    }
    if (hd_optim_step(cx, m->count, m->slots)) need(NULL);
    for (int i = 0; i < m->count; i++) {
        hd_release(m->parameters[i]->grad);
        m->parameters[i]->grad = NULL;
    }
}

typedef struct batch {
    hd_tensor *source, *target, *labels; /* [B, S], [B, L] twice; packed: [N], [M] twice */
    hd_mha_options padded, causal, cross;
} batch;

static hd_tensor *packed(hd_tensor *x, hd_tensor *lengths) {
    return next(hd_pack_sequences(cx, x, lengths), x);
}

static batch batch_of(const sizes *s, bool pack) {
    hd_tensor *source_lengths = integers(s->B, 0, s->S * 4 / 5, s->S);
    hd_tensor *target_lengths = integers(s->B, 0, s->L * 4 / 5, s->L);
    batch b = {.source = integers(s->B, s->S, 1, s->V), .target = integers(s->B, s->L, 1, s->V)};
    b.labels = integers(s->B, s->L, 1, s->V);
    b.causal.attention.mask = hd_mask_causal(cx);
    if (!pack) {
        b.padded.attention.mask = b.cross.attention.mask = hd_mask_lengths(cx, source_lengths);
        return b;
    }
    b.source = packed(b.source, source_lengths);
    b.target = packed(b.target, target_lengths);
    b.labels = packed(b.labels, target_lengths);
    b.padded.attention.query_starts = b.padded.attention.key_starts = b.cross.attention.key_starts =
        need(hd_sequence_starts(cx, source_lengths));
    b.causal.attention.query_starts = b.causal.attention.key_starts = b.cross.attention.query_starts =
        need(hd_sequence_starts(cx, target_lengths));
    return b;
}

static double train(model *m, const sizes *s, const batch *b, int64_t step, double times[PARTS]) {
    double t = now();
    hd_tensor *memory = embed(m, s, b->source);
    for (int i = 0; i < s->layers; i++)
        memory = next(hd_encoder_layer(cx, &m->encoder[i], memory, &b->padded), memory);
    memory = norm(&m->encoder_norm, memory);
    times[0] = now() - t, t = now();
    hd_tensor *x = embed(m, s, b->target);
    for (int i = 0; i < s->layers; i++)
        x = next(hd_decoder_layer(cx, &m->decoder[i], x, memory, &b->causal, &b->cross), x);
    x = norm(&m->decoder_norm, x);
    hd_release(memory);
    times[1] = now() - t, t = now();
    hd_cross_entropy_options o = {.label_smoothing = s->smoothing};
    x = next(hd_linear(cx, x, m->embedding, NULL, HD_ACT_NONE, 0), x);
    hd_tensor *loss = next(hd_cross_entropy(cx, x, b->labels, &o), x);
    times[2] = now() - t, t = now();
    if (hd_backward_run(cx, loss, NULL, false)) need(NULL);
    times[3] = now() - t, t = now();
    double value = *(float *)hd_data(loss);
    hd_release(loss);
    update(m, step);
    times[4] = now() - t;
    return value;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double product_flops(const sizes *s) {
    double E = (double)s->E, encoder = (double)s->layers * (4 * E * E + 2 * E * (double)s->F);
    double decoder = (double)s->layers * (6 * E * E + 2 * E * (double)s->F) + E * (double)s->V;
    double cross = (double)s->layers * 2 * E * E;
    return 6 * (double)s->B * ((double)s->S * (encoder + cross) + (double)s->L * decoder);
}

int main(int argc, char **argv) {
    sizes s = {64, 32, 32, 256, 8, 1024, 8000, 3, 0.1, 0.1};
    if (argc > 2 && !strcmp(argv[2], "small")) s = (sizes){64, 25, 11, 64, 4, 256, 80, 2, 0.1, 0};
    cx = hd_ctx_new(argc > 1 ? atoi(argv[1]) : 2);
    if (!cx || hd_kernels_init(cx) || hd_gemm_init(cx)) return 1;
    static model m;
    enum { STEPS = 25 };
    static double times[STEPS][PARTS], column[STEPS];
    const char *names[] = {"encoder", "decoder", "logits and loss", "backward", "AdamW", "all"};
    build(&m, &s);
    batch b = batch_of(&s, argc > 3 && !strcmp(argv[3], "packed"));
    double loss = 0, best = 0;
    for (int i = 0; i < STEPS; i++) loss = train(&m, &s, &b, i + 1, times[i]);
    for (int p = 0; p <= PARTS; p++) {
        for (int i = 0; i < STEPS; i++) {
            column[i] = p < PARTS ? times[i][p] : 0;
            for (int q = 0; q < PARTS && p == PARTS; q++) column[i] += times[i][q];
        }
        qsort(column, STEPS, sizeof *column, by_size);
        printf("%-16s best %8.2f ms  median %8.2f ms\n", names[p], column[0] * 1e3, column[STEPS / 2] * 1e3);
        best = column[0];
    }
    printf("products %.1f GFLOP, %.1f GFLOPS; loss %.4f; peak %.0f MB; %s, %s\n", product_flops(&s) / 1e9,
           product_flops(&s) / best / 1e9, loss, (double)cx->account->peak / 1e6, cx->kernels->name,
           hd_gemm_kernel_name(cx));
    return 0;
}
