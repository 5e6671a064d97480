/* dtype.h: element types. Within each kind (signed integers, unsigned ones, floats) the enum's order is
 * the order of promotion. */
#ifndef HD_DTYPE_H
#define HD_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum hd_dtype {
    HD_BOOL = 0,
    HD_U8,
    HD_I8,
    HD_I16,
    HD_U16,
    HD_I32,
    HD_U32,
    HD_I64,
    HD_F16,
    HD_BF16,
    HD_F32,
    HD_F64,
    HD_DTYPE_COUNT
} hd_dtype;

static inline bool hd_dtype_is_float(hd_dtype t) {
    return t >= HD_F16;
}
static inline bool hd_dtype_is_integer(hd_dtype t) {
    return t > HD_BOOL && t < HD_F16;
}
static inline bool hd_dtype_is_half(hd_dtype t) {
    return t == HD_F16 || t == HD_BF16;
}
static inline bool hd_dtype_is_stored_integer(hd_dtype t) {
    return t == HD_I8 || t == HD_I16 || t == HD_U16 || t == HD_U32;
}
/* False for f16, bf16 and some integers: they are stored, moved and converted (integers compared, too), but
 * arithmetic refuses them. */
static inline bool hd_dtype_computes(hd_dtype t) {
    return !hd_dtype_is_half(t) && !hd_dtype_is_stored_integer(t);
}

/* The dtype in which gradients of t are accumulated: sums need more bits than f16 and bf16 have. */
static inline hd_dtype hd_dtype_of_gradient(hd_dtype t) {
    return hd_dtype_is_half(t) ? HD_F32 : t;
}

size_t hd_dtype_size(hd_dtype t);
const char *hd_dtype_name(hd_dtype t);              /* "f32" */
bool hd_dtype_parse(const char *name, hd_dtype *t); /* false when there is no such dtype */
hd_dtype hd_dtype_promote(hd_dtype a, hd_dtype b);  /* of two tensors: PyTorch's, for u16 and u32 NumPy's */
/* Do integers of t, or bool, hold this number? */
bool hd_dtype_holds(hd_dtype t, int64_t value);

#endif
