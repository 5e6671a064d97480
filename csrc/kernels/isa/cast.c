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
/* The others between their ends. */
static inline int8_t to_i8(double x) {
    return (int8_t)(x >= INT8_MAX ? INT8_MAX : x >= INT8_MIN ? (int32_t)x : x == x ? INT8_MIN : 0);
}
static inline int16_t to_i16(double x) {
    return (int16_t)(x >= INT16_MAX ? INT16_MAX : x >= INT16_MIN ? (int32_t)x : x == x ? INT16_MIN : 0);
}
static inline uint16_t to_u16(double x) {
    return (uint16_t)(x >= UINT16_MAX ? UINT16_MAX : x > 0 ? (int32_t)x : 0);
}
static inline uint32_t to_u32(double x) {
    return x >= UINT32_MAX ? UINT32_MAX : x > 0 ? (uint32_t)(int64_t)x : 0;
}
#define SAME(x) (x)

/* f32_to_i64 and its like: every dtype to every dtype. From type T: read gives the value as an integer or
 * float, single makes of it an f32 that rounds to 16 bits as it would itself. Between 16 bits of float and
 * integers that are only stored, and from f64 to these, MAP is PLAIN_MAP: what is rare takes little code. */
#define TO_FLOATS(from, T, read)                                                                             \
    SCALAR_MAP(from##_to_bool, T, uint8_t, read(x) != 0)                                                     \
    SCALAR_MAP(from##_to_f32, T, float, (float)read(x))                                                      \
    SCALAR_MAP(from##_to_f64, T, double, (double)read(x))                                                    \
    static void fill_floats_##from(hd_unary_fn *to) {                                                        \
        to[HD_BOOL] = from##_to_bool;                                                                        \
        to[HD_F32] = from##_to_f32;                                                                          \
        to[HD_F64] = from##_to_f64;                                                                          \
    }
#define TO_HALVES(MAP, from, T, read, single)                                                                \
    MAP(from##_to_f16, T, uint16_t, hd_to_f16(single(read(x))))                                              \
    MAP(from##_to_bf16, T, uint16_t, hd_to_bf16(single(read(x))))                                            \
    static void fill_halves_##from(hd_unary_fn *to) {                                                        \
        to[HD_F16] = from##_to_f16;                                                                          \
        to[HD_BF16] = from##_to_bf16;                                                                        \
    }

/* Integers keep their low bits, which are the same whether the result has a sign or not: i64_to_8 and its
 * like, where 8, 16, 32 and 64 are bits of both. */
#define TO_INTEGERS(from, T, read)                                                                           \
    SCALAR_MAP(from##_to_8, T, uint8_t, (uint8_t)read(x))                                                    \
    SCALAR_MAP(from##_to_16, T, uint16_t, (uint16_t)read(x))                                                 \
    SCALAR_MAP(from##_to_32, T, uint32_t, (uint32_t)read(x))                                                 \
    SCALAR_MAP(from##_to_64, T, uint64_t, (uint64_t)read(x))                                                 \
    static void fill_##from(hd_unary_fn *to) {                                                               \
        fill_floats_##from(to);                                                                              \
        fill_halves_##from(to);                                                                              \
        to[HD_I8] = to[HD_U8] = from##_to_8;                                                                 \
        to[HD_I16] = to[HD_U16] = from##_to_16;                                                              \
        to[HD_I32] = to[HD_U32] = from##_to_32;                                                              \
        to[HD_I64] = from##_to_64;                                                                           \
    }

#define FLOATS_TO_INTEGERS(MAP, from, T, read)                                                               \
    SCALAR_MAP(from##_to_u8, T, uint8_t, to_u8(read(x)))                                                     \
    MAP(from##_to_i8, T, int8_t, to_i8(read(x)))                                                             \
    MAP(from##_to_i16, T, int16_t, to_i16(read(x)))                                                          \
    MAP(from##_to_u16, T, uint16_t, to_u16(read(x)))                                                         \
    SCALAR_MAP(from##_to_i32, T, int32_t, to_i32(read(x)))                                                   \
    MAP(from##_to_u32, T, uint32_t, to_u32(read(x)))                                                         \
    SCALAR_MAP(from##_to_i64, T, int64_t, to_i64(read(x)))                                                   \
    static void fill_##from(hd_unary_fn *to) {                                                               \
        fill_floats_##from(to);                                                                              \
        fill_halves_##from(to);                                                                              \
        to[HD_U8] = from##_to_u8;                                                                            \
        to[HD_I8] = from##_to_i8;                                                                            \
        to[HD_I16] = from##_to_i16;                                                                          \
        to[HD_U16] = from##_to_u16;                                                                          \
        to[HD_I32] = from##_to_i32;                                                                          \
        to[HD_U32] = from##_to_u32;                                                                          \
        to[HD_I64] = from##_to_i64;                                                                          \
    }

#define TRUTH(x) ((x) != 0)
#define ODD_I64(x) hd_odd_from_f64(hd_odd_from_i64(x))

TO_FLOATS(bool, uint8_t, TRUTH)
TO_FLOATS(u8, uint8_t, SAME)
TO_FLOATS(i8, int8_t, SAME)
TO_FLOATS(i16, int16_t, SAME)
TO_FLOATS(u16, uint16_t, SAME)
TO_FLOATS(i32, int32_t, SAME)
TO_FLOATS(u32, uint32_t, SAME)
TO_FLOATS(i64, int64_t, SAME)
TO_FLOATS(f16, uint16_t, hd_from_f16)
TO_FLOATS(bf16, uint16_t, hd_from_bf16)
TO_FLOATS(f32, float, SAME)
TO_FLOATS(f64, double, SAME)

TO_HALVES(SCALAR_MAP, bool, uint8_t, TRUTH, SAME)
TO_HALVES(SCALAR_MAP, u8, uint8_t, SAME, SAME)
TO_HALVES(PLAIN_MAP, i8, int8_t, SAME, SAME)
TO_HALVES(PLAIN_MAP, i16, int16_t, SAME, SAME)
TO_HALVES(PLAIN_MAP, u16, uint16_t, SAME, SAME)
TO_HALVES(SCALAR_MAP, i32, int32_t, SAME, hd_odd_from_f64)
TO_HALVES(PLAIN_MAP, u32, uint32_t, SAME, hd_odd_from_f64)
TO_HALVES(SCALAR_MAP, i64, int64_t, SAME, ODD_I64)
TO_HALVES(SCALAR_MAP, f16, uint16_t, hd_from_f16, SAME)
TO_HALVES(SCALAR_MAP, bf16, uint16_t, hd_from_bf16, SAME)
TO_HALVES(SCALAR_MAP, f32, float, SAME, SAME)
TO_HALVES(SCALAR_MAP, f64, double, SAME, hd_odd_from_f64)

TO_INTEGERS(bool, uint8_t, TRUTH)
TO_INTEGERS(u8, uint8_t, SAME)
TO_INTEGERS(i8, int8_t, SAME)
TO_INTEGERS(i16, int16_t, SAME)
TO_INTEGERS(u16, uint16_t, SAME)
TO_INTEGERS(i32, int32_t, SAME)
TO_INTEGERS(u32, uint32_t, SAME)
TO_INTEGERS(i64, int64_t, SAME)
FLOATS_TO_INTEGERS(PLAIN_MAP, f16, uint16_t, hd_from_f16)
FLOATS_TO_INTEGERS(PLAIN_MAP, bf16, uint16_t, hd_from_bf16)
FLOATS_TO_INTEGERS(SCALAR_MAP, f32, float, SAME)
FLOATS_TO_INTEGERS(PLAIN_MAP, f64, double, SAME)

/* The same 16 bits, whatever they mean. */
SCALAR_MAP(copy_16, uint16_t, uint16_t, x)

void HD_ISA(hd_fill_cast)(hd_kernels *k) {
    fill_bool(k->cast[HD_BOOL]);
    fill_u8(k->cast[HD_U8]);
    fill_i8(k->cast[HD_I8]);
    fill_i16(k->cast[HD_I16]);
    fill_u16(k->cast[HD_U16]);
    fill_i32(k->cast[HD_I32]);
    fill_u32(k->cast[HD_U32]);
    fill_i64(k->cast[HD_I64]);
    fill_f16(k->cast[HD_F16]);
    fill_bf16(k->cast[HD_BF16]);
    fill_f32(k->cast[HD_F32]);
    fill_f64(k->cast[HD_F64]);
    k->cast[HD_F16][HD_F16] = k->cast[HD_BF16][HD_BF16] = copy_16;
}
