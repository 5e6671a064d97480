/* searchsorted.c: where values belong in ascending sequences, by halving. No gradient.
 *
 * Index i, from 1 to n + 1: before it stand the elements smaller than the value; with `right`, those smaller
 * or equal. NaN is larger than all, and NaN equal to itself, as sort has it; -0 equals 0.
 */
#include "base/parallel.h"
#include "ops/elementwise/cast.h"
#include "ops/elementwise/scalar.h"

typedef struct search_loop {
    const void *sorted, *values;
    int64_t n, per_row; /* of a sequence; values of one sequence */
    bool shared;        /* one sequence for all values */
    int64_t *y;
    void (*run)(const struct search_loop *l, int64_t first, int64_t last);
    bool right;
} search_loop;

/* search_f32 search_f64 search_i64 search_i32 search_u8: steps over halves without a jump: `base` elements
 * are known to stand before the value. No comparison with NaN holds, so it stands behind all numbers; where
 * the value is NaN, all numbers stand before it. */
#define SEARCH_OF(name, type)                                                                                \
    static inline int64_t place_##name(const type *sorted, int64_t n, type v, bool right) {                  \
        int64_t base = 0;                                                                                    \
        const bool nan = v != v;                                                                             \
        if (nan && right) return n + 1;                                                                      \
        while (n > 0) {                                                                                      \
            int64_t half = (n + 1) / 2;                                                                      \
            type a = sorted[base + half - 1];                                                                \
            bool before = nan ? a == a : right ? a <= v : a < v;                                             \
            base += before ? half : 0;                                                                       \
            n = before ? n - half : half - 1;                                                                \
        }                                                                                                    \
        return base + 1;                                                                                     \
    }                                                                                                        \
    static void search_##name(const search_loop *l, int64_t first, int64_t last) {                           \
        const type *v = l->values;                                                                           \
        for (int64_t i = first; i < last; i++) {                                                             \
            const type *sorted = (const type *)l->sorted + (l->shared ? 0 : i / l->per_row * l->n);          \
            l->y[i] = place_##name(sorted, l->n, v[i], l->right);                                            \
        }                                                                                                    \
    }
SEARCH_OF(f32, float)
SEARCH_OF(f64, double)
SEARCH_OF(i64, int64_t)
SEARCH_OF(i32, int32_t)
SEARCH_OF(u8, uint8_t) /* of bool too */

static void search_range(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const search_loop *l = arg;
    l->run(l, first, last);
}

static hd_status check_shapes(hd_ctx *cx, const hd_tensor *sorted, const hd_tensor *values) {
    char text[2][HD_SHAPE_TEXT];
    bool fits = sorted->ndim == 1 || (sorted->ndim > 1 && sorted->ndim == values->ndim);
    for (int d = 0; fits && sorted->ndim > 1 && d < sorted->ndim - 1; d++)
        fits = sorted->shape[d] == values->shape[d];
    if (fits) return HD_OK;
    return hd_fail(
        cx, HD_EARG,
        "sorted: expected a vector, or the values' shape but for the last dimension, got %s for %s",
        hd_tensor_shape_text(sorted, text[0]), hd_tensor_shape_text(values, text[1]));
}

hd_tensor *hd_searchsorted(hd_ctx *cx, hd_tensor *sorted, hd_tensor *values, bool right) {
    if (hd_check_computes(cx, sorted) || hd_check_computes(cx, values) || check_shapes(cx, sorted, values))
        return NULL;
    hd_dtype t = hd_dtype_promote((hd_dtype)sorted->dtype, (hd_dtype)values->dtype);
    hd_tensor *s = hd_contiguous_as(cx, sorted, t), *v = s ? hd_contiguous_as(cx, values, t) : NULL;
    hd_tensor *y = v ? hd_tensor_new(cx, HD_I64, values->ndim, values->shape) : NULL;
    if (y && hd_numel(y) > 0) {
        search_loop l = {.sorted = hd_data(s),
                         .values = hd_data(v),
                         .n = sorted->shape[sorted->ndim - 1],
                         .per_row = values->ndim ? values->shape[values->ndim - 1] : 1,
                         .shared = sorted->ndim == 1,
                         .y = hd_data(y),
                         .right = right};
        l.run = t == HD_F32   ? search_f32
                : t == HD_F64 ? search_f64
                : t == HD_I64 ? search_i64
                : t == HD_I32 ? search_i32
                              : search_u8;
        if (hd_parallel_ranges(cx, hd_numel(y), HD_GRAIN_HEAVY, search_range, &l)) {
            hd_release(y);
            y = NULL;
        }
    }
    hd_release(s);
    hd_release(v);
    return y;
}
