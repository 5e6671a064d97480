/* Feeds damaged CSV texts to the scanner: the target fuzz-csv (reader_fuzz.h). Its fields must lie in the
 * text, and a text that comes in parts must give the same records, lines and errors as in one. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "io/csv.h"
#include "io/source.h"
#ifndef HD_LIBFUZZER
#include "mutate.h"
#endif

#define DATA 0
#define MEND mutate_mend_none
#include "reader_fuzz.h"

#define COLUMNS 6
#define LONGEST 64 /* so that long lines and fields come */

static locale_t plain;

static void check_field(hd_ctx *cx, const hd_csv_field *field, const char *text, size_t length) {
    if (field->text < text || field->length > length - (size_t)(field->text - text)) abort();
    char *out = hd_alloc(cx, field->length + 1);
    if (!out) abort();
    size_t size = field->length;
    if (!field->escaped)
        memcpy(out, field->text, size);
    else if ((size = hd_csv_unescape(field, out)) >= field->length)
        abort();
    out[size] = 0;
    int64_t integer;
    double number;
    if (hd_csv_integer(out, size, &integer)) {
        if (!hd_csv_number(out, size, plain, &number) || number != (double)integer) abort();
        if (integer != strtoll(out, NULL, 10)) abort();
    } else if (hd_csv_number(out, size, plain, &number) && number != strtod_l(out, NULL, plain)) {
        abort();
    }
    hd_free(cx->account, out);
}

static uint64_t mix(uint64_t hash, uint64_t value) {
    return (hash ^ value) * 0x100000001b3;
}

/* Scans the text, of which `part` more bytes come at a time, to its end: a hash of all that was found. An
 * error ends its line alone; *wrong counts them. */
static uint64_t scan(hd_ctx *cx, const char *text, size_t length, size_t part, bool trim, int *wrong) {
    hd_csv_field fields[COLUMNS];
    hd_csv s = {.delimiter = ',',
                .trim = trim,
                .max_line = LONGEST,
                .at = text,
                .fields = fields,
                .capacity = COLUMNS};
    uint64_t hash = 0, lines = 0;
    *wrong = 0;
    s.end = text + (part < length ? part : length);
    for (;;) {
        s.is_last = s.end == text + length;
        hd_csv_outcome outcome = hd_csv_next(&s);
        if (s.start < text || s.at < s.start || s.at > s.end || s.blank > s.lines) abort();
        lines += (uint64_t)s.lines;
        if (outcome == HD_CSV_MORE) {
            if (s.is_last) abort();
            size_t left = (size_t)(text + length - s.end);
            s.end += part < left ? part : left;
            continue;
        }
        hash = mix(mix(mix(hash, outcome), lines), (uint64_t)(s.at - text));
        if (outcome == HD_CSV_END) return hash;
        if (outcome == HD_CSV_LONG_LINE) return ++*wrong, hash;
        *wrong += outcome != HD_CSV_RECORD;
        if (outcome != HD_CSV_RECORD) continue;
        hash = mix(mix(hash, (uint64_t)s.count), (uint64_t)(s.start - text));
        for (int64_t i = 0; i < s.count && i < COLUMNS; i++) {
            check_field(cx, &fields[i], text, length);
            hash = mix(mix(hash, (uint64_t)(fields[i].text - text)), fields[i].length);
        }
    }
}

static bool read_file(hd_ctx *cx, const char *path) {
    hd_source source;
    int wrong = 0, again;
    if (!plain) plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (hd_source_open(cx, &source, path)) return false;
    char *text = hd_alloc(cx, (size_t)source.size + 1);
    bool fine = text && !hd_source_read(&source, text, source.size, 0);
    if (fine) {
        size_t length = (size_t)source.size;
        text[length] = 0;
        for (int trim = 0; trim < 2; trim++) {
            uint64_t whole = scan(cx, text, length, length, trim, &wrong);
            for (size_t part = 1; part < 40; part = 2 * part + 1)
                if (scan(cx, text, length, part, trim, &again) != whole || again != wrong) abort();
        }
    }
    hd_free(cx->account, text);
    hd_source_close(&source);
    if (fine && wrong) hd_fail(cx, HD_EIO, "%d records are none", wrong);
    return fine && !wrong;
}

#ifndef HD_LIBFUZZER
static const char *const good[] = {
    "id,name,score\n1,\"a, \"\"b\"\"\",0.5\r\n2,\"two\r\nlines\",-1e3\n",
    "\r\n9223372036854775807, 12 ,inf\n\n \"x\" "
    ",\t\n-9223372036854775809,007,0.1000000000000000055511151231257827",
    "\"\",,\"\"\n\"\"\"\",a\"b,5.\n1e22,1e-23,9007199254740993\n",
};

static size_t compose(uint64_t *state, uint8_t *bytes) {
    const char *text = good[mutate_random(state, sizeof good / sizeof *good)];
    memcpy(bytes, text, strlen(text));
    return strlen(text);
}
#endif
