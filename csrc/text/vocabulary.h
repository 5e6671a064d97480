/* vocabulary.h: the strings of tokens by their ids, and their ids by their strings. Ids count from 0 and may have
 * gaps. */
#ifndef HD_VOCABULARY_H
#define HD_VOCABULARY_H

#include "text/array.h"

/* A slot keeps its string's hash, so that most others are passed over without a look at their bytes. */
typedef struct hd_vocabulary_slot {
    int32_t id; /* HD_NO_ID: free */
    uint32_t hash;
} hd_vocabulary_slot;

typedef struct hd_vocabulary {
    char *bytes; /* of all strings, one behind the other */
    int64_t bytes_capacity, size;
    int64_t *starts; /* by id: where its string begins; -1: no such id */
    int64_t starts_capacity;
    int32_t *lengths;
    int64_t lengths_capacity;
    int32_t count; /* one more than the greatest id */
    hd_vocabulary_slot *slots;
    int64_t slot_count, used;
} hd_vocabulary;

#define HD_NO_ID (-1)

void hd_vocabulary_free(hd_account *account, hd_vocabulary *v);
/* Space for so many strings, which are about to be added. */
hd_status hd_vocabulary_expect(hd_ctx *cx, hd_vocabulary *v, int64_t count);
/* Of two ids with one string, the first is found by it. */
hd_status hd_vocabulary_add(hd_ctx *cx, hd_vocabulary *v, const char *text, int64_t length, int32_t id);
int32_t hd_vocabulary_find(const hd_vocabulary *v, const char *text, int64_t length);
static inline bool hd_vocabulary_has(const hd_vocabulary *v, int64_t id) {
    return id >= 0 && id < v->count && v->starts[id] >= 0;
}
static inline const char *hd_vocabulary_text(const hd_vocabulary *v, int32_t id, int64_t *length) {
    *length = v->lengths[id];
    return v->bytes + v->starts[id];
}

uint64_t hd_text_hash(const char *text, int64_t length);

#endif
