/* Where a tensor is not zero. */
#include "lua/check.h"

typedef struct search {
    const hd_tensor *t;
    int64_t *found; /* rows of ndim indices from 1; NULL while counting */
    int64_t count;
    int64_t index[HD_MAX_DIMS];
} search;

static void visit(search *s, int dim, int64_t position) {
    const hd_tensor *t = s->t;
    if (dim == t->ndim) {
        if (hd_element(t, position) == 0) return;
        if (s->found)
            for (int i = 0; i < t->ndim; i++) s->found[s->count * t->ndim + i] = s->index[i];
        s->count++;
        return;
    }
    for (int64_t i = 0; i < t->shape[dim]; i++) {
        s->index[dim] = i + 1;
        visit(s, dim + 1, position + i * t->stride[dim]);
    }
}

/* nonzero(): [count, ndim], a row of indices for each element that is not zero, in order. */
static int nonzero(lua_State *L) {
    hd_call c = hd_enter(L, "nonzero");
    hd_no_more(&c, 1);
    search s = {.t = hd_arg_tensor(&c, 1, "self")};
    visit(&s, 0, s.t->offset);
    hd_tensor *rows = hd_tensor_new(c.cx, HD_I64, 2, (int64_t[]){s.count, s.t->ndim});
    if (!rows) hd_raise(&c);
    s.found = hd_data(rows);
    s.count = 0;
    visit(&s, 0, s.t->offset);
    return hd_return(&c, rows);
}

static const hd_function functions[] = {{"nonzero", nonzero, HD_BOTH}, {NULL, NULL, 0}};

void hd_register_nonzero(hd_registrar *r) {
    hd_define(r, functions);
}
