/* copy.c: moving elements of a size, whatever their dtype. */
#include "ops/copy.h"

#include <string.h>

/* Elements as bits: they may be of any type. */
typedef uint8_t bits_1 __attribute__((may_alias));
typedef uint16_t bits_2 __attribute__((may_alias));
typedef uint32_t bits_4 __attribute__((may_alias));
typedef uint64_t bits_8 __attribute__((may_alias));

/* A square is read and written in whole cache lines (of 4-byte elements), so that it does not matter when the
 * rows of a matrix compete for the same places of the cache. */
#define SQUARE 16

/* The lines of the next square, which no hardware guesses: they lie far apart. Beyond the end nothing
 * happens. */
static inline void ask_for(const void *x, int64_t step) {
    for (int i = 0; i < SQUARE; i++) __builtin_prefetch((const void *)((uintptr_t)x + (uintptr_t)(i * step)));
}

/* y[r * y_row + i] = x[r + i * x_step] for a square, SQUARE by SQUARE. */
#define SQUARE_OF(bytes, type)                                                                               \
    static void square_##bytes(const type *x, int64_t x_step, type *y, int64_t y_row) {                      \
        type square[SQUARE][SQUARE];                                                                         \
        for (int i = 0; i < SQUARE; i++)                                                                     \
            for (int r = 0; r < SQUARE; r++) square[r][i] = x[r + i * x_step];                               \
        for (int r = 0; r < SQUARE; r++) memcpy(y + r * y_row, square[r], sizeof square[r]);                 \
    }

SQUARE_OF(1, bits_1)
SQUARE_OF(2, bits_2)

typedef uint32_t four __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint64_t two __attribute__((vector_size(16), aligned(8), may_alias));

static void square_4(const bits_4 *x, int64_t x_step, bits_4 *y, int64_t y_row) {
    for (int r = 0; r < SQUARE; r += 4) {
        for (int i = 0; i < SQUARE; i += 4) {
            const bits_4 *from = x + r + i * x_step;
            bits_4 *to = y + r * y_row + i;
            four a = *(const four *)from, b = *(const four *)(from + x_step);
            four c = *(const four *)(from + 2 * x_step), d = *(const four *)(from + 3 * x_step);
            four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                 cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
            four ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7),
                 cd2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
            *(four *)to = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
            *(four *)(to + y_row) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
            *(four *)(to + 2 * y_row) = __builtin_shufflevector(ab2, cd2, 0, 1, 4, 5);
            *(four *)(to + 3 * y_row) = __builtin_shufflevector(ab2, cd2, 2, 3, 6, 7);
        }
    }
}

static void square_8(const bits_8 *x, int64_t x_step, bits_8 *y, int64_t y_row) {
    for (int r = 0; r < SQUARE; r += 2) {
        for (int i = 0; i < SQUARE; i += 2) {
            const bits_8 *from = x + r + i * x_step;
            bits_8 *to = y + r * y_row + i;
            two a = *(const two *)from, b = *(const two *)(from + x_step);
            *(two *)to = __builtin_shufflevector(a, b, 0, 2);
            *(two *)(to + y_row) = __builtin_shufflevector(a, b, 1, 3);
        }
    }
}

#define COPIES(bytes, type)                                                                                  \
    static void run_##bytes(int64_t n, const void *px, int64_t sx, void *py, int64_t sy) {                   \
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
    }                                                                                                        \
    static void across_##bytes(int64_t rows, int64_t n, const void *px, int64_t x_step, void *py,            \
                               int64_t y_row) {                                                              \
        const type *x = px;                                                                                  \
        type *y = py;                                                                                        \
        int64_t whole_rows = rows - rows % SQUARE, whole_n = n - n % SQUARE;                                 \
        for (int64_t r = 0; r < whole_rows; r += SQUARE)                                                     \
            for (int64_t i = 0; i < whole_n; i += SQUARE) {                                                  \
                ask_for(x + r + (i + SQUARE) * x_step, x_step * (int64_t)sizeof *x);                         \
                square_##bytes(x + r + i * x_step, x_step, y + r * y_row + i, y_row);                        \
            }                                                                                                \
        for (int64_t i = 0; i < n; i++)                                                                      \
            for (int64_t r = i < whole_n ? whole_rows : 0; r < rows; r++)                                    \
                y[r * y_row + i] = x[r + i * x_step];                                                        \
    }

COPIES(1, bits_1)
COPIES(2, bits_2)
COPIES(4, bits_4)
COPIES(8, bits_8)

hd_copy_run hd_copy_run_of(size_t size) {
    switch (size) {
    case 1: return run_1;
    case 2: return run_2;
    case 4: return run_4;
    default: return run_8;
    }
}

hd_copy_across hd_copy_across_of(size_t size) {
    switch (size) {
    case 1: return across_1;
    case 2: return across_2;
    case 4: return across_4;
    default: return across_8;
    }
}
