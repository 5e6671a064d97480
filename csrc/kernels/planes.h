/* planes.h: kernels on the planes of a batch of channels [N, C, H, W]: pooling, and norms by channel. */
#ifndef HD_KERNELS_PLANES_H
#define HD_KERNELS_PLANES_H

#include <stdint.h>

/* What one output sees along a dimension: first, first + step, ... below end. size: what averages count. */
typedef struct hd_window {
    int64_t first, end, step, size;
} hd_window;

/* The windows of a plane whose rows have `length` elements. */
typedef struct hd_windows {
    const hd_window *rows, *columns;
    int64_t row_count, column_count, length;
} hd_windows;

typedef struct hd_pool_kernels {
    /* y = the largest in each window, the first of equal ones; NaN wins; -inf if there is none. index (NULL:
     * not wanted): where it lies in x, -1 if there is none. */
    void (*max)(const hd_windows *w, const void *x, void *y, int32_t *index);
    /* dx[index[i]] += g[i] */
    void (*max_grad)(int64_t n, const int32_t *index, const void *g, void *dx);
    /* y = the sum in each window over its size; dx += the gradient */
    void (*average)(const hd_windows *w, const void *x, void *y);
    void (*average_grad)(const hd_windows *w, const void *g, void *dx);
} hd_pool_kernels;

typedef struct hd_channel_norm_kernels {
    /* sums[0] += the sum of x - shift, sums[1] += that of their squares */
    void (*sums)(int64_t n, const void *x, double shift, double sums[2]);
    /* The same of (x scale - shift), in f64 throughout: for what leaves the range of the element type */
    void (*scaled_sums)(int64_t n, const void *x, double scale, double shift, double sums[2]);
    double (*largest)(int64_t n, const void *x); /* |x|; NaN is passed over */
    /* y = (x - mean) rstd w + b */
    void (*norm)(int64_t n, const void *x, double mean, double rstd, double w, double b, void *y);
    /* z = (x - mean) rstd: sums[0] += the sum of g, sums[1] += that of g z */
    void (*grad_sums)(int64_t n, const void *g, const void *x, double mean, double rstd, double sums[2]);
    /* dx = rstd (g w - mean_h - z mean_hz) */
    void (*grad)(int64_t n, const void *g, const void *x, double mean, double rstd, double w, double mean_h,
                 double mean_hz, void *dx);
} hd_channel_norm_kernels;

#endif
