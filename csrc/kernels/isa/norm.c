/* norm.c: layer norm (Ba, Kiros & Hinton 2016) and root mean square norm (Zhang & Sennrich 2019) by rows. */
#include <float.h>

#include "kernels/isa/parts.h"

#define HD_REAL 32
#include "kernels/isa/norm_body.h"
#define HD_REAL 64
#include "kernels/isa/norm_body.h"

void HD_ISA(hd_fill_norm)(hd_kernels *k) {
    k->layer_norm_row[HD_F32] = layer_norm_f32;
    k->layer_norm_row[HD_F64] = layer_norm_f64;
    k->layer_norm_row_grad[HD_F32] = layer_norm_grad_f32;
    k->layer_norm_row_grad[HD_F64] = layer_norm_grad_f64;
    k->rms_norm_row[HD_F32] = rms_norm_f32;
    k->rms_norm_row[HD_F64] = rms_norm_f64;
    k->rms_norm_row_grad[HD_F32] = rms_norm_grad_f32;
    k->rms_norm_row_grad[HD_F64] = rms_norm_grad_f64;
}
