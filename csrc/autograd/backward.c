/* backward.c: the way back through the graph.
 *
 * Nodes with a gradient waiting are in a heap, the latest on top: when a node is visited, all that was computed from it has been.
 */
#include "autograd/graph.h"

#include "autograd/anomaly.h"

#include <string.h>

struct hd_backward {
    hd_account *account;
    const hd_gradient_arithmetic *arithmetic;
    bool retain, looks_for_nan;
    hd_node **heap; /* of nodes with a gradient waiting, largest sequence first */
    int64_t count, capacity;
};

static bool heap_grow(hd_ctx *cx, hd_backward *run) {
    int64_t capacity = run->capacity ? run->capacity * 2 : 64;
    hd_node **heap = hd_alloc(cx, (size_t)capacity * sizeof *heap);
    if (!heap) return false;
    if (run->count) memcpy(heap, run->heap, (size_t)run->count * sizeof *heap);
    hd_free(run->account, run->heap);
    run->heap = heap;
    run->capacity = capacity;
    return true;
}

static hd_status heap_push(hd_ctx *cx, hd_backward *run, hd_node *node) {
    if (run->count == run->capacity && !heap_grow(cx, run)) return cx->error.status;
    int64_t i = run->count++;
    while (i > 0 && run->heap[(i - 1) / 2]->sequence < node->sequence) {
        run->heap[i] = run->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    run->heap[i] = node;
    hd_node_retain(node);
    node->run = run;
    return HD_OK;
}

/* The reference of the heap passes to the caller. */
static hd_node *heap_pop(hd_backward *run) {
    hd_node *top = run->heap[0];
    hd_node *last = run->heap[--run->count];
    int64_t i = 0;
    for (;;) {
        int64_t child = 2 * i + 1;
        if (child >= run->count) break;
        if (child + 1 < run->count && run->heap[child + 1]->sequence > run->heap[child]->sequence) child++;
        if (run->heap[child]->sequence < last->sequence) break;
        run->heap[i] = run->heap[child];
        i = child;
    }
    if (run->count) run->heap[i] = last;
    top->run = NULL;
    return top;
}

/* target += gradient. The first to arrive moves in as it is; the second adds in place where the sum is nobody
 * else's. */
static hd_status accumulate(hd_ctx *cx, const hd_backward *run, hd_tensor **target, hd_tensor *gradient) {
    if (!*target) {
        *target = hd_retain(gradient);
        return HD_OK;
    }
    hd_tensor *sum = run->arithmetic->sum(cx, *target, gradient);
    if (!sum) return cx->error.status;
    hd_release(*target);
    *target = sum;
    return HD_OK;
}

static hd_status check_gradient(hd_ctx *cx, const hd_node *node, const char *what, int position, int dtype,
                                int ndim, const int64_t *shape, const hd_tensor *gradient) {
    char expected[HD_SHAPE_TEXT], got[HD_SHAPE_TEXT];
    bool same = gradient->ndim == ndim && !memcmp(gradient->shape, shape, (size_t)ndim * sizeof *shape);
    if (same && gradient->dtype == dtype) return HD_OK;
    return hd_fail(cx, HD_EARG, "%s: gradient of %s %d: expected %s %s, got %s %s", node->class->name, what,
                   position + 1, hd_dtype_name((hd_dtype)dtype), hd_shape_text(ndim, shape, expected),
                   hd_dtype_name((hd_dtype)gradient->dtype), hd_tensor_shape_text(gradient, got));
}

static hd_status arrive_at_leaf(hd_ctx *cx, const hd_backward *run, const hd_node *node, int input,
                                hd_tensor *leaf, hd_tensor *gradient) {
    if (node) {
        hd_status status =
            check_gradient(cx, node, "input", input, leaf->dtype, leaf->ndim, leaf->shape, gradient);
        if (status) return status;
    }
    if (leaf->grad) return accumulate(cx, run, &leaf->grad, gradient);
    leaf->grad = run->arithmetic->own(cx, gradient);
    return leaf->grad ? HD_OK : cx->error.status;
}

static hd_status arrive_at_node(hd_ctx *cx, hd_backward *run, const hd_node *from, int input, hd_node *node,
                                int output, hd_tensor *gradient) {
    const hd_output_meta *meta = &node->outputs[output];
    hd_status status;
    if (from &&
        (status = check_gradient(cx, from, "input", input, meta->dtype, meta->ndim, meta->shape, gradient)))
        return status;
    if (node->run && node->run != run)
        return hd_fail(cx, HD_EARG, "this part of the graph is being visited by another backward");
    if (!node->run && (status = heap_push(cx, run, node))) return status;
    return accumulate(cx, run, &node->grads[output], gradient);
}

static hd_status deliver(hd_ctx *cx, hd_backward *run, hd_node *node, hd_tensor **gradients) {
    for (int i = 0; i < node->num_inputs; i++) {
        if (!gradients[i]) continue;
        const hd_edge *edge = &node->edges[i];
        hd_status status = HD_OK;
        if (edge->leaf) status = arrive_at_leaf(cx, run, node, i, edge->leaf, gradients[i]);
        if (edge->node) status = arrive_at_node(cx, run, node, i, edge->node, edge->output, gradients[i]);
        if (status) return status;
        hd_release(gradients[i]);
        gradients[i] = NULL;
    }
    return HD_OK;
}

static void release_all(hd_tensor **tensors, int count) {
    for (int i = 0; i < count; i++) {
        hd_release(tensors[i]);
        tensors[i] = NULL;
    }
}

#define FEW_INPUTS 32

static hd_tensor **tensors_for(hd_ctx *cx, hd_tensor *few[FEW_INPUTS], int count) {
    return count <= FEW_INPUTS ? few : hd_alloc_zeroed(cx, (size_t)count * sizeof *few);
}

/* The node's outputs are computed again, recorded, and what has arrived for them goes on from there. */
static hd_status go_through_again(hd_ctx *cx, hd_backward *run, hd_node *node) {
    hd_tensor *few[FEW_INPUTS] = {0}, **again = tensors_for(cx, few, node->num_outputs);
    if (!again) return cx->error.status;
    hd_status status = node->recompute(cx, node, again);
    for (int i = 0; i < node->num_outputs && !status; i++) {
        if (!node->grads[i] || !again[i]) continue;
        if (again[i]->node)
            status = arrive_at_node(cx, run, NULL, 0, again[i]->node, again[i]->node_output, node->grads[i]);
        else if (again[i]->requires_grad)
            status = arrive_at_leaf(cx, run, NULL, 0, again[i], node->grads[i]);
    }
    release_all(again, node->num_outputs);
    if (again != few) hd_free(run->account, again);
    return status;
}

static hd_status differentiate(hd_ctx *cx, hd_backward *run, hd_node *node) {
    hd_tensor *few[FEW_INPUTS] = {0}, **gradients = tensors_for(cx, few, node->num_inputs);
    if (!gradients) return cx->error.status;
    hd_status status = node->class->backward(cx, node, node->grads, gradients);
    if (!status && run->looks_for_nan) status = hd_anomaly_in_results(cx, run->arithmetic, node, gradients);
    release_all(node->grads, node->num_outputs);
    if (!status) status = deliver(cx, run, node, gradients);
    release_all(gradients, node->num_inputs);
    if (gradients != few) hd_free(run->account, gradients);
    return status;
}

static hd_status visit(hd_ctx *cx, hd_backward *run, hd_node *node) {
    hd_status status = HD_OK;
    if (node->freed)
        status =
            hd_fail(cx, HD_EARG,
                    "an earlier backward went through this graph, and what %s saved is released; give the "
                    "earlier one { retain = true }, or compute the tensor anew",
                    node->class->name);
    if (!status && run->looks_for_nan) status = hd_anomaly_in_arrivals(cx, run->arithmetic, node);
    if (!status) status = node->recompute ? go_through_again(cx, run, node) : differentiate(cx, run, node);
    release_all(node->grads, node->num_outputs);
    if (!status && !run->retain) {
        hd_node_drop_saved(node);
        node->freed = true;
    }
    return status;
}

static hd_tensor *root_gradient(hd_ctx *cx, const hd_gradient_arithmetic *arithmetic, hd_tensor *root,
                                hd_tensor *gradient) {
    char expected[HD_SHAPE_TEXT], got[HD_SHAPE_TEXT];
    if (!root->requires_grad)
        return hd_fail_null(
            cx, HD_EARG,
            "the tensor does not depend on anything that wants a gradient: requires_grad = true on a "
            "leaf (a parameter has it), and no heed.no_grad or detach on the way");
    if (gradient) {
        hd_dtype dtype = hd_dtype_of_gradient((hd_dtype)root->dtype);
        if (!hd_same_shape(root, gradient) || dtype != (hd_dtype)gradient->dtype)
            return hd_fail_null(cx, HD_EARG, "gradient: expected %s %s as the tensor, got %s %s",
                                hd_dtype_name(dtype), hd_tensor_shape_text(root, expected),
                                hd_dtype_name((hd_dtype)gradient->dtype),
                                hd_tensor_shape_text(gradient, got));
        return hd_tensor_alias(cx, gradient);
    }
    if (hd_numel(root) != 1)
        return hd_fail_null(
            cx, HD_EARG,
            "gradient: expected one, because the tensor %s has more than one element; y:sum():backward() "
            "goes back from the sum, y:backward(gradient) from all with weights",
            hd_tensor_shape_text(root, got));
    return arithmetic->one(cx, root);
}

hd_backward *hd_backward_begin(hd_ctx *cx, const hd_gradient_arithmetic *arithmetic, hd_tensor *root,
                               hd_tensor *gradient, bool retain) {
    hd_tensor *first = root_gradient(cx, arithmetic, root, gradient);
    if (!first) return NULL;
    hd_backward *run = hd_alloc_zeroed(cx, sizeof *run);
    if (!run) {
        hd_release(first);
        return NULL;
    }
    run->account = cx->account;
    hd_account_retain(run->account);
    run->arithmetic = arithmetic;
    run->retain = retain;
    run->looks_for_nan = cx->where != NULL;
    hd_status status = root->node ? arrive_at_node(cx, run, NULL, 0, root->node, root->node_output, first)
                                  : arrive_at_leaf(cx, run, NULL, 0, root, first);
    hd_release(first);
    if (!status) return run;
    hd_backward_end(cx, run);
    return NULL;
}

hd_status hd_backward_step(hd_ctx *cx, hd_backward *run, int64_t max_nodes, bool *done) {
    hd_status status = HD_OK;
    bool before = cx->grad_enabled;
    cx->grad_enabled = false;
    for (int64_t visited = 0; run->count && !status && (max_nodes <= 0 || visited < max_nodes); visited++) {
        if (hd_must_stop(cx)) {
            status = hd_fail(cx, HD_ECANCEL, "interrupted");
            break;
        }
        hd_node *node = heap_pop(run);
        status = visit(cx, run, node);
        hd_node_release_ref(node);
    }
    cx->grad_enabled = before;
    *done = run->count == 0;
    return status;
}

void hd_backward_end(hd_ctx *cx, hd_backward *run) {
    (void)cx;
    for (int64_t i = 0; i < run->count; i++) {
        run->heap[i]->run = NULL;
        release_all(run->heap[i]->grads, run->heap[i]->num_outputs);
        hd_node_release_ref(run->heap[i]);
    }
    hd_account *account = run->account;
    hd_free(account, run->heap);
    hd_free(account, run);
    hd_account_release(account);
}
