/* The same elements at other places: orders, repetitions, more of them at the ends. */
#include <string.h>

#include "lua/runtime/check.h"

static int transpose(lua_State *L) {
    hd_call c = hd_enter(L, "transpose");
    hd_no_more(&c, 3);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    int d1 = hd_arg_dim(&c, 2, "d1", t->ndim), d2 = hd_arg_dim(&c, 3, "d2", t->ndim);
    return hd_return(&c, hd_transpose(c.cx, t, d1, d2));
}

static int t_(lua_State *L) {
    hd_call c = hd_enter(L, "t");
    hd_no_more(&c, 1);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    char shape[HD_SHAPE_TEXT];
    if (t->ndim != 2)
        hd_arg_error(&c, "t", "expected 2 dimensions, got shape %s", hd_tensor_shape_text(t, shape));
    return hd_return(&c, hd_transpose(c.cx, t, 0, 1));
}

/* Integers at `first` on, to the last argument, or one list of them: into values, at most HD_MAX_DIMS. */
static int integers_from(hd_call *c, int first, const char *argument, int64_t *values, int most) {
    lua_State *L = c->L;
    bool listed = hd_given(c, first) && lua_type(L, first) == LUA_TTABLE;
    if (listed) {
        hd_no_more(c, first);
        hd_check_list(c, first, argument);
    }
    lua_Integer count = listed ? (lua_Integer)lua_rawlen(L, first) : c->top - first + 1;
    if (count > most) hd_arg_error(c, argument, "expected at most %d, got %lld", most, (long long)count);
    for (int i = 0; i < count; i++) {
        if (listed)
            lua_rawgeti(L, first, i + 1);
        else
            lua_pushvalue(L, first + i);
        values[i] = hd_integer_at(c, -1, argument);
        lua_pop(L, 1);
    }
    return count > 0 ? (int)count : 0;
}

/* The dimensions at `first` on, as numbers or one list; each once. Returns how many. */
static int dim_list(hd_call *c, int first, int ndim, int order[HD_MAX_DIMS]) {
    lua_State *L = c->L;
    bool listed = hd_given(c, first) && lua_type(L, first) == LUA_TTABLE;
    if (listed) hd_no_more(c, first);
    int count = listed ? hd_count(c, first, "dims") : c->top - first + 1;
    uint32_t seen = 0;
    if (count > (ndim ? ndim : 1))
        hd_arg_error(c, "dims", "expected at most %d dimensions, got %d", ndim, count);
    for (int i = 0; i < count; i++) {
        if (listed)
            lua_rawgeti(L, first, i + 1);
        else
            lua_pushvalue(L, first + i);
        order[i] = hd_dim_at(c, -1, "dims", ndim);
        lua_pop(L, 1);
        if (seen & 1u << order[i]) hd_arg_error(c, "dims", "dimension %d is named twice", order[i] + 1);
        seen |= 1u << order[i];
    }
    return count;
}

static int permute(lua_State *L) {
    hd_call c = hd_enter(L, "permute");
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    int order[HD_MAX_DIMS] = {0}, count = dim_list(&c, 2, t->ndim, order);
    if (count != t->ndim) hd_arg_error(&c, "dims", "expected all %d dimensions, got %d", t->ndim, count);
    return hd_return(&c, hd_permute(c.cx, t, order));
}

static int flip(lua_State *L) {
    hd_call c = hd_enter(L, "flip");
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    int dims[HD_MAX_DIMS], count = dim_list(&c, 2, t->ndim, dims);
    uint32_t bits = 0;
    for (int i = 0; i < count; i++) bits |= 1u << dims[i];
    return hd_return(&c, hd_flip(c.cx, t, bits));
}

/* diagonal(offset = 0, dim1 = 1, dim2 = 2) */
static int diagonal(lua_State *L) {
    hd_call c = hd_enter(L, "diagonal");
    hd_no_more(&c, 4);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    char shape[HD_SHAPE_TEXT];
    if (t->ndim < 2)
        hd_arg_error(&c, "t", "expected 2 dimensions or more, got shape %s", hd_tensor_shape_text(t, shape));
    int64_t offset = hd_opt_integer(&c, 2, "offset", 0);
    int dim1 = hd_opt_dim(&c, 3, "dim1", t->ndim, 0), dim2 = hd_opt_dim(&c, 4, "dim2", t->ndim, 1);
    return hd_return(&c, hd_diagonal(c.cx, t, offset, dim1, dim2));
}

/* ---- roll, tile ------------------------------------------------------------------------------ */

/* A number or a list at index, as a list. */
static int one_or_list(hd_call *c, int index, const char *argument, int64_t values[HD_MAX_DIMS]) {
    lua_State *L = c->L;
    if (!hd_given(c, index) || lua_type(L, index) != LUA_TTABLE) {
        values[0] = hd_arg_integer(c, index, argument);
        return 1;
    }
    hd_check_list(c, index, argument);
    lua_Integer count = (lua_Integer)lua_rawlen(L, index);
    if (count > HD_MAX_DIMS)
        hd_arg_error(c, argument, "expected at most %d, got %lld", HD_MAX_DIMS, (long long)count);
    for (lua_Integer i = 1; i <= count; i++) {
        lua_rawgeti(L, index, i);
        values[i - 1] = hd_integer_at(c, -1, argument);
        lua_pop(L, 1);
    }
    return (int)count;
}

/* All elements as one dimension, and back. */
static hd_tensor *roll_flat(hd_call *c, hd_tensor *t, int64_t shift) {
    int64_t all = hd_numel(t);
    hd_tensor *flat = hd_reshape(c->cx, t, 1, &all);
    hd_tensor *turned = flat ? hd_roll(c->cx, flat, &shift) : NULL;
    hd_tensor *y = turned ? hd_reshape(c->cx, turned, t->ndim, t->shape) : NULL;
    hd_release(turned);
    hd_release(flat);
    if (y && y->storage->refs == 1) y->is_view = false; /* nobody else has this memory */
    return y;
}

/* roll(shifts, dims): numbers, or lists of one length; without dims all elements as one row. */
static int roll(lua_State *L) {
    hd_call c = hd_enter(L, "roll");
    hd_no_more(&c, 3);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    int64_t shifts[HD_MAX_DIMS], dims[HD_MAX_DIMS], by[HD_MAX_DIMS] = {0};
    int count = one_or_list(&c, 2, "shifts", shifts);
    if (!hd_given(&c, 3)) {
        if (count != 1)
            hd_arg_error(&c, "dims", "expected a dimension for each of %d shifts, got nil", count);
        return hd_return(&c, roll_flat(&c, t, shifts[0]));
    }
    int named = one_or_list(&c, 3, "dims", dims);
    if (named != count)
        hd_arg_error(&c, "dims", "expected a dimension for each of %d shifts, got %d", count, named);
    for (int i = 0; i < count; i++) {
        int64_t d = dims[i];
        if (d == 0 || d > t->ndim || d < -t->ndim)
            hd_arg_error(&c, "dims", "expected a dimension 1..%d or -%d..-1, got %lld", t->ndim, t->ndim,
                         (long long)d);
        d = d > 0 ? d - 1 : d + t->ndim;
        if (t->shape[d] > 0) by[d] = (by[d] + shifts[i] % t->shape[d]) % t->shape[d];
    }
    return hd_return(&c, hd_roll(c.cx, t, by));
}

static int tile(lua_State *L) {
    hd_call c = hd_enter(L, "tile");
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    int64_t counts[HD_MAX_DIMS];
    if (c.top < 2) hd_arg_error(&c, "counts", "expected numbers or one table, got nil");
    int ndim = integers_from(&c, 2, "counts", counts, HD_MAX_DIMS);
    for (int i = 0; i < ndim; i++)
        if (counts[i] < 0)
            hd_arg_error(&c, "counts", "expected 0 or more, got %lld at position %d", (long long)counts[i],
                         i + 1);
    return hd_return(&c, hd_tile(c.cx, t, ndim, counts));
}

/* ---- pad ------------------------------------------------------------------------------------- */

static hd_pad_mode mode_of(hd_call *c) {
    static const char *const names[] = {"constant", "reflect", "replicate", "circular"};
    int index = hd_option(c, "mode");
    if (!index) return HD_PAD_CONSTANT;
    for (int i = 0; i < 4 && lua_type(c->L, index) == LUA_TSTRING; i++)
        if (strcmp(lua_tostring(c->L, index), names[i]) == 0) return (hd_pad_mode)i;
    hd_arg_expected(c, index, "mode", "\"constant\", \"reflect\", \"replicate\" or \"circular\"");
    return HD_PAD_CONSTANT;
}

/* pad(before, after of the last dimension, before, after of the one before it, ..., {mode=, value=}) */
static int pad(lua_State *L) {
    hd_call c = hd_enter(L, "pad");
    hd_take_options(&c, "mode value");
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    int64_t amounts[2 * HD_MAX_DIMS], before[HD_MAX_DIMS] = {0}, after[HD_MAX_DIMS] = {0};
    if (c.top < 2) hd_arg_error(&c, "amounts", "expected amounts as numbers or one table, got nil");
    int count = integers_from(&c, 2, "amounts", amounts, 2 * t->ndim);
    if (count % 2)
        hd_arg_error(&c, "amounts", "expected two amounts a dimension (before and after), got %d", count);
    for (int i = 0; i < count; i++) (i % 2 ? after : before)[t->ndim - 1 - i / 2] = amounts[i];
    hd_pad_mode mode = mode_of(&c);
    int value = hd_option(&c, "value");
    if (value && mode != HD_PAD_CONSTANT) hd_arg_error(&c, "value", "only the mode \"constant\" takes one");
    hd_scalar fill = value ? hd_arg_scalar(&c, value, "value") : hd_scalar_i(0);
    return hd_return(&c, hd_pad(c.cx, t, before, after, mode, fill));
}

static const hd_function functions[] = {
    {"transpose", transpose, HD_BOTH}, {"t", t_, HD_BOTH},      {"permute", permute, HD_BOTH},
    {"flip", flip, HD_BOTH},           {"roll", roll, HD_BOTH}, {"tile", tile, HD_BOTH},
    {"diagonal", diagonal, HD_BOTH},   {"pad", pad, HD_BOTH},   {NULL, NULL, 0},
};

void hd_register_arrange(hd_registrar *r) {
    hd_define(r, functions);
}
