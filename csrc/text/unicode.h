/* unicode.h: what tokenizers ask of a character, by utf8proc's tables. */
#ifndef HD_UNICODE_H
#define HD_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum hd_char_class {
    HD_CHAR_SPACE,      /* White_Space */
    HD_CHAR_NUMBER,     /* Nd Nl No */
    HD_CHAR_PUNCTUATION /* P, and all of ASCII that is neither letter, digit, space nor control */
} hd_char_class;

bool hd_char_is(int32_t c, hd_char_class class);
bool hd_is_space(int32_t c);
bool hd_is_word(int32_t c); /* letters, marks, digits, connectors */

/* The programs whose ids are to be met have tables of their own, of Unicode 9 for normal forms and marks, of
 * Unicode 8 in what they do for BERT. What came later is an ordinary character to them. */
bool hd_came_after_unicode_8(int32_t c); /* of nonspacing marks and punctuation. unicode_age.c */
bool hd_came_after_unicode_9(int32_t c); /* of marks, and of what decomposes */
bool hd_is_mark(int32_t c);              /* Mn Mc Me, of Unicode 9 */
bool hd_is_nonspacing(int32_t c);        /* Mn, of Unicode 8 */
bool hd_is_control(int32_t c);           /* Cc Cf Co Cs, of Unicode 8, not tab and line ends */
int hd_combining_class(int32_t c);       /* of Unicode 9 */
bool hd_is_han(int32_t c);               /* of the blocks that BERT puts spaces around */

/* Lower case: one character, but two of U+0130. Their number. */
int hd_lowercase(int32_t c, int32_t out[2]);
/* Upper case, or title case: one character, but two of U+00DF. Their number. */
int hd_uppercase(bool title, int32_t c, int32_t out[2]);

typedef enum hd_char_case { HD_CASE_LOWER, HD_CASE_UPPER, HD_CASE_TITLE } hd_char_case;

/* The general category: "Lu", "Nd" ... */
const char *hd_char_category(int32_t c);

#endif
