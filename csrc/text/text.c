#include "text/text.h"

#include <string.h>

#include "base/utf8.h"

void hd_text_free(hd_account *account, hd_text *t) {
    hd_free(account, t->bytes);
    hd_free(account, t->origins);
    *t = (hd_text){0};
}

hd_status hd_text_set(hd_ctx *cx, hd_text *t, const char *bytes, int64_t size, int64_t base, bool traced) {
    hd_status status = HD_RESERVE(cx, t, bytes, size);
    if (status) return status;
    if (size) memcpy(t->bytes, bytes, (size_t)size);
    t->size = size;
    t->base = base;
    t->traced = traced;
    t->changed = false;
    return HD_OK;
}

void hd_text_begin(hd_text *t, const hd_text *source) {
    t->size = 0;
    t->base = source->base;
    t->traced = source->traced;
    t->changed = true;
}

hd_status hd_text_put(hd_ctx *cx, hd_text *t, const char *bytes, int64_t size, hd_origin origin) {
    hd_status status = HD_RESERVE(cx, t, bytes, t->size + size);
    if (!status && t->traced) status = HD_RESERVE(cx, t, origins, t->size + size);
    if (status) return status;
    if (size) memcpy(t->bytes + t->size, bytes, (size_t)size);
    if (t->traced)
        for (int64_t i = 0; i < size; i++) t->origins[t->size + i] = origin;
    t->size += size;
    return HD_OK;
}

hd_status hd_text_put_char(hd_ctx *cx, hd_text *t, int32_t c, hd_origin origin) {
    char bytes[4];
    return hd_text_put(cx, t, bytes, hd_utf8_put(bytes, c), origin);
}

hd_status hd_text_copy(hd_ctx *cx, hd_text *t, const hd_text *source, int64_t from, int64_t to) {
    if (!t->traced) return hd_text_put(cx, t, source->bytes + from, to - from, (hd_origin){0, 0});
    hd_status status = HD_OK;
    for (int64_t i = from; i < to && !status;) {
        const int size = hd_utf8_size((unsigned char)source->bytes[i]);
        status = hd_text_put(cx, t, source->bytes + i, size, hd_text_origin(source, i));
        i += size;
    }
    return status;
}

hd_origin hd_text_origin(const hd_text *t, int64_t i) {
    if (!t->traced) return (hd_origin){0, 0};
    if (t->changed) return t->origins[i];
    int64_t from = i, to = i + 1;
    while (from > 0 && hd_utf8_continues(t->bytes[from])) from--;
    while (to < t->size && hd_utf8_continues(t->bytes[to])) to++;
    return (hd_origin){t->base + from, t->base + to};
}

hd_origin hd_text_range(const hd_text *t, int64_t from, int64_t to) {
    return (hd_origin){hd_text_origin(t, from).from, hd_text_origin(t, to - 1).to};
}

/* ---- bytes that may be anything ------------------------------------------------------------ */

/* The bytes of the character at s, of which `left` are there; or, negative, of what is none. */
static int valid_size(const unsigned char *s, int64_t left) {
    const unsigned char first = s[0];
    if (first < 0x80) return 1;
    if (first < 0xC2 || first > 0xF4) return -1;
    const int size = hd_utf8_size(first);
    const unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (left < 2 || s[1] < low || s[1] > high) return -1;
    for (int i = 2; i < size; i++)
        if (i >= left || !hd_utf8_continues((char)s[i])) return -i;
    return size;
}

bool hd_utf8_valid(const char *bytes, int64_t size) {
    for (int64_t i = 0; i < size;) {
        uint64_t eight;
        if (i + 8 <= size && (memcpy(&eight, bytes + i, 8), (eight & 0x8080808080808080u) == 0)) {
            i += 8;
            continue;
        }
        const int n = valid_size((const unsigned char *)bytes + i, size - i);
        if (n < 0) return false;
        i += n;
    }
    return true;
}

hd_status hd_text_repair(hd_ctx *cx, hd_text *t, const char *bytes, int64_t size, bool traced) {
    *t = (hd_text){.bytes = t->bytes,
                   .bytes_capacity = t->bytes_capacity,
                   .origins = t->origins,
                   .origins_capacity = t->origins_capacity,
                   .traced = traced,
                   .changed = true};
    hd_status status = HD_OK;
    for (int64_t i = 0; i < size && !status;) {
        const int n = valid_size((const unsigned char *)bytes + i, size - i);
        const hd_origin origin = {i, i + (n < 0 ? -n : n)};
        status = n < 0 ? hd_text_put_char(cx, t, 0xFFFD, origin) : hd_text_put(cx, t, bytes + i, n, origin);
        i = origin.to;
    }
    return status;
}
