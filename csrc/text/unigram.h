/* unigram.h: a piece cut so that the sum of its tokens' log probabilities is greatest (Kudo 2018), by Viterbi's
 * search. */
#ifndef HD_UNIGRAM_H
#define HD_UNIGRAM_H

#include "text/tokens.h"
#include "text/trie.h"
#include "text/vocabulary.h"

typedef struct hd_unigram_step hd_unigram_step;

typedef struct hd_unigram {
    const hd_vocabulary *vocabulary;
    hd_trie trie;
    double *scores; /* by id */
    int64_t scores_capacity;
    double unknown_score;
    int32_t unknown;                             /* HD_NO_ID: a character without token is an error */
    bool fuse_unknown, byte_fallback, in_floats; /* sums are f32, as SentencePiece's */
    int32_t byte_ids[256];
    hd_unigram_step *steps; /* while a piece is read */
    int64_t steps_capacity;
    hd_tokens found;
} hd_unigram;

/* Once the vocabulary is whole. scores: one a token, NaN of those that are never found. */
hd_status hd_unigram_prepare(hd_ctx *cx, hd_unigram *u, const double *scores);
void hd_unigram_free(hd_account *account, hd_unigram *u);
hd_status hd_unigram_encode(hd_ctx *cx, hd_unigram *u, const char *text, int64_t from, int64_t to,
                            hd_tokens *out);

#endif
