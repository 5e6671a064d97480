#define _GNU_SOURCE
#include "io/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Powers of ten that a double holds without loss. */
static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
#define EXACT_POWER 22
#define EXACT_INTEGER (1ull << DBL_MANT_DIG)

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads up to 19 digits, as many as 64 bits hold; more are left. */
static const char *read_digits(const char *at, const char *end, uint64_t *digits, int *count) {
    for (; at < end && *at >= '0' && *at <= '9' && *count < 19; at++) {
        *digits = *digits * 10 + (uint64_t)(*at - '0');
        *count += *digits != 0; /* zeros before the number are none of it */
    }
    return at;
}

static const char *read_exponent(const char *at, const char *end, int64_t *exponent) {
    bool negative = *at == '-';
    int value = 0;
    if (*at == '-' || *at == '+') at++;
    for (; at < end && *at >= '0' && *at <= '9' && value < 1000; at++) value = value * 10 + (*at - '0');
    *exponent += negative ? -value : value;
    return at;
}

/* Digits and power of ten that are both exact make one rounding, the right one (Clinger 1990). What has
 * more of either goes through strtod. */
double hd_decimal(const char *text, const char *end, locale_t plain) {
    const char *at = text;
    bool negative = *at == '-';
    if (*at == '-' || *at == '+') at++;
    uint64_t digits = 0;
    int64_t exponent = 0;
    int count = 0;
    at = read_digits(at, end, &digits, &count);
    if (at < end && *at == '.') {
        const char *point = ++at;
        at = read_digits(at, end, &digits, &count);
        exponent = -(at - point);
    }
    if (at < end && (*at == 'e' || *at == 'E')) at = read_exponent(at + 1, end, &exponent);
    if (at < end || digits > EXACT_INTEGER || exponent < -EXACT_POWER || exponent > EXACT_POWER)
        return strtod_l(text, NULL, plain);
    double value = exponent < 0 ? (double)digits / powers[-exponent] : (double)digits * powers[exponent];
    return negative ? -value : value;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int put_digits(char *out, uint64_t value) {
    char reversed[20];
    int count = 0;
    do reversed[count++] = (char)('0' + value % 10);
    while (value /= 10);
    for (int i = 0; i < count; i++) out[i] = reversed[count - 1 - i];
    return count;
}

int hd_integer_text(char out[HD_FLOAT_TEXT], int64_t value) {
    if (value >= 0) return put_digits(out, (uint64_t)value);
    out[0] = '-';
    return 1 + put_digits(out + 1, 0 - (uint64_t)value);
}

/* Floats of this size, as decimals of 15 digits, are written without an exponent. */
static bool is_moderate(double size) {
    return size >= 1e-4 && size < 1e15;
}

/* The text of a moderate float if a decimal of at most 15 digits is nearest to no other float; else 0.
 * %.15g would find the same decimal: so many digits survive the way through a float. */
static int short_text(char *out, double value) {
    double size = fabs(value);
    int decimals = 14;
    while (decimals < 18 && size * powers[decimals + 1] < 1e15) decimals++;
    while (size * powers[decimals] >= 1e15) decimals--;
    double whole = rint(size * powers[decimals]);
    if (whole / powers[decimals] != size) return 0;
    uint64_t digits = (uint64_t)whole;
    for (; decimals && digits % 10 == 0; decimals--) digits /= 10;
    uint64_t unit = (uint64_t)powers[decimals];
    int length = 0;
    if (value < 0) out[length++] = '-';
    length += put_digits(out + length, digits / unit);
    /* Of a unit more, the 1 keeps the zeros behind the point; the point takes its place. */
    int point = length;
    length += decimals ? put_digits(out + point, unit + digits % unit) : 2;
    if (!decimals) out[point + 1] = '0';
    out[point] = '.';
    return length;
}

/* Below the normal floats few digits may do; elsewhere none needs less than it has in %.15g, whose zeros
 * at the end are not written. */
static int long_text(char *out, double value, int digits, locale_t plain) {
    int length = 0;
    locale_t before = uselocale(plain);
    for (;; digits++) {
        length = snprintf(out, HD_FLOAT_TEXT, "%.*g", digits, value);
        if (digits == 17 || strtod_l(out, NULL, plain) == value) break; /* 17 are always enough */
    }
    uselocale(before);
    if (strpbrk(out, ".e")) return length;
    memcpy(out + length, ".0", 2);
    return length + 2;
}

int hd_float_text(char out[HD_FLOAT_TEXT], double value, locale_t plain) {
    double size = fabs(value);
    if (!is_moderate(size)) return long_text(out, value, size < DBL_MIN ? 1 : 15, plain);
    int length = short_text(out, value);
    return length ? length : long_text(out, value, 16, plain);
}
