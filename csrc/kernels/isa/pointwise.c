/* pointwise.c: losses of an input x and a target y of the same shape, element by element, and their
 * derivatives.
 */
#include "kernels/isa/parts.h"
#include "kernels/vec_math.h"

HD_INLINE double softplus(double x) {
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}
HD_VD_BY_LANE(vd_softplus, softplus)

#define HD_REAL 32
#include "kernels/isa/pointwise_body.h"
#define HD_REAL 64
#include "kernels/isa/pointwise_body.h"

void HD_ISA(hd_fill_pointwise)(hd_kernels *k) {
#define HD_ROW(op, kernel, ...)                                                                              \
    k->pointwise_loss[op][HD_F32] = kernel##_f32;                                                            \
    k->pointwise_loss[op][HD_F64] = kernel##_f64;                                                            \
    k->pointwise_loss_slope[op][HD_F32] = kernel##_slope_f32;                                                \
    k->pointwise_loss_slope[op][HD_F64] = kernel##_slope_f64;
#include "kernels/tables/pointwise.h"
}
