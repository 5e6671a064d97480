/* adamw.c: one pass of AdamW (Loshchilov & Hutter 2019). */
#include "kernels/isa/parts.h"

#define HD_REAL 32
#include "kernels/isa/adamw_body.h"
#define HD_REAL 64
#include "kernels/isa/adamw_body.h"

void HD_ISA(hd_fill_adamw)(hd_kernels *k) {
    k->adamw[HD_F32] = adamw_f32;
    k->adamw[HD_F64] = adamw_f64;
}
