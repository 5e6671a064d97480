/* mutate.h: seeded damage to the bytes of a file, for tests that must come out the same
 * every time. */
#ifndef HD_MUTATE_H
#define HD_MUTATE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static uint32_t mutate_random(uint64_t *state, uint32_t below) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

static size_t mutate_remove(uint8_t *bytes, size_t size, size_t at, size_t count) {
    if (count > size - at) count = size - at;
    memmove(bytes + at, bytes + at + count, size - at - count);
    return size - count;
}

static size_t mutate_insert(uint8_t *bytes, size_t size, size_t capacity, size_t at, const void *what,
                            size_t count) {
    if (count > capacity - size) return size;
    memmove(bytes + at + count, bytes + at, size - at);
    memcpy(bytes + at, what, count);
    return size + count;
}

/* What breaks readers of headers. */
static const char *const mutate_pieces[] = {
    "0",
    "-1",
    "9007199254740993",
    "18446744073709551615",
    "1e400",
    "0.5",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "\"",
    "\\u0000",
    "\\ud800",
    "null",
    "true",
    "[[[[[[[[",
    "F32",
    "BOOL",
    "F8_E4M3",
    "__metadata__",
    "dtype",
    "shape",
    "data_offsets",
    "\xff",
    "\n",
    "'",
    "(",
    ")",
    "descr",
    "shape",
    "fortran_order",
    "True",
    "3L",
    "'>f4'",
    "'<U5'",
    "PK\3\4",
    "PK\1\2",
    "PK\5\6",
    "\1\0\20\0\377\377\377\377",
};

/* One change; the new size. */
static size_t mutate_once(uint64_t *state, uint8_t *bytes, size_t size, size_t capacity) {
    if (size == 0) return mutate_insert(bytes, size, capacity, 0, "{", 1);
    size_t at = mutate_random(state, (uint32_t)size);
    const char *piece = mutate_pieces[mutate_random(state, sizeof mutate_pieces / sizeof *mutate_pieces)];
    uint8_t copy[64];
    size_t count = 1 + mutate_random(state, sizeof copy - 1);
    switch (mutate_random(state, 6)) {
    case 0: bytes[at] ^= (uint8_t)(1u << mutate_random(state, 8)); return size;
    case 1: bytes[at] = (uint8_t)mutate_random(state, 256); return size;
    case 2: return mutate_remove(bytes, size, at, count);
    case 3: return mutate_insert(bytes, size, capacity, at, piece, strlen(piece));
    case 4: {
        size_t length = strlen(piece) < size - at ? strlen(piece) : size - at;
        memcpy(bytes + at, piece, length);
        return size;
    }
    default:
        if (count > size - at) count = size - at;
        memcpy(copy, bytes + at, count);
        return mutate_insert(bytes, size, capacity, mutate_random(state, (uint32_t)size + 1), copy, count);
    }
}

/* The header's length as it is now, so that damage reaches what lies behind that check. */
static inline void mutate_mend_safetensors(uint8_t *bytes, size_t size, size_t data_size) {
    if (size < 8 + data_size) return;
    uint64_t header = size - 8 - data_size;
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(header >> (8 * i));
}

static inline void mutate_mend_npy(uint8_t *bytes, size_t size, size_t data_size) {
    size_t header_start = size > 6 && bytes[6] == 1 ? 10 : 12;
    if (size < header_start + data_size) return;
    size_t header = size - header_start - data_size;
    for (size_t i = 8; i < header_start; i++, header >>= 8) bytes[i] = (uint8_t)header;
}

static inline uint32_t mutate_crc(const uint8_t *bytes, size_t size) {
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

/* The check of each chunk as its bytes are now. */
static inline void mutate_mend_png(uint8_t *bytes, size_t size, size_t data_size) {
    (void)data_size;
    for (size_t at = 8; at + 12 <= size;) {
        size_t length = (size_t)bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];
        if (length > size - at - 12) return;
        uint32_t crc = mutate_crc(bytes + at + 4, length + 4);
        for (int i = 0; i < 4; i++) bytes[at + 8 + length + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
        at += length + 12;
    }
}

static inline void mutate_mend_none(uint8_t *bytes, size_t size, size_t data_size) {
    (void)bytes, (void)size, (void)data_size;
}

static inline void mutate_put_32(uint8_t *at, size_t number) {
    for (int i = 0; i < 4; i++, number >>= 8) at[i] = (uint8_t)number;
}

/* Where members and the directory of an archive are now: the n-th entry's member is the n-th that there is. */
static inline void mutate_mend_npz(uint8_t *bytes, size_t size, size_t data_size) {
    size_t members[8], count = 0, entries = 0, directory = 0;
    (void)data_size;
    for (size_t i = 0; i + 46 <= size; i++) {
        if (!memcmp(bytes + i, "PK\3\4", 4) && count < 8) members[count++] = i;
        if (memcmp(bytes + i, "PK\1\2", 4)) continue;
        if (entries == 0) directory = i;
        if (entries < count && memcmp(bytes + i + 42, "\xff\xff\xff\xff", 4))
            mutate_put_32(bytes + i + 42, members[entries]);
        entries++;
    }
    if (size < 22 || !entries || memcmp(bytes + size - 22, "PK\5\6", 4)) return;
    if (!memcmp(bytes + size - 6, "\xff\xff\xff\xff", 4)) return;
    mutate_put_32(bytes + size - 10, size - 22 - directory);
    mutate_put_32(bytes + size - 6, directory);
}

/* A few changes, and mostly the right length again. */
static size_t mutate(uint64_t *state, uint8_t *bytes, size_t size, size_t capacity, size_t data_size,
                     void (*mend)(uint8_t *bytes, size_t size, size_t data_size)) {
    for (uint32_t changes = 1 + mutate_random(state, 4); changes > 0; changes--)
        size = mutate_once(state, bytes, size, capacity);
    if (mutate_random(state, 4)) mend(bytes, size, data_size);
    return size;
}

#endif
