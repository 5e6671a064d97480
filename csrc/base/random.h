/* random.h: counter-based random numbers, Philox 4x32-10 (Salmon et al. 2011, "Parallel random
 * numbers: as easy as 1, 2, 3").
 *
 * Element i of draw n under seed s is the same wherever and by how many threads it is computed:
 * key = seed (64 bits), counter = (i / 4, draw) and word i % 4.
 */
#ifndef HD_RANDOM_H
#define HD_RANDOM_H

#include <stdint.h>

typedef struct hd_rng {
    uint64_t seed;
    uint64_t draw; /* the next draw's number */
} hd_rng;

/* What one operation drew: enough to draw it again (dropout saves this, not a mask). */
typedef struct hd_draw {
    uint64_t seed, draw;
} hd_draw;

static inline hd_draw hd_rng_take(hd_rng *rng) {
    hd_draw d = {rng->seed, rng->draw++};
    return d;
}

/* One block: four words of counter (block, draw) under seed. */
void hd_philox(hd_draw draw, uint64_t block, uint32_t out[4]);

/* One number, for the rare draw: uniform in [0,1), 53 bits of words 2i (low) and 2i + 1 (high). (An f32
 * is 24 bits of word i.) */
double hd_draw_f64(hd_draw draw, uint64_t i);

#endif
