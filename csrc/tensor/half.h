/* half.h: converts single elements of f16 and bf16, which are stored as their 16 bits. From f32 they are
 * rounded to the nearest, ties to even; numbers that are too large become infinity, NaN stays NaN.
 */
#ifndef HD_HALF_H
#define HD_HALF_H

#include <stdint.h>
#include <string.h>

#include "tensor/dtype.h"

static inline uint32_t hd_bits_of(float x) {
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}
static inline float hd_float_of(uint32_t u) {
    float x;
    memcpy(&x, &u, 4);
    return x;
}

static inline float hd_from_bf16(uint16_t h) {
    return hd_float_of((uint32_t)h << 16);
}
/* The upper 16 bits, after adding half of the last one: a little less if that bit is 0, so that ties go
 * to even. */
static inline uint16_t hd_to_bf16(float x) {
    uint32_t u = hd_bits_of(x);
    if (x != x) return (uint16_t)(u >> 16 | 0x40); /* stays NaN */
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static inline float hd_from_f16(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
    if (rest >= 0x7c00) return hd_float_of(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    /* read as an f32 that is 2^-112 of it (the difference of the biases), then scaled; denormals too */
    return hd_float_of(hd_bits_of(hd_float_of(rest << 13) * 0x1p112f) | sign);
}
/* Normal numbers: the bias falls by 112 (0x38000000), and the 13 bits that go are rounded as in
 * hd_to_bf16. */
static inline uint16_t hd_to_f16(float x) {
    uint32_t u = hd_bits_of(x), sign = u >> 16 & 0x8000, rest = u & 0x7fffffff;
    if (rest > 0x7f800000) return (uint16_t)(sign | 0x7e00);
    if (rest >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 and more round to infinity */
    if (rest < 0x38800000) { /* denormal: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits */
        return (uint16_t)(sign | (hd_bits_of(hd_float_of(rest) + 0.5f) - 0x3f000000));
    }
    return (uint16_t)(sign | (rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13);
}

/* The same by dtype, one of the two. */
static inline uint16_t hd_to_half(hd_dtype t, float x) {
    return t == HD_F16 ? hd_to_f16(x) : hd_to_bf16(x);
}
static inline float hd_from_half(hd_dtype t, uint16_t h) {
    return t == HD_F16 ? hd_from_f16(h) : hd_from_bf16(h);
}

/* x as f32, but what does not fit leaves the last bit odd (Boldo & Melquiond 2008): rounding that once more
 * is rounding x once. */
static inline float hd_odd_from_f64(double x) {
    float f = (float)x;
    uint32_t u = hd_bits_of(f), inexact = (double)f != x && x == x;
    uint32_t beyond = (double)(f < 0 ? -f : f) > (x < 0 ? -x : x);
    return hd_float_of((u - (inexact & beyond)) | inexact);
}
/* Below 2^53 f64 is exact; beyond, the low bits become one that says whether there were any. */
static inline double hd_odd_from_i64(int64_t x) {
    uint64_t size = x < 0 ? -(uint64_t)x : (uint64_t)x;
    uint64_t kept = size >> 53 ? (size & ~(uint64_t)0x7ff) | (uint64_t)((size & 0x7ff) != 0) << 11 : size;
    return x < 0 ? -(double)kept : (double)kept;
}

#endif
