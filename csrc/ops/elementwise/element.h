/* element.h: one element of a contiguous f32 or f64 array as a double. */
#ifndef HD_ELEMENT_H
#define HD_ELEMENT_H

#include "tensor/dtype.h"

static inline double hd_load(const void *p, hd_dtype dtype, int64_t i) {
    return dtype == HD_F32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

static inline void hd_store(void *p, hd_dtype dtype, int64_t i, double v) {
    if (dtype == HD_F32)
        ((float *)p)[i] = (float)v;
    else
        ((double *)p)[i] = v;
}

#endif
