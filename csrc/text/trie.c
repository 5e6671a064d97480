#include "text/trie.h"

#include <string.h>

#include "text/vocabulary.h"

void hd_trie_free(hd_account *account, hd_trie *t) {
    hd_free(account, t->ids);
    hd_free(account, t->edges);
    *t = (hd_trie){0};
}

static uint64_t key_of(int32_t node, unsigned char byte) {
    return ((uint64_t)node << 8 | byte) + 1;
}

static uint64_t slot_of(const hd_trie *t, uint64_t key) {
    const uint64_t hash = key * 0x9E3779B97F4A7C15u;
    return (hash ^ hash >> 32) & (uint64_t)(t->edge_slots - 1);
}

int32_t hd_trie_step(const hd_trie *t, int32_t node, unsigned char byte) {
    if (node == 0) return t->roots[byte];
    const uint64_t key = key_of(node, byte), mask = (uint64_t)t->edge_slots - 1;
    for (uint64_t i = slot_of(t, key);; i = (i + 1) & mask) {
        if (t->edges[i].key == key) return t->edges[i].node;
        if (t->edges[i].key == 0) return 0;
    }
}

int32_t hd_trie_longest(const hd_trie *t, const char *text, int64_t size, int64_t *length) {
    int32_t node = 0, found = HD_NO_ID;
    for (int64_t i = 0; i < size; i++) {
        node = hd_trie_step(t, node, (unsigned char)text[i]);
        if (node == 0) break;
        if (t->ids[node] == HD_NO_ID) continue;
        found = t->ids[node];
        *length = i + 1;
    }
    return found;
}

/* ---- building ------------------------------------------------------------------------------ */

static void put_edge(hd_trie *t, hd_trie_edge edge) {
    const uint64_t mask = (uint64_t)t->edge_slots - 1;
    uint64_t i = slot_of(t, edge.key);
    while (t->edges[i].key) i = (i + 1) & mask;
    t->edges[i] = edge;
}

static hd_status grow_edges(hd_ctx *cx, hd_trie *t) {
    hd_trie_edge *old = t->edges;
    const int64_t old_slots = t->edge_slots, slots = old_slots ? 2 * old_slots : 256;
    hd_trie_edge *edges = hd_alloc_zeroed(cx, (size_t)slots * sizeof *edges);
    if (!edges) return cx->error.status;
    t->edges = edges;
    t->edge_slots = slots;
    for (int64_t i = 0; i < old_slots; i++)
        if (old[i].key) put_edge(t, old[i]);
    hd_free(cx->account, old);
    return HD_OK;
}

static hd_status new_node(hd_ctx *cx, hd_trie *t, int32_t *node) {
    if (t->node_count >= INT32_MAX) return hd_fail(cx, HD_EIO, "too many strings in a vocabulary");
    hd_status status = HD_RESERVE(cx, t, ids, t->node_count + 1);
    if (status) return status;
    *node = (int32_t)t->node_count++;
    t->ids[*node] = HD_NO_ID;
    return HD_OK;
}

static hd_status child_of(hd_ctx *cx, hd_trie *t, int32_t node, unsigned char byte, int32_t *child) {
    *child = hd_trie_step(t, node, byte);
    if (*child) return HD_OK;
    hd_status status = new_node(cx, t, child);
    if (status) return status;
    if (node == 0) {
        t->roots[byte] = *child;
        return HD_OK;
    }
    if (2 * (t->edge_count + 1) > t->edge_slots) status = grow_edges(cx, t);
    if (status) return status;
    put_edge(t, (hd_trie_edge){key_of(node, byte), *child});
    t->edge_count++;
    return HD_OK;
}

hd_status hd_trie_add(hd_ctx *cx, hd_trie *t, const char *text, int64_t length, int32_t id) {
    hd_status status = t->edge_slots ? HD_OK : grow_edges(cx, t);
    int32_t node = 0;
    if (!status && t->node_count == 0) status = new_node(cx, t, &node); /* the root */
    for (int64_t i = 0; i < length && !status; i++)
        status = child_of(cx, t, node, (unsigned char)text[i], &node);
    if (status) return status;
    if (t->ids[node] == HD_NO_ID) t->ids[node] = id;
    return HD_OK;
}
