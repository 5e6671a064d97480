/* create.c: tensors from nothing. Random ones take one draw each; element i is the same on any number of
 * threads. */
#include <math.h>

#include "base/parallel.h"
#include "ops/elementwise/inplace.h"
#include "ops/elementwise/scalar.h"

/* ---- filled ---------------------------------------------------------------------------------- */

hd_tensor *hd_full(hd_ctx *cx, hd_dtype dtype, int ndim, const int64_t *shape, hd_scalar value) {
    uint64_t element;
    if (hd_scalar_store(cx, "value", value, dtype, &element)) return NULL;
    hd_tensor *t = hd_tensor_new(cx, dtype, ndim, shape);
    if (t && hd_fill_data(cx, t, &element)) {
        hd_release(t);
        return NULL;
    }
    return t;
}

hd_tensor *hd_eye(hd_ctx *cx, hd_dtype dtype, int64_t n, int64_t m) {
    uint64_t one;
    if (hd_scalar_store(cx, "value", hd_scalar_i(1), dtype, &one)) return NULL;
    hd_tensor *t = hd_tensor_zeros(cx, dtype, 2, (int64_t[]){n, m});
    if (!t) return NULL;
    hd_tensor diagonal = *t; /* a header for the fill alone */
    diagonal.ndim = 1;
    diagonal.shape[0] = n < m ? n : m;
    diagonal.stride[0] = m + 1;
    if (hd_fill_data(cx, &diagonal, &one)) {
        hd_release(t);
        return NULL;
    }
    return t;
}

/* ---- range ----------------------------------------------------------------------------------- */

static hd_status count_integers(hd_ctx *cx, int64_t first, int64_t last, int64_t step, int64_t *count) {
    if (step > 0 ? first > last : first < last) {
        *count = 0;
        return HD_OK;
    }
    uint64_t distance = step > 0 ? (uint64_t)last - (uint64_t)first : (uint64_t)first - (uint64_t)last;
    uint64_t stride = step > 0 ? (uint64_t)step : -(uint64_t)step;
    if (distance / stride >= INT64_MAX)
        return hd_fail(cx, HD_EARG, "range: more elements than memory can hold");
    *count = (int64_t)(distance / stride) + 1;
    return HD_OK;
}

/* 0 to 0.3 by 0.1 has four elements: the last one may be missed by rounding alone. */
static hd_status count_floats(hd_ctx *cx, double first, double last, double step, int64_t *count) {
    if (!isfinite(first) || !isfinite(last) || !isfinite(step))
        return hd_fail(cx, HD_EARG, "range: expected finite ends and a finite step, got %g, %g, %g", first,
                       last, step);
    double distance = last - first, steps = isfinite(distance) ? distance / step : last / step - first / step;
    steps = floor(steps + 1e-10 * (1 + fabs(steps)));
    if (steps >= 0x1p62) return hd_fail(cx, HD_EARG, "range: more elements than memory can hold");
    *count = steps < 0 ? 0 : (int64_t)steps + 1;
    return HD_OK;
}

/* No element is beyond the last; i steps may be more than f64 holds when first is their half. */
static double step_to(double first, double last, double step, int64_t i) {
    double steps = (double)i * step;
    double v = isfinite(steps) ? first + steps : (first / 2 + (double)i * (step / 2)) * 2;
    return step > 0 ? fmin(v, last) : fmax(v, last);
}

hd_tensor *hd_range(hd_ctx *cx, hd_dtype dtype, hd_scalar first, hd_scalar last, hd_scalar step) {
    int64_t count;
    bool whole = first.is_integer && last.is_integer && step.is_integer;
    if (step.f == 0) return hd_fail_null(cx, HD_EARG, "step: expected a number other than 0, got 0");
    if (whole ? count_integers(cx, first.i, last.i, step.i, &count)
              : count_floats(cx, first.f, last.f, step.f, &count))
        return NULL;
    hd_tensor *t = hd_tensor_new(cx, dtype, 1, &count);
    if (!t) return NULL;
    char *data = hd_data(t);
    size_t size = hd_dtype_size(dtype);
    for (int64_t i = 0; i < count; i++) {
        hd_scalar v = whole ? hd_scalar_i((int64_t)((uint64_t)first.i + (uint64_t)i * (uint64_t)step.i))
                            : hd_scalar_f(step_to(first.f, last.f, step.f, i));
        if (hd_scalar_store(cx, "range", v, dtype, data + (size_t)i * size)) {
            hd_release(t);
            return NULL;
        }
    }
    return t;
}

/* ---- random ---------------------------------------------------------------------------------- */

#define DRAW_GRAIN 8192

typedef void (*draw_fn)(hd_draw draw, int64_t first, int64_t n, double p, double q, void *y);

typedef struct draw_loop {
    draw_fn f;
    hd_draw draw;
    double p, q;
    char *y;
    size_t size;
} draw_loop;

static void draw_range(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const draw_loop *l = arg;
    l->f(l->draw, first, last - first, l->p, l->q, l->y + (size_t)first * l->size);
}

static hd_status check_float(hd_ctx *cx, hd_dtype dtype) {
    if (dtype == HD_F32 || dtype == HD_F64) return HD_OK;
    return hd_fail(cx, HD_EARG, "dtype: expected f32 or f64, got %s", hd_dtype_name(dtype));
}

/* t is contiguous. */
static hd_status draw_into(hd_ctx *cx, hd_rng *rng, hd_tensor *t, draw_fn f, double p, double q) {
    draw_loop l = {f, hd_rng_take(rng ? rng : &cx->rng), p, q, hd_data(t), hd_dtype_size((hd_dtype)t->dtype)};
    return hd_parallel_ranges(cx, hd_numel(t), DRAW_GRAIN, draw_range, &l);
}

static hd_tensor *drawn(hd_ctx *cx, hd_rng *rng, hd_dtype dtype, int ndim, const int64_t *shape, draw_fn f,
                        double p, double q) {
    hd_tensor *t = hd_tensor_new(cx, dtype, ndim, shape);
    if (t && draw_into(cx, rng, t, f, p, q)) {
        hd_release(t);
        return NULL;
    }
    return t;
}

hd_tensor *hd_rand(hd_ctx *cx, hd_rng *rng, hd_dtype dtype, int ndim, const int64_t *shape) {
    if (check_float(cx, dtype)) return NULL;
    return drawn(cx, rng, dtype, ndim, shape, cx->kernels->uniform[dtype], 0, 1);
}

hd_tensor *hd_randn(hd_ctx *cx, hd_rng *rng, hd_dtype dtype, int ndim, const int64_t *shape) {
    if (check_float(cx, dtype)) return NULL;
    return drawn(cx, rng, dtype, ndim, shape, cx->kernels->normal[dtype], 0, 1);
}

static hd_status draw_over(hd_ctx *cx, hd_rng *rng, hd_tensor *t, draw_fn f, double p, double q) {
    if (hd_check_inplace(cx, t)) return cx->error.status;
    if (t->requires_grad || !hd_is_contiguous(t))
        return hd_become(cx, t, drawn(cx, rng, (hd_dtype)t->dtype, t->ndim, t->shape, f, p, q));
    hd_status status = draw_into(cx, rng, t, f, p, q);
    hd_wrote(t);
    return status;
}

static hd_status check_finite(hd_ctx *cx, const char *name, double value, const hd_tensor *t) {
    float room[2];
    if (!isfinite(value)) return hd_fail(cx, HD_EARG, "%s: expected a finite number, got %g", name, value);
    return hd_scalar_store(cx, name, hd_scalar_f(value), (hd_dtype)t->dtype, room);
}

/* Does [low, high) have a number of f32? That of low alone is low, rounded. */
static hd_status check_holds_some(hd_ctx *cx, double low, double high) {
    float next = (float)low < low ? nextafterf((float)low, INFINITY) : (float)low;
    if (next < high || low == high) return HD_OK;
    return hd_fail(cx, HD_EARG, "low, high: expected a range that has a number of f32, got %.17g to %.17g",
                   low, high);
}

hd_status hd_uniform_(hd_ctx *cx, hd_rng *rng, hd_tensor *t, double low, double high) {
    if (check_float(cx, (hd_dtype)t->dtype) || check_finite(cx, "low", low, t) ||
        check_finite(cx, "high", high, t) || (t->dtype == HD_F32 && check_holds_some(cx, low, high)))
        return cx->error.status;
    return draw_over(cx, rng, t, cx->kernels->uniform[t->dtype], low, high);
}

hd_status hd_normal_(hd_ctx *cx, hd_rng *rng, hd_tensor *t, double mean, double std) {
    if (check_float(cx, (hd_dtype)t->dtype) || check_finite(cx, "mean", mean, t) ||
        check_finite(cx, "std", std, t))
        return cx->error.status;
    return draw_over(cx, rng, t, cx->kernels->normal[t->dtype], mean, std);
}

/* 64 bits for element i of a draw. */
static uint64_t draw_u64(hd_draw draw, uint64_t i) {
    uint32_t words[4];
    hd_philox(draw, i / 2, words);
    return (uint64_t)words[i % 2 * 2] << 32 | words[i % 2 * 2 + 1];
}

/* Multiply and keep the high half: no value is likelier than another by more than span / 2^64. */
static uint64_t draw_below(hd_draw draw, uint64_t i, uint64_t span) {
    return (uint64_t)((unsigned __int128)draw_u64(draw, i) * span >> 64);
}

typedef struct integer_loop {
    hd_draw draw;
    int64_t low;
    uint64_t span; /* 0: all of 2^64 */
    int64_t *y;
} integer_loop;

static void draw_integers(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const integer_loop *l = arg;
    for (int64_t i = first; i < last; i++) {
        uint64_t above = l->span ? draw_below(l->draw, (uint64_t)i, l->span) : draw_u64(l->draw, (uint64_t)i);
        l->y[i] = (int64_t)((uint64_t)l->low + above);
    }
}

hd_tensor *hd_randint(hd_ctx *cx, hd_rng *rng, int64_t low, int64_t high, int ndim, const int64_t *shape) {
    if (low > high)
        return hd_fail_null(cx, HD_EARG, "high: expected at least low (%lld), got %lld", (long long)low,
                            (long long)high);
    hd_tensor *t = hd_tensor_new(cx, HD_I64, ndim, shape);
    if (!t) return NULL;
    integer_loop l = {hd_rng_take(rng ? rng : &cx->rng), low, (uint64_t)high - (uint64_t)low + 1, hd_data(t)};
    if (hd_parallel_ranges(cx, hd_numel(t), DRAW_GRAIN, draw_integers, &l)) {
        hd_release(t);
        return NULL;
    }
    return t;
}

hd_tensor *hd_randperm(hd_ctx *cx, hd_rng *rng, int64_t n) {
    hd_tensor *t = hd_tensor_new(cx, HD_I64, 1, &n);
    if (!t) return NULL;
    hd_draw draw = hd_rng_take(rng ? rng : &cx->rng);
    int64_t *y = hd_data(t);
    for (int64_t i = 0; i < n; i++) { /* Fisher and Yates, inside out */
        if (hd_check_cancel(cx, i)) {
            hd_release(t);
            return NULL;
        }
        int64_t j = (int64_t)draw_below(draw, (uint64_t)i, (uint64_t)i + 1);
        y[i] = y[j];
        y[j] = i + 1;
    }
    return t;
}
