/* multinomial.c: classes drawn as often as their weights say; the weights need not add up to 1.
 *
 * With replacement: the class at which the running sum of the weights passes u times the whole. Without:
 * class c gets the time -log(1 - u) / w, and those with the n earliest times are drawn, in this order: the
 * first is c with probability w / (sum of all w), each next one likewise among the rest (Efraimidis &
 * Spirakis 2006, "Weighted random sampling with a reservoir"). No gradient.
 */
#include <math.h>

#include "base/parallel.h"
#include "ops/elementwise/cast.h"
#include "ops/order/order.h"
#include "ops/nn/rows.h"

typedef struct multinomial_loop {
    hd_order order;
    const double *weights; /* [rows][classes] */
    int64_t *y;            /* [rows][n] */
    int64_t classes, n;
    bool replacement;
    hd_draw draw;
    char *scratch; /* of each worker: a row of f64, then what ordering it needs */
    size_t scratch_size;
} multinomial_loop;

/* The first place whose running sum is above `at`; where rounding leaves none, the last with a weight. */
static int64_t passes(const double *sums, int64_t classes, double at) {
    int64_t low = 0, high = classes - 1;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (sums[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    while (low > 0 && sums[low] == sums[low - 1]) low--;
    return low;
}

static void draw_with_replacement(const multinomial_loop *l, int64_t row, double *sums) {
    const double *w = l->weights + row * l->classes;
    double sum = 0;
    for (int64_t c = 0; c < l->classes; c++) sums[c] = sum += w[c];
    for (int64_t i = row * l->n; i < (row + 1) * l->n; i++)
        l->y[i] = passes(sums, l->classes, sum * hd_draw_f64(l->draw, (uint64_t)i)) + 1;
}

static void draw_without(const multinomial_loop *l, int64_t row, double *times) {
    int64_t first = row * l->classes;
    for (int64_t c = 0; c < l->classes; c++)
        times[c] = -log1p(-hd_draw_f64(l->draw, (uint64_t)(first + c))) / l->weights[first + c];
    for (int64_t c = 0; c < l->classes; c++)
        if (l->weights[first + c] == 0) times[c] = NAN; /* after all others */
    hd_order_row(&l->order, times, l->n, times + l->classes + (l->classes & 1), l->y + row * l->n);
}

static void draw_rows(void *arg, int64_t first, int64_t last, int worker) {
    const multinomial_loop *l = arg;
    double *scratch = (double *)(l->scratch + (size_t)worker * l->scratch_size);
    for (int64_t row = first; row < last; row++) {
        if (l->replacement)
            draw_with_replacement(l, row, scratch);
        else
            draw_without(l, row, scratch);
    }
}

/* ---- checks ----------------------------------------------------------------------------------- */

static hd_status check_row(hd_ctx *cx, const double *w, int64_t classes, int64_t row, int64_t n,
                           bool replacement) {
    double sum = 0;
    int64_t open = 0;
    for (int64_t c = 0; c < classes; c++) {
        if (!(w[c] >= 0 && w[c] < INFINITY))
            return hd_fail(cx, HD_EARG,
                           "weights: expected finite numbers of at least 0, got %g in row %lld, column %lld",
                           w[c], (long long)row + 1, (long long)c + 1);
        sum += w[c];
        open += w[c] > 0;
    }
    if (!(sum > 0 && sum < INFINITY))
        return hd_fail(cx, HD_EARG, "weights: expected a finite sum above 0, got %g in row %lld", sum,
                       (long long)row + 1);
    if (!replacement && n > open)
        return hd_fail(cx, HD_EARG,
                       "n: expected at most %lld, the weights above 0 in row %lld, got %lld; "
                       "replacement = true draws a class more than once",
                       (long long)open, (long long)row + 1, (long long)n);
    return HD_OK;
}

static hd_status check_weights(hd_ctx *cx, const hd_tensor *x, int64_t n) {
    char text[HD_SHAPE_TEXT];
    if (hd_require_float(cx, "t", x)) return cx->error.status;
    if (x->ndim != 1 && x->ndim != 2)
        return hd_fail(cx, HD_EARG, "weights: expected [classes] or [rows, classes], got %s",
                       hd_tensor_shape_text(x, text));
    if (x->shape[x->ndim - 1] > UINT32_MAX)
        return hd_fail(cx, HD_EARG, "weights: expected fewer than 2^32 classes, got %s",
                       hd_tensor_shape_text(x, text));
    if (n < 1) return hd_fail(cx, HD_EARG, "n: expected at least 1, got %lld", (long long)n);
    return HD_OK;
}

/* ---- the operation ---------------------------------------------------------------------------- */

static hd_status draw_all(hd_ctx *cx, hd_rng *rng, const hd_tensor *weights, int64_t rows, int64_t n,
                          bool replacement, hd_tensor *y) {
    int64_t classes = weights->shape[weights->ndim - 1];
    multinomial_loop l = {.order = {cx->kernels, HD_F64, false, classes},
                          .weights = hd_data(weights),
                          .y = hd_data(y),
                          .classes = classes,
                          .n = n,
                          .replacement =
                              replacement || n == 1}; /* of a single draw nothing is to be put back */
    for (int64_t r = 0; r < rows; r++)
        if (check_row(cx, l.weights + r * classes, classes, r, n, replacement)) return cx->error.status;
    l.scratch_size = (size_t)(classes + 2) * sizeof(double);
    if (!l.replacement) l.scratch_size += hd_order_scratch(&l.order, n);
    l.scratch_size = (l.scratch_size + 63) & ~(size_t)63;
    l.scratch = hd_alloc(cx, l.scratch_size * (size_t)hd_max_workers(cx));
    if (!l.scratch) return cx->error.status;
    l.draw = hd_rng_take(rng ? rng : &cx->rng);
    hd_status status = hd_parallel_ranges(cx, rows, 1024 / classes + 1, draw_rows, &l);
    hd_free(cx->account, l.scratch);
    return status;
}

hd_tensor *hd_multinomial(hd_ctx *cx, hd_rng *rng, hd_tensor *x, int64_t n, bool replacement) {
    if (check_weights(cx, x, n)) return NULL;
    int64_t rows = x->ndim == 2 ? x->shape[0] : 1, shape[] = {rows, n};
    hd_tensor *weights = hd_contiguous_as(cx, x, HD_F64);
    hd_tensor *y = weights ? hd_tensor_new(cx, HD_I64, x->ndim, x->ndim == 2 ? shape : shape + 1) : NULL;
    if (y && rows > 0 && draw_all(cx, rng, weights, rows, n, replacement, y)) {
        hd_release(y);
        y = NULL;
    }
    hd_release(weights);
    return y;
}
