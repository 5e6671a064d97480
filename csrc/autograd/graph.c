#include "autograd/graph.h"

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

void hd_node_drop_saved(hd_node *node) {
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
        hd_node_drop_saved(n);
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
