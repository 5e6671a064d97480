/* added.h: tokens that are looked for in the text before anything else is done with it ("<|im_start|>"). */
#ifndef HD_ADDED_H
#define HD_ADDED_H

#include "text/text.h"
#include "text/trie.h"

typedef struct hd_added_token {
    int32_t id;
    bool special, left, right, single_word; /* left, right: takes the space there along */
} hd_added_token;

typedef struct hd_added {
    hd_trie trie; /* of places in `tokens` */
    hd_added_token *tokens;
    int64_t tokens_capacity, count;
} hd_added;

void hd_added_free(hd_account *account, hd_added *a);
hd_status hd_added_add(hd_ctx *cx, hd_added *a, const char *text, int64_t length, hd_added_token token);

/* The first of them in bytes start .. size - 1 that counts; from and to with the space that it takes along, from
 * not before start. NULL: none. *next is where to look on. */
const hd_added_token *hd_added_find(const hd_added *a, const char *text, int64_t size, int64_t start,
                                    int64_t look, bool specials, int64_t *from, int64_t *to, int64_t *next);

#endif
