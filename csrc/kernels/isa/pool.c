/* pool.c: pooling of planes (kernels/planes.h). */
#include "kernels/isa/parts.h"

#include "base/minmax.h"

#define HD_REAL 32
#include "kernels/isa/pool_body.h"
#define HD_REAL 64
#include "kernels/isa/pool_body.h"

static const hd_pool_kernels pool_f32 = {max_f32, max_grad_f32, average_f32, average_grad_f32};
static const hd_pool_kernels pool_f64 = {max_f64, max_grad_f64, average_f64, average_grad_f64};

void HD_ISA(hd_fill_pool)(hd_kernels *k) {
    k->pool[HD_F32] = &pool_f32;
    k->pool[HD_F64] = &pool_f64;
}
