/* trie.h: which of many strings begin at a place in a text. */
#ifndef HD_TRIE_H
#define HD_TRIE_H

#include "text/array.h"

typedef struct hd_trie_edge {
    uint64_t key; /* 256 * node + byte + 1; 0: none here */
    int32_t node;
} hd_trie_edge;

typedef struct hd_trie {
    int32_t *ids; /* by node: of the string that ends there, or HD_NO_ID */
    int64_t ids_capacity, node_count;
    hd_trie_edge *edges;
    int64_t edge_slots, edge_count;
    int32_t roots[256]; /* the first step, without a look into edges; 0: none */
} hd_trie;

void hd_trie_free(hd_account *account, hd_trie *t);
/* Of two ids with one string, the first stays. The string is not empty. */
hd_status hd_trie_add(hd_ctx *cx, hd_trie *t, const char *text, int64_t length, int32_t id);

/* Steps from the root, node 0: the node behind this byte, 0 when there is none. */
int32_t hd_trie_step(const hd_trie *t, int32_t node, unsigned char byte);
/* The longest string that begins text, as its id; HD_NO_ID when none does. */
int32_t hd_trie_longest(const hd_trie *t, const char *text, int64_t size, int64_t *length);

#endif
