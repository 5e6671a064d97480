/* attention_mask.h: masks of attention as small programs.
 *
 * A program (hd_mask) is a list of steps in postfix order: rules push which keys are seen, AND and OR join
 * the two uppermost results, NOT inverts the uppermost; one is left at the end. It is made once, is never
 * changed, and serves any sizes that its tensors fit. Attention resolves it for the sizes of a call and asks
 * it block by block (resolved_mask.h): nothing of the size L x S is made.
 */
#ifndef HD_ATTENTION_MASK_H
#define HD_ATTENTION_MASK_H

#include "tensor/tensor.h"

/* With p = S - L + i the position of query i among the keys (all from 0). Of packed sequences p and j count
 * within each for CAUSAL, WINDOW and DILATED, and in the whole row for the others. */
typedef enum hd_mask_code {
    HD_MASK_CAUSAL,   /* j <= p */
    HD_MASK_WINDOW,   /* p - left <= j <= p + right */
    HD_MASK_PREFIX,   /* j < left; with a tensor, i64 [B], j < tensor[b] */
    HD_MASK_LENGTHS,  /* j < tensor[b]: i64 [B], each 0..S: what stands behind is padding */
    HD_MASK_SEGMENTS, /* tensor[b, i] = keys[b, j]: i64 [L] or [B, L], and [S] or [B, S] */
    HD_MASK_DILATED,  /* p - j is a multiple of left, which is at least 1 */
    HD_MASK_DENSE,    /* tensor[b, h, i, j] is not 0: bool or integers that broadcast to [B, H, L, S] */
    HD_MASK_ENDS, /* row b has tensor[b] keys (i64 [B]) instead of S, for all steps; once, joined by AND */
    HD_MASK_AND,
    HD_MASK_OR,
    HD_MASK_NOT
} hd_mask_code;

typedef struct hd_mask_step {
    hd_mask_code code;
    int64_t left, right; /* WINDOW, PREFIX, DILATED */
    hd_tensor *tensor, *keys;
} hd_mask_step;

#define HD_MASK_STEPS 40 /* at most */

/* A program, checked. What ENDS says stands beside the other steps. */
typedef struct hd_mask {
    int refs, count; /* count 0: all is seen, up to the ends */
    hd_account *account;
    hd_tensor *ends; /* or NULL */
    hd_mask_step step[];
} hd_mask;

/* A new reference; retains the tensors. HD_EARG when the steps leave other than one result, or a tensor is
 * not of the kind said above. */
hd_mask *hd_mask_new(hd_ctx *cx, int count, const hd_mask_step *steps);
hd_mask *hd_mask_retain(hd_mask *mask);
void hd_mask_release(hd_mask *mask); /* NULL is fine */
/* A number that is another after a write to one of its tensors. mask may be NULL. */
uint64_t hd_mask_version(const hd_mask *mask);

/* The usual programs. */
hd_mask *hd_mask_causal(hd_ctx *cx);
hd_mask *hd_mask_lengths(hd_ctx *cx, hd_tensor *lengths);
hd_mask *hd_mask_of_tensor(hd_ctx *cx, hd_tensor *t); /* DENSE */
/* What both let see. Consumes a and b; NULL when one is NULL: its maker has failed. */
hd_mask *hd_mask_and(hd_ctx *cx, hd_mask *a, hd_mask *b);

#endif
