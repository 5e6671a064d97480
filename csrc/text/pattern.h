/* pattern.h: regular expressions as tokenizer files write them (Oniguruma's, Rust's), through PCRE2. */
#ifndef HD_PATTERN_H
#define HD_PATTERN_H

#include "base/context.h"

typedef struct hd_pattern hd_pattern;

/* NULL for what PCRE2 does not understand, with its reason (HD_EIO). */
hd_pattern *hd_pattern_new(hd_ctx *cx, const char *text, int64_t length);
void hd_pattern_free(hd_pattern *p);
/* The first match in bytes start .. size - 1 of valid UTF-8, which may be empty: 1, or 0 when there is none. Negative: it took
 * too much of memory or time, and the context says so. */
int hd_pattern_find(hd_ctx *cx, const hd_pattern *p, const char *text, int64_t size, int64_t start,
                    int64_t *from, int64_t *to);

#endif
