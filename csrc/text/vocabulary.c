#include "text/vocabulary.h"

#include <string.h>

#define MOST_IDS (1 << 28)

void hd_vocabulary_free(hd_account *account, hd_vocabulary *v) {
    hd_free(account, v->bytes);
    hd_free(account, v->starts);
    hd_free(account, v->lengths);
    hd_free(account, v->slots);
    *v = (hd_vocabulary){0};
}

/* Eight bytes at a time, mixed by a multiplication whose halves are added (as wyhash does). */
uint64_t hd_text_hash(const char *text, int64_t length) {
    uint64_t hash = 0x9E3779B97F4A7C15u ^ (uint64_t)length;
    for (int64_t i = 0; i < length; i += 8) {
        uint64_t part = 0;
        const int64_t left = length - i;
        if (left >= 8)
            memcpy(&part, text + i, 8);
        else
            for (int64_t k = 0; k < left; k++) part |= (uint64_t)(unsigned char)text[i + k] << 8 * k;
        const unsigned __int128 product = (unsigned __int128)(hash ^ part) * 0xA0761D6478BD642Fu;
        hash = (uint64_t)product ^ (uint64_t)(product >> 64);
    }
    return hash ^ hash >> 29;
}

static bool is_text(const hd_vocabulary *v, int32_t id, const char *text, int64_t length) {
    return v->lengths[id] == length && memcmp(v->bytes + v->starts[id], text, (size_t)length) == 0;
}

/* The slot of the string, or the free one where it would stand. */
static hd_vocabulary_slot *slot_of(const hd_vocabulary *v, uint32_t hash, const char *text, int64_t length) {
    const uint64_t mask = (uint64_t)v->slot_count - 1;
    for (uint64_t i = hash & mask;; i = (i + 1) & mask) {
        hd_vocabulary_slot *slot = &v->slots[i];
        if (slot->id == HD_NO_ID || (slot->hash == hash && is_text(v, slot->id, text, length))) return slot;
    }
}

int32_t hd_vocabulary_find(const hd_vocabulary *v, const char *text, int64_t length) {
    return v->slot_count ? slot_of(v, (uint32_t)hd_text_hash(text, length), text, length)->id : HD_NO_ID;
}

static hd_status make_slots(hd_ctx *cx, hd_vocabulary *v, int64_t count) {
    hd_vocabulary_slot *old = v->slots, *slots = hd_alloc(cx, (size_t)count * sizeof *slots);
    const uint64_t mask = (uint64_t)count - 1;
    if (!slots) return cx->error.status;
    memset(slots, 0xFF, (size_t)count * sizeof *slots);
    for (int64_t i = 0; i < v->slot_count; i++) {
        if (old[i].id == HD_NO_ID) continue;
        uint64_t at = old[i].hash & mask;
        while (slots[at].id != HD_NO_ID) at = (at + 1) & mask;
        slots[at] = old[i];
    }
    v->slots = slots;
    v->slot_count = count;
    hd_free(cx->account, old);
    return HD_OK;
}

/* At most half of the slots are taken. */
hd_status hd_vocabulary_expect(hd_ctx *cx, hd_vocabulary *v, int64_t count) {
    int64_t slots = v->slot_count ? v->slot_count : 1024;
    if (count > MOST_IDS) count = MOST_IDS;
    while (slots < 2 * (v->used + count)) slots *= 2;
    return slots > v->slot_count ? make_slots(cx, v, slots) : HD_OK;
}

static hd_status reserve_ids(hd_ctx *cx, hd_vocabulary *v, int32_t id) {
    if (id < v->count) return HD_OK;
    hd_status status = HD_RESERVE(cx, v, starts, (int64_t)id + 1);
    if (!status) status = HD_RESERVE(cx, v, lengths, (int64_t)id + 1);
    if (status) return status;
    for (; v->count <= id; v->count++) {
        v->starts[v->count] = -1;
        v->lengths[v->count] = 0;
    }
    return HD_OK;
}

hd_status hd_vocabulary_add(hd_ctx *cx, hd_vocabulary *v, const char *text, int64_t length, int32_t id) {
    if (id < 0 || id >= MOST_IDS) return hd_fail(cx, HD_EIO, "an id of %d in a vocabulary", id);
    if (length > INT32_MAX) return hd_fail(cx, HD_EIO, "a token of %lld bytes", (long long)length);
    hd_status status = reserve_ids(cx, v, id);
    if (!status) status = HD_RESERVE(cx, v, bytes, v->size + length);
    if (!status) status = hd_vocabulary_expect(cx, v, 1);
    if (status) return status;
    if (length) memcpy(v->bytes + v->size, text, (size_t)length);
    v->starts[id] = v->size;
    v->lengths[id] = (int32_t)length;
    v->size += length;
    const uint32_t hash = (uint32_t)hd_text_hash(text, length);
    hd_vocabulary_slot *slot = slot_of(v, hash, text, length);
    if (slot->id == HD_NO_ID) {
        *slot = (hd_vocabulary_slot){id, hash};
        v->used++;
    }
    return HD_OK;
}
