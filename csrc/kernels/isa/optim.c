/* optim.c: one pass of an optimiser over a parameter: SGD (Sutskever et al. 2013), Adam (Kingma and Ba 2015),
 * AdamW (Loshchilov and Hutter 2019), RMSprop (Tieleman and Hinton 2012), Lion (Chen et al. 2023). */
#include "kernels/isa/parts.h"

#define HD_REAL 32
#include "kernels/isa/adam_body.h"
#define HD_REAL 64
#include "kernels/isa/adam_body.h"

#define HD_REAL 32
#include "kernels/isa/sgd_body.h"
#define HD_REAL 64
#include "kernels/isa/sgd_body.h"

#define HD_REAL 32
#include "kernels/isa/rmsprop_body.h"
#define HD_REAL 64
#include "kernels/isa/rmsprop_body.h"

#define HD_REAL 32
#include "kernels/isa/lion_body.h"
#define HD_REAL 64
#include "kernels/isa/lion_body.h"

void HD_ISA(hd_fill_optim)(hd_kernels *k) {
    k->adam[HD_F32] = adam_f32;
    k->adam[HD_F64] = adam_f64;
    k->sgd[HD_F32] = sgd_f32;
    k->sgd[HD_F64] = sgd_f64;
    k->rmsprop[HD_F32] = rmsprop_f32;
    k->rmsprop[HD_F64] = rmsprop_f64;
    k->lion[HD_F32] = lion_f32;
    k->lion[HD_F64] = lion_f64;
}
