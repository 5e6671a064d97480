/* normalize.h: what is done to text before it is cut: each step reads one text and writes another. */
#ifndef HD_NORMALIZE_H
#define HD_NORMALIZE_H

#include "text/charsmap.h"
#include "text/pattern.h"
#include "text/text.h"
#include "text/trie.h"

typedef enum hd_normalizer_kind {
    HD_NORMALIZE_FORM, /* NFC, NFD, NFKC, NFKD */
    HD_NORMALIZE_LOWERCASE,
    HD_NORMALIZE_STRIP_ACCENTS, /* drops marks */
    HD_NORMALIZE_BERT,          /* clean, spaces around Han, accents, lower case: each when asked for */
    HD_NORMALIZE_NMT,           /* SentencePiece's own: controls out, spaces to one kind */
    HD_NORMALIZE_STRIP,         /* space at the ends */
    HD_NORMALIZE_REPLACE,       /* a literal or a regular expression by a text */
    HD_NORMALIZE_PREPEND,
    HD_NORMALIZE_CHARSMAP,     /* by graphemes, as tokenizer.json's Precompiled */
    HD_NORMALIZE_SENTENCEPIECE /* the same rules as SentencePiece applies them, and its spaces */
} hd_normalizer_kind;

typedef struct hd_normalizer {
    hd_normalizer_kind kind;
    bool composed, compatible;                             /* of a form */
    bool clean, spaced_han, without_accents, in_lowercase; /* of BERT */
    bool left, right;                                      /* of strip */
    bool one_space, first_space; /* of SentencePiece: runs become one, none at the ends; one in front */
    char *from, *to;             /* of replace and prepend (to) */
    int64_t from_capacity, from_size, to_capacity, to_size;
    hd_pattern *pattern; /* of replace, instead of from */
    hd_charsmap map;
    hd_trie kept; /* of SentencePiece: symbols that the rules leave alone */
} hd_normalizer;

void hd_normalizer_free(hd_account *account, hd_normalizer *n);
/* Could it change this text? Told at a glance: no for most English, and a form of Unicode. */
bool hd_normalizer_changes(const hd_normalizer *n, const hd_text *text);
hd_status hd_normalize(hd_ctx *cx, const hd_normalizer *n, const hd_text *text, hd_text *out);

#endif
