/* linear_cross_entropy.c: cross_entropy(x W^T + b, targets) that never holds all logits.
 *
 *   for each chunk of rows, those of ignored targets left out:
 *     z  = x W^T + b               [chunk, V], all that there is of logits
 *     z  = d loss / d z            in place, in the pass that finds the losses (loss_rows.c)
 *     dx = z W,  dW += z^T x,  db += column sums of z
 *
 * With a mean or a sum the gradients are made in the forward pass, which holds z already: three products in
 * all, where going over the chunks again in backward would take four. With losses one by one the gradient
 * waits for theirs, so backward does go over the chunks again. A chunk is cut by V alone, sums go from the
 * first chunk to the last.
 */
#include "ops/loss/loss_rows.h"

#include "base/parallel.h"
#include "kernels/gemm.h"
#include "ops/elementwise/element.h"
#include "ops/ops.h"

#include <string.h>

#define CHUNK_ELEMENTS ((int64_t)1 << 22) /* of z, about */
#define LEAST_ROWS 512                    /* below that the products are slow */

enum { IN_X, IN_W, IN_B, INPUTS };

typedef struct job {
    hd_loss_pass pass; /* over the rows that are kept */
    hd_dtype dtype;
    hd_rows x;
    const hd_tensor *w;
    hd_tensor *grads[INPUTS]; /* NULL: not wanted; dx and db begin as zeros */
    int64_t *rows;            /* of x, those whose targets are not ignored */
    int64_t *targets;         /* theirs */
    int64_t chunk;
    char *xs, *dxs, *zs; /* [chunk, E] twice, [chunk, V] */
} job;

/* ---- one chunk ------------------------------------------------------------------------------------- */

static hd_matrix dense(void *data, int64_t columns) {
    return (hd_matrix){data, columns, 1, 0};
}
static hd_matrix transposed(hd_matrix x) {
    return (hd_matrix){x.data, x.col_stride, x.row_stride, 0};
}
static hd_matrix matrix_of(const hd_tensor *t) {
    return (hd_matrix){hd_data(t), t->stride[0], t->stride[1], 0};
}

static hd_status multiply(hd_ctx *cx, const job *j, int64_t m, int64_t n, int64_t k, hd_matrix a, hd_matrix b,
                          hd_matrix c, double beta) {
    hd_gemm g = {.dtype = j->dtype, .m = m, .n = n, .k = k, .batch = 1, .alpha = 1, .beta = beta};
    g.a = a;
    g.b = b;
    g.c = c;
    return hd_gemm_run(cx, &g);
}

static void gather(const job *j, int64_t first, int64_t count) {
    size_t bytes = (size_t)j->x.width * j->x.size;
    for (int64_t i = 0; i < count; i++)
        memcpy(j->xs + (size_t)i * bytes, hd_row(&j->x, j->rows[first + i]), bytes);
}

static void scatter(const job *j, int64_t first, int64_t count) {
    hd_rows to = hd_rows_of(j->grads[IN_X]);
    size_t bytes = (size_t)to.width * to.size;
    for (int64_t i = 0; i < count; i++)
        memcpy(hd_row(&to, j->rows[first + i]), j->dxs + (size_t)i * bytes, bytes);
}

typedef struct column_loop {
    const job *j;
    int64_t rows;
} column_loop;

static void add_columns(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const column_loop *l = arg;
    const job *j = l->j;
    size_t at = (size_t)first * j->x.size;
    j->pass.kernels->column_sums[j->dtype](l->rows, last - first, j->zs + at, j->pass.classes,
                                           (char *)hd_data(j->grads[IN_B]) + at);
}

static hd_status differentiate(hd_ctx *cx, const job *j, int64_t first, int64_t count) {
    int64_t V = j->pass.classes, E = j->x.width;
    hd_matrix z = dense(j->zs, V);
    if (j->grads[IN_X]) {
        if (multiply(cx, j, count, E, V, z, matrix_of(j->w), dense(j->dxs, E), 0)) return cx->error.status;
        scatter(j, first, count);
    }
    if (j->grads[IN_W] && multiply(cx, j, V, E, count, transposed(z), dense(j->xs, E),
                                   dense(hd_data(j->grads[IN_W]), E), first > 0))
        return cx->error.status;
    if (!j->grads[IN_B]) return HD_OK;
    column_loop l = {j, count};
    return hd_parallel_ranges(cx, V, hd_rows_grain(count), add_columns, &l);
}

static hd_status run_chunk(hd_ctx *cx, const job *j, int64_t first, int64_t count) {
    int64_t V = j->pass.classes, E = j->x.width;
    bool differentiates = j->grads[IN_X] || j->grads[IN_W] || j->grads[IN_B];
    hd_loss_pass pass = j->pass;
    pass.logits = (hd_rows){j->zs, count, V, V, j->x.size};
    if (differentiates) pass.grad = pass.logits;
    gather(j, first, count);
    hd_status status =
        multiply(cx, j, count, V, E, dense(j->xs, E), transposed(matrix_of(j->w)), dense(j->zs, V), 0);
    if (!status) status = hd_loss_rows(cx, &pass, first);
    return status || !differentiates ? status : differentiate(cx, j, first, count);
}

/* ---- all chunks ------------------------------------------------------------------------------------ */

static void keep_rows(job *j, const int64_t *targets, int64_t count) {
    j->pass.count = 0;
    for (int64_t i = 0; i < count; i++) {
        if (hd_loss_ignores(&j->pass.rule, targets[i])) continue;
        j->rows[j->pass.count] = i;
        j->targets[j->pass.count++] = targets[i];
    }
}

static hd_status begin(hd_ctx *cx, job *j, const hd_tensor *targets) {
    int64_t V = j->pass.classes, count = hd_numel(targets);
    size_t size = hd_dtype_size(j->dtype);
    j->rows = hd_alloc(cx, (size_t)count * sizeof *j->rows);
    j->targets = hd_alloc(cx, (size_t)count * sizeof *j->targets);
    if (!j->rows || !j->targets) return cx->error.status;
    keep_rows(j, hd_data(targets), count);
    j->pass.targets = j->targets;
    j->chunk = CHUNK_ELEMENTS / (V > 0 ? V : 1);
    if (j->chunk < LEAST_ROWS) j->chunk = LEAST_ROWS;
    if (j->chunk > j->pass.count) j->chunk = j->pass.count;
    j->xs = hd_alloc(cx, (size_t)(j->chunk * j->x.width) * size);
    j->zs = hd_alloc(cx, (size_t)(j->chunk * V) * size);
    if (!j->xs || !j->zs) return cx->error.status;
    if (j->grads[IN_X] && !(j->dxs = hd_alloc(cx, (size_t)(j->chunk * j->x.width) * size)))
        return cx->error.status;
    return hd_loss_begin(cx, &j->pass);
}

static void end(hd_ctx *cx, job *j) {
    hd_loss_end(cx, &j->pass);
    hd_free(cx->account, j->rows);
    hd_free(cx->account, j->targets);
    hd_free(cx->account, j->xs);
    hd_free(cx->account, j->dxs);
    hd_free(cx->account, j->zs);
    for (int i = 0; i < INPUTS; i++) hd_release(j->grads[i]);
}

static hd_status run_all(hd_ctx *cx, const job *j) {
    int64_t left = j->pass.count;
    if (left == 0 && j->grads[IN_W]) memset(hd_data(j->grads[IN_W]), 0, j->grads[IN_W]->storage->bytes);
    hd_status status = HD_OK;
    for (int64_t first = 0; left > 0 && !status; first += j->chunk, left -= j->chunk)
        status = run_chunk(cx, j, first, left < j->chunk ? left : j->chunk);
    return status;
}

static hd_status want_gradients(hd_ctx *cx, job *j, hd_tensor *x, const bool wanted[INPUTS]) {
    if (wanted[IN_X] && !(j->grads[IN_X] = hd_tensor_zeros(cx, j->dtype, x->ndim, x->shape)))
        return cx->error.status;
    if (wanted[IN_W] && !(j->grads[IN_W] = hd_tensor_like(cx, j->w))) return cx->error.status;
    if (wanted[IN_B] && !(j->grads[IN_B] = hd_tensor_zeros(cx, j->dtype, 1, &j->pass.classes)))
        return cx->error.status;
    return HD_OK;
}

/* ---- backward -------------------------------------------------------------------------------------- */

/* The gradients were made already. */
static hd_status made_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    if (!grads[0]) return HD_OK;
    double g = hd_load(hd_data(grads[0]), (hd_dtype)grads[0]->dtype, 0);
    for (int i = 0; i < INPUTS; i++) {
        if (!hd_node_needs(node, i)) continue;
        hd_tensor *saved = hd_node_saved(cx, node, i);
        if (!saved) return cx->error.status;
        grad_inputs[i] =
            g == 1 ? hd_tensor_alias(cx, saved) : hd_binary_scalar(cx, HD_MUL, saved, hd_scalar_f(g), false);
        if (!grad_inputs[i]) return cx->error.status;
    }
    return HD_OK;
}

static const hd_node_class made_class = {"linear_cross_entropy", made_backward, NULL};

enum { SAVED_X, SAVED_W, SAVED_B, SAVED_TARGETS, SAVED_WEIGHT, SAVED_EXCLUDED, SAVED };

/* What was saved, or NULL where nothing was. HD_EARG when it was overwritten. */
static hd_status fetch(hd_ctx *cx, hd_node *node, hd_tensor *saved[SAVED]) {
    for (int i = 0; i < SAVED; i++) {
        bool is_optional = i == SAVED_B || i == SAVED_WEIGHT || i == SAVED_EXCLUDED;
        saved[i] = is_optional && !node->saved[i].tensor ? NULL : hd_node_saved(cx, node, i);
        if (!saved[i] && !is_optional) return cx->error.status;
        if (!saved[i] && node->saved[i].tensor) return cx->error.status;
    }
    return HD_OK;
}

static hd_loss_pass pass_of(hd_dtype dtype, hd_loss_rule rule, hd_tensor *const saved[SAVED]) {
    return (hd_loss_pass){.dtype = dtype,
                          .rule = rule,
                          .classes = saved[SAVED_W]->shape[0],
                          .weight = saved[SAVED_WEIGHT] ? hd_data(saved[SAVED_WEIGHT]) : NULL,
                          .excluded = saved[SAVED_EXCLUDED] ? hd_data(saved[SAVED_EXCLUDED]) : NULL,
                          .bias = saved[SAVED_B] ? hd_data(saved[SAVED_B]) : NULL};
}

/* Of losses one by one: over the chunks again, each row by its gradient. */
static hd_status each_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    if (!grads[0]) return HD_OK;
    hd_tensor *saved[SAVED], *rows = NULL, *g = NULL;
    hd_loss_rule rule;
    memcpy(&rule, node->params, sizeof rule);
    if (fetch(cx, node, saved)) return cx->error.status;
    job j = {.dtype = (hd_dtype)grads[0]->dtype, .w = saved[SAVED_W]};
    j.pass = pass_of(j.dtype, rule, saved);
    double *scales = NULL;
    const bool wanted[INPUTS] = {hd_node_needs(node, IN_X), hd_node_needs(node, IN_W),
                                 hd_node_needs(node, IN_B)};
    bool done = false;
    if (!(rows = hd_as_rows(cx, saved[SAVED_X], &j.x)) || !(g = hd_contiguous_detached(cx, grads[0])))
        goto done;
    if (want_gradients(cx, &j, saved[SAVED_X], wanted) || begin(cx, &j, saved[SAVED_TARGETS])) goto done;
    if (!(scales = hd_alloc(cx, (size_t)j.pass.count * sizeof *scales))) goto done;
    for (int64_t i = 0; i < j.pass.count; i++) scales[i] = hd_load(hd_data(g), j.dtype, j.rows[i]);
    j.pass.scales = scales;
    if (run_all(cx, &j)) goto done;
    for (int i = 0; i < INPUTS; i++) grad_inputs[i] = j.grads[i] ? hd_retain(j.grads[i]) : NULL;
    done = true;
done:
    hd_free(cx->account, scales);
    end(cx, &j);
    hd_release(rows);
    hd_release(g);
    return done ? HD_OK : cx->error.status;
}

static const hd_node_class each_class = {"linear_cross_entropy", each_backward, NULL};

/* ---- forward --------------------------------------------------------------------------------------- */

static hd_status check(hd_ctx *cx, hd_tensor *x, hd_tensor *w, hd_tensor *b, hd_tensor *targets,
                       const hd_cross_entropy_options *o) {
    char got[HD_SHAPE_TEXT];
    if (hd_require_dtype_of(cx, "hidden", x, "weight", w)) return cx->error.status;
    if (w->ndim != 2)
        return hd_fail(cx, HD_EARG, "weight: expected [classes, features], got %s",
                       hd_tensor_shape_text(w, got));
    if (x->ndim < 1 || x->shape[x->ndim - 1] != w->shape[1])
        return hd_fail(cx, HD_EARG, "hidden: expected [..., %lld], the features of weight, got %s",
                       (long long)w->shape[1], hd_tensor_shape_text(x, got));
    if (b &&
        (hd_require_dtype(cx, "bias", b, (hd_dtype)x->dtype) || hd_require_shape(cx, "bias", b, 1, w->shape)))
        return cx->error.status;
    return hd_loss_check(cx, (hd_dtype)x->dtype, w->shape[0], x->ndim - 1, x->shape, targets, o);
}

/* Zeros where the target is ignored. */
static hd_tensor *each_loss(hd_ctx *cx, const job *j, const hd_tensor *targets) {
    hd_tensor *losses = hd_tensor_zeros(cx, j->dtype, targets->ndim, targets->shape);
    for (int64_t i = 0; losses && i < j->pass.count; i++)
        hd_store(hd_data(losses), j->dtype, j->rows[i], j->pass.losses[i]);
    return losses;
}

static hd_tensor *finish(hd_ctx *cx, job *j, hd_tensor *const inputs[INPUTS], hd_tensor *const saved[SAVED],
                         double divisor) {
    if (j->pass.rule.reduction == HD_LOSS_NONE)
        return hd_record(cx, &each_class, each_loss(cx, j, saved[SAVED_TARGETS]), INPUTS, inputs, SAVED,
                         saved, &j->pass.rule, sizeof j->pass.rule);
    return hd_record(cx, &made_class, hd_loss_total(cx, &j->pass, divisor), INPUTS, inputs, INPUTS, j->grads,
                     NULL, 0);
}

static hd_tensor *compute(hd_ctx *cx, hd_tensor *const inputs[INPUTS], hd_tensor *const saved[SAVED],
                          const hd_cross_entropy_options *o) {
    hd_tensor *x = inputs[IN_X], *loss = NULL;
    job j = {.dtype = (hd_dtype)x->dtype, .w = saved[SAVED_W]};
    j.pass = pass_of(j.dtype, hd_loss_rule_of(o), saved);
    bool wanted[INPUTS] = {false};
    for (int i = 0; i < INPUTS && o->reduction != HD_LOSS_NONE; i++)
        wanted[i] = inputs[i] && hd_wants_grad(cx, 1, &inputs[i]);
    hd_tensor *rows = hd_as_rows(cx, saved[SAVED_X], &j.x);
    if (rows && !want_gradients(cx, &j, x, wanted) && !begin(cx, &j, saved[SAVED_TARGETS])) {
        double divisor = hd_loss_divisor(&j.pass);
        if (!run_all(cx, &j)) loss = finish(cx, &j, inputs, saved, divisor);
    }
    end(cx, &j);
    hd_release(rows);
    return loss;
}

hd_tensor *hd_linear_cross_entropy(hd_ctx *cx, hd_tensor *x, hd_tensor *w, hd_tensor *b, hd_tensor *targets,
                                   const hd_cross_entropy_options *o) {
    if (check(cx, x, w, b, targets, o)) return NULL;
    hd_tensor *inputs[INPUTS] = {x, w, b}, *saved[SAVED] = {0}, *loss = NULL;
    saved[SAVED_X] = hd_retain(x);
    saved[SAVED_W] = hd_retain(w);
    bool ready = (saved[SAVED_TARGETS] = hd_contiguous_detached(cx, targets)) != NULL &&
                 (!b || (saved[SAVED_B] = hd_contiguous_detached(cx, b))) &&
                 (!o->weight || (saved[SAVED_WEIGHT] = hd_contiguous_detached(cx, o->weight))) &&
                 !hd_loss_exclude(cx, w->shape[0], o, &saved[SAVED_EXCLUDED]);
    if (ready) loss = compute(cx, inputs, saved, o);
    for (int i = 0; i < SAVED; i++) hd_release(saved[i]);
    return loss;
}
