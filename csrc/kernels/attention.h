/* attention.h: the steps of attention on one block of queries and one block of keys. Each lane of a
 * vector holds one query. ops/attention/attention_tiled.c builds attention from these steps;
 * docs/attention.md has the picture.
 *
 * A block holds `lanes` queries. Its data are transposed, so that a row has one number per query:
 *
 *     q, out and their gradients    [features][lanes]
 *     scores and weights            [keys][lanes]
 *     maxima, sums, lse, delta      [lanes]
 *
 * All of these are scratch, aligned to 64 bytes. Keys and values are read where they lie, as rows
 * of contiguous features, `row` elements apart. Nothing is read past the end of a row.
 *
 * Scores are multiplied by log2 e, so that a weight is 2^(score - largest).
 */
#ifndef HD_KERNELS_ATTENTION_H
#define HD_KERNELS_ATTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"

/* Upper bounds for every type and instruction set: lanes (bits of a mask word), keys of a block. */
#define HD_LANES 32
#define HD_BLOCK_KEYS 64
#define HD_AHEAD 8 /* most runs of an hd_ahead */

/* The lanes are two vectors. If the mask hides one of them entirely, only the other is computed. */
typedef enum hd_halves { HD_FIRST_HALF = 1, HD_SECOND_HALF, HD_BOTH_HALVES } hd_halves;

/* How products become scores: softcap, then slope, then bias, then the mask. */
typedef struct hd_score_rules {
    double softcap;       /* in natural units; the products were divided by it. 0: none */
    const void *bias;     /* [keys][lanes], added; NULL: none */
    const uint32_t *bits; /* one word per key: the lanes that see it; NULL: all do */
    double slope;         /* ALiBi: slope · |first + lane - key| is subtracted */
    int64_t first;        /* the position of lane 0 minus that of key 0 */
    void *cap;            /* [keys][lanes]: receives the derivative of the cap; NULL: not wanted */
} hd_score_rules;

/* Rows to prefetch: products and accumulate fetch `rows` of them after each tile, from the last run
 * first. */
typedef struct hd_ahead_run {
    const char *row;
    int64_t step, bytes, left; /* bytes to the next row, bytes of a row, rows left */
} hd_ahead_run;
typedef struct hd_ahead {
    hd_ahead_run run[HD_AHEAD];
    int count;
    int64_t rows;
} hd_ahead;

typedef struct hd_attention_kernels {
    int64_t lanes, keys; /* of a block: whole register tiles */
    int64_t run;         /* fewest keys that are worth a step of their own */
    /* to[d][l] = scale · from[l · row + d] for l < count, 0 for the other lanes */
    void (*pack)(int64_t count, int64_t features, const void *from, int64_t row, double scale, void *to);
    /* to[l · row + d] = from[d][l] · factor[l] for l < count; added to what is there when add. factor
     * NULL: 1 */
    void (*unpack)(int64_t count, int64_t features, const void *from, const void *factor, void *to,
                   int64_t row, bool add);
    /* s[n][l] = sum_d x[n · row + d] q[d][l]; best[l] = max(best[l], max_n s[n][l]), skipping NaN
     * (best NULL: not wanted). ahead NULL: nothing is prefetched. */
    void (*products)(hd_halves halves, int64_t keys, int64_t features, const void *x, int64_t row,
                     const void *q, void *s, void *best, hd_ahead *ahead);
    /* Turns the products s into scores by the rules; -inf where not seen. best as above. */
    void (*score)(hd_halves halves, int64_t keys, const hd_score_rules *rules, void *s, void *best);
    /* One block of an online softmax:
     *     s = 2^(s - best), exactly 0 where s is -inf
     *     factor = 2^(largest - best);  sum = sum · factor + sum_n s[n];  largest = best
     * A lane that has seen nothing keeps largest = -inf. */
    void (*exp_sum)(hd_halves halves, int64_t keys, void *s, const void *best, void *largest, void *sum,
                    void *factor);
    /* o[d][l] = o[d][l] · factor[l] + sum_n x[n · row + d] p[n][l]; factor NULL: 1 */
    void (*accumulate)(hd_halves halves, int64_t keys, int64_t features, const void *x, int64_t row,
                       const void *p, const void *factor, void *o, hd_ahead *ahead);
    /* to[n · to_row + d] += sum over lanes l < count of p[n][l] x[l · row + d] */
    void (*accumulate_transposed)(int64_t keys, int64_t count, int64_t features, const void *p, const void *x,
                                  int64_t row, void *to, int64_t to_row);
    /* lse[l] = largest + log2 sum, inverse[l] = 1 / sum; -inf and 0 if the lane has seen nothing */
    void (*finish)(const void *largest, const void *sum, void *lse, void *inverse);
    /* delta[l] = sum_d a[d][l] b[d][l] */
    void (*dot)(int64_t features, const void *a, const void *b, void *delta);
    /* s = 2^(s - lse), 0 where not seen (bits NULL: all are seen) */
    void (*weights)(hd_halves halves, int64_t keys, const void *lse, const uint32_t *bits, void *s);
    /* Backward through softmax, with p = 2^(s - lse) and dp[n][l] = v_n · g_l:
     *     dp = p (dp - delta),  s = p
     * With dropout (kept not NULL), dp counts as dp · scale where kept and as 0 elsewhere, and s is
     * p · scale where kept, else 0. Both are 0 where not seen, whatever dp holds. */
    void (*slopes)(hd_halves halves, int64_t keys, const void *lse, const void *delta, const uint32_t *bits,
                   const uint32_t *kept, double scale, void *s, void *dp);
    /* s = s · cap, 0 where not seen */
    void (*uncap)(hd_halves halves, int64_t keys, const void *cap, const uint32_t *bits, void *s);
    /* Clears the bits of lanes whose bias is -inf; returns whether there was one. */
    bool (*unhide)(int64_t keys, const void *bias, uint32_t *bits);
    /* p = p · scale where the bit is set, else 0 */
    void (*drop)(hd_halves halves, int64_t keys, const uint32_t *kept, double scale, void *p);
    /* Bit l of kept[n], l < count: element first + l · row + n of the draw is kept, which has
     * probability 1 - p. The other bits are 0. */
    void (*draw)(hd_draw draw, int64_t first, int64_t row, int64_t count, int64_t keys, double p,
                 uint32_t *kept);
    /* Whether all rows x features numbers are finite. */
    bool (*finite)(int64_t rows, int64_t features, const void *x, int64_t row);
    /* o[d][l] += x[d] p[l], only in the lanes whose bit is set */
    void (*accumulate_seen)(int64_t features, const void *x, const void *p, uint32_t bits, void *o);
} hd_attention_kernels;

#endif
