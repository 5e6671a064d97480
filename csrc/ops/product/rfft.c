/* rfft.c: the discrete Fourier transform of the last dimension, of real numbers.
 *
 *     y[.., k] = sum over j of x[.., j] e^(-2 pi i j k / n), x [.., n], y [.., n / 2 + 1, 2]
 *     ->  dx[.., j] = sum over k of Re((g[k][0] + i g[k][1]) e^(2 pi i j k / n))
 *
 * The last dimension of y is real and imaginary part; what is left out is the conjugate of what is there.
 */
#include "base/minmax.h"
#include "base/parallel.h"
#include "kernels/fft.h"
#include "ops/elementwise/cast.h"
#include "ops/elementwise/scalar.h"
#include "ops/gradient.h"

#define GRAIN 20000 /* numbers of a task */

typedef struct fft_loop {
    hd_fft fft;
    const char *from;
    char *to, *scratch;
    size_t from_line, to_line, scratch_size; /* bytes */
} fft_loop;

static void run_lines(void *arg, int64_t first, int64_t last, int worker) {
    const fft_loop *l = arg;
    for (int64_t i = first; i < last; i++)
        hd_fft_line(&l->fft, l->from + (size_t)i * l->from_line, l->to + (size_t)i * l->to_line,
                    l->scratch + (size_t)worker * l->scratch_size);
}

/* Lines of `from` (contiguous) into lines of `to`; the reals of either have n numbers a line. */
static hd_status transform(hd_ctx *cx, const hd_tensor *from, hd_tensor *to, int64_t n, bool adjoint) {
    const hd_dtype dtype = (hd_dtype)from->dtype;
    const size_t real = (size_t)n * hd_dtype_size(dtype);
    const size_t pairs = 2 * (size_t)hd_fft_pairs(n) * hd_dtype_size(dtype);
    const int64_t lines = hd_numel(adjoint ? to : from) / n;
    if (lines == 0) return HD_OK;
    fft_loop l = {.from = hd_data(from),
                  .to = hd_data(to),
                  .from_line = adjoint ? pairs : real,
                  .to_line = adjoint ? real : pairs};
    hd_status status = hd_fft_begin(cx, &l.fft, dtype, n, adjoint);
    if (!status) {
        l.scratch_size = hd_fft_scratch(&l.fft);
        l.scratch = hd_alloc(cx, l.scratch_size * (size_t)hd_max_workers(cx));
        status = l.scratch ? hd_parallel_ranges(cx, lines, GRAIN / n + 1, run_lines, &l) : cx->error.status;
    }
    hd_free(cx->account, l.scratch);
    hd_fft_end(cx, &l.fft);
    return status;
}

/* Takes `to` over; NULL on failure. */
static hd_tensor *transformed(hd_ctx *cx, const hd_tensor *from, hd_tensor *to, int64_t n, bool adjoint) {
    if (!to || !transform(cx, from, to, n, adjoint)) return to;
    hd_release(to);
    return NULL;
}

static hd_status rfft_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    /* y[.., k] = sum over j of x[.., j] e^(-2 pi i j k / n)
     * ->  dx[.., j] = sum over k of Re((g[k][0] + i g[k][1]) e^(2 pi i j k / n)) */
    if (!grads[0]) return HD_OK;
    const hd_input_meta x = hd_node_input(node, 0);
    hd_tensor *g = hd_contiguous(cx, grads[0]);
    hd_tensor *dx = g ? hd_tensor_new(cx, (hd_dtype)g->dtype, x.ndim, x.shape) : NULL;
    dx = transformed(cx, g, dx, x.shape[x.ndim - 1], true);
    hd_release(g);
    grad_inputs[0] = hd_grad_to_input(cx, node, 0, dx);
    return hd_made(cx, grad_inputs[0]);
}
static const hd_node_class rfft_class = {"rfft", rfft_backward, NULL};

hd_tensor *hd_rfft(hd_ctx *cx, hd_tensor *x) {
    if (hd_check_computes(cx, x)) return NULL;
    const int64_t n = x->ndim > 0 ? x->shape[x->ndim - 1] : 0;
    char text[HD_SHAPE_TEXT];
    if (n < 1)
        return hd_fail_null(cx, HD_EARG, "t: expected a last dimension of at least 1, got shape %s",
                            hd_tensor_shape_text(x, text));
    if (x->ndim == HD_MAX_DIMS)
        return hd_fail_null(cx, HD_EARG, "t: expected fewer than %d dimensions, got %d", HD_MAX_DIMS,
                            x->ndim);
    hd_dtype dtype = x->dtype == HD_F64 ? HD_F64 : HD_F32;
    int64_t shape[HD_MAX_DIMS];
    for (int d = 0; d < x->ndim; d++) shape[d] = x->shape[d];
    shape[x->ndim - 1] = hd_fft_pairs(n);
    shape[x->ndim] = 2;
    hd_tensor *dense = hd_contiguous_as(cx, x, dtype);
    hd_tensor *y = dense ? hd_tensor_new(cx, dtype, x->ndim + 1, shape) : NULL;
    y = transformed(cx, dense, y, n, false);
    hd_release(dense);
    return hd_record(cx, &rfft_class, y, 1, &x, 0, NULL, NULL, 0);
}
