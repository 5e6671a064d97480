/* random.c: uniform and normal numbers, dropout and what goes with it in one pass.
 *
 * f32: element i of a draw is made of word i (uniform, dropout); normal elements 2j and 2j+1 of words 2j and
 * 2j+1 (Box & Muller 1958). f64: of words 2i and 2i+1, but dropout keeps and drops the same elements as in
 * f32. Words are made CHUNK at a time, so that they stay in the nearest cache.
 */
#include <float.h>

#include "kernels/isa/parts.h"
#include "kernels/vec_math.h"
#include "kernels/vec_random.h"

#define CHUNK 512

HD_INLINE vf vf_unit(vu words) { /* [0, 1) in steps of 2^-24 */
    return __builtin_convertvector((vi)(words >> 8), vf) * 0x1p-24f;
}

/* The least and the greatest number of [low, high), or of low alone. */
#define ENDS(type, next)                                                                                     \
    HD_INLINE void ends_of_##type(double low, double high, type *least, type *most) {                        \
        *least = (type)low < low ? next((type)low, INFINITY) : (type)low;                                    \
        *most = (type)high >= high ? next((type)high, -INFINITY) : (type)high;                               \
        if (!(high > low)) *least = *most = (type)low;                                                       \
    }
ENDS(float, nextafterf)
ENDS(double, nextafter)

/* times: what low and high were divided by, so that their distance does not leave the range. */
HD_INLINE double times_of(double low, double high, double most) {
    return high - low <= most ? 1 : 2;
}

static void uniform_f32(hd_draw draw, int64_t first, int64_t n, double low, double high, void *py) {
    double times = times_of(low, high, FLT_MAX);
    float *y = py, base = (float)(low / times), width = (float)(high / times - low / times), least, most;
    uint32_t scratch[HD_RANDOM_SCRATCH(CHUNK)];
    ends_of_float(low, high, &least, &most); /* rounding may reach beyond them */
    vf bottom = vf_set(least), top = vf_set(most), factor = vf_set((float)times);
    for (int64_t start = 0; start < n; start += CHUNK) {
        int64_t end = n - start < CHUNK ? n : start + CHUNK;
        const uint32_t *words = hd_draw_words(draw, first + start, end - start, scratch);
        for (int64_t i = start; i < end; i += VF_LANES) {
            vf u = (base + width * vf_unit(vu_load(words + (i - start)))) * factor;
            u = vf_max(bottom, vf_min(top, u));
            vf_store_n(y + i, u, end - i < VF_LANES ? end - i : VF_LANES);
        }
    }
}

static void uniform_f64(hd_draw draw, int64_t first, int64_t n, double low, double high, void *py) {
    double times = times_of(low, high, DBL_MAX), base = low / times, width = high / times - base, least, most;
    double *y = py;
    ends_of_double(low, high, &least, &most);
    for (int64_t i = 0; i < n; i++) {
        double u = (base + width * hd_draw_f64(draw, (uint64_t)(first + i))) * times;
        y[i] = u > most ? most : u < least ? least : u;
    }
}

/* 2 VF_LANES numbers of as many words. */
HD_INLINE void normal_step(const uint32_t *words, float mean, float std, float *y) {
    vu w0 = vu_load(words), w1 = vu_load(words + VF_LANES);
    vf radius = std * vf_sqrt(-2.0f * vf_log(vf_unit(vu_even(w0, w1)) + 0x1p-24f));
    vf sine, cosine;
    vf_sincos_turn(vf_unit(vu_odd(w0, w1)), &sine, &cosine);
    vf a = mean + radius * cosine, b = mean + radius * sine;
    vf_store(y, vf_zip_low(a, b));
    vf_store(y + VF_LANES, vf_zip_high(a, b));
}

static void normal_f32(hd_draw draw, int64_t first, int64_t n, double mean, double std, void *y) {
    uint32_t scratch[HD_RANDOM_SCRATCH(CHUNK)];
    float numbers[CHUNK + 2 * VF_LANES];
    int64_t last = first + n;
    for (int64_t start = first & ~(int64_t)1; start < last; start += CHUNK) {
        int64_t count = last - start < CHUNK ? last - start : CHUNK, skip = start < first;
        const uint32_t *words = hd_draw_words(draw, start, count, scratch);
        for (int64_t i = 0; i < count; i += 2 * VF_LANES)
            normal_step(words + i, (float)mean, (float)std, numbers + i);
        memcpy((float *)y + (start + skip - first), numbers + skip, (size_t)(count - skip) * sizeof(float));
    }
}

static void normal_f64(hd_draw draw, int64_t first, int64_t n, double mean, double std, void *y) {
    for (int64_t i = 0; i < n; i++) {
        uint64_t pair = (uint64_t)(first + i) & ~(uint64_t)1;
        double radius = std * sqrt(-2 * log(1 - hd_draw_f64(draw, pair)));
        double angle = 6.28318530717958647693 * hd_draw_f64(draw, pair + 1);
        ((double *)y)[i] = mean + radius * ((first + i) & 1 ? sin(angle) : cos(angle));
    }
}

/* dropout_f32 dropout_add_f32, and the same in _f64 */
#define HD_REAL 32
#include "kernels/isa/dropout_body.h"
#define HD_REAL 64
#include "kernels/isa/dropout_body.h"

void HD_ISA(hd_fill_random)(hd_kernels *k) {
    k->uniform[HD_F32] = uniform_f32;
    k->uniform[HD_F64] = uniform_f64;
    k->normal[HD_F32] = normal_f32;
    k->normal[HD_F64] = normal_f64;
    fill_dropout_f32(k, HD_F32);
    fill_dropout_f64(k, HD_F64);
}
