/* copy.h: moving elements of a size, whatever their dtype. */
#ifndef HD_OPS_COPY_H
#define HD_OPS_COPY_H

#include <stddef.h>
#include <stdint.h>

/* y[i * sy] = x[i * sx]; strides in elements, 0 in x repeats. */
typedef void (*hd_copy_run)(int64_t n, const void *x, int64_t sx, void *y, int64_t sy);
/* y[r * y_row + i] = x[r + i * x_step]: what is dense along a row in y is dense across rows in x. */
typedef void (*hd_copy_across)(int64_t rows, int64_t n, const void *x, int64_t x_step, void *y,
                               int64_t y_row);

/* size: 1, 2, 4 or 8 bytes. */
hd_copy_run hd_copy_run_of(size_t size);
hd_copy_across hd_copy_across_of(size_t size);

#endif
