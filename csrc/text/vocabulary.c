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

int32_t hd_vocabulary_find(const hd_vocabulary *v, const char *text, int64_t length) {
    if (!v->slot_count) return HD_NO_ID;
    const uint64_t mask = (uint64_t)v->slot_count - 1;
    for (uint64_t i = hd_text_hash(text, length) & mask;; i = (i + 1) & mask) {
        const int32_t id = v->slots[i];
        if (id == HD_NO_ID || is_text(v, id, text, length)) return id;
    }
}

static void put_slot(hd_vocabulary *v, int32_t id) {
    const uint64_t mask = (uint64_t)v->slot_count - 1;
    uint64_t i = hd_text_hash(v->bytes + v->starts[id], v->lengths[id]) & mask;
    while (v->slots[i] != HD_NO_ID) i = (i + 1) & mask;
    v->slots[i] = id;
}

static hd_status grow_slots(hd_ctx *cx, hd_vocabulary *v) {
    const int64_t count = v->slot_count ? 2 * v->slot_count : 1024;
    int32_t *old = v->slots, *slots = hd_alloc(cx, (size_t)count * sizeof *slots);
    const int64_t old_count = v->slot_count;
    if (!slots) return cx->error.status;
    memset(slots, 0xFF, (size_t)count * sizeof *slots);
    v->slots = slots;
    v->slot_count = count;
    for (int64_t i = 0; i < old_count; i++)
        if (old[i] != HD_NO_ID) put_slot(v, old[i]);
    hd_free(cx->account, old);
    return HD_OK;
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
    if (!status && 2 * (v->used + 1) > v->slot_count) status = grow_slots(cx, v);
    if (status) return status;
    if (length) memcpy(v->bytes + v->size, text, (size_t)length);
    v->starts[id] = v->size;
    v->lengths[id] = (int32_t)length;
    v->size += length;
    if (hd_vocabulary_find(v, text, length) == HD_NO_ID) {
        put_slot(v, id);
        v->used++;
    }
    return HD_OK;
}
