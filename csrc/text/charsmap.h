/* charsmap.h: the rules that SentencePiece compiles into its models: a double array of prefixes (Darts) and what
 * each becomes.
 *
 * The bytes are: the array's size (u32), the array (u32 each, little-endian), then strings that end with a zero
 * byte. The bytes come from files, and every step through them is checked.
 */
#ifndef HD_CHARSMAP_H
#define HD_CHARSMAP_H

#include "base/context.h"

typedef struct hd_charsmap {
    uint32_t *units;
    int64_t unit_count;
    char *strings;
    int64_t strings_size;
} hd_charsmap;

hd_status hd_charsmap_read(hd_ctx *cx, hd_charsmap *m, const char *bytes, int64_t size);
void hd_charsmap_free(hd_account *account, hd_charsmap *m);

/* The shortest or the longest prefix of text with a rule: its bytes, 0 when there is none. What it becomes: *length
 * bytes at *becomes. */
int64_t hd_charsmap_find(const hd_charsmap *m, const char *text, int64_t size, bool longest,
                         const char **becomes, int64_t *length);

#endif
