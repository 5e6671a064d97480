/* nonzero.c: where a tensor is not zero: a row of indices (from 1) for each such element, in order. NaN is not
 * zero. Blocks of elements are counted, then each writes its rows behind those of the blocks before it.
 */
#include <string.h>

#include "base/parallel.h"
#include "ops/elementwise/cast.h"

#define BLOCK 65536

typedef struct nonzero_loop {
    const uint8_t *truth;
    int ndim;
    int64_t shape[HD_MAX_DIMS], size;
    int64_t *before; /* of each block: how many there are in it, then how many before it */
    int64_t *rows;
} nonzero_loop;

static int64_t block_end(const nonzero_loop *l, int64_t block) {
    return (block + 1) * BLOCK < l->size ? (block + 1) * BLOCK : l->size;
}

static void count_block(void *arg, int64_t block, int worker) {
    (void)worker;
    const nonzero_loop *l = arg;
    int64_t count = 0, end = block_end(l, block);
    for (int64_t i = block * BLOCK; i < end; i++) count += l->truth[i] != 0;
    l->before[block] = count;
}

static void write_block(void *arg, int64_t block, int worker) {
    (void)worker;
    const nonzero_loop *l = arg;
    int64_t at[HD_MAX_DIMS] = {0}, *row = l->rows + l->before[block] * l->ndim, first = block * BLOCK;
    int last = l->ndim - 1;
    for (int64_t d = last, left = first; d >= 0; left /= l->shape[d--]) at[d] = left % l->shape[d];
    int64_t columns = last >= 0 ? l->shape[last] : 1, column = last >= 0 ? at[last] : 0;
    for (int64_t i = first, end = block_end(l, block); i < end; column = 0) {
        int64_t stop = i + columns - column < end ? i + columns - column : end;
        for (; i < stop; i++, column++) {
            if (!l->truth[i]) continue;
            for (int d = 0; d < last; d++) row[d] = at[d] + 1;
            if (last >= 0) row[last] = column + 1;
            row += l->ndim;
        }
        for (int d = last - 1; d >= 0 && ++at[d] == l->shape[d]; d--) at[d] = 0;
    }
}

static hd_tensor *find(hd_ctx *cx, nonzero_loop *l) {
    int64_t blocks = (l->size + BLOCK - 1) / BLOCK, total = 0;
    l->before = hd_alloc_found(cx, (size_t)(blocks + 1) * sizeof *l->before);
    if (!l->before) return NULL;
    hd_status status = hd_parallel(cx, blocks, count_block, l);
    for (int64_t b = 0; b < blocks && !status; b++) {
        int64_t count = l->before[b];
        l->before[b] = total;
        total += count;
    }
    int64_t shape[] = {total, l->ndim};
    hd_tensor *rows = status ? NULL : hd_tensor_new(cx, HD_I64, 2, shape);
    if (rows && hd_numel(rows) > 0) {
        l->rows = hd_data(rows);
        status = hd_parallel(cx, blocks, write_block, l);
    }
    hd_free(cx->account, l->before);
    if (!status) return rows;
    hd_release(rows);
    return NULL;
}

/* x contiguous, as bool. */
static hd_tensor *truth_of(hd_ctx *cx, hd_tensor *x) {
    hd_tensor *plain = hd_tensor_alias(cx, x);
    hd_tensor *from = plain ? hd_cast(cx, plain, hd_dtype_of_gradient((hd_dtype)x->dtype)) : NULL;
    hd_tensor *truth = !from                 ? NULL
                       : x->dtype == HD_BOOL ? hd_contiguous_as(cx, from, HD_BOOL)
                                             : hd_binary_scalar(cx, HD_NE, from, hd_scalar_i(0), false);
    hd_release(plain);
    hd_release(from);
    return truth;
}

hd_tensor *hd_nonzero(hd_ctx *cx, hd_tensor *x) {
    hd_tensor *truth = truth_of(cx, x);
    if (!truth) return NULL;
    nonzero_loop l = {.truth = hd_data(truth), .ndim = x->ndim, .size = hd_numel(x)};
    memcpy(l.shape, x->shape, sizeof l.shape);
    hd_tensor *rows = find(cx, &l);
    hd_release(truth);
    return rows;
}
