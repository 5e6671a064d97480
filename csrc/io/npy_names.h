/* npy_names.h: what the reader and the writer share: how a file begins, and the names of dtypes, without the
 * letter of the byte order. */
#ifndef HD_NPY_NAMES_H
#define HD_NPY_NAMES_H

#include "tensor/dtype.h"

#define HD_NPY_MAGIC "\x93NUMPY"
#define HD_NPY_MAGIC_SIZE 6

static const struct {
    const char *name;
    hd_dtype dtype;
} hd_npy_dtypes[] = {
    {"f4", HD_F32}, {"f8", HD_F64}, {"f2", HD_F16}, {"i8", HD_I64}, {"i4", HD_I32},  {"i2", HD_I16},
    {"i1", HD_I8},  {"u4", HD_U32}, {"u2", HD_U16}, {"u1", HD_U8},  {"b1", HD_BOOL},
};

#define HD_NPY_DTYPES (sizeof hd_npy_dtypes / sizeof hd_npy_dtypes[0])

#endif
