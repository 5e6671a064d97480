/* A tensor taken apart: split, chunk, unbind give lists of views; narrow and select one. */
#include "lua/runtime/check.h"

static int dim_of_part(hd_call *c, const hd_tensor *t) {
    int dim = hd_arg_dim(c, 2, "dim", t->ndim);
    if (t->ndim == 0) hd_arg_error(c, "t", "a tensor without dimensions has no parts");
    return dim;
}

static int narrow(lua_State *L) {
    hd_call c = hd_enter(L, "narrow");
    hd_no_more(&c, 4);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    int dim = dim_of_part(&c, t);
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
    hd_no_more(&c, 3);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    int dim = dim_of_part(&c, t);
    return hd_return(&c, hd_select(c.cx, t, dim, hd_arg_position(&c, 3, "index", t->shape[dim])));
}

/* ---- lists --------------------------------------------------------------------------------- */

/* What a list needs before anything is made below: the collector owns all of it. */
typedef struct list {
    int table;         /* index of the table, filled with empty userdata */
    hd_tensor **parts; /* count of them, NULL */
    int64_t count;
} list;

/* Each part is a userdata and a header; of an expanded tensor there may be more than memory holds. */
enum { MOST_PARTS = 1 << 24 };
static void check_count(hd_call *c, int64_t count) {
    if (count > MOST_PARTS)
        hd_arg_error(c, "t", "expected at most %d parts, got %lld", MOST_PARTS, (long long)count);
}

static list new_list(hd_call *c, int64_t count) {
    lua_State *L = c->L;
    list l = {.count = count};
    luaL_checkstack(L, 8, NULL);
    check_count(c, count);
    l.parts = lua_newuserdatauv(L, sizeof *l.parts * (size_t)(count + 1), 0);
    for (int64_t i = 0; i < count; i++) l.parts[i] = NULL;
    lua_createtable(L, (int)count, 0);
    l.table = lua_gettop(L);
    for (int64_t i = 1; i <= count; i++) {
        hd_push_handle(c);
        lua_rawseti(L, l.table, i);
    }
    hd_set_modes(c);
    return l;
}

/* Hands the parts over, all of them before anything may raise; returns the table. */
static int return_list(hd_call *c, const list *l, hd_status status) {
    lua_State *L = c->L;
    hd_try(c, status);
    for (int64_t i = 0; i < l->count; i++) {
        lua_rawgeti(L, l->table, i + 1);
        ((hd_handle *)lua_touserdata(L, -1))->t = l->parts[i];
        lua_pop(L, 1);
    }
    for (int64_t i = 0; i < l->count && c->h->live_functions; i++) {
        lua_rawgeti(L, l->table, i + 1);
        hd_anchor_result(c, lua_gettop(L));
        lua_pop(L, 1);
    }
    lua_settop(L, l->table);
    return 1;
}

/* Memory for the sizes, that the collector owns. */
static int64_t *new_sizes(hd_call *c, int64_t count) {
    check_count(c, count);
    return lua_newuserdatauv(c->L, sizeof(int64_t) * (size_t)(count + 1), 0);
}

static int return_split(hd_call *c, int dim, int64_t count, const int64_t *sizes) {
    list l = new_list(c, count);
    return return_list(c, &l, hd_split(c->cx, hd_arg_tensor(c, 1, "t"), dim, count, sizes, l.parts));
}

/* Parts of `size`, the last may be smaller; of an empty dimension one, empty. */
static int split_evenly(hd_call *c, int dim, int64_t total, int64_t size) {
    int64_t count = total > 0 ? (total - 1) / size + 1 : 1;
    int64_t *sizes = new_sizes(c, count);
    for (int64_t i = 0; i < count; i++) sizes[i] = total - i * size < size ? total - i * size : size;
    return return_split(c, dim, count, sizes);
}

static int split_by(hd_call *c, int dim, int64_t total) {
    lua_State *L = c->L;
    hd_check_list(c, 2, "sizes");
    int64_t sum = 0, count = (int64_t)lua_rawlen(L, 2), *sizes = new_sizes(c, count);
    for (int64_t i = 0; i < count; i++) {
        lua_rawgeti(L, 2, i + 1);
        sizes[i] = hd_integer_at(c, -1, "sizes");
        lua_pop(L, 1);
        if (sizes[i] < 0 || sizes[i] > total - sum)
            hd_arg_error(c, "sizes", "expected sizes that add up to %lld, got %lld at position %lld",
                         (long long)total, (long long)sizes[i], (long long)i + 1);
        sum += sizes[i];
    }
    if (sum != total)
        hd_arg_error(c, "sizes", "expected sizes that add up to %lld, they give %lld", (long long)total,
                     (long long)sum);
    return return_split(c, dim, count, sizes);
}

static int dim_to_cut(hd_call *c, int index, const hd_tensor *t) {
    if (t->ndim == 0) hd_arg_error(c, "t", "a tensor without dimensions cannot be taken apart");
    return hd_opt_dim(c, index, "dim", t->ndim, 0);
}

/* split(size or list of sizes, dim = 1) */
static int split(lua_State *L) {
    hd_call c = hd_begin(L, "split");
    hd_no_more(&c, 3);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    int dim = dim_to_cut(&c, 3, t);
    if (lua_type(L, 2) == LUA_TTABLE) return split_by(&c, dim, t->shape[dim]);
    int64_t size = hd_arg_integer(&c, 2, "size");
    if (size < 1) hd_arg_error(&c, "size", "expected 1 or more, got %lld", (long long)size);
    return split_evenly(&c, dim, t->shape[dim], size);
}

/* chunk(count, dim = 1): that many parts of one size, the last may be smaller or missing. */
static int chunk(lua_State *L) {
    hd_call c = hd_begin(L, "chunk");
    hd_no_more(&c, 3);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    int64_t count = hd_arg_integer(&c, 2, "count");
    int dim = dim_to_cut(&c, 3, t);
    if (count < 1) hd_arg_error(&c, "count", "expected 1 or more, got %lld", (long long)count);
    int64_t total = t->shape[dim], size = total / count + (total % count != 0);
    return split_evenly(&c, dim, total, size > 0 ? size : 1);
}

static int unbind(lua_State *L) {
    hd_call c = hd_begin(L, "unbind");
    hd_no_more(&c, 2);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    int dim = dim_to_cut(&c, 2, t);
    list l = new_list(&c, t->shape[dim]);
    return return_list(&c, &l, hd_unbind(c.cx, hd_arg_tensor(&c, 1, "t"), dim, l.parts));
}

static const hd_function functions[] = {
    {"narrow", narrow, HD_BOTH}, {"select", select_, HD_BOTH}, {"split", split, HD_BOTH},
    {"chunk", chunk, HD_BOTH},   {"unbind", unbind, HD_BOTH},  {NULL, NULL, 0},
};

void hd_register_split(hd_registrar *r) {
    hd_define(r, functions);
}
