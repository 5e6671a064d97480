/* loss.c: cross-entropy of one row of logits, with label smoothing (Szegedy et al. 2016).
 *
 *     loss = sum_j t_j (log sum_i e^(x_i) - x_j)       grad = softmax(x) - t
 *
 * t is the smoothed target. It has at most three different numbers, so it is never written out.
 */
#include "kernels/isa/parts.h"
#include "kernels/vec_math.h"

#define BLOCK 4096

/* The smoothed target t. With `excluded`: t = own at the target, each at the other classes with
 * excluded[j] == 0, and 0 elsewhere. Without: t = each everywhere, own more at the target. */
typedef struct shares {
    double own, each;
    int64_t target;
    const uint8_t *excluded;
} shares;

static shares shares_of(int64_t n, int64_t target, double smoothing, const uint8_t *excluded) {
    shares s = {1 - smoothing, 0, target, excluded};
    if (smoothing == 0) return s;
    int64_t others = n;
    if (excluded) {
        others = 0;
        for (int64_t j = 0; j < n; j++) others += j != target && !excluded[j];
    }
    if (others == 0)
        s.own = 1; /* no class to share with */
    else
        s.each = smoothing / (double)others;
    return s;
}

#define HD_REAL 32
#include "kernels/isa/loss_body.h"
#define HD_REAL 64
#include "kernels/isa/loss_body.h"

void HD_ISA(hd_fill_loss)(hd_kernels *k) {
    k->cross_entropy_row[HD_F32] = cross_entropy_f32;
    k->cross_entropy_row[HD_F64] = cross_entropy_f64;
}
