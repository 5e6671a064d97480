/* Multi-head attention with all that it takes: grouped keys, weights apart, norms of queries and keys,
 * rotary positions, caches; and the layer of Llama, which is made of them.
 */
#include "differentiate.h"

#include "layers/layers.h"

enum { E = 8, F = 12 };

/* ---- everything that attention takes ----------------------------------------------------------------- */

enum { WIDE_HEADS = 4, KV_HEADS = 2, HEAD = 4, KDIM = 5, VDIM = 3 };

typedef struct mha_case {
    bool apart, of_memory; /* weights of their own; keys and values of another sequence */
    bool interleaved;
    hd_norm_kind norm;
    hd_tensor *cos, *sin; /* NULL: not rotated */
    hd_activation activation;
} mha_case;

enum {
    MHA_QUERY,
    MHA_KEY,
    MHA_VALUE,
    MHA_IN,
    MHA_IN_BIAS = MHA_IN + 3,
    MHA_OUT,
    MHA_NORMS = MHA_OUT + 2,
    MHA_INPUTS = MHA_NORMS + 4
};

static void wide_inputs(hd_tensor **in, const mha_case *c, int64_t L, int64_t S) {
    const int64_t rows = WIDE_HEADS * HEAD, kv_rows = KV_HEADS * HEAD, kdim = c->apart ? KDIM : E,
                  vdim = c->apart ? VDIM : E;
    hd_tensor *all[MHA_INPUTS] = {parameter(HD_F64, SHAPE(2, L, E)),
                                  c->of_memory ? parameter(HD_F64, SHAPE(2, S, kdim)) : NULL,
                                  c->of_memory ? parameter(HD_F64, SHAPE(2, S, vdim)) : NULL,
                                  parameter(HD_F64, SHAPE(c->apart ? rows : rows + 2 * kv_rows, E)),
                                  c->apart ? parameter(HD_F64, SHAPE(kv_rows, kdim)) : NULL,
                                  c->apart ? parameter(HD_F64, SHAPE(kv_rows, vdim)) : NULL,
                                  parameter(HD_F64, SHAPE(rows + 2 * kv_rows)),
                                  parameter(HD_F64, SHAPE(E, rows)),
                                  parameter(HD_F64, SHAPE(E)),
                                  c->norm ? parameter(HD_F64, SHAPE(HEAD)) : NULL,
                                  c->norm == HD_NORM_LAYER ? parameter(HD_F64, SHAPE(HEAD)) : NULL,
                                  c->norm ? parameter(HD_F64, SHAPE(HEAD)) : NULL,
                                  NULL};
    memcpy(in, all, sizeof all);
}

static hd_mha_params wide_of(hd_tensor *const *in, const mha_case *c) {
    hd_mha_params p = {.in_proj_bias = in[MHA_IN_BIAS], .out_proj = {in[MHA_OUT], in[MHA_OUT + 1]}};
    if (c->apart)
        p.q_proj_weight = in[MHA_IN], p.k_proj_weight = in[MHA_IN + 1], p.v_proj_weight = in[MHA_IN + 2];
    else
        p.in_proj_weight = in[MHA_IN];
    p.num_heads = WIDE_HEADS, p.num_kv_heads = KV_HEADS;
    p.scale = 0.7, p.softcap = 2, p.dropout = 0.2;
    p.q_norm = (hd_norm_params){c->norm, in[MHA_NORMS], in[MHA_NORMS + 1], 1e-5, false};
    p.k_norm = (hd_norm_params){c->norm, in[MHA_NORMS + 2], in[MHA_NORMS + 3], 1e-5, true};
    return p;
}

static hd_mha_options wide_options(const mha_case *c) {
    return (hd_mha_options){.rotary = {c->cos, c->sin, c->interleaved}};
}

static hd_tensor *wide_mha(hd_tensor *const *in, const void *arg) {
    const mha_case *c = arg;
    const hd_mha_params p = wide_of(in, c);
    const hd_mha_options o = wide_options(c);
    hd_tensor *out = NULL;
    return hd_multi_head_attention(cx, &p, in[MHA_QUERY], in[MHA_KEY], in[MHA_VALUE], &o, &out, NULL) ? NULL
                                                                                                      : out;
}

/* Tables of `rows` positions and 2 pairs. They need not be of one angle. */
static void add_tables(mha_case *c, int64_t rows) {
    c->cos = random_tensor(HD_F64, SHAPE(rows, 2));
    c->sin = random_tensor(HD_F64, SHAPE(rows, 2));
}

static void drop_tables(mha_case *c) {
    hd_release(c->cos);
    hd_release(c->sin);
    c->cos = c->sin = NULL;
}

static void test_wide_attention_gradients(void) {
    for (int form = 0; form < 12; form++) {
        mha_case c = {.apart = form & 1, .of_memory = form & 1 || form & 2, .interleaved = form & 4};
        c.norm = (hd_norm_kind)(form % 3);
        hd_tensor *in[MHA_INPUTS];
        wide_inputs(in, &c, 3, 5);
        if (form & 4 || form & 8) add_tables(&c, 6);
        check_gradients("attention of everything", wide_mha, MHA_INPUTS, in, &c);
        drop_tables(&c);
        release_inputs(MHA_INPUTS, in);
    }
}

/* A layer of Llama: gated, with root mean squares for norms. */
enum { LLAMA_FFN = MHA_INPUTS, LLAMA_NORMS = LLAMA_FFN + 3, LLAMA_INPUTS = LLAMA_NORMS + 2 };

static hd_tensor *llama_layer(hd_tensor *const *in, const void *arg) {
    const mha_case *c = arg;
    const hd_transformer_layer_params p = {.self_attn = wide_of(in, c),
                                           .ffn = {.linear1 = {in[LLAMA_FFN], NULL},
                                                   .linear2 = {in[LLAMA_FFN + 1], NULL},
                                                   .linear3 = {in[LLAMA_FFN + 2], NULL},
                                                   .activation = c->activation,
                                                   .dropout = 0.2},
                                           .norm1 = {HD_NORM_RMS, in[LLAMA_NORMS], NULL, 1e-6, false},
                                           .norm2 = {HD_NORM_RMS, in[LLAMA_NORMS + 1], NULL, 1e-6, true},
                                           .norm_first = true,
                                           .dropout = 0.1};
    const hd_mha_options o = wide_options(c);
    return hd_encoder_layer(cx, &p, in[MHA_QUERY], &o);
}

static void test_llama_layer_gradients(void) {
    const hd_activation activations[] = {HD_ACT_SILU, HD_ACT_GELU, HD_ACT_GELU_TANH};
    for (int i = 0; i < 3; i++) {
        mha_case c = {.norm = HD_NORM_RMS, .activation = activations[i]};
        hd_tensor *in[LLAMA_INPUTS];
        wide_inputs(in, &c, 4, 0);
        add_tables(&c, 4);
        in[LLAMA_FFN] = parameter(HD_F64, SHAPE(F, E));
        in[LLAMA_FFN + 1] = parameter(HD_F64, SHAPE(E, F));
        in[LLAMA_FFN + 2] = parameter(HD_F64, SHAPE(F, E));
        in[LLAMA_NORMS] = parameter(HD_F64, SHAPE(E));
        in[LLAMA_NORMS + 1] = parameter(HD_F64, SHAPE(E));
        check_gradients("llama layer", llama_layer, LLAMA_INPUTS, in, &c);
        drop_tables(&c);
        release_inputs(LLAMA_INPUTS, in);
    }
}

/* ---- a cache: token after token, and a memory -------------------------------------------------------- */

enum { TOKENS = 5 };

static hd_tensor *rows(hd_tensor *t, int dim, int64_t first, int64_t count) {
    hd_tensor *part = t ? hd_narrow(cx, t, dim, first, count, 1) : NULL;
    CHECK(part || !t);
    return part;
}

/* One token after the other over what is kept: the last sees all, as it does in the whole. */
static void test_cache_of_tokens(void) {
    for (int form = 0; form < 4; form++) {
        mha_case c = {.norm = form & 1 ? HD_NORM_RMS : HD_NORM_NONE};
        hd_tensor *in[MHA_INPUTS];
        wide_inputs(in, &c, TOKENS, 0);
        if (form & 2) add_tables(&c, TOKENS);
        hd_mha_params p = wide_of(in, &c);
        p.dropout = 0;
        hd_mha_options o = wide_options(&c);
        hd_tensor *whole = NULL, *last = NULL;
        CHECK(!hd_multi_head_attention(cx, &p, in[MHA_QUERY], NULL, NULL, &o, &whole, NULL));
        hd_kv_cache kv = {.k = hd_tensor_zeros(cx, HD_F64, SHAPE(2, TOKENS + 1, KV_HEADS, HEAD)),
                          .v = hd_tensor_zeros(cx, HD_F64, SHAPE(2, TOKENS + 1, KV_HEADS, HEAD))};
        cx->grad_enabled = false;
        for (int i = 0; i < TOKENS; i++) {
            hd_tensor *x = rows(in[MHA_QUERY], 1, i, 1), *cos = rows(c.cos, 0, i, 1),
                      *sin = rows(c.sin, 0, i, 1);
            kv.before = i, kv.length = i + 1;
            hd_mha_options step = {.rotary = {cos, sin, false}, .kv_cache = &kv};
            hd_release(last);
            last = NULL;
            CHECK(!hd_multi_head_attention(cx, &p, x, NULL, NULL, &step, &last, NULL));
            hd_tensor *made[] = {x, cos, sin};
            release_inputs(3, made);
        }
        cx->grad_enabled = true;
        for (int b = 0; b < 2; b++)
            for (int i = 0; i < E; i++)
                CHECK(is_near(get(last, b * E + i), get(whole, (b * TOKENS + TOKENS - 1) * E + i), 1e-12));
        o.kv_cache = &kv;
        hd_tensor *refused = NULL;
        CHECK(hd_multi_head_attention(cx, &p, in[MHA_QUERY], NULL, NULL, &o, &refused, NULL) == HD_EARG &&
              strstr(cx->error.message, "cache: expected a call under heed.no_grad"));
        hd_tensor *made[] = {whole, last, kv.k, kv.v};
        release_inputs(4, made);
        drop_tables(&c);
        release_inputs(MHA_INPUTS, in);
    }
}

static void test_cache_of_memory(void) {
    mha_case c = {.apart = true, .of_memory = true, .norm = HD_NORM_LAYER};
    hd_tensor *in[MHA_INPUTS], *heads[3], *want = NULL, *got = NULL;
    wide_inputs(in, &c, 3, TOKENS);
    hd_mha_params p = wide_of(in, &c);
    p.dropout = 0;
    cx->grad_enabled = false;
    CHECK(!hd_multi_head_attention(cx, &p, in[MHA_QUERY], in[MHA_KEY], in[MHA_VALUE], NULL, &want, NULL));
    CHECK(!hd_mha_project(cx, &p, NULL, in[MHA_KEY], in[MHA_VALUE], heads) && !heads[0]);
    hd_kv_cache kv = {.k = hd_layer_norm(cx, heads[1], p.k_norm.weight, p.k_norm.bias, p.k_norm.eps),
                      .v = heads[2],
                      .length = TOKENS,
                      .of_memory = true};
    hd_mha_options o = {.kv_cache = &kv};
    CHECK(!hd_multi_head_attention(cx, &p, in[MHA_QUERY], NULL, NULL, &o, &got, NULL));
    for (int64_t i = 0; i < hd_numel(want); i++) CHECK(is_near(get(got, i), get(want, i), 1e-12));
    cx->grad_enabled = true;
    hd_tensor *made[] = {want, got, kv.k, heads[1], heads[2]};
    release_inputs(5, made);
    release_inputs(MHA_INPUTS, in);
}

static void refuses(const hd_mha_params *p, hd_tensor *x, const char *text) {
    hd_tensor *out = NULL;
    CHECK(hd_multi_head_attention(cx, p, x, NULL, NULL, NULL, &out, NULL) == HD_EARG && !out);
    if (!strstr(cx->error.message, text)) printf("%s\n", cx->error.message);
    CHECK(strstr(cx->error.message, text) != NULL);
}

static void test_misuse_of_attention(void) {
    mha_case c = {0};
    hd_tensor *in[MHA_INPUTS], *x;
    wide_inputs(in, &c, 3, 0);
    x = in[MHA_QUERY];
    hd_mha_params p = wide_of(in, &c), q = p;
    q.num_kv_heads = 3;
    refuses(&q, x, "num_kv_heads: expected a divisor of num_heads (4), got 3");
    q = p, q.num_heads = 0;
    refuses(&q, x, "num_heads: expected at least 1, got 0");
    q = p, q.num_heads = q.num_kv_heads = 5;
    refuses(&q, x, "in_proj_weight: expected [(H + 2 Hk) D, E] of 15 heads, got [32, 8]");
    q = p, q.in_proj_bias = in[MHA_OUT + 1];
    refuses(&q, x, "in_proj_bias: expected [32], got [8]");
    q = p, q.out_proj.weight = in[MHA_IN];
    refuses(&q, x, "out_proj.weight: expected [E, 16], got [32, 8]");
    q = p, q.in_proj_weight = NULL;
    refuses(&q, x, "q_proj_weight: expected [H D, E], got none");
    q.q_proj_weight = in[MHA_IN];
    refuses(&q, x, "k_proj_weight: expected [16, features], got none");
    refuses(&p, in[MHA_OUT + 1], "query: expected [B, L, 8] or [L, 8], got [8]");
    release_inputs(MHA_INPUTS, in);
}

/* ---- memory ------------------------------------------------------------------------------------------ */

static void test_failing_allocations(void) {
    mha_case c = {.norm = HD_NORM_LAYER, .apart = true, .of_memory = true};
    hd_tensor *in[MHA_INPUTS];
    wide_inputs(in, &c, 3, 5);
    add_tables(&c, 5);
    hd_tensor *g = random_tensor(HD_F64, SHAPE(2, 3, E));
    int64_t live = cx->account->live;
    for (int64_t n = 1, done = 0; !done; n++) {
        CHECK(n < 2000);
        cx->account->fail_at = n;
        hd_tensor *y = wide_mha(in, &c);
        hd_status status = y ? hd_backward_run(cx, y, g, false) : cx->error.status;
        done = cx->account->fail_at > 0;
        cx->account->fail_at = 0;
        CHECK(done ? status == HD_OK : status == HD_ENOMEM);
        hd_release(y);
        for (int i = 0; i < MHA_INPUTS; i++)
            if (in[i]) clear_grad(in[i]);
        CHECK(cx->account->live == live);
    }
    hd_release(g);
    drop_tables(&c);
    release_inputs(MHA_INPUTS, in);
}

int main(void) {
    cx = new_context(2);
    test_wide_attention_gradients();
    test_llama_layer_gradients();
    test_cache_of_tokens();
    test_cache_of_memory();
    test_misuse_of_attention();
    test_failing_allocations();
    CHECK(cx->account->live == 0);
    free_context(cx);
    return checks_done();
}
