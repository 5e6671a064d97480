/* Reading and adding by index tensors, and what goes with them. */
#include "lua/check.h"

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

static const hd_function functions[] = {
    {"gather", gather, HD_BOTH},
    {"index_select", index_select, HD_BOTH},
    {"masked_select", masked_select, HD_BOTH},
    {"one_hot", one_hot, HD_BOTH},
    {NULL, NULL, 0},
};

void hd_register_gather(hd_registrar *r) {
    hd_define(r, functions);
    for (size_t i = 0; i < sizeof addings / sizeof *addings; i++) {
        hd_define_entry(r, addings[i].name, add, HD_BOTH, &addings[i]);
        hd_define_entry(r, addings[i].in_place, add_in_place, HD_BOTH, &addings[i]);
    }
}
