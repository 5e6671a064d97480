/* unary.c: y = f(x), element by element.
 *
 *     dx = g f'(x), by the kernel unary_grad of the same name from x or, where it is cheaper, from y
 *     (exp, expm1, sqrt, rsqrt, tanh, sigmoid, and relu, whose sign is all that counts). At 0, abs and relu give 0,
 *     sqrt infinity. sign and the roundings give zero everywhere,
 *     frac, which is x - trunc(x), passes g on.
 *
 * Integers stay what they are where f keeps them whole (neg abs sign square relu, the roundings; bool becomes i64), and
 * become f32 elsewhere. logical_not, isnan, isinf and isfinite give bool and no gradient.
 */
#include <math.h>

#include "ops/elementwise/cast.h"
#include "ops/elementwise/inplace.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/walk.h"
#include "ops/gradient.h"

static hd_status unary_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs);

#define CLASS(name)                                                                                          \
    { name, unary_backward, NULL }
static const hd_node_class classes[HD_UNARY_COUNT] = {
    [HD_NEG] = CLASS("neg"),           [HD_ABS] = CLASS("abs"),
    [HD_SIGN] = CLASS("sign"),         [HD_SQUARE] = CLASS("square"),
    [HD_SQRT] = CLASS("sqrt"),         [HD_RSQRT] = CLASS("rsqrt"),
    [HD_EXP] = CLASS("exp"),           [HD_EXPM1] = CLASS("expm1"),
    [HD_LOG1P] = CLASS("log1p"),       [HD_LOG] = CLASS("log"),
    [HD_SIN] = CLASS("sin"),           [HD_COS] = CLASS("cos"),
    [HD_TANH] = CLASS("tanh"),         [HD_SIGMOID] = CLASS("sigmoid"),
    [HD_ERF] = CLASS("erf"),           [HD_RELU] = CLASS("relu"),
    [HD_GELU] = CLASS("gelu"),         [HD_GELU_TANH] = CLASS("gelu"),
    [HD_GELU_SIGMOID] = CLASS("gelu"), [HD_SILU] = CLASS("silu"),
    [HD_SOFTPLUS] = CLASS("softplus"), [HD_FLOOR] = CLASS("floor"),
    [HD_CEIL] = CLASS("ceil"),         [HD_TRUNC] = CLASS("trunc"),
    [HD_FRAC] = CLASS("frac"),         [HD_ISINF] = CLASS("isinf"),
    [HD_ROUND] = CLASS("round"),       [HD_LOGICAL_NOT] = CLASS("logical_not"),
    [HD_ISNAN] = CLASS("isnan"),       [HD_ISFINITE] = CLASS("isfinite"),
};

static bool gives_bool(hd_unary op) {
    return op == HD_LOGICAL_NOT || op == HD_ISNAN || op == HD_ISINF || op == HD_ISFINITE;
}

static bool rounds(hd_unary op) {
    return op == HD_FLOOR || op == HD_CEIL || op == HD_TRUNC || op == HD_ROUND;
}

static bool keeps_whole(hd_unary op) {
    return op == HD_NEG || op == HD_ABS || op == HD_SIGN || op == HD_SQUARE || op == HD_RELU ||
           op == HD_FRAC || rounds(op);
}

static bool saves_output(hd_unary op) {
    return op == HD_EXP || op == HD_EXPM1 || op == HD_SQRT || op == HD_RSQRT || op == HD_TANH ||
           op == HD_SIGMOID || op == HD_RELU;
}

static bool is_flat(hd_unary op) {
    return op == HD_SIGN || rounds(op);
}

static bool saves_nothing(hd_unary op) {
    return is_flat(op) || op == HD_NEG || op == HD_FRAC;
}

static int64_t grain_of(hd_unary op) {
    switch (op) {
    case HD_RSQRT:
    case HD_EXP:
    case HD_EXPM1:
    case HD_LOG:
    case HD_LOG1P:
    case HD_SIN:
    case HD_COS:
    case HD_TANH:
    case HD_SIGMOID:
    case HD_ERF:
    case HD_GELU:
    case HD_GELU_TANH:
    case HD_GELU_SIGMOID:
    case HD_SOFTPLUS:
    case HD_SILU: return HD_GRAIN_HEAVY;
    default: return HD_GRAIN_LIGHT;
    }
}

/* y = f(x)  ->  dx = g f'(x) */
static hd_status unary_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    hd_unary op = (hd_unary)(node->class - classes);
    hd_tensor *g = grads[0];
    if (!g) return HD_OK;
    if (saves_nothing(op)) {
        grad_inputs[0] = op == HD_FRAC  ? hd_retain(g)
                         : op == HD_NEG ? hd_unary_op(cx, HD_NEG, g)
                                        : hd_zero_for_input(cx, node, 0);
        return hd_made(cx, grad_inputs[0]);
    }
    hd_tensor *saved = hd_node_saved(cx, node, 0);
    hd_tensor *dx = saved ? hd_tensor_like(cx, saved) : NULL;
    if (!dx) return cx->error.status;
    if (hd_apply_binary(cx, cx->kernels->unary_grad[op][dx->dtype], grain_of(op), dx, g, saved)) {
        hd_release(dx);
        return cx->error.status;
    }
    grad_inputs[0] = dx;
    return HD_OK;
}

static hd_status types(hd_ctx *cx, hd_unary op, const hd_tensor *x, hd_dtype *compute, hd_dtype *result) {
    hd_dtype t = (hd_dtype)x->dtype;
    if (hd_check_computes(cx, x)) return cx->error.status;
    if (op == HD_NEG && t == HD_BOOL)
        return hd_fail(cx, HD_EARG, "dtype: a bool tensor has no negative; logical_not inverts it");
    if (gives_bool(op)) {
        *compute = cx->kernels->unary[op][t] ? t : HD_F64;
        *result = HD_BOOL;
    } else if (hd_dtype_is_float(t)) {
        *compute = *result = t;
    } else if (keeps_whole(op)) {
        *compute = *result = t == HD_BOOL ? HD_I64 : t;
    } else {
        *compute = *result = HD_F32;
    }
    return HD_OK;
}

static hd_tensor *compute_unary(hd_ctx *cx, hd_unary op, hd_tensor *x, hd_dtype compute, hd_dtype result) {
    hd_tensor *from = hd_as_dtype(cx, x, compute);
    hd_tensor *y = from ? hd_tensor_new(cx, result, x->ndim, x->shape) : NULL;
    if (y && hd_apply_unary(cx, cx->kernels->unary[op][compute], grain_of(op), y, from)) {
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
    hd_tensor *save = saves_nothing(op) ? NULL : saves_output(op) ? y : x;
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
    hd_status status = hd_apply_unary(cx, cx->kernels->unary[op][compute], grain_of(op), t, t);
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
    uint64_t scale; /* an element */
} rounding;

enum { ROUND_RUN = 1024 }; /* what is computed in three steps stays in the nearest cache */

static void run_round(const void *arg, int64_t n, char *const *p, const int64_t *s) {
    const rounding *r = arg;
    r->up(n, p[1], s[1], &r->scale, 0, p[0], s[0]);
    r->round(n, p[0], s[0], p[0], s[0]);
    r->down(n, p[0], s[0], &r->scale, 0, p[0], s[0]);
}

/* x f32 or f64. */
static hd_tensor *round_floats(hd_ctx *cx, hd_tensor *x, int decimals) {
    const hd_kernels *k = cx->kernels;
    hd_binary up = decimals < 0 ? HD_DIV : HD_MUL, down = decimals < 0 ? HD_MUL : HD_DIV;
    rounding r = {k->binary[up][x->dtype], k->binary[down][x->dtype], k->unary[HD_ROUND][x->dtype], 0};
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

/* y = round(x 10^decimals) / 10^decimals */
hd_tensor *hd_round_decimals(hd_ctx *cx, hd_tensor *x, int decimals) {
    if (hd_check_computes(cx, x)) return NULL;
    bool is_float = hd_dtype_is_float((hd_dtype)x->dtype);
    if (decimals == 0 || (!is_float && decimals > 0)) return hd_unary_op(cx, HD_ROUND, x);
    hd_tensor *exact = is_float ? hd_retain(x) : hd_cast(cx, x, HD_F64);
    hd_tensor *y = exact ? round_floats(cx, exact, decimals) : NULL;
    hd_release(exact);
    if (y && !is_float) {
        hd_tensor *whole = hd_cast(cx, y, x->dtype == HD_BOOL ? HD_I64 : (hd_dtype)x->dtype);
        hd_release(y);
        return whole;
    }
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
