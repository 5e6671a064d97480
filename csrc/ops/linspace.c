/* linspace.c: numbers at equal distances, both ends included; counted from the nearer end, so that both are met. */
#include "base/parallel.h"
#include "ops/internal.h"

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
    if (l.dtype == HD_F32)
        for (int64_t i = first; i < last; i++) ((float *)l.y)[i] = (float)value_at(&l, i);
    else
        for (int64_t i = first; i < last; i++) ((double *)l.y)[i] = value_at(&l, i);
}

hd_tensor *hd_linspace(hd_ctx *cx, hd_dtype dtype, double first, double last, int64_t count) {
    hd_dtype made = dtype == HD_F32 ? HD_F32 : HD_F64;
    hd_tensor *y = hd_tensor_new(cx, made, 1, &count);
    if (!y) return NULL;
    linspace_loop l = {made,  first,     last, count > 1 ? (last - first) / (double)(count - 1) : 0,
                       count, hd_data(y)};
    hd_status status = hd_parallel_ranges(cx, count, HD_GRAIN_LIGHT, fill_range, &l);
    hd_tensor *result = status ? NULL : hd_cast(cx, y, dtype);
    hd_release(y);
    return result;
}
