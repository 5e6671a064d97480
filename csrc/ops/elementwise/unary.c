/* unary.c: y = f(x), element by element; kernels/tables/unary.h has a row for each f.
 *
 *     dx = g f'(x), by the kernel unary_grad of the same name from x or, where it is cheaper, from y. At 0, abs and relu
 *     give 0 (of what relu saves the sign is all that counts), sqrt infinity.
 */
#include <float.h>
#include <math.h>

#include "ops/elementwise/cast.h"
#include "ops/elementwise/inplace.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/walk.h"
#include "ops/gradient.h"

static hd_status unary_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs);

static const hd_node_class classes[HD_UNARY_COUNT] = {
#define HD_ROW(op, kernel, name, ...) [op] = {name, unary_backward, NULL},
#include "kernels/tables/unary.h"
};

/* y = f(x)  ->  dx = g f'(saved) */
static hd_tensor *by_kernel(hd_ctx *cx, hd_node *node, hd_unary op, hd_tensor *g) {
    hd_tensor *saved = hd_node_saved(cx, node, 0);
    hd_tensor *dx = saved ? hd_tensor_like(cx, saved) : NULL;
    if (!dx) return NULL;
    hd_unary_grad_fn kernel = cx->kernels->unary_grad[op][dx->dtype];
    if (!hd_apply_binary(cx, kernel, hd_unary_rows[op].grain, dx, g, saved)) return dx;
    hd_release(dx);
    return NULL;
}

static hd_status unary_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    hd_unary op = (hd_unary)(node->class - classes);
    hd_tensor *g = grads[0];
    if (!g) return HD_OK;
    switch (hd_unary_rows[op].slope) {
    case HD_SAVES_INPUT:
    case HD_SAVES_OUTPUT: grad_inputs[0] = by_kernel(cx, node, op, g); break;
    case HD_SLOPE_1: grad_inputs[0] = hd_retain(g); break;
    case HD_SLOPE_NEG_1: grad_inputs[0] = hd_unary_op(cx, HD_NEG, g); break;
    case HD_SLOPE_0:
    case HD_NO_SLOPE: grad_inputs[0] = hd_zero_for_input(cx, node, 0); break;
    }
    return hd_made(cx, grad_inputs[0]);
}

static hd_status types(hd_ctx *cx, hd_unary op, const hd_tensor *x, hd_dtype *compute, hd_dtype *result) {
    hd_dtype t = (hd_dtype)x->dtype;
    if (hd_check_computes(cx, x)) return cx->error.status;
    if (op == HD_NEG && t == HD_BOOL)
        return hd_fail(cx, HD_EARG, "dtype: a bool tensor has no negative; logical_not inverts it");
    if (hd_unary_rows[op].result == HD_TO_BOOL) {
        *compute = cx->kernels->unary[op][t] ? t : HD_F64;
        *result = HD_BOOL;
    } else if (hd_dtype_is_float(t)) {
        *compute = *result = t;
    } else if (hd_unary_rows[op].result == HD_WHOLE) {
        *compute = *result = t == HD_BOOL ? HD_I64 : t;
    } else {
        *compute = *result = HD_F32;
    }
    return HD_OK;
}

static hd_tensor *compute_unary(hd_ctx *cx, hd_unary op, hd_tensor *x, hd_dtype compute, hd_dtype result) {
    hd_tensor *from = hd_as_dtype(cx, x, compute);
    hd_tensor *y = from ? hd_tensor_new(cx, result, x->ndim, x->shape) : NULL;
    if (y && hd_apply_unary(cx, cx->kernels->unary[op][compute], hd_unary_rows[op].grain, y, from)) {
        hd_release(y);
        y = NULL;
    }
    hd_release(from);
    return y;
}

hd_tensor *hd_unary_op(hd_ctx *cx, hd_unary op, hd_tensor *x) {
    hd_dtype compute = HD_F32, result = HD_F32;
    if (types(cx, op, x, &compute, &result)) return NULL;
    hd_tensor *y = compute_unary(cx, op, x, compute, result);
    if (!y || !x->requires_grad || !hd_dtype_is_float(result)) return y;
    hd_slope slope = hd_unary_rows[op].slope;
    hd_tensor *save = slope == HD_SAVES_INPUT ? x : slope == HD_SAVES_OUTPUT ? y : NULL;
    return hd_record(cx, &classes[op], y, 1, &x, 1, &save, NULL, 0);
}

hd_status hd_unary_(hd_ctx *cx, hd_unary op, hd_tensor *t) {
    hd_dtype compute = HD_F32, result = HD_F32;
    if (hd_check_inplace(cx, t) || types(cx, op, t, &compute, &result) ||
        hd_check_holds(cx, (hd_dtype)t->dtype, result))
        return cx->error.status;
    if (hd_wants_grad(cx, 1, &t)) {
        hd_tensor *former = hd_former(cx, t);
        if (!former) return cx->error.status;
        hd_tensor *y = hd_unary_op(cx, op, former);
        hd_release(former);
        return hd_become(cx, t, y);
    }
    if (compute != (hd_dtype)t->dtype || result != compute || !cx->kernels->unary[op][compute])
        return hd_become(cx, t, hd_unary_op(cx, op, t));
    hd_status status = hd_apply_unary(cx, cx->kernels->unary[op][compute], hd_unary_rows[op].grain, t, t);
    hd_wrote(t);
    return status;
}

/* ---- decimals: flat, so without a gradient of its own ---------------------------------------- */

static hd_status round_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    if (grads[0]) grad_inputs[0] = hd_zero_for_input(cx, node, 0); /* y = round(x)  ->  dx = 0 */
    return grads[0] ? hd_made(cx, grad_inputs[0]) : HD_OK;
}
static const hd_node_class round_class = {"round", round_backward, NULL};

typedef struct rounding {
    hd_binary_fn up, down;
    hd_unary_fn round;
    hd_dtype dtype;
    uint64_t scale; /* an element */
} rounding;

/* What is beyond the range with its decimals has none, and stays. p: y, x */
#define KEEP_HUGE(type, size_of, most)                                                                       \
    static void keep_huge_##type(int64_t n, char *const *p, const int64_t *s) {                              \
        type *y = (type *)p[0];                                                                              \
        const type *x = (const type *)p[1];                                                                  \
        for (int64_t i = 0; i < n; i++)                                                                      \
            y[i * s[0]] = size_of(y[i * s[0]]) <= most ? y[i * s[0]] : x[i * s[1]];                          \
    }
KEEP_HUGE(float, fabsf, FLT_MAX)
KEEP_HUGE(double, fabs, DBL_MAX)

enum { ROUND_RUN = 1024 }; /* what is computed in three steps stays in the nearest cache */

static void run_round(const void *arg, int64_t n, char *const *p, const int64_t *s) {
    const rounding *r = arg;
    r->up(n, p[1], s[1], &r->scale, 0, p[0], s[0]);
    r->round(n, p[0], s[0], p[0], s[0]);
    r->down(n, p[0], s[0], &r->scale, 0, p[0], s[0]);
    (r->dtype == HD_F32 ? keep_huge_float : keep_huge_double)(n, p, s);
}

/* x f32 or f64. */
static hd_tensor *round_floats(hd_ctx *cx, hd_tensor *x, int decimals) {
    const hd_kernels *k = cx->kernels;
    hd_binary up = decimals < 0 ? HD_DIV : HD_MUL, down = decimals < 0 ? HD_MUL : HD_DIV;
    rounding r = {k->binary[up][x->dtype], k->binary[down][x->dtype], k->unary[HD_ROUND][x->dtype],
                  (hd_dtype)x->dtype, 0};
    hd_scalar scale = hd_scalar_f(pow(10, decimals < 0 ? -decimals : decimals));
    hd_tensor *y = hd_tensor_like(cx, x);
    if (!y) return NULL;
    hd_walk w;
    hd_walk_begin(&w, y->ndim, y->shape);
    hd_walk_add(&w, y);
    hd_walk_add(&w, x);
    w.run = run_round;
    w.arg = &r;
    w.max_run = ROUND_RUN;
    if (!hd_scalar_store(cx, "decimals", scale, (hd_dtype)x->dtype, &r.scale) && !hd_walk_run(cx, &w))
        return y;
    hd_release(y);
    return NULL;
}

/* To a multiple of unit, half to the even one; what is beyond 64 bits becomes their end. */
static int64_t round_to(int64_t x, __int128 unit) {
    __int128 rest = x % unit, down = x - rest, twice = rest < 0 ? -2 * rest : 2 * rest;
    bool away = twice > unit || (twice == unit && down / unit % 2 != 0);
    __int128 y = away ? down + (x < 0 ? -unit : unit) : down;
    return y > INT64_MAX ? INT64_MAX : y < INT64_MIN ? INT64_MIN : (int64_t)y;
}

static const __int128 *unit_of(int zeros, __int128 *unit) {
    for (*unit = 1; zeros > 0; zeros--) *unit *= 10;
    return unit;
}

/* p: y, x */
static void run_round_whole(const void *unit, int64_t n, char *const *p, const int64_t *s) {
    for (int64_t i = 0; i < n; i++)
        ((int64_t *)p[0])[i * s[0]] = round_to(((const int64_t *)p[1])[i * s[1]], *(const __int128 *)unit);
}

/* x of integers or bool to a multiple of 10^zeros, in its dtype (bool: i64). */
static hd_tensor *round_whole(hd_ctx *cx, hd_tensor *x, int zeros) {
    hd_dtype t = x->dtype == HD_BOOL ? HD_I64 : (hd_dtype)x->dtype;
    hd_tensor *wide = hd_as_dtype(cx, x, HD_I64);
    hd_tensor *y = wide ? hd_tensor_new(cx, HD_I64, x->ndim, x->shape) : NULL;
    __int128 unit;
    hd_walk w;
    if (y) {
        hd_walk_begin(&w, y->ndim, y->shape);
        hd_walk_add(&w, y);
        hd_walk_add(&w, wide);
        w.run = run_round_whole;
        w.arg = unit_of(zeros < 20 ? zeros : 20, &unit); /* of 20 zeros the nearest is 0 */
    }
    bool ok = y && !hd_walk_run(cx, &w);
    hd_tensor *held = ok && t != HD_I64 ? hd_cast(cx, y, HD_F64) : NULL; /* its cast saturates */
    hd_tensor *result = !ok ? NULL : held ? hd_cast(cx, held, t) : t == HD_I64 ? hd_retain(y) : NULL;
    hd_release(wide);
    hd_release(y);
    hd_release(held);
    return result;
}

/* y = round(x 10^decimals) / 10^decimals */
hd_tensor *hd_round_decimals(hd_ctx *cx, hd_tensor *x, int decimals) {
    if (hd_check_computes(cx, x)) return NULL;
    bool is_float = hd_dtype_is_float((hd_dtype)x->dtype);
    if (decimals == 0 || (!is_float && decimals > 0)) return hd_unary_op(cx, HD_ROUND, x);
    if (!is_float) return round_whole(cx, x, -decimals);
    hd_tensor *y = round_floats(cx, x, decimals);
    return hd_record(cx, &round_class, y, 1, &x, 0, NULL, NULL, 0);
}

hd_status hd_round_decimals_(hd_ctx *cx, hd_tensor *t, int decimals) {
    if (hd_check_inplace(cx, t)) return cx->error.status;
    hd_tensor *source = hd_inplace_source(cx, t);
    hd_tensor *y = source ? hd_round_decimals(cx, source, decimals) : NULL;
    hd_release(source);
    if (y && hd_check_holds(cx, (hd_dtype)t->dtype, (hd_dtype)y->dtype)) {
        hd_release(y);
        y = NULL;
    }
    return hd_become(cx, t, y);
}
