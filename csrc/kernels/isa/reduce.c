/* reduce.c: reduces a row to one number (.._row), or many rows to one (.._cols).
 *
 * The order of a sum depends on n alone: a strided row is gathered block by block and then summed like a
 * contiguous one. Sums of f32 add up BLOCK elements in lanes of f32, and the blocks in f64.
 */
#include "kernels/isa/map.h"
#include "kernels/isa/parts.h"

#define BLOCK 4096

/* A kernel from an expression of y, the result so far, and x, the next element. */
#define ROW(name, T, Y, start, expression)                                                                   \
    static void name(int64_t n, const void *px, int64_t sx, void *out) {                                     \
        const T *xs = px;                                                                                    \
        Y y = start;                                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            T x = xs[i * sx];                                                                                \
            y = expression;                                                                                  \
        }                                                                                                    \
        *(Y *)out = y;                                                                                       \
    }
/* y[j] = y[j] op x[r][j] for all rows r. Eight rows at a time are eight streams of memory, and y is read
 * and written once for them. Short rows that follow each other directly are one stream and are read as
 * one. */
#define STREAM 1024
#define COLS(name, T, Y, expression) COLS_OF(name, T, Y, expression)
#define COLS_OF(name, T, Y, expression)                                                                      \
    HD_INLINE Y name##_step(Y y, T x) {                                                                      \
        return expression;                                                                                   \
    }                                                                                                        \
    HD_INLINE Y name##_steps(Y y, int64_t rows, const T *x, int64_t stride) {                                \
        for (int64_t r = 0; r < rows; r++) y = name##_step(y, x[r * stride]);                                \
        return y;                                                                                            \
    }                                                                                                        \
    static void name(int64_t rows, int64_t n, const void *px, int64_t stride, void *out) {                   \
        const T *xs = px;                                                                                    \
        Y *ys = out;                                                                                         \
        int64_t r = 0;                                                                                       \
        bool streams = stride == n && n <= STREAM;                                                           \
        for (; !streams && r + 8 <= rows; r += 8, xs += 8 * stride)                                          \
            HD_INDEPENDENT for (int64_t i = 0; i < n; i++) ys[i] = name##_steps(ys[i], 8, xs + i, stride);   \
        for (; r < rows; r++, xs += stride)                                                                  \
            HD_INDEPENDENT for (int64_t i = 0; i < n; i++) ys[i] = name##_step(ys[i], xs[i]);                \
    }
#define ROW_AND_COLS(name, T, Y, start, expression)                                                          \
    ROW(name##_row, T, Y, start, expression)                                                                 \
    COLS(name##_cols, T, Y, expression)

/* sum_row_f32 sum_cols_f32 (by sum_block_f32, sum_stream_f32) prod_row_f32 prod_cols_f32 max_row_f32
 * max_cols_f32 min_row_f32 min_cols_f32, and the same in _f64 */
#define HD_REAL 32
#include "kernels/isa/reduce_body.h"
#define HD_REAL 64
#include "kernels/isa/reduce_body.h"

/* sum_i64_row sum_i64_cols prod_i64_row prod_i64_cols max_i64_row max_i64_cols min_i64_row min_i64_cols
 * sum_i32_row sum_i32_cols prod_i32_row prod_i32_cols max_i32_row max_i32_cols min_i32_row min_i32_cols
 * sum_u8_row sum_u8_cols prod_u8_row prod_u8_cols max_u8_row max_u8_cols min_u8_row min_u8_cols */
#define WRAP(operation) (int64_t)((uint64_t)y operation(uint64_t)(int64_t) x)
#define INTEGERS(type, T, least, most)                                                                       \
    ROW_AND_COLS(sum_##type, T, int64_t, 0, WRAP(+))                                                         \
    ROW_AND_COLS(prod_##type, T, int64_t, 1, WRAP(*))                                                        \
    ROW_AND_COLS(max_##type, T, T, least, x > y ? x : y)                                                     \
    ROW_AND_COLS(min_##type, T, T, most, x < y ? x : y)
INTEGERS(i64, int64_t, INT64_MIN, INT64_MAX)
INTEGERS(i32, int32_t, INT32_MIN, INT32_MAX)
INTEGERS(u8, uint8_t, 0, UINT8_MAX)
/* sum_bool_row sum_bool_cols prod_bool_row prod_bool_cols any_bool_row any_bool_cols all_bool_row
 * all_bool_cols any_i32_row any_i32_cols all_i32_row all_i32_cols any_i64_row any_i64_cols all_i64_row
 * all_i64_cols any_f32_row any_f32_cols all_f32_row all_f32_cols any_f64_row any_f64_cols all_f64_row
 * all_f64_cols */
ROW_AND_COLS(sum_bool, uint8_t, int64_t, 0, y + (x != 0))
ROW_AND_COLS(prod_bool, uint8_t, int64_t, 1, y &(x != 0))
ROW_AND_COLS(any_bool, uint8_t, uint8_t, 0, y | (x != 0))
ROW_AND_COLS(all_bool, uint8_t, uint8_t, 1, y &(x != 0))
ROW_AND_COLS(any_i32, int32_t, uint8_t, 0, y | (x != 0))
ROW_AND_COLS(all_i32, int32_t, uint8_t, 1, y &(x != 0))
ROW_AND_COLS(any_i64, int64_t, uint8_t, 0, y | (x != 0))
ROW_AND_COLS(all_i64, int64_t, uint8_t, 1, y &(x != 0))
ROW_AND_COLS(any_f32, float, uint8_t, 0, y | (x != 0))
ROW_AND_COLS(all_f32, float, uint8_t, 1, y &(x != 0))
ROW_AND_COLS(any_f64, double, uint8_t, 0, y | (x != 0))
ROW_AND_COLS(all_f64, double, uint8_t, 1, y &(x != 0))

#define ARG(name, T, better)                                                                                 \
    static int64_t name(int64_t n, const void *px, int64_t sx) {                                             \
        const T *x = px;                                                                                     \
        int64_t best = 0;                                                                                    \
        for (int64_t i = 1; i < n; i++)                                                                      \
            if (x[i * sx] better x[best * sx]) best = i;                                                     \
        return best;                                                                                         \
    }
ARG(argmax_i64, int64_t, >)
ARG(argmin_i64, int64_t, <)
ARG(argmax_i32, int32_t, >)
ARG(argmin_i32, int32_t, <)
ARG(argmax_bool, uint8_t, >)
ARG(argmin_bool, uint8_t, <)

/* `wins` says whether v replaces b; it is strict, so the first of equals stays. */
#define ARG_COLS(name, T, wins)                                                                              \
    static void name(int64_t rows, int64_t n, const void *px, int64_t stride, void *pbest, int32_t *index) { \
        const T *x = px;                                                                                     \
        T *best = pbest;                                                                                     \
        for (int64_t j = 0; j < n; j++) best[j] = x[j], index[j] = 0;                                        \
        for (int64_t r = 1; r < rows; r++) HD_INDEPENDENT for (int64_t j = 0; j < n; j++) {                  \
                T v = x[r * stride + j], b = best[j];                                                        \
                best[j] = (wins) ? v : b;                                                                    \
                index[j] = (wins) ? (int32_t)r : index[j];                                                   \
            }                                                                                                \
    }
ARG_COLS(argmax_cols_i64, int64_t, v > b)
ARG_COLS(argmin_cols_i64, int64_t, v < b)
ARG_COLS(argmax_cols_i32, int32_t, v > b)
ARG_COLS(argmin_cols_i32, int32_t, v < b)
ARG_COLS(argmax_cols_bool, uint8_t, v > b)
ARG_COLS(argmin_cols_bool, uint8_t, v < b)

static void fill_arg_cols(hd_kernels *k) {
    k->argmax_cols[HD_I64] = argmax_cols_i64;
    k->argmin_cols[HD_I64] = argmin_cols_i64;
    k->argmax_cols[HD_I32] = argmax_cols_i32;
    k->argmin_cols[HD_I32] = argmin_cols_i32;
    k->argmax_cols[HD_U8] = k->argmax_cols[HD_BOOL] = argmax_cols_bool;
    k->argmin_cols[HD_U8] = k->argmin_cols[HD_BOOL] = argmin_cols_bool;
}

#define SET(op, dtype, name)                                                                                 \
    k->reduce_row[op][dtype] = name##_row;                                                                   \
    k->reduce_cols[op][dtype] = name##_cols;

static void fill_logic(hd_kernels *k) {
    SET(HD_ANY, HD_F32, any_f32)
    SET(HD_ALL, HD_F32, all_f32)
    SET(HD_ANY, HD_F64, any_f64)
    SET(HD_ALL, HD_F64, all_f64)
    SET(HD_ANY, HD_I64, any_i64)
    SET(HD_ALL, HD_I64, all_i64)
    SET(HD_ANY, HD_I32, any_i32)
    SET(HD_ALL, HD_I32, all_i32)
    SET(HD_ANY, HD_U8, any_bool)
    SET(HD_ALL, HD_U8, all_bool)
    SET(HD_ANY, HD_BOOL, any_bool)
    SET(HD_ALL, HD_BOOL, all_bool)
}

#define SET_INTEGERS(op, name)                                                                               \
    SET(op, HD_I64, name##_i64)                                                                              \
    SET(op, HD_I32, name##_i32)                                                                              \
    SET(op, HD_U8, name##_u8)

static void fill_integers(hd_kernels *k) {
    SET_INTEGERS(HD_SUM, sum)
    SET_INTEGERS(HD_PROD, prod)
    SET_INTEGERS(HD_MAX, max)
    SET_INTEGERS(HD_MIN, min)
    SET(HD_SUM, HD_BOOL, sum_bool)
    SET(HD_PROD, HD_BOOL, prod_bool)
    SET(HD_MAX, HD_BOOL, any_bool)
    SET(HD_MIN, HD_BOOL, all_bool)
    k->argmax_row[HD_I64] = argmax_i64;
    k->argmin_row[HD_I64] = argmin_i64;
    k->argmax_row[HD_I32] = argmax_i32;
    k->argmin_row[HD_I32] = argmin_i32;
    k->argmax_row[HD_U8] = k->argmax_row[HD_BOOL] = argmax_bool;
    k->argmin_row[HD_U8] = k->argmin_row[HD_BOOL] = argmin_bool;
}

#define SET_REAL(op, name)                                                                                   \
    k->reduce_row[op][HD_F32] = name##_row_f32;                                                              \
    k->reduce_row[op][HD_F64] = name##_row_f64;                                                              \
    k->reduce_cols[op][HD_F32] = name##_cols_f32;                                                            \
    k->reduce_cols[op][HD_F64] = name##_cols_f64;

void HD_ISA(hd_fill_reduce)(hd_kernels *k) {
    SET_REAL(HD_SUM, sum)
    SET_REAL(HD_PROD, prod)
    SET_REAL(HD_MAX, max)
    SET_REAL(HD_MIN, min)
    k->argmax_row[HD_F32] = argmax_f32;
    k->argmin_row[HD_F32] = argmin_f32;
    k->argmax_row[HD_F64] = argmax_f64;
    k->argmin_row[HD_F64] = argmin_f64;
    k->column_sums[HD_F32] = column_sums_f32;
    k->column_sums[HD_F64] = column_sums_f64;
    k->sum_squares[HD_F32] = sum_squares_f32;
    k->sum_squares[HD_F64] = sum_squares_f64;
    fill_arg_cols(k);
    fill_logic(k);
    fill_integers(k);
}
