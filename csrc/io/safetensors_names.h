/* safetensors_names.h: the format's names of dtypes, and the limits that the reader and the writer share. */
#ifndef HD_SAFETENSORS_NAMES_H
#define HD_SAFETENSORS_NAMES_H

#include "tensor/dtype.h"

/* The header of a model with 10^5 tensors has about 10 MB. */
#define HD_SAFETENSORS_MAX_HEADER (64 << 20)

static const struct {
    const char *name;
    hd_dtype dtype;
} hd_safetensors_dtypes[] = {
    {"F32", HD_F32},   {"F64", HD_F64}, {"I64", HD_I64}, {"I32", HD_I32}, {"U8", HD_U8},   {"BOOL", HD_BOOL},
    {"BF16", HD_BF16}, {"F16", HD_F16}, {"I16", HD_I16}, {"I8", HD_I8},   {"U32", HD_U32}, {"U16", HD_U16},
};

#define HD_SAFETENSORS_DTYPES (sizeof hd_safetensors_dtypes / sizeof hd_safetensors_dtypes[0])

#endif
