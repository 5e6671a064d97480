/* order_body.h: items of one width. Before it: NAME, `item` (unsigned), `key` (its upper half), KEY_BITS. */

/* The keys of up to RANKED elements from `first` on. */
static int64_t NAME(keys_from)(const hd_order *o, const void *x, int64_t first, int64_t last, key *keys) {
    int64_t n = last - first < RANKED ? last - first : RANKED;
    o->kernels->order_keys[o->dtype](n, (const char *)x + (size_t)first * hd_dtype_size(o->dtype),
                                     o->descending, keys);
    return n;
}

/* Elements first..last of a row as items. */
static void NAME(rank)(const hd_order *o, const void *x, int64_t first, int64_t last, item *items) {
    key keys[RANKED];
    for (int64_t i = first, n; i < last; i += n, items += n) {
        n = NAME(keys_from)(o, x, i, last, keys);
        for (int64_t j = 0; j < n; j++) items[j] = (item)keys[j] << KEY_BITS | (item)(i + j);
    }
}

static void NAME(insert)(int64_t n, item *a) {
    for (int64_t i = 1; i < n; i++) {
        item v = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1] > v; j--) a[j] = a[j - 1];
        a[j] = v;
    }
}

static void NAME(count_digits)(int64_t n, const item *a, int shift, int bits, int64_t *counts) {
    memset(counts, 0, sizeof *counts << bits);
    for (int64_t i = 0; i < n; i++) counts[(size_t)(a[i] >> shift) & ((1u << bits) - 1)]++;
}

/* places[digit]: where the next item with that digit goes. */
static void NAME(deal)(int64_t n, const item *a, int shift, int bits, int64_t *places, item *to) {
    for (int64_t i = 0; i < n; i++) to[places[(size_t)(a[i] >> shift) & ((1u << bits) - 1)]++] = a[i];
}

/* By the digits of their keys, the lowest first; items are in the order of their places. Which of the two
 * buffers holds the result. */
static item *NAME(sort)(int64_t n, item *a, item *b) {
    if (n <= FEW) {
        NAME(insert)(n, a);
        return a;
    }
    int64_t counts[1 << MOST_BITS];
    int bits = n < MANY ? 8 : MOST_BITS;
    for (int shift = KEY_BITS; shift < 2 * KEY_BITS; shift += bits) {
        NAME(count_digits)(n, a, shift, bits, counts);
        if (counts[(size_t)(a[0] >> shift) & ((1u << bits) - 1)] == n) continue;
        for (int64_t d = 0, before = 0; d < 1 << bits; d++) {
            int64_t count = counts[d];
            counts[d] = before;
            before += count;
        }
        NAME(deal)(n, a, shift, bits, counts, b);
        item *t = a;
        a = b, b = t;
    }
    return a;
}

static void NAME(places_of)(int64_t n, const item *a, int64_t *places) {
    for (int64_t i = 0; i < n; i++) places[i] = (int64_t)(key)a[i] + 1;
}

/* Of first..last the `count` that come first, among the first items of `a` (scratch of 2 `size`): what is not
 * better than the last of a full buffer is passed over. a comes back in order; how many there are. */
static int64_t NAME(best)(const hd_order *o, const void *x, int64_t first, int64_t last, int64_t count,
                          int64_t size, item **a) {
    item *held = *a, *other = held + size;
    key keys[RANKED];
    item limit = (item)1 << KEY_BITS; /* what is not below it comes too late: equal keys stand further back */
    int64_t n = 0;
    for (int64_t i = first, taken; i < last; i += taken) {
        taken = NAME(keys_from)(o, x, i, last, keys);
        for (int64_t j = 0; j < taken; j++) {
            if (keys[j] >= limit) continue;
            held[n++] = (item)keys[j] << KEY_BITS | (item)(i + j);
            if (n < size) continue;
            item *sorted = NAME(sort)(n, held, other);
            if (sorted != held) other = held, held = sorted;
            n = count;
            limit = held[count - 1] >> KEY_BITS;
        }
    }
    *a = NAME(sort)(n, held, other);
    return n < count ? n : count;
}

static void NAME(order_row)(const hd_order *o, const void *x, int64_t count, void *scratch, int64_t *places) {
    item *a = scratch;
    int64_t size = buffer_size(o->n, count);
    if (size < o->n) {
        NAME(best)(o, x, 0, o->n, count, size, &a);
    } else {
        NAME(rank)(o, x, 0, o->n, a);
        a = NAME(sort)(o->n, a, a + o->n);
    }
    NAME(places_of)(count, a, places);
}

/* ---- one long row ----------------------------------------------------------------------------- */

typedef struct NAME(long_row) {
    const hd_order *o;
    const void *x;
    item *a, *b;
    int64_t *counts; /* [block][digit] */
    int64_t *places;
    int64_t block, count, size;
    int shift;
} NAME(long_row);

#if KEY_BITS == 32 /* longer keys: order_wide.c */
static void NAME(rank_block)(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const NAME(long_row) *l = arg;
    NAME(rank)(l->o, l->x, first, last, l->a + first);
}
static void NAME(count_block)(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const NAME(long_row) *l = arg;
    NAME(count_digits)
    (last - first, l->a + first, l->shift, MOST_BITS, l->counts + (first / l->block << MOST_BITS));
}
static void NAME(deal_block)(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const NAME(long_row) *l = arg;
    NAME(deal)
    (last - first, l->a + first, l->shift, MOST_BITS, l->counts + (first / l->block << MOST_BITS), l->b);
}
static void NAME(place_block)(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const NAME(long_row) *l = arg;
    NAME(places_of)(last - first, l->a + first, l->places + first);
}

/* Counts become the places where each block's items with a digit begin: after those of smaller digits, and
 * of the blocks before. False when all have one digit. */
static bool NAME(begin_digits)(int64_t blocks, int64_t n, int64_t *counts) {
    int64_t before = 0;
    for (int64_t d = 0; d < 1 << MOST_BITS; d++) {
        int64_t start = before;
        for (int64_t b = 0; b < blocks; b++) {
            int64_t *c = counts + (b << MOST_BITS) + d, count = *c;
            *c = before;
            before += count;
        }
        if (before - start == n) return false;
    }
    return true;
}

static hd_status NAME(sort_long)(hd_ctx *cx, NAME(long_row) * l) {
    int64_t n = l->o->n, blocks = (n + l->block - 1) / l->block;
    hd_status status = hd_parallel_ranges(cx, n, l->block, NAME(rank_block), l);
    for (l->shift = KEY_BITS; !status && l->shift < 2 * KEY_BITS; l->shift += MOST_BITS) {
        status = hd_parallel_ranges(cx, n, l->block, NAME(count_block), l);
        if (status || !NAME(begin_digits)(blocks, n, l->counts)) continue;
        status = hd_parallel_ranges(cx, n, l->block, NAME(deal_block), l);
        item *t = l->a;
        l->a = l->b, l->b = t;
    }
    return status ? status : hd_parallel_ranges(cx, l->count, l->block, NAME(place_block), l);
}
#endif

/* Each block's best; a holds [block][2 size]. */
static void NAME(best_block)(void *arg, int64_t first, int64_t last, int worker) {
    (void)worker;
    const NAME(long_row) *l = arg;
    item *scratch = l->a + first / l->block * 2 * l->size, *found = scratch;
    int64_t n = NAME(best)(l->o, l->x, first, last, l->count, l->size, &found);
    memcpy(l->b + first / l->block * l->count, found, (size_t)n * sizeof *found);
}

static hd_status NAME(best_long)(hd_ctx *cx, NAME(long_row) * l) {
    int64_t n = l->o->n;
    hd_status status = hd_parallel_ranges(cx, n, l->block, NAME(best_block), l);
    if (status) return status;
    int64_t rest = n % l->block; /* a block gives what it has, at most `count` */
    int64_t found = n / l->block * l->count + (rest < l->count ? rest : l->count);
    item *sorted = NAME(sort)(found, l->b, l->a);
    NAME(places_of)(l->count, sorted, l->places);
    return HD_OK;
}
