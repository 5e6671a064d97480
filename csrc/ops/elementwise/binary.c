/* binary.c: y = a op b, element by element, broadcasting.
 *
 * The operands are promoted to one dtype first (PyTorch's lattice; Lua numbers are weak, scalar.c), the
 * gradients are summed to the operands' shapes. `/` of integers gives f32, comparisons and logic give bool.
 * Integers divided by zero with // or %, or raised to a negative power, are errors; floats follow IEEE 754.
 */
#include <math.h>

#include "ops/elementwise/cast.h"
#include "ops/elementwise/chain.h"
#include "ops/elementwise/inplace.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/ternary.h"
#include "ops/elementwise/walk.h"
#include "ops/gradient.h"

static hd_status tensor_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs);
static hd_status scalar_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs);

static const hd_node_class tensor_classes[HD_BINARY_COUNT] = {
#define HD_ROW(op, kernel, name, ...) [op] = {name, tensor_backward, NULL},
#include "kernels/tables/binary.h"
};
static const hd_node_class scalar_classes[HD_BINARY_COUNT] = {
#define HD_ROW(op, kernel, name, ...) [op] = {name, scalar_backward, NULL},
#include "kernels/tables/binary.h"
};

/* ---- dtypes ---------------------------------------------------------------------------------- */

static bool compares(hd_binary op) {
    return hd_binary_rows[op].sort == HD_COMPARISON;
}
static bool is_logic(hd_binary op) {
    return hd_binary_rows[op].sort == HD_LOGIC;
}
static bool divides(hd_binary op) {
    return op == HD_MOD || op == HD_FLOORDIV;
}

/* Integers that are only stored are compared, as i64. */
static hd_status check_operand(hd_ctx *cx, hd_binary op, const hd_tensor *t) {
    if (compares(op) && hd_dtype_is_stored_integer((hd_dtype)t->dtype)) return HD_OK;
    return hd_check_computes(cx, t);
}

/* Integers have no result for some operands of these. */
static bool is_partial(hd_binary op, hd_dtype t) {
    return hd_binary_rows[op].sort == HD_CHECKED && hd_dtype_is_integer(t);
}

typedef struct plan {
    hd_dtype compute, result;
    hd_binary_fn kernel;
    int64_t grain;
} plan;

static hd_status make_plan(hd_ctx *cx, hd_binary op, hd_dtype promoted, plan *p) {
    if (op == HD_SUB && promoted == HD_BOOL)
        return hd_fail(cx, HD_EARG,
                       "dtype: bool tensors are not subtracted; logical_xor tells where they differ");
    p->compute = promoted;
    if (is_logic(op))
        p->compute = HD_BOOL;
    else if (hd_binary_rows[op].sort == HD_DIVISION && !hd_dtype_is_float(promoted))
        p->compute = HD_F32;
    else if (!cx->kernels->binary[op][promoted])
        p->compute = HD_I64;
    p->result = compares(op) || is_logic(op) ? HD_BOOL : p->compute;
    p->kernel = cx->kernels->binary[op][p->compute];
    p->grain = hd_binary_rows[op].grain;
    return HD_OK;
}

/* ---- integers that have no result ------------------------------------------------------------ */

static hd_status any_element(hd_ctx *cx, hd_tensor *flags, bool *any) {
    hd_tensor *r = flags ? hd_reduce(cx, HD_ANY, flags, HD_ALL_DIMS, false) : NULL;
    hd_release(flags);
    if (!r) return cx->error.status;
    *any = *(const uint8_t *)hd_data(r);
    hd_release(r);
    return HD_OK;
}

static hd_status check_integers(hd_ctx *cx, hd_binary op, hd_tensor *b) {
    bool bad = false;
    if (divides(op)) {
        if (any_element(cx, hd_binary_scalar(cx, HD_EQ, b, hd_scalar_i(0), false), &bad))
            return cx->error.status;
        if (bad) return hd_fail(cx, HD_EARG, "division by zero");
    } else if (op == HD_POW) {
        if (any_element(cx, hd_binary_scalar(cx, HD_LT, b, hd_scalar_i(0), false), &bad))
            return cx->error.status;
        if (bad) return hd_fail(cx, HD_EARG, "exponent: expected 0 or more for integers, got a negative one");
    }
    return HD_OK;
}

static hd_status check_integer(hd_ctx *cx, hd_binary op, int64_t b) {
    if (divides(op) && b == 0) return hd_fail(cx, HD_EARG, "division by zero");
    if (op == HD_POW && b < 0)
        return hd_fail(cx, HD_EARG, "exponent: expected 0 or more for integers, got %lld", (long long)b);
    return HD_OK;
}

/* ---- on tensors of one dtype ------------------------------------------------------------------ */

static hd_tensor *compute(hd_ctx *cx, const plan *p, hd_tensor *a, hd_tensor *b) {
    if (hd_same_shape(a, b)) {
        hd_tensor *y = hd_tensor_new(cx, p->result, a->ndim, a->shape);
        if (y && hd_apply_binary(cx, p->kernel, p->grain, y, a, b)) {
            hd_release(y);
            return NULL;
        }
        return y;
    }
    int ndim;
    int64_t shape[HD_MAX_DIMS];
    if (hd_broadcast_shape(cx, a, b, &ndim, shape)) return NULL;
    hd_tensor *y = hd_tensor_new(cx, p->result, ndim, shape);
    if (y && hd_apply_binary(cx, p->kernel, p->grain, y, a, b)) {
        hd_release(y);
        return NULL;
    }
    return y;
}

static hd_tensor *gradient_of(hd_ctx *cx, const hd_binary_fn *kernels, hd_tensor *g, hd_tensor *b) {
    hd_dtype t = hd_dtype_promote((hd_dtype)g->dtype, (hd_dtype)b->dtype);
    plan p = {t, t, kernels[t], HD_GRAIN_LIGHT};
    hd_tensor *wide_g = hd_as_dtype(cx, g, t);
    hd_tensor *wide_b = wide_g ? hd_as_dtype(cx, b, t) : NULL;
    hd_tensor *y = wide_b ? compute(cx, &p, wide_g, wide_b) : NULL;
    hd_release(wide_g);
    hd_release(wide_b);
    return y;
}

hd_tensor *hd_gradient_mul(hd_ctx *cx, hd_tensor *g, hd_tensor *b) {
    return gradient_of(cx, cx->kernels->gradient_mul, g, b);
}

hd_tensor *hd_gradient_div(hd_ctx *cx, hd_tensor *g, hd_tensor *b) {
    return gradient_of(cx, cx->kernels->gradient_div, g, b);
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* y = max(a, b)  ->  da = g where a > b, g/2 where they are equal, 0 elsewhere; min alike */
static hd_tensor *d_extremum(hd_ctx *cx, hd_binary op, hd_tensor *g, hd_tensor *a, hd_tensor *b) {
    hd_tensor *half = hd_binary_scalar(cx, HD_MUL, g, hd_scalar_f(0.5), false);
    hd_tensor *equal = half ? hd_binary_op(cx, HD_EQ, a, b) : NULL;
    hd_tensor *shared = equal ? hd_where(cx, equal, half, g) : NULL;
    hd_release(half);
    hd_release(equal);
    if (!shared) return NULL;
    hd_binary loses = op == HD_MAXIMUM ? HD_LT : HD_GT;
    return hd_chain_masked_fill(cx, shared, hd_binary_op(cx, loses, a, b), 0);
}

/* y = a^b  ->  da = g b a^(b-1), 0 where b = 0 */
static hd_tensor *d_base(hd_ctx *cx, hd_tensor *g, hd_tensor *a, hd_tensor *b) {
    hd_tensor *less = hd_binary_scalar(cx, HD_SUB, b, hd_scalar_f(1), false);
    hd_tensor *da = less ? hd_binary_op(cx, HD_POW, a, less) : NULL;
    hd_release(less);
    da = hd_chain_gradient(cx, hd_chain_binary(cx, HD_MUL, da, b), g);
    return da ? hd_chain_masked_fill(cx, da, hd_binary_scalar(cx, HD_EQ, b, hd_scalar_i(0), false), 0) : NULL;
}

/* y = a^b  ->  db = g y log a, 0 where a = 0 and b >= 0 */
static hd_tensor *d_exponent(hd_ctx *cx, hd_tensor *g, hd_tensor *a, hd_tensor *b, hd_tensor *y) {
    hd_tensor *db = hd_chain_binary(cx, HD_MUL, hd_unary_op(cx, HD_LOG, a), y);
    db = hd_chain_gradient(cx, db, g);
    hd_tensor *grows = db ? hd_binary_scalar(cx, HD_GE, b, hd_scalar_i(0), false) : NULL;
    hd_tensor *at_zero = grows ? hd_binary_scalar(cx, HD_EQ, a, hd_scalar_i(0), false) : NULL;
    at_zero = hd_chain_binary(cx, HD_AND, at_zero, grows);
    hd_release(grows);
    return hd_chain_masked_fill(cx, db, at_zero, 0);
}

/* y = hypot(a, b)  ->  da = g a / y; y = atan2(a, b)  ->  da = g b / (a² + b²), db = -g a / (a² + b²); all 0
 * where a = b = 0. In f32 by f64, which holds the squares. */
static inline double along(double g, double a, double b) {
    double h = hypot(a, b);
    return h == 0 ? 0 : g * (a / h);
}
static inline double across(double g, double a, double b) {
    double h = hypot(a, b);
    return h == 0 ? 0 : g / h * (b / h);
}
static inline float along_f32(double g, double a, double b) {
    double h = sqrt(a * a + b * b);
    return h == 0 ? 0 : (float)(g * (a / h));
}
static inline float across_f32(double g, double a, double b) {
    double hh = a * a + b * b;
    return hh == 0 ? 0 : (float)(g * b / hh);
}
HD_GRADIENT_RUN(hypot_gradient_f32, float, along_f32(a, b, c))
HD_GRADIENT_RUN(hypot_gradient_f64, double, along(a, b, c))
HD_GRADIENT_RUN(atan2_gradient_f32, float, across_f32(a, b, c))
HD_GRADIENT_RUN(atan2_gradient_f64, double, across(a, b, c))
static const hd_ternary hypot_gradient = {hypot_gradient_f32, hypot_gradient_f64};
static const hd_ternary atan2_gradient = {atan2_gradient_f32, atan2_gradient_f64};

/* The gradient with respect to a, in y's shape. */
static hd_tensor *d_first(hd_ctx *cx, hd_binary op, hd_tensor *g, hd_tensor *a, hd_tensor *b) {
    switch (op) {
    case HD_ADD: /* y = a + b */
    case HD_SUB: /* y = a - b */
    case HD_MOD: /* y = a - floor(a/b) b */ return hd_retain(g);
    case HD_MUL: /* y = a b */ return hd_gradient_mul(cx, g, b);
    case HD_DIV: /* y = a / b */ return hd_gradient_div(cx, g, b);
    case HD_POW: return d_base(cx, g, a, b);
    case HD_ATAN2: return hd_gradient_ternary(cx, &atan2_gradient, g, a, b);
    case HD_HYPOT: return hd_gradient_ternary(cx, &hypot_gradient, g, a, b);
    case HD_MAXIMUM:
    case HD_MINIMUM: return d_extremum(cx, op, g, a, b);
    default: /* y = floor(a/b) */ return hd_tensor_zeros(cx, (hd_dtype)g->dtype, g->ndim, g->shape);
    }
}

static hd_tensor *d_second(hd_ctx *cx, hd_binary op, hd_tensor *g, hd_tensor *a, hd_tensor *b, hd_tensor *y) {
    switch (op) {
    case HD_ADD: /* y = a + b */ return hd_retain(g);
    case HD_SUB: /* y = a - b */ return hd_unary_op(cx, HD_NEG, g);
    case HD_MUL: /* y = a b */ return hd_gradient_mul(cx, g, a);
    case HD_DIV: /* y = a / b  ->  db = -g (a/b) / b */ {
        hd_tensor *q = hd_chain_binary(cx, HD_DIV, hd_binary_op(cx, HD_DIV, a, b), b);
        return hd_chain_unary(cx, HD_NEG, hd_chain_gradient(cx, q, g));
    }
    case HD_POW: return d_exponent(cx, g, a, b, y);
    case HD_ATAN2: return hd_chain_unary(cx, HD_NEG, hd_gradient_ternary(cx, &atan2_gradient, g, b, a));
    case HD_HYPOT: return hd_gradient_ternary(cx, &hypot_gradient, g, b, a);
    case HD_MOD: /* y = a - q b, q whole  ->  db = -q g, -q = (y - a)/b rounded */ {
        hd_tensor *minus_qb = hd_chain_binary(cx, HD_SUB, hd_binary_op(cx, HD_MOD, a, b), a);
        hd_tensor *minus_q = hd_chain_unary(cx, HD_ROUND, hd_chain_binary(cx, HD_DIV, minus_qb, b));
        return hd_chain_gradient(cx, minus_q, g);
    }
    case HD_MAXIMUM:
    case HD_MINIMUM: return d_extremum(cx, op, g, b, a);
    default: return hd_tensor_zeros(cx, (hd_dtype)g->dtype, g->ndim, g->shape);
    }
}

enum { SAVED_A, SAVED_B, SAVED_Y, SAVED_COUNT };

static void choose_saved(hd_binary op, hd_tensor *a, hd_tensor *b, hd_tensor *y,
                         hd_tensor *saved[SAVED_COUNT]) {
    bool wants_a = a->requires_grad, wants_b = b->requires_grad;
    bool either = op == HD_POW || op == HD_MAXIMUM || op == HD_MINIMUM || op == HD_ATAN2 || op == HD_HYPOT;
    bool quotient = op == HD_DIV || op == HD_MOD;
    saved[SAVED_A] = either || (wants_b && (op == HD_MUL || quotient)) ? a : NULL;
    saved[SAVED_B] = either || (wants_a && op == HD_MUL) || op == HD_DIV || (wants_b && quotient) ? b : NULL;
    saved[SAVED_Y] = op == HD_POW && wants_b ? y : NULL;
}

static hd_status load_saved(hd_ctx *cx, hd_node *node, hd_tensor *saved[SAVED_COUNT]) {
    for (int i = 0; i < SAVED_COUNT; i++) {
        saved[i] = NULL;
        if (!node->saved[i].tensor) continue;
        saved[i] = hd_node_saved(cx, node, i);
        if (!saved[i]) return cx->error.status;
    }
    return HD_OK;
}

static hd_status tensor_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                 hd_tensor **grad_inputs) {
    hd_binary op = (hd_binary)(node->class - tensor_classes);
    hd_tensor *g = grads[0], *saved[SAVED_COUNT];
    if (!g) return HD_OK;
    if (load_saved(cx, node, saved)) return cx->error.status;
    if (hd_node_needs(node, 0)) {
        hd_tensor *da = d_first(cx, op, g, saved[SAVED_A], saved[SAVED_B]);
        grad_inputs[0] = hd_grad_to_input(cx, node, 0, da);
        if (!grad_inputs[0]) return cx->error.status;
    }
    if (hd_node_needs(node, 1)) {
        hd_tensor *db = d_second(cx, op, g, saved[SAVED_A], saved[SAVED_B], saved[SAVED_Y]);
        grad_inputs[1] = hd_grad_to_input(cx, node, 1, db);
        if (!grad_inputs[1]) return cx->error.status;
    }
    return HD_OK;
}

/* ---- two tensors ----------------------------------------------------------------------------- */

static hd_tensor *promote_and_compute(hd_ctx *cx, hd_binary op, const plan *p, hd_tensor *a, hd_tensor *b) {
    hd_tensor *y = NULL;
    hd_tensor *pa = hd_as_dtype(cx, a, p->compute);
    hd_tensor *pb = pa ? hd_as_dtype(cx, b, p->compute) : NULL;
    bool checked = pb && (!is_partial(op, p->compute) || !check_integers(cx, op, pb));
    if (checked) y = compute(cx, p, pa, pb);
    hd_release(pa);
    hd_release(pb);
    return y;
}

hd_tensor *hd_binary_op(hd_ctx *cx, hd_binary op, hd_tensor *a, hd_tensor *b) {
    plan p;
    hd_dtype promoted = (hd_dtype)a->dtype;
    if (a->dtype != b->dtype) promoted = hd_dtype_promote(promoted, (hd_dtype)b->dtype);
    if (check_operand(cx, op, a) || check_operand(cx, op, b) || make_plan(cx, op, promoted, &p)) return NULL;
    hd_tensor *y = promote_and_compute(cx, op, &p, a, b);
    hd_tensor *inputs[] = {a, b};
    if (!y || !(a->requires_grad || b->requires_grad) || !hd_dtype_is_float(p.result) ||
        !hd_wants_grad(cx, 2, inputs))
        return y;
    hd_tensor *saved[SAVED_COUNT];
    choose_saved(op, a, b, y, saved);
    return hd_record(cx, &tensor_classes[op], y, 2, inputs, SAVED_COUNT, saved, NULL, 0);
}

/* ---- a tensor and a number ------------------------------------------------------------------- */

typedef struct scalar_params {
    hd_scalar b;
    bool reversed;
} scalar_params;

enum { SAVED_OPERAND, SAVED_RESULT };

/* y = a op s, y = s op a: the cheap ones by hand, the others with s as a tensor. */
static hd_tensor *d_operand(hd_ctx *cx, hd_binary op, const scalar_params *q, hd_tensor *g, hd_tensor *a,
                            hd_tensor *y) {
    double s = q->b.f;
    if (op == HD_ADD || (op == HD_SUB && !q->reversed)) return hd_retain(g);
    if (op == HD_SUB) return hd_unary_op(cx, HD_NEG, g);
    bool plain = s != 0 && isfinite(s); /* 0 times or by such a number is 0 */
    if (op == HD_MUL && isfinite(s)) return hd_binary_scalar(cx, HD_MUL, g, q->b, false);
    if (op == HD_DIV && !q->reversed && plain) return hd_binary_scalar(cx, HD_DIV, g, q->b, false);
    if (op == HD_POW && !q->reversed && s == 1) return hd_retain(g);
    if (op == HD_POW && !q->reversed && s == 2)
        return hd_chain_scalar(cx, HD_MUL, hd_gradient_mul(cx, g, a), 2);
    hd_tensor *b = hd_full(cx, (hd_dtype)g->dtype, 0, NULL, q->b);
    if (!b) return NULL;
    hd_tensor *da = q->reversed ? d_second(cx, op, g, b, a, y) : d_first(cx, op, g, a, b);
    hd_release(b);
    return da;
}

static hd_status scalar_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                 hd_tensor **grad_inputs) {
    hd_binary op = (hd_binary)(node->class - scalar_classes);
    hd_tensor *saved[SAVED_COUNT];
    if (!grads[0]) return HD_OK;
    if (load_saved(cx, node, saved)) return cx->error.status;
    hd_tensor *da = d_operand(cx, op, (const scalar_params *)node->params, grads[0], saved[SAVED_OPERAND],
                              saved[SAVED_RESULT]);
    grad_inputs[0] = hd_grad_to_input(cx, node, 0, da);
    return hd_made(cx, grad_inputs[0]);
}

static bool scalar_needs_operand(hd_binary op, bool reversed) {
    return !(op == HD_ADD || op == HD_SUB || op == HD_MUL || (op == HD_DIV && !reversed) ||
             (op == HD_MOD && !reversed));
}

static hd_status plan_scalar(hd_ctx *cx, hd_binary op, const hd_tensor *a, hd_scalar b, bool reversed,
                             plan *p, void *element) {
    if (check_operand(cx, op, a) || make_plan(cx, op, hd_scalar_promote((hd_dtype)a->dtype, b), p))
        return cx->error.status;
    if (is_logic(op)) b = hd_scalar_i(b.f != 0);
    if (hd_scalar_store(cx, "number", b, p->compute, element)) return cx->error.status;
    if (is_partial(op, p->compute) && !reversed) return check_integer(cx, op, b.i);
    return HD_OK;
}

static hd_tensor *compute_scalar(hd_ctx *cx, hd_binary op, const plan *p, hd_tensor *a, bool reversed,
                                 const void *element) {
    hd_tensor *from = hd_as_dtype(cx, a, p->compute);
    bool checked = from && !(reversed && is_partial(op, p->compute) && check_integers(cx, op, from));
    hd_tensor *y = checked ? hd_tensor_new(cx, p->result, a->ndim, a->shape) : NULL;
    if (y && hd_apply_scalar(cx, p->kernel, p->grain, y, from, element, reversed)) {
        hd_release(y);
        y = NULL;
    }
    hd_release(from);
    return y;
}

hd_tensor *hd_binary_scalar(hd_ctx *cx, hd_binary op, hd_tensor *a, hd_scalar b, bool reversed) {
    plan p;
    uint64_t element;
    if (plan_scalar(cx, op, a, b, reversed, &p, &element)) return NULL;
    hd_tensor *y = compute_scalar(cx, op, &p, a, reversed, &element);
    if (!y || !a->requires_grad || !hd_dtype_is_float(p.result) || !hd_wants_grad(cx, 1, &a)) return y;
    scalar_params params = {b, reversed};
    hd_tensor *saved[] = {scalar_needs_operand(op, reversed) ? a : NULL, op == HD_POW && reversed ? y : NULL,
                          NULL};
    return hd_record(cx, &scalar_classes[op], y, 1, &a, SAVED_COUNT, saved, &params, sizeof params);
}

/* ---- in place -------------------------------------------------------------------------------- */

static hd_status write_result(hd_ctx *cx, hd_binary op, const plan *p, hd_tensor *t, hd_tensor *b) {
    bool direct = p->result == (hd_dtype)t->dtype && t->dtype == b->dtype && p->compute == p->result &&
                  !is_partial(op, p->compute) && (hd_same_view(t, b) || !hd_shares_memory(t, b));
    if (!direct) return hd_become(cx, t, promote_and_compute(cx, op, p, t, b));
    hd_status status = hd_apply_binary(cx, p->kernel, p->grain, t, t, b);
    hd_wrote(t);
    return status;
}

hd_status hd_binary_(hd_ctx *cx, hd_binary op, hd_tensor *t, hd_tensor *b) {
    plan p;
    hd_tensor *inputs[] = {t, b};
    hd_dtype promoted = hd_dtype_promote((hd_dtype)t->dtype, (hd_dtype)b->dtype);
    if (hd_check_inplace(cx, t) || hd_check_computes(cx, t) || hd_check_computes(cx, b) ||
        make_plan(cx, op, promoted, &p) || hd_check_holds(cx, (hd_dtype)t->dtype, p.result) ||
        hd_check_broadcasts_to(cx, "operand", b, t))
        return cx->error.status;
    if (!hd_dtype_is_float((hd_dtype)t->dtype) || !hd_wants_grad(cx, 2, inputs))
        return write_result(cx, op, &p, t, b);
    hd_tensor *former = hd_check_whole(cx, t) ? NULL : hd_former(cx, t);
    if (!former) return cx->error.status;
    hd_tensor *y = hd_binary_op(cx, op, former, b == t ? former : b);
    hd_release(former);
    return hd_become(cx, t, y);
}

hd_status hd_binary_scalar_(hd_ctx *cx, hd_binary op, hd_tensor *t, hd_scalar b) {
    plan p;
    uint64_t element;
    if (hd_check_inplace(cx, t) || plan_scalar(cx, op, t, b, false, &p, &element) ||
        hd_check_holds(cx, (hd_dtype)t->dtype, p.result))
        return cx->error.status;
    if (hd_wants_grad(cx, 1, &t)) {
        hd_tensor *former = hd_former(cx, t);
        if (!former) return cx->error.status;
        hd_tensor *y = hd_binary_scalar(cx, op, former, b, false);
        hd_release(former);
        return hd_become(cx, t, y);
    }
    if (p.result != (hd_dtype)t->dtype || p.compute != p.result)
        return hd_become(cx, t, compute_scalar(cx, op, &p, t, false, &element));
    hd_status status = hd_apply_scalar(cx, p.kernel, p.grain, t, t, &element, false);
    hd_wrote(t);
    return status;
}
