/* where.c: choosing, element by element. What is not chosen leaks nothing, neither value nor gradient.
 *
 *     where:       y = c ? a : b        ->  da = c ? g : 0,  db = c ? 0 : g
 *     masked_fill: y = m ? value : x    ->  dx = m ? 0 : g
 *     clamp:       y = min(max(x, low), high)  ->  dx = low <= x <= high ? g : 0
 */
#include "ops/elementwise/cast.h"
#include "ops/elementwise/inplace.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/walk.h"
#include "ops/gradient.h"

#include <string.h>

typedef void (*where_fn)(int64_t n, const uint8_t *c, int64_t sc, const void *a, int64_t sa, const void *b,
                         int64_t sb, void *y, int64_t sy);

static void run_where(const void *arg, int64_t n, char *const *p, const int64_t *s) {
    (*(const where_fn *)arg)(n, (const uint8_t *)p[1], s[1], p[2], s[2], p[3], s[3], p[0], s[0]);
}

/* a and b are of y's dtype; a NULL: the element at `value`. */
static hd_status apply_where(hd_ctx *cx, hd_tensor *y, const hd_tensor *c, const hd_tensor *a,
                             const void *value, const hd_tensor *b) {
    where_fn f = cx->kernels->where[y->dtype];
    hd_walk w;
    hd_walk_begin(&w, y->ndim, y->shape);
    hd_walk_add(&w, y);
    hd_walk_add(&w, c);
    if (a)
        hd_walk_add(&w, a);
    else
        hd_walk_add_raw(&w, (void *)value, hd_dtype_size((hd_dtype)y->dtype), NULL);
    hd_walk_add(&w, b);
    w.run = run_where;
    w.arg = &f;
    return hd_walk_run(cx, &w);
}

hd_status hd_set_where(hd_ctx *cx, hd_tensor *t, const hd_tensor *mask, const hd_tensor *v) {
    return apply_where(cx, t, mask, v, NULL, t);
}

/* ---- where ----------------------------------------------------------------------------------- */

static hd_status where_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    hd_tensor *g = grads[0];
    hd_tensor *c = g ? hd_node_saved(cx, node, 0) : NULL;
    if (!c) return g ? cx->error.status : HD_OK;
    hd_tensor *zero = hd_full(cx, (hd_dtype)g->dtype, 0, NULL, hd_scalar_i(0));
    if (!zero) return cx->error.status;
    hd_status status = HD_OK;
    if (hd_node_needs(node, 1)) { /* da = c ? g : 0 */
        grad_inputs[1] = hd_grad_to_input(cx, node, 1, hd_where(cx, c, g, zero));
        status = hd_made(cx, grad_inputs[1]);
    }
    if (!status && hd_node_needs(node, 2)) { /* db = c ? 0 : g */
        grad_inputs[2] = hd_grad_to_input(cx, node, 2, hd_where(cx, c, zero, g));
        status = hd_made(cx, grad_inputs[2]);
    }
    hd_release(zero);
    return status;
}
static const hd_node_class where_class = {"where", where_backward, NULL};

static hd_tensor *select_between(hd_ctx *cx, hd_tensor *c, hd_tensor *a, hd_tensor *b) {
    hd_tensor both = {0};
    int ndim;
    int64_t shape[HD_MAX_DIMS];
    if (hd_broadcast_shape(cx, a, b, &ndim, shape)) return NULL;
    both.ndim = (uint8_t)ndim;
    memcpy(both.shape, shape, sizeof both.shape);
    if (hd_broadcast_shape(cx, c, &both, &ndim, shape)) return NULL;
    hd_tensor *y = hd_tensor_new(cx, (hd_dtype)a->dtype, ndim, shape);
    if (y && apply_where(cx, y, c, a, NULL, b)) {
        hd_release(y);
        return NULL;
    }
    return y;
}

/* Integers and floats say by a comparison what they mean: 0 and 1, or 0 and -inf. */
static hd_status check_mask(hd_ctx *cx, const char *argument, const hd_tensor *mask) {
    if (mask->dtype == HD_BOOL) return HD_OK;
    return hd_fail(cx, HD_EARG, "%s: expected bool, got %s; a comparison makes it: t:ne(0)", argument,
                   hd_dtype_name((hd_dtype)mask->dtype));
}

hd_tensor *hd_where(hd_ctx *cx, hd_tensor *condition, hd_tensor *a, hd_tensor *b) {
    if (check_mask(cx, "condition", condition) || hd_check_computes(cx, a) || hd_check_computes(cx, b))
        return NULL;
    hd_dtype dtype = hd_dtype_promote((hd_dtype)a->dtype, (hd_dtype)b->dtype);
    hd_tensor *y = NULL;
    hd_tensor *pa = hd_as_dtype(cx, a, dtype);
    hd_tensor *pb = pa ? hd_as_dtype(cx, b, dtype) : NULL;
    if (pb) y = select_between(cx, condition, pa, pb);
    hd_tensor *inputs[] = {NULL, a, b};
    if (y && hd_dtype_is_float(dtype)) y = hd_record(cx, &where_class, y, 3, inputs, 1, &condition, NULL, 0);
    hd_release(pa);
    hd_release(pb);
    return y;
}

/* ---- masked_fill ----------------------------------------------------------------------------- */

static hd_status masked_fill_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                      hd_tensor **grad_inputs) {
    /* y = m ? value : x  ->  dx = m ? 0 : g */
    if (!grads[0]) return HD_OK;
    hd_tensor *mask = hd_node_saved(cx, node, 0);
    if (!mask) return cx->error.status;
    hd_tensor *dx = hd_masked_fill(cx, grads[0], mask, hd_scalar_i(0));
    grad_inputs[0] = hd_grad_to_input(cx, node, 0, dx);
    return hd_made(cx, grad_inputs[0]);
}
static const hd_node_class masked_fill_class = {"masked_fill", masked_fill_backward, NULL};

static hd_tensor *fill_where(hd_ctx *cx, const hd_tensor *x, const hd_tensor *mask, const void *element) {
    int ndim;
    int64_t shape[HD_MAX_DIMS];
    if (hd_broadcast_shape(cx, x, mask, &ndim, shape)) return NULL;
    hd_tensor *y = hd_tensor_new(cx, (hd_dtype)x->dtype, ndim, shape);
    if (y && apply_where(cx, y, mask, NULL, element, x)) {
        hd_release(y);
        return NULL;
    }
    return y;
}

hd_tensor *hd_masked_fill(hd_ctx *cx, hd_tensor *x, hd_tensor *mask, hd_scalar value) {
    uint64_t element;
    if (hd_check_computes(cx, x) || check_mask(cx, "mask", mask) ||
        hd_scalar_store(cx, "value", value, (hd_dtype)x->dtype, &element))
        return NULL;
    hd_tensor *y = fill_where(cx, x, mask, &element);
    if (y && x->requires_grad) y = hd_record(cx, &masked_fill_class, y, 1, &x, 1, &mask, NULL, 0);
    return y;
}

hd_status hd_masked_fill_(hd_ctx *cx, hd_tensor *t, hd_tensor *mask, hd_scalar value) {
    uint64_t element;
    if (hd_check_inplace(cx, t) || hd_check_computes(cx, t) || check_mask(cx, "mask", mask) ||
        hd_check_broadcasts_to(cx, "mask", mask, t) ||
        hd_scalar_store(cx, "value", value, (hd_dtype)t->dtype, &element))
        return cx->error.status;
    if (hd_wants_grad(cx, 1, &t)) {
        hd_tensor *former = hd_former(cx, t);
        if (!former) return cx->error.status;
        hd_tensor *y = hd_masked_fill(cx, former, mask, value);
        hd_release(former);
        return hd_become(cx, t, y);
    }
    hd_tensor *m = hd_shares_memory(t, mask) ? hd_clone(cx, mask) : hd_retain(mask);
    if (!m) return cx->error.status;
    hd_status status = apply_where(cx, t, m, NULL, &element, t);
    hd_wrote(t);
    hd_release(m);
    return status;
}

/* ---- clamp ----------------------------------------------------------------------------------- */

typedef struct clamp {
    hd_binary_fn maximum, minimum, ge, le, and;
    where_fn where;
    uint64_t low, high; /* elements */
    bool has_low, has_high;
} clamp;

static void run_clamp(const void *arg, int64_t n, char *const *p, const int64_t *s) {
    const clamp *c = arg;
    const void *x = p[1];
    int64_t sx = s[1];
    if (c->has_low) {
        c->maximum(n, x, sx, &c->low, 0, p[0], s[0]);
        x = p[0], sx = s[0];
    }
    if (c->has_high) c->minimum(n, x, sx, &c->high, 0, p[0], s[0]);
}

enum { CLAMP_RUN = 1024 };

/* p: dx, g, x */
static void run_clamp_grad(const void *arg, int64_t n, char *const *p, const int64_t *s) {
    const clamp *c = arg;
    const uint64_t zero = 0;
    uint8_t inside[CLAMP_RUN], below[CLAMP_RUN];
    if (c->has_low) c->ge(n, p[2], s[2], &c->low, 0, inside, 1);
    if (c->has_high) c->le(n, p[2], s[2], &c->high, 0, c->has_low ? below : inside, 1);
    if (c->has_low && c->has_high) c->and (n, inside, 1, below, 1, inside, 1);
    c->where(n, inside, 1, p[1], s[1], &zero, 0, p[0], s[0]);
}

static hd_status make_clamp(hd_ctx *cx, hd_dtype t, const hd_scalar *low, const hd_scalar *high, clamp *c) {
    const hd_kernels *k = cx->kernels;
    *c = (clamp){.maximum = k->binary[HD_MAXIMUM][t],
                 .minimum = k->binary[HD_MINIMUM][t],
                 .ge = k->binary[HD_GE][t],
                 .le = k->binary[HD_LE][t],
                 .and = k->binary[HD_AND][HD_BOOL],
                 .where = k->where[t],
                 .has_low = low,
                 .has_high = high};
    if (low && hd_scalar_store(cx, "low", *low, t, &c->low)) return cx->error.status;
    if (high && hd_scalar_store(cx, "high", *high, t, &c->high)) return cx->error.status;
    return HD_OK;
}

static hd_status apply_clamp(hd_ctx *cx, const clamp *c, hd_run run, hd_tensor *y, const hd_tensor *a,
                             const hd_tensor *b) {
    hd_walk w;
    hd_walk_begin(&w, y->ndim, y->shape);
    hd_walk_add(&w, y);
    hd_walk_add(&w, a);
    if (b) hd_walk_add(&w, b);
    w.run = run;
    w.arg = c;
    w.max_run = CLAMP_RUN;
    return hd_walk_run(cx, &w);
}

static hd_status clamp_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    /* y = min(max(x, low), high)  ->  dx = low <= x <= high ? g : 0 */
    if (!grads[0]) return HD_OK;
    hd_tensor *x = hd_node_saved(cx, node, 0);
    hd_tensor *dx = x ? hd_tensor_like(cx, x) : NULL;
    if (!dx) return cx->error.status;
    grad_inputs[0] = dx;
    return apply_clamp(cx, (const clamp *)node->params, run_clamp_grad, dx, grads[0], x);
}
static const hd_node_class clamp_class = {"clamp", clamp_backward, NULL};

hd_tensor *hd_clamp(hd_ctx *cx, hd_tensor *x, const hd_scalar *low, const hd_scalar *high) {
    if (hd_check_computes(cx, x)) return NULL;
    hd_dtype dtype = (hd_dtype)x->dtype;
    if (low) dtype = hd_scalar_promote(dtype, *low);
    if (high) dtype = hd_scalar_promote(dtype, *high);
    clamp c;
    if (make_clamp(cx, dtype, low, high, &c)) return NULL;
    if (!low && !high) return hd_clone(cx, x);
    hd_tensor *from = hd_as_dtype(cx, x, dtype);
    hd_tensor *y = from ? hd_tensor_like(cx, from) : NULL;
    if (y && apply_clamp(cx, &c, run_clamp, y, from, NULL)) {
        hd_release(y);
        y = NULL;
    }
    hd_release(from);
    if (!y || !x->requires_grad) return y;
    return hd_record(cx, &clamp_class, y, 1, &x, 1, &x, &c, sizeof c);
}

hd_status hd_clamp_(hd_ctx *cx, hd_tensor *t, const hd_scalar *low, const hd_scalar *high) {
    if (hd_check_inplace(cx, t) || hd_check_computes(cx, t)) return cx->error.status;
    hd_dtype result = (hd_dtype)t->dtype;
    if (low) result = hd_scalar_promote(result, *low);
    if (high) result = hd_scalar_promote(result, *high);
    if (hd_check_holds(cx, (hd_dtype)t->dtype, result)) return cx->error.status;
    if (hd_wants_grad(cx, 1, &t)) {
        hd_tensor *former = hd_former(cx, t);
        if (!former) return cx->error.status;
        hd_tensor *y = hd_clamp(cx, former, low, high);
        hd_release(former);
        return hd_become(cx, t, y);
    }
    clamp c;
    if (make_clamp(cx, (hd_dtype)t->dtype, low, high, &c)) return cx->error.status;
    hd_status status = apply_clamp(cx, &c, run_clamp, t, t, NULL);
    hd_wrote(t);
    return status;
}

/* ---- triangles ------------------------------------------------------------------------------- */

typedef struct triangle {
    int64_t diagonal;
    bool lower; /* keeps columns <= row + diagonal, else >= */
} triangle;

static hd_tensor *keep_triangle(hd_ctx *cx, hd_tensor *x, triangle t);

static hd_status triangle_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                   hd_tensor **grad_inputs) {
    /* y = tril(x)  ->  dx = tril(g); triu alike */
    if (!grads[0]) return HD_OK;
    grad_inputs[0] = keep_triangle(cx, grads[0], *(const triangle *)node->params);
    return hd_made(cx, grad_inputs[0]);
}
static const hd_node_class tril_class = {"tril", triangle_backward, NULL};
static const hd_node_class triu_class = {"triu", triangle_backward, NULL};

static int64_t bound(int64_t v, int64_t low, int64_t high) {
    return v < low ? low : v > high ? high : v;
}

static void clear_outside(hd_tensor *y, triangle t) {
    size_t size = hd_dtype_size((hd_dtype)y->dtype);
    int64_t rows = y->shape[y->ndim - 2], cols = y->shape[y->ndim - 1];
    int64_t all = cols ? hd_numel(y) / cols : 0;
    int64_t diagonal = bound(t.diagonal, -rows, cols);
    for (int64_t r = 0; r < all; r++) {
        char *row = (char *)hd_data(y) + (size_t)(r * cols) * size;
        int64_t edge = bound(r % rows + diagonal + t.lower, 0, cols); /* first column beyond, or first kept */
        if (t.lower)
            memset(row + (size_t)edge * size, 0, (size_t)(cols - edge) * size);
        else
            memset(row, 0, (size_t)edge * size);
    }
}

static hd_tensor *keep_triangle(hd_ctx *cx, hd_tensor *x, triangle t) {
    char text[HD_SHAPE_TEXT];
    if (x->ndim < 2)
        return hd_fail_null(cx, HD_EARG, "tensor: expected at least 2 dimensions, got %s",
                            hd_tensor_shape_text(x, text));
    hd_tensor *y = hd_tensor_like(cx, x);
    if (!y || hd_apply_copy(cx, y, x)) {
        hd_release(y);
        return NULL;
    }
    clear_outside(y, t);
    return y;
}

hd_tensor *hd_tril(hd_ctx *cx, hd_tensor *x, int64_t diagonal) {
    triangle t = {diagonal, true};
    return hd_record(cx, &tril_class, keep_triangle(cx, x, t), 1, &x, 0, NULL, &t, sizeof t);
}

hd_tensor *hd_triu(hd_ctx *cx, hd_tensor *x, int64_t diagonal) {
    triangle t = {diagonal, false};
    return hd_record(cx, &triu_class, keep_triangle(cx, x, t), 1, &x, 0, NULL, &t, sizeof t);
}

static hd_status triangle_(hd_ctx *cx, hd_tensor *t, int64_t diagonal,
                           hd_tensor *(*f)(hd_ctx *, hd_tensor *, int64_t)) {
    if (hd_check_inplace(cx, t)) return cx->error.status;
    hd_tensor *source = hd_inplace_source(cx, t);
    hd_tensor *y = source ? f(cx, source, diagonal) : NULL;
    hd_release(source);
    return hd_become(cx, t, y);
}

hd_status hd_tril_(hd_ctx *cx, hd_tensor *t, int64_t diagonal) {
    return triangle_(cx, t, diagonal, hd_tril);
}

hd_status hd_triu_(hd_ctx *cx, hd_tensor *t, int64_t diagonal) {
    return triangle_(cx, t, diagonal, hd_triu);
}
