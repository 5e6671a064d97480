/* In the comments d and m are a block's scale and minimum, q an element as it is stored: y = d q, or y = d
 * q + m. Numbers of more than one byte are little-endian. */
#include "kernels/blocks.h"

#include <math.h>
#include <string.h>

#include "tensor/half.h"

enum { SMALL = 32, LARGE = 256 }; /* elements of a block */

static inline uint32_t u16_at(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static inline uint32_t u32_at(const uint8_t *p) {
    return u16_at(p) | u16_at(p + 2) << 16;
}

static inline float f16_at(const uint8_t *p) {
    return hd_from_f16((uint16_t)u16_at(p));
}

/* ---- a scale for 32 elements: byte k has element k in its low half, k + 16 in its high half ------ */

/* d f16, q 16 bytes; q - 8. */
static void dequantize_q4_0(const uint8_t *b, int64_t count, float *y) {
    for (; count > 0; count--, b += 18, y += SMALL) {
        const float d = f16_at(b);
        for (int k = 0; k < 16; k++) {
            y[k] = d * (float)((b[2 + k] & 15) - 8);
            y[k + 16] = d * (float)((b[2 + k] >> 4) - 8);
        }
    }
}

/* d, m f16, q 16 bytes. */
static void dequantize_q4_1(const uint8_t *b, int64_t count, float *y) {
    for (; count > 0; count--, b += 20, y += SMALL) {
        const float d = f16_at(b), m = f16_at(b + 2);
        for (int k = 0; k < 16; k++) {
            y[k] = d * (float)(b[4 + k] & 15) + m;
            y[k + 16] = d * (float)(b[4 + k] >> 4) + m;
        }
    }
}

/* The fifth bits: bit k of `high` belongs to element k. */
static inline int five_bits(uint32_t low, uint32_t high, int k) {
    return (int)(low | (high >> k & 1) << 4);
}

/* d f16, fifth bits 4 bytes, q 16 bytes; q - 16. */
static void dequantize_q5_0(const uint8_t *b, int64_t count, float *y) {
    for (; count > 0; count--, b += 22, y += SMALL) {
        const float d = f16_at(b);
        const uint32_t high = u32_at(b + 2);
        for (int k = 0; k < 16; k++) {
            y[k] = d * (float)(five_bits(b[6 + k] & 15, high, k) - 16);
            y[k + 16] = d * (float)(five_bits(b[6 + k] >> 4, high, k + 16) - 16);
        }
    }
}

/* d, m f16, fifth bits 4 bytes, q 16 bytes. */
static void dequantize_q5_1(const uint8_t *b, int64_t count, float *y) {
    for (; count > 0; count--, b += 24, y += SMALL) {
        const float d = f16_at(b), m = f16_at(b + 2);
        const uint32_t high = u32_at(b + 4);
        for (int k = 0; k < 16; k++) {
            y[k] = d * (float)five_bits(b[8 + k] & 15, high, k) + m;
            y[k + 16] = d * (float)five_bits(b[8 + k] >> 4, high, k + 16) + m;
        }
    }
}

/* d f16, q 32 signed bytes. */
static void dequantize_q8_0(const uint8_t *b, int64_t count, float *y) {
    for (; count > 0; count--, b += 34, y += SMALL) {
        const float d = f16_at(b);
        for (int k = 0; k < SMALL; k++) y[k] = (float)(int8_t)b[2 + k] * d;
    }
}

/* ---- 256 elements, with scales of parts of them -------------------------------------------------- */

/* For each 16 elements a scale in the low and a minimum in the high half of one of 16 bytes; q 64 bytes;
 * d, m f16. Of each 128 elements byte k has element k + 32 s in the bits from 2 s. */
static void dequantize_q2_k(const uint8_t *b, int64_t count, float *y) {
    for (; count > 0; count--, b += 84, y += LARGE) {
        const float d = f16_at(b + 80), m = f16_at(b + 82);
        for (int part = 0; part < 16; part++) {
            const float scale = d * (float)(b[part] & 15), least = m * (float)(b[part] >> 4);
            const uint8_t *q = b + 16 + part / 8 * 32 + part % 2 * 16;
            const int shift = part % 8 / 2 * 2;
            for (int k = 0; k < 16; k++) y[16 * part + k] = scale * (float)(q[k] >> shift & 3) - least;
        }
    }
}

/* Third bits 32 bytes, q 64 bytes as in Q2_K, scales of 16 elements in 12 bytes, d f16. Bit s of byte k
 * belongs to element k + 32 s and is 0 where 4 is subtracted. A scale's low half stands in the first 8
 * bytes, its other two bits in the last 4; 32 is subtracted. */
static void dequantize_q3_k(const uint8_t *b, int64_t count, float *y) {
    for (; count > 0; count--, b += 110, y += LARGE) {
        const uint8_t *scales = b + 96;
        const float d = f16_at(b + 108);
        for (int part = 0; part < 16; part++) {
            const int low = scales[part % 8] >> part / 8 * 4 & 15,
                      high = scales[8 + part % 4] >> part / 4 * 2 & 3;
            const float scale = d * (float)((low | high << 4) - 32);
            const uint8_t *q = b + 32 + part / 8 * 32 + part % 2 * 16, *third = b + part % 2 * 16;
            const int shift = part % 8 / 2 * 2, bit = part / 2;
            for (int k = 0; k < 16; k++)
                y[16 * part + k] = scale * (float)((q[k] >> shift & 3) - (~third[k] >> bit & 1) * 4);
        }
    }
}

/* Of Q4_K and Q5_K: the scale and the minimum, 6 bits each, of the part-th 32 elements. The first four of
 * both stand in the low bits of bytes 0-3 and 4-7; of the others the low halves in bytes 8-11, the other
 * two bits above the first four. */
static inline void six_bits(const uint8_t *packed, int part, int *scale, int *least) {
    const int i = part % 4;
    if (part < 4) {
        *scale = packed[i] & 63;
        *least = packed[4 + i] & 63;
    } else {
        *scale = (packed[8 + i] & 15) | (packed[i] >> 2 & 48);
        *least = packed[8 + i] >> 4 | (packed[4 + i] >> 2 & 48);
    }
}

/* d, m f16, scales 12 bytes, q 128 bytes: of each 64 elements byte k has k in its low, k + 32 in its high
 * half. */
static void dequantize_q4_k(const uint8_t *b, int64_t count, float *y) {
    for (; count > 0; count--, b += 144, y += LARGE) {
        const float d = f16_at(b), m = f16_at(b + 2);
        for (int part = 0; part < 8; part++) {
            int scale, least;
            six_bits(b + 4, part, &scale, &least);
            const float ds = d * (float)scale, ml = m * (float)least;
            const uint8_t *q = b + 16 + part / 2 * 32;
            const int shift = part % 2 * 4;
            for (int k = 0; k < 32; k++) y[32 * part + k] = ds * (float)(q[k] >> shift & 15) - ml;
        }
    }
}

/* The same with fifth bits in 32 bytes before q: bit s of byte k belongs to element k + 32 s. */
static void dequantize_q5_k(const uint8_t *b, int64_t count, float *y) {
    for (; count > 0; count--, b += 176, y += LARGE) {
        const float d = f16_at(b), m = f16_at(b + 2);
        for (int part = 0; part < 8; part++) {
            int scale, least;
            six_bits(b + 4, part, &scale, &least);
            const float ds = d * (float)scale, ml = m * (float)least;
            const uint8_t *fifth = b + 16, *q = b + 48 + part / 2 * 32;
            const int shift = part % 2 * 4;
            for (int k = 0; k < 32; k++)
                y[32 * part + k] = ds * (float)((q[k] >> shift & 15) | (fifth[k] >> part & 1) << 4) - ml;
        }
    }
}

/* q 128 bytes, fifth and sixth bits 64 bytes, scales of 16 elements 16 signed bytes, d f16; q - 32. Of
 * each 128 elements byte k of q has element k in its low, k + 64 in its high half; of the other bits byte
 * k has k + 32 s from bit 2 s. */
static void dequantize_q6_k(const uint8_t *b, int64_t count, float *y) {
    for (; count > 0; count--, b += 210, y += LARGE) {
        const float d = f16_at(b + 208);
        for (int part = 0; part < 16; part++) {
            const float scale = d * (float)(int8_t)b[192 + part];
            const uint8_t *low = b + part / 8 * 64 + part % 4 * 16;
            const uint8_t *high = b + 128 + part / 8 * 32 + part % 2 * 16;
            const int low_shift = part % 8 / 4 * 4, high_shift = part % 8 / 2 * 2;
            for (int k = 0; k < 16; k++)
                y[16 * part + k] =
                    scale * (float)(((low[k] >> low_shift & 15) | (high[k] >> high_shift & 3) << 4) - 32);
        }
    }
}

/* ---- -1, 0 and 1 --------------------------------------------------------------------------------- */

/* Each of `width` bytes has five elements (or four) as digits of base 3, the first in front: times 3^i,
 * cut to a byte, leaves the i-th in front. */
static float *ternary_digits(const uint8_t *q, int width, int digits, float d, float *y) {
    static const uint8_t power[] = {1, 3, 9, 27, 81};
    for (int i = 0; i < digits; i++)
        for (int k = 0; k < width; k++) {
            const uint8_t front = (uint8_t)(q[k] * power[i]);
            *y++ = d * (float)((front * 3 >> 8) - 1);
        }
    return y;
}

/* 32 bytes of five digits, 16 of five, 4 of four; d f16. */
static void dequantize_tq1_0(const uint8_t *b, int64_t count, float *y) {
    for (; count > 0; count--, b += 54) {
        const float d = f16_at(b + 52);
        y = ternary_digits(b, 32, 5, d, y);
        y = ternary_digits(b + 32, 16, 5, d, y);
        y = ternary_digits(b + 48, 4, 4, d, y);
    }
}

/* q 64 bytes as in Q2_K, d f16; q - 1. */
static void dequantize_tq2_0(const uint8_t *b, int64_t count, float *y) {
    for (; count > 0; count--, b += 66, y += LARGE) {
        const float d = f16_at(b + 64);
        for (int part = 0; part < 8; part++)
            for (int k = 0; k < 32; k++)
                y[32 * part + k] = d * (float)((b[part / 4 * 32 + k] >> part % 4 * 2 & 3) - 1);
    }
}

/* ---- by a table of 16 values ---------------------------------------------------------------------- */

static const int8_t nonlinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                     1,    13,   25,  38,  53,  69,  89,  113};

/* Twice what floats of 4 bits (a sign, 2 of the exponent, 1 of the fraction) are. */
static const int8_t four_bit_floats[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* y[k] by the low half of byte k, y[width + k] by its high half. */
static inline void look_up(const int8_t values[16], const uint8_t *q, int width, float d, float *y) {
    for (int k = 0; k < width; k++) {
        y[k] = d * (float)values[q[k] & 15];
        y[width + k] = d * (float)values[q[k] >> 4];
    }
}

/* d f16, q 16 bytes. */
static void dequantize_iq4_nl(const uint8_t *b, int64_t count, float *y) {
    for (; count > 0; count--, b += 18, y += SMALL) look_up(nonlinear, b + 2, 16, f16_at(b), y);
}

/* d f16, the high bits of eight scales 2 bytes, their low halves 4 bytes, q 128 bytes; 32 is subtracted
 * from scales. */
static void dequantize_iq4_xs(const uint8_t *b, int64_t count, float *y) {
    for (; count > 0; count--, b += 136, y += LARGE) {
        const float d = f16_at(b);
        const uint32_t high = u16_at(b + 2);
        for (int part = 0; part < 8; part++) {
            const int low = b[4 + part / 2] >> part % 2 * 4 & 15;
            const int scale = (low | (int)(high >> 2 * part & 3) << 4) - 32;
            look_up(nonlinear, b + 8 + 16 * part, 16, d * (float)scale, y + 32 * part);
        }
    }
}

/* Half of 2^(e - 127): the table's values are doubled. */
static inline float half_power(uint32_t e) {
    return hd_float_of(e < 2 ? UINT32_C(0x00200000) << e : (e - 1) << 23);
}

/* The exponent of a power of 2, q 16 bytes. */
static void dequantize_mxfp4(const uint8_t *b, int64_t count, float *y) {
    for (; count > 0; count--, b += 17, y += SMALL) look_up(four_bit_floats, b + 1, 16, half_power(b[0]), y);
}

/* Half of a float of 4 bits of exponent and 3 of fraction, whose sign is not read; its NaN is 0. */
static inline float half_scale(int bits) {
    const int exponent = bits >> 3 & 15, fraction = bits & 7;
    if (bits == 0x7f) return 0;
    if (exponent == 0) return (float)fraction * 0x1p-10f;
    return (float)(8 + fraction) * hd_float_of((uint32_t)(exponent + 127 - 11) << 23);
}

/* Scales of 16 elements, 4 bytes; q 32 bytes. */
static void dequantize_nvfp4(const uint8_t *b, int64_t count, float *y) {
    for (; count > 0; count--, b += 36, y += 64)
        for (int part = 0; part < 4; part++)
            look_up(four_bit_floats, b + 4 + 8 * part, 8, half_scale(b[part]), y + 16 * part);
}

/* ---- the other way --------------------------------------------------------------------------------- */

static inline void put_u16(uint8_t *to, uint32_t number) {
    to[0] = (uint8_t)number;
    to[1] = (uint8_t)(number >> 8);
}

/* False: x does not fit. */
static inline bool put_f16(uint8_t *to, float x) {
    put_u16(to, hd_to_f16(x));
    return (to[1] & 0x7c) != 0x7c;
}

static inline bool are_finite(const float *x, int count) {
    bool finite = true;
    for (int k = 0; k < count; k++) finite &= x[k] - x[k] == 0;
    return finite;
}

/* 1 / d; 0 where all elements come back as 0. */
static inline float inverse(float d) {
    const float r = 1 / d;
    return d == 0 || r - r != 0 ? 0 : r;
}

/* The first of those with the largest absolute value. */
static inline float widest(const float *x) {
    float best = x[0];
    for (int k = 1; k < SMALL; k++)
        if (fabsf(x[k]) > fabsf(best)) best = x[k];
    return best;
}

static inline void extremes(const float *x, float *least, float *most) {
    *least = *most = x[0];
    for (int k = 1; k < SMALL; k++) {
        *least = x[k] < *least ? x[k] : *least;
        *most = x[k] > *most ? x[k] : *most;
    }
}

/* q = (x - from) / d + above, cut to whole numbers up to `most`: q[k] of 32 elements. */
static inline void put_levels(const float *x, float from, float d, float above, int most, uint8_t *q) {
    const float by = inverse(d);
    for (int k = 0; k < SMALL; k++) {
        const int level = (int)((x[k] - from) * by + above);
        q[k] = (uint8_t)(level > most ? most : level);
    }
}

static inline void put_halves(const uint8_t *q, uint8_t *to) {
    for (int k = 0; k < 16; k++) to[k] = (uint8_t)((q[k] & 15) | q[k + 16] << 4);
}

static inline void put_fifth_bits(const uint8_t *q, uint8_t *to) {
    uint32_t bits = 0;
    for (int k = 0; k < SMALL; k++) bits |= (uint32_t)(q[k] >> 4) << k;
    put_u16(to, bits);
    put_u16(to + 2, bits >> 16);
}

/* d = the widest / -8, so that this one is exact. */
static bool quantize_q4_0(const float *x, int64_t count, uint8_t *b) {
    for (uint8_t q[SMALL]; count > 0; count--, b += 18, x += SMALL) {
        if (!are_finite(x, SMALL)) return false;
        const float d = widest(x) / -8;
        if (!put_f16(b, d)) return false;
        put_levels(x, 0, d, 8.5f, 15, q);
        put_halves(q, b + 2);
    }
    return true;
}

/* From the least to the largest in 15 steps. */
static bool quantize_q4_1(const float *x, int64_t count, uint8_t *b) {
    for (uint8_t q[SMALL]; count > 0; count--, b += 20, x += SMALL) {
        float least, most;
        if (!are_finite(x, SMALL)) return false;
        extremes(x, &least, &most);
        const float d = (most - least) / 15;
        if (!put_f16(b, d) || !put_f16(b + 2, least)) return false;
        put_levels(x, least, d, 0.5f, 15, q);
        put_halves(q, b + 4);
    }
    return true;
}

static bool quantize_q5_0(const float *x, int64_t count, uint8_t *b) {
    for (uint8_t q[SMALL]; count > 0; count--, b += 22, x += SMALL) {
        if (!are_finite(x, SMALL)) return false;
        const float d = widest(x) / -16;
        if (!put_f16(b, d)) return false;
        put_levels(x, 0, d, 16.5f, 31, q);
        put_fifth_bits(q, b + 2);
        put_halves(q, b + 6);
    }
    return true;
}

static bool quantize_q5_1(const float *x, int64_t count, uint8_t *b) {
    for (uint8_t q[SMALL]; count > 0; count--, b += 24, x += SMALL) {
        float least, most;
        if (!are_finite(x, SMALL)) return false;
        extremes(x, &least, &most);
        const float d = (most - least) / 31;
        if (!put_f16(b, d) || !put_f16(b + 2, least)) return false;
        put_levels(x, least, d, 0.5f, 31, q);
        put_fifth_bits(q, b + 4);
        put_halves(q, b + 8);
    }
    return true;
}

/* d = the largest absolute value / 127; to the nearest, ties away from 0. */
static bool quantize_q8_0(const float *x, int64_t count, uint8_t *b) {
    for (; count > 0; count--, b += 34, x += SMALL) {
        if (!are_finite(x, SMALL)) return false;
        const float d = fabsf(widest(x)) / 127, by = inverse(d);
        if (!put_f16(b, d)) return false;
        for (int k = 0; k < SMALL; k++) b[2 + k] = (uint8_t)(int8_t)roundf(x[k] * by);
    }
    return true;
}

/* ---- all of them ----------------------------------------------------------------------------------- */

static const hd_block_format formats[] = {
    {"Q4_0", SMALL, 18, dequantize_q4_0, quantize_q4_0}, {"Q4_1", SMALL, 20, dequantize_q4_1, quantize_q4_1},
    {"Q5_0", SMALL, 22, dequantize_q5_0, quantize_q5_0}, {"Q5_1", SMALL, 24, dequantize_q5_1, quantize_q5_1},
    {"Q8_0", SMALL, 34, dequantize_q8_0, quantize_q8_0}, {"Q2_K", LARGE, 84, dequantize_q2_k, NULL},
    {"Q3_K", LARGE, 110, dequantize_q3_k, NULL},         {"Q4_K", LARGE, 144, dequantize_q4_k, NULL},
    {"Q5_K", LARGE, 176, dequantize_q5_k, NULL},         {"Q6_K", LARGE, 210, dequantize_q6_k, NULL},
    {"IQ4_NL", SMALL, 18, dequantize_iq4_nl, NULL},      {"IQ4_XS", LARGE, 136, dequantize_iq4_xs, NULL},
    {"TQ1_0", LARGE, 54, dequantize_tq1_0, NULL},        {"TQ2_0", LARGE, 66, dequantize_tq2_0, NULL},
    {"MXFP4", SMALL, 17, dequantize_mxfp4, NULL},        {"NVFP4", 64, 36, dequantize_nvfp4, NULL},
};

const hd_block_format *hd_block_format_named(const char *name) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(formats[i].name, name)) return &formats[i];
    return NULL;
}
