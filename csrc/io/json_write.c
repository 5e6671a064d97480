#include "io/json_write.h"

#include "base/utf8.h"

/* The letter of a short escape, 'u' of a long one, 0 of a byte that is written as it is. */
static const char escape_of[256] = {
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'b', 't', 'n', 'u', 'f', 'r', 'u', 'u',         'u',
    'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', 'u', ['"'] = '"', ['\\'] = '\\',
};

size_t hd_json_quoted_size(const char *text, size_t length) {
    const unsigned char *at = (const unsigned char *)text, *end = at + length;
    size_t size = length + 2;
    while (at < end) {
        if (*at < 0x80) {
            char escape = escape_of[*at++];
            if (escape) size += escape == 'u' ? 5 : 1;
        } else {
            int bytes = hd_utf8_length(at);
            if (!bytes) return 0;
            at += bytes;
        }
    }
    return size;
}

size_t hd_json_quote(const char *text, size_t length, char *out) {
    static const char digits[] = "0123456789abcdef";
    char *to = out;
    *to++ = '"';
    for (const char *at = text; at < text + length; at++) {
        unsigned char c = (unsigned char)*at;
        char escape = escape_of[c];
        if (!escape) {
            *to++ = *at;
            continue;
        }
        *to++ = '\\';
        *to++ = escape;
        if (escape != 'u') continue;
        *to++ = '0', *to++ = '0', *to++ = digits[c >> 4], *to++ = digits[c & 15];
    }
    *to++ = '"';
    return (size_t)(to - out);
}
