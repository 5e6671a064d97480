/* csv.h: finds the fields of one record after another of a CSV text (RFC 4180), of which a part is at
 * hand. The scanner allocates nothing and copies nothing.
 *
 *     hd_csv s = {.delimiter = ',', .max_line = 1 << 20, .fields = fields, .capacity = 8};
 *     s.at = text, s.end = text + length;
 *     while (hd_csv_next(&s) == HD_CSV_RECORD) ...          s.count fields, of which `fields` has at most 8
 *
 * A text is cut anywhere: where it ends within a record, HD_CSV_MORE leaves s.at at the record's first
 * byte.
 */
#ifndef HD_CSV_H
#define HD_CSV_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hd_csv_field {
    const char *text; /* what stands between its quotes, if it has some */
    size_t length;
    bool escaped; /* of two quotes in it one counts: it must go through hd_csv_unescape */
} hd_csv_field;

typedef enum hd_csv_outcome {
    HD_CSV_RECORD,
    HD_CSV_MORE, /* the text ends too early; never if it is the last part */
    HD_CSV_END,  /* no record follows */
    HD_CSV_LONG_LINE,
    HD_CSV_LONG_FIELD,  /* in quotes: one may be missing */
    HD_CSV_NO_END,      /* a quote without another */
    HD_CSV_AFTER_QUOTE, /* field `count` ends in `wrong` where a delimiter should be */
} hd_csv_outcome;

typedef struct hd_csv {
    char delimiter;
    bool trim; /* blanks and tabs around fields and their quotes do not count; a delimiter is neither */
    int64_t max_line;     /* bytes of the longest line, and of the longest field in quotes */
    const char *at, *end; /* end[0] may be read, and is neither digit nor delimiter */
    bool is_last;         /* nothing comes behind `end` */
    hd_csv_field *fields; /* room for `capacity` of them; the others are counted */
    int64_t capacity, count;
    const char *start;    /* the record's first byte */
    int64_t blank, lines; /* empty lines before it; lines that ended, those too */
    char wrong;
} hd_csv;

/* After an error s->at is behind the line that it is in. */
hd_csv_outcome hd_csv_next(hd_csv *s);

/* Writes the bytes of an escaped field to out, which has room for field->length; returns how many. */
size_t hd_csv_unescape(const hd_csv_field *field, char *out);

/* Fields as numbers, blanks around them apart; false if they are none. An integer has 64 bits. A number
 * may also be inf, +inf or -inf. No byte behind the text may go on with it. */
bool hd_csv_integer(const char *text, size_t length, int64_t *value);
bool hd_csv_number(const char *text, size_t length, locale_t plain, double *value);
/* Leaves out the blanks at both ends. */
void hd_csv_trim(const char **text, size_t *length);

#endif
