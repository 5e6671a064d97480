/* softmax down columns gives what the kernels of rows give for each column by itself, of every table. */
#include "kernels_check.h"

typedef void (*row_fn)(int64_t n, const void *x, void *y);
typedef void (*columns_fn)(int64_t rows, int64_t n, const void *x, int64_t stride, void *y, void *scratch);
typedef void (*row_grad_fn)(int64_t n, const void *y, const void *g, void *dx);
typedef void (*columns_grad_fn)(int64_t rows, int64_t n, const void *y, const void *g, int64_t stride,
                                void *dx, void *scratch);

static block column_a, column_b, column_y, scratch, result;

static void column(hd_dtype t, const block *x, int64_t first, int64_t stride, int64_t rows, block *y) {
    for (int64_t r = 0; r < rows; r++) set(t, y, r, get(t, x, first + r * stride));
}

/* x, and g in a gradient, begin at element 1; the result at 1 too, and nothing else is written. */
static void check_against(hd_dtype t, int64_t rows, int64_t n, int64_t stride, row_fn of_row,
                          row_grad_fn grad_of_row) {
    bool outside = true;
    for (int64_t i = 0; i < rows * stride + 2; i++) {
        int64_t j = (i - 1) % stride;
        bool ours = i >= 1 && (i - 1) / stride < rows && j < n;
        outside = outside && (ours || memcmp(at(t, &result, i), at(t, &before, i), size_of(t)) == 0);
    }
    CHECK(outside);
    for (int64_t j = 0; j < n; j++) {
        column(t, &in_a, 1 + j, stride, rows, &column_a);
        column(t, &in_b, 1 + j, stride, rows, &column_b);
        if (of_row)
            of_row(rows, &column_a, &column_y);
        else
            grad_of_row(rows, &column_a, &column_b, &column_y);
        for (int64_t r = 0; r < rows; r++)
            CHECK(near(t, get(t, &result, 1 + j + r * stride), get(t, &column_y, r), 1e-5));
    }
}

static void check_forward(hd_dtype t, int64_t rows, int64_t n, int64_t stride, row_fn of_row,
                          columns_fn of_columns) {
    memcpy(&result, &before, sizeof result);
    of_columns(rows, n, at(t, &in_a, 1), stride, at(t, &result, 1), &scratch);
    check_against(t, rows, n, stride, of_row, NULL);
}

static void check_gradient(hd_dtype t, int64_t rows, int64_t n, int64_t stride, row_grad_fn of_row,
                           columns_grad_fn of_columns) {
    memcpy(&result, &before, sizeof result);
    of_columns(rows, n, at(t, &in_a, 1), at(t, &in_b, 1), stride, at(t, &result, 1), &scratch);
    check_against(t, rows, n, stride, NULL, of_row);
}

static void check_shape(hd_dtype t, int64_t rows, int64_t n, int64_t stride) {
    make(t, &in_a, 6, rows);
    make(t, &in_b, 2, n);
    if (n > 3 && rows > 1) { /* a column of -inf, one with some, one with NaN, one with infinity */
        for (int64_t r = 0; r < rows; r++) set(t, &in_a, 1 + r * stride, -INFINITY);
        set(t, &in_a, 2, -INFINITY), set(t, &in_a, 3 + stride, NAN), set(t, &in_a, 4, INFINITY);
    }
    check_forward(t, rows, n, stride, k->softmax_row[t], k->softmax_cols[t]);
    check_forward(t, rows, n, stride, k->log_softmax_row[t], k->log_softmax_cols[t]);
    if (n > HD_SOFTMAX_COLUMNS) return;                                           /* gradients take no more */
    for (int64_t i = 0; i < ROOM; i++) set(t, &in_a, i, -fabs(get(t, &in_a, i))); /* as logarithms are */
    check_gradient(t, rows, n, stride, k->log_softmax_row_grad[t], k->log_softmax_cols_grad[t]);
    for (int64_t i = 0; i < ROOM; i++)
        set(t, &in_a, i, i % 7 ? noise(i) : 0); /* 0: hidden, where g may be NaN */
    if (n > 3) set(t, &in_a, 3, 0), set(t, &in_b, 3, NAN);
    check_gradient(t, rows, n, stride, k->softmax_row_grad[t], k->softmax_cols_grad[t]);
}

static void check_all(void) {
    EACH_DTYPE(t, floats)
    for (int64_t rows = 1; rows < 40; rows += rows < 5 ? 1 : 11)
        for (int64_t n = 1; n <= HD_SOFTMAX_COLUMNS; n++) {
            check_shape(t, rows, n, n);
            check_shape(t, rows, n, n + 3);
        }
    EACH_DTYPE(u, floats)
    for (int64_t n = HD_SOFTMAX_COLUMNS + 1; n < 100; n += 7) check_shape(u, 12, n, n + n % 3);
}

int main(void) {
    return check_tables(check_all);
}
