/* Reading, adding and writing by index tensors, and what goes with them. */
#include <string.h>

#include "lua/runtime/check.h"

static int gather(lua_State *L) {
    hd_call c = hd_enter(L, "gather");
    hd_no_more(&c, 3);
    hd_tensor *index = hd_arg_ids(&c, 3, "index"), *t = hd_arg_tensor(&c, 1, "t");
    return hd_return(&c, hd_gather(c.cx, t, hd_arg_dim(&c, 2, "dim", t->ndim), index));
}

static int index_select(lua_State *L) {
    hd_call c = hd_enter(L, "index_select");
    hd_no_more(&c, 3);
    hd_tensor *index = hd_arg_ids(&c, 3, "index"), *t = hd_arg_tensor(&c, 1, "t");
    return hd_return(&c, hd_index_select(c.cx, t, hd_arg_dim(&c, 2, "dim", t->ndim), index));
}

static int masked_select(lua_State *L) {
    hd_call c = hd_enter(L, "masked_select");
    hd_no_more(&c, 2);
    return hd_return(&c, hd_masked_select(c.cx, hd_arg_tensor(&c, 1, "t"), hd_arg_tensor(&c, 2, "mask")));
}

static int one_hot(lua_State *L) {
    hd_call c = hd_enter(L, "one_hot");
    hd_no_more(&c, 2);
    hd_tensor *index = hd_arg_ids(&c, 1, "t");
    int64_t classes = hd_arg_integer(&c, 2, "classes");
    if (classes < 1) hd_arg_error(&c, "classes", "expected 1 or more, got %lld", (long long)classes);
    return hd_return(&c, hd_one_hot(c.cx, index, classes));
}

/* ---- adding: (dim, index, src), to a copy or in place ----------------------------------------- */

typedef struct adding {
    const char *name, *in_place;
    hd_tensor *(*add)(hd_ctx *cx, hd_tensor *x, int dim, hd_tensor *index, hd_tensor *src);
    hd_status (*add_)(hd_ctx *cx, hd_tensor *t, int dim, hd_tensor *index, hd_tensor *src);
} adding;

static const adding addings[] = {
    {"scatter_add", "scatter_add_", hd_scatter_add, hd_scatter_add_},
    {"index_add", "index_add_", hd_index_add, hd_index_add_},
};

static int add(lua_State *L) {
    const adding *a = hd_entry(L);
    hd_call c = hd_enter(L, a->name);
    hd_no_more(&c, 4);
    hd_tensor *index = hd_arg_ids(&c, 3, "index"), *t = hd_arg_tensor(&c, 1, "t");
    int dim = hd_arg_dim(&c, 2, "dim", t->ndim);
    return hd_return(&c, a->add(c.cx, t, dim, index, hd_arg_tensor(&c, 4, "src")));
}

static int add_in_place(lua_State *L) {
    const adding *a = hd_entry(L);
    hd_call c = hd_begin(L, a->in_place);
    hd_no_more(&c, 4);
    hd_tensor *index = hd_arg_ids(&c, 3, "index"), *t = hd_arg_tensor(&c, 1, "t");
    int dim = hd_arg_dim(&c, 2, "dim", t->ndim);
    return hd_return_self(&c, a->add_(c.cx, t, dim, index, hd_arg_tensor(&c, 4, "src")));
}

/* ---- writing: (dim, index, src), src a tensor, or a number for all ----------------------------- */

/* A number at 4 becomes a tensor of t's dtype, expanded to the index. */
static hd_tensor *arg_source(hd_call *c, const hd_tensor *t, const hd_tensor *index) {
    if (hd_to_handle(c->L, c->h, 4)) return hd_arg_tensor(c, 4, "src");
    if (!hd_is_number(c, 4) && lua_type(c->L, 4) != LUA_TBOOLEAN)
        hd_arg_expected(c, 4, "src", "a tensor, a number or a boolean");
    hd_handle *one = hd_push_handle(c), *wide = hd_push_handle(c);
    one->t = hd_tensor_new(c->cx, (hd_dtype)t->dtype, 0, NULL);
    if (!one->t) hd_raise(c);
    hd_store_element(c, 4, "src", (hd_dtype)t->dtype, hd_data(one->t), 0);
    wide->t = hd_expand(c->cx, one->t, index->ndim, index->shape);
    if (!wide->t) hd_raise(c);
    return wide->t;
}

static int scatter(lua_State *L) {
    hd_call c = hd_enter(L, "scatter");
    hd_no_more(&c, 4);
    hd_tensor *index = hd_arg_ids(&c, 3, "index"), *t = hd_arg_tensor(&c, 1, "t");
    int dim = hd_arg_dim(&c, 2, "dim", t->ndim);
    return hd_return(&c, hd_scatter(c.cx, t, dim, index, arg_source(&c, t, index)));
}

static int scatter_in_place(lua_State *L) {
    hd_call c = hd_begin(L, "scatter_");
    hd_no_more(&c, 4);
    hd_tensor *index = hd_arg_ids(&c, 3, "index"), *t = hd_arg_tensor(&c, 1, "t");
    int dim = hd_arg_dim(&c, 2, "dim", t->ndim);
    return hd_return_self(&c, hd_scatter_(c.cx, t, dim, index, arg_source(&c, t, index)));
}

static hd_scatter_kind arg_kind(hd_call *c) {
    static const char *const names[] = {"sum", "prod", "mean", "amax", "amin"};
    const char *name = lua_type(c->L, 5) == LUA_TSTRING ? lua_tostring(c->L, 5) : "";
    for (int i = 0; i <= HD_SCATTER_AMIN; i++)
        if (strcmp(name, names[i]) == 0) return (hd_scatter_kind)i;
    hd_arg_expected(c, 5, "reduce", "\"sum\", \"prod\", \"mean\", \"amax\" or \"amin\"");
    return HD_SCATTER_SUM;
}

typedef struct reducing {
    hd_tensor *t, *index, *src;
    int dim;
    hd_scatter_kind kind;
    bool include_self;
} reducing;

/* scatter_reduce(dim, index, src, reduce, {include_self = true}) */
static reducing read_reducing(hd_call *c) {
    hd_take_any_options(c, "include_self");
    hd_no_more(c, 5);
    reducing r = {.index = hd_arg_ids(c, 3, "index")};
    r.t = hd_arg_tensor(c, 1, "t");
    r.dim = hd_arg_dim(c, 2, "dim", r.t->ndim);
    r.src = hd_arg_tensor(c, 4, "src");
    r.kind = arg_kind(c);
    r.include_self = hd_option_boolean(c, "include_self", true);
    return r;
}

static int scatter_reduce(lua_State *L) {
    hd_call c = hd_enter(L, "scatter_reduce");
    reducing r = read_reducing(&c);
    return hd_return(&c, hd_scatter_reduce(c.cx, r.t, r.dim, r.index, r.src, r.kind, r.include_self));
}

static int scatter_reduce_in_place(lua_State *L) {
    hd_call c = hd_begin(L, "scatter_reduce_");
    reducing r = read_reducing(&c);
    return hd_return_self(&c, hd_scatter_reduce_(c.cx, r.t, r.dim, r.index, r.src, r.kind, r.include_self));
}

static const hd_function functions[] = {
    {"gather", gather, HD_BOTH},
    {"index_select", index_select, HD_BOTH},
    {"masked_select", masked_select, HD_BOTH},
    {"one_hot", one_hot, HD_BOTH},
    {"scatter", scatter, HD_BOTH},
    {"scatter_", scatter_in_place, HD_BOTH},
    {"scatter_reduce", scatter_reduce, HD_BOTH},
    {"scatter_reduce_", scatter_reduce_in_place, HD_BOTH},
    {NULL, NULL, 0},
};

void hd_register_scatter(hd_registrar *r) {
    hd_define(r, functions);
    for (size_t i = 0; i < sizeof addings / sizeof *addings; i++) {
        hd_define_entry(r, addings[i].name, add, HD_BOTH, &addings[i]);
        hd_define_entry(r, addings[i].in_place, add_in_place, HD_BOTH, &addings[i]);
    }
}
