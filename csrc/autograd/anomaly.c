#include "autograd/anomaly.h"

#include <stdio.h>

/* "softmax, made at train.lua:12" */
static const char *name_of(const hd_node *node, char text[2 * HD_ORIGIN_TEXT]) {
    if (node->origin)
        snprintf(text, 2 * HD_ORIGIN_TEXT, "%s, made at %s", node->class->name, node->origin);
    else
        snprintf(text, 2 * HD_ORIGIN_TEXT, "%s (made outside of detect_anomaly, which would know where)",
                 node->class->name);
    return text;
}

static hd_status has_nan(hd_ctx *cx, const hd_gradient_arithmetic *arithmetic, hd_tensor *gradient,
                         bool *found) {
    *found = false;
    return gradient ? arithmetic->has_nan(cx, gradient, found) : HD_OK;
}

hd_status hd_anomaly_in_arrivals(hd_ctx *cx, const hd_gradient_arithmetic *arithmetic, const hd_node *node) {
    char name[2 * HD_ORIGIN_TEXT], shape[HD_SHAPE_TEXT];
    for (int i = 0; i < node->num_outputs; i++) {
        bool found;
        if (has_nan(cx, arithmetic, node->grads[i], &found)) return cx->error.status;
        if (found)
            return hd_fail(
                cx, HD_EARG,
                "backward: the gradient %s that arrives at the result of %s has NaN: it was given to "
                "backward so, or infinities of several uses add up to it",
                hd_tensor_shape_text(node->grads[i], shape), name_of(node, name));
    }
    return HD_OK;
}

hd_status hd_anomaly_in_results(hd_ctx *cx, const hd_gradient_arithmetic *arithmetic, const hd_node *node,
                                hd_tensor *const *gradients) {
    char name[2 * HD_ORIGIN_TEXT], shape[HD_SHAPE_TEXT];
    for (int i = 0; i < node->num_inputs; i++) {
        bool found;
        if (has_nan(cx, arithmetic, gradients[i], &found)) return cx->error.status;
        if (found)
            return hd_fail(cx, HD_EARG,
                           "backward: %s: its gradient by input %d, %s, is the first that has NaN",
                           name_of(node, name), i + 1, hd_tensor_shape_text(gradients[i], shape));
    }
    return HD_OK;
}
