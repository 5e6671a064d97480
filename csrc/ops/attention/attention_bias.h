/* attention_bias.h: the gradient of a bias, summed in its own shape over all that it is repeated for.
 *
 * Backward's tasks are numbered (sequence, head of keys, split of keys), the split fastest. Where two of them add to the same
 * entries they run one after the other, in this order: the number of threads changes no bit, and nothing is kept apart.
 */
#ifndef HD_ATTENTION_BIAS_H
#define HD_ATTENTION_BIAS_H

#include "base/parallel.h"
#include "ops/attention/attention_task.h"

/* Pairs of a sequence and a head of keys whose tasks may run at the same time. */
int64_t hd_bias_pairs(const hd_attention_task *a);
/* hd_parallel over all sequences, heads of keys and splits. */
hd_status hd_bias_parallel(hd_ctx *cx, const hd_attention_task *a, int64_t splits, hd_task task, void *arg);

/* Where entry (b, h, i, j) of the scores goes. */
static inline char *hd_bias_at(const hd_bias_gradient *t, int64_t size, int64_t b, int64_t h, int64_t i,
                               int64_t j) {
    return t->data + (b * t->stride[0] + h * t->stride[1] + i * t->stride[2] + j * t->stride[3]) * size;
}

#endif
