/* Feeds damaged JSON texts to the reader: the target fuzz-json (reader_fuzz.h). What it takes must be
 * sound: strings of UTF-8 that are no longer than what was written, and every table closed; and written
 * again it reads as the same. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "io/json.h"
#include "io/json_write.h"
#include "io/number.h"
#include "io/source.h"
#include "base/utf8.h"
#ifndef HD_LIBFUZZER
#include "mutate.h"
#endif

#define DATA 0
#define MEND mutate_mend_none
#include "reader_fuzz.h"

/* The only value of a text. */
static hd_json_event read_again(const char *text, size_t length) {
    static hd_json r;
    hd_json_event event, done;
    hd_json_begin(&r, text, length);
    if (!hd_json_next(&r, &event) || !hd_json_next(&r, &done) || done.kind != HD_JSON_DONE) abort();
    hd_json_end(&r);
    return event;
}

static void check_number(const hd_json_event *event) {
    char text[HD_FLOAT_TEXT + 1];
    static locale_t plain;
    if (!plain) plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    bool whole = event->kind == HD_JSON_INTEGER;
    int length = whole ? hd_integer_text(text, event->integer) : hd_float_text(text, event->number, plain);
    if (length > HD_FLOAT_TEXT) abort();
    text[length] = 0;
    hd_json_event again = read_again(text, (size_t)length);
    if (again.kind != event->kind || again.integer != event->integer) abort();
    if (memcmp(&again.number, &event->number, sizeof again.number)) abort();
}

static void check_quoted(hd_ctx *cx, const char *text, size_t length) {
    size_t size = hd_json_quoted_size(text, length);
    char *quoted = hd_alloc(cx, size + 1), *out = hd_alloc(cx, size);
    if (!size || !quoted || !out || hd_json_quote(text, length, quoted) != size) abort();
    quoted[size] = 0;
    hd_json_event again = read_again(quoted, size);
    if (again.kind != HD_JSON_STRING || hd_json_unescape(&again, out) != length) abort();
    if (memcmp(out, text, length)) abort();
    hd_free(cx->account, quoted);
    hd_free(cx->account, out);
}

static void check_string(hd_ctx *cx, const hd_json_event *event) {
    char *text = hd_alloc(cx, event->length + 1);
    if (!text) abort();
    size_t length = hd_json_unescape(event, text);
    if (length > event->length) abort();
    text[length] = 0;
    for (size_t at = 0; at < length;) {
        int step = hd_utf8_length((const unsigned char *)text + at);
        if (!step) abort();
        at += (size_t)step;
    }
    check_quoted(cx, text, length);
    hd_free(cx->account, text);
}

static bool read_text(hd_ctx *cx, const char *text, size_t length) {
    static hd_json r;
    hd_json_event event;
    bool fine;
    int open = 0;
    hd_json_begin(&r, text, length);
    while ((fine = hd_json_next(&r, &event)) && event.kind != HD_JSON_DONE) {
        if (event.kind == HD_JSON_STRING || event.kind == HD_JSON_NAME) check_string(cx, &event);
        if (event.kind == HD_JSON_INTEGER || event.kind == HD_JSON_FLOAT) check_number(&event);
        open += event.kind == HD_JSON_LIST || event.kind == HD_JSON_OBJECT;
        open -= event.kind == HD_JSON_CLOSE;
        if (open != r.depth || open < 0) abort();
    }
    hd_json_end(&r);
    if (fine && (open || r.at != r.end)) abort();
    if (!fine) hd_fail(cx, HD_EIO, "%s", r.message);
    return fine;
}

static bool read_file(hd_ctx *cx, const char *path) {
    hd_source source;
    if (hd_source_open(cx, &source, path)) return false;
    char *text = hd_alloc(cx, (size_t)source.size + 1);
    bool fine = text && !hd_source_read(&source, text, source.size, 0);
    if (fine) {
        text[source.size] = 0;
        fine = read_text(cx, text, (size_t)source.size);
    }
    hd_free(cx->account, text);
    hd_source_close(&source);
    return fine;
}

#ifndef HD_LIBFUZZER
static const char *const good[] = {
    "{\"a\":[1,-2.5e3,\"x\\n\\u00e9\\ud83d\\ude00\",null,true,false],\"b\":{\"c\":[[],{}]}}",
    "[9223372036854775807, -9223372036854775808, 100000000000000000000, 0.1, 5e-324, -0]",
    "\xEF\xBB\xBF [ \"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\", \"\\\"\\\\\\/\\b\\f\\n\\r\\t\" ] \n",
};

static size_t compose(uint64_t *state, uint8_t *bytes) {
    const char *text = good[mutate_random(state, sizeof good / sizeof *good)];
    memcpy(bytes, text, strlen(text));
    return strlen(text);
}
#endif
