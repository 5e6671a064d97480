/* conv.c: the kernels of convolution (kernels/conv.h). */
#include "kernels/isa/parts.h"

#include "base/minmax.h"

#define HD_REAL 32
#include "kernels/isa/conv_body.h"
#define HD_REAL 64
#include "kernels/isa/conv_body.h"

static const hd_conv_kernels conv_f32 = {patches_f32, add_patches_f32, channel_f32, channel_grad_x_f32,
                                         channel_grad_w_f32};
static const hd_conv_kernels conv_f64 = {patches_f64, add_patches_f64, channel_f64, channel_grad_x_f64,
                                         channel_grad_w_f64};

void HD_ISA(hd_fill_conv)(hd_kernels *k) {
    k->conv[HD_F32] = &conv_f32;
    k->conv[HD_F64] = &conv_f64;
}
