/* ops_shape_test.c: views, joins, reading by index and mask, assignment. */

#include "operations_check.h"

/* ---- shapes ---------------------------------------------------------------------------------- */

static hd_tensor *reshape(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_reshape(cx, in[0], 3, (int64_t[]){2, -1, 3});
}
static hd_tensor *permute(hd_tensor *const *in, const void *arg) {
    return hd_permute(cx, in[0], arg);
}
static hd_tensor *transpose(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_transpose(cx, in[0], 0, -1);
}
static hd_tensor *narrow(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_narrow(cx, in[0], -1, 1, 2, 2);
}
static hd_tensor *select_one(hd_tensor *const *in, const void *arg) {
    return hd_select(cx, in[0], *(const int *)arg, 2);
}
static hd_tensor *squeeze(hd_tensor *const *in, const void *arg) {
    (void)arg;
    hd_tensor *wide = hd_unsqueeze(cx, in[0], 1);
    hd_tensor *y = wide ? hd_squeeze_dims(cx, wide, HD_ALL_DIMS) : NULL;
    hd_release(wide);
    return y;
}
static hd_tensor *unfold(hd_tensor *const *in, const void *arg) {
    return hd_unfold(cx, in[0], -1, ((const int *)arg)[0], ((const int *)arg)[1]);
}
static hd_tensor *expand(hd_tensor *const *in, const void *arg) {
    (void)arg;
    hd_tensor *row = hd_narrow(cx, in[0], 0, 1, 1, 1);
    hd_tensor *y = row ? hd_expand(cx, row, 3, (int64_t[]){2, 3, -1}) : NULL;
    hd_release(row);
    return y;
}
static hd_tensor *flip(hd_tensor *const *in, const void *arg) {
    return hd_flip(cx, in[0], *(const uint32_t *)arg);
}
static hd_tensor *contiguous(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_contiguous(cx, in[0]);
}
static hd_tensor *clone(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_clone(cx, in[0]);
}
static hd_tensor *cat(hd_tensor *const *in, const void *arg) {
    return hd_cat(cx, 3, in, *(const int *)arg);
}
static hd_tensor *stack(hd_tensor *const *in, const void *arg) {
    return hd_stack(cx, 3, in, *(const int *)arg);
}

static void test_shapes(void) {
    check_layouts("reshape", reshape, NULL, -1);
    check_layouts("permute", permute, (int[]){1, 0}, -1);
    check_layouts("transpose", transpose, NULL, -1);
    check_layouts("narrow", narrow, NULL, -1);
    check_layouts("select", select_one, &(int){0}, -1);
    check_layouts("select", select_one, &(int){-1}, -1);
    check_layouts("squeeze", squeeze, NULL, -1);
    check_layouts("expand", expand, NULL, -1);
    check_layouts("unfold", unfold, (int[]){3, 1}, -1);
    check_layouts("unfold", unfold, (int[]){2, 2}, -1);
    for (uint32_t dims = 0; dims < 4; dims++) check_layouts("flip", flip, &dims, -1);
    check_shapes("clone", clone, NULL, -1);
    check_layouts("contiguous", contiguous, NULL, -1);
    hd_tensor *parts[] = {parameter(HD_F64, SHAPE(2, 3)), parameter(HD_F64, SHAPE(2, 3)),
                          parameter(HD_F64, SHAPE(2, 3))};
    for (int dim = -2; dim < 2; dim++) check("cat", cat, 3, parts, &dim);
    for (int dim = -3; dim < 3; dim++) check("stack", stack, 3, parts, &dim);
    hd_tensor *other = parameter(HD_F64, SHAPE(2, 4));
    hd_tensor *unlike[] = {parts[0], other, parts[1]};
    check("cat", cat, 3, unlike, &(int){1});
    CHECK(!hd_cat(cx, 3, unlike, 0) && strstr(cx->error.message, "tensor 2"));
    hd_tensor *v = hd_transpose(cx, other, 0, 1);
    CHECK(v->is_view && !hd_view(cx, v, 1, (int64_t[]){8}));
    CHECK(hd_fill_(cx, v, hd_scalar_i(0)) == HD_EARG);
    hd_release(v);
    hd_release(other);
    release_inputs(3, parts);
    /* Large enough to be walked in tiles by several tasks. */
    hd_tensor *big = random_tensor(HD_F32, SHAPE(300, 2, 301)),
              *turned = hd_permute(cx, big, (int[]){2, 1, 0});
    hd_tensor *dense = hd_contiguous(cx, turned);
    for (int64_t i = 0; i < hd_numel(big); i += 17) {
        int64_t a = i / 602, b = i / 301 % 2, c = i % 301;
        CHECK(get(dense, (c * 2 + b) * 300 + a) == get(big, i));
    }
    hd_release(big);
    hd_release(turned);
    hd_release(dense);
}

/* ---- indices --------------------------------------------------------------------------------- */

static hd_tensor *index_select(hd_tensor *const *in, const void *arg) {
    return hd_index_select(cx, in[0], *(const int *)arg, in[1]);
}
static hd_tensor *gather(hd_tensor *const *in, const void *arg) {
    return hd_gather(cx, in[0], *(const int *)arg, in[1]);
}
static hd_tensor *scatter(hd_tensor *const *in, const void *arg) {
    return hd_scatter(cx, in[0], *(const int *)arg, in[1], in[2]);
}
static hd_tensor *scatter_reduce(hd_tensor *const *in, const void *arg) {
    return hd_scatter_reduce(cx, in[0], 0, in[1], in[2], *(const hd_scatter_kind *)arg, false);
}
/* The values, which have no gradient; the others are looked at by specs in Lua. */
static hd_tensor *unique(hd_tensor *const *in, const void *arg) {
    (void)arg;
    hd_tensor *values, *inverse, *counts;
    if (hd_unique(cx, in[0], &values, &inverse, &counts)) return NULL;
    hd_release(inverse);
    hd_release(counts);
    return values;
}
static hd_tensor *masked_select(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_masked_select(cx, in[0], in[1]);
}
static hd_tensor *one_hot(hd_tensor *const *in, const void *arg) {
    (void)arg;
    return hd_one_hot(cx, in[0], 4);
}

static void test_indices(void) {
    hd_tensor *in[] = {parameter(HD_F64, SHAPE(3, 4)), integers(SHAPE(2, 2), (int64_t[]){3, 1, 3, 2})};
    check("index_select", index_select, 2, in, &(int){0});
    check("index_select", index_select, 2, in, &(int){1});
    check("gather", gather, 2, in, &(int){0});
    check("gather", gather, 2, in, &(int){1});
    hd_tensor *written[] = {in[0], in[1], parameter(HD_F64, SHAPE(3, 2))};
    check("scatter", scatter, 3, written, &(int){0}); /* two places are one */
    check("scatter", scatter, 3, written, &(int){1});
    for (hd_scatter_kind kind = HD_SCATTER_SUM; kind <= HD_SCATTER_AMIN; kind++)
        check("scatter_reduce", scatter_reduce, 3, written, &kind);
    check_failures("unique", unique, 1, &in[1], NULL);
    hd_release(written[2]);
    hd_tensor *across[] = {laid_across(in[0]), in[1]};
    check("index_select", index_select, 2, across, &(int){1});
    check("gather", gather, 2, across, &(int){1});
    check_failures("one_hot", one_hot, 1, &in[1], NULL);
    hd_release(across[0]);
    set(in[1], 2, 5);
    CHECK(!hd_index_select(cx, in[0], 1, in[1]) && strstr(cx->error.message, "1..4, got 5 at position 3"));
    CHECK(!hd_index_select(cx, in[0], 1, in[0]));
    hd_release(in[1]);
    in[1] = bools(SHAPE(3, 1), 5);
    check("masked_select", masked_select, 2, in, NULL);
    hd_release(in[1]);
    in[1] = bools(SHAPE(2, 3, 4), 0xABCDEF);
    check("masked_select", masked_select, 2, in, NULL);
    release_inputs(2, in);
}

/* y = 1.5 x, then y[..] = v */
static hd_tensor *before_assignment(hd_tensor *x) {
    return hd_binary_scalar(cx, HD_MUL, x, hd_scalar_f(1.5), false);
}
static hd_tensor *after_assignment(hd_tensor *y, hd_status status) {
    if (!status) return y;
    hd_release(y);
    return NULL;
}
static hd_tensor *assign_region(hd_tensor *const *in, const void *arg) {
    const int *turns = arg;
    hd_tensor *y = before_assignment(in[0]);
    hd_tensor *x = !y ? NULL : *turns ? hd_transpose(cx, y, 0, 1) : hd_retain(y);
    hd_tensor *part = x ? hd_narrow(cx, x, 1, *turns ? 0 : 1, 2, 2) : NULL;
    hd_status status = part ? hd_assign_(cx, y, part, in[1]) : cx->error.status;
    hd_release(part);
    hd_release(x);
    return y ? after_assignment(y, status) : NULL;
}
/* Into the whole of a transposed tensor that nobody has recorded before. */
static hd_tensor *assign_turned(hd_tensor *const *in, const void *arg) {
    (void)arg;
    hd_tensor *memory = hd_clone(cx, in[1]), *y = memory ? hd_transpose(cx, memory, 0, 1) : NULL;
    hd_tensor *rows = y ? hd_narrow(cx, y, 0, 1, 2, 1) : NULL;
    hd_tensor *part = rows ? hd_narrow(cx, rows, 1, 0, 2, 2) : NULL;
    hd_status status = part ? hd_assign_(cx, y, part, in[0]) : cx->error.status;
    hd_release(memory);
    hd_release(rows);
    hd_release(part);
    return y ? after_assignment(y, status) : NULL;
}
static hd_tensor *assign_row(hd_tensor *const *in, const void *arg) {
    (void)arg;
    hd_tensor *y = before_assignment(in[0]);
    hd_tensor *part = y ? hd_select(cx, y, 0, 1) : NULL;
    hd_status status = part ? hd_assign_(cx, y, part, in[1]) : cx->error.status;
    hd_release(part);
    return y ? after_assignment(y, status) : NULL;
}
static hd_tensor *assign_mask(hd_tensor *const *in, const void *arg) {
    (void)arg;
    hd_tensor *y = before_assignment(in[0]);
    return y ? after_assignment(y, hd_assign_mask_(cx, y, in[2], in[1])) : NULL;
}
static hd_tensor *assign_index(hd_tensor *const *in, const void *arg) {
    (void)arg;
    hd_tensor *y = before_assignment(in[0]);
    hd_tensor *index[HD_MAX_DIMS] = {in[2]};
    return y ? after_assignment(y, hd_assign_index_(cx, y, y, index, in[1])) : NULL;
}
static hd_tensor *copy(hd_tensor *const *in, const void *arg) {
    (void)arg;
    hd_tensor *y = before_assignment(in[0]);
    return y ? after_assignment(y, hd_copy_(cx, y, in[1])) : NULL;
}
static hd_tensor *fill(hd_tensor *const *in, const void *arg) {
    (void)arg;
    hd_tensor *y = before_assignment(in[0]);
    if (y && hd_fill_(cx, y, hd_scalar_i(2))) return after_assignment(y, HD_ENOMEM);
    return y;
}

static void test_assignment(void) {
    hd_tensor *in[3] = {parameter(HD_F64, SHAPE(3, 4)), parameter(HD_F64, SHAPE(3, 1)), NULL};
    check("assignment", assign_region, 2, in, &(int){0});
    hd_tensor *across[] = {laid_across(in[0]), in[1]};
    check("assignment", assign_region, 2, across, &(int){0});
    hd_release(across[0]);
    hd_release(in[1]);
    in[1] = parameter(HD_F64, SHAPE(2));
    check("assignment", assign_region, 2, in, &(int){1});
    hd_release(in[1]);
    in[1] = parameter(HD_F64, 0, NULL);
    check("assignment", assign_row, 2, in, NULL);
    check("copy", copy, 2, in, NULL);
    check_failures("fill", fill, 1, in, NULL);
    hd_tensor *turned[] = {parameter(HD_F64, SHAPE(2, 2)), random_tensor(HD_F64, SHAPE(3, 4))};
    check("assignment", assign_turned, 2, turned, NULL);
    release_inputs(2, turned);
    in[2] = bools(SHAPE(3), 5);
    check("mask assignment", assign_mask, 3, in, NULL);
    hd_release(in[1]);
    in[1] = parameter(HD_F64, SHAPE(1, 2, 4));
    check("mask assignment", assign_mask, 3, in, NULL);
    hd_release(in[2]);
    in[2] = integers(SHAPE(2), (int64_t[]){3, 3});
    check("index assignment", assign_index, 3, in, NULL);
    release_inputs(3, in);
    /* a[{ {}, {2,3} }] = a[{ {}, {1,2} }], which overlap */
    hd_tensor *a = integers(SHAPE(3, 3), (int64_t[]){0, 1, 2, 3, 4, 5, 6, 7, 8});
    hd_tensor *to = hd_narrow(cx, a, 1, 1, 2, 1), *from = hd_narrow(cx, a, 1, 0, 2, 1);
    CHECK(!hd_assign_(cx, a, to, from));
    const int64_t expected[] = {0, 0, 1, 3, 3, 4, 6, 6, 7};
    for (int i = 0; i < 9; i++) CHECK(get(a, i) == expected[i]);
    hd_release(a);
    hd_release(to);
    hd_release(from);
    hd_tensor *whole = random_tensor(HD_F32, SHAPE(3)), *leaf = parameter(HD_F32, SHAPE(3));
    hd_tensor *part = hd_narrow(cx, whole, 0, 0, 1, 1), *first = hd_narrow(cx, leaf, 0, 0, 1, 1);
    CHECK(hd_binary_(cx, HD_ADD, part, first) == HD_EARG && strstr(cx->error.message, "part of another"));
    CHECK(!hd_assign_(cx, whole, part, first) && whole->requires_grad);
    hd_release(whole);
    hd_release(part);
    hd_release(first);
    part = hd_narrow(cx, leaf, 0, 0, 1, 1);
    CHECK(hd_assign_(cx, leaf, part, leaf) == HD_EARG);
    hd_release(part);
    hd_release(leaf);
}

int main(void) {
    cx = new_context(2);
    cx->grad_enabled = true;
    test_shapes();
    test_indices();
    test_assignment();
    CHECK(cx->account->live == 0);
    free_context(cx);
    return checks_done();
}
