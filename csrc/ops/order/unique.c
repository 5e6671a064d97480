/* unique.c: the different elements of a tensor, in ascending order; no gradient.
 *
 * Elements are sorted with their places. Where one differs from the one before it a new value begins (so each NaN is
 * one of its own). Blocks of the sorted elements count what begins in them, then each numbers its elements behind
 * those of the blocks before it.
 */
#include "base/parallel.h"
#include "ops/gradient.h"

#define BLOCK 65536

typedef struct unique_loop {
    hd_dtype dtype;
    const void *sorted;
    const int64_t *places; /* from 1 */
    int64_t size, found;
    int64_t *before; /* of each block: how many values begin in it, then how many before it */
    void *values;
    int64_t *inverse, *starts;
} unique_loop;

static int64_t block_end(const unique_loop *l, int64_t block) {
    return (block + 1) * BLOCK < l->size ? (block + 1) * BLOCK : l->size;
}

/* A value begins at i, for each type: counted, and written. */
#define VALUES(name, T)                                                                                      \
    static int64_t count_##name(const unique_loop *l, int64_t first, int64_t last) {                         \
        const T *x = l->sorted;                                                                              \
        int64_t count = first == 0;                                                                          \
        for (int64_t i = first ? first : 1; i < last; i++) count += x[i] != x[i - 1];                        \
        return count;                                                                                        \
    }                                                                                                        \
    static void write_##name(const unique_loop *l, int64_t first, int64_t last, int64_t number) {            \
        const T *x = l->sorted;                                                                              \
        T *y = l->values;                                                                                    \
        for (int64_t i = first; i < last; i++) {                                                             \
            if (i == 0 || x[i] != x[i - 1]) {                                                                \
                y[number] = x[i];                                                                            \
                l->starts[number++] = i;                                                                     \
            }                                                                                                \
            l->inverse[l->places[i] - 1] = number;                                                           \
        }                                                                                                    \
    }
VALUES(f32, float)
VALUES(f64, double)
VALUES(i64, int64_t)
VALUES(i32, int32_t)
VALUES(u8, uint8_t)

static void count_block(void *arg, int64_t block, int worker) {
    (void)worker;
    const unique_loop *l = arg;
    int64_t first = block * BLOCK, last = block_end(l, block);
    switch (l->dtype) {
    case HD_F32: l->before[block] = count_f32(l, first, last); break;
    case HD_F64: l->before[block] = count_f64(l, first, last); break;
    case HD_I64: l->before[block] = count_i64(l, first, last); break;
    case HD_I32: l->before[block] = count_i32(l, first, last); break;
    default: l->before[block] = count_u8(l, first, last);
    }
}

static void write_block(void *arg, int64_t block, int worker) {
    (void)worker;
    const unique_loop *l = arg;
    int64_t first = block * BLOCK, last = block_end(l, block), number = l->before[block];
    switch (l->dtype) {
    case HD_F32: write_f32(l, first, last, number); break;
    case HD_F64: write_f64(l, first, last, number); break;
    case HD_I64: write_i64(l, first, last, number); break;
    case HD_I32: write_i32(l, first, last, number); break;
    default: write_u8(l, first, last, number);
    }
}

/* Counts of blocks become how many values begin before each. */
static hd_status count_values(hd_ctx *cx, unique_loop *l, int64_t blocks) {
    if (cx->skipping) { /* all are 0 */
        l->found = l->size > 0;
        return HD_OK;
    }
    hd_status status = hd_parallel(cx, blocks, count_block, l);
    for (int64_t b = 0; b < blocks && !status; b++) {
        int64_t count = l->before[b];
        l->before[b] = l->found;
        l->found += count;
    }
    return status;
}

/* Where values begin becomes how long they go on. */
static void lengths(const unique_loop *l) {
    for (int64_t u = 0; u < l->found; u++)
        l->starts[u] = (u + 1 < l->found ? l->starts[u + 1] : l->size) - l->starts[u];
}

static hd_status number_values(hd_ctx *cx, unique_loop *l, hd_tensor **values, hd_tensor **inverse,
                               hd_tensor **counts) {
    int64_t blocks = (l->size + BLOCK - 1) / BLOCK;
    l->before = hd_alloc(cx, (size_t)(blocks + 1) * sizeof *l->before);
    hd_status status = l->before ? count_values(cx, l, blocks) : cx->error.status;
    if (!status) {
        *values = hd_tensor_new(cx, l->dtype, 1, &l->found);
        *counts = *values ? hd_tensor_new(cx, HD_I64, 1, &l->found) : NULL;
        status = hd_made(cx, *counts);
    }
    if (!status) {
        l->values = hd_data(*values);
        l->starts = hd_data(*counts);
        l->inverse = hd_data(*inverse);
        status = hd_parallel(cx, blocks, write_block, l);
        lengths(l);
    }
    hd_free(cx->account, l->before);
    return status;
}

/* x as a vector, without graph. */
static hd_tensor *flat_of(hd_ctx *cx, hd_tensor *x) {
    int64_t all = -1;
    hd_tensor *plain = hd_tensor_alias(cx, x);
    hd_tensor *flat = plain ? hd_reshape(cx, plain, 1, &all) : NULL;
    hd_release(plain);
    return flat;
}

hd_status hd_unique(hd_ctx *cx, hd_tensor *x, hd_tensor **values, hd_tensor **inverse, hd_tensor **counts) {
    hd_tensor *sorted = NULL, *places = NULL, *flat = flat_of(cx, x);
    *values = *counts = *inverse = NULL;
    hd_status status = flat ? hd_sort(cx, flat, 0, false, &sorted, &places) : cx->error.status;
    if (!status) status = hd_made(cx, *inverse = hd_tensor_new(cx, HD_I64, x->ndim, x->shape));
    if (!status) {
        unique_loop l = {.dtype = (hd_dtype)x->dtype,
                         .sorted = hd_data(sorted),
                         .places = hd_data(places),
                         .size = hd_numel(x)};
        status = number_values(cx, &l, values, inverse, counts);
    }
    hd_release(flat);
    hd_release(sorted);
    hd_release(places);
    if (!status) return HD_OK;
    hd_release(*values);
    hd_release(*inverse);
    hd_release(*counts);
    *values = *inverse = *counts = NULL;
    return status;
}
