/* Shapes: views where possible, joins, splits, gathers. */
#include <limits.h>

#include "lua/check.h"

/* ---- new sizes --------------------------------------------------------------------------- */

static int view(lua_State *L) {
    hd_call c = hd_enter(L, "view");
    hd_tensor *t = hd_arg_tensor(&c, 1, "self");
    hd_shape shape = hd_arg_shape(&c, 2, true);
    return hd_return(&c, hd_view(c.cx, t, shape.ndim, shape.size));
}

static int reshape(lua_State *L) {
    hd_call c = hd_enter(L, "reshape");
    hd_tensor *t = hd_arg_tensor(&c, 1, "self");
    hd_shape shape = hd_arg_shape(&c, 2, true);
    return hd_return(&c, hd_reshape(c.cx, t, shape.ndim, shape.size));
}

static int expand(lua_State *L) {
    hd_call c = hd_enter(L, "expand");
    hd_tensor *t = hd_arg_tensor(&c, 1, "self");
    hd_shape shape = hd_arg_shape(&c, 2, true);
    return hd_return(&c, hd_expand(c.cx, t, shape.ndim, shape.size));
}

/* flatten(first = 1, last = -1): these dimensions become one. */
static int flatten(lua_State *L) {
    hd_call c = hd_enter(L, "flatten");
    hd_tensor *t = hd_arg_tensor(&c, 1, "self");
    int first = hd_opt_dim(&c, 2, "first", t->ndim, 0),
        last = hd_opt_dim(&c, 3, "last", t->ndim, t->ndim - 1);
    if (t->ndim > 0 && first > last)
        hd_arg_error(&c, "last", "expected a dimension from %d on, got %d", first + 1, last + 1);
    hd_shape shape = {0};
    for (int i = 0; i < first; i++) shape.size[shape.ndim++] = t->shape[i];
    int64_t joined = 1;
    for (int i = first; i <= last; i++) joined *= t->shape[i];
    shape.size[shape.ndim++] = joined;
    for (int i = last + 1; i < t->ndim; i++) shape.size[shape.ndim++] = t->shape[i];
    return hd_return(&c, hd_reshape(c.cx, t, shape.ndim, shape.size));
}

static int squeeze(lua_State *L) {
    hd_call c = hd_enter(L, "squeeze");
    hd_tensor *t = hd_arg_tensor(&c, 1, "self");
    return hd_return_or_same(&c, 1, hd_squeeze(c.cx, t, hd_opt_dim(&c, 2, "dim", t->ndim, INT_MIN)));
}

static int unsqueeze(lua_State *L) {
    hd_call c = hd_enter(L, "unsqueeze");
    hd_tensor *t = hd_arg_tensor(&c, 1, "self");
    return hd_return(&c, hd_unsqueeze(c.cx, t, hd_arg_dim(&c, 2, "dim", t->ndim + 1)));
}

/* ---- order ------------------------------------------------------------------------------- */

static int transpose(lua_State *L) {
    hd_call c = hd_enter(L, "transpose");
    hd_tensor *t = hd_arg_tensor(&c, 1, "self");
    int d1 = hd_arg_dim(&c, 2, "d1", t->ndim), d2 = hd_arg_dim(&c, 3, "d2", t->ndim);
    return hd_return(&c, hd_transpose(c.cx, t, d1, d2));
}

static int t_(lua_State *L) {
    hd_call c = hd_enter(L, "t");
    hd_tensor *t = hd_arg_tensor(&c, 1, "self");
    char shape[HD_SHAPE_TEXT];
    if (t->ndim != 2)
        hd_arg_error(&c, "self", "expected 2 dimensions, got shape %s", hd_tensor_shape_text(t, shape));
    return hd_return(&c, hd_transpose(c.cx, t, 0, 1));
}

/* The dimensions at `first` on, as numbers or one list; each once. Returns how many. */
static int dim_list(hd_call *c, int first, int ndim, int order[HD_MAX_DIMS]) {
    lua_State *L = c->L;
    bool listed = hd_given(c, first) && lua_type(L, first) == LUA_TTABLE;
    int count = listed ? (int)lua_rawlen(L, first) : c->top - first + 1;
    uint32_t seen = 0;
    if (count > ndim) hd_arg_error(c, "dims", "expected at most %d dimensions, got %d", ndim, count);
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
    hd_tensor *t = hd_arg_tensor(&c, 1, "self");
    int order[HD_MAX_DIMS] = {0}, count = dim_list(&c, 2, t->ndim, order);
    if (count != t->ndim) hd_arg_error(&c, "dims", "expected all %d dimensions, got %d", t->ndim, count);
    return hd_return(&c, hd_permute(c.cx, t, order));
}

static int flip(lua_State *L) {
    hd_call c = hd_enter(L, "flip");
    hd_tensor *t = hd_arg_tensor(&c, 1, "self");
    int dims[HD_MAX_DIMS], count = dim_list(&c, 2, t->ndim, dims);
    uint32_t bits = 0;
    for (int i = 0; i < count; i++) bits |= 1u << dims[i];
    return hd_return(&c, hd_flip(c.cx, t, bits));
}

/* ---- parts ------------------------------------------------------------------------------- */

static int narrow(lua_State *L) {
    hd_call c = hd_enter(L, "narrow");
    hd_tensor *t = hd_arg_tensor(&c, 1, "self");
    int dim = hd_arg_dim(&c, 2, "dim", t->ndim);
    int64_t size = t->shape[dim], start = hd_arg_integer(&c, 3, "start"),
            length = hd_arg_integer(&c, 4, "length");
    if (start < 0) start += size + 1;
    if (start < 1 || length < 0 || start - 1 > size - length)
        hd_arg_error(&c, "start, length",
                     "expected a range within 1..%lld of dimension %d, got start %lld, length %lld",
                     (long long)size, dim + 1, (long long)start, (long long)length);
    return hd_return(&c, hd_narrow(c.cx, t, dim, start - 1, length, 1));
}

static int select_(lua_State *L) {
    hd_call c = hd_enter(L, "select");
    hd_tensor *t = hd_arg_tensor(&c, 1, "self");
    int dim = hd_arg_dim(&c, 2, "dim", t->ndim);
    return hd_return(&c, hd_select(c.cx, t, dim, hd_arg_position(&c, 3, "index", t->shape[dim])));
}

/* table[i] = the view of argument 1 from start on, length long, along dim. */
static void set_part(hd_call *c, int table, int dim, int64_t start, int64_t length, int64_t i) {
    hd_handle *part = hd_push_handle(c);
    hd_tensor *t = hd_arg_tensor(c, 1, "self");
    hd_settle(c, lua_gettop(c->L), part, hd_narrow(c->cx, t, dim, start, length, 1));
    lua_rawseti(c->L, table, i);
}

static int parts_of_size(hd_call *c, int dim, int64_t total, int64_t size) {
    lua_newtable(c->L);
    int table = lua_gettop(c->L);
    int64_t i = 0;
    for (int64_t start = 0; start < total || i == 0; start += size)
        set_part(c, table, dim, start, total - start < size ? total - start : size, ++i);
    return 1;
}

/* split(size or list of sizes, dim = 1) */
static int split(lua_State *L) {
    hd_call c = hd_begin(L, "split");
    hd_tensor *t = hd_arg_tensor(&c, 1, "self");
    int dim = hd_opt_dim(&c, 3, "dim", t->ndim, 0);
    if (t->ndim == 0) hd_arg_error(&c, "self", "a tensor without dimensions cannot be split");
    int64_t total = t->shape[dim];
    if (lua_type(L, 2) != LUA_TTABLE) {
        int64_t size = hd_arg_integer(&c, 2, "size");
        if (size < 1) hd_arg_error(&c, "size", "expected 1 or more, got %lld", (long long)size);
        return parts_of_size(&c, dim, total, size);
    }
    int64_t sum = 0, count = (int64_t)lua_rawlen(L, 2);
    lua_newtable(L);
    int table = lua_gettop(L);
    for (int64_t i = 1; i <= count; i++) {
        lua_rawgeti(L, 2, i);
        int64_t size = hd_integer_at(&c, -1, "sizes");
        lua_pop(L, 1);
        if (size < 0 || size > total - sum)
            hd_arg_error(&c, "sizes", "expected sizes that add up to %lld, got %lld at position %lld",
                         (long long)total, (long long)size, (long long)i);
        set_part(&c, table, dim, sum, size, i);
        sum += size;
    }
    if (sum != total)
        hd_arg_error(&c, "sizes", "expected sizes that add up to %lld, they give %lld", (long long)total,
                     (long long)sum);
    return 1;
}

/* chunk(count, dim = 1): that many parts of one size, the last may be smaller or missing. */
static int chunk(lua_State *L) {
    hd_call c = hd_begin(L, "chunk");
    hd_tensor *t = hd_arg_tensor(&c, 1, "self");
    int64_t count = hd_arg_integer(&c, 2, "count");
    int dim = hd_opt_dim(&c, 3, "dim", t->ndim, 0);
    if (t->ndim == 0) hd_arg_error(&c, "self", "a tensor without dimensions cannot be split");
    if (count < 1) hd_arg_error(&c, "count", "expected 1 or more, got %lld", (long long)count);
    int64_t total = t->shape[dim], size = total / count + (total % count != 0);
    return parts_of_size(&c, dim, total, size > 0 ? size : 1);
}

static int unbind(lua_State *L) {
    hd_call c = hd_begin(L, "unbind");
    hd_tensor *t = hd_arg_tensor(&c, 1, "self");
    int dim = hd_opt_dim(&c, 2, "dim", t->ndim, 0);
    if (t->ndim == 0) hd_arg_error(&c, "self", "a tensor without dimensions cannot be unbound");
    int64_t count = t->shape[dim];
    lua_newtable(L);
    int table = lua_gettop(L);
    for (int64_t i = 0; i < count; i++) {
        hd_handle *part = hd_push_handle(&c);
        hd_settle(&c, lua_gettop(L), part, hd_select(c.cx, hd_arg_tensor(&c, 1, "self"), dim, i));
        lua_rawseti(L, table, i + 1);
    }
    return 1;
}

/* ---- joins ------------------------------------------------------------------------------- */

static int cat(lua_State *L) {
    hd_call c = hd_enter(L, "cat");
    int count;
    hd_tensor **parts = hd_arg_tensors(&c, 1, "tensors", &count);
    if (count == 0) hd_arg_error(&c, "tensors", "expected at least one tensor, got an empty list");
    return hd_return(&c, hd_cat(c.cx, count, parts, hd_opt_dim(&c, 2, "dim", parts[0]->ndim, 0)));
}

static int stack(lua_State *L) {
    hd_call c = hd_enter(L, "stack");
    int count;
    hd_tensor **parts = hd_arg_tensors(&c, 1, "tensors", &count);
    if (count == 0) hd_arg_error(&c, "tensors", "expected at least one tensor, got an empty list");
    return hd_return(&c, hd_stack(c.cx, count, parts, hd_opt_dim(&c, 2, "dim", parts[0]->ndim + 1, 0)));
}

/* ---- by index tensors -------------------------------------------------------------------- */

static int gather(lua_State *L) {
    hd_call c = hd_enter(L, "gather");
    hd_tensor *index = hd_arg_ids(&c, 3, "index"), *t = hd_arg_tensor(&c, 1, "self");
    return hd_return(&c, hd_gather(c.cx, t, hd_arg_dim(&c, 2, "dim", t->ndim), index));
}

static int index_select(lua_State *L) {
    hd_call c = hd_enter(L, "index_select");
    hd_tensor *index = hd_arg_ids(&c, 3, "index"), *t = hd_arg_tensor(&c, 1, "self");
    return hd_return(&c, hd_index_select(c.cx, t, hd_arg_dim(&c, 2, "dim", t->ndim), index));
}

static int one_hot(lua_State *L) {
    hd_call c = hd_enter(L, "one_hot");
    hd_tensor *index = hd_arg_ids(&c, 1, "self");
    int64_t classes = hd_arg_integer(&c, 2, "classes");
    if (classes < 1) hd_arg_error(&c, "classes", "expected 1 or more, got %lld", (long long)classes);
    return hd_return(&c, hd_one_hot(c.cx, index, classes));
}

/* ---- copies ------------------------------------------------------------------------------ */

static int contiguous(lua_State *L) {
    hd_call c = hd_enter(L, "contiguous");
    return hd_return_or_same(&c, 1, hd_contiguous(c.cx, hd_arg_tensor(&c, 1, "self")));
}

static int clone(lua_State *L) {
    hd_call c = hd_enter(L, "clone");
    return hd_return(&c, hd_clone(c.cx, hd_arg_tensor(&c, 1, "self")));
}

/* to(dtype) or to{dtype = } */
static int to(lua_State *L) {
    hd_call c = hd_enter(L, "to");
    hd_take_options(&c, "dtype");
    hd_dtype dtype = hd_arg_dtype(&c, hd_or_option(&c, 2, "dtype"), "dtype");
    return hd_return_or_same(&c, 1, hd_cast(c.cx, hd_arg_tensor(&c, 1, "self"), dtype));
}

static const hd_function functions[] = {
    {"view", view, HD_BOTH},
    {"reshape", reshape, HD_BOTH},
    {"expand", expand, HD_BOTH},
    {"flatten", flatten, HD_BOTH},
    {"squeeze", squeeze, HD_BOTH},
    {"unsqueeze", unsqueeze, HD_BOTH},
    {"transpose", transpose, HD_BOTH},
    {"t", t_, HD_BOTH},
    {"permute", permute, HD_BOTH},
    {"flip", flip, HD_BOTH},
    {"narrow", narrow, HD_BOTH},
    {"select", select_, HD_BOTH},
    {"split", split, HD_BOTH},
    {"chunk", chunk, HD_BOTH},
    {"unbind", unbind, HD_BOTH},
    {"cat", cat, HD_MODULE},
    {"stack", stack, HD_MODULE},
    {"gather", gather, HD_BOTH},
    {"index_select", index_select, HD_BOTH},
    {"one_hot", one_hot, HD_BOTH},
    {"contiguous", contiguous, HD_BOTH},
    {"clone", clone, HD_BOTH},
    {"to", to, HD_BOTH},
    {NULL, NULL, 0},
};

void hd_register_shape(hd_registrar *r) {
    hd_define(r, functions);
}
