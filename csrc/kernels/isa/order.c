/* order.c: keys for sorting: unsigned integers in the order of the elements, NaN above all, -0 as 0.
 *
 * Floats of one sign are ordered as their bits are, negative ones backwards. So a positive float gets
 * its sign bit set, and of a negative one all bits are inverted. Integers have their sign bit inverted.
 * For a descending order the whole key is inverted.
 */
#include "kernels/isa/parts.h"

static inline uint32_t key_of_f32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = x == 0 ? 0 : bits;
    uint32_t key = bits ^ ((uint32_t)((int32_t)bits >> 31) | 0x80000000u);
    return x != x ? UINT32_MAX : key;
}
static inline uint64_t key_of_f64(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = x == 0 ? 0 : bits;
    uint64_t key = bits ^ ((uint64_t)((int64_t)bits >> 63) | UINT64_C(1) << 63);
    return x != x ? UINT64_MAX : key;
}
static inline uint64_t key_of_i64(int64_t x) {
    return (uint64_t)x ^ UINT64_C(1) << 63;
}
static inline uint32_t key_of_i32(int32_t x) {
    return (uint32_t)x ^ 0x80000000u;
}
static inline uint32_t key_of_u8(uint8_t x) {
    return x;
}
static inline uint32_t key_of_bool(uint8_t x) {
    return x != 0;
}

#define KEYS(name, T, K)                                                                                     \
    static void keys_##name(int64_t n, const void *px, bool descending, void *pkeys) {                       \
        const T *x = px;                                                                                     \
        K *keys = pkeys, turn = descending ? (K)-1 : 0;                                                      \
        HD_INDEPENDENT for (int64_t i = 0; i < n; i++) keys[i] = key_of_##name(x[i]) ^ turn;                 \
    }
KEYS(f32, float, uint32_t)
KEYS(f64, double, uint64_t)
KEYS(i64, int64_t, uint64_t)
KEYS(i32, int32_t, uint32_t)
KEYS(u8, uint8_t, uint32_t)
KEYS(bool, uint8_t, uint32_t)

void HD_ISA(hd_fill_order)(hd_kernels *k) {
    k->order_keys[HD_F32] = keys_f32;
    k->order_keys[HD_F64] = keys_f64;
    k->order_keys[HD_I64] = keys_i64;
    k->order_keys[HD_I32] = keys_i32;
    k->order_keys[HD_U8] = keys_u8;
    k->order_keys[HD_BOOL] = keys_bool;
}
