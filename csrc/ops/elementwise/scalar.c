/* scalar.c: Lua numbers beside tensors. They are weak: only their kind (integer, float) can raise a dtype. */
#include <math.h>
#include <string.h>

#include "ops/elementwise/scalar.h"
#include "tensor/half.h"

hd_status hd_check_computes(hd_ctx *cx, const hd_tensor *t) {
    if (hd_dtype_computes((hd_dtype)t->dtype)) return HD_OK;
    return hd_fail(cx, HD_EARG, "dtype: %s is for storing, not for computing; convert it: t:to \"%s\"%s",
                   hd_dtype_name((hd_dtype)t->dtype), hd_dtype_is_half((hd_dtype)t->dtype) ? "f32" : "i64",
                   hd_dtype_is_half((hd_dtype)t->dtype) ? "" : " or t:to \"f32\"");
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
        float v = s.is_integer ? (float)s.i : (float)f;
        if (isinf(v) && !isinf(f)) return cannot_hold(cx, argument, s, dtype);
        memcpy(out, &v, sizeof v);
        return HD_OK;
    }
    case HD_F16:
    case HD_BF16: {
        uint16_t h = hd_to_half(dtype, hd_odd_from_f64(s.is_integer ? hd_odd_from_i64(s.i) : f));
        if (isinf(hd_from_half(dtype, h)) && !isinf(f)) return cannot_hold(cx, argument, s, dtype);
        memcpy(out, &h, sizeof h);
        return HD_OK;
    }
    default: break;
    }
    if (!as_integer(s, &i) || !hd_dtype_holds(dtype, i)) return cannot_hold(cx, argument, s, dtype);
    switch (hd_dtype_size(dtype)) { /* low bits are the same, signed or not */
    case 1: *(uint8_t *)out = (uint8_t)i; return HD_OK;
    case 2: memcpy(out, &(uint16_t){(uint16_t)i}, sizeof(uint16_t)); return HD_OK;
    case 4: memcpy(out, &(uint32_t){(uint32_t)i}, sizeof(uint32_t)); return HD_OK;
    default: memcpy(out, &i, sizeof i); return HD_OK;
    }
}
