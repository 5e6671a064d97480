/* conv_channels.c: convolution channel by channel (depthwise): where a group has one channel of x, a product
 * would have one row of weights for each patch. Output o reads channel o / (outputs / groups).
 *
 * A plane of x gets its margins of zeros in a worker's scratch, so that the kernels know no edges.
 */
#include "ops/nn/conv.h"

#include <string.h>

#include "base/minmax.h"
#include "base/parallel.h"

/* Multiplications that make a task. */
#define PRODUCTS 65536

typedef struct pass {
    const hd_conv *conv;
    const hd_kernels *kernels;
    const char *x, *w, *b, *g; /* b may be NULL */
    char *y, *dx, *dw;
    int64_t height, pitch; /* of a plane with its margins */
    char *margins;         /* such a plane for each worker */
    double *sums;          /* [outputs, taps] */
} pass;

/* The plane as far as the last output's last tap reaches. */
static int64_t reach(const hd_conv_plane *s, int dim) {
    return (s->out[dim] - 1) * s->stride[dim] + (s->kernel[dim] - 1) * s->dilation[dim] + 1;
}

static char *margins_of(const pass *p, int worker) {
    return p->margins + (size_t)(worker * p->height * p->pitch * hd_conv_size(p->conv));
}

/* Copies between a plane and its place within the margins. */
static void copy_inside(const pass *p, char *plane, char *margins, bool out) {
    const hd_conv_plane *s = &p->conv->plane;
    const int64_t size = hd_conv_size(p->conv),
                  length = hd_min(s->in[HD_WIDTH], p->pitch - s->before[HD_WIDTH]),
                  rows = hd_min(s->in[HD_HEIGHT], p->height - s->before[HD_HEIGHT]);
    for (int64_t i = 0; i < rows && length > 0; i++) {
        char *row = plane + i * s->in[HD_WIDTH] * size,
             *inside = margins + ((i + s->before[HD_HEIGHT]) * p->pitch + s->before[HD_WIDTH]) * size;
        memcpy(out ? row : inside, out ? inside : row, (size_t)(length * size));
    }
}

static const char *with_margins(const pass *p, int64_t entry, int64_t channel, int worker) {
    const hd_conv *c = p->conv;
    char *margins = margins_of(p, worker);
    memset(margins, 0, (size_t)(p->height * p->pitch * hd_conv_size(c)));
    copy_inside(p, (char *)p->x + (entry * c->channels + channel) * c->in * hd_conv_size(c), margins, false);
    return margins;
}

static double bias_of(const pass *p, int64_t output) {
    if (!p->b) return 0;
    return p->conv->dtype == HD_F64 ? ((const double *)p->b)[output] : ((const float *)p->b)[output];
}

/* Planes of x, each with the outputs that read it. */
static void forward_planes(void *arg, int64_t first, int64_t last, int worker) {
    const pass *p = arg;
    const hd_conv *c = p->conv;
    const int64_t size = hd_conv_size(c), each = c->outputs / c->channels;
    for (int64_t i = first; i < last; i++) {
        const int64_t entry = i / c->channels, channel = i % c->channels;
        const char *x = with_margins(p, entry, channel, worker);
        for (int64_t o = channel * each; o < (channel + 1) * each; o++)
            p->kernels->conv[c->dtype]->channel(&c->plane, x, p->pitch, p->w + o * c->taps * size,
                                                bias_of(p, o),
                                                p->y + (entry * c->outputs + o) * c->out * size);
    }
}

static void grad_x_planes(void *arg, int64_t first, int64_t last, int worker) {
    const pass *p = arg;
    const hd_conv *c = p->conv;
    const int64_t size = hd_conv_size(c), each = c->outputs / c->channels;
    char *margins = margins_of(p, worker);
    for (int64_t i = first; i < last; i++) {
        const int64_t entry = i / c->channels, channel = i % c->channels;
        char *dx = p->dx + i * c->in * size;
        memset(margins, 0, (size_t)(p->height * p->pitch * size));
        for (int64_t o = channel * each; o < (channel + 1) * each; o++)
            p->kernels->conv[c->dtype]->channel_grad_x(&c->plane,
                                                       p->g + (entry * c->outputs + o) * c->out * size,
                                                       p->w + o * c->taps * size, margins, p->pitch);
        memset(dx, 0, (size_t)(c->in * size));
        copy_inside(p, dx, margins, true);
    }
}

static void store(hd_dtype dtype, int64_t n, const double *from, void *to) {
    for (int64_t i = 0; i < n; i++)
        if (dtype == HD_F64)
            ((double *)to)[i] = from[i];
        else
            ((float *)to)[i] = (float)from[i];
}

/* Outputs, each over the whole batch. */
static void grad_w_outputs(void *arg, int64_t first, int64_t last, int worker) {
    const pass *p = arg;
    const hd_conv *c = p->conv;
    const int64_t size = hd_conv_size(c), each = c->outputs / c->channels;
    for (int64_t o = first; o < last; o++) {
        double *sums = p->sums + o * c->taps;
        for (int64_t entry = 0; entry < c->batch; entry++)
            p->kernels->conv[c->dtype]->channel_grad_w(
                &c->plane, p->g + (entry * c->outputs + o) * c->out * size,
                with_margins(p, entry, o / each, worker), p->pitch, sums);
        store(c->dtype, c->taps, sums, p->dw + o * c->taps * size);
    }
}

/* All of `count` parts that take `products` each, with a plane of margins for each worker. */
static hd_status run(hd_ctx *cx, pass *p, int64_t count, int64_t products, hd_range_task task) {
    const hd_conv *c = p->conv;
    p->kernels = cx->kernels;
    p->height = reach(&c->plane, HD_HEIGHT);
    p->pitch = reach(&c->plane, HD_WIDTH);
    p->margins = hd_alloc(cx, (size_t)(hd_max_workers(cx) * p->height * p->pitch * hd_conv_size(c)));
    if (!p->margins) return cx->error.status;
    hd_status status = hd_parallel_ranges(cx, count, PRODUCTS / (products + 1) + 1, task, p);
    hd_free(cx->account, p->margins);
    return status;
}

static hd_status forward(hd_ctx *cx, const hd_conv *c, const void *x, const void *w, const void *b, void *y) {
    pass p = {.conv = c, .x = x, .w = w, .b = b, .y = y};
    return run(cx, &p, c->batch * c->channels, c->outputs / c->channels * c->taps * c->out, forward_planes);
}

static hd_status grad_x(hd_ctx *cx, const hd_conv *c, const void *g, const void *w, void *dx) {
    pass p = {.conv = c, .g = g, .w = w, .dx = dx};
    return run(cx, &p, c->batch * c->channels, c->outputs / c->channels * c->taps * c->out, grad_x_planes);
}

static hd_status grad_w(hd_ctx *cx, const hd_conv *c, const void *g, const void *x, void *dw) {
    pass p = {.conv = c, .g = g, .x = x, .dw = dw};
    p.sums = hd_alloc_zeroed(cx, (size_t)(c->outputs * c->taps) * sizeof *p.sums);
    if (!p.sums) return cx->error.status;
    hd_status status = run(cx, &p, c->outputs, c->batch * c->taps * c->out, grad_w_outputs);
    hd_free(cx->account, p.sums);
    return status;
}

const hd_conv_way hd_conv_channels = {forward, grad_x, grad_w};
