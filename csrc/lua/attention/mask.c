/* Masks of attention, compiled: lua/heed/mask/program.lua makes them of its trees, and what attends takes
 * them as one argument. */
#include <string.h>

#include "lua/nn/nn.h"
#include "ops/attention/attention_mask.h"

/* A mask is a userdata that holds the part of hd_attention_options that says who is seen, and owns what is
 * in it. Its bias is user value 1, as Lua holds it: it is dropped when its scope ends, and may have anchors
 * (function.c). */
static hd_attention_options *mask_at(hd_call *c, int index) {
    return hd_to_type(c->L, c->h->mask_type, index);
}

static int collected(lua_State *L) {
    hd_attention_options *o = lua_touserdata(L, 1);
    hd_mask_release(o->mask);
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
    {"causal", HD_MASK_CAUSAL, 0, 0},   {"window", HD_MASK_WINDOW, 2, 0},
    {"prefix", HD_MASK_PREFIX, 1, 0},   {"prefixes", HD_MASK_PREFIX, 0, 1},
    {"lengths", HD_MASK_LENGTHS, 0, 1}, {"segments", HD_MASK_SEGMENTS, 0, 2},
    {"dilated", HD_MASK_DILATED, 1, 0}, {"dense", HD_MASK_DENSE, 0, 1},
    {"ends", HD_MASK_ENDS, 0, 1},       {"and", HD_MASK_AND, 0, 0},
    {"or", HD_MASK_OR, 0, 0},           {"not", HD_MASK_NOT, 0, 0},
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

/* The table on top of the stack as a step. */
static hd_mask_step step_on_top(hd_call *c) {
    if (lua_type(c->L, -1) != LUA_TTABLE) hd_arg_expected(c, -1, "steps", "tables");
    lua_rawgeti(c->L, -1, 1);
    const step_kind *kind = kind_of(c, -1);
    lua_pop(c->L, 1);
    hd_mask_step step = {.code = kind->code};
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

/* What a mask is made of: steps, or those of another mask with its starts and alibi. */
static void make(hd_call *c, hd_attention_options *o) {
    const hd_attention_options *other = hd_given(c, 1) ? mask_at(c, 1) : NULL;
    if (hd_given(c, 1) && !other) o->mask = program_of(c, 1);
    if (other && other->mask) o->mask = hd_mask_retain(other->mask);
    o->query_starts = retained(other ? other->query_starts : hd_opt_tensor(c, 3, "query_starts"));
    o->key_starts = retained(other ? other->key_starts : hd_opt_tensor(c, 4, "key_starts"));
    o->alibi = retained(other ? other->alibi : hd_opt_tensor(c, 5, "alibi"));
}

/* mask(steps, bias, query_starts, key_starts, alibi): all of them at once; each may be nil. A step
 * is { name, ... } as in step_kinds, in postfix order. mask(other, bias): another mask with a bias. */
static int mask(lua_State *L) {
    hd_call c = hd_begin(L, "mask");
    hd_attention_options *o = lua_newuserdatauv(L, sizeof *o, 1);
    int index = lua_gettop(L);
    memset(o, 0, sizeof *o);
    hd_push_uv(L, HD_UV_MASK);
    lua_setmetatable(L, index);
    make(&c, o);
    if (hd_given(&c, 2)) {
        if (!hd_to_handle(L, c.h, 2)) hd_arg_expected(&c, 2, "bias", "a tensor");
        lua_pushvalue(L, 2);
        lua_setiuservalue(L, index, 1);
    }
    return 1;
}

/* mask_bias(mask) -> its bias or nil */
static int mask_bias(lua_State *L) {
    hd_call c = hd_begin(L, "mask_bias");
    if (!hd_given(&c, 1) || !mask_at(&c, 1)) hd_arg_expected(&c, 1, "mask", "a mask of heed.core");
    lua_getiuservalue(L, 1, 1);
    return 1;
}

/* ---- as tensors -------------------------------------------------------------------------- */

/* mask_dense(mask, B, H, L, S, rows, dtype) -> bool [B, H, n, S], or nil when all is seen; with dtype, what
 * alibi adds to the same scores, [1, H, n, S] or, where rows have ends, [B, H, n, S]; or nil. rows: i64 [n], default all L. */
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
    if (!hd_given(&c, 7)) {
        if (o->mask || o->query_starts) return hd_return(&c, hd_mask_dense(c.cx, o, scores, rows));
    } else if (o->alibi) {
        hd_dtype dtype = hd_arg_dtype(&c, 7, "dtype") == HD_F64 ? HD_F64 : HD_F32;
        return hd_return(&c, hd_alibi_dense(c.cx, o, dtype, scores, rows));
    }
    lua_pushnil(L);
    return 1;
}

/* ---- as arguments ------------------------------------------------------------------------ */

void hd_read_mask(hd_call *c, int index, const char *argument, hd_attention_options *o) {
    if (!hd_given(c, index)) return;
    const hd_attention_options *given = mask_at(c, index);
    if (!given) hd_arg_expected(c, index, argument, "a mask of heed.core");
    o->mask = given->mask, o->alibi = given->alibi;
    o->query_starts = given->query_starts, o->key_starts = given->key_starts;
    lua_getiuservalue(c->L, index, 1);
    hd_handle *bias = hd_to_handle(c->L, c->h, -1);
    if (bias) o->bias = hd_tensor_of(c, bias, argument);
    lua_pop(c->L, 1);
}

static const hd_function functions[] = {
    {"mask", mask, HD_INTERNAL},
    {"mask_dense", mask_dense, HD_INTERNAL},
    {"mask_bias", mask_bias, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_mask(hd_registrar *r) {
    hd_define(r, functions);
    r->h->mask_type = hd_new_type(r, "heed.core.mask", HD_UV_MASK);
    hd_define_meta(r, lua_gettop(r->L), "__gc", collected, NULL);
    lua_pop(r->L, 1);
}
