/* lines.h: a tensor along one of its dimensions. */
#ifndef HD_LINES_H
#define HD_LINES_H

#include "tensor/tensor.h"

/* x seen as [outer][size][inner] around a dimension. */
typedef struct hd_lines {
    int64_t outer, size, inner;
} hd_lines;
static inline hd_lines hd_lines_of(const hd_tensor *x, int dim) {
    hd_lines l = {1, x->ndim ? x->shape[dim] : 1, 1};
    for (int d = 0; d < dim; d++) l.outer *= x->shape[d];
    for (int d = dim + 1; d < x->ndim; d++) l.inner *= x->shape[d];
    return l;
}

#endif
