/* softmax_columns.c: softmax and its logarithm down a few columns at a time. These are packed first,
 * because rows whose distance is a power of two would evict each other from the caches.
 */
#include "kernels/isa/parts.h"
#include "kernels/vec_math.h"

#define VECTORS (HD_SOFTMAX_COLUMNS / LANES)

/* softmax_cols_f32 softmax_cols_grad_f32 log_softmax_cols_f32 log_softmax_cols_grad_f32, and the same in
 * _f64 */
#define HD_REAL 32
#include "kernels/isa/softmax_columns_body.h"
#define HD_REAL 64
#include "kernels/isa/softmax_columns_body.h"

void HD_ISA(hd_fill_softmax_columns)(hd_kernels *k) {
    fill_columns_f32(k, HD_F32);
    fill_columns_f64(k, HD_F64);
}
