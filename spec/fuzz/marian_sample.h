/* marian_sample.h: a small file of marian-nmt's: f32, int8, an embedding of int8, and text. */
#ifndef HD_MARIAN_SAMPLE_H
#define HD_MARIAN_SAMPLE_H

#include <stdint.h>
#include <string.h>

static uint8_t *marian_number(uint8_t *at, int size, uint64_t number) {
    for (int i = 0; i < size; i++, number >>= 8) *at++ = (uint8_t)number;
    return at;
}

typedef struct marian_sample_item {
    const char *name;
    uint64_t type;
    int ndim;
    int shape[2];
    uint64_t bytes;
} marian_sample_item;

static const marian_sample_item marian_items[] = {
    {"encoder_bias", 0x404, 2, {1, 3}, 16},
    {"encoder_W", 0x4101, 2, {2, 3}, 16},
    {"Wemb", 0x4101, 2, {3, 2}, 16},
    {"special:model.yml", 0x101, 1, {8, 0}, 8},
};
enum { MARIAN_ITEMS = 4 };

/* int8 numbers behind which is 1.0f, or text. */
static uint8_t *marian_data(uint8_t *at, const marian_sample_item *item) {
    for (uint64_t i = 0; i < item->bytes; i++) at[i] = (uint8_t)(i * 37);
    if (item->type == 0x4101) marian_number(at + item->shape[0] * item->shape[1], 4, 0x3f800000);
    if (item->type == 0x101) memcpy(at, "a: true", 8);
    return at + item->bytes;
}

/* Its size: less than 1024 bytes. */
static size_t marian_sample(uint8_t *bytes) {
    uint8_t *at = marian_number(marian_number(bytes, 8, 1), 8, MARIAN_ITEMS);
    for (int i = 0; i < MARIAN_ITEMS; i++) {
        const marian_sample_item *item = &marian_items[i];
        at = marian_number(marian_number(at, 8, strlen(item->name) + 1), 8, item->type);
        at = marian_number(marian_number(at, 8, (uint64_t)item->ndim), 8, item->bytes);
    }
    for (int i = 0; i < MARIAN_ITEMS; i++) {
        memcpy(at, marian_items[i].name, strlen(marian_items[i].name) + 1);
        at += strlen(marian_items[i].name) + 1;
    }
    for (int i = 0; i < MARIAN_ITEMS; i++)
        for (int d = 0; d < marian_items[i].ndim; d++)
            at = marian_number(at, 4, (uint64_t)marian_items[i].shape[d]);
    at = marian_number(at, 8, 5) + 5;
    memset(at - 5, 0, 5);
    for (int i = 0; i < MARIAN_ITEMS; i++) at = marian_data(at, &marian_items[i]);
    return (size_t)(at - bytes);
}

#endif
