#include "tensor/dtype.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[HD_DTYPE_COUNT] = {
    [HD_BOOL] = {"bool", 1}, [HD_U8] = {"u8", 1},     [HD_I32] = {"i32", 4}, [HD_I64] = {"i64", 8},
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

hd_dtype hd_dtype_promote(hd_dtype a, hd_dtype b) {
    /* Neither half type holds the other; otherwise the lattice is a chain, in the enum's order. */
    if (a != b && hd_dtype_is_half(a) && hd_dtype_is_half(b)) return HD_F32;
    return a > b ? a : b;
}
