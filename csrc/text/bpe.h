/* bpe.h: byte pair encoding (Sennrich, Haddow and Birch 2016): a piece begins as characters or bytes, and the two
 * neighbours whose union comes first in the list are joined until none can be.
 *
 * The list is one of merges (pairs in order), or the tokens' scores (SentencePiece: any two whose union is a token
 * may be joined, the greatest score first). Of equals, the leftmost goes first.
 */
#ifndef HD_BPE_H
#define HD_BPE_H

#include "text/tokens.h"
#include "text/vocabulary.h"

typedef struct hd_merge {
    uint64_t pair; /* left id << 32 | right id, + 1; 0: none here */
    uint32_t rank;
    int32_t id;
} hd_merge;

typedef struct hd_bpe_cache hd_bpe_cache; /* what short pieces became, as text repeats itself */

typedef struct hd_symbol {
    int32_t id; /* HD_NO_ID: of no token */
    int32_t before, after;
    int64_t from, to;
} hd_symbol;

typedef struct hd_bpe {
    const hd_vocabulary *vocabulary;
    hd_vocabulary bytes_of; /* byte-level: the tokens by the bytes that they stand for */
    bool byte_level, by_score, whole_first, fuse_unknown, byte_fallback;
    int32_t unknown;             /* HD_NO_ID: what has no token is left out */
    char prefix[16], suffix[16]; /* of parts that do not begin a piece, of those that end one; usually "" */
    hd_merge *merges;
    int64_t merge_slots, merge_count;
    uint32_t *ranks;       /* by id, of scores */
    int32_t byte_ids[256]; /* "<0x0A>" */
    hd_bpe_cache *cache;
    hd_symbol *symbols; /* while a piece is read */
    int64_t symbols_capacity;
    uint64_t *heap;
    int64_t heap_capacity, heap_count;
} hd_bpe;

/* Once the vocabulary is whole: the bytes that tokens stand for, byte tokens. */
hd_status hd_bpe_prepare(hd_ctx *cx, hd_bpe *b);
/* left and right are joined in this place of the list. False: one of the three is no token. */
hd_status hd_bpe_add_merge(hd_ctx *cx, hd_bpe *b, const char *left, int64_t left_size, const char *right,
                           int64_t right_size, uint32_t rank, bool *known);
/* scores: one a token. Tokens that are no use (control, unused) have NaN. */
hd_status hd_bpe_set_scores(hd_ctx *cx, hd_bpe *b, const double *scores);
void hd_bpe_free(hd_account *account, hd_bpe *b);

/* Appends the tokens of text[from .. to - 1]. */
hd_status hd_bpe_encode(hd_ctx *cx, hd_bpe *b, const char *text, int64_t from, int64_t to, hd_tokens *out);

/* The bytes that a token of a byte-level vocabulary stands for, at most `length`; false when it has other
 * characters. */
bool hd_bytes_of_token(const char *text, int64_t length, char *out, int64_t *size);

#endif
