#include "ops/graph.h"

#include "ops/anomaly.h"
#include "ops/gradient.h"

#include <string.h>

/* ---- nodes --------------------------------------------------------------------------------------- */

bool hd_wants_grad(hd_ctx *cx, int count, hd_tensor *const *inputs) {
    for (int i = 0; i < count; i++)
        if (inputs[i] && inputs[i]->requires_grad) {
            if (!cx->grad_enabled) cx->unrecorded++;
            return cx->grad_enabled;
        }
    return false;
}

static void edge_to(hd_edge *edge, hd_tensor *input) {
    *edge = (hd_edge){0};
    if (!input || !input->requires_grad) return;
    if (input->node) {
        hd_node_retain(input->node);
        edge->node = input->node;
        edge->output = input->node_output;
    } else {
        edge->leaf = hd_retain(input);
    }
}

/* The place that cx->where tells, in memory of the node's. */
static char *origin_of(hd_ctx *cx) {
    char text[HD_ORIGIN_TEXT] = "";
    cx->where(cx, text, sizeof text);
    char *origin = hd_alloc(cx, strlen(text) + 1);
    return origin ? strcpy(origin, text) : NULL;
}

hd_node *hd_node_new(hd_ctx *cx, const hd_node_class *class, int num_inputs, hd_tensor *const *inputs,
                     int num_outputs) {
    size_t edges = (size_t)num_inputs * sizeof(hd_edge);
    size_t outputs = (size_t)num_outputs * sizeof(hd_output_meta);
    size_t grads = (size_t)num_outputs * sizeof(hd_tensor *);
    hd_node *node = hd_alloc(cx, sizeof *node + edges + outputs + grads);
    if (!node) return NULL;
    memset(node, 0, offsetof(hd_node, params));
    if (cx->where && !(node->origin = origin_of(cx))) {
        hd_free(cx->account, node);
        return NULL;
    }
    node->release_hook = hd_node_release_ref;
    node->refs = 1;
    node->class = class;
    node->num_inputs = num_inputs;
    node->num_outputs = num_outputs;
    node->sequence = cx->next_sequence++;
    char *tail = (char *)(node + 1);
    node->edges = (hd_edge *)tail;
    node->outputs = (hd_output_meta *)(tail + edges);
    node->grads = (hd_tensor **)(tail + edges + outputs);
    memset(node->outputs, 0, outputs + grads);
    node->account = cx->account;
    hd_account_retain(node->account);
    for (int i = 0; i < num_inputs; i++) edge_to(&node->edges[i], inputs[i]);
    return node;
}

hd_status hd_node_save(hd_ctx *cx, hd_node *node, int slot, const hd_tensor *t) {
    if (slot >= node->num_saved) node->num_saved = slot + 1;
    if (!t) return HD_OK;
    hd_tensor *alias = hd_tensor_alias(cx, t);
    if (!alias) return cx->error.status;
    node->saved[slot] = (hd_saved){alias, t->storage->version};
    return HD_OK;
}

void hd_node_output(hd_node *node, int output, hd_tensor *t) {
    hd_output_meta *meta = &node->outputs[output];
    meta->dtype = (uint8_t)hd_dtype_of_gradient((hd_dtype)t->dtype);
    meta->ndim = t->ndim;
    memcpy(meta->shape, t->shape, sizeof meta->shape);
    hd_node_retain(node);
    t->node = node;
    t->node_output = output;
    t->requires_grad = true;
}

void hd_node_retain(hd_node *node) {
    node->refs++;
}

static void drop_saved(hd_node *node) {
    for (int i = 0; i < node->num_saved; i++) {
        hd_release(node->saved[i].tensor);
        node->saved[i].tensor = NULL;
    }
}

/* The nodes that a release has brought to zero references wait in a list instead of on the C stack: a chain
 * of 10^6 operations is released by one loop. Releasing a saved tensor or a leaf never reaches another node.
 */
void hd_node_release_ref(hd_node *node) {
    if (--node->refs > 0) return;
    hd_node *dead = node;
    dead->next_dead = NULL;
    while (dead) {
        hd_node *n = dead;
        dead = n->next_dead;
        drop_saved(n);
        for (int i = 0; i < n->num_inputs; i++) {
            hd_release(n->edges[i].leaf);
            hd_node *from = n->edges[i].node;
            if (from && --from->refs == 0) {
                from->next_dead = dead;
                dead = from;
            }
        }
        for (int i = 0; i < n->num_outputs; i++) hd_release(n->grads[i]);
        if (n->class->release) n->class->release(n);
        hd_account *account = n->account;
        hd_free(account, n->origin);
        hd_free(account, n);
        hd_account_release(account);
    }
}

hd_tensor *hd_node_saved(hd_ctx *cx, hd_node *node, int slot) {
    hd_saved *saved = &node->saved[slot];
    if (!saved->tensor)
        return hd_fail_null(
            cx, HD_EARG,
            "what %s saved was released by an earlier backward; give the earlier one { retain = true }",
            node->class->name);
    if (saved->tensor->storage->version != saved->version) {
        char text[HD_SHAPE_TEXT];
        return hd_fail_null(
            cx, HD_EARG,
            "a tensor %s that the gradient of %s needs was overwritten in place (version %u, saved at "
            "%u); clone it before writing",
            hd_tensor_shape_text(saved->tensor, text), node->class->name, saved->tensor->storage->version,
            saved->version);
    }
    return saved->tensor;
}

hd_tensor *hd_record(hd_ctx *cx, const hd_node_class *class, hd_tensor *y, int num_inputs,
                     hd_tensor *const *inputs, int num_saved, hd_tensor *const *saved, const void *params,
                     size_t params_size) {
    if (!y || !hd_wants_grad(cx, num_inputs, inputs)) return y;
    hd_node *node = hd_node_new(cx, class, num_inputs, inputs, 1);
    if (!node) goto fail;
    for (int i = 0; i < num_saved; i++)
        if (hd_node_save(cx, node, i, saved[i])) goto fail;
    if (params_size > HD_NODE_PARAMS) {
        hd_fail(cx, HD_EARG, "%s: its parameters do not fit a node", class->name);
        goto fail;
    }
    if (params) memcpy(node->params, params, params_size);
    hd_node_output(node, 0, y);
    hd_node_release_ref(node);
    return y;
fail:
    if (node) hd_node_release_ref(node);
    hd_release(y);
    return NULL;
}

/* ---- writing in place ------------------------------------------------------------------------------ */

hd_status hd_check_inplace(hd_ctx *cx, const hd_tensor *t) {
    if (cx->shapes_only && hd_dtype_is_float((hd_dtype)t->dtype)) cx->skipping = true;
    if (hd_overlaps_itself(t))
        return hd_fail(
            cx, HD_EARG,
            "the tensor is expanded: several of its elements share one place in memory; clone it first");
    if (!cx->grad_enabled) return HD_OK;
    if (t->requires_grad && !t->node)
        return hd_fail(
            cx, HD_EARG,
            "the tensor is a leaf that wants a gradient; write to it inside heed.no_grad(function)");
    if (t->is_view)
        return hd_fail(
            cx, HD_EARG,
            "the tensor is a view of one that is recorded for gradients; write to the whole by index "
            "assignment, or inside heed.no_grad(function)");
    return HD_OK;
}

void hd_rebase(hd_tensor *t, hd_node *node) {
    hd_node *before = t->node;
    t->node = NULL;
    hd_node_output(node, 0, t);
    if (before) hd_node_release_ref(before);
}

/* ---- backward ---------------------------------------------------------------------------------------- */

struct hd_backward {
    hd_account *account;
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
static hd_status accumulate(hd_ctx *cx, hd_tensor **target, hd_tensor *gradient) {
    if (!*target) {
        *target = hd_retain(gradient);
        return HD_OK;
    }
    hd_tensor *sum = hd_gradient_sum(cx, *target, gradient);
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

static hd_status arrive_at_leaf(hd_ctx *cx, const hd_node *node, int input, hd_tensor *leaf,
                                hd_tensor *gradient) {
    if (node) {
        hd_status status =
            check_gradient(cx, node, "input", input, leaf->dtype, leaf->ndim, leaf->shape, gradient);
        if (status) return status;
    }
    if (leaf->grad) return accumulate(cx, &leaf->grad, gradient);
    leaf->grad = hd_gradient_own(cx, gradient);
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
    return accumulate(cx, &node->grads[output], gradient);
}

static hd_status deliver(hd_ctx *cx, hd_backward *run, hd_node *node, hd_tensor **gradients) {
    for (int i = 0; i < node->num_inputs; i++) {
        if (!gradients[i]) continue;
        const hd_edge *edge = &node->edges[i];
        hd_status status = HD_OK;
        if (edge->leaf) status = arrive_at_leaf(cx, node, i, edge->leaf, gradients[i]);
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
            status = arrive_at_leaf(cx, NULL, 0, again[i], node->grads[i]);
    }
    release_all(again, node->num_outputs);
    if (again != few) hd_free(run->account, again);
    return status;
}

static hd_status differentiate(hd_ctx *cx, hd_backward *run, hd_node *node) {
    hd_tensor *few[FEW_INPUTS] = {0}, **gradients = tensors_for(cx, few, node->num_inputs);
    if (!gradients) return cx->error.status;
    hd_status status = node->class->backward(cx, node, node->grads, gradients);
    if (!status && run->looks_for_nan) status = hd_anomaly_in_results(cx, node, gradients);
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
    if (!status && run->looks_for_nan) status = hd_anomaly_in_arrivals(cx, node);
    if (!status) status = node->recompute ? go_through_again(cx, run, node) : differentiate(cx, run, node);
    release_all(node->grads, node->num_outputs);
    if (!status && !run->retain) {
        drop_saved(node);
        node->freed = true;
    }
    return status;
}

static hd_tensor *root_gradient(hd_ctx *cx, hd_tensor *root, hd_tensor *gradient) {
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
    return hd_gradient_one(cx, root);
}

hd_backward *hd_backward_begin(hd_ctx *cx, hd_tensor *root, hd_tensor *gradient, bool retain) {
    hd_tensor *first = root_gradient(cx, root, gradient);
    if (!first) return NULL;
    hd_backward *run = hd_alloc_zeroed(cx, sizeof *run);
    if (!run) {
        hd_release(first);
        return NULL;
    }
    run->account = cx->account;
    hd_account_retain(run->account);
    run->retain = retain;
    run->looks_for_nan = cx->where != NULL;
    hd_status status = root->node ? arrive_at_node(cx, run, NULL, 0, root->node, root->node_output, first)
                                  : arrive_at_leaf(cx, NULL, 0, root, first);
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
        if (cx->cancel && !cx->uninterruptible) {
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

hd_status hd_backward_run(hd_ctx *cx, hd_tensor *root, hd_tensor *gradient, bool retain) {
    hd_backward *run = hd_backward_begin(cx, root, gradient, retain);
    if (!run) return cx->error.status;
    bool done;
    hd_status status = hd_backward_step(cx, run, 0, &done);
    hd_backward_end(cx, run);
    return status;
}
