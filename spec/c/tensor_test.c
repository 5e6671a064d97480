#include <string.h>

#include "check.h"
#include "tensor/tensor.h"
#include "tensor/view.h"

static hd_ctx *cx;

#define SHAPE(...)                                                                                           \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) {                           \
        __VA_ARGS__                                                                                          \
    }

/* i32 0, 1, 2, ... under the shape. */
static hd_tensor *counting(int ndim, const int64_t *shape) {
    hd_tensor *t = hd_tensor_new(cx, HD_I32, ndim, shape);
    CHECK(t != NULL);
    int32_t *data = hd_data(t);
    for (int64_t i = 0; i < hd_numel(t); i++) data[i] = (int32_t)i;
    return t;
}

static bool has_shape(const hd_tensor *t, int ndim, const int64_t *shape) {
    return t != NULL && t->ndim == ndim && memcmp(t->shape, shape, sizeof *shape * (size_t)ndim) == 0;
}

/* Element number `index` in row-major order, by way of the strides. */
static int32_t element(const hd_tensor *t, int64_t index) {
    int64_t at = t->offset;
    for (int i = t->ndim - 1; i >= 0; i--) {
        at += index % t->shape[i] * t->stride[i];
        index /= t->shape[i];
    }
    return ((const int32_t *)t->storage->data)[at];
}

static bool holds(const hd_tensor *t, int count, const int32_t *expected) {
    if (t == NULL || hd_numel(t) != count) return false;
    for (int i = 0; i < count; i++)
        if (element(t, i) != expected[i]) return false;
    return true;
}
#define VALUES(...)                                                                                          \
    (int)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)), (const int32_t[]) {                           \
        __VA_ARGS__                                                                                          \
    }

static bool says(const char *part) {
    return strstr(cx->error.message, part) != NULL;
}

#define REFUSED(call, part)                                                                                  \
    do {                                                                                                     \
        cx->error.message[0] = '\0';                                                                         \
        CHECK((call) == NULL && cx->error.status == HD_EARG);                                                \
        if (!says(part)) printf("%s\n", cx->error.message);                                                  \
        CHECK(says(part));                                                                                   \
    } while (0)

static void drop_all(int count, hd_tensor **tensors) {
    for (int i = 0; i < count; i++) hd_release(tensors[i]);
}
#define DROP(...)                                                                                            \
    drop_all((int)(sizeof((hd_tensor *[]){__VA_ARGS__}) / sizeof(hd_tensor *)), (hd_tensor *[]){__VA_ARGS__})

/* ---- dtypes -------------------------------------------------------------------------------------------- */

static void test_dtypes(void) {
    const char *const names[] = {"bool", "u8",  "i8",  "i16",  "u16", "i32",
                                 "u32",  "i64", "f16", "bf16", "f32", "f64"};
    const size_t sizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 2, 2, 4, 8};
    for (int i = 0; i < HD_DTYPE_COUNT; i++) {
        hd_dtype parsed;
        CHECK(strcmp(hd_dtype_name((hd_dtype)i), names[i]) == 0 && hd_dtype_size((hd_dtype)i) == sizes[i]);
        CHECK(hd_dtype_parse(names[i], &parsed) && parsed == (hd_dtype)i);
    }
    hd_dtype untouched = HD_U8;
    CHECK(!hd_dtype_parse("float", &untouched) && !hd_dtype_parse("", &untouched) && untouched == HD_U8);
}

typedef struct ends {
    int64_t first, last;
} ends;

static const ends ends_of[] = {[HD_BOOL] = {0, 1},
                               [HD_U8] = {0, UINT8_MAX},
                               [HD_I8] = {INT8_MIN, INT8_MAX},
                               [HD_I16] = {INT16_MIN, INT16_MAX},
                               [HD_U16] = {0, UINT16_MAX},
                               [HD_I32] = {INT32_MIN, INT32_MAX},
                               [HD_U32] = {0, UINT32_MAX},
                               [HD_I64] = {INT64_MIN, INT64_MAX}};

/* Of integers and bool: the first that holds the ends of both. */
static hd_dtype first_that_holds(int a, int b) {
    int t = HD_BOOL;
    while (ends_of[t].first > ends_of[a].first || ends_of[t].first > ends_of[b].first ||
           ends_of[t].last < ends_of[a].last || ends_of[t].last < ends_of[b].last)
        t++;
    return (hd_dtype)t;
}

static void test_promotion(void) {
    static const hd_dtype of_floats[4][4] = {{HD_F16, HD_F32, HD_F32, HD_F64},
                                             {HD_F32, HD_BF16, HD_F32, HD_F64},
                                             {HD_F32, HD_F32, HD_F32, HD_F64},
                                             {HD_F64, HD_F64, HD_F64, HD_F64}};
    for (int a = 0; a < HD_DTYPE_COUNT; a++)
        for (int b = 0; b < HD_DTYPE_COUNT; b++) {
            hd_dtype wanted = a < HD_F16 && b < HD_F16     ? first_that_holds(a, b)
                              : a >= HD_F16 && b >= HD_F16 ? of_floats[a - HD_F16][b - HD_F16]
                                                           : (hd_dtype)(a > b ? a : b);
            CHECK(hd_dtype_promote((hd_dtype)a, (hd_dtype)b) == wanted);
        }
    for (int t = HD_BOOL; t < HD_I64; t++)
        CHECK(hd_dtype_holds((hd_dtype)t, ends_of[t].first) && hd_dtype_holds((hd_dtype)t, ends_of[t].last) &&
              !hd_dtype_holds((hd_dtype)t, ends_of[t].first - 1) &&
              !hd_dtype_holds((hd_dtype)t, ends_of[t].last + 1));
    CHECK(hd_dtype_holds(HD_I64, INT64_MIN) && hd_dtype_holds(HD_I64, INT64_MAX));
}

/* ---- making and dropping --------------------------------------------------------------------- */

static void test_make(void) {
    hd_tensor *t = hd_tensor_zeros(cx, HD_F32, SHAPE(2, 3, 400));
    CHECK(t->refs == 1 && t->storage->bytes == 9600 && t->storage->version == 0 && hd_numel(t) == 2400);
    CHECK(t->stride[0] == 1200 && t->stride[1] == 400 && t->stride[2] == 1 && t->offset == 0);
    for (int i = 0; i < 2400; i++) CHECK(((float *)hd_data(t))[i] == 0);
    hd_tensor *like = hd_tensor_like(cx, t), *alias = hd_tensor_alias(cx, t);
    CHECK(hd_same_shape(like, t) && like->storage != t->storage && alias->storage == t->storage);
    CHECK((uintptr_t)hd_data(t) % 64 == 0 && t->storage->refs == 2);
    hd_retain(t);
    hd_release(t);
    CHECK(t->refs == 1);
    hd_tensor *small = hd_tensor_zeros(cx, HD_I64, SHAPE(5));
    CHECK((uintptr_t)hd_data(small) % 64 == 0);
    for (int i = 0; i < 5; i++) CHECK(((int64_t *)hd_data(small))[i] == 0);
    DROP(t, like, small);
    CHECK(alias->storage->refs == 1 && ((float *)hd_data(alias))[2399] == 0);
    DROP(alias, NULL);
    CHECK(cx->account->live == 0);
}

static void test_scalars_and_empty(void) {
    hd_tensor *scalar = counting(0, NULL), *empty = hd_tensor_zeros(cx, HD_F32, SHAPE(2, 0, 3));
    CHECK(scalar->ndim == 0 && hd_numel(scalar) == 1 && hd_is_contiguous(scalar) &&
          !hd_overlaps_itself(scalar));
    CHECK(empty != NULL && hd_numel(empty) == 0 && hd_is_contiguous(empty) && hd_data(empty) != NULL);
    CHECK(!hd_overlaps_itself(empty));
    DROP(scalar, empty);
}

static void test_shapes_that_cannot_be(void) {
    const int64_t big = INT64_C(1) << 40;
    REFUSED(hd_tensor_new(cx, HD_F32, SHAPE(big, big)), "more elements than memory");
    REFUSED(hd_tensor_new(cx, HD_F32, SHAPE(0, big, big)), "more elements than memory");
    REFUSED(hd_tensor_new(cx, HD_F64, SHAPE(INT64_C(1) << 60)), "1152921504606846976");
    REFUSED(hd_tensor_new(cx, HD_F32, SHAPE(2, -1)), "[2, -1]");
    REFUSED(hd_tensor_new(cx, HD_F32, SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 1)), "at most 8 dimensions, got 9");
    hd_tensor *t = hd_tensor_new(cx, HD_F32, SHAPE(0, 1 << 30, 1 << 20));
    CHECK(t != NULL && hd_numel(t) == 0);
    DROP(t);
    cx->account->limit = 1000;
    CHECK(hd_tensor_new(cx, HD_F32, SHAPE(1000)) == NULL && cx->error.status == HD_ENOMEM);
    cx->account->limit = 0;
    CHECK(cx->account->live == 0);
}

/* Each allocation of a tensor fails in turn; nothing is lost. */
static void test_failing_allocations(void) {
    for (int size = 1; size <= 10000; size *= 100) {
        hd_tensor *t = NULL;
        for (int64_t n = 1; t == NULL; n++) {
            CHECK(n <= 4);
            cx->account->fail_at = n;
            t = hd_tensor_zeros(cx, HD_F32, SHAPE(size));
            CHECK(t != NULL || (cx->error.status == HD_ENOMEM && cx->account->live == 0));
        }
        cx->account->fail_at = 1;
        CHECK(hd_tensor_alias(cx, t) == NULL && t->storage->refs == 1);
        cx->account->fail_at = 0;
        DROP(t);
    }
    CHECK(cx->account->live == 0);
}

typedef struct fake_node {
    struct hd_node_head head;
    int released;
    hd_tensor *saved;
} fake_node;

static void release_fake(struct hd_node *node) {
    fake_node *fake = (fake_node *)node;
    fake->released++;
    hd_release(fake->saved);
}

static void test_release_of_node_and_gradient(void) {
    hd_tensor *x = counting(SHAPE(3)), *y = counting(SHAPE(3));
    fake_node node = {.head.release_hook = release_fake, .saved = hd_retain(x)};
    x->grad = counting(SHAPE(3));
    y->node = (struct hd_node *)&node;
    hd_release(x);
    CHECK(x->refs == 1 && node.released == 0);
    hd_release(y);
    CHECK(node.released == 1 && cx->account->live == 0);

    /* Gradients of gradients of ...: a long chain must not need a deep stack. */
    hd_tensor *chain = NULL;
    for (int i = 0; i < 300000; i++) {
        hd_tensor *t = hd_tensor_new(cx, HD_F32, 0, NULL);
        t->grad = chain;
        chain = t;
    }
    hd_release(chain);
    CHECK(cx->account->live == 0);
}

/* Tensors may outlive the context that made them. */
static void test_outliving_the_context(void) {
    hd_ctx *other = hd_ctx_new(1);
    hd_tensor *t = hd_tensor_zeros(other, HD_F32, SHAPE(2000)), *row = hd_view_narrow(other, t, 0, 5, 10, 1);
    hd_ctx_free(other);
    hd_release(t);
    CHECK(((float *)hd_data(row))[9] == 0);
    hd_release(row);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static void test_check_dim(void) {
    int dim = -1;
    CHECK(hd_check_dim(cx, "dim", 2, 3, &dim) == HD_OK && dim == 2);
    CHECK(hd_check_dim(cx, "dim", -3, 3, &dim) == HD_OK && dim == 0);
    CHECK(hd_check_dim(cx, "dim", 3, 3, &dim) == HD_EARG && says("dim: ") && says("got 4"));
    CHECK(hd_check_dim(cx, "dims", -4, 3, &dim) == HD_EARG && says("dims: ") && says("got -4"));
    CHECK(hd_check_dim(cx, "dim", 0, 0, &dim) == HD_EARG && dim == 0);
    CHECK(hd_check_dim(cx, "dim", INT64_MIN, 2, &dim) == HD_EARG);
}

static void test_shape_text(void) {
    char text[HD_SHAPE_TEXT];
    CHECK(strcmp(hd_shape_text(0, NULL, text), "[]") == 0);
    CHECK(strcmp(hd_shape_text(SHAPE(2, 4, 8), text), "[2, 4, 8]") == 0);
    const int64_t m = INT64_MIN;
    hd_shape_text(SHAPE(m, m, m, m, m, m, m, m), text);
    CHECK(strlen(text) < HD_SHAPE_TEXT && strcmp(text + strlen(text) - 4, "...]") == 0);
}

static void test_broadcast(void) {
    hd_tensor *a = counting(SHAPE(4, 1, 3)), *b = counting(SHAPE(2, 1)), *c = counting(SHAPE(5)),
              *e = counting(SHAPE(0, 1));
    int ndim;
    int64_t shape[HD_MAX_DIMS], stride[HD_MAX_DIMS];
    CHECK(hd_broadcast_shape(cx, a, b, &ndim, shape) == HD_OK && ndim == 3);
    CHECK(shape[0] == 4 && shape[1] == 2 && shape[2] == 3);
    hd_broadcast_strides(a, ndim, shape, stride);
    CHECK(stride[0] == 3 && stride[1] == 0 && stride[2] == 1);
    hd_broadcast_strides(b, ndim, shape, stride);
    CHECK(stride[0] == 0 && stride[1] == 1 && stride[2] == 0);
    CHECK(hd_broadcast_shape(cx, a, c, &ndim, shape) == HD_EARG && says("[4, 1, 3]") && says("[5]"));
    CHECK(hd_broadcast_shape(cx, e, c, &ndim, shape) == HD_OK && ndim == 2 && shape[0] == 0 && shape[1] == 5);
    CHECK(hd_broadcast_shape(cx, e, b, &ndim, shape) == HD_EARG);
    DROP(a, b, c, e);
}

/* ---- views ----------------------------------------------------------------------------------- */

static void test_view_bounds(void) {
    hd_tensor *t = counting(SHAPE(12));
    hd_tensor *last = hd_tensor_view(cx, t, SHAPE(2, 3), (const int64_t[]){6, 2}, 1);
    CHECK(holds(last, VALUES(1, 3, 5, 7, 9, 11)) && !hd_is_contiguous(last) && !hd_overlaps_itself(last));
    REFUSED(hd_tensor_view(cx, t, SHAPE(2, 3), (const int64_t[]){6, 2}, 2), "12 elements");
    REFUSED(hd_tensor_view(cx, t, SHAPE(2), (const int64_t[]){1}, -1), "view");
    hd_tensor *back = hd_tensor_view(cx, t, SHAPE(3), (const int64_t[]){-2}, 4);
    CHECK(holds(back, VALUES(4, 2, 0)) && !hd_overlaps_itself(back));
    REFUSED(hd_tensor_view(cx, t, SHAPE(3), (const int64_t[]){-2}, 3), "view");
    REFUSED(hd_tensor_view(cx, t, SHAPE(3), (const int64_t[]){INT64_MAX}, 1), "view");
    REFUSED(hd_tensor_view(cx, t, SHAPE(2, 2), (const int64_t[]){INT64_MAX, INT64_MAX}, 0), "view");
    hd_tensor *empty = hd_tensor_view(cx, t, SHAPE(0), (const int64_t[]){1}, 1000);
    CHECK(empty != NULL && empty->offset == 0);
    hd_tensor *windows = hd_tensor_view(cx, t, SHAPE(5, 4), (const int64_t[]){2, 1}, 0);
    CHECK(windows != NULL && hd_overlaps_itself(windows));
    CHECK(t->storage->refs == 5);
    DROP(t, last, back, empty, windows);
}

static void test_permute(void) {
    hd_tensor *t = counting(SHAPE(2, 3, 2));
    hd_tensor *p = hd_view_permute(cx, t, 3, (const int64_t[]){2, 0, -2});
    CHECK(has_shape(p, SHAPE(2, 2, 3)) && holds(p, VALUES(0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11)));
    CHECK(!hd_is_contiguous(p) && hd_is_contiguous(t) && !hd_overlaps_itself(p));
    hd_tensor *x = hd_view_transpose(cx, t, 0, -1);
    CHECK(has_shape(x, SHAPE(2, 3, 2)) && holds(x, VALUES(0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11)));
    REFUSED(hd_view_permute(cx, t, 2, (const int64_t[]){0, 1}), "dims: expected all 3");
    REFUSED(hd_view_permute(cx, t, 3, (const int64_t[]){0, 1, -2}), "2 twice");
    REFUSED(hd_view_permute(cx, t, 3, (const int64_t[]){0, 1, 3}), "got 4");
    REFUSED(hd_view_transpose(cx, t, 0, -4), "dim2");
    DROP(t, p, x);
}

static void test_narrow_and_select(void) {
    hd_tensor *t = counting(SHAPE(3, 4));
    hd_tensor *n = hd_view_narrow(cx, t, 1, 1, 2, 1), *s = hd_view_narrow(cx, t, -1, 0, 2, 3);
    CHECK(has_shape(n, SHAPE(3, 2)) && holds(n, VALUES(1, 2, 5, 6, 9, 10)));
    CHECK(holds(s, VALUES(0, 3, 4, 7, 8, 11)));
    hd_tensor *none = hd_view_narrow(cx, t, 0, 3, 0, 1), *one = hd_view_narrow(cx, t, 0, 2, 1, 1000);
    CHECK(has_shape(none, SHAPE(0, 4)) && holds(one, VALUES(8, 9, 10, 11)));
    REFUSED(hd_view_narrow(cx, t, 1, 1, 4, 1), "length: expected at most 3 from 2 on");
    REFUSED(hd_view_narrow(cx, t, 1, 0, 3, 2), "at most 2");
    REFUSED(hd_view_narrow(cx, t, 1, 5, 0, 1), "start: expected 1 to 4 in dimension 2, got 6");
    REFUSED(hd_view_narrow(cx, t, 0, 0, 1, 0), "step");
    REFUSED(hd_view_narrow(cx, t, 0, 0, -1, 1), "length");
    REFUSED(hd_view_narrow(cx, t, 2, 0, 1, 1), "dim");
    hd_tensor *column = hd_view_select(cx, t, 1, 2), *value = hd_view_select(cx, column, 0, 1);
    CHECK(has_shape(column, SHAPE(3)) && holds(column, VALUES(2, 6, 10)) && value->ndim == 0 &&
          element(value, 0) == 6);
    REFUSED(hd_view_select(cx, t, 0, 3), "index: expected 1 to 3 in dimension 1, got 4");
    REFUSED(hd_view_select(cx, t, 0, -1), "index");
    DROP(t, n, s, none, one, column, value);
}

static void test_unit_dims(void) {
    hd_tensor *t = counting(SHAPE(2, 1, 3));
    hd_tensor *front = hd_view_unsqueeze(cx, t, 0), *end = hd_view_unsqueeze(cx, t, -1);
    CHECK(has_shape(front, SHAPE(1, 2, 1, 3)) && has_shape(end, SHAPE(2, 1, 3, 1)) && hd_is_contiguous(end));
    hd_tensor *less = hd_view_squeeze_dims(cx, t, 1u << 1), *same = hd_view_squeeze_dims(cx, t, 1u << 0),
              *all = hd_view_squeeze_dims(cx, front, ~0u);
    CHECK(has_shape(less, SHAPE(2, 3)) && has_shape(same, SHAPE(2, 1, 3)) && has_shape(all, SHAPE(2, 3)));
    REFUSED(hd_view_unsqueeze(cx, t, 4), "got 5");
    hd_tensor *full = hd_tensor_zeros(cx, HD_F32, SHAPE(1, 1, 1, 1, 1, 1, 1, 1));
    REFUSED(hd_view_unsqueeze(cx, full, 0), "fewer than 8");
    DROP(t, front, end, less, same, all, full);
}

static void test_expand(void) {
    hd_tensor *t = counting(SHAPE(2, 1));
    hd_tensor *e = hd_view_expand(cx, t, SHAPE(3, -1, 2));
    CHECK(has_shape(e, SHAPE(3, 2, 2)) && holds(e, VALUES(0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1)));
    CHECK(hd_overlaps_itself(e) && !hd_is_contiguous(e));
    hd_tensor *none = hd_view_expand(cx, t, SHAPE(2, 0));
    CHECK(has_shape(none, SHAPE(2, 0)));
    REFUSED(hd_view_expand(cx, t, SHAPE(3, 2)), "[2, 1]");
    REFUSED(hd_view_expand(cx, t, SHAPE(2)), "shape");
    REFUSED(hd_view_expand(cx, t, SHAPE(-1, 2, 2)), "[-1, 2, 2]");
    REFUSED(hd_view_expand(cx, t, SHAPE(2, INT64_C(1) << 61)), "more elements");
    DROP(t, e, none);
}

static hd_tensor *reshaped(const hd_tensor *t, int ndim, const int64_t *shape) {
    bool possible;
    hd_tensor *r = hd_view_reshape(cx, t, ndim, shape, &possible);
    CHECK(possible == (r != NULL));
    return r;
}

static void test_reshape(void) {
    hd_tensor *t = counting(SHAPE(2, 3, 4));
    hd_tensor *a = reshaped(t, SHAPE(4, -1)), *b = reshaped(t, SHAPE(1, 24, 1)),
              *flat = reshaped(t, SHAPE(-1));
    CHECK(has_shape(a, SHAPE(4, 6)) && has_shape(b, SHAPE(1, 24, 1)) && has_shape(flat, SHAPE(24)));
    CHECK(element(a, 23) == 23 && hd_is_contiguous(b));

    /* [2, 3, 4] as [3, 2, 4]: the last dimension can be cut, the first two not joined. */
    hd_tensor *p = hd_view_transpose(cx, t, 0, 1);
    hd_tensor *cut = reshaped(p, SHAPE(3, 2, 1, 2, 2));
    CHECK(has_shape(cut, SHAPE(3, 2, 1, 2, 2)));
    for (int i = 0; i < 24; i++) CHECK(element(cut, i) == element(p, i));
    CHECK(reshaped(p, SHAPE(6, 4)) == NULL && reshaped(p, SHAPE(24)) == NULL);

    /* A column of width 1 and steps: joined where the strides go on. */
    hd_tensor *steps = hd_view_narrow(cx, flat, 0, 0, 12, 2), *grid = reshaped(steps, SHAPE(3, 1, 4));
    CHECK(grid != NULL && grid->stride[2] == 2 && grid->stride[0] == 8);
    hd_tensor *joined = reshaped(grid, SHAPE(2, 6));
    CHECK(joined != NULL && element(joined, 11) == 22 && element(joined, 6) == 12);

    /* The stride of a dimension of size 1 means nothing. */
    hd_tensor *odd = hd_tensor_view(cx, t, SHAPE(3, 1), (const int64_t[]){2, 999}, 1),
              *line = reshaped(odd, SHAPE(3));
    CHECK(holds(line, VALUES(1, 3, 5)));

    hd_tensor *scalar = counting(0, NULL), *one = reshaped(scalar, SHAPE(1, 1)),
              *again = reshaped(one, 0, NULL);
    CHECK(has_shape(one, SHAPE(1, 1)) && again != NULL && again->ndim == 0);
    hd_tensor *wide = hd_view_expand(cx, one, SHAPE(2, 3)), *wide_flat = reshaped(wide, SHAPE(3, 2));
    CHECK(wide_flat != NULL && wide_flat->stride[0] == 0 && wide_flat->stride[1] == 0);

    hd_tensor *empty = counting(SHAPE(0, 3)), *other = reshaped(empty, SHAPE(5, 0)),
              *open = reshaped(empty, SHAPE(3, -1));
    CHECK(has_shape(other, SHAPE(5, 0)) && has_shape(open, SHAPE(3, 0)));
    bool possible = false;
    REFUSED(hd_view_reshape(cx, empty, SHAPE(0, -1), &possible), "shape");
    REFUSED(hd_view_reshape(cx, t, SHAPE(5, -1), &possible), "24 elements of [2, 3, 4], got [5, -1]");
    REFUSED(hd_view_reshape(cx, t, SHAPE(5, 5), &possible), "got [5, 5]");
    REFUSED(hd_view_reshape(cx, t, SHAPE(-1, -1), &possible), "two");
    REFUSED(hd_view_reshape(cx, t, SHAPE(-2, -1), &possible), "shape");
    CHECK(possible);
    DROP(t, a, b, flat, p, cut, steps, grid, joined, odd, line, scalar, one, again, wide, wide_flat, empty,
         other, open);
}

/* Whatever reshape says is possible reads the same elements in the same order. */
static void test_reshape_of_any_view(void) {
    static const int64_t shapes[][4] = {{24, 1, 1, 1}, {2, 12, 1, 1}, {2, 3, 4, 1},
                                        {3, 8, 1, 1},  {4, 3, 2, 1},  {2, 2, 2, 3},
                                        {1, 4, 1, 6},  {6, 1, 4, 1},  {12, 2, 1, 1}};
    hd_tensor *t = counting(SHAPE(2, 3, 2, 2));
    int possible_ones = 0;
    for (int code = 0; code < 256; code++) {
        int64_t dims[4] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6};
        hd_tensor *p = hd_view_permute(cx, t, 4, dims);
        if (p == NULL) continue;
        for (int i = 0; i < 9; i++) {
            bool possible;
            hd_tensor *r = hd_view_reshape(cx, p, 4, shapes[i], &possible);
            if (!possible) continue;
            possible_ones++;
            for (int64_t j = 0; j < 24; j++) CHECK(element(r, j) == element(p, j));
            hd_release(r);
        }
        hd_release(p);
    }
    CHECK(possible_ones > 20);
    hd_release(t);
}

static void test_diagonal(void) {
    hd_tensor *t = counting(SHAPE(3, 4));
    hd_tensor *main_one = hd_view_diagonal(cx, t, 0, 0, 1), *above = hd_view_diagonal(cx, t, 2, 0, 1);
    hd_tensor *below = hd_view_diagonal(cx, t, -1, 0, -1), *swapped = hd_view_diagonal(cx, t, 1, 1, 0);
    CHECK(holds(main_one, VALUES(0, 5, 10)) && holds(above, VALUES(2, 7)) && holds(below, VALUES(4, 9)));
    CHECK(holds(swapped, VALUES(4, 9)) && !hd_overlaps_itself(main_one));
    const int64_t beyond[] = {4, 100, -3, -100, INT64_MAX, INT64_MIN};
    for (int i = 0; i < 6; i++) {
        hd_tensor *none = hd_view_diagonal(cx, t, beyond[i], 0, 1);
        CHECK(has_shape(none, SHAPE(0)));
        hd_release(none);
    }
    hd_tensor *cube = counting(SHAPE(2, 2, 3)), *d = hd_view_diagonal(cx, cube, 0, 0, 2);
    CHECK(has_shape(d, SHAPE(2, 2)) && holds(d, VALUES(0, 7, 3, 10)));
    REFUSED(hd_view_diagonal(cx, t, 0, 1, -1), "dim2");
    DROP(t, main_one, above, below, swapped, cube, d);
}

int main(void) {
    cx = hd_ctx_new(1);
    CHECK(cx != NULL);
    test_dtypes();
    test_promotion();
    test_make();
    test_scalars_and_empty();
    test_shapes_that_cannot_be();
    test_failing_allocations();
    test_release_of_node_and_gradient();
    test_outliving_the_context();
    test_check_dim();
    test_shape_text();
    test_broadcast();
    test_view_bounds();
    test_permute();
    test_narrow_and_select();
    test_unit_dims();
    test_expand();
    test_reshape();
    test_reshape_of_any_view();
    test_diagonal();
    CHECK(cx->account->live == 0);
    hd_ctx_free(cx);
    return checks_done();
}
