#include "text/charsmap.h"

#include <string.h>

#include "text/text.h"
#include "base/utf8.h"

static uint32_t u32_at(const char *bytes) {
    const unsigned char *b = (const unsigned char *)bytes;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

hd_status hd_charsmap_read(hd_ctx *cx, hd_charsmap *m, const char *bytes, int64_t size) {
    if (size < 4) return hd_fail(cx, HD_EIO, "a charsmap of %lld bytes", (long long)size);
    const int64_t array = u32_at(bytes);
    if (array % 4 || array > size - 4)
        return hd_fail(cx, HD_EIO, "a charsmap of %lld bytes with an array of %lld", (long long)size,
                       (long long)array);
    m->unit_count = array / 4;
    m->strings_size = size - 4 - array;
    m->units = hd_alloc(cx, (size_t)array);
    m->strings = m->units ? hd_alloc(cx, (size_t)m->strings_size + 1) : NULL;
    if (!m->strings) return cx->error.status;
    for (int64_t i = 0; i < m->unit_count; i++) m->units[i] = u32_at(bytes + 4 + 4 * i);
    memcpy(m->strings, bytes + 4 + array, (size_t)m->strings_size);
    m->strings[m->strings_size] = 0;
    if (!hd_utf8_valid(m->strings, m->strings_size))
        return hd_fail(cx, HD_EIO, "a charsmap whose texts are no UTF-8");
    return HD_OK;
}

void hd_charsmap_free(hd_account *account, hd_charsmap *m) {
    hd_free(account, m->units);
    hd_free(account, m->strings);
    *m = (hd_charsmap){0};
}

/* A unit: whether a value hangs below it (bit 8), the byte that leads to it, and how far its children are. */
static uint32_t offset_of(uint32_t unit) {
    return unit >> 10 << ((unit & 1u << 9) >> 6);
}
static bool is_led_to_by(uint32_t unit, unsigned char byte) {
    return (unit & (1u << 31 | 0xFF)) == byte;
}

int64_t hd_charsmap_find(const hd_charsmap *m, const char *text, int64_t size, bool longest,
                         const char **becomes, int64_t *length) {
    int64_t found = 0;
    if (m->unit_count == 0) return 0;
    uint64_t node = offset_of(m->units[0]);
    for (int64_t i = 0; i < size && text[i]; i++) {
        node ^= (unsigned char)text[i];
        if (node >= (uint64_t)m->unit_count || !is_led_to_by(m->units[node], (unsigned char)text[i])) break;
        const uint32_t unit = m->units[node];
        node ^= offset_of(unit);
        if (!(unit >> 8 & 1)) continue;
        if (node >= (uint64_t)m->unit_count) break;
        const int64_t at = m->units[node] & 0x7FFFFFFF;
        if (at > m->strings_size || hd_utf8_continues(m->strings[at])) break;
        *becomes = m->strings + at;
        *length = (int64_t)strlen(*becomes);
        found = i + 1;
        if (!longest) break;
    }
    return found;
}
