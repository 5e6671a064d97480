/* scalar.c: Lua numbers beside tensors. They are weak: only their kind (integer, float) can raise a dtype. */
#include <math.h>
#include <string.h>

#include "ops/internal.h"

hd_status hd_check_computes(hd_ctx *cx, const hd_tensor *t) {
    if (hd_dtype_computes((hd_dtype)t->dtype)) return HD_OK;
    return hd_fail(cx, HD_EARG, "dtype: expected one of bool, i64, f32, f64, got %s",
                   hd_dtype_name((hd_dtype)t->dtype));
}

hd_dtype hd_scalar_promote(hd_dtype tensor, hd_scalar s) {
    if (hd_dtype_is_float(tensor)) return tensor;
    if (!s.is_integer) return HD_F32;
    return tensor == HD_BOOL ? HD_I64 : tensor;
}

static hd_status cannot_hold(hd_ctx *cx, const char *argument, hd_scalar s, hd_dtype dtype) {
    if (s.is_integer)
        return hd_fail(cx, HD_EARG, "%s: expected a number that %s can hold, got %lld", argument,
                       hd_dtype_name(dtype), (long long)s.i);
    return hd_fail(cx, HD_EARG, "%s: expected a number that %s can hold, got %.14g", argument,
                   hd_dtype_name(dtype), s.f);
}

/* The integer a float stands for exactly. */
static bool as_integer(hd_scalar s, int64_t *i) {
    if (s.is_integer) {
        *i = s.i;
        return true;
    }
    if (!(s.f >= -0x1p63 && s.f < 0x1p63) || s.f != floor(s.f)) return false;
    *i = (int64_t)s.f;
    return true;
}

hd_status hd_scalar_store(hd_ctx *cx, const char *argument, hd_scalar s, hd_dtype dtype, void *out) {
    double f = s.is_integer ? (double)s.i : s.f;
    int64_t i = 0;
    switch (dtype) {
    case HD_F64: memcpy(out, &f, sizeof f); return HD_OK;
    case HD_F32: {
        float v = (float)f;
        if (isinf(v) && !isinf(f)) return cannot_hold(cx, argument, s, dtype);
        memcpy(out, &v, sizeof v);
        return HD_OK;
    }
    case HD_I64:
        if (!as_integer(s, &i)) return cannot_hold(cx, argument, s, dtype);
        memcpy(out, &i, sizeof i);
        return HD_OK;
    case HD_BOOL:
        if (!as_integer(s, &i) || (i != 0 && i != 1)) return cannot_hold(cx, argument, s, dtype);
        *(uint8_t *)out = (uint8_t)i;
        return HD_OK;
    default:
        return hd_fail(cx, HD_EARG, "dtype: expected one of bool, i64, f32, f64, got %s",
                       hd_dtype_name(dtype));
    }
}
