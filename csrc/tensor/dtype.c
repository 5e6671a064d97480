#include "tensor/dtype.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[HD_DTYPE_COUNT] = {
    [HD_BOOL] = {"bool", 1}, [HD_U8] = {"u8", 1},     [HD_I8] = {"i8", 1},   [HD_I16] = {"i16", 2},
    [HD_U16] = {"u16", 2},   [HD_I32] = {"i32", 4},   [HD_U32] = {"u32", 4}, [HD_I64] = {"i64", 8},
    [HD_F16] = {"f16", 2},   [HD_BF16] = {"bf16", 2}, [HD_F32] = {"f32", 4}, [HD_F64] = {"f64", 8},
};

size_t hd_dtype_size(hd_dtype t) {
    return dtypes[t].size;
}

const char *hd_dtype_name(hd_dtype t) {
    return dtypes[t].name;
}

bool hd_dtype_parse(const char *name, hd_dtype *t) {
    for (int i = 0; i < HD_DTYPE_COUNT; i++) {
        if (strcmp(name, dtypes[i].name) != 0) continue;
        *t = (hd_dtype)i;
        return true;
    }
    return false;
}

bool hd_dtype_holds(hd_dtype t, int64_t value) {
    switch (t) {
    case HD_BOOL: return value == 0 || value == 1;
    case HD_U8: return value >= 0 && value <= UINT8_MAX;
    case HD_I8: return value >= INT8_MIN && value <= INT8_MAX;
    case HD_I16: return value >= INT16_MIN && value <= INT16_MAX;
    case HD_U16: return value >= 0 && value <= UINT16_MAX;
    case HD_I32: return value >= INT32_MIN && value <= INT32_MAX;
    case HD_U32: return value >= 0 && value <= UINT32_MAX;
    default: return true;
    }
}

static bool is_unsigned(hd_dtype t) {
    return t == HD_U8 || t == HD_U16 || t == HD_U32;
}

/* The narrowest signed integer that holds those of s, which is signed, and of u, which is not. */
static hd_dtype signed_of_both(hd_dtype s, hd_dtype u) {
    static const hd_dtype wider[] = {[HD_U8] = HD_I16, [HD_U16] = HD_I32, [HD_U32] = HD_I64};
    return s > wider[u] ? s : wider[u];
}

hd_dtype hd_dtype_promote(hd_dtype a, hd_dtype b) {
    /* Neither half type holds the other. */
    if (a != b && hd_dtype_is_half(a) && hd_dtype_is_half(b)) return HD_F32;
    if (hd_dtype_is_integer(a) && hd_dtype_is_integer(b) && is_unsigned(a) != is_unsigned(b))
        return is_unsigned(a) ? signed_of_both(b, a) : signed_of_both(a, b);
    return a > b ? a : b; /* the rest is a chain, in the enum's order */
}
