/* conv_body.h: conv.c for one element type (names: see vec_real.h). */
#include "kernels/vec_real.h"

/* ---- rows ---------------------------------------------------------------------------------------- */

HD_INLINE void NAME(zero_run)(int64_t n, real *to) {
    for (int64_t i = 0; i < n; i += LANES) V(store_n)(to + i, V(set)(0), hd_min(LANES, n - i));
}

/* to[i] = from[2 i], in whole vectors, but not the last elements: behind the last one may be nothing to read.
 * Returns how many. */
HD_INLINE int64_t NAME(copy_even)(int64_t n, const real *from, real *to) {
    int64_t i = 0;
#if HD_REAL == 32
    for (; i + LANES < n; i += LANES) {
        const vu a = vu_load((const uint32_t *)(from + 2 * i)),
                 b = vu_load((const uint32_t *)(from + 2 * i + LANES));
        vu_store((uint32_t *)(to + i), vu_even(a, b));
    }
#else
    (void)n, (void)from, (void)to;
#endif
    return i;
}

/* to[i] = from[i * stride] */
HD_INLINE void NAME(copy_run)(int64_t n, const real *from, int64_t stride, real *to) {
    if (stride == 1) {
        for (int64_t i = 0; i < n; i += LANES) {
            int64_t count = hd_min(LANES, n - i);
            V(store_n)(to + i, V(load_n)(from + i, count), count);
        }
    } else {
        int64_t i = stride == 2 ? NAME(copy_even)(n, from, to) : 0;
        for (; i < n; i++) to[i] = from[i * stride];
    }
}

/* Which of n elements, the first at `start` and `stride` apart, lie in a row of `length`: [first, last). */
typedef struct NAME(inside) {
    int64_t first, last;
} NAME(inside);

HD_INLINE NAME(inside) NAME(inside_of)(int64_t n, int64_t start, int64_t stride, int64_t length) {
    NAME(inside) r = {0, n};
    if (start < 0) r.first = hd_min(n, (-start + stride - 1) / stride);
    if (start + (n - 1) * stride >= length) r.last = start >= length ? 0 : (length - 1 - start) / stride + 1;
    if (r.last < r.first) r.last = r.first;
    return r;
}

/* ---- patches ------------------------------------------------------------------------------------- */

/* n positions of an output row meet one tap in channels `first` to `last`, whose planes lie `plane` apart and
 * whose rows of the panel `step`. start: the tap's column for the first position. */
HD_INLINE void NAME(gather_tap)(int64_t n, const real *row, int64_t start, int64_t stride, int64_t length,
                                int64_t channels, int64_t plane, real *to, int64_t step) {
    const NAME(inside) r = NAME(inside_of)(n, start, stride, length);
    const real *from = row + start + r.first * stride;
    for (int64_t c = 0; c < channels; c++, to += step) {
        if (r.first > 0) NAME(zero_run)(r.first, to);
        NAME(copy_run)(r.last - r.first, from + c * plane, stride, to + r.first);
        if (r.last < n) NAME(zero_run)(n - r.last, to + r.last);
    }
}

/* n positions of output row i from column j on, in the entry that x begins: taps p .. p + k - 1. What a tap
 * of the kernel meets is found once for all channels. */
HD_INLINE void NAME(gather_run)(const hd_conv_plane *s, const real *x, int64_t i, int64_t j, int64_t n,
                                int64_t p, int64_t k, int64_t width, real *to) {
    const int64_t columns = s->kernel[HD_WIDTH], taps = s->kernel[HD_HEIGHT] * columns,
                  height = s->in[HD_HEIGHT], length = s->in[HD_WIDTH], stride = s->stride[HD_WIDTH];
    const int64_t top = i * s->stride[HD_HEIGHT] - s->before[HD_HEIGHT],
                  left = j * stride - s->before[HD_WIDTH];
    for (int64_t q = 0, tap = p % taps; q < hd_min(taps, k); q++, tap = tap + 1 < taps ? tap + 1 : 0) {
        const int64_t channels = (k - q + taps - 1) / taps, channel = (p + q) / taps,
                      y = top + tap / columns * s->dilation[HD_HEIGHT];
        real *first = to + q * width;
        if (y < 0 || y >= height)
            for (int64_t c = 0; c < channels; c++) NAME(zero_run)(n, first + c * taps * width);
        else
            NAME(gather_tap)
        (n, x + (channel * height + y) * length, left + tap % columns * s->dilation[HD_WIDTH], stride, length,
         channels, height * length, first, taps * width);
    }
}

static void NAME(patches)(const hd_conv_plane *s, const void *px, int64_t batch_stride, int64_t first,
                          int64_t count, int64_t p, int64_t k, int64_t width, void *pto) {
    const real *x = px;
    real *to = pto;
    const int64_t columns = s->out[HD_WIDTH], plane = s->out[HD_HEIGHT] * columns;
    for (int64_t i = 0, n; i < count; i += n) {
        const int64_t at = first + i, in_plane = at % plane, column = in_plane % columns;
        n = hd_min(count - i, columns - column);
        NAME(gather_run)
        (s, x + at / plane * batch_stride, in_plane / columns, column, n, p, k, width, to + i);
    }
    if (count < width)
        for (int64_t q = 0; q < k; q++) NAME(zero_run)(width - count, to + q * width + count);
}

/* to[i * stride] += from[i] */
HD_INLINE void NAME(add_run)(int64_t n, const real *from, int64_t stride, real *to) {
    if (stride == 1)
        for (int64_t i = 0; i < n; i += LANES) {
            int64_t count = hd_min(LANES, n - i);
            V(store_n)(to + i, V(load_n)(to + i, count) + V(load_n)(from + i, count), count);
        }
    else
        for (int64_t i = 0; i < n; i++) to[i * stride] += from[i];
}

HD_INLINE void NAME(add_back_run)(const hd_conv_plane *s, int64_t i, int64_t j, int64_t n, const real *from,
                                  int64_t from_row, real *dx) {
    const int64_t stride = s->stride[HD_WIDTH], length = s->in[HD_WIDTH];
    for (int64_t u = 0; u < s->kernel[HD_HEIGHT]; u++) {
        const int64_t y = i * s->stride[HD_HEIGHT] - s->before[HD_HEIGHT] + u * s->dilation[HD_HEIGHT];
        if (y < 0 || y >= s->in[HD_HEIGHT]) continue;
        for (int64_t v = 0; v < s->kernel[HD_WIDTH]; v++) {
            const int64_t start = j * stride - s->before[HD_WIDTH] + v * s->dilation[HD_WIDTH];
            const NAME(inside) r = NAME(inside_of)(n, start, stride, length);
            NAME(add_run)
            (r.last - r.first, from + (u * s->kernel[HD_WIDTH] + v) * from_row + r.first, stride,
             dx + y * length + start + r.first * stride);
        }
    }
}

static void NAME(add_patches)(const hd_conv_plane *s, int64_t first, int64_t count, const void *pfrom,
                              int64_t row, void *pdx) {
    const real *from = pfrom;
    const int64_t columns = s->out[HD_WIDTH];
    for (int64_t i = 0, n; i < count; i += n) {
        const int64_t column = (first + i) % columns;
        n = hd_min(count - i, columns - column);
        NAME(add_back_run)(s, (first + i) / columns, column, n, from + i, row, pdx);
    }
}

/* ---- one channel ----------------------------------------------------------------------------------- */

/* Elements 0, stride, 2 stride ... of x, the first n. */
HD_INLINE vr NAME(load_step)(const real *x, int64_t stride, int64_t n) {
    if (stride == 1) return n == LANES ? V(load)(x) : V(load_n)(x, n);
    return V(gather)(x, stride, n);
}

static void NAME(channel)(const hd_conv_plane *s, const void *px, int64_t pitch, const void *pw, double bias,
                          void *py) {
    const real *x = px, *w = pw;
    real *y = py;
    const int64_t rows = s->kernel[HD_HEIGHT], columns = s->kernel[HD_WIDTH], stride = s->stride[HD_WIDTH];
    for (int64_t i = 0; i < s->out[HD_HEIGHT]; i++, y += s->out[HD_WIDTH])
        for (int64_t j = 0; j < s->out[HD_WIDTH]; j += LANES) {
            const int64_t n = hd_min(LANES, s->out[HD_WIDTH] - j);
            vr sum = V(set)((real)bias);
            for (int64_t u = 0; u < rows; u++) {
                const real *from =
                    x + (i * s->stride[HD_HEIGHT] + u * s->dilation[HD_HEIGHT]) * pitch + j * stride;
                for (int64_t v = 0; v < columns; v++)
                    sum += w[u * columns + v] * NAME(load_step)(from + v * s->dilation[HD_WIDTH], stride, n);
            }
            V(store_n)(y + j, sum, n);
        }
}

/* to[i * stride] += w * from[i] */
HD_INLINE void NAME(add_scaled)(int64_t n, real w, const real *from, int64_t stride, real *to) {
    if (stride == 1)
        for (int64_t i = 0; i < n; i += LANES) {
            int64_t count = hd_min(LANES, n - i);
            V(store_n)(to + i, V(load_n)(to + i, count) + w * V(load_n)(from + i, count), count);
        }
    else
        for (int64_t i = 0; i < n; i++) to[i * stride] += w * from[i];
}

/* forward: y[i, j] += w[u, v] x[i, j shifted]  ->  dx[i, j shifted] += w[u, v] g[i, j] */
static void NAME(channel_grad_x)(const hd_conv_plane *s, const void *pg, const void *pw, void *pdx,
                                 int64_t pitch) {
    const real *g = pg, *w = pw;
    real *dx = pdx;
    const int64_t columns = s->kernel[HD_WIDTH], n = s->out[HD_WIDTH];
    for (int64_t i = 0; i < s->out[HD_HEIGHT]; i++, g += n)
        for (int64_t u = 0; u < s->kernel[HD_HEIGHT]; u++) {
            real *to = dx + (i * s->stride[HD_HEIGHT] + u * s->dilation[HD_HEIGHT]) * pitch;
            for (int64_t v = 0; v < columns; v++) NAME(add_scaled)
            (n, w[u * columns + v], g, s->stride[HD_WIDTH], to + v * s->dilation[HD_WIDTH]);
        }
}

/* forward: y[i, j] += w[u, v] x[i, j shifted]  ->  dw[u, v] += sum of g[i, j] x[i, j shifted] */
static void NAME(channel_grad_w)(const hd_conv_plane *s, const void *pg, const void *px, int64_t pitch,
                                 double *dw) {
    const real *g = pg, *x = px;
    const int64_t columns = s->kernel[HD_WIDTH], length = s->out[HD_WIDTH], stride = s->stride[HD_WIDTH];
    for (int64_t tap = 0; tap < s->kernel[HD_HEIGHT] * columns; tap++) {
        const real *from =
            x + tap / columns * s->dilation[HD_HEIGHT] * pitch + tap % columns * s->dilation[HD_WIDTH];
        for (int64_t i = 0; i < s->out[HD_HEIGHT]; i++, from += s->stride[HD_HEIGHT] * pitch) {
            vr sum = {0};
            for (int64_t j = 0; j < length; j += LANES) {
                const int64_t n = hd_min(LANES, length - j);
                vr product = V(load_n)(g + i * length + j, n) * NAME(load_step)(from + j * stride, stride, n);
                sum += n < LANES ? V(select)(V(first)(n), product, V(set)(0)) : product;
            }
            dw[tap] += (double)V(sum)(sum);
        }
    }
}

#include "kernels/vec_real_end.h"
