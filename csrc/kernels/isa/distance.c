/* distance.c: distances (sum |x - y|^p)^(1/p) of one row to others, and their gradient. */
#include <float.h>

#include "kernels/isa/parts.h"
#include "kernels/vec_math.h"

#define HD_REAL 32
#include "kernels/isa/distance_body.h"
#define HD_REAL 64
#include "kernels/isa/distance_body.h"

/* largest_of_f32 largest_of_f64 distance_by_shares_f32 distance_by_shares_f64 distance_f32 distance_f64
 * add_four_f32 add_four_f64 distances_f32 distances_f64 distances_by_products_f32 distances_by_products_f64
 * distances_grad_f32 distances_grad_f64 */
void HD_ISA(hd_fill_distance)(hd_kernels *k) {
    k->distances[HD_F32] = distances_f32;
    k->distances[HD_F64] = distances_f64;
    k->distances_by_products[HD_F32] = distances_by_products_f32;
    k->distances_by_products[HD_F64] = distances_by_products_f64;
    k->distances_grad[HD_F32] = distances_grad_f32;
    k->distances_grad[HD_F64] = distances_grad_f64;
}
