#include "text/unigram.h"

#include <math.h>
#include <stdio.h>

#include "base/utf8.h"

/* So much less likely than the least likely token is what is unknown. */
#define UNKNOWN_PENALTY 10

struct hd_unigram_step { /* the best way to a place in the piece */
    double score;
    int64_t from; /* where its last token begins; -1: not reached */
    int32_t id;
};

void hd_unigram_free(hd_account *account, hd_unigram *u) {
    hd_trie_free(account, &u->trie);
    hd_free(account, u->scores);
    hd_free(account, u->steps);
    hd_tokens_free(account, &u->found);
    *u = (hd_unigram){0};
}

hd_status hd_unigram_prepare(hd_ctx *cx, hd_unigram *u, const double *scores) {
    const hd_vocabulary *v = u->vocabulary;
    double least = INFINITY;
    hd_status status = HD_RESERVE(cx, u, scores, v->count);
    for (int32_t id = 0; id < v->count && !status; id++) {
        u->scores[id] = scores[id];
        if (!hd_vocabulary_has(v, id) || isnan(scores[id]) || v->lengths[id] == 0) continue;
        status = hd_trie_add(cx, &u->trie, v->bytes + v->starts[id], v->lengths[id], id);
        if (scores[id] < least) least = scores[id];
    }
    u->unknown_score = least - UNKNOWN_PENALTY;
    for (int i = 0; i < 256; i++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", i);
        u->byte_ids[i] = hd_vocabulary_find(v, name, 6);
    }
    return status;
}

/* ---- the search ---------------------------------------------------------------------------- */

static void offer(const hd_unigram *u, int64_t from, int64_t to, double score, int32_t id) {
    hd_unigram_step *step = &u->steps[to];
    score += u->steps[from].score;
    if (u->in_floats) score = (float)score;
    if (step->from >= 0 && !(score > step->score)) return;
    *step = (hd_unigram_step){score, from, id};
}

/* All tokens that begin here; and what is unknown, when none of them is the character alone. */
static void offer_from(const hd_unigram *u, const char *piece, int64_t size, int64_t from) {
    const int one = hd_utf8_size((unsigned char)piece[from]);
    bool has_one = false;
    int32_t node = 0;
    for (int64_t i = from; i < size; i++) {
        node = hd_trie_step(&u->trie, node, (unsigned char)piece[i]);
        if (node == 0) break;
        const int32_t id = u->trie.ids[node];
        if (id == HD_NO_ID) continue;
        offer(u, from, i + 1, u->scores[id], id);
        if (i + 1 - from == one) has_one = true;
    }
    if (!has_one) offer(u, from, from + one, u->unknown_score, u->unknown);
}

static hd_status search(hd_ctx *cx, hd_unigram *u, const char *piece, int64_t size) {
    hd_status status = HD_RESERVE(cx, u, steps, size + 1);
    if (status) return status;
    for (int64_t i = 0; i <= size; i++) u->steps[i].from = -1;
    u->steps[0].score = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < size; i += hd_utf8_size((unsigned char)piece[i])) {
        if (++count % 65536 == 0 && hd_must_stop(cx)) return hd_fail(cx, HD_ECANCEL, "interrupted");
        offer_from(u, piece, size, i);
    }
    return HD_OK;
}

/* ---- the best way -------------------------------------------------------------------------- */

/* From the end to the beginning; neighbours that are unknown are one. */
static hd_status collect(hd_ctx *cx, hd_unigram *u, int64_t size) {
    hd_status status = HD_OK;
    u->found.count = 0;
    for (int64_t to = size; to > 0 && !status;) {
        const hd_unigram_step *step = &u->steps[to];
        hd_token *last = u->found.count ? &u->found.items[u->found.count - 1] : NULL;
        if (u->fuse_unknown && last && last->id == u->unknown && step->id == u->unknown)
            last->from = step->from;
        else
            status = hd_tokens_add(cx, &u->found, step->id, step->from, to);
        to = step->from;
    }
    return status;
}

static bool has_bytes(const hd_unigram *u, const char *text, int64_t from, int64_t to) {
    if (!u->byte_fallback) return false;
    for (int64_t i = from; i < to; i++)
        if (u->byte_ids[(unsigned char)text[i]] == HD_NO_ID) return false;
    return true;
}

static hd_status put(hd_ctx *cx, const hd_unigram *u, const char *text, hd_token token, hd_tokens *out) {
    if (token.id != u->unknown) return hd_tokens_add(cx, out, token.id, token.from, token.to);
    hd_status status = HD_OK;
    if (has_bytes(u, text, token.from, token.to)) {
        for (int64_t i = token.from; i < token.to && !status; i++)
            status = hd_tokens_add(cx, out, u->byte_ids[(unsigned char)text[i]], token.from, token.to);
        return status;
    }
    if (u->unknown == HD_NO_ID)
        return hd_fail(cx, HD_EARG,
                       "text: expected characters of the vocabulary, which has no unknown token");
    return hd_tokens_add(cx, out, u->unknown, token.from, token.to);
}

hd_status hd_unigram_encode(hd_ctx *cx, hd_unigram *u, const char *text, int64_t from, int64_t to,
                            hd_tokens *out) {
    hd_status status = search(cx, u, text + from, to - from);
    if (!status) status = collect(cx, u, to - from);
    for (int64_t i = u->found.count - 1; i >= 0 && !status; i--) {
        hd_token token = u->found.items[i];
        token.from += from;
        token.to += from;
        status = put(cx, u, text, token, out);
    }
    return status;
}
