/* conv.h: the kernels of convolution: patches of an input as panels of a product, and back; and the direct
 * way of one channel at a time.
 *
 * Planes have height and width; what has one dimension is a plane of height 1. Output (i, j) and the tap
 * (u, v) of the kernel meet at row i stride[0] + u dilation[0] - before[0] of the input, and likewise at
 * its column. What lies outside is 0.
 */
#ifndef HD_KERNELS_CONV_H
#define HD_KERNELS_CONV_H

#include <stdint.h>

enum { HD_HEIGHT, HD_WIDTH, HD_PLANE };

typedef struct hd_conv_plane {
    int64_t in[HD_PLANE], out[HD_PLANE], kernel[HD_PLANE], stride[HD_PLANE], dilation[HD_PLANE],
        before[HD_PLANE];
} hd_conv_plane;

typedef struct hd_conv_kernels {
    /* Panels of patches. x is the first channel of a group in a batch whose entries are batch_stride apart.
     * Positions are counted over the batch, entry by entry and row by row; taps over the channels of the
     * group, the rows of the kernel, its columns.
     * to[q * width + i] = x at position first + i and tap p + q, for i < count, q < k; 0 where i >= count. */
    void (*patches)(const hd_conv_plane *s, const void *x, int64_t batch_stride, int64_t first, int64_t count,
                    int64_t p, int64_t k, int64_t width, void *to);
    /* The way back for one channel of one entry: dx at position first + i and tap q += from[q * row + i],
     * i < count, for all taps of the kernel. */
    void (*add_patches)(const hd_conv_plane *s, int64_t first, int64_t count, const void *from, int64_t row,
                        void *dx);

    /* One channel with a kernel w of its own. x and dx are planes with their margins: before[] zeros before
     * and as many after as the last output reaches; `pitch` elements from row to row. */
    void (*channel)(const hd_conv_plane *s, const void *x, int64_t pitch, const void *w, double bias,
                    void *y);
    /* dx += the gradient; dw[tap] += it, in f64 */
    void (*channel_grad_x)(const hd_conv_plane *s, const void *g, const void *w, void *dx, int64_t pitch);
    void (*channel_grad_w)(const hd_conv_plane *s, const void *g, const void *x, int64_t pitch, double *dw);
} hd_conv_kernels;

#endif
