/* utf8.h: characters of UTF-8: whether bytes are one, and, of bytes that are known to be valid, which. */
#ifndef HD_UTF8_H
#define HD_UTF8_H

#include <stdbool.h>
#include <stdint.h>

/* How many bytes the character at `at`, in text that ends with a zero, has; 0 when it is none: a byte that goes
 * on, more bytes than needed, a surrogate, or beyond U+10FFFF. */
static inline int hd_utf8_length(const unsigned char *at) {
    if (*at < 0x80) return 1;
    int length = *at < 0xC2 ? 0 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : *at < 0xF5 ? 4 : 0;
    for (int i = 1; i < length; i++)
        if ((at[i] & 0xC0) != 0x80) return 0;
    bool overlong = (*at == 0xE0 && at[1] < 0xA0) || (*at == 0xF0 && at[1] < 0x90);
    bool surrogate = *at == 0xED && at[1] > 0x9F, beyond = *at == 0xF4 && at[1] > 0x8F;
    return overlong || surrogate || beyond ? 0 : length;
}

/* ---- in valid text ------------------------------------------------------------------------------ */

/* Bytes of the character that begins with this byte. */
static inline int hd_utf8_size(unsigned char first) {
    return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

static inline bool hd_utf8_continues(char byte) {
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* The character at text; *size is its bytes. */
static inline int32_t hd_utf8_get(const char *text, int *size) {
    const unsigned char *s = (const unsigned char *)text;
    *size = hd_utf8_size(s[0]);
    switch (*size) {
    case 1: return s[0];
    case 2: return (s[0] & 0x1F) << 6 | (s[1] & 0x3F);
    case 3: return (s[0] & 0x0F) << 12 | (s[1] & 0x3F) << 6 | (s[2] & 0x3F);
    default: return (s[0] & 0x07) << 18 | (s[1] & 0x3F) << 12 | (s[2] & 0x3F) << 6 | (s[3] & 0x3F);
    }
}

/* The character that ends before text + end. */
static inline int32_t hd_utf8_before(const char *text, int64_t end, int *size) {
    int64_t start = end - 1;
    while (hd_utf8_continues(text[start])) start--;
    return hd_utf8_get(text + start, size);
}

/* Writes a character; its bytes, 1..4. */
static inline int hd_utf8_put(char out[4], int32_t c) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (char)(0x80 | (c >> 6 & 0x3F));
    out[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

#endif
