/* matmul.c: y = a b, as PyTorch multiplies: vectors, matrices, and batches that broadcast.
 *
 *     da = g b^T, db = a^T g, summed over what was broadcast
 *
 * A product is described by strides alone: a transpose or a broadcast batch is never copied. Batch dimensions
 * that lie in memory as more rows of a (and of y) become rows, so [B, L, E] x [E, F] is one product of B L
 * rows; summed batch dimensions that lie as more columns become a longer inner dimension, so db is one
 * product as well.
 */
#include <string.h>

#include "base/parallel.h"
#include "kernels/gemm.h"
#include "ops/elementwise/cast.h"
#include "ops/elementwise/inplace.h"
#include "ops/elementwise/scalar.h"
#include "ops/elementwise/walk.h"
#include "ops/gradient.h"

/* ---- batches of products --------------------------------------------------------------------- */

typedef struct side {
    const hd_tensor *t;
    int64_t row, col; /* strides */
    int64_t batch[HD_MAX_DIMS];
} side;

/* c[batch] = a[batch] b[batch]; where c's stride of a batch dimension is 0 the products are added up. */
typedef struct product {
    int64_t m, n, k;
    int ndim;
    int64_t shape[HD_MAX_DIMS];
    side a, b, c;
} product;

static void remove_batch(product *p, int d) {
    p->ndim--;
    size_t bytes = (size_t)(p->ndim - d) * sizeof(int64_t);
    memmove(p->shape + d, p->shape + d + 1, bytes);
    memmove(p->a.batch + d, p->a.batch + d + 1, bytes);
    memmove(p->b.batch + d, p->b.batch + d + 1, bytes);
    memmove(p->c.batch + d, p->c.batch + d + 1, bytes);
}

/* Batch dimension d as more rows, more columns or a longer inner dimension. Strides of a dimension of size 1
 * are free. */
static bool fold(product *p, int d) {
    int64_t size = p->shape[d], a = p->a.batch[d], b = p->b.batch[d], c = p->c.batch[d];
    if (size == 1) return true;
    if (a && c && !b && (p->m == 1 || (a == p->m * p->a.row && c == p->m * p->c.row))) {
        if (p->m == 1) p->a.row = a, p->c.row = c;
        p->m *= size;
        return true;
    }
    if (b && c && !a && (p->n == 1 || (b == p->n * p->b.col && c == p->n * p->c.col))) {
        if (p->n == 1) p->b.col = b, p->c.col = c;
        p->n *= size;
        return true;
    }
    if (a && b && !c && (p->k == 1 || (a == p->k * p->a.col && b == p->k * p->b.row))) {
        if (p->k == 1) p->a.col = a, p->b.row = b;
        p->k *= size;
        return true;
    }
    return false;
}

/* Two batch dimensions that lie behind each other in all three. */
static bool joins(const product *p, int outer, int inner) {
    int64_t n = p->shape[inner];
    return p->a.batch[outer] == p->a.batch[inner] * n && p->b.batch[outer] == p->b.batch[inner] * n &&
           p->c.batch[outer] == p->c.batch[inner] * n;
}

static void simplify(product *p) {
    for (int d = p->ndim - 1; d >= 0; d--)
        if (fold(p, d)) remove_batch(p, d);
    for (int d = p->ndim - 2; d >= 0; d--) {
        if (!joins(p, d, d + 1)) continue;
        p->shape[d] *= p->shape[d + 1];
        p->a.batch[d] = p->a.batch[d + 1];
        p->b.batch[d] = p->b.batch[d + 1];
        p->c.batch[d] = p->c.batch[d + 1];
        remove_batch(p, d + 1);
    }
}

static hd_matrix matrix_at(const side *s, int64_t offset, int64_t batch_stride) {
    char *data = (char *)hd_data(s->t) + offset * (int64_t)hd_dtype_size((hd_dtype)s->t->dtype);
    return (hd_matrix){data, s->row, s->col, batch_stride};
}

/* The batch dimension that hd_gemm_run walks: the largest whose products go to different places. -1: none. */
static int inner_batch(const product *p) {
    int best = -1;
    for (int d = 0; d < p->ndim; d++)
        if (p->c.batch[d] != 0 && (best < 0 || p->shape[d] > p->shape[best])) best = d;
    return best;
}

/* The batch dimensions but `inner`, one position after another; sums (c's stride 0) start with beta = 0. */
static hd_status run_products(hd_ctx *cx, const product *p) {
    int inner = inner_batch(p);
    int64_t at[HD_MAX_DIMS] = {0}, a = 0, b = 0, c = 0;
    hd_gemm g = {.dtype = (hd_dtype)p->c.t->dtype,
                 .m = p->m,
                 .n = p->n,
                 .k = p->k,
                 .alpha = 1,
                 .batch = inner < 0 ? 1 : p->shape[inner]};
    for (;;) {
        bool adds = false;
        for (int d = 0; d < p->ndim; d++) adds = adds || (p->c.batch[d] == 0 && at[d] > 0);
        g.beta = adds;
        g.a = matrix_at(&p->a, a, inner < 0 ? 0 : p->a.batch[inner]);
        g.b = matrix_at(&p->b, b, inner < 0 ? 0 : p->b.batch[inner]);
        g.c = matrix_at(&p->c, c, inner < 0 ? 0 : p->c.batch[inner]);
        hd_status status = hd_gemm_run(cx, &g);
        if (status) return status;
        int d = p->ndim - 1;
        for (; d >= 0; d--) {
            if (d == inner) continue;
            a += p->a.batch[d], b += p->b.batch[d], c += p->c.batch[d];
            if (++at[d] < p->shape[d]) break;
            a -= p->a.batch[d] * at[d], b -= p->b.batch[d] * at[d], c -= p->c.batch[d] * at[d];
            at[d] = 0;
        }
        if (d < 0) return HD_OK;
    }
}

/* ---- from tensors ---------------------------------------------------------------------------- */

/* t's last two dimensions as a matrix, transposed if asked; its batch broadcast to `shape`. */
static side side_of(const hd_tensor *t, bool transposed, int ndim, const int64_t *shape) {
    side s = {.t = t, .row = t->stride[t->ndim - 2], .col = t->stride[t->ndim - 1]};
    if (transposed) {
        int64_t row = s.row;
        s.row = s.col, s.col = row;
    }
    hd_tensor batch = *t;
    batch.ndim -= 2;
    hd_broadcast_strides(&batch, ndim, shape, s.batch);
    return s;
}

static bool is_repeated(const hd_tensor *t) {
    for (int d = t->ndim - 2; d < t->ndim; d++)
        if (t->stride[d] == 0 && t->shape[d] > 1) return true;
    return false;
}

/* BLIS cannot read a matrix whose rows or columns are one and the same memory. */
static hd_tensor *readable(hd_ctx *cx, hd_tensor *t, hd_dtype dtype) {
    if ((hd_dtype)t->dtype == dtype && !is_repeated(t)) return hd_retain(t);
    hd_tensor *y = hd_tensor_new(cx, dtype, t->ndim, t->shape);
    if (y && hd_apply_copy(cx, y, t)) {
        hd_release(y);
        return NULL;
    }
    return y;
}

/* One product of integers, modulo 2^64: rows of w come block by block, so that they stay in the cache for all rows of a
 * task. */
typedef struct integer_product {
    const product *p;
    const hd_kernels *kernels;
    const int64_t *x, *w; /* w: rows of neighbours */
    int64_t *y;
} integer_product;

enum { INTEGER_ROWS = 16, INTEGER_INNER = 512 };

static void integer_rows(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const integer_product *l = arg;
    const product *p = l->p;
    for (int64_t i = first; i < last; i++) memset(l->y + i * p->c.row, 0, (size_t)p->n * sizeof *l->y);
    for (int64_t k = 0; k < p->k; k += INTEGER_INNER)
        l->kernels->product_i64(last - first, p->n, p->k - k < INTEGER_INNER ? p->k - k : INTEGER_INNER,
                                l->x + first * p->a.row + k * p->a.col, p->a.row, p->a.col,
                                l->w + k * p->b.row, p->b.row, l->y + first * p->c.row, p->c.row);
}

/* w's rows are of neighbours (b.col is 1), y's too. */
static hd_status multiply_integers(hd_ctx *cx, const product *p) {
    int64_t at[HD_MAX_DIMS] = {0}, a = 0, b = 0, c = 0;
    for (;;) {
        integer_product l = {p, cx->kernels, (const int64_t *)hd_data(p->a.t) + a,
                             (const int64_t *)hd_data(p->b.t) + b, (int64_t *)hd_data(p->c.t) + c};
        if (hd_parallel_ranges(cx, p->m, INTEGER_ROWS, integer_rows, &l)) return cx->error.status;
        int d = p->ndim - 1;
        for (; d >= 0; d--) {
            a += p->a.batch[d], b += p->b.batch[d], c += p->c.batch[d];
            if (++at[d] < p->shape[d]) break;
            a -= p->a.batch[d] * at[d], b -= p->b.batch[d] * at[d], c -= p->c.batch[d] * at[d];
            at[d] = 0;
        }
        if (d < 0) return HD_OK;
    }
}

/* c = op(a) op(b) over the common batch of all three; c's missing or unit batch dimensions are summed. */
static hd_status multiply(hd_ctx *cx, const hd_tensor *a, bool at, const hd_tensor *b, bool bt, hd_tensor *c,
                          int ndim, const int64_t *shape) {
    product p = {.ndim = ndim,
                 .a = side_of(a, at, ndim, shape),
                 .b = side_of(b, bt, ndim, shape),
                 .c = side_of(c, false, ndim, shape)};
    p.m = c->shape[c->ndim - 2];
    p.n = c->shape[c->ndim - 1];
    p.k = a->shape[a->ndim - (at ? 2 : 1)];
    memcpy(p.shape, shape, sizeof p.shape);
    bool empty = false;
    for (int d = 0; d < ndim; d++) empty = empty || shape[d] == 0;
    if (hd_numel(c) == 0) return HD_OK;
    if (empty) {
        const uint64_t zero = 0;
        return hd_fill_data(cx, c, &zero);
    }
    if (c->dtype == HD_I64) {
        hd_tensor *dense = hd_contiguous_as(cx, (hd_tensor *)b, HD_I64);
        if (!dense) return cx->error.status;
        p.b = side_of(dense, false, ndim, shape);
        hd_status status = multiply_integers(cx, &p);
        hd_release(dense);
        return status;
    }
    simplify(&p);
    return run_products(cx, &p);
}

/* A vector as a matrix of one row (a) or one column (b): a header on the stack. */
static hd_tensor as_matrix(const hd_tensor *t, bool is_row) {
    hd_tensor m = *t;
    if (t->ndim != 1) return m;
    m.ndim = 2;
    m.shape[0] = is_row ? 1 : t->shape[0];
    m.shape[1] = is_row ? t->shape[0] : 1;
    m.stride[0] = is_row ? t->shape[0] * t->stride[0] : t->stride[0];
    m.stride[1] = is_row ? t->stride[0] : 1;
    return m;
}

static hd_status common_batch(hd_ctx *cx, const hd_tensor *a, const hd_tensor *b, int *ndim, int64_t *shape) {
    hd_tensor batch_a = *a, batch_b = *b;
    batch_a.ndim -= 2;
    batch_b.ndim -= 2;
    if (!hd_broadcast_shape(cx, &batch_a, &batch_b, ndim, shape)) return HD_OK;
    char x[HD_SHAPE_TEXT], y[HD_SHAPE_TEXT];
    return hd_fail(cx, HD_EARG,
                   "a, b: expected batch dimensions (all but the last two) that broadcast, got %s and %s",
                   hd_tensor_shape_text(a, x), hd_tensor_shape_text(b, y));
}

/* Which of the two fits when transposed? */
static const char *fitting_transpose(const hd_tensor *a, const hd_tensor *b) {
    if (b->ndim > 1 && a->shape[a->ndim - 1] == b->shape[b->ndim - 1])
        return b->ndim == 2 ? "; b:t() would fit" : "; b:transpose(-1, -2) would fit";
    int64_t inner_b = b->shape[b->ndim > 1 ? b->ndim - 2 : 0];
    if (a->ndim > 1 && a->shape[a->ndim - 2] == inner_b)
        return a->ndim == 2 ? "; a:t() would fit" : "; a:transpose(-1, -2) would fit";
    return "";
}

static hd_status check_operands(hd_ctx *cx, const hd_tensor *a, const hd_tensor *b) {
    char x[HD_SHAPE_TEXT], y[HD_SHAPE_TEXT];
    if (hd_check_computes(cx, a) || hd_check_computes(cx, b)) return cx->error.status;
    if (a->ndim == 0 || b->ndim == 0)
        return hd_fail(cx, HD_EARG,
                       "a, b: expected vectors or matrices, got %s and %s; * multiplies by a single number",
                       hd_tensor_shape_text(a, x), hd_tensor_shape_text(b, y));
    int64_t inner_a = a->shape[a->ndim - 1], inner_b = b->shape[b->ndim > 1 ? b->ndim - 2 : 0];
    if (inner_a == inner_b) return HD_OK;
    return hd_fail(cx, HD_EARG, "b: expected %lld %s, as a %s has columns, got %s%s", (long long)inner_a,
                   b->ndim > 1 ? "rows" : "elements", hd_tensor_shape_text(a, x), hd_tensor_shape_text(b, y),
                   fitting_transpose(a, b));
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* g of y, with the dimensions that the vectors did not have: a header on the stack. */
static hd_tensor as_product(const hd_tensor *g, bool a_is_vector, bool b_is_vector) {
    hd_tensor full = *g;
    if (b_is_vector) {
        full.shape[full.ndim] = 1;
        full.stride[full.ndim++] = 1;
    }
    if (a_is_vector) {
        full.shape[full.ndim] = full.shape[full.ndim - 1];
        full.stride[full.ndim] = full.stride[full.ndim - 1];
        full.shape[full.ndim - 1] = 1;
        full.stride[full.ndim - 1] = full.shape[full.ndim] * full.stride[full.ndim];
        full.ndim++;
    }
    return full;
}

/* A gradient of x's shape in the product's dtype, written as the matrix x was; the batch is all of g's. */
static hd_tensor *d_side(hd_ctx *cx, const hd_input_meta *x, bool is_row, const hd_tensor *a, bool at,
                         const hd_tensor *b, bool bt) {
    const hd_tensor *g = at ? b : a;
    hd_tensor *dx = hd_tensor_new(cx, (hd_dtype)g->dtype, x->ndim, x->shape);
    if (!dx) return NULL;
    hd_tensor matrix = as_matrix(dx, is_row);
    if (multiply(cx, a, at, b, bt, &matrix, g->ndim - 2, g->shape)) {
        hd_release(dx);
        return NULL;
    }
    return dx;
}

typedef struct vectors {
    bool a, b; /* was it a vector? */
} vectors;

/* da = g b^T or db = a^T g: `other` is the factor that stays. */
static hd_tensor *d_factor(hd_ctx *cx, hd_node *node, int i, hd_tensor *g, const hd_tensor *other) {
    hd_input_meta x = hd_node_input(node, i);
    hd_tensor matrix = as_matrix(other, i == 1);
    hd_tensor *r = readable(cx, &matrix, (hd_dtype)g->dtype);
    if (!r) return NULL;
    hd_tensor *dx =
        i == 0 ? d_side(cx, &x, true, g, false, r, true) : d_side(cx, &x, false, r, true, g, false);
    if (r != &matrix) hd_release(r);
    return hd_grad_to_input(cx, node, i, dx);
}

static hd_status matmul_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads,
                                 hd_tensor **grad_inputs) {
    /* y = a b  ->  da = g b^T, db = a^T g */
    if (!grads[0]) return HD_OK;
    const vectors *was = (const vectors *)node->params;
    hd_tensor full = as_product(grads[0], was->a, was->b);
    hd_tensor *g = readable(cx, &full, (hd_dtype)full.dtype);
    hd_status status = hd_made(cx, g);
    for (int i = 0; i < 2 && !status; i++) {
        if (!hd_node_needs(node, i)) continue;
        hd_tensor *other = hd_node_saved(cx, node, 1 - i);
        if (other) grad_inputs[i] = d_factor(cx, node, i, g, other);
        status = hd_made(cx, grad_inputs[i]);
    }
    if (g != &full) hd_release(g);
    return status;
}
static const hd_node_class matmul_class = {"matmul", matmul_backward, NULL};

/* ---- forward --------------------------------------------------------------------------------- */

/* The last two of y's dimensions are [m, n]; those that came from vectors go away. */
static void drop_vector_dims(hd_tensor *y, bool a_is_vector, bool b_is_vector) {
    if (b_is_vector) y->ndim--;
    if (!a_is_vector) return;
    int at = y->ndim - (b_is_vector ? 1 : 2);
    for (int d = at; d + 1 < y->ndim; d++) {
        y->shape[d] = y->shape[d + 1];
        y->stride[d] = y->stride[d + 1];
    }
    y->ndim--;
}

static hd_tensor *multiply_new(hd_ctx *cx, const hd_tensor *a, const hd_tensor *b, hd_dtype dtype) {
    int ndim;
    int64_t shape[HD_MAX_DIMS];
    if (common_batch(cx, a, b, &ndim, shape)) return NULL;
    shape[ndim] = a->shape[a->ndim - 2];
    shape[ndim + 1] = b->shape[b->ndim - 1];
    hd_tensor *y = hd_tensor_new(cx, dtype, ndim + 2, shape);
    if (y && multiply(cx, a, false, b, false, y, ndim, shape)) {
        hd_release(y);
        return NULL;
    }
    return y;
}

/* Of integers in i64, whose low bits are those of the narrower ones; of bool i64 stays. */
static hd_tensor *narrowed(hd_ctx *cx, hd_tensor *y, hd_dtype promoted) {
    if (!y || promoted == HD_BOOL || (hd_dtype)y->dtype == promoted) return y;
    hd_tensor *narrow = hd_cast(cx, y, promoted);
    hd_release(y);
    return narrow;
}

hd_tensor *hd_matmul(hd_ctx *cx, hd_tensor *a, hd_tensor *b) {
    if (check_operands(cx, a, b)) return NULL;
    hd_dtype promoted = hd_dtype_promote((hd_dtype)a->dtype, (hd_dtype)b->dtype);
    hd_dtype dtype = hd_dtype_is_float(promoted) ? promoted : HD_I64;
    hd_tensor matrix_a = as_matrix(a, true), matrix_b = as_matrix(b, false);
    hd_tensor *ra = readable(cx, &matrix_a, dtype);
    hd_tensor *rb = ra ? readable(cx, &matrix_b, dtype) : NULL;
    hd_tensor *y = rb ? narrowed(cx, multiply_new(cx, ra, rb, dtype), promoted) : NULL;
    if (rb != &matrix_b) hd_release(rb);
    if (ra != &matrix_a) hd_release(ra);
    if (!y) return NULL;
    drop_vector_dims(y, a->ndim == 1, b->ndim == 1);
    hd_tensor *inputs[] = {a, b};
    hd_tensor *saved[] = {b->requires_grad ? a : NULL, a->requires_grad ? b : NULL};
    vectors was = {a->ndim == 1, b->ndim == 1};
    return hd_record(cx, &matmul_class, y, 2, inputs, 2, saved, &was, sizeof was);
}
