/* einsum.c: sums of products over named dimensions, as Einstein wrote them: "bld,bsd->bls".
 *
 *     y[letters of the output] = sum over all other letters of the product of the operands
 *
 * Every step is an operation with a gradient of its own: a letter repeated within an operand takes the
 * diagonal, a letter that nobody else has is summed, and two operands at a time become a batch of matrix
 * products (common letters that stay are the batch, those that go the inner dimension), so that the product
 * over all letters never exists. Two operands go as they stand; of three to MAX_ORDERED the cheapest order is
 * found first (the number of multiplications, by dynamic programming over subsets), more go from left to right.
 */
#include <math.h>
#include <string.h>

#include "ops/elementwise/inplace.h"
#include "ops/elementwise/scalar.h"
#include "ops/gradient.h"
#include "ops/product/einsum_equation.h"

enum { MAX_ORDERED = 8 };

/* ---- operands ---------------------------------------------------------------------------------- */

/* A tensor whose dimensions have labels, each another. */
typedef struct operand {
    hd_tensor *t; /* owned */
    int labels[HD_MAX_DIMS];
} operand;

static hd_label_set labels_of(const operand *o) {
    hd_label_set set = 0;
    for (int d = 0; d < o->t->ndim; d++) set |= hd_label_bit(o->labels[d]);
    return set;
}

/* Takes the new tensor for the old one. */
static hd_status replace(hd_ctx *cx, operand *o, hd_tensor *t) {
    hd_release(o->t);
    o->t = t;
    return hd_made(cx, t);
}

static hd_status label_dims(hd_ctx *cx, operand *o, const hd_einsum_term *t, int number) {
    int dots = o->t->ndim - t->count;
    char shape[HD_SHAPE_TEXT];
    if (t->dots_at < 0 ? dots != 0 : dots < 0)
        return hd_fail(cx, HD_EARG, "operand %d: expected %d dimensions%s as the equation says, got %s",
                       number, t->count, t->dots_at < 0 ? "" : " or more", hd_tensor_shape_text(o->t, shape));
    int d = 0;
    for (int i = 0; i <= t->count; i++) {
        for (int k = 0; i == t->dots_at && k < dots; k++) o->labels[d++] = HD_EINSUM_LABELS - dots + k;
        if (i < t->count) o->labels[d++] = t->labels[i];
    }
    return HD_OK;
}

/* A letter twice in one operand: the diagonal of both dimensions. */
static hd_status take_diagonals(hd_ctx *cx, operand *o, int number) {
    for (int a = 0; a < o->t->ndim; a++) {
        for (int b = a + 1; b < o->t->ndim; b++) {
            if (o->labels[a] != o->labels[b]) continue;
            if (o->t->shape[a] != o->t->shape[b])
                return hd_fail(
                    cx, HD_EARG,
                    "operand %d: letter '%c' names dimensions %d and %d of different sizes, %lld and %lld",
                    number, hd_einsum_letter(o->labels[a]), a + 1, b + 1, (long long)o->t->shape[a],
                    (long long)o->t->shape[b]);
            int label = o->labels[a], rest = 0;
            if (replace(cx, o, hd_diagonal(cx, o->t, 0, a, b))) return cx->error.status;
            for (int d = 0; d <= o->t->ndim; d++) /* the diagonal is the last dimension now */
                if (d != a && d != b) o->labels[rest++] = o->labels[d];
            o->labels[rest] = label;
            b = a; /* another dimension has come to place a */
        }
    }
    return HD_OK;
}

typedef struct problem {
    hd_ctx *cx;
    int count;
    operand *operands;
    int64_t size[HD_EINSUM_LABELS];
    hd_einsum_output output;
    hd_label_set output_set; /* its labels */
    hd_dtype dtype;
} problem;

static hd_status differ(problem *p, int label, int first, int second) {
    char a[HD_SHAPE_TEXT], b[HD_SHAPE_TEXT], name[16] = "\"...\"";
    int64_t sizes[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        const operand *o = &p->operands[i == 0 ? first : second];
        for (int d = 0; d < o->t->ndim; d++)
            if (o->labels[d] == label) sizes[i] = o->t->shape[d];
    }
    if (label < HD_EINSUM_LETTERS) memcpy(name, (char[]){'\'', hd_einsum_letter(label), '\'', 0}, 4);
    return hd_fail(p->cx, HD_EARG, "%s is %lld in operand %d, %s, and %lld in operand %d, %s", name,
                   (long long)sizes[0], first + 1, hd_tensor_shape_text(p->operands[first].t, a),
                   (long long)sizes[1], second + 1, hd_tensor_shape_text(p->operands[second].t, b));
}

/* The sizes of all labels: one each, but 1 goes with any. */
static hd_status measure(problem *p) {
    int from[HD_EINSUM_LABELS] = {0};
    for (int i = 0; i < HD_EINSUM_LABELS; i++) p->size[i] = 1;
    for (int i = 0; i < p->count; i++) {
        const operand *o = &p->operands[i];
        for (int d = 0; d < o->t->ndim; d++) {
            int label = o->labels[d];
            int64_t size = o->t->shape[d];
            if (size == 1 || size == p->size[label]) continue;
            if (p->size[label] != 1) return differ(p, label, from[label], i);
            p->size[label] = size;
            from[label] = i;
        }
    }
    return HD_OK;
}

/* The labels of the output and of all operands that are still there but number i. */
static hd_label_set wanted_beside(const problem *p, int i) {
    hd_label_set wanted = p->output_set;
    for (int k = 0; k < p->count; k++)
        if (k != i && p->operands[k].t) wanted |= labels_of(&p->operands[k]);
    return wanted;
}

/* Without the dimensions of 1 whose label is larger elsewhere: they broadcast. */
static hd_status drop_broadcast(problem *p, operand *o) {
    uint32_t dims = 0;
    int rest = 0, ndim = o->t->ndim;
    for (int d = 0; d < ndim; d++) {
        if (o->t->shape[d] == 1 && p->size[o->labels[d]] != 1)
            dims |= 1u << d;
        else
            o->labels[rest++] = o->labels[d];
    }
    return dims ? replace(p->cx, o, hd_squeeze_dims(p->cx, o->t, dims)) : HD_OK;
}

/* Sums the labels that are not in `kept`. */
static hd_status sum_out(problem *p, operand *o, hd_label_set kept) {
    uint32_t dims = 0;
    int rest = 0, ndim = o->t->ndim;
    for (int d = 0; d < ndim; d++) {
        if (kept & hd_label_bit(o->labels[d]))
            o->labels[rest++] = o->labels[d];
        else
            dims |= 1u << d;
    }
    return dims ? replace(p->cx, o, hd_reduce(p->cx, HD_SUM, o->t, dims, false)) : HD_OK;
}

/* ---- two operands ------------------------------------------------------------------------------ */

/* Labels in an order, as dimensions of an operand. */
typedef struct group {
    int count;
    int labels[2 * HD_MAX_DIMS];
} group;

static int dim_of(const operand *o, int label) {
    for (int d = 0; d < o->t->ndim; d++)
        if (o->labels[d] == label) return d;
    return -1;
}

static int place_in_output(const problem *p, int label) {
    for (int i = 0; i < p->output.count; i++)
        if (p->output.labels[i] == label) return i;
    return HD_MAX_DIMS;
}

/* Do these dimensions lie in memory as one? */
static bool lie_as_one(const operand *o, const group *g) {
    int64_t behind = -1;
    for (int i = g->count - 1; i >= 0; i--) {
        int d = dim_of(o, g->labels[i]);
        if (o->t->shape[d] == 1) continue;
        if (behind >= 0 && o->t->stride[d] != behind) return false;
        behind = o->t->stride[d] * o->t->shape[d];
    }
    return true;
}

static void sort_by_output(const problem *p, group *g) {
    for (int i = 1; i < g->count; i++)
        for (int k = i; k > 0; k--) {
            int before = g->labels[k - 1], label = g->labels[k];
            if (place_in_output(p, before) <= place_in_output(p, label)) break;
            g->labels[k - 1] = label;
            g->labels[k] = before;
        }
}

static void sort_by_memory(const operand *o, group *g) {
    for (int i = 1; i < g->count; i++)
        for (int k = i; k > 0; k--) {
            int before = g->labels[k - 1], label = g->labels[k];
            if (o->t->stride[dim_of(o, before)] >= o->t->stride[dim_of(o, label)]) break;
            g->labels[k - 1] = label;
            g->labels[k] = before;
        }
}

static group labels_among(const operand *o, hd_label_set set) {
    group g = {0};
    for (int d = 0; d < o->t->ndim; d++)
        if (set & hd_label_bit(o->labels[d])) g.labels[g.count++] = o->labels[d];
    return g;
}

/* As the output has them, unless that needs a copy which another order does not. */
static group outer_group(const problem *p, const operand *o, hd_label_set set) {
    group g = labels_among(o, set);
    if (g.count < 2) return g;
    sort_by_output(p, &g);
    if (!lie_as_one(o, &g)) sort_by_memory(o, &g);
    return g;
}

/* An order in which both have the inner dimensions as one; otherwise that of the larger. */
static group inner_group(const operand *a, const operand *b, hd_label_set set) {
    group by_a = labels_among(a, set), by_b = labels_among(b, set);
    if (by_a.count < 2) return by_a;
    sort_by_memory(a, &by_a);
    sort_by_memory(b, &by_b);
    if (lie_as_one(a, &by_a) && lie_as_one(b, &by_a)) return by_a;
    if (lie_as_one(a, &by_b) && lie_as_one(b, &by_b)) return by_b;
    return hd_numel(a->t) >= hd_numel(b->t) ? by_a : by_b;
}

static int64_t size_of(const problem *p, const group *g) {
    int64_t size = 1;
    for (int i = 0; i < g->count; i++) size *= p->size[g->labels[i]];
    return size;
}

/* o's dimensions in the order of the groups; an identical order is no step. A new reference. */
static hd_tensor *in_order(hd_ctx *cx, const operand *o, const group *a, const group *b, const group *c) {
    const group *groups[] = {a, b, c};
    int order[HD_MAX_DIMS], n = 0;
    bool same = true;
    for (int i = 0; i < 3; i++)
        for (int k = 0; groups[i] && k < groups[i]->count; k++, n++) {
            order[n] = dim_of(o, groups[i]->labels[k]);
            same = same && order[n] == n;
        }
    return same ? hd_retain(o->t) : hd_permute(cx, o->t, order);
}

/* Consumes x. */
static hd_tensor *reshaped(hd_ctx *cx, hd_tensor *x, int ndim, const int64_t *shape) {
    if (!x || (x->ndim == ndim && memcmp(x->shape, shape, (size_t)ndim * sizeof *shape) == 0)) return x;
    hd_tensor *y = hd_reshape(cx, x, ndim, shape);
    hd_release(x);
    return y;
}

/* [batch, first, second]: a matrix for each element of the batch. */
static hd_tensor *as_matrices(problem *p, const operand *o, const group *batch, const group *first,
                              const group *second) {
    int64_t shape[HD_MAX_DIMS + 2];
    int n = 0;
    bool apart = batch->count + 2 <= HD_MAX_DIMS;
    for (int i = 0; apart && i < batch->count; i++) shape[n++] = p->size[batch->labels[i]];
    if (!apart) shape[n++] = size_of(p, batch);
    shape[n++] = size_of(p, first);
    shape[n++] = size_of(p, second);
    return reshaped(p->cx, in_order(p->cx, o, batch, first, second), n, shape);
}

/* The labels of what is left, in their order; HD_EARG when they are too many. */
static hd_status label_result(problem *p, operand *y, int64_t *shape, const group *const *groups, int *ndim) {
    int n = 0, total = groups[0]->count + groups[1]->count + groups[2]->count;
    if (total > HD_MAX_DIMS) return hd_einsum_too_many_dims(p->cx, total);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < groups[i]->count; k++, n++) {
            y->labels[n] = groups[i]->labels[k];
            shape[n] = p->size[y->labels[n]];
        }
    *ndim = n;
    return HD_OK;
}

/* With inner dimensions: matrices. */
static hd_status multiply_matrices(problem *p, const operand *a, const operand *b, const group *batch,
                                   const group *rows, const group *inner, const group *columns, operand *y) {
    int64_t shape[HD_MAX_DIMS];
    int ndim = 0;
    if (label_result(p, y, shape, (const group *[]){batch, rows, columns}, &ndim)) return p->cx->error.status;
    hd_tensor *left = as_matrices(p, a, batch, rows, inner);
    hd_tensor *right = left ? as_matrices(p, b, batch, inner, columns) : NULL;
    y->t = reshaped(p->cx, right ? hd_matmul(p->cx, left, right) : NULL, ndim, shape);
    hd_release(right);
    hd_release(left);
    return hd_made(p->cx, y->t);
}

/* Without: one times the other, broadcast. */
static hd_status multiply_elements(problem *p, const operand *a, const operand *b, const group *batch,
                                   const group *rows, const group *columns, operand *y) {
    int64_t shape[HD_MAX_DIMS];
    int ndim = 0;
    if (label_result(p, y, shape, (const group *[]){batch, rows, columns}, &ndim)) return p->cx->error.status;
    int64_t left_shape[HD_MAX_DIMS];
    memcpy(left_shape, shape, sizeof left_shape);
    for (int d = batch->count + rows->count; d < ndim; d++) left_shape[d] = 1;
    int64_t right_shape[HD_MAX_DIMS];
    memcpy(right_shape, shape, sizeof right_shape);
    for (int d = batch->count; d < batch->count + rows->count; d++) right_shape[d] = 1;
    hd_tensor *left = reshaped(p->cx, in_order(p->cx, a, batch, rows, NULL), ndim, left_shape);
    hd_tensor *right =
        left ? reshaped(p->cx, in_order(p->cx, b, batch, columns, NULL), ndim, right_shape) : NULL;
    y->t = right ? hd_binary_op(p->cx, HD_MUL, left, right) : NULL;
    hd_release(right);
    hd_release(left);
    return hd_made(p->cx, y->t);
}

static int last_in_output(const problem *p, const group *g) {
    int last = -1;
    for (int i = 0; i < g->count; i++) {
        int place = place_in_output(p, g->labels[i]);
        if (place < HD_MAX_DIMS && place > last) last = place;
    }
    return last;
}

/* y = a b, summed over the common labels that are not in `kept`. Consumes both. */
static hd_status contract(problem *p, operand *a, operand *b, hd_label_set kept, operand *y) {
    hd_label_set in_a = labels_of(a), in_b = labels_of(b);
    group batch = labels_among(a, in_a & in_b & kept), inner = inner_group(a, b, in_a & in_b & ~kept);
    group rows = outer_group(p, a, in_a & ~in_b), columns = outer_group(p, b, in_b & ~in_a);
    sort_by_output(p, &batch);
    /* What ends the output should end the product, so that it comes out as it is wanted. */
    bool swap = last_in_output(p, &rows) > last_in_output(p, &columns);
    const operand *left = swap ? b : a, *right = swap ? a : b;
    const group *first = swap ? &columns : &rows, *second = swap ? &rows : &columns;
    hd_status status = inner.count ? multiply_matrices(p, left, right, &batch, first, &inner, second, y)
                                   : multiply_elements(p, left, right, &batch, first, second, y);
    hd_release(a->t);
    hd_release(b->t);
    a->t = b->t = NULL;
    return status;
}

/* ---- the order --------------------------------------------------------------------------------- */

/* For each set of operands (bit i for operand i): what its product costs, and where it is cut last. */
typedef struct plan {
    hd_label_set labels[1 << MAX_ORDERED]; /* of the product */
    double cost[1 << MAX_ORDERED];
    uint16_t cut[1 << MAX_ORDERED];
} plan;

static double product_of(const problem *p, hd_label_set set) {
    double size = 1;
    for (int label = 0; label < HD_EINSUM_LABELS; label++)
        if (set & hd_label_bit(label)) size *= (double)p->size[label];
    return size;
}

static void find_order(const problem *p, plan *order) {
    for (unsigned set = 1; set < 1u << p->count; set++) {
        hd_label_set inside = 0, outside = p->output_set;
        for (int i = 0; i < p->count; i++) *(set >> i & 1 ? &inside : &outside) |= labels_of(&p->operands[i]);
        order->labels[set] = inside & outside;
        order->cost[set] = set & (set - 1) ? INFINITY : 0;
        /* Each cut once: the part that has the lowest operand comes first. */
        for (unsigned part = (set - 1) & set; part; part = (part - 1) & set) {
            if (!(part & set & -set)) continue;
            double cost = order->cost[part] + order->cost[set ^ part] +
                          product_of(p, order->labels[part] | order->labels[set ^ part]);
            if (cost >= order->cost[set]) continue;
            order->cost[set] = cost;
            order->cut[set] = (uint16_t)part;
        }
    }
}

/* The product of a set, into y; its operands are consumed. */
static hd_status contract_set(problem *p, const plan *order, unsigned set, operand *y) {
    *y = (operand){0};
    if (!(set & (set - 1))) {
        operand *o = &p->operands[__builtin_ctz(set)];
        *y = *o;
        o->t = NULL;
        return HD_OK;
    }
    unsigned part = order->cut[set];
    operand a, b = {0};
    hd_status status = contract_set(p, order, part, &a);
    if (!status) status = contract_set(p, order, set ^ part, &b);
    if (!status) return contract(p, &a, &b, order->labels[set], y);
    hd_release(a.t);
    hd_release(b.t);
    return status;
}

static hd_status contract_in_order(problem *p, operand *y) {
    plan *order = hd_alloc(p->cx, sizeof *order);
    if (!order) return p->cx->error.status;
    find_order(p, order);
    hd_status status = contract_set(p, order, (1u << p->count) - 1, y);
    hd_free(p->cx->account, order);
    return status;
}

static hd_status contract_in_turn(problem *p, operand *y) {
    hd_status status = HD_OK;
    *y = p->operands[0];
    p->operands[0].t = NULL;
    for (int i = 1; i < p->count && !status; i++) {
        operand a = *y, b = p->operands[i];
        p->operands[i].t = NULL;
        *y = (operand){0};
        status = contract(p, &a, &b, wanted_beside(p, i), y);
    }
    return status;
}

/* ---- all of it ----------------------------------------------------------------------------------- */

static hd_status prepare(problem *p, const hd_einsum_term *terms, hd_tensor *const *tensors) {
    for (int i = 0; i < p->count; i++) {
        operand *o = &p->operands[i];
        if (hd_check_computes(p->cx, tensors[i])) return p->cx->error.status;
        o->t = hd_cast(p->cx, tensors[i], p->dtype);
        if (!o->t || label_dims(p->cx, o, &terms[i], i + 1) || take_diagonals(p->cx, o, i + 1))
            return p->cx->error.status;
    }
    if (measure(p)) return p->cx->error.status;
    for (int i = 0; i < p->count; i++)
        if (drop_broadcast(p, &p->operands[i])) return p->cx->error.status;
    for (int i = 0; i < p->count; i++)
        if (sum_out(p, &p->operands[i], wanted_beside(p, i))) return p->cx->error.status;
    return HD_OK;
}

/* y's dimensions as the output has them, in the dtype that was promised. */
static hd_tensor *finish(problem *p, operand *y) {
    int order[HD_MAX_DIMS];
    for (int i = 0; i < p->output.count; i++) order[i] = dim_of(y, p->output.labels[i]);
    if (replace(p->cx, y, hd_cast(p->cx, y->t, p->dtype))) return NULL; /* sums of short integers are long */
    hd_tensor *result = hd_permute(p->cx, y->t, order);
    hd_release(y->t);
    y->t = NULL;
    return hd_own(result);
}

static hd_tensor *run(problem *p, const char *equation, hd_einsum_term *terms, hd_tensor *const *tensors) {
    operand y = {0};
    if (hd_einsum_read(p->cx, equation, p->count, tensors, terms, &p->output)) return NULL;
    for (int i = 0; i < p->output.count; i++) p->output_set |= hd_label_bit(p->output.labels[i]);
    if (prepare(p, terms, tensors)) return NULL;
    hd_status status =
        p->count > 2 && p->count <= MAX_ORDERED ? contract_in_order(p, &y) : contract_in_turn(p, &y);
    hd_tensor *result = status ? NULL : finish(p, &y);
    hd_release(y.t);
    return result;
}

hd_tensor *hd_einsum(hd_ctx *cx, const char *equation, int count, hd_tensor *const *tensors) {
    problem p = {.cx = cx, .count = count};
    if (count < 1) return hd_fail_null(cx, HD_EARG, "operands: expected at least one tensor, got none");
    p.dtype = (hd_dtype)tensors[0]->dtype;
    for (int i = 1; i < count; i++) p.dtype = hd_dtype_promote(p.dtype, (hd_dtype)tensors[i]->dtype);
    if (p.dtype == HD_BOOL) p.dtype = HD_I64;
    p.operands = hd_alloc_zeroed(cx, (size_t)count * sizeof *p.operands);
    hd_einsum_term *terms = p.operands ? hd_alloc(cx, (size_t)count * sizeof *terms) : NULL;
    hd_tensor *y = terms ? run(&p, equation, terms, tensors) : NULL;
    for (int i = 0; i < count && p.operands; i++) hd_release(p.operands[i].t);
    hd_free(cx->account, terms);
    hd_free(cx->account, p.operands);
    return y;
}
