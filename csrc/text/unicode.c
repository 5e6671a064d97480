#include "text/unicode.h"

#include <stddef.h>
#include <utf8proc.h>

bool hd_is_space(int32_t c) {
    if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

static bool is_between(utf8proc_category_t category, utf8proc_category_t first, utf8proc_category_t last) {
    return category >= first && category <= last;
}

static bool is_number(int32_t c) {
    return is_between(utf8proc_category(c), UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO);
}

static bool is_punctuation(int32_t c) {
    if (c < 0x80)
        return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
               (c >= '{' && c <= '~');
    if (c == 0x166D || c == 0x111C9) return true; /* then */
    return is_between(utf8proc_category(c), UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO) &&
           !hd_came_after_unicode_8(c);
}

bool hd_char_is(int32_t c, hd_char_class class) {
    switch (class) {
    case HD_CHAR_SPACE: return hd_is_space(c);
    case HD_CHAR_NUMBER: return is_number(c);
    default: return is_punctuation(c);
    }
}

bool hd_is_word(int32_t c) {
    const utf8proc_category_t category = utf8proc_category(c);
    return is_between(category, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_NL) ||
           category == UTF8PROC_CATEGORY_PC || c == 0x200C || c == 0x200D;
}

bool hd_is_mark(int32_t c) {
    return c >= 0x300 && is_between(utf8proc_category(c), UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME) &&
           !hd_came_after_unicode_9(c);
}

bool hd_is_nonspacing(int32_t c) {
    return c >= 0x300 && utf8proc_category(c) == UTF8PROC_CATEGORY_MN && !hd_came_after_unicode_8(c);
}

int hd_combining_class(int32_t c) {
    if (c < 0x300) return 0;
    const int class = utf8proc_get_property(c)->combining_class;
    return class && hd_came_after_unicode_9(c) ? 0 : class;
}

bool hd_is_control(int32_t c) {
    if (c == '\t' || c == '\n' || c == '\r') return false;
    if (c == 0x890 || c == 0x891 || c == 0x8E2 || c == 0x110CD || (c >= 0x13430 && c <= 0x1343F))
        return false;
    return is_between(utf8proc_category(c), UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CO);
}

bool hd_is_han(int32_t c) {
    static const int32_t blocks[][2] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF},
                                        {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
                                        {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (c >= blocks[i][0] && c <= blocks[i][1]) return true;
    return false;
}

int hd_lowercase(int32_t c, int32_t out[2]) {
    if (c == 0x130) {
        out[0] = 'i';
        out[1] = 0x307;
        return 2;
    }
    out[0] = c < 0x80 ? (c >= 'A' && c <= 'Z' ? c + 32 : c) : utf8proc_tolower(c);
    return 1;
}

int hd_uppercase(bool title, int32_t c, int32_t out[2]) {
    if (c == 0xDF) {
        out[0] = 'S';
        out[1] = title ? 's' : 'S';
        return 2;
    }
    out[0] = title ? utf8proc_totitle(c) : utf8proc_toupper(c);
    return 1;
}

const char *hd_char_category(int32_t c) {
    return utf8proc_category_string(c);
}
