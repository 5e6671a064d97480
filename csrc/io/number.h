/* number.h: decimal numbers as text and back, whatever the locale. */
#ifndef HD_NUMBER_H
#define HD_NUMBER_H

#include <locale.h>
#include <stdbool.h>
#include <stdint.h>

/* The float nearest to the decimal in [text, end): sign, digits, point, exponent, as C has them. No byte
 * at `end` may go on with the number; `plain` is the locale "C". */
double hd_decimal(const char *text, const char *end, locale_t plain);

/* The same number as few digits, always with a point or an exponent: 1.0, 0.1, 1e+20. It must be finite.
 * The length; no zero is written. */
#define HD_FLOAT_TEXT 40
int hd_float_text(char out[HD_FLOAT_TEXT], double value, locale_t plain);

int hd_integer_text(char out[HD_FLOAT_TEXT], int64_t value);

#endif
