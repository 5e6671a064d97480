/* softmax.c: softmax, its logarithm and masked form, by rows, shifted by the row's largest. */
#include "kernels/isa/parts.h"
#include "kernels/vec_math.h"

/* Elements summed in lanes before they go on to f64. */
#define BLOCK 4096

/* softmax_f32 softmax_grad_f32 log_softmax_f32 log_softmax_grad_f32 logsumexp_f32 masked_softmax_f32, and
 * the same in _f64 */
#define HD_REAL 32
#include "kernels/isa/softmax_body.h"
#define HD_REAL 64
#include "kernels/isa/softmax_body.h"

void HD_ISA(hd_fill_softmax)(hd_kernels *k) {
    fill_table_f32(k, HD_F32);
    fill_table_f64(k, HD_F64);
}
