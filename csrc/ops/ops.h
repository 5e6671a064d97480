/* ops.h: the contents page of the operations. A section is a file; its comments there say the formula, the
 * gradient and the corners.
 *
 * All return a new reference, or NULL with the error in cx; tensors are borrowed; results are contiguous
 * unless "view" is said. Dimensions count from 0 here, -1 is the last; values of index tensors count from 1.
 * Every operation here is recorded in the graph when recording is on and an input wants a gradient.
 */
#ifndef HD_OPS_H
#define HD_OPS_H

#include "kernels/kernels.h"
#include "autograd/graph.h"
#include "tensor/tensor.h"

/* A Lua number: weak in promotion (an f32 tensor stays f32; an integer tensor with a float scalar becomes f32). */
typedef struct hd_scalar {
    bool is_integer;
    int64_t i;
    double f; /* also set when is_integer */
} hd_scalar;
static inline hd_scalar hd_scalar_f(double f) {
    return (hd_scalar){false, 0, f};
}
static inline hd_scalar hd_scalar_i(int64_t i) {
    return (hd_scalar){true, i, (double)i};
}

#define HD_ALL_DIMS 0xFFFFFFFFu /* reductions take dimensions as a bit set: bit d for dimension d */

/* ---- backward.c: backward (autograd/graph.h) with the arithmetic that it needs ------------------------------------------ */
extern const hd_gradient_arithmetic hd_gradients;
/* All of it, from root with gradient (NULL: root has one element and gets 1). retain: another pass may follow. */
hd_status hd_backward_run(hd_ctx *cx, hd_tensor *root, hd_tensor *gradient, bool retain);

/* ---- create.c: no gradients -------------------------------------------------------------------------- */
hd_tensor *hd_full(hd_ctx *cx, hd_dtype dtype, int ndim, const int64_t *shape, hd_scalar value);
hd_tensor *hd_range(hd_ctx *cx, hd_dtype dtype, hd_scalar first, hd_scalar last,
                    hd_scalar step); /* both ends in */
hd_tensor *hd_eye(hd_ctx *cx, hd_dtype dtype, int64_t n, int64_t m);
/* Each draws from *rng (NULL: cx->rng) once. */
hd_tensor *hd_rand(hd_ctx *cx, hd_rng *rng, hd_dtype dtype, int ndim, const int64_t *shape);  /* U[0,1) */
hd_tensor *hd_randn(hd_ctx *cx, hd_rng *rng, hd_dtype dtype, int ndim, const int64_t *shape); /* N(0,1) */
hd_tensor *hd_randint(hd_ctx *cx, hd_rng *rng, int64_t low, int64_t high, int ndim,
                      const int64_t *shape);                /* both ends in, i64 */
hd_tensor *hd_randperm(hd_ctx *cx, hd_rng *rng, int64_t n); /* 1..n shuffled, i64 */
hd_status hd_uniform_(hd_ctx *cx, hd_rng *rng, hd_tensor *t, double low, double high);
hd_status hd_normal_(hd_ctx *cx, hd_rng *rng, hd_tensor *t, double mean, double std);

/* linspace.c: count numbers from first to last, both in */
hd_tensor *hd_linspace(hd_ctx *cx, hd_dtype dtype, double first, double last, int64_t count);

/* ---- unary.c, parametric.c, binary.c, where.c, cast.c: elementwise, broadcasting ------------------------------------ */
hd_tensor *hd_unary_op(hd_ctx *cx, hd_unary op, hd_tensor *x);
hd_tensor *hd_parametric_op(hd_ctx *cx, hd_parametric op, hd_tensor *x, double parameter);
hd_tensor *hd_binary_op(hd_ctx *cx, hd_binary op, hd_tensor *a, hd_tensor *b);
hd_tensor *hd_binary_scalar(hd_ctx *cx, hd_binary op, hd_tensor *a, hd_scalar b, bool reversed /* b op a */);
/* lerp.c: a + weight (b - a); a weight without dimensions is weak in promotion, as a number */
hd_tensor *hd_lerp(hd_ctx *cx, hd_tensor *a, hd_tensor *b, hd_tensor *weight);
hd_tensor *hd_where(hd_ctx *cx, hd_tensor *condition, hd_tensor *a, hd_tensor *b);
hd_tensor *hd_masked_fill(hd_ctx *cx, hd_tensor *x, hd_tensor *mask, hd_scalar value);
hd_tensor *hd_clamp(hd_ctx *cx, hd_tensor *x, const hd_scalar *low, const hd_scalar *high); /* NULL: open */
hd_tensor *hd_cast(hd_ctx *cx, hd_tensor *x, hd_dtype dtype); /* the same dtype: x itself, retained */
hd_tensor *hd_tril(hd_ctx *cx, hd_tensor *x, int64_t diagonal);
hd_tensor *hd_triu(hd_ctx *cx, hd_tensor *x, int64_t diagonal);
hd_tensor *hd_round_decimals(hd_ctx *cx, hd_tensor *x, int decimals);
/* in place (inplace.c too): t = t op b. Recorded as hd_check_inplace allows; the dtype never changes. */
hd_status hd_unary_(hd_ctx *cx, hd_unary op, hd_tensor *t);
hd_status hd_parametric_(hd_ctx *cx, hd_parametric op, hd_tensor *t, double parameter);
hd_status hd_tril_(hd_ctx *cx, hd_tensor *t, int64_t diagonal);
hd_status hd_triu_(hd_ctx *cx, hd_tensor *t, int64_t diagonal);
hd_status hd_round_decimals_(hd_ctx *cx, hd_tensor *t, int decimals);
hd_status hd_clamp_(hd_ctx *cx, hd_tensor *t, const hd_scalar *low, const hd_scalar *high);
hd_status hd_binary_(hd_ctx *cx, hd_binary op, hd_tensor *t, hd_tensor *b);
hd_status hd_binary_scalar_(hd_ctx *cx, hd_binary op, hd_tensor *t, hd_scalar b);
hd_status hd_fill_(hd_ctx *cx, hd_tensor *t, hd_scalar value);
hd_status hd_copy_(hd_ctx *cx, hd_tensor *t, hd_tensor *source); /* broadcasts, casts */
hd_status hd_masked_fill_(hd_ctx *cx, hd_tensor *t, hd_tensor *mask, hd_scalar value);

/* ---- shape.c, join.c: views where possible --------------------------------------------------------------- */
hd_tensor *hd_reshape(hd_ctx *cx, hd_tensor *x, int ndim,
                      const int64_t *shape); /* one size may be -1; view or copy */
hd_tensor *hd_view(hd_ctx *cx, hd_tensor *x, int ndim, const int64_t *shape); /* view or error */
hd_tensor *hd_permute(hd_ctx *cx, hd_tensor *x, const int *order);            /* view */
hd_tensor *hd_transpose(hd_ctx *cx, hd_tensor *x, int d1, int d2);            /* view */
hd_tensor *hd_narrow(hd_ctx *cx, hd_tensor *x, int dim, int64_t start, int64_t length,
                     int64_t step);                                             /* view */
hd_tensor *hd_select(hd_ctx *cx, hd_tensor *x, int dim, int64_t index);         /* view, one dimension less */
hd_tensor *hd_unsqueeze(hd_ctx *cx, hd_tensor *x, int dim);                     /* view */
hd_tensor *hd_squeeze_dims(hd_ctx *cx, hd_tensor *x, uint32_t dims);            /* view; a bit set */
hd_tensor *hd_expand(hd_ctx *cx, hd_tensor *x, int ndim, const int64_t *shape); /* view; -1 keeps a size */
hd_tensor *hd_diagonal(hd_ctx *cx, hd_tensor *x, int64_t offset, int dim1,
                       int dim2);                   /* view, the diagonal last */
hd_tensor *hd_contiguous(hd_ctx *cx, hd_tensor *x); /* x itself when it is */
hd_tensor *hd_clone(hd_ctx *cx, hd_tensor *x);
hd_tensor *hd_cat(hd_ctx *cx, int count, hd_tensor *const *parts, int dim);
hd_tensor *hd_stack(hd_ctx *cx, int count, hd_tensor *const *parts, int dim);

/* ---- unfold.c: a view, which overlaps itself where step < size ------------------------------------------------ */
/* Windows of `size` along dim, one every `step`: [.., windows, .., size]. */
hd_tensor *hd_unfold(hd_ctx *cx, hd_tensor *x, int dim, int64_t size, int64_t step);

/* ---- split.c: several views of one tensor, whose gradients meet in one buffer --------------------------------- */
/* Parts of these sizes, one behind the other along dim; into parts[0 .. count - 1]. */
hd_status hd_split(hd_ctx *cx, hd_tensor *x, int dim, int64_t count, const int64_t *sizes, hd_tensor **parts);
/* All of x's slices along dim, which goes away. */
hd_status hd_unbind(hd_ctx *cx, hd_tensor *x, int dim, hd_tensor **parts);

/* ---- arrange.c, pad.c: elements at other places ------------------------------------------------------------------ */
hd_tensor *hd_flip(hd_ctx *cx, hd_tensor *x, uint32_t dims);
/* Element i of dimension d goes to i + shifts[d], around its end. */
hd_tensor *hd_roll(hd_ctx *cx, hd_tensor *x, const int64_t *shifts /* one a dimension */);
/* x again and again: counts[d] times along dimension d; either may have more dimensions. */
hd_tensor *hd_tile(hd_ctx *cx, hd_tensor *x, int ndim, const int64_t *counts);
typedef enum hd_pad_mode {
    HD_PAD_CONSTANT,
    HD_PAD_REFLECT,   /* c b | a b c | b a */
    HD_PAD_REPLICATE, /* a a | a b c | c c */
    HD_PAD_CIRCULAR   /* b c | a b c | a b */
} hd_pad_mode;
/* before[d] and after[d] elements more at the ends of dimension d; negative ones take away. */
hd_tensor *hd_pad(hd_ctx *cx, hd_tensor *x, const int64_t *before, const int64_t *after, hd_pad_mode mode,
                  hd_scalar value /* of constant */);

/* ---- index_select.c, scatter.c, masked.c, assign.c: index tensors are i64, values from 1, checked; the message names position, value and range ---- */
hd_tensor *hd_index_select(hd_ctx *cx, hd_tensor *x, int dim, hd_tensor *index);
hd_tensor *hd_gather(hd_ctx *cx, hd_tensor *x, int dim, hd_tensor *index);
hd_tensor *hd_masked_select(hd_ctx *cx, hd_tensor *x, hd_tensor *mask); /* 1-d */
hd_tensor *hd_one_hot(hd_ctx *cx, hd_tensor *index, int64_t classes);   /* i64 */
/* scatter.c: sums run in the order of the index. index and src of x's dimensions; x[.., index[p], ..] += src[p]. */
hd_tensor *hd_scatter_add(hd_ctx *cx, hd_tensor *x, int dim, hd_tensor *index, hd_tensor *src);
hd_status hd_scatter_add_(hd_ctx *cx, hd_tensor *t, int dim, hd_tensor *index, hd_tensor *src);
/* The same, but x[.., index[p], ..] = src[p]: of several the last. Any dtype. */
hd_tensor *hd_scatter(hd_ctx *cx, hd_tensor *x, int dim, hd_tensor *index, hd_tensor *src);
hd_status hd_scatter_(hd_ctx *cx, hd_tensor *t, int dim, hd_tensor *index, hd_tensor *src);
/* scatter_reduce.c: x[.., index[p], ..] = x[.., index[p], ..] op src[p]; without include_self only src are reduced. */
typedef enum hd_scatter_kind {
    HD_SCATTER_SUM,
    HD_SCATTER_PROD,
    HD_SCATTER_MEAN, /* of floats */
    HD_SCATTER_AMAX,
    HD_SCATTER_AMIN
} hd_scatter_kind;
hd_tensor *hd_scatter_reduce(hd_ctx *cx, hd_tensor *x, int dim, hd_tensor *index, hd_tensor *src,
                             hd_scatter_kind kind, bool include_self);
hd_status hd_scatter_reduce_(hd_ctx *cx, hd_tensor *t, int dim, hd_tensor *index, hd_tensor *src,
                             hd_scatter_kind kind, bool include_self);
/* index [n], src as x but n along dim: x[.., index[p], ..] += src[.., p, ..]. */
hd_tensor *hd_index_add(hd_ctx *cx, hd_tensor *x, int dim, hd_tensor *index, hd_tensor *src);
hd_status hd_index_add_(hd_ctx *cx, hd_tensor *t, int dim, hd_tensor *index, hd_tensor *src);
/* index.c: x[key] with an index for some dimensions (NULL: taken whole): integers, negative ones from the end; they broadcast,
 * and stand where they were when their dimensions are neighbours, otherwise first. */
hd_tensor *hd_index(hd_ctx *cx, hd_tensor *x, hd_tensor *const *index);
/* The indices, one vector for each dimension, of what is true. */
hd_status hd_mask_places(hd_ctx *cx, hd_tensor *mask, hd_tensor **index);
/* assignment: the functional node of x[...] = v. `region` is a view of x (made by narrow, select); writes v there. */
hd_status hd_assign_(hd_ctx *cx, hd_tensor *x, hd_tensor *region, hd_tensor *v);
hd_status hd_assign_mask_(hd_ctx *cx, hd_tensor *x, hd_tensor *mask, hd_tensor *v);
/* place is a view of x; index: one for each dimension of place, NULL for those that are taken whole. */
hd_status hd_assign_index_(hd_ctx *cx, hd_tensor *x, hd_tensor *place, hd_tensor *const *index, hd_tensor *v);

/* ---- reduce.c, moments.c, range.c, norm.c, argmax.c, scan.c ---------------------------------------------------------------------------- */
hd_tensor *hd_reduce(hd_ctx *cx, hd_reduction op, hd_tensor *x, uint32_t dims, bool keepdim);
hd_tensor *hd_mean(hd_ctx *cx, hd_tensor *x, uint32_t dims, bool keepdim);
hd_tensor *hd_var(hd_ctx *cx, hd_tensor *x, uint32_t dims, bool keepdim, int correction);
hd_tensor *hd_std(hd_ctx *cx, hd_tensor *x, uint32_t dims, bool keepdim, int correction);
hd_tensor *hd_logsumexp(hd_ctx *cx, hd_tensor *x, uint32_t dims, bool keepdim);
hd_status hd_max_dim(hd_ctx *cx, hd_tensor *x, int dim, bool keepdim, bool smallest, hd_tensor **values,
                     hd_tensor **indices);
hd_tensor *hd_argmax(hd_ctx *cx, hd_tensor *x, int dim /* INT_MIN: flattened */, bool keepdim, bool smallest);
hd_tensor *hd_cumsum(hd_ctx *cx, hd_tensor *x, int dim);
hd_tensor *hd_cumprod(hd_ctx *cx, hd_tensor *x, int dim); /* cumprod.c */
/* cummax.c: the largest so far, and where it is, i64; of equals the last */
hd_status hd_cummax(hd_ctx *cx, hd_tensor *x, int dim, bool smallest, hd_tensor **values,
                    hd_tensor **indices);
/* (sum of |x|^p)^(1/p); p infinite: the largest |x|, or the smallest; 0: how many are not 0 */
hd_tensor *hd_norm(hd_ctx *cx, hd_tensor *x, double p, uint32_t dims, bool keepdim);

/* ---- sort.c: values and indices, stable, NaN the largest ------------------------------------------------------ */
hd_status hd_sort(hd_ctx *cx, hd_tensor *x, int dim, bool descending, hd_tensor **values,
                  hd_tensor **indices);
hd_status hd_topk(hd_ctx *cx, hd_tensor *x, int64_t k, int dim, bool largest, hd_tensor **values,
                  hd_tensor **indices);

/* ---- median.c: of two middles the lower one; NaN when there is one ------------------------------------- */
hd_tensor *hd_median(hd_ctx *cx, hd_tensor *x); /* of all elements */
/* Values, and where the first of them is. */
hd_status hd_median_dim(hd_ctx *cx, hd_tensor *x, int dim, bool keepdim, hd_tensor **values,
                        hd_tensor **indices);

/* ---- searchsorted.c: no gradient ----------------------------------------------------------------------- */
/* Where values belong in ascending sequences [n], or [.., n] for values [.., m]: i64 from 1 to n + 1, before
 * equal elements or (right) behind them. */
hd_tensor *hd_searchsorted(hd_ctx *cx, hd_tensor *sorted, hd_tensor *values, bool right);

/* ---- unique.c: no gradient ------------------------------------------------------------------------------------ */
/* The different elements, ascending [U]; which of them each of x is, i64 of x's shape; how often each occurs, i64 [U]. */
hd_status hd_unique(hd_ctx *cx, hd_tensor *x, hd_tensor **values, hd_tensor **inverse, hd_tensor **counts);

/* ---- nonzero.c: no gradient ------------------------------------------------------------------------------------- */
hd_tensor *hd_nonzero(hd_ctx *cx, hd_tensor *x); /* i64 [count, ndim], indices from 1; any dtype */

/* ---- multinomial.c -------------------------------------------------------------------------------------------- */
/* n indices (i64, from 1) for each row of weights x [C] or [rows, C]; draws from *rng (NULL: cx->rng) once. */
hd_tensor *hd_multinomial(hd_ctx *cx, hd_rng *rng, hd_tensor *x, int64_t n, bool replacement);

/* ---- matmul.c, linear.c ---------------------------------------------------------------------------------------- */
hd_tensor *hd_matmul(hd_ctx *cx, hd_tensor *a,
                     hd_tensor *b); /* as PyTorch's: vectors, batches, broadcasting */
/* einsum.c: sums of products, letters naming dimensions ("bld,bsd->bls"); as products of matrices. */
hd_tensor *hd_einsum(hd_ctx *cx, const char *equation, int count, hd_tensor *const *operands);
/* y = act(x W^T + b), then dropout(p) when p > 0 drawing from cx->rng. x [..., in], w [out, in], b [out] or NULL. */
hd_tensor *hd_linear(hd_ctx *cx, hd_tensor *x, hd_tensor *w, hd_tensor *b, hd_activation act, double dropout);
/* residual + dropout(x W^T + b), in the same single pass: how a sublayer ends. residual has the result's shape. */
hd_tensor *hd_linear_residual(hd_ctx *cx, hd_tensor *residual, hd_tensor *x, hd_tensor *w, hd_tensor *b,
                              double dropout);

/* rfft.c: the Fourier transform of the last dimension, [.., n] -> [.., n / 2 + 1, 2]: real, imaginary part */
hd_tensor *hd_rfft(hd_ctx *cx, hd_tensor *x);

/* cdist.c: (sum |x - y|^p)^(1/p) of all rows x [.., P, M] and y [.., R, M]: [.., P, R]; p >= 0 */
hd_tensor *hd_cdist(hd_ctx *cx, hd_tensor *x, hd_tensor *y, double p);

/* ---- conv.c: convolution over one dimension or two --------------------------------------------------------------- */
typedef struct hd_conv_options {
    int64_t stride[2], dilation[2]; /* of each dimension, from the first on */
    int64_t before[2], after[2];    /* zeros around x */
    int64_t groups;
    int dims; /* 1 or 2 */
} hd_conv_options;
/* x [B, C, L] or [B, C, H, W], w [out, C / groups, kernel], b [out] or NULL -> [B, out, ...] */
hd_tensor *hd_convolution(hd_ctx *cx, hd_tensor *x, hd_tensor *w, hd_tensor *b, const hd_conv_options *o);

/* ---- pool.c: windows of x [C, L], [B, C, L] (dims = 1), [C, H, W] or [B, C, H, W] (dims = 2) ------------------------- */
typedef struct hd_pool_options {
    int64_t kernel[2], stride[2], padding[2], dilation[2]; /* adaptive: kernel is the output's size */
    int dims;                                              /* 1 or 2 */
    bool largest;                                          /* else the average, whose dilation is 1 */
    bool adaptive, ceil_mode, count_include_pad;
} hd_pool_options;
hd_tensor *hd_pool(hd_ctx *cx, hd_tensor *x, const hd_pool_options *o);

/* ---- channel_norm.c: x [N, C, ...], w and b [C] or NULL ------------------------------------------------------------- */
typedef struct hd_batch_norm_options {
    hd_tensor *running_mean, *running_var; /* [C]; or both NULL, in training. In training they are updated */
    bool training;                         /* statistics of x; else the running ones */
    double momentum, eps;
} hd_batch_norm_options;
hd_tensor *hd_batch_norm(hd_ctx *cx, hd_tensor *x, hd_tensor *w, hd_tensor *b,
                         const hd_batch_norm_options *o);
hd_tensor *hd_group_norm(hd_ctx *cx, hd_tensor *x, int64_t groups, hd_tensor *w, hd_tensor *b, double eps);

/* ---- softmax.c, layer_norm.c, dropout.c, embedding.c, the losses------------------------------------------------------------ */
hd_tensor *hd_softmax(hd_ctx *cx, hd_tensor *x, int dim);
hd_tensor *hd_log_softmax(hd_ctx *cx, hd_tensor *x, int dim);
hd_tensor *hd_layer_norm(hd_ctx *cx, hd_tensor *x, hd_tensor *w, hd_tensor *b,
                         double eps); /* last dimension; w, b may be NULL */
hd_tensor *hd_rms_norm(hd_ctx *cx, hd_tensor *x, hd_tensor *w, double eps); /* likewise */
hd_tensor *hd_dropout(hd_ctx *cx, hd_tensor *x, double p); /* draws from cx->rng; p = 0: x itself */
hd_tensor *hd_dropout_add(hd_ctx *cx, hd_tensor *residual, hd_tensor *x,
                          double p); /* residual + dropout(x), one pass */
/* tokens i64 [...] -> [..., E], times scale; rows equal to padding_idx (0: none) get no gradient. */
hd_tensor *hd_embedding(hd_ctx *cx, hd_tensor *weight, hd_tensor *tokens, int64_t padding_idx, double scale);

typedef enum hd_loss_reduction {
    HD_LOSS_MEAN,
    HD_LOSS_SUM,
    HD_LOSS_NONE,
    HD_LOSS_BATCHMEAN
} hd_loss_reduction;
typedef struct hd_cross_entropy_options {
    bool has_ignore_index;
    int64_t ignore_index;
    double label_smoothing;
    const int64_t *excluded; /* smoothing_exclude: classes from 1 */
    int excluded_count;
    hd_tensor *weight; /* [V] or NULL */
    hd_loss_reduction reduction;
} hd_cross_entropy_options;
/* logits [..., V], targets i64 [...] in 1..V or ignore_index. Mean over kept targets; all ignored: 0. */
hd_tensor *hd_cross_entropy(hd_ctx *cx, hd_tensor *logits, hd_tensor *targets,
                            const hd_cross_entropy_options *o);
/* The cross entropy of x W^T + b without ever holding all logits. x [..., E], w [V, E], b [V] or NULL, targets [...]. */
hd_tensor *hd_linear_cross_entropy(hd_ctx *cx, hd_tensor *x, hd_tensor *w, hd_tensor *b, hd_tensor *targets,
                                   const hd_cross_entropy_options *o);
/* Of log probabilities x [..., V]; smoothing is not looked at. */
hd_tensor *hd_nll_loss(hd_ctx *cx, hd_tensor *x, hd_tensor *targets, const hd_cross_entropy_options *o);
typedef struct hd_pointwise_options {
    hd_pointwise kind;
    double parameter;               /* of huber: where it becomes linear */
    double factor;                  /* of every loss */
    hd_tensor *weight, *pos_weight; /* broadcast to the input's shape; or NULL */
    hd_loss_reduction reduction;    /* batchmean: the sum over the size of the first dimension */
} hd_pointwise_options;
/* A loss of x against y, both of one shape. */
hd_tensor *hd_pointwise_loss(hd_ctx *cx, hd_tensor *x, hd_tensor *y, const hd_pointwise_options *o);

/* ---- recurrent.c: one layer of a GRU or LSTM in one direction, over whole sequences ------------------ */
typedef enum hd_recurrent_kind { HD_GRU, HD_LSTM } hd_recurrent_kind;
/* Of H units over E features; the rows of the gates r, z, n (G = 3) or i, f, g, o (G = 4) stand below each
 * other. */
typedef struct hd_recurrent_params {
    hd_recurrent_kind kind;
    bool reverse;                     /* each sequence is read from its own end */
    hd_tensor *weight_ih, *weight_hh; /* [G H, E], [G H, H] */
    hd_tensor *bias_ih, *bias_hh;     /* [G H]; both or NULL */
} hd_recurrent_params;
/* x [B, L, E]; lengths i64 [B] (0..L) or NULL: L; h and c (LSTM) [B, H] before, or NULL: zeros. Into out:
 * y [B, L, H], 0 at padding; the state after each sequence's last token, h [B, H] and c [B, H] (GRU: NULL). */
hd_status hd_recurrent(hd_ctx *cx, const hd_recurrent_params *p, hd_tensor *x, hd_tensor *lengths,
                       hd_tensor *h, hd_tensor *c, hd_tensor *out[3]);

/* ---- linear_recurrence.c: y[t] = a[t] y[t-1] + b[t], y[0] = h --------------------------------------------- */
/* a, b [B, L, E]; h [B, E], or NULL: y[1] = b[1]. Gives y [B, L, E]. */
hd_tensor *hd_linear_recurrence(hd_ctx *cx, hd_tensor *a, hd_tensor *b, hd_tensor *h);

/* ---- rotary.c ---------------------------------------------------------------------------------------------------------- */
/* x [..., L, D] with pairs of features rotated by angles whose cosines and sines are given: [L, P], or [B, L, P] with B the
 * first size of x; 2P <= D, the other features pass. Pair i is (i, P + i), or (2i, 2i + 1) when interleaved. */
hd_tensor *hd_rotary(hd_ctx *cx, hd_tensor *x, hd_tensor *cos, hd_tensor *sin, bool interleaved);

/* ---- attention.c ------------------------------------------------------------------------------------------------------ */
/* softmax(scale · q k^T + bias) v. q [B,H,L,D], k [B,Hk,S,D], v [B,Hk,S,Dv], any strides; H a multiple of Hk.
 * See docs/attention.md for the rules. */
typedef struct hd_attention_options {
    double scale;         /* 0: 1/sqrt(D) */
    double softcap;       /* 0: none */
    double dropout;       /* of the weights; the caller gives 0 in evaluation */
    struct hd_mask *mask; /* which keys a query sees (attention_mask.h); NULL: all */
    hd_tensor *alibi;     /* f64 [H], contiguous: alibi[h] · |S - L + i - j| is taken off; or NULL */
    hd_tensor *bias;      /* float, added, broadcastable to [B,H,L,S]; or NULL; differentiable */
    /* Sequences packed one behind the other (sequences.c): q [1,H,N,D], k, v [1,Hk,M,D]. i64 [count + 1] each, both or
     * neither: the queries, and the keys, before each sequence, and all of them. A sequence sees its own keys alone, and
     * causality is aligned within it. */
    hd_tensor *query_starts, *key_starts;
    bool want_weights;
} hd_attention_options;
/* out [B,H,L,Dv] as a view of memory laid out [B,L,H,Dv]. *weights (want_weights) [B,H,L,S]: before dropout, detached. */
hd_status hd_attention(hd_ctx *cx, hd_tensor *q, hd_tensor *k, hd_tensor *v, const hd_attention_options *o,
                       hd_tensor **out, hd_tensor **weights);
/* The same on the results of packed projections, head after head, and without a copy there and back: packed [B,L,3E]
 * holds q, k, v (q NULL); or q [B,L,E], and packed [B,S,2E] holds k, v. out [B,L,E]. */
hd_status hd_attention_packed(hd_ctx *cx, hd_tensor *q, hd_tensor *packed, int num_heads,
                              const hd_attention_options *o, hd_tensor **out, hd_tensor **weights);

/* mask_dense.c: what mask and starts let the queries see, of scores = B, H, L, S: bool [B, H, n, S] for n queries `rows` (i64 [n],
 * from 1), NULL: all L. And what alibi adds to their scores: [1, H, n, S] of f32 or f64, [B, H, n, S] when the mask has ends. */
hd_tensor *hd_mask_dense(hd_ctx *cx, const hd_attention_options *o, const int64_t scores[4],
                         const hd_tensor *rows);
hd_tensor *hd_alibi_dense(hd_ctx *cx, const hd_attention_options *o, hd_dtype dtype, const int64_t scores[4],
                          const hd_tensor *rows);

/* ---- sequences.c: batches without their padding ------------------------------------------------------------------------ */
/* x [B, L, ...] and lengths i64 [B] (0..L): the first lengths[b] of each entry, one behind the other: [N, ...]. Any dtype. */
hd_tensor *hd_pack_sequences(hd_ctx *cx, hd_tensor *x, hd_tensor *lengths);
/* The way back: [N, ...] to [B, L, ...], zeros at padding. */
hd_tensor *hd_unpack_sequences(hd_ctx *cx, hd_tensor *x, hd_tensor *lengths, int64_t L);
/* What attention wants of them: i64 [B + 1], the elements before each sequence. */
hd_tensor *hd_sequence_starts(hd_ctx *cx, hd_tensor *lengths);

/* ---- optim.c: one pass over all tensors; no graph ---------------------------------------------------------------------- */
typedef enum hd_optimizer { HD_SGD, HD_ADAM, HD_ADAMW, HD_RMSPROP, HD_LION } hd_optimizer;
typedef struct hd_optim_options {
    hd_optimizer kind;
    double lr, weight_decay, grad_scale;
    double beta1, beta2;        /* of Adam, AdamW and Lion */
    double eps;                 /* of Adam, AdamW and RMSprop */
    double alpha;               /* of RMSprop */
    double momentum, dampening; /* of SGD; momentum of RMSprop too */
    bool nesterov;
} hd_optim_options;
/* A parameter, its gradient, what the optimiser keeps of it, and which step of its own this is, from 1.
 * m: the mean gradient of Adam and Lion; the buffer of SGD and RMSprop, NULL without momentum. v: the mean of
 * squares of Adam and RMSprop, else NULL. a: the mean gradient of RMSprop that is centred, else NULL. */
typedef struct hd_optim_slot {
    hd_tensor *w, *g, *m, *v, *a;
    int64_t step;
    const hd_optim_options *o;
} hd_optim_slot;
hd_status hd_optim_step(hd_ctx *cx, int64_t count, const hd_optim_slot *slots);
/* averages[i] = decay averages[i] + (1 - decay) tensors[i] */
hd_status hd_average_all(hd_ctx *cx, int64_t count, hd_tensor *const *averages, hd_tensor *const *tensors,
                         double decay);
/* The contents of a[i] and b[i] change places. */
hd_status hd_swap_all(hd_ctx *cx, int64_t count, hd_tensor *const *a, hd_tensor *const *b);
/* sqrt of the sum of squares of all elements of all tensors (f64 accumulation). */
hd_status hd_total_norm(hd_ctx *cx, int64_t count, hd_tensor *const *tensors, double *norm);
hd_status hd_scale_all(hd_ctx *cx, int64_t count, hd_tensor *const *tensors, double factor);

#endif
