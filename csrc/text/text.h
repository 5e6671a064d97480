/* text.h: text on its way through a tokenizer: valid UTF-8, and from where in the input each byte came.
 *
 * A step that changes text reads one hd_text and writes another. While the text is a part of the input as it
 * stands, no origins are kept: byte i is byte base + i of the input. Nor are they when nobody asks for offsets.
 */
#ifndef HD_TEXT_H
#define HD_TEXT_H

#include "text/array.h"

/* Bytes from .. to - 1 of the input. */
typedef struct hd_origin {
    int64_t from, to;
} hd_origin;

typedef struct hd_text {
    char *bytes;
    int64_t bytes_capacity, size;
    hd_origin *origins; /* of each byte, while `changed` and `traced` */
    int64_t origins_capacity;
    int64_t base;
    bool traced, changed;
} hd_text;

void hd_text_free(hd_account *account, hd_text *t);

/* Takes size bytes that begin at byte `base` of the input, which are valid UTF-8. */
hd_status hd_text_set(hd_ctx *cx, hd_text *t, const char *bytes, int64_t size, int64_t base, bool traced);
/* Empty, to be written by hd_text_put from what is in `source`. */
void hd_text_begin(hd_text *t, const hd_text *source);
/* Appends bytes that stand for this part of the input. */
hd_status hd_text_put(hd_ctx *cx, hd_text *t, const char *bytes, int64_t size, hd_origin origin);
hd_status hd_text_put_char(hd_ctx *cx, hd_text *t, int32_t c, hd_origin origin);
/* Appends bytes from .. to - 1 of another text, with their origins. */
hd_status hd_text_copy(hd_ctx *cx, hd_text *t, const hd_text *source, int64_t from, int64_t to);

/* What of the input the character at byte i, or the bytes from .. to - 1 (at least one), came from. Empty at 0
 * when the text is not traced. */
hd_origin hd_text_origin(const hd_text *t, int64_t i);
hd_origin hd_text_range(const hd_text *t, int64_t from, int64_t to);

/* Bytes that may be anything, made valid: each that is none of a character becomes U+FFFD, as Unicode advises
 * (a maximal part at a time). Then origins are kept, of a text with base 0. NULL size: is it valid as it is? */
bool hd_utf8_valid(const char *bytes, int64_t size);
hd_status hd_text_repair(hd_ctx *cx, hd_text *t, const char *bytes, int64_t size, bool traced);

#endif
