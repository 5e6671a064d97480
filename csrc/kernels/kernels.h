/* kernels.h: arithmetic on raw pointers. Kernels allocate nothing, check nothing, and know no tensors.
 *
 * The sources in csrc/kernels/isa/ are compiled once for each instruction set, with
 * HD_ISA_SUFFIX = plain | avx2 | avx512. Each fills its part of the table below and exports nothing else.
 * hd_kernels_init chooses the table of a context. Strides are in elements; a stride of 0 repeats a scalar.
 * Elementwise kernels may work in place (y == x with the same stride). No alignment is assumed.
 *
 * Entries indexed by dtype are NULL where there is no kernel for the dtype.
 */
#ifndef HD_KERNELS_H
#define HD_KERNELS_H

#include "base/context.h"
#include "base/cpu.h"
#include "kernels/attention.h"
#include "kernels/attention_rows.h"
#include "kernels/conv.h"
#include "kernels/operations.h"
#include "kernels/panels.h"
#include "kernels/planes.h"
#include "tensor/dtype.h"

typedef void (*hd_unary_fn)(int64_t n, const void *x, int64_t sx, void *y, int64_t sy);
typedef void (*hd_binary_fn)(int64_t n, const void *a, int64_t sa, const void *b, int64_t sb, void *y,
                             int64_t sy);
/* dx = g * f'(...): s is what the operation saved, its input or its output (tables/unary.h; of relu's only the sign counts). */
typedef void (*hd_unary_grad_fn)(int64_t n, const void *g, int64_t sg, const void *s, int64_t ss, void *dx,
                                 int64_t sdx);
/* y[i sy] = x[i sx] for elements of a size. Transposing: y[r y_row + i] = x[r + i x_step]; neighbours in
 * a row of y are x_step apart in x. */
typedef void (*hd_copy_fn)(int64_t n, const void *x, int64_t sx, void *y, int64_t sy);
typedef void (*hd_transpose_fn)(int64_t rows, int64_t n, const void *x, int64_t x_step, void *y,
                                int64_t y_row);
/* *out = x[0] op x[1] op ... for n elements, in an order that depends on n alone. Sums of f32 are made in
 * blocks or in f64, so that 10^7 ones give 10^7. Max and min propagate NaN. Sums and products of integers
 * and bool give i64. */
typedef void (*hd_reduce_row_fn)(int64_t n, const void *x, int64_t sx, void *out);
/* out[j] = out[j] op x[0][j] op x[1][j] ... for n columns of `rows` elements, `stride` apart. Sums of f32
 * add up a few rows at a time. */
typedef void (*hd_reduce_cols_fn)(int64_t rows, int64_t n, const void *x, int64_t stride, void *out);

/* For Adam. The gradient is scale * g + decay * w. */
typedef struct hd_adam_rates {
    double lr, beta1, beta2, eps, decay;
    double decoupled_decay; /* AdamW: w is first multiplied by 1 - lr * decoupled_decay */
    double bias1, bias2;    /* 1 - beta^step */
    double scale;
} hd_adam_rates;

/* For stochastic gradient descent. The gradient is scale * g + decay * w. */
typedef struct hd_sgd_rates {
    double lr, momentum, dampening, decay, scale;
    bool nesterov;
    bool first; /* the buffer has no content yet */
} hd_sgd_rates;

/* For RMSprop. The gradient is scale * g + decay * w. */
typedef struct hd_rmsprop_rates {
    double lr, alpha, eps, momentum, decay, scale;
} hd_rmsprop_rates;

/* For Lion. The gradient is scale * g; w is first multiplied by 1 - lr * decay. */
typedef struct hd_lion_rates {
    double lr, beta1, beta2, decay, scale;
} hd_lion_rates;

typedef struct hd_kernels {
    hd_isa isa;
    const char *name; /* "avx512" */

    /* elementwise */
    hd_unary_fn unary[HD_UNARY_COUNT][HD_DTYPE_COUNT];
    hd_unary_grad_fn unary_grad[HD_UNARY_COUNT][HD_DTYPE_COUNT]; /* NULL where backward saves nothing */
    /* y = f(x; p); dx = g f'(x; p) from the input */
    void (*parametric[HD_PARAMETRIC_COUNT][HD_DTYPE_COUNT])(int64_t n, double p, const void *x, int64_t sx,
                                                            void *y, int64_t sy);
    void (*parametric_grad[HD_PARAMETRIC_COUNT][HD_DTYPE_COUNT])(int64_t n, double p, const void *g,
                                                                 int64_t sg, const void *x, int64_t sx,
                                                                 void *dx, int64_t sdx);
    hd_binary_fn binary[HD_BINARY_COUNT][HD_DTYPE_COUNT]; /* by the dtype of a and b */
    /* a b and a / b of backward, where a is the gradient that arrived: 0 where a is, whatever b is (f32, f64) */
    hd_binary_fn gradient_mul[HD_DTYPE_COUNT], gradient_div[HD_DTYPE_COUNT];
    void (*where[HD_DTYPE_COUNT])(int64_t n, const uint8_t *c, int64_t sc, const void *a, int64_t sa,
                                  const void *b, int64_t sb, void *y, int64_t sy);
    hd_unary_fn cast[HD_DTYPE_COUNT][HD_DTYPE_COUNT]; /* [from][to]; the same dtype copies */
    hd_copy_fn copy[4];                               /* by hd_size_class */
    hd_transpose_fn transpose[4];
    /* memcpy past the caches, for results that no cache can hold: the lines of `to` are not read first
     * and evict no others. Call streamed() before another thread may read them. NULL where a processor
     * has no such stores. */
    void (*stream)(size_t bytes, const void *from, void *to);
    void (*stream_back[4])(int64_t n, const void *x, void *y); /* y[i] = x[-i] */
    void (*streamed)(void);
    /* y += alpha * x; y = x * scale + shift in one pass (i64: the numbers are truncated to integers) */
    void (*axpy[HD_DTYPE_COUNT])(int64_t n, double alpha, const void *x, int64_t sx, void *y, int64_t sy);
    void (*affine[HD_DTYPE_COUNT])(int64_t n, double scale, double shift, const void *x, int64_t sx, void *y,
                                   int64_t sy);
    /* y += x, contiguous */
    void (*accumulate[HD_DTYPE_COUNT])(int64_t n, const void *x, void *y);
    /* y[i y_row + j] += sum over k < depth of a[i a_row + k a_col] b[k b_row + j], i < m, j < n, modulo
     * 2^64 */
    void (*product_i64)(int64_t m, int64_t n, int64_t depth, const int64_t *a, int64_t a_row, int64_t a_col,
                        const int64_t *b, int64_t b_row, int64_t *y, int64_t y_row);

    /* reductions */
    hd_reduce_row_fn reduce_row[HD_REDUCTION_COUNT][HD_DTYPE_COUNT];
    hd_reduce_cols_fn reduce_cols[HD_REDUCTION_COUNT][HD_DTYPE_COUNT];
    int64_t (*argmax_row[HD_DTYPE_COUNT])(int64_t n, const void *x,
                                          int64_t sx); /* first of the largest, from 0; NaN wins */
    int64_t (*argmin_row[HD_DTYPE_COUNT])(int64_t n, const void *x, int64_t sx);
    /* (*a, *b) of n > 0 contiguous elements; (a[j], b[j]) of column j of n <= HD_PARTIAL_COLUMNS, `rows` > 0
     * elements each. */
    void (*partial_row[HD_PARTIAL_COUNT][HD_DTYPE_COUNT])(int64_t n, const void *x, double *a, double *b);
    void (*partial_cols[HD_PARTIAL_COUNT][HD_DTYPE_COUNT])(int64_t rows, int64_t n, const void *x,
                                                           int64_t stride, double *a, double *b);
    /* The first of the largest (smallest) of each of n <= HD_PARTIAL_COLUMNS columns of 0 < rows <= 2^24
     * elements: it, and its index from 0. NaN wins. */
    void (*argmax_cols[HD_DTYPE_COUNT])(int64_t rows, int64_t n, const void *x, int64_t stride, void *best,
                                        int32_t *index);
    void (*argmin_cols[HD_DTYPE_COUNT])(int64_t rows, int64_t n, const void *x, int64_t stride, void *best,
                                        int32_t *index);
    /* out[j] += sum over rows of x[row][j] (the gradient of a bias), in a fixed order; rows may be
     * any number */
    void (*column_sums[HD_DTYPE_COUNT])(int64_t rows, int64_t n, const void *x, int64_t row_stride,
                                        void *out);
    double (*sum_squares[HD_DTYPE_COUNT])(int64_t n, const void *x); /* f64 accumulation, contiguous */

    /* Unsigned integers in the order of the elements, or in the opposite order: NaN is the largest, 0 and
     * -0 are equal. 32 bits for elements of up to 4 bytes, else 64. */
    void (*order_keys[HD_DTYPE_COUNT])(int64_t n, const void *x, bool descending, void *keys);

    /* d[j] = (sum |x - y[j]|^p)^(1/p), of a row x and n rows y of `width` elements, one behind the other; p
     * >= 0, 0 counts what differs. */
    void (*distances[HD_DTYPE_COUNT])(int64_t n, int64_t width, double p, const void *x, const void *y,
                                      void *d);
    /* The same of p = 2, where d[j] holds x · y[j], xx is |x|² and yy[j] |y[j]|². */
    void (*distances_by_products[HD_DTYPE_COUNT])(int64_t n, int64_t width, const void *x, const void *y,
                                                  double xx, const void *yy, void *d);
    /* dx += g[j] times the derivative of d[j] by x; where d[j] or g[j] is 0, so is that. d and g: sd and sg
     * apart. */
    void (*distances_grad[HD_DTYPE_COUNT])(int64_t n, int64_t width, double p, const void *x, const void *y,
                                           const void *d, int64_t sd, const void *g, int64_t sg, void *dx);

    /* rows of n contiguous elements */
    void (*softmax_row[HD_DTYPE_COUNT])(int64_t n, const void *x, void *y); /* all -inf: zeros */
    /* dx = y (g - sum g y). Where y is exactly 0 (hidden), g is not looked at; it may be NaN. Also for
     * masked_softmax_row: the gradient by the biased, scaled scores. */
    void (*softmax_row_grad[HD_DTYPE_COUNT])(int64_t n, const void *y, const void *g, void *dx);
    /* The weights of attention: p = softmax(scale * x + bias) over the visible elements. An element is
     * hidden if see (NULL: all are visible) is 0 or bias (NULL: none) is -inf there; its p is exactly 0,
     * whatever x holds. If nothing is visible, p is 0. Returns the logsumexp of the visible scores, -inf
     * if there are none. p == x is allowed. */
    double (*masked_softmax_row[HD_DTYPE_COUNT])(int64_t n, const void *x, double scale, const uint8_t *see,
                                                 const void *bias, void *p);
    void (*log_softmax_row[HD_DTYPE_COUNT])(int64_t n, const void *x, void *y);
    void (*log_softmax_row_grad[HD_DTYPE_COUNT])(int64_t n, const void *y, const void *g, void *dx);
    double (*logsumexp_row[HD_DTYPE_COUNT])(int64_t n, const void *x);
    /* The same down n columns of `rows` elements, `stride` apart in x, y, g and dx. For n <=
     * HD_SOFTMAX_COLUMNS, scratch has HD_SOFTMAX_COLUMNS x rows elements, twice as many for gradients; y may
     * be x, dx may be g or y. For more columns, forward only, scratch has 2 n elements. */
    void (*softmax_cols[HD_DTYPE_COUNT])(int64_t rows, int64_t n, const void *x, int64_t stride, void *y,
                                         void *scratch);
    void (*log_softmax_cols[HD_DTYPE_COUNT])(int64_t rows, int64_t n, const void *x, int64_t stride, void *y,
                                             void *scratch);
    void (*softmax_cols_grad[HD_DTYPE_COUNT])(int64_t rows, int64_t n, const void *y, const void *g,
                                              int64_t stride, void *dx, void *scratch);
    void (*log_softmax_cols_grad[HD_DTYPE_COUNT])(int64_t rows, int64_t n, const void *y, const void *g,
                                                  int64_t stride, void *dx, void *scratch);
    /* y = (x - mean) * rstd * w + b; w, b may be NULL; mean and rstd are of the element type, one
     * each a row */
    void (*layer_norm_row[HD_DTYPE_COUNT])(int64_t n, const void *x, const void *w, const void *b, double eps,
                                           void *y, void *mean, void *rstd);
    /* dx of one row; adds into dw, db (NULL: not wanted) */
    void (*layer_norm_row_grad[HD_DTYPE_COUNT])(int64_t n, const void *g, const void *x, const void *w,
                                                const void *mean, const void *rstd, void *dx, void *dw,
                                                void *db);
    /* y = x * rstd * w, rstd = 1 / sqrt(mean(x²) + eps); w may be NULL */
    void (*rms_norm_row[HD_DTYPE_COUNT])(int64_t n, const void *x, const void *w, double eps, void *y,
                                         void *rstd);
    /* dx of one row; adds into dw (NULL: not wanted) */
    void (*rms_norm_row_grad[HD_DTYPE_COUNT])(int64_t n, const void *g, const void *x, const void *w,
                                              const void *rstd, void *dx, void *dw);
    /* n pairs (a, b) of features rotated by sign times the angle: y_a = x_a cos - x_b sin, y_b = x_b cos
     * + x_a sin. Halves: (a, b) = (i, n + i); pairs: (2i, 2i + 1). Not in place. */
    void (*rotate_halves[HD_DTYPE_COUNT])(int64_t n, double sign, const void *x, const void *cos,
                                          const void *sin, void *y);
    void (*rotate_pairs[HD_DTYPE_COUNT])(int64_t n, double sign, const void *x, const void *cos,
                                         const void *sin, void *y);
    /* The loss of one row of logits for a target (from 0). Smoothing eps without `excluded` (NULL): eps /
     * n for every class and 1 - eps more for the target, as in PyTorch. With it: 1 - eps for the target,
     * and eps shared by the other classes j with excluded[j] == 0. A class without a share adds nothing,
     * even if its logarithm is -inf. grad (NULL: not wanted) = softmax - smoothed target; grad == logits
     * is allowed. If all logits are -inf, the loss is inf and grad 0. */
    double (*cross_entropy_row[HD_DTYPE_COUNT])(int64_t n, const void *logits, int64_t target,
                                                double smoothing, const uint8_t *excluded, void *grad);

    /* Losses of n contiguous elements x and y; p (weights of positive targets, for BCE) may be NULL. The
     * derivative is by x or by y. */
    void (*pointwise_loss[HD_POINTWISE_COUNT][HD_DTYPE_COUNT])(int64_t n, const void *x, const void *y,
                                                               const void *p, double parameter, void *out);
    void (*pointwise_loss_slope[HD_POINTWISE_COUNT][HD_DTYPE_COUNT])(int64_t n, const void *x, const void *y,
                                                                     const void *p, double parameter,
                                                                     int by_y, void *out);

    /* random: element i of the range is element first + i of the draw */
    void (*uniform[HD_DTYPE_COUNT])(hd_draw draw, int64_t first, int64_t n, double low, double high, void *y);
    void (*normal[HD_DTYPE_COUNT])(hd_draw draw, int64_t first, int64_t n, double mean, double std, void *y);
    /* y = x / (1 - p) where kept, else 0; p = 1 gives zeros. x == y is allowed. */
    void (*dropout[HD_DTYPE_COUNT])(hd_draw draw, int64_t first, int64_t n, double p, const void *x, void *y);
    /* y = residual + dropout(x + bias), n contiguous elements; residual, bias may be NULL, p = 0 draws
     * nothing. Its gradient with respect to x is `dropout` of the same draw. */
    void (*dropout_add[HD_DTYPE_COUNT])(hd_draw draw, int64_t first, int64_t n, double p, const void *x,
                                        const void *bias, const void *residual, void *y);
    /* y = dropout(act(x + bias)); dx = dropout(g) * act'(x + bias). bias may be NULL; p = 0 draws
     * nothing. In place is allowed (y == x, dx == g or x). */
    void (*bias_act[HD_ACT_COUNT][HD_DTYPE_COUNT])(hd_draw draw, int64_t first, int64_t n, double p,
                                                   const void *x, const void *bias, void *y);
    void (*bias_act_grad[HD_ACT_COUNT][HD_DTYPE_COUNT])(hd_draw draw, int64_t first, int64_t n, double p,
                                                        const void *g, const void *x, const void *bias,
                                                        void *dx);

    /* One step of a row of n units of a recurrent layer. gates: in, what the input gives to them, out, the
     * gates: r, z, n of a GRU, i, f, g, o of an LSTM, n elements each. recurrent: what the state gives to
     * them. b_ih, b_hh: both or NULL. before: the state before; h, c: after. inner (NULL: not wanted):
     * what r multiplies; tanh_c (NULL: not wanted): tanh of c. */
    void (*gru_row[HD_DTYPE_COUNT])(int64_t n, void *gates, const void *recurrent, const void *b_ih,
                                    const void *b_hh, const void *before, void *inner, void *h);
    void (*lstm_row[HD_DTYPE_COUNT])(int64_t n, void *gates, const void *recurrent, const void *b_ih,
                                     const void *b_hh, const void *before, void *c, void *tanh_c, void *h);
    /* Their gradients. g (NULL: zeros) is that of the output h; dh and dc those of the state after. dh (of a
     * GRU) and dc become what goes to the state before beside the recurrent product. dx: of the gates before
     * their functions, by what the input gives; dr by what the state gives (of an LSTM the same). 0 where
     * what arrives is 0. */
    void (*gru_row_grad[HD_DTYPE_COUNT])(int64_t n, const void *gates, const void *inner, const void *before,
                                         const void *g, void *dh, void *dx, void *dr);
    void (*lstm_row_grad[HD_DTYPE_COUNT])(int64_t n, const void *gates, const void *tanh_c,
                                          const void *before, const void *g, const void *dh, void *dc,
                                          void *dx);

    /* One pass of an optimiser over the n elements of a parameter w with gradient g (hd_adam_rates,
     * hd_sgd_rates). m, v, the mean gradient a (NULL: not centred) and the buffer b (NULL: no momentum)
     * are updated too. */
    void (*adam[HD_DTYPE_COUNT])(int64_t n, void *w, const void *g, void *m, void *v, const hd_adam_rates *o);
    void (*sgd[HD_DTYPE_COUNT])(int64_t n, void *w, const void *g, void *b, const hd_sgd_rates *o);
    void (*rmsprop[HD_DTYPE_COUNT])(int64_t n, void *w, const void *g, void *b, void *v, void *a,
                                    const hd_rmsprop_rates *o);
    void (*lion[HD_DTYPE_COUNT])(int64_t n, void *w, const void *g, void *m, const hd_lion_rates *o);

    const hd_attention_kernels *attention[HD_DTYPE_COUNT]; /* see kernels/attention.h */
    const hd_row_kernels *attention_rows[HD_DTYPE_COUNT];  /* by what is stored: kernels/attention_rows.h */
    const hd_conv_kernels *conv[HD_DTYPE_COUNT];           /* see kernels/conv.h */
    const hd_pool_kernels *pool[HD_DTYPE_COUNT];           /* see kernels/planes.h */
    const hd_channel_norm_kernels *channel_norm[HD_DTYPE_COUNT];
    const hd_panel_kernels *panels; /* see kernels/panels.h */
} hd_kernels;

/* 0 to 3 for elements of 1, 2, 4 and 8 bytes. */
static inline int hd_size_class(size_t size) {
    return size == 8 ? 3 : (int)(size / 2);
}

/* Sets cx->kernels to the table of the best (or HEED_ISA's) instruction set. */
hd_status hd_kernels_init(hd_ctx *cx);
const hd_kernels *hd_kernels_of(hd_isa isa); /* NULL when not built or the processor lacks it */

#endif
