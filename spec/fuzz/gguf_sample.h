/* gguf_sample.h: a small GGUF file: metadata of every kind, tensors of several types. */
#ifndef HD_GGUF_SAMPLE_H
#define HD_GGUF_SAMPLE_H

#include <stdint.h>
#include <string.h>

static uint8_t *gguf_number(uint8_t *at, int size, uint64_t number) {
    for (int i = 0; i < size; i++, number >>= 8) *at++ = (uint8_t)number;
    return at;
}

static uint8_t *gguf_text(uint8_t *at, const char *text) {
    at = gguf_number(at, 8, strlen(text));
    memcpy(at, text, strlen(text));
    return at + strlen(text);
}

static uint8_t *gguf_key(uint8_t *at, const char *name, unsigned kind) {
    return gguf_number(gguf_text(at, name), 4, kind);
}

static uint8_t *gguf_array(uint8_t *at, unsigned kind, uint64_t count) {
    return gguf_number(gguf_number(at, 4, kind), 8, count);
}

/* The innermost dimension first; no second one: 0. */
static uint8_t *gguf_tensor(uint8_t *at, const char *name, uint64_t inner, uint64_t outer, unsigned type,
                            uint64_t offset) {
    at = gguf_number(gguf_text(at, name), 4, outer ? 2 : 1);
    at = gguf_number(at, 8, inner);
    if (outer) at = gguf_number(at, 8, outer);
    return gguf_number(gguf_number(at, 4, type), 8, offset);
}

static uint8_t *gguf_items(uint8_t *at) {
    static const int sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    char name[] = "k.a";
    for (unsigned kind = 0; kind < 13; kind++, name[2]++)
        if (sizes[kind]) at = gguf_number(gguf_key(at, name, kind), sizes[kind], 1);
    at = gguf_text(gguf_key(at, "general.architecture", 8), "none");
    at = gguf_number(gguf_key(at, "general.alignment", 4), 4, 8);
    at = gguf_array(gguf_key(at, "tokens", 9), 8, 2);
    at = gguf_text(gguf_text(at, "<s>"), "");
    at = gguf_array(gguf_array(gguf_key(at, "deep", 9), 9, 1), 5, 2);
    return gguf_number(at, 8, 7);
}

/* Its size: less than 2048 bytes. */
static size_t gguf_sample(uint8_t *bytes) {
    uint8_t *at = bytes;
    memcpy(at, "GGUF", 4);
    at = gguf_number(at + 4, 4, 3);
    at = gguf_number(gguf_number(at, 8, 5), 8, 15);
    at = gguf_items(at);
    at = gguf_tensor(at, "plain", 2, 3, 0, 0);     /* F32 */
    at = gguf_tensor(at, "small", 32, 2, 8, 24);   /* Q8_0 */
    at = gguf_tensor(at, "large", 256, 0, 14, 96); /* Q6_K */
    at = gguf_tensor(at, "none", 0, 3, 27, 0);     /* I64 */
    at = gguf_tensor(at, "half", 4, 0, 1, 312);    /* F16 */
    while ((at - bytes) % 8) *at++ = 0;
    for (int i = 0; i < 320; i++) *at++ = (uint8_t)(i * 37);
    return (size_t)(at - bytes);
}

#endif
