/* wordpiece.h: a piece cut from the left, each time by the longest token there is (BERT's); and whole pieces looked
 * up as they are. */
#ifndef HD_WORDPIECE_H
#define HD_WORDPIECE_H

#include "text/tokens.h"
#include "text/trie.h"
#include "text/vocabulary.h"

typedef struct hd_wordpiece {
    const hd_vocabulary *vocabulary;
    hd_trie first, further; /* tokens that begin a piece; those with the prefix, without it */
    int64_t most_chars;     /* a longer piece is unknown */
    int32_t unknown;
    bool whole; /* WordLevel: the piece is a token, or unknown */
} hd_wordpiece;

/* Once the vocabulary is whole. prefix: "##". */
hd_status hd_wordpiece_prepare(hd_ctx *cx, hd_wordpiece *w, const char *prefix, int64_t length);
void hd_wordpiece_free(hd_account *account, hd_wordpiece *w);
hd_status hd_wordpiece_encode(hd_ctx *cx, const hd_wordpiece *w, const char *text, int64_t from, int64_t to,
                              hd_tokens *out);

#endif
