/* cast.c: from every dtype to every dtype.
 * To bool: is it not 0 (NaN is not). Floats to integers: towards 0, saturated, NaN gives 0. Integers to
 * narrower ones wrap. Floats to narrower ones: to the nearest, half to even.
 */
#include "kernels/isa/map.h"
#include "kernels/isa/parts.h"
#include "tensor/half.h"

static inline int64_t to_i64(double x) {
    return x >= 0x1p63 ? INT64_MAX : x >= -0x1p63 ? (int64_t)x : x == x ? INT64_MIN : 0;
}
static inline int32_t to_i32(double x) {
    return x >= 0x1p31 ? INT32_MAX : x >= -0x1p31 ? (int32_t)x : x == x ? INT32_MIN : 0;
}
static inline uint8_t to_u8(double x) {
    return x >= 255 ? 255 : x > 0 ? (uint8_t)x : 0;
}
#define SAME(x) (x)

/* From type T: read gives the value as an integer or float, single makes of it an f32 that rounds to 16 bits as
 * it would itself, the others say how it becomes an integer. */
/* f32_to_i64 and its like: every dtype to every dtype. */
#define CASTS(from, T, read, single, int_u8, int_i32, int_i64)                                               \
    SCALAR_MAP(from##_to_bool, T, uint8_t, read(x) != 0)                                                     \
    SCALAR_MAP(from##_to_u8, T, uint8_t, int_u8(read(x)))                                                    \
    SCALAR_MAP(from##_to_i32, T, int32_t, int_i32(read(x)))                                                  \
    SCALAR_MAP(from##_to_i64, T, int64_t, int_i64(read(x)))                                                  \
    SCALAR_MAP(from##_to_f16, T, uint16_t, hd_to_f16(single(read(x))))                                       \
    SCALAR_MAP(from##_to_bf16, T, uint16_t, hd_to_bf16(single(read(x))))                                     \
    SCALAR_MAP(from##_to_f32, T, float, (float)read(x))                                                      \
    SCALAR_MAP(from##_to_f64, T, double, (double)read(x))                                                    \
    static void fill_##from(hd_unary_fn *to) {                                                               \
        to[HD_BOOL] = from##_to_bool;                                                                        \
        to[HD_U8] = from##_to_u8;                                                                            \
        to[HD_I32] = from##_to_i32;                                                                          \
        to[HD_I64] = from##_to_i64;                                                                          \
        to[HD_F16] = from##_to_f16;                                                                          \
        to[HD_BF16] = from##_to_bf16;                                                                        \
        to[HD_F32] = from##_to_f32;                                                                          \
        to[HD_F64] = from##_to_f64;                                                                          \
    }

#define TRUTH(x) ((x) != 0)
#define ODD_I64(x) hd_odd_from_f64(hd_odd_from_i64(x))
#define WRAP_U8(x) ((uint8_t)(x))
#define WRAP_I32(x) ((int32_t)(uint32_t)(uint64_t)(x))

CASTS(bool, uint8_t, TRUTH, SAME, SAME, SAME, SAME)
CASTS(u8, uint8_t, SAME, SAME, SAME, SAME, SAME)
CASTS(i32, int32_t, SAME, hd_odd_from_f64, WRAP_U8, SAME, SAME)
CASTS(i64, int64_t, SAME, ODD_I64, WRAP_U8, WRAP_I32, SAME)
CASTS(f16, uint16_t, hd_from_f16, SAME, to_u8, to_i32, to_i64)
CASTS(bf16, uint16_t, hd_from_bf16, SAME, to_u8, to_i32, to_i64)
CASTS(f32, float, SAME, SAME, to_u8, to_i32, to_i64)
CASTS(f64, double, SAME, hd_odd_from_f64, to_u8, to_i32, to_i64)

/* The same 16 bits, whatever they mean. */
SCALAR_MAP(copy_16, uint16_t, uint16_t, x)

void HD_ISA(hd_fill_cast)(hd_kernels *k) {
    fill_bool(k->cast[HD_BOOL]);
    fill_u8(k->cast[HD_U8]);
    fill_i32(k->cast[HD_I32]);
    fill_i64(k->cast[HD_I64]);
    fill_f16(k->cast[HD_F16]);
    fill_bf16(k->cast[HD_BF16]);
    fill_f32(k->cast[HD_F32]);
    fill_f64(k->cast[HD_F64]);
    k->cast[HD_F16][HD_F16] = k->cast[HD_BF16][HD_BF16] = copy_16;
}
