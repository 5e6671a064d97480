/* resolved_mask.h: a mask for the sizes of one call, and what attention asks of it: does a block of queries
 * see none of a block of keys, all, or some, and then which, a bit for every query.
 */
#ifndef HD_RESOLVED_MASK_H
#define HD_RESOLVED_MASK_H

#include "ops/attention/attention_mask.h"
#include "ops/attention/score_map.h"

/* A step with its numbers at hand: number(b, i) is a[b * a_batch + i * a_step]. */
typedef struct hd_resolved_step {
    hd_mask_code code;
    int64_t left, right;
    const int64_t *a, *b;
    int64_t a_batch, a_step, b_batch, b_step;
    hd_score_map dense;
} hd_resolved_step;

typedef struct hd_mask_resolved {
    int count;           /* 0: everything is seen */
    const int64_t *ends; /* [B]: row b has so many keys, and sees no others; NULL: all have S */
    hd_resolved_step step[HD_MASK_STEPS];
} hd_mask_resolved;

/* HD_EARG when tensors of the mask (NULL: everything is seen) do not fit scores = B, H, L, S. */
hd_status hd_mask_resolve(hd_ctx *cx, const hd_mask *mask, const int64_t scores[4], hd_mask_resolved *r);

/* Queries [i, i + lanes) of batch entry b and head h against keys [j, j + keys), all counted in the whole
 * tensor. shift: key j is at the position of query i when j = i + shift. */
typedef struct hd_resolved_block {
    int64_t b, h, i, lanes, j, keys, shift;
} hd_resolved_block;

enum { HD_RESOLVED_LANES = 32, HD_RESOLVED_KEYS = 64 };

typedef enum hd_seen { HD_SEEN_NONE, HD_SEEN_SOME, HD_SEEN_ALL } hd_seen;

/* What is seen of a block of at most HD_RESOLVED_LANES and HD_RESOLVED_KEYS. SOME: bit l of bits[n] tells
 * whether query i + l sees key j + n; bits of further lanes are 0. Else bits are not written. */
hd_seen hd_resolved_seen(const hd_mask_resolved *r, const hd_resolved_block *block, uint32_t *bits);
/* Narrows [j, j + keys) of the block to what holds every key that one of its queries may see. */
void hd_resolved_narrow(const hd_mask_resolved *r, hd_resolved_block *block);
/* The keys [j, j + keys) of one query as bytes in `to`, any number of them; NULL: all are seen. */
const uint8_t *hd_resolved_row(const hd_mask_resolved *r, const hd_resolved_block *row, uint8_t *to);

#endif
