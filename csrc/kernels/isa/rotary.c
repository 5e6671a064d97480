/* rotary.c: rotary position embeddings: pairs of features rotated by angles (Su et al. 2021). */
#include "kernels/isa/parts.h"

#define HD_REAL 32
#include "kernels/isa/rotary_body.h"
#define HD_REAL 64
#include "kernels/isa/rotary_body.h"

void HD_ISA(hd_fill_rotary)(hd_kernels *k) {
    k->rotate_halves[HD_F32] = rotate_halves_f32;
    k->rotate_halves[HD_F64] = rotate_halves_f64;
    k->rotate_pairs[HD_F32] = rotate_pairs_f32;
    k->rotate_pairs[HD_F64] = rotate_pairs_f64;
}
