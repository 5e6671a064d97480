/* parts.h: each ISA source fills its part of the table, under a name that ends in the instruction set. */
#ifndef HD_PARTS_H
#define HD_PARTS_H

#include "kernels/kernels.h"
#include "kernels/vec.h"

void HD_ISA(hd_fill_unary)(hd_kernels *k);
void HD_ISA(hd_fill_parametric)(hd_kernels *k);
void HD_ISA(hd_fill_binary)(hd_kernels *k);
void HD_ISA(hd_fill_where)(hd_kernels *k);
void HD_ISA(hd_fill_axpy)(hd_kernels *k);
void HD_ISA(hd_fill_product)(hd_kernels *k);
void HD_ISA(hd_fill_cast)(hd_kernels *k);
void HD_ISA(hd_fill_copy)(hd_kernels *k);
void HD_ISA(hd_fill_reduce)(hd_kernels *k);
void HD_ISA(hd_fill_partial)(hd_kernels *k);
void HD_ISA(hd_fill_order)(hd_kernels *k);
void HD_ISA(hd_fill_distance)(hd_kernels *k);
void HD_ISA(hd_fill_softmax)(hd_kernels *k);
void HD_ISA(hd_fill_softmax_columns)(hd_kernels *k);
void HD_ISA(hd_fill_norm)(hd_kernels *k);
void HD_ISA(hd_fill_recurrent)(hd_kernels *k);
void HD_ISA(hd_fill_conv)(hd_kernels *k);
void HD_ISA(hd_fill_panels)(hd_kernels *k);
void HD_ISA(hd_fill_pool)(hd_kernels *k);
void HD_ISA(hd_fill_channel_norm)(hd_kernels *k);
void HD_ISA(hd_fill_rotary)(hd_kernels *k);
void HD_ISA(hd_fill_loss)(hd_kernels *k);
void HD_ISA(hd_fill_pointwise)(hd_kernels *k);
void HD_ISA(hd_fill_random)(hd_kernels *k);
void HD_ISA(hd_fill_optim)(hd_kernels *k);
void HD_ISA(hd_fill_attention)(hd_kernels *k);
void HD_ISA(hd_fill_attention_rows)(hd_kernels *k);

#endif
