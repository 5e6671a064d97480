/* utf8.h: what is a character of UTF-8. */
#ifndef HD_UTF8_H
#define HD_UTF8_H

#include <stdbool.h>

/* How many bytes the character at `at`, in text that ends with a zero, has; 0 when it is none: a byte that goes on,
 * more bytes than needed, a surrogate, or beyond U+10FFFF. */
static inline int hd_utf8_length(const unsigned char *at) {
    if (*at < 0x80) return 1;
    int length = *at < 0xC2 ? 0 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : *at < 0xF5 ? 4 : 0;
    for (int i = 1; i < length; i++)
        if ((at[i] & 0xC0) != 0x80) return 0;
    bool overlong = (*at == 0xE0 && at[1] < 0xA0) || (*at == 0xF0 && at[1] < 0x90);
    bool surrogate = *at == 0xED && at[1] > 0x9F, beyond = *at == 0xF4 && at[1] > 0x8F;
    return overlong || surrogate || beyond ? 0 : length;
}

#endif
