/* einsum_equation.h: the text of an einsum, "bld,bsd->bls", as labels of dimensions. */
#ifndef HD_EINSUM_EQUATION_H
#define HD_EINSUM_EQUATION_H

#include "tensor/tensor.h"

/* Labels: 'A'..'Z' are 0..25, 'a'..'z' 26..51, as they are sorted; behind them the dimensions of "...", the
 * last of which is the last label: so they meet from the right, as broadcasting does. */
enum { HD_EINSUM_LETTERS = 52, HD_EINSUM_LABELS = HD_EINSUM_LETTERS + HD_MAX_DIMS };
typedef uint64_t hd_label_set;

static inline hd_label_set hd_label_bit(int label) {
    return UINT64_C(1) << label;
}

/* What an operand's dimensions are called. */
typedef struct hd_einsum_term {
    int count;
    int labels[HD_MAX_DIMS]; /* letters; "..." is not among them */
    int dots_at;             /* before which letter "..." stands; -1: nowhere */
} hd_einsum_term;

typedef struct hd_einsum_output {
    int count;
    int labels[HD_MAX_DIMS];
} hd_einsum_output;

/* Reads the equation into terms, one for each of the `count` tensors, and the output. HD_EARG: the message
 * shows where it is wrong. */
hd_status hd_einsum_read(hd_ctx *cx, const char *equation, int count, hd_tensor *const *tensors,
                         hd_einsum_term *terms, hd_einsum_output *output);

char hd_einsum_letter(int label);
/* Fails: that many are not possible. */
hd_status hd_einsum_too_many_dims(hd_ctx *cx, int ndim);

#endif
