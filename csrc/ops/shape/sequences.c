/* sequences.c: batches of sequences without their padding, one behind the other.
 *
 * pack: [B, L, ...] to [N, ...]; unpack: the way back, with zeros at padding. Each is the other's gradient.
 */
#include "base/parallel.h"
#include "ops/nn/rows.h"

#include <string.h>

typedef struct sequences_params {
    int64_t L;
} sequences_params;

static hd_status check_lengths(hd_ctx *cx, const hd_tensor *lengths, int64_t B, int64_t L, int64_t *total) {
    *total = 0;
    if (hd_require_dtype(cx, "lengths", lengths, HD_I64) || hd_require_shape(cx, "lengths", lengths, 1, &B))
        return cx->error.status;
    for (int64_t b = 0; b < B; b++) {
        int64_t n = ((const int64_t *)hd_data(lengths))[b * lengths->stride[0]];
        if (hd_check_cancel(cx, b)) return cx->error.status;
        if (n < 0 || n > L)
            return hd_fail(cx, HD_EARG, "lengths: expected 0..%lld, got %lld at [%lld]", (long long)L,
                           (long long)n, (long long)b + 1);
        if (__builtin_add_overflow(*total, n, total))
            return hd_fail(cx, HD_EARG, "lengths: their sum is more than there can be");
    }
    return HD_OK;
}

typedef struct copy_loop {
    char *padded, *packed;
    const int64_t *starts; /* [B + 1], of sequences in packed */
    size_t step, entry;    /* bytes of an element and of a row of padded */
    bool pack;
} copy_loop;

static void copy_entries(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const copy_loop *l = arg;
    for (int64_t b = first; b < last; b++) {
        char *at = l->packed + (size_t)l->starts[b] * l->step, *entry = l->padded + (size_t)b * l->entry;
        const size_t bytes = (size_t)(l->starts[b + 1] - l->starts[b]) * l->step;
        memcpy(l->pack ? at : entry, l->pack ? entry : at, bytes);
        if (!l->pack) memset(entry + bytes, 0, l->entry - bytes);
    }
}

/* Between [B, L, ...] and [N, ...], both contiguous; when unpacking, padding becomes 0. */
static hd_status copy(hd_ctx *cx, const hd_tensor *padded, const hd_tensor *packed, hd_tensor *lengths,
                      bool pack) {
    hd_tensor *starts = hd_sequence_starts(cx, lengths);
    if (!starts) return cx->error.status;
    copy_loop l = {hd_data(padded), hd_data(packed), hd_data(starts), 0, 0, pack};
    int64_t width = 1;
    for (int d = 2; d < padded->ndim; d++) width *= padded->shape[d];
    l.step = hd_dtype_size((hd_dtype)padded->dtype) * (size_t)width;
    l.entry = l.step * (size_t)padded->shape[1];
    const int64_t grain = hd_rows_grain(width * padded->shape[1]);
    const hd_status status = hd_parallel_ranges(cx, padded->shape[0], grain, copy_entries, &l);
    hd_release(starts);
    return status;
}

static hd_tensor *packed_of(hd_ctx *cx, hd_tensor *x, hd_tensor *lengths, int64_t total) {
    int64_t shape[HD_MAX_DIMS] = {total};
    for (int d = 2; d < x->ndim; d++) shape[d - 1] = x->shape[d];
    hd_tensor *from = hd_contiguous_detached(cx, x),
              *to = from ? hd_tensor_new(cx, (hd_dtype)x->dtype, x->ndim - 1, shape) : NULL;
    if (to && copy(cx, from, to, lengths, true)) {
        hd_release(to);
        to = NULL;
    }
    hd_release(from);
    return to;
}

static hd_tensor *unpacked_of(hd_ctx *cx, hd_tensor *x, hd_tensor *lengths, int64_t L) {
    int64_t shape[HD_MAX_DIMS] = {lengths->shape[0], L};
    for (int d = 1; d < x->ndim; d++) shape[d + 1] = x->shape[d];
    hd_tensor *from = hd_contiguous_detached(cx, x),
              *to = from ? hd_tensor_new(cx, (hd_dtype)x->dtype, x->ndim + 1, shape) : NULL;
    if (to && copy(cx, to, from, lengths, false)) {
        hd_release(to);
        to = NULL;
    }
    hd_release(from);
    return to;
}

static hd_status pack_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    sequences_params params;
    hd_tensor *lengths = hd_node_saved(cx, node, 0);
    if (!grads[0] || !lengths) return lengths ? HD_OK : cx->error.status;
    memcpy(&params, node->params, sizeof params);
    grad_inputs[0] = unpacked_of(cx, grads[0], lengths, params.L);
    return grad_inputs[0] ? HD_OK : cx->error.status;
}

static hd_status unpack_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                 hd_tensor **grad_inputs) {
    hd_tensor *lengths = hd_node_saved(cx, node, 0);
    int64_t total;
    if (!grads[0] || !lengths) return lengths ? HD_OK : cx->error.status;
    if (check_lengths(cx, lengths, grads[0]->shape[0], grads[0]->shape[1], &total)) return cx->error.status;
    grad_inputs[0] = packed_of(cx, grads[0], lengths, total);
    return grad_inputs[0] ? HD_OK : cx->error.status;
}

static const hd_node_class pack_class = {"pack_sequences", pack_backward, NULL};
static const hd_node_class unpack_class = {"unpack_sequences", unpack_backward, NULL};

hd_tensor *hd_pack_sequences(hd_ctx *cx, hd_tensor *x, hd_tensor *lengths) {
    char got[HD_SHAPE_TEXT];
    int64_t total;
    if (x->ndim < 2)
        return hd_fail_null(cx, HD_EARG, "x: expected [B, L, ...], got %s", hd_tensor_shape_text(x, got));
    if (check_lengths(cx, lengths, x->shape[0], x->shape[1], &total)) return NULL;
    sequences_params params = {x->shape[1]};
    return hd_record(cx, &pack_class, packed_of(cx, x, lengths, total), 1, &x, 1, &lengths, &params,
                     sizeof params);
}

hd_tensor *hd_unpack_sequences(hd_ctx *cx, hd_tensor *x, hd_tensor *lengths, int64_t L) {
    char got[HD_SHAPE_TEXT];
    int64_t total;
    if (x->ndim < 1 || x->ndim >= HD_MAX_DIMS)
        return hd_fail_null(cx, HD_EARG, "x: expected [N, ...], got %s", hd_tensor_shape_text(x, got));
    if (lengths->ndim != 1)
        return hd_fail_null(cx, HD_EARG, "lengths: expected [B], got %s", hd_tensor_shape_text(lengths, got));
    if (L < 0) return hd_fail_null(cx, HD_EARG, "L: expected at least 0, got %lld", (long long)L);
    if (check_lengths(cx, lengths, lengths->shape[0], L, &total)) return NULL;
    if (total != x->shape[0])
        return hd_fail_null(cx, HD_EARG, "x: expected %lld elements, the sum of lengths, got %s",
                            (long long)total, hd_tensor_shape_text(x, got));
    return hd_record(cx, &unpack_class, unpacked_of(cx, x, lengths, L), 1, &x, 1, &lengths, NULL, 0);
}

hd_tensor *hd_sequence_starts(hd_ctx *cx, hd_tensor *lengths) {
    char got[HD_SHAPE_TEXT];
    int64_t total;
    if (lengths->ndim != 1)
        return hd_fail_null(cx, HD_EARG, "lengths: expected [B], got %s", hd_tensor_shape_text(lengths, got));
    if (check_lengths(cx, lengths, lengths->shape[0], INT64_MAX, &total)) return NULL;
    int64_t shape = lengths->shape[0] + 1;
    hd_tensor *starts = hd_tensor_new(cx, HD_I64, 1, &shape);
    if (!starts) return NULL;
    int64_t *at = hd_data(starts);
    at[0] = 0;
    for (int64_t b = 0; b + 1 < shape; b++)
        at[b + 1] = at[b] + ((const int64_t *)hd_data(lengths))[b * lengths->stride[0]];
    return starts;
}
