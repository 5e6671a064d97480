#define _GNU_SOURCE /* memmem */
#include "text/split.h"

#include <string.h>

#include "base/utf8.h"

void hd_splitter_free(hd_account *account, hd_splitter *s) {
    hd_pattern_free(s->pattern);
    hd_free(account, s->literal);
}

void hd_pieces_free(hd_account *account, hd_pieces *pieces) {
    hd_free(account, pieces->items);
    *pieces = (hd_pieces){0};
}

hd_status hd_pieces_add(hd_ctx *cx, hd_pieces *pieces, int64_t from, int64_t to) {
    if (from >= to) return HD_OK;
    hd_status status = HD_RESERVE(cx, pieces, items, pieces->count + 1);
    if (!status) pieces->items[pieces->count++] = (hd_piece){from, to};
    return status;
}

/* ---- matches ------------------------------------------------------------------------------- */

static int find_class(const hd_splitter *s, const hd_text *text, int64_t start, int64_t end, int64_t *from,
                      int64_t *to) {
    for (int64_t i = start; i < end;) {
        int size;
        if (hd_char_is(hd_utf8_get(text->bytes + i, &size), s->class)) {
            *from = i;
            *to = i + size;
            return 1;
        }
        i += size;
    }
    return 0;
}

static int find_literal(const hd_splitter *s, const hd_text *text, int64_t start, int64_t end, int64_t *from,
                        int64_t *to) {
    const char *found =
        memmem(text->bytes + start, (size_t)(end - start), s->literal, (size_t)s->literal_size);
    if (!found || !s->literal_size) return 0;
    *from = found - text->bytes;
    *to = *from + s->literal_size;
    return 1;
}

/* The piece is a text of its own: a pattern looks neither before nor behind it. */
static int find_pattern(hd_ctx *cx, const hd_splitter *s, const hd_text *text, hd_piece piece, int64_t start,
                        int64_t *from, int64_t *to) {
    const int found = hd_pattern_find(cx, s->pattern, text->bytes + piece.from, piece.to - piece.from,
                                      start - piece.from, from, to);
    *from += piece.from;
    *to += piece.from;
    return found;
}

/* The first match that is not empty, in bytes start .. of the piece. */
static int find(hd_ctx *cx, const hd_splitter *s, const hd_text *text, hd_piece piece, int64_t start,
                int64_t *from, int64_t *to) {
    if (s->kind == HD_SPLIT_CLASS) return find_class(s, text, start, piece.to, from, to);
    if (s->kind == HD_SPLIT_LITERAL) return find_literal(s, text, start, piece.to, from, to);
    while (start < piece.to) {
        *from = *to = 0;
        const int found = find_pattern(cx, s, text, piece, start, from, to);
        if (found <= 0 || *to > *from) return found;
        start = *to < piece.to ? *to + hd_utf8_size((unsigned char)text->bytes[*to]) : piece.to;
    }
    return 0;
}

/* ---- what becomes of them ------------------------------------------------------------------ */

/* One piece is being cut: its parts come in order, and a part may still grow. */
typedef struct hd_cut {
    hd_ctx *cx;
    hd_pieces *out;
    hd_behavior behavior;
    int64_t first;    /* where the parts of this piece begin in out */
    bool after_match; /* the part before was one */
} hd_cut;

static hd_status add_part(hd_cut *cut, int64_t from, int64_t to, bool is_match) {
    if (from >= to) return HD_OK;
    hd_pieces *out = cut->out;
    hd_piece *last = out->count > cut->first ? &out->items[out->count - 1] : NULL;
    const bool after_match = cut->after_match;
    cut->after_match = is_match;
    switch (cut->behavior) {
    case HD_REMOVED:
        if (is_match) return HD_OK;
        break;
    case HD_MERGED_WITH_PREVIOUS:
        if (is_match && !after_match && last) {
            last->to = to;
            return HD_OK;
        }
        break;
    case HD_MERGED_WITH_NEXT:
        if (!is_match && after_match && last) {
            last->to = to;
            return HD_OK;
        }
        break;
    case HD_CONTIGUOUS:
        if (last && is_match == after_match) {
            last->to = to;
            return HD_OK;
        }
        break;
    default: break;
    }
    return hd_pieces_add(cut->cx, out, from, to);
}

static hd_status cut_piece(hd_cut *cut, const hd_splitter *s, const hd_text *text, hd_piece piece) {
    int64_t done = piece.from, from, to;
    hd_status status = HD_OK;
    cut->first = cut->out->count;
    cut->after_match = false;
    while (!status) {
        const int found = find(cut->cx, s, text, piece, done, &from, &to);
        if (found < 0) return cut->cx->error.status;
        if (!found) break;
        status = add_part(cut, done, from, s->inverted);
        if (!status) status = add_part(cut, from, to, !s->inverted);
        done = to;
    }
    return status ? status : add_part(cut, done, piece.to, s->inverted);
}

static hd_status cut_all(hd_ctx *cx, const hd_splitter *s, const hd_text *text, const hd_pieces *pieces,
                         hd_pieces *out) {
    hd_cut cut = {.cx = cx, .out = out, .behavior = s->behavior};
    hd_status status = HD_OK;
    for (int64_t i = 0; i < pieces->count && !status; i++)
        status = cut_piece(&cut, s, text, pieces->items[i]);
    return status;
}

static hd_status cut_lengths(hd_ctx *cx, const hd_splitter *s, const hd_text *text, const hd_pieces *pieces,
                             hd_pieces *out) {
    hd_status status = HD_OK;
    for (int64_t i = 0; i < pieces->count; i++) {
        int64_t from = pieces->items[i].from, count = 0;
        for (int64_t at = from; at < pieces->items[i].to && !status;) {
            at += hd_utf8_size((unsigned char)text->bytes[at]);
            if (++count % s->length && at < pieces->items[i].to) continue;
            status = hd_pieces_add(cx, out, from, at);
            from = at;
        }
    }
    return status;
}

/* ---- steps that write text ----------------------------------------------------------------- */

static hd_status put_marked(hd_ctx *cx, const hd_splitter *s, const hd_text *text, hd_piece piece,
                            hd_text *out) {
    hd_status status = HD_OK;
    int64_t done = piece.from;
    for (int64_t i = piece.from; i < piece.to && !status; i++) {
        if (text->bytes[i] != ' ') continue;
        status = hd_text_copy(cx, out, text, done, i);
        if (!status) status = hd_text_put(cx, out, s->literal, s->literal_size, hd_text_origin(text, i));
        done = i + 1;
    }
    return status ? status : hd_text_copy(cx, out, text, done, piece.to);
}

static bool starts_with(const hd_text *text, hd_piece piece, const char *mark, int64_t size) {
    return piece.to - piece.from >= size && memcmp(text->bytes + piece.from, mark, (size_t)size) == 0;
}

static hd_status metaspace_piece(hd_ctx *cx, const hd_splitter *s, const hd_text *text, hd_piece piece,
                                 hd_text *out, hd_piece *written) {
    const int64_t begin = out->size;
    const bool marked =
        text->bytes[piece.from] == ' ' || starts_with(text, piece, s->literal, s->literal_size);
    const bool is_first = text->base == 0 && piece.from == 0;
    hd_status status = HD_OK;
    if (!marked && (s->always || (s->first && is_first)))
        status = hd_text_put(cx, out, s->literal, s->literal_size, hd_text_origin(text, piece.from));
    if (!status) status = put_marked(cx, s, text, piece, out);
    *written = (hd_piece){begin, out->size};
    return status;
}

static hd_status metaspace(hd_ctx *cx, const hd_splitter *s, const hd_text *text, hd_text *spare,
                           const hd_pieces *pieces, hd_pieces *out) {
    hd_pieces marked = {0};
    hd_status status = HD_OK;
    hd_text_begin(spare, text);
    for (int64_t i = 0; i < pieces->count && !status; i++) {
        hd_piece piece;
        status = metaspace_piece(cx, s, text, pieces->items[i], spare, &piece);
        if (!status) status = hd_pieces_add(cx, s->cuts ? &marked : out, piece.from, piece.to);
    }
    if (!status && s->cuts) {
        const hd_splitter before_marks = {.kind = HD_SPLIT_LITERAL,
                                          .behavior = HD_MERGED_WITH_NEXT,
                                          .literal = s->literal,
                                          .literal_size = s->literal_size};
        status = cut_all(cx, &before_marks, spare, &marked, out);
    }
    hd_pieces_free(cx->account, &marked);
    return status;
}

static hd_status prefix_space(hd_ctx *cx, const hd_text *text, hd_text *spare, const hd_pieces *pieces,
                              hd_pieces *out) {
    hd_status status = HD_OK;
    hd_text_begin(spare, text);
    for (int64_t i = 0; i < pieces->count && !status; i++) {
        const hd_piece piece = pieces->items[i];
        const int64_t begin = spare->size;
        if (text->bytes[piece.from] != ' ')
            status = hd_text_put(cx, spare, " ", 1, hd_text_origin(text, piece.from));
        if (!status) status = hd_text_copy(cx, spare, text, piece.from, piece.to);
        if (!status) status = hd_pieces_add(cx, out, begin, spare->size);
    }
    return status;
}

static void exchange(hd_text *a, hd_text *b) {
    const hd_text kept = *a;
    *a = *b;
    *b = kept;
}

hd_status hd_split_pieces(hd_ctx *cx, const hd_splitter *s, hd_text *text, hd_text *spare,
                          const hd_pieces *pieces, hd_pieces *out) {
    out->count = 0;
    hd_status status;
    switch (s->kind) {
    case HD_SPLIT_LENGTH: return cut_lengths(cx, s, text, pieces, out);
    case HD_SPLIT_METASPACE: status = metaspace(cx, s, text, spare, pieces, out); break;
    case HD_SPLIT_PREFIX_SPACE: status = prefix_space(cx, text, spare, pieces, out); break;
    default: return cut_all(cx, s, text, pieces, out);
    }
    exchange(text, spare);
    return status;
}
