/* attention.h: the steps of attention on one block of queries against one block of keys, in vectors whose lanes are
 * queries. ops/attention_tiled.c puts attention together from them; docs/attention.md has the picture.
 *
 * A block holds `lanes` queries. What belongs to them lies across: [features][lanes] of q, out and their gradients,
 * [keys][lanes] of scores, [lanes] of maxima and sums; all of that is scratch, aligned to 64 bytes. Keys and values
 * are read as they lie: rows of contiguous features, `row` elements apart. Nothing is read past the end of a row.
 *
 * Scores are in units of log2 e: a weight is 2^(score - largest).
 */
#ifndef HD_KERNELS_ATTENTION_H
#define HD_KERNELS_ATTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"

/* At most, of any type and instruction set: bits of a word, and keys of a block. */
#define HD_LANES 32
#define HD_BLOCK_KEYS 64
#define HD_AHEAD 8 /* runs, at most */

/* Lanes are two vectors; where only one of them has something to do, only that is worked on. */
typedef enum hd_halves { HD_FIRST_HALF = 1, HD_SECOND_HALF, HD_BOTH_HALVES } hd_halves;

/* What stands between products and scores. */
typedef struct hd_score_rules {
    double softcap;       /* in natural units; products come divided by it. 0: none */
    const void *bias;     /* [keys][lanes], added; NULL: none */
    const uint32_t *bits; /* a word a key: the lanes that see it; NULL: all do */
    double slope;         /* slope · |first + lane - key| is taken off */
    int64_t first;        /* the position of lane 0, less that of key 0 */
    void *cap;            /* [keys][lanes]: the slope of the cap is left here; NULL: not wanted */
} hd_score_rules;

/* Rows that are far away and wanted soon: products and mix have some of them fetched after each of their tiles, `rows`
 * of the last run first. */
typedef struct hd_ahead_run {
    const char *row;
    int64_t step, bytes, left; /* to the next row, of a row, rows */
} hd_ahead_run;
typedef struct hd_ahead {
    hd_ahead_run run[HD_AHEAD];
    int count;
    int64_t rows;
} hd_ahead;

typedef struct hd_attention_kernels {
    int64_t lanes, keys; /* of a block: whole register tiles */
    int64_t run;         /* keys that are worth a step of their own */
    /* to[d][l] = scale · from[l · row + d] for l < count, 0 for the other lanes */
    void (*spread)(int64_t count, int64_t features, const void *from, int64_t row, double scale, void *to);
    /* to[l · row + d] = from[d][l] · factor[l] for l < count; added to what is there when add. factor NULL: 1 */
    void (*collect)(int64_t count, int64_t features, const void *from, const void *factor, void *to,
                    int64_t row, bool add);
    /* s[n][l] = sum_d x[n · row + d] q[d][l]; best[l] = the larger of itself and these (best NULL: not wanted; NaN is
     * passed over). ahead NULL: none */
    void (*products)(hd_halves halves, int64_t keys, int64_t features, const void *x, int64_t row,
                     const void *q, void *s, void *best, hd_ahead *ahead);
    /* s becomes scores by the rules, -inf where not seen; best as above */
    void (*judge)(hd_halves halves, int64_t keys, const hd_score_rules *rules, void *s, void *best);
    /* s becomes 2^(s - best), exactly 0 for -inf; sum = sum · factor + the sum of these with factor = 2^(largest -
     * best); largest = best. A lane that has seen nothing keeps -inf. */
    void (*weigh)(hd_halves halves, int64_t keys, void *s, const void *best, void *largest, void *sum,
                  void *factor);
    /* o[d][l] = o[d][l] · factor[l] + sum_n x[n · row + d] p[n][l]; factor NULL: 1 */
    void (*mix)(hd_halves halves, int64_t keys, int64_t features, const void *x, int64_t row, const void *p,
                const void *factor, void *o, hd_ahead *ahead);
    /* to[n · to_row + d] += sum over lanes l < count of p[n][l] x[l · row + d] */
    void (*spill)(int64_t keys, int64_t count, int64_t features, const void *p, const void *x, int64_t row,
                  void *to, int64_t to_row);
    /* largest and sum become lse[l] = largest + log2 sum (-inf: nothing was seen) and inverse[l] = 1 / sum, 0 there */
    void (*finish)(const void *largest, const void *sum, void *lse, void *inverse);
    /* delta[l] = sum_d a[d][l] b[d][l] */
    void (*dot)(int64_t features, const void *a, const void *b, void *delta);
    /* s becomes 2^(s - lse), 0 where not seen (bits NULL: all are) */
    void (*weights)(hd_halves halves, int64_t keys, const void *lse, const uint32_t *bits, void *s);
    /* The same, p, and dp, which comes as products of the gradient of out with values, becomes p (dp - delta), 0 where
     * not seen whatever it holds. With dropout (kept not NULL) dp · scale counts where kept, else 0; and s becomes
     * p · scale, else 0. */
    void (*slopes)(hd_halves halves, int64_t keys, const void *lse, const void *delta, const uint32_t *bits,
                   const uint32_t *kept, double scale, void *s, void *dp);
    /* s = s · cap, 0 where not seen */
    void (*uncap)(hd_halves halves, int64_t keys, const void *cap, const uint32_t *bits, void *s);
    /* Takes the lanes whose bias is -inf out of bits; is there one? */
    bool (*unhide)(int64_t keys, const void *bias, uint32_t *bits);
    /* p = p · scale where the bit is set, else 0 */
    void (*drop)(hd_halves halves, int64_t keys, const uint32_t *kept, double scale, void *p);
    /* Bit l of kept[n], l < count (others: 0): does element first + l · row + n of the draw stay, with probability 1 - p? */
    void (*draw)(hd_draw draw, int64_t first, int64_t row, int64_t count, int64_t keys, double p,
                 uint32_t *kept);
    /* Is every one of rows x features finite? */
    bool (*finite)(int64_t rows, int64_t features, const void *x, int64_t row);
    /* o[d][l] += x[d] p[l] in the lanes of bits */
    void (*mix_seen)(int64_t features, const void *x, const void *p, uint32_t bits, void *o);
} hd_attention_kernels;

#endif
