/* rows.h: a tensor seen as rows of its last dimension, which is how the row kernels want it, and the checks
 * that the operations on rows share.
 */
#ifndef HD_ROWS_H
#define HD_ROWS_H

#include "ops/ops.h"

typedef struct hd_rows {
    char *data;
    int64_t count, width; /* rows and elements of a row, which are contiguous */
    int64_t stride;       /* elements from one row to the next */
    size_t size;          /* bytes of an element */
} hd_rows;

static inline void *hd_row(const hd_rows *rows, int64_t i) {
    return rows->data + (size_t)(i * rows->stride) * rows->size;
}

/* x, detached, under a header that folds into rows: an alias when its strides allow it, otherwise a
 * contiguous copy. */
hd_tensor *hd_as_rows(hd_ctx *cx, hd_tensor *x, hd_rows *rows);
/* The same with dimension dim last; a result comes back by hd_rows_put_back, which consumes it. */
hd_tensor *hd_rows_along(hd_ctx *cx, hd_tensor *x, int dim, hd_rows *rows);
hd_tensor *hd_rows_put_back(hd_ctx *cx, hd_tensor *y, int dim);
/* The rows of a contiguous tensor. */
hd_rows hd_rows_of(const hd_tensor *t);
/* x, detached and contiguous: an alias or a copy. */
hd_tensor *hd_contiguous_detached(hd_ctx *cx, hd_tensor *x);

/* Rows a task: enough work to be worth one, by the width alone. */
int64_t hd_rows_grain(int64_t width);

hd_status hd_require_float(hd_ctx *cx, const char *argument, const hd_tensor *t);
hd_status hd_require_dtype(hd_ctx *cx, const char *argument, const hd_tensor *t, hd_dtype dtype);
/* Data beside a parameter (`owner` names it): of two dtypes that compute, it is the data to convert. */
hd_status hd_require_dtype_of(hd_ctx *cx, const char *argument, const hd_tensor *t, const char *owner,
                              const hd_tensor *w);
hd_status hd_require_shape(hd_ctx *cx, const char *argument, const hd_tensor *t, int ndim,
                           const int64_t *shape);
hd_status hd_require_probability(hd_ctx *cx, const char *argument, double p);
/* Tokens and classes: i64, each in 1..n or equal to *ignored (NULL: nothing is let through). */
hd_status hd_require_classes(hd_ctx *cx, const char *argument, const hd_tensor *t, int64_t n,
                             const int64_t *ignored);

#endif
