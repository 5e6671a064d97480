/* copy.c: copies elements of 1, 2, 4 or 8 bytes, whatever they mean. */
#include "kernels/isa/parts.h"

/* Elements as bits: they may be of any type. */
typedef uint8_t bits_1 __attribute__((may_alias));
typedef uint16_t bits_2 __attribute__((may_alias));
typedef uint32_t bits_4 __attribute__((may_alias));
typedef uint64_t bits_8 __attribute__((may_alias));

/* ---- runs -------------------------------------------------------------------------------------- */

#define COPY(bytes, type)                                                                                    \
    static void copy_##bytes(int64_t n, const void *px, int64_t sx, void *py, int64_t sy) {                  \
        type *y = py;                                                                                        \
        const type *x = px;                                                                                  \
        if (sy == 1 && sx == 1) {                                                                            \
            memcpy(y, x, (size_t)n * sizeof *y);                                                             \
        } else if (sy == 1 && sx == 0) {                                                                     \
            type v = *x;                                                                                     \
            for (int64_t i = 0; i < n; i++) y[i] = v;                                                        \
        } else if (sy == 1 && sx == -1) {                                                                    \
            for (int64_t i = 0; i < n; i++) y[i] = *(x - i);                                                 \
        } else {                                                                                             \
            for (int64_t i = 0; i < n; i++) y[i * sy] = x[i * sx];                                           \
        }                                                                                                    \
    }

COPY(1, bits_1)
COPY(2, bits_2)
COPY(4, bits_4)
COPY(8, bits_8)

/* ---- transposing ------------------------------------------------------------------------------- */

/* Two vectors interleaved: a0 b0 a1 b1 ... is LOW followed by HIGH. */
#define LOW_2 0, 2
#define HIGH_2 1, 3
#define LOW_4 0, 4, 1, 5
#define HIGH_4 2, 6, 3, 7
#define LOW_8 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_8 4, 12, 5, 13, 6, 14, 7, 15
#define LOW_16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31

#if defined(__clang__)
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 16")
#endif

/* One round of a transpose of lanes x lanes elements: row i is interleaved with row i + lanes / 2, for
 * all i. This rotates the bits of an element's index (row, lane) by one; log2(lanes) rounds, from a to b
 * and back, exchange rows and lanes. */
#define SHUFFLE(from, to, lanes)                                                                             \
    UNROLLED for (int i = 0; i < lanes / 2; i++) {                                                           \
        to[2 * i] = __builtin_shufflevector(from[i], from[i + lanes / 2], LOW_##lanes);                      \
        to[2 * i + 1] = __builtin_shufflevector(from[i], from[i + lanes / 2], HIGH_##lanes);                 \
    }
#define MOVE(from, to, lanes) UNROLLED for (int i = 0; i < lanes; i++) to[i] = from[i];
#define SHUFFLES_2(a, b) SHUFFLE(a, b, 2) MOVE(b, a, 2)
#define SHUFFLES_4(a, b) SHUFFLE(a, b, 4) SHUFFLE(b, a, 4)
#define SHUFFLES_8(a, b) SHUFFLE(a, b, 8) SHUFFLE(b, a, 8) SHUFFLE(a, b, 8) MOVE(b, a, 8)
#define SHUFFLES_16(a, b) SHUFFLE(a, b, 16) SHUFFLE(b, a, 16) SHUFFLE(a, b, 16) SHUFFLE(b, a, 16)

/* y[r * y_row + i] = x[r + i * x_step], in squares of lanes x lanes. The inner loop goes along r, so that
 * x is read in the order of memory. */
#define TURN(bytes, type, lanes)                                                                             \
    typedef type vector_##bytes __attribute__((vector_size(lanes * bytes)));                                 \
    typedef type memory_##bytes __attribute__((vector_size(lanes * bytes), aligned(bytes), may_alias));      \
    HD_INLINE void square_##bytes(const type *x, int64_t x_step, type *y, int64_t y_row) {                   \
        vector_##bytes a[lanes], b[lanes];                                                                   \
        UNROLLED for (int i = 0; i < lanes; i++) a[i] = *(const memory_##bytes *)(x + i * x_step);           \
        SHUFFLES_##lanes(a, b);                                                                              \
        UNROLLED for (int i = 0; i < lanes; i++) * (memory_##bytes *)(y + i * y_row) = a[i];                 \
    }                                                                                                        \
    static void transpose_##bytes(int64_t rows, int64_t n, const void *px, int64_t x_step, void *py,         \
                                  int64_t y_row) {                                                           \
        const type *x = px;                                                                                  \
        type *y = py;                                                                                        \
        int64_t whole_rows = rows - rows % lanes, whole_n = n - n % lanes;                                   \
        for (int64_t i = 0; i < whole_n; i += lanes)                                                         \
            for (int64_t r = 0; r < whole_rows; r += lanes)                                                  \
                square_##bytes(x + r + i * x_step, x_step, y + r * y_row + i, y_row);                        \
        for (int64_t i = 0; i < n; i++)                                                                      \
            for (int64_t r = i < whole_n ? whole_rows : 0; r < rows; r++)                                    \
                y[r * y_row + i] = x[r + i * x_step];                                                        \
    }

TURN(1, bits_1, 16)
TURN(2, bits_2, 8)
#if HD_VEC_BYTES == 64
TURN(4, bits_4, 16)
TURN(8, bits_8, 8)
#elif HD_VEC_BYTES == 32
TURN(4, bits_4, 8)
TURN(8, bits_8, 4)
#else
TURN(4, bits_4, 4)
TURN(8, bits_8, 2)
#endif

/* ---- past the caches ----------------------------------------------------------------------------- */

#if defined(__SSE2__)
#define LINE 64

HD_INLINE void stream_line(const char *from, char *to) {
#if HD_VEC_AVX512
    _mm512_stream_si512((__m512i *)to, _mm512_loadu_si512(from));
#elif HD_VEC_AVX2
    __m256i a = _mm256_loadu_si256((const __m256i *)from), b = _mm256_loadu_si256((const __m256i *)from + 1);
    _mm256_stream_si256((__m256i *)to, a);
    _mm256_stream_si256((__m256i *)to + 1, b);
#else
    for (int i = 0; i < LINE / 16; i++)
        _mm_stream_si128((__m128i *)to + i, _mm_loadu_si128((const __m128i *)from + i));
#endif
}

/* Whole cache lines of `to` are written past the caches; the parts of lines at the two ends are written
 * as usual. */
static void stream(size_t bytes, const void *from, void *to) {
    const char *x = from;
    char *y = to;
    size_t head = -(uintptr_t)y % LINE;
    if (head > bytes) head = bytes;
    if (head) memcpy(y, x, head);
    size_t at = head;
    for (; at + LINE <= bytes; at += LINE) stream_line(x + at, y + at);
    if (at < bytes) memcpy(y + at, x + at, bytes - at);
}

/* y[i] = x[-i], from the end of y, so that x is read in the order of memory. */
#define STREAM_BACK(bytes, type)                                                                             \
    static void stream_back_##bytes(int64_t n, const void *px, void *py) {                                   \
        const type *x = px;                                                                                  \
        type *y = py, line[LINE / bytes];                                                                    \
        int64_t head = (int64_t)(-(uintptr_t)y % LINE / bytes);                                              \
        if (head > n) head = n;                                                                              \
        int64_t whole = head + (n - head) / (LINE / bytes) * (LINE / bytes);                                 \
        for (int64_t i = n - 1; i >= whole; i--) y[i] = *(x - i);                                            \
        for (int64_t i = whole - LINE / bytes; i >= head; i -= LINE / bytes) {                               \
            for (int64_t j = 0; j < LINE / bytes; j++) line[j] = *(x - i - j);                               \
            stream_line((const char *)line, (char *)(y + i));                                                \
        }                                                                                                    \
        for (int64_t i = head - 1; i >= 0; i--) y[i] = *(x - i);                                             \
    }

STREAM_BACK(1, bits_1)
STREAM_BACK(2, bits_2)
STREAM_BACK(4, bits_4)
STREAM_BACK(8, bits_8)

static void streamed(void) {
    _mm_sfence();
}
#endif

void HD_ISA(hd_fill_copy)(hd_kernels *k) {
    hd_copy_fn copies[] = {copy_1, copy_2, copy_4, copy_8};
    hd_transpose_fn transposes[] = {transpose_1, transpose_2, transpose_4, transpose_8};
    memcpy(k->copy, copies, sizeof copies);
    memcpy(k->transpose, transposes, sizeof transposes);
#if defined(__SSE2__)
    k->stream = stream;
    void (*back[])(int64_t, const void *, void *) = {stream_back_1, stream_back_2, stream_back_4,
                                                     stream_back_8};
    memcpy(k->stream_back, back, sizeof back);
    k->streamed = streamed;
#endif
}
