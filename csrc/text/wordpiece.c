#include "text/wordpiece.h"

#include <string.h>

#include "base/utf8.h"

hd_status hd_wordpiece_prepare(hd_ctx *cx, hd_wordpiece *w, const char *prefix, int64_t length) {
    const hd_vocabulary *v = w->vocabulary;
    hd_status status = HD_OK;
    for (int32_t id = 0; id < v->count && !status && !w->whole; id++) {
        if (!hd_vocabulary_has(v, id) || v->lengths[id] == 0) continue;
        const char *text = v->bytes + v->starts[id];
        const int64_t size = v->lengths[id];
        status = hd_trie_add(cx, &w->first, text, size, id);
        if (!status && size > length && memcmp(text, prefix, (size_t)length) == 0)
            status = hd_trie_add(cx, &w->further, text + length, size - length, id);
    }
    return status;
}

void hd_wordpiece_free(hd_account *account, hd_wordpiece *w) {
    hd_trie_free(account, &w->first);
    hd_trie_free(account, &w->further);
    *w = (hd_wordpiece){0};
}

static int64_t count_chars(const char *text, int64_t from, int64_t to) {
    int64_t count = 0;
    for (int64_t i = from; i < to; i++) count += !hd_utf8_continues(text[i]);
    return count;
}

static hd_status put_unknown(hd_ctx *cx, const hd_wordpiece *w, int64_t from, int64_t to, hd_tokens *out) {
    if (w->unknown == HD_NO_ID)
        return hd_fail(cx, HD_EARG, "text: expected words of the vocabulary, which has no unknown token");
    return hd_tokens_add(cx, out, w->unknown, from, to);
}

hd_status hd_wordpiece_encode(hd_ctx *cx, const hd_wordpiece *w, const char *text, int64_t from, int64_t to,
                              hd_tokens *out) {
    const int64_t before = out->count;
    if (w->whole) {
        const int32_t id = hd_vocabulary_find(w->vocabulary, text + from, to - from);
        return id == HD_NO_ID ? put_unknown(cx, w, from, to, out) : hd_tokens_add(cx, out, id, from, to);
    }
    hd_status status = HD_OK;
    if (to - from > w->most_chars && count_chars(text, from, to) > w->most_chars)
        return put_unknown(cx, w, from, to, out);
    for (int64_t i = from; i < to && !status;) {
        int64_t length;
        const int32_t id = hd_trie_longest(i == from ? &w->first : &w->further, text + i, to - i, &length);
        if (id == HD_NO_ID) {
            out->count = before; /* the whole piece is unknown */
            return put_unknown(cx, w, from, to, out);
        }
        status = hd_tokens_add(cx, out, id, i, i + length);
        i += length;
    }
    return status;
}
