/* linspace.c: numbers at equal distances, both ends included; counted from the nearer end, so that both are met. */
#include <math.h>

#include "base/parallel.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/walk.h"
#include "ops/elementwise/element.h"

typedef struct linspace_loop {
    hd_dtype dtype; /* f32 or f64 */
    double first, last, step;
    int64_t count;
    void *y;
} linspace_loop;

/* In f64, whatever the result is. */
static inline double value_at(const linspace_loop *l, int64_t i) {
    double up = l->first + (double)i * l->step, down = l->last - (double)(l->count - 1 - i) * l->step;
    return i < l->count - i ? up : down;
}

static void fill_range(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const linspace_loop l = *(const linspace_loop *)arg;
    for (int64_t i = first; i < last; i++) hd_store(l.y, l.dtype, i, value_at(&l, i));
}

/* Integers take what is before the point, bool everything. */
static hd_status check_end(hd_ctx *cx, const char *name, double end, hd_dtype dtype) {
    int64_t element;
    if (!isfinite(end)) return hd_fail(cx, HD_EARG, "%s: expected a finite number, got %g", name, end);
    if (dtype == HD_BOOL) return HD_OK;
    return hd_scalar_store(cx, name, hd_scalar_f(hd_dtype_is_float(dtype) ? end : trunc(end)), dtype,
                           &element);
}

/* The distance of both ends may be more than f64 holds. */
static double step_of(double first, double last, int64_t count) {
    if (count < 2) return 0;
    double steps = (double)(count - 1), step = (last - first) / steps;
    return isfinite(step) ? step : last / steps - first / steps;
}

hd_tensor *hd_linspace(hd_ctx *cx, hd_dtype dtype, double first, double last, int64_t count) {
    if (check_end(cx, "first", first, dtype) || check_end(cx, "last", last, dtype)) return NULL;
    hd_dtype made = dtype == HD_F32 ? HD_F32 : HD_F64;
    hd_tensor *y = hd_tensor_new(cx, made, 1, &count);
    if (!y) return NULL;
    linspace_loop l = {made, first, last, step_of(first, last, count), count, hd_data(y)};
    hd_status status = hd_parallel_ranges(cx, count, HD_GRAIN_LIGHT, fill_range, &l);
    hd_tensor *result = status ? NULL : hd_cast(cx, y, dtype);
    hd_release(y);
    return result;
}
