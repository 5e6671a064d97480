/* channel_norm.c: batch norm and group norm by runs of one channel (kernels/planes.h). */
#include "kernels/isa/parts.h"

#include "base/minmax.h"

#define HD_REAL 32
#include "kernels/isa/channel_norm_body.h"
#define HD_REAL 64
#include "kernels/isa/channel_norm_body.h"

static const hd_channel_norm_kernels norm_f32 = {sums_f32,      scaled_sums_f32, largest_f32,
                                                 normalize_f32, grad_sums_f32,   grad_f32};
static const hd_channel_norm_kernels norm_f64 = {sums_f64,      scaled_sums_f64, largest_f64,
                                                 normalize_f64, grad_sums_f64,   grad_f64};

void HD_ISA(hd_fill_channel_norm)(hd_kernels *k) {
    k->channel_norm[HD_F32] = &norm_f32;
    k->channel_norm[HD_F64] = &norm_f64;
}
