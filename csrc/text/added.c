#include "text/added.h"

#include "text/unicode.h"
#include "base/utf8.h"
#include "text/vocabulary.h"

void hd_added_free(hd_account *account, hd_added *a) {
    hd_trie_free(account, &a->trie);
    hd_free(account, a->tokens);
    *a = (hd_added){0};
}

hd_status hd_added_add(hd_ctx *cx, hd_added *a, const char *text, int64_t length, hd_added_token token) {
    if (length == 0) return HD_OK;
    hd_status status = HD_RESERVE(cx, a, tokens, a->count + 1);
    if (!status) status = hd_trie_add(cx, &a->trie, text, length, (int32_t)a->count);
    if (!status) a->tokens[a->count++] = token;
    return status;
}

static bool is_word_before(const char *text, int64_t end) {
    int size;
    return end > 0 && hd_is_word(hd_utf8_before(text, end, &size));
}

static bool is_word_at(const char *text, int64_t size, int64_t i) {
    int bytes;
    return i < size && hd_is_word(hd_utf8_get(text + i, &bytes));
}

static int64_t before_space(const char *text, int64_t start, int64_t end) {
    int size;
    while (end > start && hd_is_space(hd_utf8_before(text, end, &size))) end -= size;
    return end < start ? start : end;
}

static int64_t behind_space(const char *text, int64_t size, int64_t i) {
    int bytes;
    while (i < size && hd_is_space(hd_utf8_get(text + i, &bytes))) i += bytes;
    return i;
}

const hd_added_token *hd_added_find(const hd_added *a, const char *text, int64_t size, int64_t start,
                                    int64_t look, bool specials, int64_t *from, int64_t *to, int64_t *next) {
    if (!a->count) return NULL;
    for (int64_t i = look; i < size; i++) {
        int64_t length;
        if (!a->trie.roots[(unsigned char)text[i]]) continue;
        const int32_t place = hd_trie_longest(&a->trie, text + i, size - i, &length);
        if (place == HD_NO_ID) continue;
        const hd_added_token *token = &a->tokens[place];
        const int64_t end = i + length;
        if ((token->special && !specials) ||
            (token->single_word && (is_word_before(text, i) || is_word_at(text, size, end)))) {
            i = end - 1;
            continue;
        }
        *next = end;
        *from = token->left ? before_space(text, start, i) : i;
        *to = token->right ? behind_space(text, size, end) : end;
        return token;
    }
    return NULL;
}
