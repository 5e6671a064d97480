/* assign.h: what assign.c and assign_index.c share. */
#ifndef HD_ASSIGN_H
#define HD_ASSIGN_H

#include "ops/ops.h"

/* The value as it is written: without leading dimensions of size 1 beyond `ndim`. A header for reading alone. */
hd_tensor hd_without_leading_ones(const hd_tensor *v, int ndim);
/* v as contiguous memory of its own: `shape`, of dtype. A new reference. */
hd_tensor *hd_value_rows(hd_ctx *cx, const hd_tensor *v, hd_dtype dtype, int ndim, const int64_t *shape);

/* A node for x's new place in the graph when one is wanted; *node stays NULL otherwise. */
hd_status hd_assign_node(hd_ctx *cx, const hd_node_class *class, hd_tensor *x, hd_tensor *v, hd_node **node);
/* After the write. Consumes the node. */
hd_status hd_assign_finish(hd_tensor *x, hd_node *node, hd_status status);

/* Where a part of x lies in a contiguous tensor of x's shape. */
typedef struct hd_region {
    int ndim;
    int64_t shape[HD_MAX_DIMS], stride[HD_MAX_DIMS], offset;
} hd_region;
void hd_locate(const hd_tensor *x, const hd_tensor *place, hd_region *r);
hd_tensor *hd_region_of(hd_ctx *cx, const hd_tensor *t, const hd_region *r);

#endif
