/* parametric.c: y = f(x; p), element by element, with a parameter that is a number.
 *
 *     leaky_relu: y = x > 0 ? x : p x          ->  dx = x > 0 ? g : p g
 *     elu:        y = x > 0 ? x : p (e^x - 1)  ->  dx = x > 0 ? g : p g e^x
 *
 * Integers and bool become f32. NaN stays; at 0 the slope is that of the left side.
 */
#include "ops/elementwise/cast.h"
#include "ops/elementwise/inplace.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/walk.h"

typedef struct function {
    hd_parametric op;
    double p;
    const hd_kernels *kernels;
    hd_dtype dtype;
} function;

static void run_parametric(const void *arg, int64_t n, char *const *p, const int64_t *s) {
    const function *f = arg;
    f->kernels->parametric[f->op][f->dtype](n, f->p, p[1], s[1], p[0], s[0]);
}

/* p: dx, g, x */
static void run_parametric_grad(const void *arg, int64_t n, char *const *p, const int64_t *s) {
    const function *f = arg;
    f->kernels->parametric_grad[f->op][f->dtype](n, f->p, p[1], s[1], p[2], s[2], p[0], s[0]);
}

static hd_status apply(hd_ctx *cx, const function *f, hd_run run, hd_tensor *y, const hd_tensor *a,
                       const hd_tensor *b) {
    hd_walk w;
    hd_walk_begin(&w, y->ndim, y->shape);
    hd_walk_add(&w, y);
    hd_walk_add(&w, a);
    if (b) hd_walk_add(&w, b);
    w.grain = hd_parametric_rows[f->op].grain;
    w.run = run;
    w.arg = f;
    return hd_walk_run(cx, &w);
}

static hd_status parametric_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                     hd_tensor **grad_inputs) {
    /* y = f(x; p)  ->  dx = g f'(x; p) */
    if (!grads[0]) return HD_OK;
    hd_tensor *x = hd_node_saved(cx, node, 0);
    hd_tensor *dx = x ? hd_tensor_like(cx, x) : NULL;
    if (!dx) return cx->error.status;
    grad_inputs[0] = dx;
    return apply(cx, (const function *)node->params, run_parametric_grad, dx, grads[0], x);
}
static const hd_node_class classes[HD_PARAMETRIC_COUNT] = {
#define HD_ROW(op, kernel, name, ...) [op] = {name, parametric_backward, NULL},
#include "kernels/tables/parametric.h"
};

hd_tensor *hd_parametric_op(hd_ctx *cx, hd_parametric op, hd_tensor *x, double p) {
    if (hd_check_computes(cx, x)) return NULL;
    function f = {op, p, cx->kernels, hd_dtype_is_float((hd_dtype)x->dtype) ? (hd_dtype)x->dtype : HD_F32};
    hd_tensor *from = hd_as_dtype(cx, x, f.dtype);
    hd_tensor *y = from ? hd_tensor_like(cx, from) : NULL;
    if (y && apply(cx, &f, run_parametric, y, from, NULL)) {
        hd_release(y);
        y = NULL;
    }
    hd_release(from);
    return hd_record(cx, &classes[op], y, 1, &x, 1, &x, &f, sizeof f);
}

hd_status hd_parametric_(hd_ctx *cx, hd_parametric op, hd_tensor *t, double p) {
    if (hd_check_inplace(cx, t) || hd_check_computes(cx, t) || hd_check_holds(cx, (hd_dtype)t->dtype, HD_F32))
        return cx->error.status;
    if (hd_wants_grad(cx, 1, &t)) {
        hd_tensor *former = hd_former(cx, t);
        if (!former) return cx->error.status;
        hd_tensor *y = hd_parametric_op(cx, op, former, p);
        hd_release(former);
        return hd_become(cx, t, y);
    }
    function f = {op, p, cx->kernels, (hd_dtype)t->dtype};
    hd_status status = apply(cx, &f, run_parametric, t, t, NULL);
    hd_wrote(t);
    return status;
}
