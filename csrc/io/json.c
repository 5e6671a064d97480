#define _GNU_SOURCE
#include "io/json.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/number.h"
#include "base/utf8.h"

static const char byte_order_mark[] = "\xEF\xBB\xBF";

void hd_json_begin(hd_json *r, const char *text, size_t length) {
    r->text = r->at = text;
    r->end = text + length;
    r->wanted = HD_JSON_WANTS_VALUE;
    r->depth = 0;
    /* It allocates nothing and cannot fail: "C" is built in. */
    r->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    r->message[0] = 0;
    if (!strncmp(text, byte_order_mark, 3)) r->at += 3;
}

void hd_json_end(hd_json *r) {
    if (r->plain) freelocale(r->plain);
    r->plain = (locale_t)0;
}

/* ---- errors ---------------------------------------------------------------------------------- */

static bool fail_at(hd_json *r, const char *where, const char *what) {
    long long line = 1, column = 1;
    for (const char *c = r->text; c < where; c++) {
        if (*c == '\n')
            line++, column = 1;
        else if ((*c & 0xC0) != 0x80) /* a character's first byte */
            column++;
    }
    snprintf(r->message, sizeof r->message, "line %lld, column %lld: %s", line, column, what);
    return false;
}

static bool unexpected(hd_json *r, const char *expected) {
    char what[96], got[16] = "the end";
    unsigned char c = (unsigned char)*r->at;
    if (r->at < r->end) snprintf(got, sizeof got, c > ' ' && c < 127 ? "'%c'" : "byte 0x%02x", c);
    snprintf(what, sizeof what, "expected %s, got %s", expected, got);
    return fail_at(r, r->at, what);
}

/* ---- strings --------------------------------------------------------------------------------- */

/* The number of four hexadecimal digits, or -1. */
static int hex4(const char *at) {
    int code = 0;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1; /* also at the zero behind the text */
        code = code << 4 | digit;
    }
    return code;
}

/* The character of the escape \uXXXX at `at`, or of two that are a surrogate pair; *length: what it takes. -1: it is
 * none. */
static int32_t escaped_character(const char *at, int *length) {
    int32_t high = hex4(at + 2);
    *length = 6;
    if (high < 0xD800 || high > 0xDFFF) return high;
    if (high > 0xDBFF || at[6] != '\\' || at[7] != 'u') return -1;
    int32_t low = hex4(at + 8);
    *length = 12;
    return low < 0xDC00 || low > 0xDFFF ? -1 : 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

/* Bytes of the sound escape at `at`, or 0 after an error. */
static int escape_length(hd_json *r, const char *at) {
    int length = 2;
    if (at[1] == 'u') {
        if (escaped_character(at, &length) >= 0) return length;
        fail_at(r, at, "expected \\u and four hexadecimal digits, surrogates in pairs");
        return 0;
    }
    if (at[1] && strchr("\"\\/bfnrt", at[1])) return length;
    fail_at(r, at, "expected an escape: \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\u");
    return 0;
}

static bool read_string(hd_json *r, hd_json_event *event, hd_json_kind kind) {
    const char *at = r->at + 1;
    *event = (hd_json_event){.kind = kind, .text = at};
    for (;;) {
        unsigned char c = (unsigned char)*at;
        int length = 1;
        if (c == '"') break;
        if (at == r->end) return fail_at(r, r->at, "a string without an end");
        if (c < ' ') return fail_at(r, at, "a control character in a string; written \\u00XX");
        if (c == '\\') {
            length = escape_length(r, at);
            if (!length) return false;
            event->escaped = true;
        } else if (c >= 0x80) {
            length = hd_utf8_length((const unsigned char *)at);
            if (!length) return fail_at(r, at, "a byte that is not UTF-8");
        }
        at += length;
    }
    event->length = (size_t)(at - event->text);
    r->at = at + 1;
    return true;
}

static size_t put_utf8(int32_t code, char *out) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const int first[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = length - 1; i > 0; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)(first[length] | code);
    return length;
}

size_t hd_json_unescape(const hd_json_event *event, char *out) {
    static const char letters[] = "bfnrt", values[] = "\b\f\n\r\t";
    char *to = out;
    const char *at = event->text, *end = at + event->length;
    while (at < end) {
        const char *mark = memchr(at, '\\', (size_t)(end - at));
        size_t plain = (size_t)((mark ? mark : end) - at);
        memcpy(to, at, plain);
        to += plain, at += plain;
        if (at == end) break;
        int length = 2;
        if (at[1] == 'u') {
            to += put_utf8(escaped_character(at, &length), to);
        } else {
            const char *letter = strchr(letters, at[1]);
            *to++ = letter ? values[letter - letters] : at[1];
        }
        at += length;
    }
    return (size_t)(to - out);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool skip_digits(hd_json *r) {
    if (!is_digit(*r->at)) return unexpected(r, "a digit");
    while (is_digit(*r->at)) r->at++;
    return true;
}

/* Behind 64 bits, an integer that a float holds without loss is that float. */
static bool read_large(hd_json *r, const char *start, hd_json_event *event) {
    char text[400]; /* longer than the largest float's digits */
    double value = strtod_l(start, NULL, r->plain);
    int length = snprintf(text, sizeof text, "%.0f", value);
    if (length != r->at - start || strncmp(text, start, (size_t)length))
        return fail_at(r, start, "an integer that neither 64 bits nor a float hold; quote it");
    event->kind = HD_JSON_FLOAT;
    event->number = value;
    return true;
}

static bool read_integer(hd_json *r, const char *start, hd_json_event *event) {
    bool negative = *start == '-';
    uint64_t value = 0, limit = (uint64_t)INT64_MAX + negative;
    for (const char *c = start + negative; c < r->at; c++) {
        unsigned digit = (unsigned)(*c - '0');
        if (value > (limit - digit) / 10) return read_large(r, start, event);
        value = value * 10 + digit;
    }
    event->kind = HD_JSON_INTEGER;
    event->integer = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

static bool read_number(hd_json *r, hd_json_event *event) {
    const char *start = r->at;
    bool whole = true;
    if (*r->at == '-') r->at++;
    if (*r->at == '0') {
        r->at++;
        if (is_digit(*r->at)) return fail_at(r, start, "a number with a zero before it");
    } else if (!skip_digits(r)) {
        return false;
    }
    if (*r->at == '.') {
        whole = false;
        r->at++;
        if (!skip_digits(r)) return false;
    }
    if (*r->at == 'e' || *r->at == 'E') {
        whole = false;
        r->at++;
        if (*r->at == '+' || *r->at == '-') r->at++;
        if (!skip_digits(r)) return false;
    }
    *event = (hd_json_event){.kind = HD_JSON_FLOAT};
    if (whole) return read_integer(r, start, event);
    event->number = hd_decimal(start, r->at, r->plain);
    return isfinite(event->number) || fail_at(r, start, "a number that no float of 64 bits holds");
}

/* ---- structure ------------------------------------------------------------------------------- */

static void value_ended(hd_json *r) {
    r->wanted = r->depth ? HD_JSON_WANTS_COMMA_OR_CLOSE : HD_JSON_WANTS_NOTHING;
}

static bool read_word(hd_json *r, hd_json_event *event) {
    static const struct {
        const char *word;
        hd_json_kind kind;
    } words[] = {{"null", HD_JSON_NULL}, {"true", HD_JSON_TRUE}, {"false", HD_JSON_FALSE}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word);
        if (strncmp(r->at, words[i].word, length)) continue;
        r->at += length;
        *event = (hd_json_event){.kind = words[i].kind};
        return true;
    }
    return unexpected(r, "a value");
}

static bool open_table(hd_json *r, hd_json_event *event, bool is_object) {
    if (r->depth == HD_JSON_DEEPEST) {
        char what[64];
        snprintf(what, sizeof what, "more than %d lists and objects inside each other", HD_JSON_DEEPEST);
        return fail_at(r, r->at, what);
    }
    r->at++;
    r->is_object[r->depth++] = is_object;
    r->wanted = is_object ? HD_JSON_WANTS_NAME_OR_CLOSE : HD_JSON_WANTS_VALUE_OR_CLOSE;
    *event = (hd_json_event){.kind = is_object ? HD_JSON_OBJECT : HD_JSON_LIST};
    return true;
}

static bool close_table(hd_json *r, hd_json_event *event) {
    r->at++;
    r->depth--;
    value_ended(r);
    *event = (hd_json_event){.kind = HD_JSON_CLOSE};
    return true;
}

static bool read_value(hd_json *r, hd_json_event *event) {
    char c = *r->at;
    if (c == '[' || c == '{') return open_table(r, event, c == '{');
    bool fine = c == '"'                  ? read_string(r, event, HD_JSON_STRING)
                : c == '-' || is_digit(c) ? read_number(r, event)
                                          : read_word(r, event);
    value_ended(r);
    return fine;
}

static void skip_blanks(hd_json *r) {
    while (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r') r->at++;
}

static bool read_name(hd_json *r, hd_json_event *event) {
    if (*r->at != '"') return unexpected(r, "a name in quotes");
    if (!read_string(r, event, HD_JSON_NAME)) return false;
    skip_blanks(r);
    if (*r->at != ':') return unexpected(r, "a colon");
    r->at++;
    r->wanted = HD_JSON_WANTS_VALUE;
    return true;
}

/* After a value: a comma leads to the next, without an event. */
static bool read_next(hd_json *r, hd_json_event *event) {
    bool is_object = r->is_object[r->depth - 1];
    if (*r->at == (is_object ? '}' : ']')) return close_table(r, event);
    if (*r->at != ',') return unexpected(r, is_object ? "a comma or }" : "a comma or ]");
    r->at++;
    skip_blanks(r);
    return is_object ? read_name(r, event) : read_value(r, event);
}

bool hd_json_next(hd_json *r, hd_json_event *event) {
    skip_blanks(r);
    switch (r->wanted) {
    case HD_JSON_WANTS_VALUE_OR_CLOSE:
        if (*r->at == ']') return close_table(r, event);
        return read_value(r, event);
    case HD_JSON_WANTS_NAME_OR_CLOSE:
        if (*r->at == '}') return close_table(r, event);
        return read_name(r, event);
    case HD_JSON_WANTS_VALUE: return read_value(r, event);
    case HD_JSON_WANTS_COMMA_OR_CLOSE: return read_next(r, event);
    default:
        if (r->at != r->end) return unexpected(r, "the end");
        *event = (hd_json_event){.kind = HD_JSON_DONE};
        return true;
    }
}
