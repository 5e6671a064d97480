#define _GNU_SOURCE
#include "io/csv.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "io/number.h"

/* ---- lines ----------------------------------------------------------------------------------- */

/* A line: [at, end), then perhaps CR and LF, and where the next one begins. */
typedef struct line {
    const char *at, *end, *next;
} line;

/* The line at s->at. HD_CSV_RECORD: it is whole. Of CRLF both are its end, but the CR belongs to a field
 * in quotes. */
static hd_csv_outcome find_line(hd_csv *s, line *found) {
    const char *at = s->at, *stop = at < s->end ? memchr(at, '\n', (size_t)(s->end - at)) : NULL;
    const char *end = stop ? stop : s->end;
    if (!stop && s->is_last && at == end) return HD_CSV_END;
    /* The CR of a line's end does not count; of a line that goes on the last byte may be one. */
    bool may_be_cr = !stop || (stop > at && stop[-1] == '\r');
    if (end - at - may_be_cr > s->max_line) return HD_CSV_LONG_LINE;
    if (!stop && !s->is_last) return HD_CSV_MORE;
    *found = (line){at, end, stop ? stop + 1 : end};
    return HD_CSV_RECORD;
}

/* Goes on behind the line. */
static void take_line(hd_csv *s, const line *l) {
    s->at = l->next;
    s->lines++;
}

static bool is_blank_line(const line *l) {
    return l->at == l->end || (l->end - l->at == 1 && *l->at == '\r');
}

/* ---- fields ---------------------------------------------------------------------------------- */

static void add_field(hd_csv *s, const char *text, const char *end, bool escaped) {
    if (s->count < s->capacity) s->fields[s->count] = (hd_csv_field){text, (size_t)(end - text), escaped};
    s->count++;
}

/* The field behind the quote before `at`, over as many lines as it has; *after: behind its last quote. */
static hd_csv_outcome read_quoted(hd_csv *s, line *l, const char *at, const char **after) {
    const char *text = at;
    int64_t length = 0;
    bool escaped = false;
    for (;;) {
        const char *quote = at < l->end ? memchr(at, '"', (size_t)(l->end - at)) : NULL;
        length += (quote ? quote : l->end) - at + 1;
        if (length > s->max_line) return HD_CSV_LONG_FIELD;
        if (!quote) {
            hd_csv_outcome outcome = find_line(s, l);
            if (outcome) return outcome == HD_CSV_END ? HD_CSV_NO_END : outcome;
            take_line(s, l);
            at = l->at;
        } else if (quote + 1 < l->end && quote[1] == '"') {
            escaped = true;
            at = quote + 2;
        } else {
            add_field(s, text, quote, escaped);
            *after = quote + 1;
            return HD_CSV_RECORD;
        }
    }
}

static bool is_line_end(const line *l, const char *at) {
    return at == l->end || (l->end - at == 1 && *at == '\r');
}

/* Behind the blanks that do not count. */
static const char *skip_blanks(const hd_csv *s, const line *l, const char *at) {
    while (s->trim && at < l->end && (*at == ' ' || *at == '\t') && *at != s->delimiter) at++;
    return at;
}

/* A field without quotes; without the blanks that do not count behind it. */
static void add_plain(hd_csv *s, const char *at, const char *end) {
    while (s->trim && end > at && (end[-1] == ' ' || end[-1] == '\t')) end--;
    add_field(s, at, end, false);
}

/* The fields of the record that begins with this line, which was taken. */
static hd_csv_outcome read_fields(hd_csv *s, line *l) {
    const char *at = l->at;
    for (;;) {
        at = skip_blanks(s, l, at);
        if (at < l->end && *at == '"') {
            hd_csv_outcome outcome = read_quoted(s, l, at + 1, &at);
            if (outcome) return outcome;
            at = skip_blanks(s, l, at);
            if (is_line_end(l, at)) return HD_CSV_RECORD;
            if (*at != s->delimiter) {
                s->wrong = *at;
                return HD_CSV_AFTER_QUOTE;
            }
        } else {
            const char *stop = at;
            while (stop < l->end && *stop != s->delimiter) stop++;
            if (stop == l->end) {
                add_plain(s, at, stop - (stop > at && stop[-1] == '\r'));
                return HD_CSV_RECORD;
            }
            add_plain(s, at, stop);
            at = stop;
        }
        at++;
    }
}

hd_csv_outcome hd_csv_next(hd_csv *s) {
    line l;
    hd_csv_outcome outcome;
    s->lines = s->count = 0;
    while (!(outcome = find_line(s, &l)) && is_blank_line(&l)) take_line(s, &l);
    s->start = s->at;
    s->blank = s->lines;
    if (outcome) return outcome;
    take_line(s, &l);
    outcome = read_fields(s, &l);
    if (outcome == HD_CSV_MORE) {
        s->at = s->start;
        s->lines = s->blank;
    }
    return outcome;
}

size_t hd_csv_unescape(const hd_csv_field *field, char *out) {
    const char *at = field->text, *end = at + field->length;
    char *to = out;
    while (at < end) {
        const char *quote = memchr(at, '"', (size_t)(end - at));
        size_t plain = (size_t)((quote ? quote + 1 : end) - at);
        memcpy(to, at, plain);
        to += plain;
        at += plain + (quote != NULL);
    }
    return (size_t)(to - out);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

void hd_csv_trim(const char **text, size_t *length) {
    const char *at = *text, *end = at + *length;
    while (at < end && is_blank(*at)) at++;
    while (end > at && is_blank(end[-1])) end--;
    *text = at;
    *length = (size_t)(end - at);
}

bool hd_csv_integer(const char *text, size_t length, int64_t *value) {
    hd_csv_trim(&text, &length);
    const char *at = text, *end = text + length;
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    if (at == end) return false;
    uint64_t size = 0, limit = (uint64_t)INT64_MAX + negative;
    for (; at < end; at++) {
        unsigned digit = (unsigned)(*at - '0');
        if (digit > 9 || size > (limit - digit) / 10) return false;
        size = size * 10 + digit;
    }
    *value = (int64_t)(negative ? 0 - size : size);
    return true;
}

static const char *skip_digits(const char *at, const char *end) {
    while (at < end && is_digit(*at)) at++;
    return at;
}

/* Is it sign, digits with or without a point, exponent? *whole: it has neither point nor exponent. */
static bool is_decimal(const char *at, const char *end, bool *whole) {
    if (at < end && (*at == '-' || *at == '+')) at++;
    const char *first = at, *point = at = skip_digits(at, end);
    *whole = at == end;
    if (at < end && *at == '.') at = skip_digits(at + 1, end);
    if (point == first && at - point < 2) return false; /* no digit on either side */
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '-' || *at == '+')) at++;
        if (at == end) return false;
        at = skip_digits(at, end);
        if (!is_digit(at[-1])) return false;
    }
    return at == end;
}

static bool is_infinity(const char *text, size_t length, double *value) {
    bool has_sign = length == 4 && (*text == '-' || *text == '+');
    if (length - has_sign != 3 || strncasecmp(text + has_sign, "inf", 3)) return false;
    *value = *text == '-' ? -INFINITY : INFINITY;
    return true;
}

bool hd_csv_number(const char *text, size_t length, locale_t plain, double *value) {
    hd_csv_trim(&text, &length);
    bool whole;
    if (!is_decimal(text, text + length, &whole)) return is_infinity(text, length, value);
    *value = hd_decimal(text, text + length, plain);
    if (whole && *value == 0) *value = 0; /* the integer -0 has no sign */
    return true;
}
