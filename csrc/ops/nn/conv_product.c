/* conv_product.c: convolution as products of matrices, for each group:
 *
 *     y [outputs, positions] = w [outputs, taps] · patches [taps, positions]
 *     dx                     = the sum, where patches overlap, of w^T · g [taps, positions]
 *     dw                     = g · patches^T
 *
 * Taps are the channels of a group times the kernel's elements; positions are counted over the whole batch.
 * The matrix of all patches never exists: the product asks for it panel by panel (hd_panels), and w^T g is
 * made for some thousand positions at a time.
 */
#include "ops/nn/conv.h"

#include <string.h>

#include "base/minmax.h"
#include "base/parallel.h"
#include "kernels/gemm.h"

/* What panels are written from. */
typedef struct panel_source {
    const hd_conv *conv;
    const hd_kernels *kernels;
    const char *data;
    int64_t first; /* position that is column 0 */
} panel_source;

static int64_t group_channels(const hd_conv *c) {
    return c->channels / c->groups;
}
static int64_t group_outputs(const hd_conv *c) {
    return c->outputs / c->groups;
}
static int64_t group_taps(const hd_conv *c) {
    return group_channels(c) * c->taps;
}

/* ---- forward --------------------------------------------------------------------------------------- */

/* What is turned at a time lies on the stack. */
#define STACK_BYTES 16384

/* Patches that lie side by side, as those of a vision transformer: rows of them are contiguous in x. */
static bool side_by_side(const hd_conv *c, int64_t width) {
    const hd_conv_plane *s = &c->plane;
    return s->kernel[HD_WIDTH] >= 8 && s->stride[HD_WIDTH] == s->kernel[HD_WIDTH] &&
           s->dilation[HD_WIDTH] == 1 && s->before[HD_WIDTH] == 0 && s->before[HD_HEIGHT] == 0 &&
           (s->out[HD_HEIGHT] - 1) * s->stride[HD_HEIGHT] +
                   (s->kernel[HD_HEIGHT] - 1) * s->dilation[HD_HEIGHT] <
               s->in[HD_HEIGHT] &&
           s->out[HD_WIDTH] * s->kernel[HD_WIDTH] <= s->in[HD_WIDTH] &&
           s->kernel[HD_WIDTH] * width * hd_conv_size(c) <= STACK_BYTES;
}

/* Row u of the kernel in a channel, at `count` positions from `first` on: to [count, kernel columns]. */
static void copy_kernel_rows(const hd_conv *conv, const char *x, int64_t channel, int64_t u, int64_t first,
                             int64_t count, char *to) {
    const hd_conv_plane *s = &conv->plane;
    const int64_t size = hd_conv_size(conv), columns = s->out[HD_WIDTH],
                  row_bytes = s->kernel[HD_WIDTH] * size;
    for (int64_t i = 0, n; i < count; i += n) {
        const int64_t entry = (first + i) / conv->out, at = (first + i) % conv->out,
                      y = at / columns * s->stride[HD_HEIGHT] + u * s->dilation[HD_HEIGHT];
        n = hd_min(count - i, columns - at % columns);
        const char *row = x + ((entry * conv->channels + channel) * conv->in + y * s->in[HD_WIDTH]) * size;
        memcpy(to + i * row_bytes, row + at % columns * row_bytes, (size_t)(n * row_bytes));
    }
}

/* to[q * width + i] = 0 for count <= i < width */
static void clear_rest(const hd_conv *c, int64_t count, int64_t k, int64_t width, char *to) {
    const int64_t size = hd_conv_size(c);
    for (int64_t q = 0; q < k && count < width; q++)
        memset(to + (q * width + count) * size, 0, (size_t)((width - count) * size));
}

/* A panel of patches that lie side by side, one row of the kernel after the other. */
static void write_rows_of_patches(const panel_source *s, const char *x, int64_t first, int64_t count,
                                  int64_t p, int64_t k, int64_t width, char *to) {
    const hd_conv *c = s->conv;
    const int64_t size = hd_conv_size(c), columns = c->plane.kernel[HD_WIDTH];
    _Alignas(64) char rows[STACK_BYTES];
    clear_rest(c, count, k, width, to);
    for (int64_t q = 0, n; q < k; q += n) {
        const int64_t tap = (p + q) % c->taps, v = tap % columns;
        n = hd_min(k - q, columns - v);
        copy_kernel_rows(c, x, (p + q) / c->taps, tap / columns, first, count, rows);
        s->kernels->transpose[hd_size_class((size_t)size)](n, count, rows + v * size, columns,
                                                           to + q * width * size, width);
    }
}

/* A panel of patches: columns are positions. */
static void write_patches(const void *source, int64_t group, int64_t first, int64_t count, int64_t p,
                          int64_t k, int64_t width, void *to) {
    const panel_source *s = source;
    const hd_conv *c = s->conv;
    const char *x = s->data + group * group_channels(c) * c->in * hd_conv_size(c);
    if (side_by_side(c, width))
        write_rows_of_patches(s, x, first, count, p, k, width, to);
    else
        s->kernels->conv[c->dtype]->patches(&c->plane, x, c->channels * c->in, first, count, p, k, width, to);
}

static hd_status forward(hd_ctx *cx, const hd_conv *c, const void *x, const void *w, const void *b, void *y) {
    const panel_source source = {c, cx->kernels, x, 0};
    const hd_panels patches = {write_patches, &source};
    hd_gemm g = {.dtype = c->dtype,
                 .m = group_outputs(c),
                 .n = c->batch * c->out,
                 .k = group_taps(c),
                 .batch = c->groups,
                 .alpha = 1,
                 .b_panels = &patches,
                 .row_bias = b,
                 .c_run = c->out,
                 .c_run_stride = c->outputs * c->out};
    g.a = (hd_matrix){(void *)w, g.k, 1, g.m * g.k};
    g.c = (hd_matrix){y, c->out, 1, g.m * c->out};
    return hd_gemm_run(cx, &g);
}

/* ---- the gradient of x ----------------------------------------------------------------------------- */

/* Of w^T g at a time: what stays in the second-level cache. */
#define SLICE_BYTES (1 << 20)
#define SLICE_STEP 96 /* whole panels of every tile there is */
/* Additions that make a task. */
#define ADDITIONS 32768

typedef struct slice {
    const hd_conv *conv;
    const hd_kernels *kernels;
    char *patches; /* [channels * taps, columns] */
    int64_t columns, first, count;
    char *dx;
} slice;

/* A panel of g: columns are positions, the depth is outputs. */
static void write_gradient(const void *source, int64_t group, int64_t first, int64_t count, int64_t p,
                           int64_t k, int64_t width, void *to) {
    const panel_source *s = source;
    const hd_conv *c = s->conv;
    const hd_conv_plane one = {
        .in = {1, c->out}, .out = {1, c->out}, .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};
    const char *g = s->data + group * group_outputs(c) * c->out * hd_conv_size(c);
    s->kernels->conv[c->dtype]->patches(&one, g, c->outputs * c->out, s->first + first, count, p, k, width,
                                        to);
}

static hd_status multiply_slice(hd_ctx *cx, const slice *s, const void *g, const void *w) {
    const hd_conv *c = s->conv;
    const panel_source source = {c, cx->kernels, g, s->first};
    const hd_panels gradient = {write_gradient, &source};
    hd_gemm m = {.dtype = c->dtype,
                 .m = group_taps(c),
                 .n = s->count,
                 .k = group_outputs(c),
                 .batch = c->groups,
                 .alpha = 1,
                 .b_panels = &gradient};
    m.a = (hd_matrix){(void *)w, 1, m.m, m.m * m.k};
    m.c = (hd_matrix){s->patches, s->columns, 1, m.m * s->columns};
    return hd_gemm_run(cx, &m);
}

/* Planes of dx: those of the entries that the slice has positions of. */
static void add_planes(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const slice *s = arg;
    const hd_conv *c = s->conv;
    const int64_t size = hd_conv_size(c);
    for (int64_t i = first; i < last; i++) {
        const int64_t entry = s->first / c->out + i / c->channels, channel = i % c->channels,
                      start = hd_max(s->first, entry * c->out),
                      end = hd_min(s->first + s->count, (entry + 1) * c->out);
        const char *from = s->patches + (channel * c->taps * s->columns + start - s->first) * size;
        char *dx = s->dx + (entry * c->channels + channel) * c->in * size;
        s->kernels->conv[c->dtype]->add_patches(&c->plane, start - entry * c->out, end - start, from,
                                                s->columns, dx);
    }
}

static hd_status add_slice(hd_ctx *cx, slice *s) {
    const hd_conv *c = s->conv;
    const int64_t entries = (s->first + s->count - 1) / c->out - s->first / c->out + 1,
                  each = c->taps * hd_min(s->count, c->out);
    return hd_parallel_ranges(cx, entries * c->channels, ADDITIONS / each + 1, add_planes, s);
}

static hd_status grad_x(hd_ctx *cx, const hd_conv *c, const void *g, const void *w, void *dx) {
    const int64_t rows = c->channels * c->taps, positions = c->batch * c->out, size = hd_conv_size(c);
    if (cx->skipping) return HD_OK;
    memset(dx, 0, (size_t)(c->batch * c->channels * c->in * size));
    int64_t columns = SLICE_BYTES / (rows * size) / SLICE_STEP * SLICE_STEP;
    columns = hd_min(hd_max(columns, SLICE_STEP), positions);
    slice s = {.conv = c, .kernels = cx->kernels, .columns = columns, .dx = dx};
    if (positions == 0) return HD_OK;
    s.patches = hd_alloc(cx, (size_t)(rows * columns * size));
    if (!s.patches) return cx->error.status;
    hd_status status = HD_OK;
    for (; s.first < positions && !status; s.first += columns) {
        s.count = hd_min(columns, positions - s.first);
        status = multiply_slice(cx, &s, g, w);
        if (!status) status = add_slice(cx, &s);
    }
    hd_free(cx->account, s.patches);
    return status;
}

/* ---- the gradient of w ----------------------------------------------------------------------------- */

/* A panel of g: rows are outputs, the depth is positions. */
static void write_gradient_rows(const void *source, int64_t group, int64_t first, int64_t count, int64_t p,
                                int64_t k, int64_t width, void *pto) {
    const panel_source *s = source;
    const hd_conv *c = s->conv;
    const int64_t size = hd_conv_size(c);
    char *to = pto;
    clear_rest(c, count, k, width, to);
    for (int64_t q = 0, n; q < k; q += n) {
        const int64_t entry = (p + q) / c->out, at = (p + q) % c->out;
        n = hd_min(k - q, c->out - at);
        const char *from =
            s->data + ((entry * c->outputs + group * group_outputs(c) + first) * c->out + at) * size;
        s->kernels->transpose[hd_size_class((size_t)size)](n, count, from, c->out, to + q * width * size,
                                                           width);
    }
}

/* A panel of patches: columns are taps, the depth is positions. */
static void write_patches_turned(const void *source, int64_t group, int64_t first, int64_t count, int64_t p,
                                 int64_t k, int64_t width, void *pto) {
    const panel_source *s = source;
    const hd_conv *c = s->conv;
    const int64_t size = hd_conv_size(c), most = STACK_BYTES / size / count;
    _Alignas(64) char patches[STACK_BYTES];
    char *to = pto;
    clear_rest(c, count, k, width, to);
    for (int64_t q = 0, n; q < k; q += n) {
        n = hd_min(k - q, most);
        write_patches(source, group, p + q, n, first, count, n, patches);
        s->kernels->transpose[hd_size_class((size_t)size)](n, count, patches, n, to + q * width * size,
                                                           width);
    }
}

static hd_status grad_w(hd_ctx *cx, const hd_conv *c, const void *g, const void *x, void *dw) {
    const panel_source of_g = {c, cx->kernels, g, 0}, of_x = {c, cx->kernels, x, 0};
    const hd_panels rows = {write_gradient_rows, &of_g}, columns = {write_patches_turned, &of_x};
    hd_gemm m = {.dtype = c->dtype,
                 .m = group_outputs(c),
                 .n = group_taps(c),
                 .k = c->batch * c->out,
                 .batch = c->groups,
                 .alpha = 1,
                 .a_panels = &rows,
                 .b_panels = &columns};
    m.c = (hd_matrix){dw, m.n, 1, m.m * m.n};
    return hd_gemm_run(cx, &m);
}

const hd_conv_way hd_conv_products = {forward, grad_x, grad_w};
