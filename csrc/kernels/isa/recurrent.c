/* recurrent.c: one step of a row of a GRU (Cho et al. 2014) and of an LSTM (Hochreiter and Schmidhuber 1997;
 * Gers et al. 2000), in PyTorch's form, and its gradient. */
#include "kernels/isa/parts.h"

#include "kernels/vec_math.h"

#define HD_REAL 32
#include "kernels/isa/recurrent_body.h"
#define HD_REAL 64
#include "kernels/isa/recurrent_body.h"

void HD_ISA(hd_fill_recurrent)(hd_kernels *k) {
    k->gru_row[HD_F32] = gru_row_f32;
    k->gru_row[HD_F64] = gru_row_f64;
    k->gru_row_grad[HD_F32] = gru_row_grad_f32;
    k->gru_row_grad[HD_F64] = gru_row_grad_f64;
    k->lstm_row[HD_F32] = lstm_row_f32;
    k->lstm_row[HD_F64] = lstm_row_f64;
    k->lstm_row_grad[HD_F32] = lstm_row_grad_f32;
    k->lstm_row_grad[HD_F64] = lstm_row_grad_f64;
}
