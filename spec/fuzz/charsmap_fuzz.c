/* Feeds damaged charsmaps (of SentencePiece models) to the reader and looks texts up in what it takes: the target
 * fuzz-charsmap (reader_fuzz.h). What is found lies within the map, and within the text. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "io/source.h"
#include "text/charsmap.h"
#ifndef HD_LIBFUZZER
#include "mutate.h"
#endif

#define DATA 0
#define MEND mutate_mend_none
#include "reader_fuzz.h"

static void look_up(const hd_charsmap *m, const char *text, int64_t size, bool longest) {
    for (int64_t at = 0; at < size; at++) {
        const char *becomes = NULL;
        int64_t length = 0, found = hd_charsmap_find(m, text + at, size - at, longest, &becomes, &length);
        if (found < 0 || found > size - at) abort();
        if (!found) continue;
        if (becomes < m->strings || becomes + length > m->strings + m->strings_size) abort();
        if (becomes[length]) abort();
    }
}

static bool read_map(hd_ctx *cx, const char *bytes, int64_t size) {
    static const char text[] = "abcab\xef\xac\x81 a\xcc\x81\xff\x01\x02";
    hd_charsmap map = {0};
    const bool fine = !hd_charsmap_read(cx, &map, bytes, size);
    if (fine) {
        look_up(&map, text, sizeof text, true);
        look_up(&map, text, sizeof text, false);
        look_up(&map, bytes, size, true);
    }
    hd_charsmap_free(cx->account, &map);
    return fine;
}

static bool read_file(hd_ctx *cx, const char *path) {
    hd_source source;
    if (hd_source_open(cx, &source, path)) return false;
    char *bytes = hd_alloc(cx, (size_t)source.size + 1);
    const bool fine =
        bytes && !hd_source_read(&source, bytes, source.size, 0) && read_map(cx, bytes, source.size);
    hd_free(cx->account, bytes);
    hd_source_close(&source);
    return fine;
}

#ifndef HD_LIBFUZZER
static void put_unit(uint8_t *units, uint32_t at, uint32_t unit) {
    mutate_put_32(units + 4 * at, unit);
}

/* a becomes A, ab becomes nothing, b a word of two letters: an array of 512 units, the children of the root from 256 on. */
static size_t compose(uint64_t *state, uint8_t *bytes) {
    static const char strings[] = "A\0\0\xc3\xa9x";
    enum { UNITS = 512, HAS_VALUE = 1 << 8 };
    uint8_t *units = bytes + 4;
    (void)state;
    memset(bytes, 0, 4 + 4 * UNITS);
    mutate_put_32(bytes, 4 * UNITS);
    put_unit(units, 0, 256u << 10);
    put_unit(units, 256 ^ 'a', (1u << 10) | HAS_VALUE | 'a'); /* its value at 352 ^ 1, its child b behind */
    put_unit(units, (256 ^ 'a') ^ 1, 0x80000000u | 0);
    put_unit(units, ((256 ^ 'a') ^ 1) ^ 'b', (4u << 10) | HAS_VALUE | 'b');
    put_unit(units, (((256 ^ 'a') ^ 1) ^ 'b') ^ 4, 0x80000000u | 2);
    put_unit(units, 256 ^ 'b', (8u << 10) | HAS_VALUE | 'b');
    put_unit(units, (256 ^ 'b') ^ 8, 0x80000000u | 3);
    memcpy(bytes + 4 + 4 * UNITS, strings, sizeof strings);
    return 4 + 4 * UNITS + sizeof strings;
}
#endif
