/* pool_body.h: pool.c for one element type (names: see vec_real.h). */
#include "kernels/vec_real.h"

/* ---- maximum ------------------------------------------------------------------------------------- */

/* The place of the largest in the window, -1 if it is empty. */
HD_INLINE int64_t NAME(largest_place)(const real *x, int64_t length, const hd_window *row,
                                      const hd_window *column, real *largest) {
    int64_t place = -1;
    real best = (real)-INFINITY;
    for (int64_t i = row->first; i < row->end; i += row->step)
        for (int64_t j = column->first; j < column->end; j += column->step) {
            const real value = x[i * length + j];
            if (value > best || place < 0 || (value != value && best == best)) {
                best = value;
                place = i * length + j;
            }
        }
    *largest = best;
    return place;
}

static void NAME(max)(const hd_windows *w, const void *px, void *py, int32_t *index) {
    real *y = py;
    for (int64_t i = 0; i < w->row_count; i++)
        for (int64_t j = 0; j < w->column_count; j++, y++) {
            const int64_t place = NAME(largest_place)(px, w->length, &w->rows[i], &w->columns[j], y);
            if (index) *index++ = (int32_t)place;
        }
}

static void NAME(max_grad)(int64_t n, const int32_t *index, const void *pg, void *pdx) {
    const real *g = pg;
    real *dx = pdx;
    for (int64_t i = 0; i < n; i++)
        if (index[i] >= 0) dx[index[i]] += g[i];
}

/* ---- average ------------------------------------------------------------------------------------- */

#define PARTS 8 /* sums that do not wait for each other */

HD_INLINE double NAME(sum_of_row)(int64_t n, const real *x, double factor) {
    double parts[PARTS] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + PARTS <= n; i += PARTS)
        for (int64_t p = 0; p < PARTS; p++) parts[p] += (double)x[i + p] * factor;
    for (int64_t p = 0; p < PARTS; p++) sum += parts[p];
    for (; i < n; i++) sum += (double)x[i] * factor;
    return sum;
}

HD_INLINE double NAME(sum_of_window)(const real *x, int64_t length, const hd_window *row,
                                     const hd_window *column, double factor) {
    double sum = 0;
    for (int64_t i = row->first; i < row->end; i++)
        sum += NAME(sum_of_row)(column->end - column->first, x + i * length + column->first, factor);
    return sum;
}

static void NAME(average)(const hd_windows *w, const void *px, void *py) {
    const real *x = px;
    real *y = py;
    for (int64_t i = 0; i < w->row_count; i++)
        for (int64_t j = 0; j < w->column_count; j++, y++) {
            const hd_window *row = &w->rows[i], *column = &w->columns[j];
            const double size = (double)(row->size * column->size);
            double mean = NAME(sum_of_window)(x, w->length, row, column, 1) / size;
            /* the sum may have left the range although the mean does not */
            if (mean - mean != 0) mean = NAME(sum_of_window)(x, w->length, row, column, 1 / size);
            *y = (real)mean;
        }
}

/* forward: y = sum of the window / size  ->  dx += g / size for all of it */
static void NAME(average_grad)(const hd_windows *w, const void *pg, void *pdx) {
    const real *g = pg;
    real *dx = pdx;
    for (int64_t i = 0; i < w->row_count; i++)
        for (int64_t j = 0; j < w->column_count; j++, g++) {
            const hd_window *row = &w->rows[i], *column = &w->columns[j];
            const real each = *g / (real)(row->size * column->size);
            for (int64_t r = row->first; r < row->end; r++)
                for (int64_t c = column->first; c < column->end; c++) dx[r * w->length + c] += each;
        }
}

#undef PARTS
#include "kernels/vec_real_end.h"
