#include "text/bpe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* ---- GPT-2's bytes ------------------------------------------------------------------------- */

/* Bytes that can be seen stand for themselves; the others, in order, for the characters from U+0100. */
static int byte_of_char(int32_t c) {
    if ((c >= '!' && c <= '~') || (c >= 0xA1 && c <= 0xAC) || (c >= 0xAE && c <= 0xFF)) return c;
    if (c >= 0x100 && c <= 0x120) return c - 0x100;
    if (c >= 0x121 && c <= 0x142) return c - 0x121 + 0x7F;
    return c == 0x143 ? 0xAD : -1;
}

bool hd_bytes_of_token(const char *text, int64_t length, char *out, int64_t *size) {
    *size = 0;
    for (int64_t i = 0; i < length;) {
        int n;
        const int byte = byte_of_char(hd_utf8_get(text + i, &n));
        if (byte < 0) return false;
        out[(*size)++] = (char)byte;
        i += n;
    }
    return true;
}

static hd_status add_bytes(hd_ctx *cx, hd_bpe *b) {
    const hd_vocabulary *v = b->vocabulary;
    int64_t longest = 1, size;
    for (int32_t id = 0; id < v->count; id++)
        if (v->lengths[id] > longest) longest = v->lengths[id];
    char *bytes = hd_alloc(cx, (size_t)longest);
    if (!bytes) return cx->error.status;
    hd_status status = hd_vocabulary_expect(cx, &b->bytes_of, v->count);
    for (int32_t id = 0; id < v->count && !status; id++) {
        if (!hd_vocabulary_has(v, id)) continue;
        if (hd_bytes_of_token(v->bytes + v->starts[id], v->lengths[id], bytes, &size))
            status = hd_vocabulary_add(cx, &b->bytes_of, bytes, size, id);
    }
    hd_free(cx->account, bytes);
    return status;
}

hd_status hd_bpe_prepare(hd_ctx *cx, hd_bpe *b) {
    for (int i = 0; i < 256; i++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", i);
        b->byte_ids[i] = hd_vocabulary_find(b->vocabulary, name, 6);
    }
    return b->byte_level ? add_bytes(cx, b) : HD_OK;
}

/* ---- the list ------------------------------------------------------------------------------ */

static uint64_t key_of(int32_t left, int32_t right) {
    return ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) + 1;
}

static uint64_t slot_of(const hd_bpe *b, uint64_t key) {
    const uint64_t hash = key * 0x9E3779B97F4A7C15u;
    return (hash ^ hash >> 32) & (uint64_t)(b->merge_slots - 1);
}

static const hd_merge *find_merge(const hd_bpe *b, int32_t left, int32_t right) {
    if (!b->merge_slots) return NULL;
    const uint64_t key = key_of(left, right), mask = (uint64_t)b->merge_slots - 1;
    for (uint64_t i = slot_of(b, key);; i = (i + 1) & mask) {
        if (b->merges[i].pair == key) return &b->merges[i];
        if (b->merges[i].pair == 0) return NULL;
    }
}

static void put_merge(hd_bpe *b, hd_merge merge) {
    const uint64_t mask = (uint64_t)b->merge_slots - 1;
    uint64_t i = slot_of(b, merge.pair);
    while (b->merges[i].pair && b->merges[i].pair != merge.pair) i = (i + 1) & mask;
    b->merge_count += b->merges[i].pair == 0;
    b->merges[i] = merge; /* of two merges of one pair the last counts */
}

static hd_status grow_merges(hd_ctx *cx, hd_bpe *b) {
    hd_merge *old = b->merges;
    const int64_t old_slots = b->merge_slots, slots = old_slots ? 2 * old_slots : 4096;
    hd_merge *merges = hd_alloc_zeroed(cx, (size_t)slots * sizeof *merges);
    if (!merges) return cx->error.status;
    b->merges = merges;
    b->merge_slots = slots;
    b->merge_count = 0;
    for (int64_t i = 0; i < old_slots; i++)
        if (old[i].pair) put_merge(b, old[i]);
    hd_free(cx->account, old);
    return HD_OK;
}

hd_status hd_bpe_add_merge(hd_ctx *cx, hd_bpe *b, const char *left, int64_t left_size, const char *right,
                           int64_t right_size, uint32_t rank, bool *known) {
    char small[256], *joined = small;
    const int64_t prefix = (int64_t)strlen(b->prefix);
    const int64_t skip = right_size >= prefix && memcmp(right, b->prefix, (size_t)prefix) == 0 ? prefix : 0;
    const int64_t size = left_size + right_size - skip;
    if (size > (int64_t)sizeof small) joined = hd_alloc(cx, (size_t)size);
    if (!joined) return cx->error.status;
    memcpy(joined, left, (size_t)left_size);
    memcpy(joined + left_size, right + skip, (size_t)(right_size - skip));
    const int32_t left_id = hd_vocabulary_find(b->vocabulary, left, left_size);
    const int32_t right_id = hd_vocabulary_find(b->vocabulary, right, right_size);
    const int32_t id = hd_vocabulary_find(b->vocabulary, joined, size);
    if (joined != small) hd_free(cx->account, joined);
    *known = left_id != HD_NO_ID && right_id != HD_NO_ID && id != HD_NO_ID;
    if (!*known) return HD_OK;
    hd_status status = 2 * (b->merge_count + 1) > b->merge_slots ? grow_merges(cx, b) : HD_OK;
    if (!status) put_merge(b, (hd_merge){key_of(left_id, right_id), rank, id});
    return status;
}

typedef struct hd_scored {
    double score;
    int32_t id;
} hd_scored;

static int by_score(const void *a, const void *b) {
    const hd_scored *x = a, *y = b;
    return x->score > y->score ? -1 : x->score < y->score;
}

/* Equal scores have equal ranks. */
hd_status hd_bpe_set_scores(hd_ctx *cx, hd_bpe *b, const double *scores) {
    const int32_t count = b->vocabulary->count;
    hd_scored *sorted = hd_alloc(cx, (size_t)count * sizeof *sorted);
    b->ranks = sorted ? hd_alloc(cx, (size_t)count * sizeof *b->ranks) : NULL;
    if (!b->ranks) {
        hd_free(cx->account, sorted);
        return cx->error.status;
    }
    int32_t used = 0;
    for (int32_t id = 0; id < count; id++) {
        b->ranks[id] = UINT32_MAX;
        if (!isnan(scores[id])) sorted[used++] = (hd_scored){scores[id], id};
    }
    qsort(sorted, (size_t)used, sizeof *sorted, by_score);
    uint32_t rank = 0;
    for (int32_t i = 0; i < used; i++) {
        if (i > 0 && sorted[i].score != sorted[i - 1].score) rank = (uint32_t)i;
        b->ranks[sorted[i].id] = rank;
    }
    hd_free(cx->account, sorted);
    b->by_score = true;
    return HD_OK;
}

void hd_bpe_free(hd_account *account, hd_bpe *b) {
    hd_vocabulary_free(account, &b->bytes_of);
    hd_free(account, b->merges);
    hd_free(account, b->ranks);
    hd_free(account, b->cache);
    hd_free(account, b->symbols);
    hd_free(account, b->heap);
    *b = (hd_bpe){0};
}

/* ---- the symbols of a piece ---------------------------------------------------------------- */

typedef struct hd_word {
    hd_ctx *cx;
    hd_bpe *bpe;
    const char *text;
    int64_t from, to;
    int32_t count; /* of symbols; those that were joined away among them */
    bool after_unknown;
} hd_word;

static hd_status push_symbol(hd_word *w, int32_t id, int64_t from, int64_t to) {
    hd_bpe *b = w->bpe;
    if (w->count == INT32_MAX) return hd_fail(w->cx, HD_EARG, "text: a piece of more than 2^31 - 1 symbols");
    hd_status status = HD_RESERVE(w->cx, b, symbols, (int64_t)w->count + 1);
    if (status) return status;
    b->symbols[w->count] = (hd_symbol){id, w->count - 1, w->count + 1, from, to};
    w->count++;
    return HD_OK;
}

/* With the marks of parts of a piece, as BERT-like and older vocabularies have them. */
static int32_t marked_id(const hd_word *w, int64_t from, int64_t to) {
    const hd_bpe *b = w->bpe;
    char name[4 + sizeof b->prefix + sizeof b->suffix];
    char *end = name;
    if (from > w->from) end = stpcpy(end, b->prefix);
    memcpy(end, w->text + from, (size_t)(to - from));
    end += to - from;
    if (to == w->to) end = stpcpy(end, b->suffix);
    return hd_vocabulary_find(b->vocabulary, name, end - name);
}

static int32_t char_id(const hd_word *w, int64_t from, int64_t to) {
    const hd_bpe *b = w->bpe;
    if (b->byte_level) return hd_vocabulary_find(&b->bytes_of, w->text + from, 1);
    if (b->prefix[0] || b->suffix[0]) return marked_id(w, from, to);
    return hd_vocabulary_find(b->vocabulary, w->text + from, to - from);
}

static bool has_bytes(const hd_word *w, int64_t from, int64_t to) {
    if (!w->bpe->byte_fallback) return false;
    for (int64_t i = from; i < to; i++)
        if (w->bpe->byte_ids[(unsigned char)w->text[i]] == HD_NO_ID) return false;
    return true;
}

static hd_status push_unknown(hd_word *w, int64_t from, int64_t to) {
    hd_bpe *b = w->bpe;
    hd_status status = HD_OK;
    if (has_bytes(w, from, to)) {
        w->after_unknown = false;
        for (int64_t i = from; i < to && !status; i++)
            status = push_symbol(w, b->byte_ids[(unsigned char)w->text[i]], i, i + 1);
        return status;
    }
    if (b->unknown == HD_NO_ID) return HD_OK;
    if (b->fuse_unknown && w->after_unknown)
        b->symbols[w->count - 1].to = to;
    else
        status = push_symbol(w, b->unknown, from, to);
    w->after_unknown = true;
    return status;
}

/* By scores, characters without a token stay until the end: they may become part of one. */
static hd_status push_chars(hd_word *w) {
    hd_status status = HD_OK;
    for (int64_t i = w->from; i < w->to && !status;) {
        const int64_t next = w->bpe->byte_level ? i + 1 : i + hd_utf8_size((unsigned char)w->text[i]);
        const int32_t id = char_id(w, i, next);
        if (id != HD_NO_ID || w->bpe->by_score) {
            status = push_symbol(w, id, i, next);
            w->after_unknown = false;
        } else {
            status = push_unknown(w, i, next);
        }
        i = next;
    }
    if (w->count) w->bpe->symbols[w->count - 1].after = -1;
    return status;
}

/* ---- joining ------------------------------------------------------------------------------- */

typedef struct hd_join {
    uint32_t rank;
    int32_t id; /* HD_NO_ID: the two are not joined */
} hd_join;

static hd_join join_of(const hd_word *w, int32_t left, int32_t right) {
    const hd_bpe *b = w->bpe;
    const hd_symbol *l = &b->symbols[left], *r = &b->symbols[right];
    if (!b->by_score) {
        const hd_merge *merge = find_merge(b, l->id, r->id);
        return merge ? (hd_join){merge->rank, merge->id} : (hd_join){0, HD_NO_ID};
    }
    const int32_t id = hd_vocabulary_find(b->vocabulary, w->text + l->from, r->to - l->from);
    if (id == HD_NO_ID || b->ranks[id] == UINT32_MAX) return (hd_join){0, HD_NO_ID};
    return (hd_join){b->ranks[id], id};
}

static void join(hd_word *w, int32_t left, int32_t id) {
    hd_symbol *symbols = w->bpe->symbols, *l = &symbols[left], *r = &symbols[l->after];
    l->id = id;
    l->to = r->to;
    r->from = r->to; /* gone */
    l->after = r->after;
    if (r->after >= 0) symbols[r->after].before = left;
}

/* Of few symbols: the first of the list is looked for anew each time. */
#define FEW 24

static void join_few(hd_word *w) {
    hd_join joins[FEW]; /* of each symbol with the next */
    const hd_symbol *symbols = w->bpe->symbols;
    for (int32_t i = 0; i + 1 < w->count; i++) joins[i] = join_of(w, i, i + 1);
    if (w->count) joins[w->count - 1] = (hd_join){0, HD_NO_ID};
    for (;;) {
        int32_t best = -1;
        for (int32_t i = 0; i >= 0 && i < w->count; i = symbols[i].after)
            if (joins[i].id != HD_NO_ID && (best < 0 || joins[i].rank < joins[best].rank)) best = i;
        if (best < 0) return;
        join(w, best, joins[best].id);
        const int32_t after = symbols[best].after, before = symbols[best].before;
        joins[best] = after >= 0 ? join_of(w, best, after) : (hd_join){0, HD_NO_ID};
        if (before >= 0) joins[before] = join_of(w, before, best);
    }
}

/* Of many: a heap of rank << 32 | left, which gives equals from the left. What it holds may be out of date. */
static hd_status heap_push(hd_word *w, int32_t left) {
    hd_bpe *b = w->bpe;
    const int32_t right = b->symbols[left].after;
    if (right < 0) return HD_OK;
    const hd_join j = join_of(w, left, right);
    if (j.id == HD_NO_ID) return HD_OK;
    hd_status status = HD_RESERVE(w->cx, b, heap, b->heap_count + 1);
    if (status) return status;
    const uint64_t item = (uint64_t)j.rank << 32 | (uint32_t)left;
    int64_t i = b->heap_count++;
    for (; i > 0 && item < b->heap[(i - 1) / 2]; i = (i - 1) / 2) b->heap[i] = b->heap[(i - 1) / 2];
    b->heap[i] = item;
    return HD_OK;
}

static uint64_t heap_pop(hd_bpe *b) {
    const uint64_t top = b->heap[0], last = b->heap[--b->heap_count];
    int64_t i = 0;
    for (int64_t child; (child = 2 * i + 1) < b->heap_count; i = child) {
        if (child + 1 < b->heap_count && b->heap[child + 1] < b->heap[child]) child++;
        if (last <= b->heap[child]) break;
        b->heap[i] = b->heap[child];
    }
    b->heap[i] = last;
    return top;
}

static hd_status join_many(hd_word *w) {
    hd_bpe *b = w->bpe;
    hd_status status = HD_OK;
    b->heap_count = 0;
    for (int32_t i = 0; i < w->count && !status; i++) status = heap_push(w, i);
    for (int64_t step = 0; !status && b->heap_count; step++) {
        if (step % 4096 == 0 && hd_must_stop(w->cx)) return hd_fail(w->cx, HD_ECANCEL, "interrupted");
        const uint64_t item = heap_pop(b);
        const int32_t left = (int32_t)(uint32_t)item, right = b->symbols[left].after;
        if (b->symbols[left].from == b->symbols[left].to || right < 0) continue;
        const hd_join j = join_of(w, left, right);
        if (j.id == HD_NO_ID || j.rank != item >> 32) continue;
        join(w, left, j.id);
        status = heap_push(w, left);
        if (!status && b->symbols[left].before >= 0) status = heap_push(w, b->symbols[left].before);
    }
    return status;
}

/* ---- the tokens of a piece ----------------------------------------------------------------- */

/* By scores, what has no token in the end falls to bytes, or is unknown; neighbours are unknown together. */
static hd_status put_unknown(const hd_word *w, const hd_symbol *s, bool *after_unknown, hd_tokens *out) {
    const hd_bpe *b = w->bpe;
    hd_status status = HD_OK;
    if (has_bytes(w, s->from, s->to)) {
        *after_unknown = false;
        for (int64_t i = s->from; i < s->to && !status; i++)
            status = hd_tokens_add(w->cx, out, b->byte_ids[(unsigned char)w->text[i]], i, i + 1);
        return status;
    }
    if (b->unknown == HD_NO_ID) return HD_OK;
    if (*after_unknown && b->fuse_unknown) {
        out->items[out->count - 1].to = s->to;
        return HD_OK;
    }
    *after_unknown = true;
    return hd_tokens_add(w->cx, out, b->unknown, s->from, s->to);
}

static hd_status put_tokens(const hd_word *w, hd_tokens *out) {
    hd_status status = HD_OK;
    bool after_unknown = false;
    for (int32_t i = w->count ? 0 : -1; i >= 0 && !status; i = w->bpe->symbols[i].after) {
        const hd_symbol *s = &w->bpe->symbols[i];
        if (s->id == HD_NO_ID) {
            status = put_unknown(w, s, &after_unknown, out);
        } else {
            after_unknown = false;
            status = hd_tokens_add(w->cx, out, s->id, s->from, s->to);
        }
    }
    return status;
}

static hd_status encode_anew(hd_ctx *cx, hd_bpe *b, const char *text, int64_t from, int64_t to,
                             hd_tokens *out) {
    if (b->whole_first) {
        const int32_t id =
            hd_vocabulary_find(b->byte_level ? &b->bytes_of : b->vocabulary, text + from, to - from);
        if (id != HD_NO_ID) return hd_tokens_add(cx, out, id, from, to);
    }
    hd_word w = {.cx = cx, .bpe = b, .text = text, .from = from, .to = to};
    hd_status status = push_chars(&w);
    if (!status && w.count <= FEW)
        join_few(&w);
    else if (!status)
        status = join_many(&w);
    return status ? status : put_tokens(&w, out);
}

/* ---- pieces that come again ---------------------------------------------------------------- */

#define CACHE_SLOTS (1 << 15)
#define CACHED_BYTES 30
#define CACHED_TOKENS 6

typedef struct hd_cached {
    unsigned char size, count; /* size 0: nothing here */
    char text[CACHED_BYTES];
    int32_t ids[CACHED_TOKENS];
    unsigned char ends[CACHED_TOKENS + 2]; /* of each token, from the piece's beginning */
} hd_cached;

struct hd_bpe_cache {
    hd_cached slots[CACHE_SLOTS];
};

static void remember(hd_cached *slot, const char *text, int64_t from, int64_t size, const hd_tokens *tokens,
                     int64_t first) {
    const int64_t count = tokens->count - first;
    if (count > CACHED_TOKENS) return;
    for (int64_t i = 0; i < count; i++) {
        const hd_token *token = &tokens->items[first + i];
        /* Tokens that do not lie side by side (a byte was left out) are not told by their ends. */
        if (token->from != (i ? tokens->items[first + i - 1].to : from)) return;
        slot->ids[i] = token->id;
        slot->ends[i] = (unsigned char)(token->to - from);
    }
    memcpy(slot->text, text + from, (size_t)size);
    slot->count = (unsigned char)count;
    slot->size = (unsigned char)size;
}

hd_status hd_bpe_encode(hd_ctx *cx, hd_bpe *b, const char *text, int64_t from, int64_t to, hd_tokens *out) {
    const int64_t size = to - from;
    if (size < 2 || size > CACHED_BYTES) return encode_anew(cx, b, text, from, to, out);
    if (!b->cache && !(b->cache = hd_alloc_zeroed(cx, sizeof *b->cache))) return cx->error.status;
    hd_cached *slot = &b->cache->slots[hd_text_hash(text + from, size) % CACHE_SLOTS];
    if (slot->size == size && memcmp(slot->text, text + from, (size_t)size) == 0) {
        hd_status status = HD_OK;
        int64_t begin = from;
        for (int i = 0; i < slot->count && !status; i++) {
            const int64_t end = from + slot->ends[i];
            status = hd_tokens_add(cx, out, slot->ids[i], begin, end);
            begin = end;
        }
        return status;
    }
    slot->size = 0;
    const int64_t first = out->count;
    hd_status status = encode_anew(cx, b, text, from, to, out);
    if (!status) remember(slot, text, from, size, out, first);
    return status;
}
