/* minmax.h: the smaller and the larger of two sizes. */
#ifndef HD_MINMAX_H
#define HD_MINMAX_H

#include <stdint.h>

static inline int64_t hd_min(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static inline int64_t hd_max(int64_t a, int64_t b) {
    return a > b ? a : b;
}

#endif
