/* json.h: reads JSON (RFC 8259) one event after another. The reader allocates nothing and does not recurse, so depth
 * costs no stack; it keeps integers whole, tells them from floats, and does not depend on the locale.
 *
 *     hd_json r;
 *     hd_json_event e;
 *     hd_json_begin(&r, text, length);
 *     while (hd_json_next(&r, &e) && e.kind != HD_JSON_DONE) ...       false: r.message says where and why
 *     hd_json_end(&r);
 */
#ifndef HD_JSON_H
#define HD_JSON_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lists and objects inside each other. */
#define HD_JSON_DEEPEST 1000

typedef enum hd_json_kind {
    HD_JSON_NULL,
    HD_JSON_FALSE,
    HD_JSON_TRUE,
    HD_JSON_INTEGER,
    HD_JSON_FLOAT,
    HD_JSON_STRING,
    HD_JSON_NAME,   /* of the object's member whose value comes next */
    HD_JSON_LIST,   /* a list begins */
    HD_JSON_OBJECT, /* an object begins */
    HD_JSON_CLOSE,  /* the innermost of them ends */
    HD_JSON_DONE,
} hd_json_kind;

typedef struct hd_json_event {
    hd_json_kind kind;
    int64_t integer;
    double number;
    const char *text; /* of a string or a name: what stands between its quotes */
    size_t length;
    bool escaped; /* it must go through hd_json_unescape */
} hd_json_event;

typedef enum hd_json_wanted {
    HD_JSON_WANTS_VALUE,
    HD_JSON_WANTS_VALUE_OR_CLOSE,
    HD_JSON_WANTS_NAME_OR_CLOSE,
    HD_JSON_WANTS_COMMA_OR_CLOSE,
    HD_JSON_WANTS_NOTHING,
} hd_json_wanted;

typedef struct hd_json {
    const char *text, *at, *end;
    hd_json_wanted wanted;
    int depth; /* lists and objects that are open */
    bool is_object[HD_JSON_DEEPEST];
    locale_t plain; /* the locale "C" */
    char message[192];
} hd_json;

/* text[length] must be 0; the text is borrowed. A byte order mark before it is passed over. */
void hd_json_begin(hd_json *r, const char *text, size_t length);
bool hd_json_next(hd_json *r, hd_json_event *event);
void hd_json_end(hd_json *r);

/* Writes the bytes of a string or name to out, which has room for event->length; returns how many. */
size_t hd_json_unescape(const hd_json_event *event, char *out);

#endif
