/* json_write.h: strings as JSON. Numbers are in number.h. */
#ifndef HD_JSON_WRITE_H
#define HD_JSON_WRITE_H

#include <stddef.h>

/* Bytes of the text in quotes, with its escapes; 0 if it is not UTF-8. text[length] must be 0. */
size_t hd_json_quoted_size(const char *text, size_t length);
/* Writes so many bytes to out; returns how many. */
size_t hd_json_quote(const char *text, size_t length, char *out);

#endif
