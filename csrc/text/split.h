/* split.h: where normalised text is cut before the model sees it: each step cuts the pieces of the one before. */
#ifndef HD_SPLIT_H
#define HD_SPLIT_H

#include "text/pattern.h"
#include "text/text.h"
#include "text/unicode.h"

/* Bytes from .. to - 1 of a text: a piece. */
typedef struct hd_piece {
    int64_t from, to;
} hd_piece;

typedef struct hd_pieces {
    hd_piece *items;
    int64_t items_capacity, count;
} hd_pieces;

/* What becomes of matches, as tokenizer.json names it. */
typedef enum hd_behavior {
    HD_REMOVED,
    HD_ISOLATED,
    HD_MERGED_WITH_PREVIOUS,
    HD_MERGED_WITH_NEXT,
    HD_CONTIGUOUS /* neighbouring matches are one */
} hd_behavior;

typedef enum hd_splitter_kind {
    HD_SPLIT_PATTERN,
    HD_SPLIT_LITERAL,
    HD_SPLIT_CLASS,        /* each character of a class is a match */
    HD_SPLIT_METASPACE,    /* spaces become a mark, which begins a piece */
    HD_SPLIT_PREFIX_SPACE, /* one space in front of pieces without (ByteLevel's) */
    HD_SPLIT_LENGTH        /* pieces of so many characters */
} hd_splitter_kind;

typedef struct hd_splitter {
    hd_splitter_kind kind;
    hd_behavior behavior;
    bool inverted; /* what does not match is the match */
    hd_pattern *pattern;
    hd_char_class class;
    char *literal; /* the mark, of metaspace */
    int64_t literal_capacity, literal_size;
    bool always, first,
        cuts; /* of metaspace: a mark in front of every piece, of the input's first one; cut before marks */
    int64_t length;
} hd_splitter;

void hd_splitter_free(hd_account *account, hd_splitter *s);

/* Cuts pieces of a text into `out`. Metaspace and prefix write other text too: then *text is written anew through `spare`, and the
 * two are exchanged. Empty pieces are dropped. */
hd_status hd_split_pieces(hd_ctx *cx, const hd_splitter *s, hd_text *text, hd_text *spare,
                          const hd_pieces *pieces, hd_pieces *out);

hd_status hd_pieces_add(hd_ctx *cx, hd_pieces *pieces, int64_t from, int64_t to);
void hd_pieces_free(hd_account *account, hd_pieces *pieces);

#endif
