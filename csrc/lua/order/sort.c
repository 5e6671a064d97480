/* Elements in order. */
#include "lua/runtime/check.h"

/* sort(dim = -1, {descending = false}) */
static int sort(lua_State *L) {
    hd_call c = hd_enter(L, "sort");
    hd_take_any_options(&c, "dim descending");
    hd_no_more(&c, 2);
    hd_handle *second = hd_push_handle(&c);
    int second_slot = lua_gettop(L);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t"), *values = NULL, *indices = NULL;
    int dim = hd_opt_dim(&c, hd_or_option(&c, 2, "dim"), "dim", t->ndim, -1);
    bool descending = hd_option_boolean(&c, "descending", false);
    hd_set_modes(&c);
    hd_status status = hd_sort(c.cx, t, dim, descending, &values, &indices);
    return hd_return_pair(&c, second, second_slot, status, values, indices);
}

/* topk(k, dim = -1, {largest = true, sorted = true}): in order whatever `sorted` says. */
static int topk(lua_State *L) {
    hd_call c = hd_enter(L, "topk");
    hd_take_any_options(&c, "dim largest sorted");
    hd_no_more(&c, 3);
    hd_handle *second = hd_push_handle(&c);
    int second_slot = lua_gettop(L);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t"), *values = NULL, *indices = NULL;
    int64_t k = hd_arg_integer(&c, 2, "k");
    int dim = hd_opt_dim(&c, hd_or_option(&c, 3, "dim"), "dim", t->ndim, -1);
    bool largest = hd_option_boolean(&c, "largest", true);
    hd_option_boolean(&c, "sorted", true);
    hd_set_modes(&c);
    hd_status status = hd_topk(c.cx, t, k, dim, largest, &values, &indices);
    return hd_return_pair(&c, second, second_slot, status, values, indices);
}

/* unique(): the different elements, which of them each is, how often each occurs. */
static int unique(lua_State *L) {
    hd_call c = hd_enter(L, "unique");
    hd_no_more(&c, 1);
    hd_handle *inverse = hd_push_handle(&c);
    int inverse_slot = lua_gettop(L);
    hd_handle *counts = hd_push_handle(&c);
    int counts_slot = lua_gettop(L);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t"), *values = NULL;
    if (hd_unique(c.cx, t, &values, &inverse->t, &counts->t)) return hd_return(&c, NULL);
    hd_settle(&c, c.slot, c.out, values);
    lua_pushvalue(L, c.slot);
    lua_pushvalue(L, inverse_slot);
    lua_pushvalue(L, counts_slot);
    return 3;
}

/* median(): of all; median(dim, {keepdim = false}): values and indices. */
static int median(lua_State *L) {
    hd_call c = hd_enter(L, "median");
    hd_take_any_options(&c, "dim keepdim");
    hd_no_more(&c, 3);
    int at = hd_or_option(&c, 2, "dim");
    if (!at) return hd_return(&c, hd_median(c.cx, hd_arg_tensor(&c, 1, "t")));
    hd_handle *second = hd_push_handle(&c);
    int second_slot = lua_gettop(L);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t"), *values = NULL, *indices = NULL;
    int dim = hd_arg_dim(&c, at, "dim", t->ndim);
    bool keepdim = hd_opt_boolean(&c, hd_or_option(&c, 3, "keepdim"), "keepdim", false);
    hd_set_modes(&c);
    hd_status status = hd_median_dim(c.cx, t, dim, keepdim, &values, &indices);
    return hd_return_pair(&c, second, second_slot, status, values, indices);
}

/* searchsorted(sorted, values, {right = false}) */
static int searchsorted(lua_State *L) {
    hd_call c = hd_enter(L, "searchsorted");
    hd_take_any_options(&c, "right");
    hd_no_more(&c, 3);
    hd_tensor *sorted = hd_arg_tensor(&c, 1, "sorted"), *values = hd_arg_tensor(&c, 2, "values");
    bool right = hd_opt_boolean(&c, hd_or_option(&c, 3, "right"), "right", false);
    return hd_return(&c, hd_searchsorted(c.cx, sorted, values, right));
}

/* bucketize(t, boundaries, {right = false}): the same of a vector of boundaries. */
static int bucketize(lua_State *L) {
    hd_call c = hd_enter(L, "bucketize");
    hd_take_any_options(&c, "right");
    hd_no_more(&c, 3);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t"), *boundaries = hd_arg_tensor(&c, 2, "boundaries");
    char shape[HD_SHAPE_TEXT];
    if (boundaries->ndim != 1)
        hd_arg_error(&c, "boundaries", "expected a vector, got shape %s",
                     hd_tensor_shape_text(boundaries, shape));
    bool right = hd_opt_boolean(&c, hd_or_option(&c, 3, "right"), "right", false);
    return hd_return(&c, hd_searchsorted(c.cx, boundaries, t, right));
}

static const hd_function functions[] = {
    {"sort", sort, HD_BOTH},
    {"topk", topk, HD_BOTH},
    {"unique", unique, HD_BOTH},
    {"median", median, HD_BOTH},
    {"searchsorted", searchsorted, HD_BOTH},
    {"bucketize", bucketize, HD_BOTH},
    {NULL, NULL, 0},
};

void hd_register_sort(hd_registrar *r) {
    hd_define(r, functions);
}
