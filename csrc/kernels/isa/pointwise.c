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

#define SET(KIND, name)                                                                                      \
    k->pair_loss[KIND][HD_F32] = name##_f32;                                                                 \
    k->pair_loss[KIND][HD_F64] = name##_f64;                                                                 \
    k->pair_loss_slope[KIND][HD_F32] = name##_slope_f32;                                                     \
    k->pair_loss_slope[KIND][HD_F64] = name##_slope_f64;

void HD_ISA(hd_fill_loss_pairs)(hd_kernels *k) {
    SET(HD_PAIR_SQUARED, squared)
    SET(HD_PAIR_ABSOLUTE, absolute)
    SET(HD_PAIR_HUBER, huber)
    SET(HD_PAIR_BCE, bce)
    SET(HD_PAIR_KL, kl)
    SET(HD_PAIR_KL_LOG, kl_log)
}
