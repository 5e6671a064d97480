/* attention_mask.h: which keys a query may see, as a small program that attention asks block by block.
 *
 * A mask (hd_mask) is a list of steps in postfix order: primitives push who is seen, AND and OR join the two
 * uppermost, NOT turns the uppermost around; one is left at the end. It is made once (by Lua's mask objects, or
 * from an hd_attention_options), is never changed, and serves any sizes that its tensors fit.
 *
 * Resolved for one call (hd_sight) it answers for a block of queries against a block of keys: none is seen, all
 * are, or some, and then which, a bit for every query. Nothing of the size L x S is made for it.
 */
#ifndef HD_ATTENTION_MASK_H
#define HD_ATTENTION_MASK_H

#include "tensor/tensor.h"

/* With p = S - L + i the position of query i among the keys (all from 0): */
typedef enum hd_mask_code {
    HD_MASK_CAUSAL,        /* j <= p */
    HD_MASK_WINDOW,        /* p - left <= j <= p + right */
    HD_MASK_PREFIX,        /* j < left */
    HD_MASK_LENGTHS,       /* j < tensor[b]: i64 [B] (a prefix that differs by row, too) */
    HD_MASK_QUERY_LENGTHS, /* i < tensor[b]: i64 [B]; other queries see nothing */
    HD_MASK_SEGMENTS,      /* tensor[b, i] = keys[b, j]: i64 [L] or [B, L], and [S] or [B, S] */
    HD_MASK_DENSE,         /* tensor[b, h, i, j] is not 0: bool or integers that broadcast to [B, H, L, S] */
    HD_MASK_AND,
    HD_MASK_OR,
    HD_MASK_NOT
} hd_mask_code;

typedef struct hd_mask_step {
    hd_mask_code code;
    /* CAUSAL and WINDOW on packed sequences: p and j count within each, and p is aligned to its end. Else they count
     * in the whole row. Without packed sequences there is no difference. */
    bool within;
    int64_t left, right; /* WINDOW, PREFIX */
    hd_tensor *tensor, *keys;
} hd_mask_step;

#define HD_MASK_STEPS 32 /* at most */

typedef struct hd_mask hd_mask;

/* A new reference; retains the tensors. HD_EARG when the steps leave other than one result, or a tensor is not of
 * the kind said above. */
hd_mask *hd_mask_new(hd_ctx *cx, int count, const hd_mask_step *steps);
hd_mask *hd_mask_retain(hd_mask *mask);
void hd_mask_release(hd_mask *mask); /* NULL is fine */
/* A number that is another after a write to one of its tensors. mask may be NULL. */
uint64_t hd_mask_version(const hd_mask *mask);

/* ---- asking (csrc/ops) ------------------------------------------------------------------------------ */

/* A mask or bias seen as [B, H, L, S]: strides of 0 repeat. data NULL: none. */
typedef struct hd_score_map {
    const char *data;
    hd_dtype dtype;
    int64_t stride[4];
} hd_score_map;

/* Checks that t broadcasts to [B, H, L, S]. */
hd_status hd_score_map_of(hd_ctx *cx, const char *argument, const hd_tensor *t, const int64_t shape[4],
                          hd_score_map *map);

/* A step with its numbers at hand: number(b, i) is a[b * a_batch + i * a_step]. */
typedef struct hd_sight_step {
    hd_mask_code code;
    bool within;
    int64_t left, right;
    const int64_t *a, *b;
    int64_t a_batch, a_step, b_batch, b_step;
    hd_score_map dense;
} hd_sight_step;

typedef struct hd_sight {
    int count; /* 0: everything is seen */
    int64_t L, S;
    hd_sight_step step[HD_MASK_STEPS + 8];
} hd_sight;

/* Queries [i, i + lanes) of batch entry b and head h against keys [j, j + keys), all counted in the whole tensor.
 * shift: key j is at the position of query i when j = i + shift, within the packed sequence that both are of; S - L
 * without. */
typedef struct hd_sight_block {
    int64_t b, h, i, lanes, j, keys, shift;
} hd_sight_block;

enum { HD_SIGHT_LANES = 32, HD_SIGHT_KEYS = 64 };

typedef enum hd_seen { HD_SEEN_NONE, HD_SEEN_SOME, HD_SEEN_ALL } hd_seen;

/* What is seen of the block, of HD_SIGHT_LANES and HD_SIGHT_KEYS at most. SOME: bit l of bits[n] tells whether query
 * i + l sees key j + n; bits of further lanes are 0. Else bits are not written. */
hd_seen hd_sight_of(const hd_sight *sight, const hd_sight_block *block, uint32_t *bits);
/* Narrows [j, j + keys) of the block to what holds every key that one of its queries may see. */
void hd_sight_narrow(const hd_sight *sight, hd_sight_block *block);
/* The keys [j, j + keys) of one query as bytes, any number of them; NULL: all are seen. */
const uint8_t *hd_sight_row(const hd_sight *sight, const hd_sight_block *row, uint8_t *room);

/* Adds "and what the mask lets see", or one step, to a sight; HD_EARG when tensors do not fit scores = B, H, L, S. */
hd_status hd_sight_add(hd_ctx *cx, hd_sight *sight, const hd_mask *mask, const int64_t scores[4]);
hd_status hd_sight_add_step(hd_ctx *cx, hd_sight *sight, const hd_mask_step *step, const int64_t scores[4]);

#endif
