#define _GNU_SOURCE /* memmem */
#include "text/normalize.h"

#include <string.h>
#include <utf8proc.h>

#include "text/forms.h"
#include "text/unicode.h"
#include "base/utf8.h"

#define SPACE_SIZE 3
static const char space_mark[SPACE_SIZE + 1] = "\xE2\x96\x81"; /* SentencePiece's "▁" */

void hd_normalizer_free(hd_account *account, hd_normalizer *n) {
    hd_free(account, n->from);
    hd_free(account, n->to);
    hd_pattern_free(n->pattern);
    hd_charsmap_free(account, &n->map);
    hd_trie_free(account, &n->kept);
}

static bool is_ascii(const hd_text *t) {
    for (int64_t i = 0; i < t->size; i++)
        if (t->bytes[i] & 0x80) return false;
    return true;
}

/* ---- one character at a time --------------------------------------------------------------- */

/* What one character becomes: at most three, none when it is dropped. */
typedef int hd_char_map(const hd_normalizer *n, int32_t c, int32_t out[3]);

static hd_status map_chars(hd_ctx *cx, const hd_normalizer *n, hd_char_map *map, const hd_text *text,
                           hd_text *out) {
    hd_status status = HD_OK;
    for (int64_t i = 0; i < text->size && !status;) {
        int size;
        int32_t becomes[3];
        const int32_t c = hd_utf8_get(text->bytes + i, &size);
        const int count = map(n, c, becomes);
        const hd_origin origin = hd_text_origin(text, i);
        for (int k = 0; k < count && !status; k++) status = hd_text_put_char(cx, out, becomes[k], origin);
        i += size;
    }
    return status;
}

static int lowercase(const hd_normalizer *n, int32_t c, int32_t out[3]) {
    (void)n;
    return hd_lowercase(c, out);
}

static int without_marks(const hd_normalizer *n, int32_t c, int32_t out[3]) {
    (void)n;
    out[0] = c;
    return !hd_is_mark(c);
}

static int without_nonspacing(const hd_normalizer *n, int32_t c, int32_t out[3]) {
    (void)n;
    out[0] = c;
    return !hd_is_nonspacing(c);
}

/* BERT's first two steps. */
static int clean(const hd_normalizer *n, int32_t c, int32_t out[3]) {
    if (n->clean && (c == 0 || c == 0xFFFD || hd_is_control(c))) return 0;
    out[0] = n->clean && hd_is_space(c) ? ' ' : c;
    if (!n->spaced_han || !hd_is_han(c)) return 1;
    out[0] = out[2] = ' ';
    out[1] = c;
    return 3;
}

static int nmt(const hd_normalizer *n, int32_t c, int32_t out[3]) {
    (void)n;
    if ((c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F ||
        c == 0x9F)
        return 0;
    const bool space = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                       (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                       c == 0xFEFF || c == 0xFFFD;
    out[0] = space ? ' ' : c;
    return 1;
}

static hd_status bert(hd_ctx *cx, const hd_normalizer *n, const hd_text *text, hd_text *out) {
    if (!n->without_accents && !n->in_lowercase) return map_chars(cx, n, clean, text, out);
    hd_text cleaned = {0}, form = {0}, bare = {0};
    const hd_text *last = &cleaned;
    hd_text_begin(&cleaned, text);
    hd_status status = map_chars(cx, n, clean, text, &cleaned);
    if (!status && n->without_accents && !is_ascii(last)) {
        hd_text_begin(&form, last);
        status = hd_normal_form(cx, false, false, last, &form);
        hd_text_begin(&bare, &form);
        if (!status) status = map_chars(cx, n, without_nonspacing, &form, &bare);
        last = &bare;
    }
    if (!status)
        status = n->in_lowercase ? map_chars(cx, n, lowercase, last, out)
                                 : hd_text_copy(cx, out, last, 0, last->size);
    hd_text_free(cx->account, &cleaned);
    hd_text_free(cx->account, &form);
    hd_text_free(cx->account, &bare);
    return status;
}

/* ---- ends, and texts for texts ------------------------------------------------------------- */

static hd_status strip(hd_ctx *cx, const hd_normalizer *n, const hd_text *text, hd_text *out) {
    int64_t from = 0, to = text->size;
    int size;
    while (n->left && from < to && hd_is_space(hd_utf8_get(text->bytes + from, &size))) from += size;
    while (n->right && from < to && hd_is_space(hd_utf8_before(text->bytes, to, &size))) to -= size;
    return hd_text_copy(cx, out, text, from, to);
}

static hd_status prepend(hd_ctx *cx, const hd_normalizer *n, const hd_text *text, hd_text *out) {
    if (text->size == 0) return HD_OK;
    hd_status status = hd_text_put(cx, out, n->to, n->to_size, hd_text_origin(text, 0));
    return status ? status : hd_text_copy(cx, out, text, 0, text->size);
}

static int find(hd_ctx *cx, const hd_normalizer *n, const hd_text *text, int64_t start, int64_t *from,
                int64_t *to) {
    if (n->pattern) return hd_pattern_find(cx, n->pattern, text->bytes, text->size, start, from, to);
    const char *found = n->from_size ? memmem(text->bytes + start, (size_t)(text->size - start), n->from,
                                              (size_t)n->from_size)
                                     : NULL;
    if (!found) return 0;
    *from = found - text->bytes;
    *to = *from + n->from_size;
    return 1;
}

/* What replaces a match came from its last character. */
static hd_status replace(hd_ctx *cx, const hd_normalizer *n, const hd_text *text, hd_text *out) {
    int64_t done = 0, from, to, start = 0;
    hd_status status = HD_OK;
    while (!status && start <= text->size) {
        const int found = find(cx, n, text, start, &from, &to);
        if (found < 0) return cx->error.status;
        if (!found) break;
        status = hd_text_copy(cx, out, text, done, from);
        const int64_t source = to > 0 ? to - 1 : 0;
        if (!status && text->size)
            status = hd_text_put(cx, out, n->to, n->to_size, hd_text_origin(text, source));
        done = to;
        start = to > from ? to : to < text->size ? to + hd_utf8_size((unsigned char)text->bytes[to]) : to + 1;
    }
    return status ? status : hd_text_copy(cx, out, text, done, text->size);
}

/* ---- SentencePiece's rules ----------------------------------------------------------------- */

/* What the rules make of a text: its characters, and how many characters of the text each is counted for: 1 - change.
 * The offsets that users compare come from this count, also where it goes astray: what is dropped is counted for the
 * character before, and for none at the beginning. */
typedef struct hd_ruled {
    hd_ctx *cx;
    const hd_text *text;
    struct hd_ruled_char {
        int32_t c;
        int64_t change;
    } * chars;
    int64_t chars_capacity, count;
} hd_ruled;

static hd_status put_ruled(hd_ruled *r, int32_t c, int64_t change) {
    hd_status status = HD_RESERVE(r->cx, r, chars, r->count + 1);
    if (!status) r->chars[r->count++] = (struct hd_ruled_char){c, change};
    return status;
}

static int64_t count_chars(const char *text, int64_t size) {
    int64_t count = 0;
    for (int64_t i = 0; i < size; i++) count += !hd_utf8_continues(text[i]);
    return count;
}

/* A part of the text by a rule. */
static hd_status put_rule(hd_ruled *r, int64_t from, int64_t to, const char *becomes, int64_t length) {
    const int64_t before = count_chars(r->text->bytes + from, to - from),
                  after = count_chars(becomes, length);
    hd_status status = HD_OK;
    int64_t k = 0;
    for (int64_t i = 0; i < length && !status; k++) {
        int size;
        const int32_t c = hd_utf8_get(becomes + i, &size);
        status = put_ruled(r, c, k < before ? 0 : 1);
        i += size;
    }
    if (!status && after < before && r->count) r->chars[r->count - 1].change += after - before;
    return status;
}

/* A grapheme of less than six bytes by the rule for its shortest prefix, as a whole; or else its characters, each
 * by its own. */
static hd_status put_grapheme(const hd_normalizer *n, hd_ruled *r, int64_t from, int64_t to) {
    const char *bytes = r->text->bytes, *becomes;
    int64_t length;
    if (to - from < 6 && hd_charsmap_find(&n->map, bytes + from, to - from, false, &becomes, &length))
        return put_rule(r, from, to, becomes, length);
    hd_status status = HD_OK;
    for (int64_t i = from; i < to && !status;) {
        int size;
        const int32_t c = hd_utf8_get(bytes + i, &size);
        status = hd_charsmap_find(&n->map, bytes + i, size, false, &becomes, &length)
                     ? put_rule(r, i, i + size, becomes, length)
                     : put_ruled(r, c, 0);
        i += size;
    }
    return status;
}

static hd_status rule_all(const hd_normalizer *n, hd_ruled *r) {
    const hd_text *text = r->text;
    hd_status status = HD_OK;
    int32_t before = 0, state = 0;
    int64_t begin = 0;
    for (int64_t i = 0; i < text->size && !status;) {
        int size;
        const int32_t c = hd_utf8_get(text->bytes + i, &size);
        if (i > 0 && utf8proc_grapheme_break_stateful(before, c, &state)) {
            status = put_grapheme(n, r, begin, i);
            begin = i;
        }
        before = c;
        i += size;
    }
    return status || begin == text->size ? status : put_grapheme(n, r, begin, text->size);
}

static int64_t next_char(const hd_text *text, int64_t i) {
    return i < text->size ? i + hd_utf8_size((unsigned char)text->bytes[i]) : i;
}

static hd_status charsmap(hd_ctx *cx, const hd_normalizer *n, const hd_text *text, hd_text *out) {
    hd_ruled r = {.cx = cx, .text = text};
    hd_status status = rule_all(n, &r);
    int64_t source = 0;
    for (int64_t i = 0; i < r.count && !status; i++) {
        const int64_t change = r.chars[i].change;
        const int64_t from = change > 0 ? source - 1 : source;
        const hd_origin none = {0, 0};
        status = hd_text_put_char(cx, out, r.chars[i].c,
                                  from >= 0 && from < text->size ? hd_text_origin(text, from) : none);
        for (int64_t k = change; k <= 0; k++) source = next_char(text, source);
    }
    hd_free(cx->account, r.chars);
    return status;
}

/* One step of SentencePiece: the longest rule here, or one character. *becomes is what it writes. */
static int64_t step_of(const hd_normalizer *n, const hd_text *text, int64_t i, const char **becomes,
                       int64_t *length) {
    int64_t kept;
    *becomes = text->bytes + i;
    if (hd_trie_longest(&n->kept, *becomes, text->size - i, &kept) >= 0) return *length = kept;
    const int64_t count = hd_charsmap_find(&n->map, text->bytes + i, text->size - i, true, becomes, length);
    return count ? count : (*length = hd_utf8_size((unsigned char)text->bytes[i]));
}

static hd_status put_space(hd_ctx *cx, hd_text *out, hd_origin origin) {
    return hd_text_put(cx, out, space_mark, SPACE_SIZE, origin);
}

static bool ends_with_space(const hd_text *out) {
    return out->size >= SPACE_SIZE &&
           memcmp(out->bytes + out->size - SPACE_SIZE, space_mark, SPACE_SIZE) == 0;
}

static hd_status put_step(hd_ctx *cx, const char *becomes, int64_t length, hd_origin origin, hd_text *out) {
    hd_status status = HD_OK;
    for (int64_t k = 0; k < length && !status; k++)
        status =
            becomes[k] == ' ' ? put_space(cx, out, origin) : hd_text_put(cx, out, becomes + k, 1, origin);
    return status;
}

/* Each byte came from where its step began, and what it stands for ends where the next byte's begins. */
static void close_origins(hd_text *out, int64_t end) {
    if (!out->traced) return;
    for (int64_t i = 0; i < out->size; i++)
        out->origins[i].to = i + 1 < out->size ? out->origins[i + 1].from : end;
}

static hd_status sentencepiece(hd_ctx *cx, const hd_normalizer *n, const hd_text *text, hd_text *out) {
    hd_status status = HD_OK;
    bool after_space = n->one_space; /* then further spaces are dropped; so are those in front */
    bool begun = false;
    int64_t end = text->size ? hd_text_origin(text, text->size - 1).to : 0;
    for (int64_t i = 0; i < text->size && !status;) {
        const char *becomes;
        int64_t length;
        const int64_t count = step_of(n, text, i, &becomes, &length);
        const hd_origin origin = hd_text_origin(text, i);
        if (!begun && !(n->one_space && length == 1 && *becomes == ' ')) {
            begun = true;
            if (n->first_space) status = put_space(cx, out, origin);
        }
        while (after_space && length > 0 && *becomes == ' ') becomes++, length--;
        if (!status) status = put_step(cx, becomes, length, origin, out);
        if (length > 0) after_space = n->one_space && becomes[length - 1] == ' ';
        i += count;
    }
    while (n->one_space && ends_with_space(out)) {
        out->size -= SPACE_SIZE;
        if (out->traced) end = out->origins[out->size].from;
    }
    close_origins(out, end);
    return status;
}

/* -------------------------------------------------------------------------------------------- */

bool hd_normalizer_changes(const hd_normalizer *n, const hd_text *text) {
    switch (n->kind) {
    case HD_NORMALIZE_FORM:
    case HD_NORMALIZE_STRIP_ACCENTS: return !is_ascii(text);
    case HD_NORMALIZE_REPLACE:
        return n->pattern || memmem(text->bytes, (size_t)text->size, n->from, (size_t)n->from_size);
    default: return true;
    }
}

hd_status hd_normalize(hd_ctx *cx, const hd_normalizer *n, const hd_text *text, hd_text *out) {
    hd_text_begin(out, text);
    switch (n->kind) {
    case HD_NORMALIZE_FORM: return hd_normal_form(cx, n->composed, n->compatible, text, out);
    case HD_NORMALIZE_LOWERCASE: return map_chars(cx, n, lowercase, text, out);
    case HD_NORMALIZE_STRIP_ACCENTS: return map_chars(cx, n, without_marks, text, out);
    case HD_NORMALIZE_BERT: return bert(cx, n, text, out);
    case HD_NORMALIZE_NMT: return map_chars(cx, n, nmt, text, out);
    case HD_NORMALIZE_STRIP: return strip(cx, n, text, out);
    case HD_NORMALIZE_REPLACE: return replace(cx, n, text, out);
    case HD_NORMALIZE_PREPEND: return prepend(cx, n, text, out);
    case HD_NORMALIZE_CHARSMAP: return charsmap(cx, n, text, out);
    default: return sentencepiece(cx, n, text, out);
    }
}
