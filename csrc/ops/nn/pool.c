/* pool.c: the largest, or the average, of windows over one dimension or two.
 *
 *     max:      y = the largest; the gradient goes to the first of equal ones, or to the first NaN
 *     average:  y = sum / size; dx = the sum of g / size over the windows that see x
 *
 * Output i of a dimension sees the kernel's elements from i stride - padding on, `dilation` apart, as far as
 * x goes. ceil_mode: a last window may begin within x, or before it in the padding, and reach beyond. What an
 * average counts includes the padding, if count_include_pad is set, but never what lies beyond it.
 * Adaptive: output i of n sees floor(i size / n) .. ceil((i + 1) size / n).
 */
#include "base/minmax.h"
#include "base/parallel.h"
#include "ops/gradient.h"
#include "ops/nn/rows.h"

enum { SAVED_WINDOWS, SAVED_INDEX, SAVED };
/* Elements that make a task. */
#define ELEMENTS 32768

/* ---- windows --------------------------------------------------------------------------------------- */

static hd_status check_options(hd_ctx *cx, const hd_pool_options *o) {
    for (int d = 0; d < o->dims; d++) {
        const struct {
            const char *name;
            int64_t value, least;
        } of[] = {{o->adaptive ? "output_size" : "kernel_size", o->kernel[d], 1},
                  {"stride", o->stride[d], 1},
                  {"dilation", o->dilation[d], 1},
                  {"padding", o->padding[d], 0}};
        for (int i = 0; i < 4; i++)
            if (of[i].value < of[i].least || of[i].value > INT32_MAX)
                return hd_fail(cx, HD_EARG, "%s: expected %lld or more, below 2^31, got %lld", of[i].name,
                               (long long)of[i].least, (long long)of[i].value);
        if (o->padding[d] > o->kernel[d] / 2)
            return hd_fail(cx, HD_EARG, "padding: expected at most half of kernel_size %lld, got %lld",
                           (long long)o->kernel[d], (long long)o->padding[d]);
    }
    return HD_OK;
}

static hd_status check_input(hd_ctx *cx, const hd_tensor *x, const hd_pool_options *o) {
    char got[HD_SHAPE_TEXT];
    if (hd_require_float(cx, "x", x)) return cx->error.status;
    if (x->ndim != o->dims + 1 && x->ndim != o->dims + 2)
        return hd_fail(cx, HD_EARG, "x: expected [B, C, %s] or [C, %s], got %s", o->dims == 1 ? "L" : "H, W",
                       o->dims == 1 ? "L" : "H, W", hd_tensor_shape_text(x, got));
    int64_t plane = 1;
    for (int d = x->ndim - o->dims; d < x->ndim; d++)
        if (!hd_mul_fits(plane, x->shape[d], &plane) || plane < 1 || plane > INT32_MAX)
            return hd_fail(cx, HD_EARG, "x: expected planes of 1 to 2^31 - 1 elements, got %s",
                           hd_tensor_shape_text(x, got));
    return HD_OK;
}

/* How many windows there are along dimension d; < 1: the kernel does not fit. */
static int64_t count_along(const hd_pool_options *o, int d, int64_t size) {
    if (o->adaptive) return o->kernel[d];
    const int64_t room = size + 2 * o->padding[d] - o->dilation[d] * (o->kernel[d] - 1) - 1;
    if (room < 0) return 0;
    const int64_t count = (room + (o->ceil_mode ? o->stride[d] - 1 : 0)) / o->stride[d] + 1;
    return o->ceil_mode && (count - 1) * o->stride[d] >= size + o->padding[d] ? count - 1 : count;
}

static hd_window window_at(const hd_pool_options *o, int d, int64_t size, int64_t i, int64_t count) {
    if (o->adaptive) {
        const int64_t first = i * size / count, end = ((i + 1) * size + count - 1) / count;
        return (hd_window){first, end, 1, end - first};
    }
    const int64_t padding = o->padding[d], start = i * o->stride[d] - padding, step = o->dilation[d];
    const int64_t reach = start + (o->kernel[d] - 1) * step + 1;
    hd_window w = {start, hd_min(reach, size), step, hd_min(reach, size + padding) - start};
    if (start < 0) w.first = start + (-start + step - 1) / step * step;
    if (!o->count_include_pad) w.size = w.end - w.first;
    return w;
}

/* The windows of all dimensions, one behind the other, as rows of a tensor that backward may save. */
static hd_tensor *make_windows(hd_ctx *cx, const hd_pool_options *o, const int64_t *size,
                               const int64_t *count) {
    const int64_t shape[2] = {count[0] + count[1], sizeof(hd_window) / sizeof(int64_t)};
    hd_tensor *t = hd_tensor_new(cx, HD_I64, 2, shape);
    if (!t) return NULL;
    hd_window *w = hd_data(t);
    if (o->dims == 1) *w++ = (hd_window){0, 1, 1, 1};
    for (int d = 0; d < o->dims; d++)
        for (int64_t i = 0, n = count[2 - o->dims + d]; i < n; i++) *w++ = window_at(o, d, size[d], i, n);
    return t;
}

/* ---- passes ------------------------------------------------------------------------------------------ */

typedef struct pass {
    const hd_pool_kernels *kernels;
    hd_windows windows;
    int64_t in, out; /* elements of a plane of x and of y */
    size_t size;
    const char *x, *g;
    char *y, *dx;
    int32_t *index; /* of the largest; NULL: average, or not wanted */
    bool largest;
} pass;

static void forward_planes(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const pass *p = arg;
    for (int64_t i = first; i < last; i++) {
        const char *x = p->x + (size_t)(i * p->in) * p->size;
        char *y = p->y + (size_t)(i * p->out) * p->size;
        if (p->largest)
            p->kernels->max(&p->windows, x, y, p->index ? p->index + i * p->out : NULL);
        else
            p->kernels->average(&p->windows, x, y);
    }
}

/* dx is 0 before. */
static void backward_planes(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const pass *p = arg;
    for (int64_t i = first; i < last; i++) {
        const char *g = p->g + (size_t)(i * p->out) * p->size;
        char *dx = p->dx + (size_t)(i * p->in) * p->size;
        if (p->largest)
            p->kernels->max_grad(p->out, p->index + i * p->out, g, dx);
        else
            p->kernels->average_grad(&p->windows, g, dx);
    }
}

/* What windows and planes are, from the shapes of x and y. dims of them are the plane's. */
static pass pass_of(const hd_ctx *cx, hd_dtype dtype, int dims, int ndim, const int64_t *x, const int64_t *y,
                    const hd_tensor *windows) {
    const int64_t rows = dims == 2 ? y[ndim - 2] : 1;
    pass p = {.kernels = cx->kernels->pool[dtype], .size = hd_dtype_size(dtype)};
    const hd_window *w = hd_data(windows);
    p.windows = (hd_windows){w, w + rows, rows, y[ndim - 1], x[ndim - 1]};
    p.in = x[ndim - 1] * (dims == 2 ? x[ndim - 2] : 1);
    p.out = y[ndim - 1] * rows;
    return p;
}

static hd_status each_plane(hd_ctx *cx, pass *p, int64_t planes, hd_range_task task) {
    return hd_parallel_ranges(cx, planes, ELEMENTS / hd_max(p->in, p->out) + 1, task, p);
}

typedef struct pool_params {
    int dims;
    bool largest;
} pool_params;

static hd_status pool_backward(hd_ctx *cx, hd_node *node, hd_tensor *const *grads, hd_tensor **grad_inputs) {
    if (!grads[0]) return HD_OK;
    const pool_params *params = (const pool_params *)node->params;
    const hd_input_meta x = hd_node_input(node, 0);
    hd_tensor *windows = hd_node_saved(cx, node, SAVED_WINDOWS), *index = NULL;
    if (!windows || (params->largest && !(index = hd_node_saved(cx, node, SAVED_INDEX))))
        return cx->error.status;
    hd_tensor *g = hd_contiguous_detached(cx, grads[0]), *dx = hd_zero_for_input(cx, node, 0);
    hd_status status = g && dx ? HD_OK : cx->error.status;
    if (!status) {
        pass p = pass_of(cx, x.dtype, params->dims, x.ndim, x.shape, g->shape, windows);
        p.largest = params->largest;
        p.index = index ? hd_data(index) : NULL;
        p.g = hd_data(g);
        p.dx = hd_data(dx);
        status = each_plane(cx, &p, hd_numel(dx) / p.in, backward_planes);
    }
    grad_inputs[0] = dx;
    hd_release(g);
    return status;
}

static const hd_node_class classes[] = {
    {"avg_pool1d", pool_backward, NULL},          {"avg_pool2d", pool_backward, NULL},
    {"max_pool1d", pool_backward, NULL},          {"max_pool2d", pool_backward, NULL},
    {"adaptive_avg_pool1d", pool_backward, NULL}, {"adaptive_avg_pool2d", pool_backward, NULL}};

hd_tensor *hd_pool(hd_ctx *cx, hd_tensor *x, const hd_pool_options *o) {
    if (check_options(cx, o) || check_input(cx, x, o)) return NULL;
    int64_t shape[HD_MAX_DIMS], count[2] = {1, 1};
    const int64_t *size = &x->shape[x->ndim - o->dims];
    for (int d = 0; d < x->ndim; d++) shape[d] = x->shape[d];
    for (int d = 0; d < o->dims; d++) {
        count[2 - o->dims + d] = shape[x->ndim - o->dims + d] = count_along(o, d, size[d]);
        if (count_along(o, d, size[d]) < 1)
            return hd_fail_null(cx, HD_EARG,
                                "x: expected at least %lld elements along dimension %d, got %lld",
                                (long long)(o->dilation[d] * (o->kernel[d] - 1) + 1 - 2 * o->padding[d]),
                                x->ndim - o->dims + d + 1, (long long)size[d]);
    }
    const bool keeps = o->largest && hd_wants_grad(cx, 1, &x);
    hd_tensor *in = hd_contiguous_detached(cx, x), *windows = make_windows(cx, o, size, count), *index = NULL,
              *result = NULL, *y = hd_tensor_new(cx, (hd_dtype)x->dtype, x->ndim, shape);
    if (!in || !windows || !y || (keeps && !(index = hd_tensor_new(cx, HD_I32, x->ndim, shape)))) goto done;
    pass p = pass_of(cx, (hd_dtype)x->dtype, o->dims, x->ndim, in->shape, shape, windows);
    p.largest = o->largest;
    p.index = index ? hd_data(index) : NULL;
    p.x = hd_data(in);
    p.y = hd_data(y);
    if (each_plane(cx, &p, hd_numel(in) / p.in, forward_planes)) goto done;
    hd_tensor *saved[SAVED] = {windows, index};
    const pool_params params = {o->dims, o->largest};
    result = hd_record(cx,
                       &classes[(o->adaptive  ? 4
                                 : o->largest ? 2
                                              : 0) +
                                o->dims - 1],
                       y, 1, &x, SAVED, saved, &params, sizeof params);
    y = NULL;
done:
    hd_release(in);
    hd_release(windows);
    hd_release(index);
    hd_release(y);
    return result;
}
