/* Masks of attention, compiled: lua/heed/masks.lua makes them of its expressions, and what attends takes them as one argument.
 */
#include <string.h>

#include "lua/nn/nn.h"
#include "ops/attention/attention_mask.h"

/* A mask is a userdata that holds the part of hd_attention_options that says who is seen, without a bias, and owns
 * what is in it. */
static hd_attention_options *mask_at(hd_call *c, int index) {
    return hd_to_type(c->L, c->h->mask_type, index);
}

static int collected(lua_State *L) {
    hd_attention_options *o = lua_touserdata(L, 1);
    hd_mask_release(o->sight);
    hd_release(o->key_lengths);
    hd_release(o->alibi);
    hd_release(o->query_starts);
    hd_release(o->key_starts);
    memset(o, 0, sizeof *o);
    return 0;
}

/* ---- making ------------------------------------------------------------------------------ */

typedef struct step_kind {
    const char *name;
    hd_mask_code code;
    int numbers, tensors; /* that follow the name: { "window", left, right } */
} step_kind;

static const step_kind step_kinds[] = {
    {"causal", HD_MASK_CAUSAL, 0, 0},     {"window", HD_MASK_WINDOW, 2, 0},
    {"prefix", HD_MASK_PREFIX, 1, 0},     {"lengths", HD_MASK_LENGTHS, 0, 1},
    {"segments", HD_MASK_SEGMENTS, 0, 2}, {"dense", HD_MASK_DENSE, 0, 1},
    {"and", HD_MASK_AND, 0, 0},           {"or", HD_MASK_OR, 0, 0},
    {"not", HD_MASK_NOT, 0, 0},
};

static const step_kind *kind_of(hd_call *c, int index) {
    const char *name = lua_type(c->L, index) == LUA_TSTRING ? lua_tostring(c->L, index) : "";
    for (size_t i = 0; i < sizeof step_kinds / sizeof *step_kinds; i++)
        if (strcmp(name, step_kinds[i].name) == 0) return &step_kinds[i];
    hd_arg_expected(c, index, "steps", "the name of a step");
    return NULL;
}

/* Field i of the step on top of the stack; what it holds is kept by the step. */
static hd_tensor *tensor_field(hd_call *c, int i) {
    lua_rawgeti(c->L, -1, i);
    hd_handle *handle = hd_to_handle(c->L, c->h, -1);
    if (!handle || !handle->t) hd_arg_expected(c, -1, "steps", "a tensor");
    lua_pop(c->L, 1);
    return handle->t;
}

static int64_t integer_field(hd_call *c, int i) {
    lua_rawgeti(c->L, -1, i);
    int64_t value = hd_integer_at(c, -1, "steps");
    lua_pop(c->L, 1);
    return value;
}

/* The table on top of the stack as a step. CAUSAL and WINDOW count within packed sequences. */
static hd_mask_step step_on_top(hd_call *c) {
    if (lua_type(c->L, -1) != LUA_TTABLE) hd_arg_expected(c, -1, "steps", "tables");
    lua_rawgeti(c->L, -1, 1);
    const step_kind *kind = kind_of(c, -1);
    lua_pop(c->L, 1);
    hd_mask_step step = {.code = kind->code, .within = true};
    if (kind->numbers > 0) step.left = integer_field(c, 2);
    if (kind->numbers > 1) step.right = integer_field(c, 3);
    if (kind->tensors > 0) step.tensor = tensor_field(c, 2);
    if (kind->tensors > 1) step.keys = tensor_field(c, 3);
    return step;
}

static hd_mask *program_of(hd_call *c, int index) {
    lua_State *L = c->L;
    hd_mask_step steps[HD_MASK_STEPS];
    lua_Integer count = lua_type(L, index) == LUA_TTABLE ? (lua_Integer)lua_rawlen(L, index) : 0;
    if (count < 1 || count > HD_MASK_STEPS)
        hd_arg_error(c, "steps", "expected 1 to %d, got %lld", HD_MASK_STEPS, (long long)count);
    luaL_checkstack(L, 8, NULL);
    for (lua_Integer i = 0; i < count; i++) {
        lua_rawgeti(L, index, i + 1);
        steps[i] = step_on_top(c);
        lua_pop(L, 1);
    }
    hd_mask *made = hd_mask_new(c->cx, (int)count, steps);
    if (!made) hd_raise(c);
    return made;
}

static hd_tensor *retained(hd_tensor *t) {
    return t ? hd_retain(t) : NULL;
}

/* mask(steps, causal, key_lengths, query_starts, key_starts, alibi, aligned): all of them at once; each may be nil. A step is
 * { name, ... } as in step_kinds, in postfix order. */
static int mask(lua_State *L) {
    hd_call c = hd_begin(L, "mask");
    hd_attention_options *o = lua_newuserdatauv(L, sizeof *o, 0);
    memset(o, 0, sizeof *o);
    hd_push_uv(L, HD_UV_MASK);
    lua_setmetatable(L, -2);
    if (hd_given(&c, 1)) o->sight = program_of(&c, 1);
    o->causal = hd_opt_boolean(&c, 2, "causal", false);
    o->key_lengths = retained(hd_opt_tensor(&c, 3, "key_lengths"));
    o->query_starts = retained(hd_opt_tensor(&c, 4, "query_starts"));
    o->key_starts = retained(hd_opt_tensor(&c, 5, "key_starts"));
    o->alibi = retained(hd_opt_tensor(&c, 6, "alibi"));
    o->aligned = hd_opt_boolean(&c, 7, "aligned", false);
    return 1;
}

/* ---- as tensors -------------------------------------------------------------------------- */

/* mask_dense(mask, B, H, L, S, rows, dtype) -> bool [B, H, n, S]; with dtype, what alibi adds to the same scores, [1, H, n, S], or
 * nil. rows: i64 [n], default all L. */
static int mask_dense(lua_State *L) {
    hd_call c = hd_enter(L, "mask_dense");
    const hd_attention_options *o = mask_at(&c, 1);
    int64_t scores[4];
    if (!o) hd_arg_expected(&c, 1, "mask", "a mask of heed.core");
    for (int i = 0; i < 4; i++) {
        scores[i] = hd_arg_integer(&c, 2 + i, "scores");
        if (scores[i] < 0) hd_arg_error(&c, "scores", "expected 0 or more, got %lld", (long long)scores[i]);
    }
    hd_tensor *rows = hd_opt_tensor(&c, 6, "rows");
    if (!hd_given(&c, 7)) return hd_return(&c, hd_mask_dense(c.cx, o, scores, rows));
    hd_dtype dtype = hd_arg_dtype(&c, 7, "dtype");
    if (o->alibi)
        return hd_return(&c, hd_alibi_dense(c.cx, o, dtype == HD_F64 ? HD_F64 : HD_F32, scores, rows));
    lua_pushnil(L);
    return 1;
}

/* ---- as arguments ------------------------------------------------------------------------ */

/* [B, L, S] to [B, 1, L, S], in a userdata that is pushed. */
static hd_tensor *for_all_heads(hd_call *c, hd_tensor *bias) {
    if (!bias || bias->ndim != 3) return bias;
    hd_handle *made = hd_push_handle(c);
    made->t = hd_unsqueeze(c->cx, bias, 1);
    if (!made->t) hd_raise(c);
    if (c->h->live_functions) hd_anchor_result(c, lua_gettop(c->L));
    return made->t;
}

void hd_read_mask(hd_call *c, int index, bool of_memory, hd_attention_options *o) {
    if (hd_given(c, index)) {
        const hd_attention_options *seen = mask_at(c, index);
        if (!seen) hd_arg_expected(c, index, of_memory ? "memory_mask" : "mask", "a mask of heed.core");
        o->sight = seen->sight, o->causal = seen->causal, o->key_lengths = seen->key_lengths;
        o->aligned = seen->aligned;
        o->query_starts = seen->query_starts, o->key_starts = seen->key_starts, o->alibi = seen->alibi;
    }
    o->bias = for_all_heads(c, hd_opt_tensor(c, index + 1, of_memory ? "memory_bias" : "bias"));
}

static const hd_function functions[] = {
    {"mask", mask, HD_MODULE},
    {"mask_dense", mask_dense, HD_MODULE},
    {NULL, NULL, 0},
};

void hd_register_mask(hd_registrar *r) {
    hd_define(r, functions);
    r->h->mask_type = hd_new_type(r, "heed.core.mask", HD_UV_MASK);
    hd_define_meta(r, lua_gettop(r->L), "__gc", collected, NULL);
    lua_pop(r->L, 1);
}
