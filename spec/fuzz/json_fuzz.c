/* Feeds damaged JSON texts to the reader: the target fuzz-json (reader_fuzz.h). What it takes must be sound: strings of
 * UTF-8 that are no longer than what was written, and every table closed. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "io/json.h"
#include "io/source.h"
#include "io/utf8.h"
#ifndef HD_LIBFUZZER
#include "mutate.h"
#endif

#define DATA 0
#define MEND mutate_mend_none
#include "reader_fuzz.h"

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
