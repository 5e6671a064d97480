/* conv.c: convolution (cross-correlation, as PyTorch's) over one dimension or two:
 *
 *     y[b, o, i, j] = bias[o] + sum over c, u, v of w[o, c, u, v] x[b, c0 + c, i s + u d - p, j s + v d - p]
 *
 * with stride s, dilation d, padding p, each by dimension; x is 0 outside. With G groups, x's channels and
 * the outputs are cut into G parts, c0 is where the part of o begins, and w has channels / G.
 *
 *     dx[b, c0 + c, i s + u d - p, ..] += sum over o of w[o, c, u, v] g[b, o, i, j]
 *     dw[o, c, u, v] = sum over b, i, j of g[b, o, i, j] x[b, c0 + c, i s + u d - p, ..],  dbias = sum of g
 *
 * One dimension is a plane of height 1. An empty batch gives an empty result, and gradients of 0.
 */
#include "ops/nn/conv.h"

#include "ops/gradient.h"
#include "ops/nn/rows.h"

#include <string.h>

enum { IN_X, IN_W, IN_B, INPUTS };
enum { SAVED_X, SAVED_W, SAVED };

/* ---- shapes ------------------------------------------------------------------------------------------ */

static hd_status check_options(hd_ctx *cx, const hd_conv_options *o) {
    for (int d = 0; d < o->dims; d++) {
        if (o->stride[d] < 1)
            return hd_fail(cx, HD_EARG, "stride: expected 1 or more, got %lld", (long long)o->stride[d]);
        if (o->dilation[d] < 1)
            return hd_fail(cx, HD_EARG, "dilation: expected 1 or more, got %lld", (long long)o->dilation[d]);
        if (o->before[d] < 0 || o->after[d] < 0)
            return hd_fail(cx, HD_EARG, "padding: expected 0 or more, got %lld",
                           (long long)(o->before[d] < 0 ? o->before[d] : o->after[d]));
    }
    if (o->groups < 1)
        return hd_fail(cx, HD_EARG, "groups: expected 1 or more, got %lld", (long long)o->groups);
    return HD_OK;
}

static hd_status check_tensors(hd_ctx *cx, hd_tensor *x, hd_tensor *w, hd_tensor *b,
                               const hd_conv_options *o) {
    char got[HD_SHAPE_TEXT];
    const char *sizes = o->dims == 1 ? "L" : "H, W", *kernel = o->dims == 1 ? "k" : "kh, kw";
    if (hd_require_dtype_of(cx, "x", x, "weight", w)) return cx->error.status;
    if (w->ndim != o->dims + 2 || hd_numel(w) == 0)
        return hd_fail(cx, HD_EARG, "weight: expected [out, in / groups, %s], got %s", kernel,
                       hd_tensor_shape_text(w, got));
    if (x->ndim != o->dims + 2)
        return hd_fail(cx, HD_EARG, "x: expected [B, C, %s], got %s", sizes, hd_tensor_shape_text(x, got));
    if (w->shape[0] % o->groups)
        return hd_fail(cx, HD_EARG, "groups: expected a divisor of the %lld outputs of weight, got %lld",
                       (long long)w->shape[0], (long long)o->groups);
    if (x->shape[1] / o->groups != w->shape[1] || x->shape[1] % o->groups)
        return hd_fail(cx, HD_EARG, "x: expected %lld channels, got %s", (long long)(w->shape[1] * o->groups),
                       hd_tensor_shape_text(x, got));
    if (!b) return HD_OK;
    hd_status status = hd_require_dtype(cx, "bias", b, (hd_dtype)x->dtype);
    return status ? status : hd_require_shape(cx, "bias", b, 1, w->shape);
}

/* Elements of a plane with its padding: scratch of that size can be asked for. */
#define MOST_PADDED (INT64_C(1) << 44)

static hd_status check_fits(hd_ctx *cx, const hd_tensor *x, const hd_tensor *w, const hd_conv_options *o) {
    int64_t plane = 1;
    for (int d = 0; d < o->dims; d++) {
        const int64_t size = x->shape[2 + d], kernel = w->shape[2 + d];
        int64_t padded, reach;
        if (__builtin_add_overflow(size, o->before[d], &padded) ||
            __builtin_add_overflow(padded, o->after[d], &padded) ||
            !hd_mul_fits(kernel - 1, o->dilation[d], &reach) || !hd_mul_fits(plane, padded, &plane) ||
            plane > MOST_PADDED || o->stride[d] > MOST_PADDED)
            return hd_fail(cx, HD_EARG, "x: expected at most 2^44 elements in a plane with its padding");
        if (reach >= padded)
            return hd_fail(
                cx, HD_EARG,
                "x: expected at least %lld elements with the padding along dimension %d, as far as "
                "the kernel reaches, got %lld",
                (long long)reach + 1, 3 + d, (long long)padded);
    }
    return HD_OK;
}

static int64_t outputs_along(const hd_conv_options *o, int d, int64_t size, int64_t kernel) {
    return (size + o->before[d] + o->after[d] - (kernel - 1) * o->dilation[d] - 1) / o->stride[d] + 1;
}

/* x_shape and w_shape as of x and w. */
static hd_conv geometry(const hd_conv_options *o, hd_dtype dtype, const int64_t *x_shape,
                        const int64_t *w_shape) {
    hd_conv c = {.batch = x_shape[0],
                 .channels = x_shape[1],
                 .outputs = w_shape[0],
                 .groups = o->groups,
                 .dtype = dtype};
    hd_conv_plane *s = &c.plane;
    for (int d = 0; d < HD_PLANE; d++)
        s->in[d] = s->out[d] = s->kernel[d] = s->stride[d] = s->dilation[d] = 1;
    for (int d = 0; d < o->dims; d++) {
        const int to = HD_PLANE - o->dims + d;
        s->in[to] = x_shape[2 + d];
        s->kernel[to] = w_shape[2 + d];
        s->stride[to] = o->stride[d];
        s->dilation[to] = o->dilation[d];
        s->before[to] = o->before[d];
        s->out[to] = outputs_along(o, d, x_shape[2 + d], w_shape[2 + d]);
    }
    c.in = s->in[HD_HEIGHT] * s->in[HD_WIDTH];
    c.out = s->out[HD_HEIGHT] * s->out[HD_WIDTH];
    c.taps = s->kernel[HD_HEIGHT] * s->kernel[HD_WIDTH];
    return c;
}

static const hd_conv_way *way_of(const hd_conv *c) {
    return c->groups > 1 && c->channels == c->groups ? &hd_conv_channels : &hd_conv_products;
}

/* ---- forward and backward -------------------------------------------------------------------------- */

static hd_status gradient_of_x(hd_ctx *cx, hd_node *node, const hd_tensor *g, hd_tensor **dx) {
    const hd_input_meta x = hd_node_input(node, IN_X);
    const hd_tensor *w = hd_node_saved(cx, node, SAVED_W);
    if (!w || !(*dx = hd_tensor_new(cx, x.dtype, x.ndim, x.shape))) return cx->error.status;
    const hd_conv c = geometry((const hd_conv_options *)node->params, x.dtype, x.shape, w->shape);
    return way_of(&c)->grad_x(cx, &c, hd_data(g), hd_data(w), hd_data(*dx));
}

static hd_status gradient_of_w(hd_ctx *cx, hd_node *node, const hd_tensor *g, hd_tensor **dw) {
    const hd_input_meta w = hd_node_input(node, IN_W);
    const hd_tensor *x = hd_node_saved(cx, node, SAVED_X);
    if (!x || !(*dw = hd_tensor_new(cx, w.dtype, w.ndim, w.shape))) return cx->error.status;
    const hd_conv c = geometry((const hd_conv_options *)node->params, w.dtype, x->shape, w.shape);
    return way_of(&c)->grad_w(cx, &c, hd_data(g), hd_data(x), hd_data(*dw));
}

static hd_status conv_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    if (!grads[0]) return HD_OK;
    hd_tensor *g = hd_contiguous_detached(cx, grads[0]);
    hd_status status = hd_made(cx, g);
    if (!status && hd_node_needs(node, IN_X)) status = gradient_of_x(cx, node, g, &grad_inputs[IN_X]);
    if (!status && hd_node_needs(node, IN_W)) status = gradient_of_w(cx, node, g, &grad_inputs[IN_W]);
    if (!status && hd_node_needs(node, IN_B))
        status = hd_made(cx, grad_inputs[IN_B] =
                                 hd_reduce(cx, HD_SUM, g, ~(1u << 1) & ((1u << g->ndim) - 1), false));
    hd_release(g);
    return status;
}

static const hd_node_class classes[] = {{"conv1d", conv_backward, NULL}, {"conv2d", conv_backward, NULL}};

static hd_tensor *run(hd_ctx *cx, hd_tensor *const inputs[INPUTS], const hd_conv_options *o) {
    hd_tensor *x = hd_contiguous_detached(cx, inputs[IN_X]), *w = hd_contiguous_detached(cx, inputs[IN_W]),
              *b = inputs[IN_B] ? hd_contiguous_detached(cx, inputs[IN_B]) : NULL, *y = NULL, *result = NULL;
    if (!x || !w || (inputs[IN_B] && !b)) goto done;
    const hd_conv c = geometry(o, (hd_dtype)x->dtype, x->shape, w->shape);
    int64_t shape[2 + HD_PLANE] = {c.batch, c.outputs};
    for (int d = 0; d < o->dims; d++) shape[2 + d] = c.plane.out[HD_PLANE - o->dims + d];
    if (!(y = hd_tensor_new(cx, c.dtype, x->ndim, shape))) goto done;
    if (way_of(&c)->forward(cx, &c, hd_data(x), hd_data(w), b ? hd_data(b) : NULL, hd_data(y))) goto done;
    hd_tensor *saved[SAVED] = {inputs[IN_W]->requires_grad ? x : NULL,
                               inputs[IN_X]->requires_grad ? w : NULL};
    result = hd_record(cx, &classes[o->dims - 1], y, INPUTS, inputs, SAVED, saved, o, sizeof *o);
    y = NULL;
done:
    hd_release(x);
    hd_release(w);
    hd_release(b);
    hd_release(y);
    return result;
}

hd_tensor *hd_convolution(hd_ctx *cx, hd_tensor *x, hd_tensor *w, hd_tensor *b, const hd_conv_options *o) {
    if (check_options(cx, o) || check_tensors(cx, x, w, b, o) || check_fits(cx, x, w, o)) return NULL;
    hd_tensor *inputs[INPUTS] = {x, w, b};
    return run(cx, inputs, o);
}
