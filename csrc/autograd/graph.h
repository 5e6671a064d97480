/* graph.h: the record of differentiable operations, and the way back through it.
 *
 * A graph of refcounted nodes, no tape: a forward pass that nobody holds dies with its tensors. A node
 * owns edges to the nodes (or leaves) its inputs came from and detached aliases of the tensors it saved,
 * each with the version its storage had. Nodes never refer to anything of Lua's but through `payload`.
 * Backward visits nodes by falling sequence number, iteratively, and can stop between two nodes.
 *
 * How an operation records itself (docs/adding_an_operation.md): by hd_record, which does this for one output:
 *
 *     hd_tensor *y = ...compute...;
 *     hd_tensor *inputs[] = {a, b};
 *     if (hd_wants_grad(cx, 2, inputs)) {
 *         hd_node *node = hd_node_new(cx, &mul_class, 2, inputs, 1);
 *         if (!node || hd_node_save(cx, node, 0, a) || hd_node_save(cx, node, 1, b)) goto fail;
 *         hd_node_output(node, 0, y);      // y->node = node
 *         hd_node_release_ref(node);       // the output keeps it
 *     }
 */
#ifndef HD_GRAPH_H
#define HD_GRAPH_H

#include "tensor/tensor.h"

typedef struct hd_node hd_node;

#define HD_MAX_SAVED 12
#define HD_ORIGIN_TEXT 160 /* with the end; longer places are cut */

typedef struct hd_node_class {
    const char *name; /* as in Lua: "matmul"; used in messages */
    /* grads[o]: gradient of output o, borrowed, NULL when nothing arrived (a zero). Fill grad_inputs[i] with a new
     * reference for each input i with hd_node_needs(node, i); leave NULL for a zero. The shapes must be the inputs'. grads[0] may be
     * passed on: grad_inputs[i] = hd_retain(grads[0]). */
    hd_status (*backward)(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs);
    void (*release)(hd_node *node); /* frees payload; NULL: nothing to free */
} hd_node_class;

/* Where the gradient of an input goes. */
typedef struct hd_edge {
    hd_node *node;   /* owned; or */
    hd_tensor *leaf; /* owned: the gradient is accumulated into leaf->grad; both NULL: none is wanted */
    int output;      /* of node */
} hd_edge;

typedef struct hd_saved {
    hd_tensor *tensor; /* detached alias, owned */
    uint32_t version;
} hd_saved;

/* Of each output: the gradient that arrives must look like this. */
typedef struct hd_output_meta {
    uint8_t dtype, ndim;
    int64_t shape[HD_MAX_DIMS];
} hd_output_meta;

/* Small numbers an operation wants back in backward: put your struct here (hd_record checks its size). */
#define HD_NODE_PARAMS 96

/* One block: the node, then its edges, its outputs' descriptions and its outputs' gradients. */
struct hd_node {
    void (*release_hook)(struct hd_node *); /* first field: how the tensor room drops its reference */
    int refs;
    int num_inputs, num_outputs, num_saved;
    bool freed; /* a backward pass has released what was saved */
    const hd_node_class *class;
    uint64_t sequence;
    hd_edge *edges;
    hd_output_meta *outputs;
    hd_tensor **grads;       /* while a backward pass runs: what has arrived for each output */
    struct hd_backward *run; /* the pass that has this node in its queue */
    hd_node *next_dead;      /* while a chain is released */
    hd_account *account;
    void *payload; /* of functions from outside; freed by class->release */
    char *origin;  /* where it was made, when cx->where knew; else NULL */
    /* Not NULL: stands for a part of a graph that was not recorded. Computes its outputs again, recorded: again[o], a new
     * reference or NULL. Backward goes on through them, and class->backward is not called. */
    hd_status (*recompute)(hd_ctx *cx, hd_node *node, hd_tensor **again);
    hd_saved saved[HD_MAX_SAVED];
    _Alignas(16) unsigned char params[HD_NODE_PARAMS];
};

/* ---- recording -------------------------------------------------------------------------------------- */
/* Is gradient recording on and does any of these (NULLs are skipped) want one? */
bool hd_wants_grad(hd_ctx *cx, int count, hd_tensor *const *inputs);
hd_node *hd_node_new(hd_ctx *cx, const hd_node_class *class, int num_inputs, hd_tensor *const *inputs,
                     int num_outputs);
hd_status hd_node_save(hd_ctx *cx, hd_node *node, int slot,
                       const hd_tensor *t); /* t NULL: slot stays empty */
void hd_node_output(hd_node *node, int output, hd_tensor *t);
void hd_node_retain(hd_node *node);
void hd_node_drop_saved(hd_node *node);  /* backward has passed it */
void hd_node_release_ref(hd_node *node); /* iterative, whatever the depth */
/* Does input i want a gradient? */
static inline bool hd_node_needs(const hd_node *node, int i) {
    return node->edges[i].node || node->edges[i].leaf;
}
/* The saved tensor, borrowed. NULL with an error that names the operation when it was overwritten since. */
hd_tensor *hd_node_saved(hd_ctx *cx, hd_node *node, int slot);

/* The whole of recording for the usual case: one output, `saved` may hold NULLs. Consumes y on failure (returns NULL).
 * params (may be NULL) is copied into node->params. Does nothing and returns y when no gradient is wanted. */
hd_tensor *hd_record(hd_ctx *cx, const hd_node_class *class, hd_tensor *y, int num_inputs,
                     hd_tensor *const *inputs, int num_saved, hd_tensor *const *saved, const void *params,
                     size_t params_size);

/* ---- writing in place -------------------------------------------------------------------------------- */
/* Call before writing into t. Refuses tensors that overlap themselves and, while recording is on, leaves that want a
 * gradient and views of recorded tensors. */
hd_status hd_check_inplace(hd_ctx *cx, const hd_tensor *t);
/* Call after writing into t. */
static inline void hd_wrote(hd_tensor *t) {
    t->storage->version++;
}
/* t becomes the output of node (its former place in the graph lives on as node's input). */
void hd_rebase(hd_tensor *t, hd_node *node);

/* ---- backward ----------------------------------------------------------------------------------------- */
typedef struct hd_backward hd_backward;

/* What the pass has to compute itself. The operations hand it in (ops/backward.c): this room lies below them. */
typedef struct hd_gradient_arithmetic {
    /* sum + gradient: into sum's own memory when nothing else refers to it, else into new memory. A new reference; `sum` stays
     * the caller's to release. */
    hd_tensor *(*sum)(hd_ctx *cx, hd_tensor *sum, hd_tensor *gradient);
    /* What a leaf keeps: the gradient itself when nothing else refers to it and it is contiguous, else a copy. */
    hd_tensor *(*own)(hd_ctx *cx, hd_tensor *gradient);
    /* A one of root's shape (one element) and of the dtype of its gradient. */
    hd_tensor *(*one)(hd_ctx *cx, const hd_tensor *root);
    hd_status (*has_nan)(hd_ctx *cx, hd_tensor *gradient, bool *found);
} hd_gradient_arithmetic;

/* From root with gradient (NULL: root has one element and gets 1). retain: saved tensors are kept for another pass. */
hd_backward *hd_backward_begin(hd_ctx *cx, const hd_gradient_arithmetic *arithmetic, hd_tensor *root,
                               hd_tensor *gradient, bool retain);
/* Visits at most max_nodes (<= 0: all); *done tells whether it is over. After an error only hd_backward_end is allowed. */
hd_status hd_backward_step(hd_ctx *cx, hd_backward *run, int64_t max_nodes, bool *done);
void hd_backward_end(hd_ctx *cx, hd_backward *run);

#endif
