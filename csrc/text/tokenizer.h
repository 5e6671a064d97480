/* tokenizer.h: text in, ids out, by the steps that a tokenizer's file describes.
 *
 *     added tokens that are looked for in the input as it is
 *     normalizers           one after the other
 *     added tokens that are looked for in normalised text
 *     splitters             one after the other
 *     the model             of each piece
 *
 * A tokenizer belongs to one thread at a time, as its context does.
 */
#ifndef HD_TOKENIZER_H
#define HD_TOKENIZER_H

#include "text/added.h"
#include "text/bpe.h"
#include "text/normalize.h"
#include "text/split.h"
#include "text/unigram.h"
#include "text/wordpiece.h"

typedef enum hd_model_kind { HD_MODEL_BPE, HD_MODEL_UNIGRAM, HD_MODEL_WORDPIECE } hd_model_kind;

typedef struct hd_tokenizer {
    hd_vocabulary vocabulary; /* of the model */
    hd_vocabulary all;        /* with the added tokens */
    hd_model_kind model;
    hd_bpe bpe;
    hd_unigram unigram;
    hd_wordpiece wordpiece;
    hd_normalizer *normalizers;
    int64_t normalizers_capacity, normalizer_count;
    hd_splitter *splitters;
    int64_t splitters_capacity, splitter_count;
    hd_added raw, normalized; /* where they are looked for */
    hd_text texts[2], input;  /* while a text is read */
    hd_pieces pieces[2];
    hd_tokens tokens;
} hd_tokenizer;

void hd_tokenizer_free(hd_account *account, hd_tokenizer *t);

/* Puts a token of the file in front of what is looked for. */
hd_status hd_tokenizer_add(hd_ctx *cx, hd_tokenizer *t, const char *text, int64_t length,
                           hd_added_token token, bool normalized);

/* The tokens of text, which may be any bytes (what is no UTF-8 reads as U+FFFD), in t->tokens: from and to are bytes
 * of the input when offsets are asked for. specials: special tokens that are written out in the text count. */
hd_status hd_tokenizer_encode(hd_ctx *cx, hd_tokenizer *t, const char *text, int64_t size, bool specials,
                              bool offsets);

#endif
