/* tokens.h: what a model makes of a piece: tokens, each with its bytes of the text. */
#ifndef HD_TOKENS_H
#define HD_TOKENS_H

#include "text/array.h"

typedef struct hd_token {
    int32_t id; /* from 0 */
    int64_t from, to;
} hd_token;

typedef struct hd_tokens {
    hd_token *items;
    int64_t items_capacity, count;
} hd_tokens;

static inline hd_status hd_tokens_add(hd_ctx *cx, hd_tokens *tokens, int32_t id, int64_t from, int64_t to) {
    hd_status status = HD_RESERVE(cx, tokens, items, tokens->count + 1);
    if (!status) tokens->items[tokens->count++] = (hd_token){id, from, to};
    return status;
}

static inline void hd_tokens_free(hd_account *account, hd_tokens *tokens) {
    hd_free(account, tokens->items);
    *tokens = (hd_tokens){0};
}

#endif
