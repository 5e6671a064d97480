/* table.c: the whole table of one instruction set. */
#include "kernels/isa/parts.h"

void HD_ISA(hd_fill_kernels)(hd_kernels *k);

void HD_ISA(hd_fill_kernels)(hd_kernels *k) {
    HD_ISA(hd_fill_unary)(k);
    HD_ISA(hd_fill_parametric)(k);
    HD_ISA(hd_fill_binary)(k);
    HD_ISA(hd_fill_where)(k);
    HD_ISA(hd_fill_axpy)(k);
    HD_ISA(hd_fill_product)(k);
    HD_ISA(hd_fill_cast)(k);
    HD_ISA(hd_fill_copy)(k);
    HD_ISA(hd_fill_reduce)(k);
    HD_ISA(hd_fill_partial)(k);
    HD_ISA(hd_fill_order)(k);
    HD_ISA(hd_fill_distance)(k);
    HD_ISA(hd_fill_softmax)(k);
    HD_ISA(hd_fill_softmax_columns)(k);
    HD_ISA(hd_fill_norm)(k);
    HD_ISA(hd_fill_recurrent)(k);
    HD_ISA(hd_fill_conv)(k);
    HD_ISA(hd_fill_panels)(k);
    HD_ISA(hd_fill_pool)(k);
    HD_ISA(hd_fill_channel_norm)(k);
    HD_ISA(hd_fill_rotary)(k);
    HD_ISA(hd_fill_loss)(k);
    HD_ISA(hd_fill_pointwise)(k);
    HD_ISA(hd_fill_random)(k);
    HD_ISA(hd_fill_optim)(k);
    HD_ISA(hd_fill_attention)(k);
    HD_ISA(hd_fill_attention_rows)(k);
}
