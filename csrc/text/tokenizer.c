#include "text/tokenizer.h"

#include "base/utf8.h"

void hd_tokenizer_free(hd_account *account, hd_tokenizer *t) {
    for (int64_t i = 0; i < t->normalizer_count; i++) hd_normalizer_free(account, &t->normalizers[i]);
    for (int64_t i = 0; i < t->splitter_count; i++) hd_splitter_free(account, &t->splitters[i]);
    hd_free(account, t->normalizers);
    hd_free(account, t->splitters);
    hd_bpe_free(account, &t->bpe);
    hd_unigram_free(account, &t->unigram);
    hd_wordpiece_free(account, &t->wordpiece);
    hd_added_free(account, &t->raw);
    hd_added_free(account, &t->normalized);
    hd_vocabulary_free(account, &t->vocabulary);
    hd_vocabulary_free(account, &t->all);
    for (int i = 0; i < 2; i++) {
        hd_text_free(account, &t->texts[i]);
        hd_pieces_free(account, &t->pieces[i]);
    }
    hd_text_free(account, &t->input);
    hd_tokens_free(account, &t->tokens);
    *t = (hd_tokenizer){0};
}

/* Texts that grew large for one input are not kept for the next. */
#define KEPT_BYTES (1 << 20)

static void trim(hd_ctx *cx, hd_tokenizer *t) {
    for (int i = 0; i < 2; i++) {
        if (t->texts[i].bytes_capacity > KEPT_BYTES) hd_text_free(cx->account, &t->texts[i]);
        if (t->pieces[i].items_capacity > KEPT_BYTES / 16) hd_pieces_free(cx->account, &t->pieces[i]);
    }
    if (t->input.bytes_capacity > KEPT_BYTES) hd_text_free(cx->account, &t->input);
}

/* ---- a part of the input without added tokens ---------------------------------------------- */

static hd_status encode_piece(hd_ctx *cx, hd_tokenizer *t, const char *text, hd_piece piece) {
    switch (t->model) {
    case HD_MODEL_BPE: return hd_bpe_encode(cx, &t->bpe, text, piece.from, piece.to, &t->tokens);
    case HD_MODEL_UNIGRAM: return hd_unigram_encode(cx, &t->unigram, text, piece.from, piece.to, &t->tokens);
    default: return hd_wordpiece_encode(cx, &t->wordpiece, text, piece.from, piece.to, &t->tokens);
    }
}

/* From bytes of the text to bytes of the input, for the tokens from `first` on. */
static void to_input(hd_tokenizer *t, const hd_text *text, int64_t first) {
    for (int64_t i = first; i < t->tokens.count; i++) {
        hd_token *token = &t->tokens.items[i];
        const hd_origin origin = hd_text_range(text, token->from, token->to);
        token->from = origin.from;
        token->to = origin.to;
    }
}

/* Cuts a part of texts[0] that holds no added tokens, and gives its pieces to the model. */
static hd_status encode_part(hd_ctx *cx, hd_tokenizer *t, hd_text *text, hd_text *spare) {
    hd_pieces *pieces = &t->pieces[0], *cut = &t->pieces[1];
    pieces->count = 0;
    hd_status status = hd_pieces_add(cx, pieces, 0, text->size);
    for (int64_t i = 0; i < t->splitter_count && !status; i++) {
        status = hd_split_pieces(cx, &t->splitters[i], text, spare, pieces, cut);
        hd_pieces *kept = pieces;
        pieces = cut;
        cut = kept;
    }
    const int64_t first = t->tokens.count;
    for (int64_t i = 0; i < pieces->count && !status; i++) {
        if (i % 4096 == 4095 && hd_must_stop(cx)) return hd_fail(cx, HD_ECANCEL, "interrupted");
        status = encode_piece(cx, t, text->bytes, pieces->items[i]);
    }
    if (!status && text->traced) to_input(t, text, first);
    return status;
}

static hd_status normalize(hd_ctx *cx, hd_tokenizer *t) {
    hd_status status = HD_OK;
    for (int64_t i = 0; i < t->normalizer_count && !status; i++) {
        if (!hd_normalizer_changes(&t->normalizers[i], &t->texts[0])) continue;
        status = hd_normalize(cx, &t->normalizers[i], &t->texts[0], &t->texts[1]);
        const hd_text kept = t->texts[0];
        t->texts[0] = t->texts[1];
        t->texts[1] = kept;
    }
    return status;
}

/* Bytes from .. to - 1 of normalised text, as a text of its own. */
static hd_status take_part(hd_ctx *cx, const hd_text *whole, int64_t from, int64_t to, hd_text *part) {
    hd_text_begin(part, whole);
    part->base = whole->base + from; /* 0 only of the input's first */
    return hd_text_copy(cx, part, whole, from, to);
}

/* In normalised text, added tokens that are looked for there. */
static hd_status encode_normalized(hd_ctx *cx, hd_tokenizer *t, bool specials) {
    const int64_t size = t->texts[0].size;
    int64_t done = 0, look = 0, from, to, next;
    const char *bytes = t->texts[0].bytes;
    const hd_added_token *token =
        hd_added_find(&t->normalized, bytes, size, 0, 0, specials, &from, &to, &next);
    if (!token) return encode_part(cx, t, &t->texts[0], &t->texts[1]);
    hd_text part = {0}, spare = {0};
    const hd_text *whole = &t->texts[0];
    hd_status status = HD_OK;
    while (token && !status) {
        status = take_part(cx, whole, done, from > done ? from : done, &part);
        if (!status) status = encode_part(cx, t, &part, &spare);
        const hd_origin origin = whole->traced ? hd_text_range(whole, from, to) : (hd_origin){0, 0};
        if (!status) status = hd_tokens_add(cx, &t->tokens, token->id, origin.from, origin.to);
        done = to;
        look = next > done ? next : done;
        token = hd_added_find(&t->normalized, bytes, size, done, look, specials, &from, &to, &next);
    }
    if (!status) status = take_part(cx, whole, done, size, &part);
    if (!status) status = encode_part(cx, t, &part, &spare);
    hd_text_free(cx->account, &part);
    hd_text_free(cx->account, &spare);
    return status;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static hd_status encode_raw(hd_ctx *cx, hd_tokenizer *t, const char *text, int64_t from, int64_t to,
                            bool specials, bool offsets) {
    if (from >= to) return HD_OK;
    hd_status status = hd_text_set(cx, &t->texts[0], text + from, to - from, from, offsets);
    if (!status) status = normalize(cx, t);
    return status ? status : encode_normalized(cx, t, specials);
}

static hd_status encode_valid(hd_ctx *cx, hd_tokenizer *t, const char *text, int64_t size, bool specials,
                              bool offsets) {
    int64_t done = 0, look = 0, from, to, next;
    hd_status status = HD_OK;
    const hd_added_token *token;
    while (!status && (token = hd_added_find(&t->raw, text, size, done, look, specials, &from, &to, &next))) {
        status = encode_raw(cx, t, text, done, from, specials, offsets);
        if (!status) status = hd_tokens_add(cx, &t->tokens, token->id, from, to);
        done = to;
        look = next > done ? next : done;
    }
    return status ? status : encode_raw(cx, t, text, done, size, specials, offsets);
}

/* Offsets in text that was repaired, as offsets in the bytes that were given. */
static void to_given(hd_tokenizer *t, const hd_text *repaired) {
    for (int64_t i = 0; i < t->tokens.count; i++) {
        hd_token *token = &t->tokens.items[i];
        if (token->from == token->to) continue;
        const hd_origin origin = hd_text_range(repaired, token->from, token->to);
        token->from = origin.from;
        token->to = origin.to;
    }
}

hd_status hd_tokenizer_encode(hd_ctx *cx, hd_tokenizer *t, const char *text, int64_t size, bool specials,
                              bool offsets) {
    t->tokens.count = 0;
    hd_status status;
    if (hd_utf8_valid(text, size)) {
        status = encode_valid(cx, t, text, size, specials, offsets);
    } else {
        status = hd_text_repair(cx, &t->input, text, size, true);
        if (!status) status = encode_valid(cx, t, t->input.bytes, t->input.size, specials, offsets);
        if (!status && offsets) to_given(t, &t->input);
    }
    trim(cx, t);
    return status;
}

/* A token that is looked for in normalised text is looked for as the normalizers leave it. */
hd_status hd_tokenizer_add(hd_ctx *cx, hd_tokenizer *t, const char *text, int64_t length,
                           hd_added_token token, bool normalized) {
    hd_status status = hd_vocabulary_add(cx, &t->all, text, length, token.id);
    if (status || !normalized) return status ? status : hd_added_add(cx, &t->raw, text, length, token);
    status = hd_text_set(cx, &t->texts[0], text, length, 0, false);
    if (!status) status = normalize(cx, t);
    return status ? status : hd_added_add(cx, &t->normalized, t->texts[0].bytes, t->texts[0].size, token);
}
