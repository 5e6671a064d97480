#define _GNU_SOURCE
#include "base/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct hd_region {
    char *base;
    size_t pages;
    hd_heap heap;
    hd_run *first;
    struct hd_region *previous, *next;
} hd_region;

enum {
    HUGE_PAGES = 2 * 1024 * 1024 / HD_PAGE_SIZE, /* our pages in one huge page of the kernel */
    BIN_WORDS = 5,
    BINS = BIN_WORDS * 64,
    EPOCH = 16384, /* runs taken; many training steps of a small model, a few of a large one */
};

/* The pool keeps what was needed lately, a quarter more for gaps between runs, and this. */
static const size_t spare_pages = 32 * 1024 * 1024 / HD_PAGE_SIZE;

static struct pages {
    hd_region *regions;
    hd_run *bins[HD_HEAP_COUNT][BINS];
    uint64_t used_bins[HD_HEAP_COUNT][BIN_WORDS];
    size_t mapped, touched, taken; /* pages */
    size_t high_now, high_before;  /* most pages taken at once in this epoch and in the last */
    unsigned taken_in_epoch;
} all;

/* ---- bins: free runs by size, eight to each power of two ------------------------------------------ */

static int bin_of(size_t pages) {
    if (pages < 16) return (int)pages;
    int log = 63 - __builtin_clzll(pages);
    int bin = 16 + (log - 4) * 8 + (int)(pages >> (log - 3) & 7);
    return bin < BINS ? bin : BINS - 1;
}

static void bin_insert(hd_run *run) {
    hd_heap heap = run->region->heap;
    int bin = bin_of(run->pages);
    hd_run **head = &all.bins[heap][bin];
    run->is_free = true;
    run->bin_previous = NULL;
    run->bin_next = *head;
    if (*head != NULL) (*head)->bin_previous = run;
    *head = run;
    all.used_bins[heap][bin / 64] |= UINT64_C(1) << bin % 64;
}

static void bin_remove(hd_run *run) {
    hd_heap heap = run->region->heap;
    int bin = bin_of(run->pages);
    run->is_free = false;
    if (run->bin_next != NULL) run->bin_next->bin_previous = run->bin_previous;
    if (run->bin_previous != NULL)
        run->bin_previous->bin_next = run->bin_next;
    else
        all.bins[heap][bin] = run->bin_next;
    if (all.bins[heap][bin] == NULL) all.used_bins[heap][bin / 64] &= ~(UINT64_C(1) << bin % 64);
}

static int next_used_bin(hd_heap heap, int bin) {
    for (int word = bin / 64; word < BIN_WORDS; word++) {
        uint64_t bits = all.used_bins[heap][word];
        if (word == bin / 64) bits &= ~UINT64_C(0) << bin % 64;
        if (bits != 0) return word * 64 + __builtin_ctzll(bits);
    }
    return -1;
}

/* The best fit in one bin; only its first 64 runs are looked at. */
static hd_run *smallest_that_fits(hd_run *run, size_t pages) {
    hd_run *best = NULL;
    for (int looked = 0; run != NULL && looked < 64; run = run->bin_next, looked++) {
        if (run->pages < pages) continue;
        if (best == NULL || run->pages < best->pages) best = run;
    }
    return best;
}

static hd_run *find(hd_heap heap, size_t pages) {
    for (int bin = bin_of(pages); bin < BINS && (bin = next_used_bin(heap, bin)) >= 0; bin++) {
        hd_run *run = smallest_that_fits(all.bins[heap][bin], pages);
        if (run != NULL) return run;
    }
    return NULL;
}

/* ---- runs: cut and join ---------------------------------------------------------------------- */

/* Shortens the run to `pages`; the rest becomes a free run. False: no memory for its record. */
static bool cut(hd_run *run, size_t pages) {
    if (run->pages == pages) return true;
    hd_run *rest = malloc(sizeof *rest);
    if (rest == NULL) return false;
    *rest = (hd_run){.base = run->base + pages * HD_PAGE_SIZE,
                     .pages = run->pages - pages,
                     .touched = run->touched > pages ? run->touched - pages : 0,
                     .region = run->region,
                     .before = run,
                     .after = run->after};
    if (run->after != NULL) run->after->before = rest;
    run->after = rest;
    run->pages = pages;
    if (run->touched > pages) run->touched = pages;
    bin_insert(rest);
    return true;
}

/* Adds right, which follows left, to left. */
static void join(hd_run *left, hd_run *right) {
    left->pages += right->pages;
    left->touched += right->touched;
    left->after = right->after;
    if (right->after != NULL) right->after->before = left;
    free(right);
}

/* ---- regions --------------------------------------------------------------------------------- */

/* Aligned to a huge page, so that the kernel can use huge pages for all of it. */
static char *map_aligned(size_t bytes) {
    const size_t alignment = (size_t)HUGE_PAGES * HD_PAGE_SIZE;
    char *base = mmap(NULL, bytes + alignment, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return NULL;
    size_t head = -(uintptr_t)base & (alignment - 1);
    if (head > 0) munmap(base, head);
    if (head < alignment) munmap(base + head + bytes, alignment - head);
    madvise(base + head, bytes, MADV_HUGEPAGE);
    return base + head;
}

static hd_region *region_new(hd_heap heap, size_t pages) {
    hd_region *region = malloc(sizeof *region);
    hd_run *run = malloc(sizeof *run);
    char *base = region != NULL && run != NULL ? map_aligned(pages * HD_PAGE_SIZE) : NULL;
    if (base == NULL) {
        free(region);
        free(run);
        return NULL;
    }
    *region = (hd_region){.base = base, .pages = pages, .heap = heap, .first = run, .next = all.regions};
    if (all.regions != NULL) all.regions->previous = region;
    all.regions = region;
    *run = (hd_run){.base = base, .pages = pages, .region = region};
    bin_insert(run);
    all.mapped += pages;
    return region;
}

static bool is_idle(const hd_region *region) {
    return region->first->is_free && region->first->after == NULL;
}

static size_t region_free(hd_region *region) {
    hd_run *run = region->first;
    size_t given = run->touched;
    bin_remove(run);
    if (region->next != NULL) region->next->previous = region->previous;
    if (region->previous != NULL)
        region->previous->next = region->next;
    else
        all.regions = region->next;
    munmap(region->base, region->pages * HD_PAGE_SIZE);
    all.mapped -= region->pages;
    all.touched -= given;
    free(run);
    free(region);
    return given;
}

/* ---- giving back to the kernel --------------------------------------------------------------- */

/* The kernel's pages may be larger than ours (16 or 64 KB on Arm), and madvise rounds lengths up to them.
 * So only pages that belong to the run alone are given back; the edges, which share a page with
 * neighbours, stay. */
static bool discard_whole_pages(const hd_run *run) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), base = (uintptr_t)run->base;
    const uintptr_t first = (base + page - 1) & -page, end = (base + run->pages * HD_PAGE_SIZE) & -page;
    return first < end && madvise(run->base + (first - base), end - first, MADV_DONTNEED) == 0;
}

static size_t discard(hd_run *run) {
    if (!run->is_free || run->touched == 0 || !discard_whole_pages(run)) return 0;
    size_t given = run->touched;
    run->touched = 0;
    all.touched -= given;
    return given;
}

/* Gives back whole regions first, then free runs of others, until `wanted` pages are given back. */
static size_t give_back(size_t wanted) {
    size_t given = 0;
    for (hd_region *region = all.regions, *next; region != NULL && given < wanted; region = next) {
        next = region->next;
        if (is_idle(region)) given += region_free(region);
    }
    for (hd_region *region = all.regions; region != NULL && given < wanted; region = region->next)
        for (hd_run *run = region->first; run != NULL && given < wanted; run = run->after)
            given += discard(run);
    return given;
}

/* Gives back what is held beyond the recent need, with `more` pages that are about to be taken. Otherwise
 * each batch that is longer than all before it would take new memory and leave the old behind. */
static void keep_to_need(size_t more) {
    size_t need = all.high_now > all.high_before ? all.high_now : all.high_before;
    if (need < all.taken + more) need = all.taken + more;
    size_t allowed = need + need / 4 + spare_pages;
    if (all.touched + more > allowed) give_back(all.touched + more - allowed);
}

static void note_taken(size_t pages) {
    all.taken += pages;
    if (all.taken > all.high_now) all.high_now = all.taken;
    if (++all.taken_in_epoch < EPOCH) return;
    all.taken_in_epoch = 0;
    all.high_before = all.high_now;
    all.high_now = all.taken;
    keep_to_need(0);
}

/* ---- taking ---------------------------------------------------------------------------------- */

static size_t round_up(size_t n, size_t unit) {
    return (n + unit - 1) / unit * unit;
}

/* Pages of a new region: an eighth of what is mapped, within bounds, so that regions are few. */
static size_t growth(hd_heap heap, size_t pages) {
    const size_t least = heap == HD_HEAP_SLABS ? HUGE_PAGES : 4 * HUGE_PAGES, most = 32 * HUGE_PAGES;
    size_t step = round_up(all.mapped / 8, HUGE_PAGES);
    step = step < least ? least : step > most ? most : step;
    size_t exact = round_up(pages, HUGE_PAGES);
    return exact > step ? exact : step;
}

static hd_run *grow(hd_heap heap, size_t pages) {
    keep_to_need(pages);
    hd_region *region = region_new(heap, growth(heap, pages));
    if (region == NULL) region = region_new(heap, round_up(pages, HUGE_PAGES));
    if (region == NULL && give_back(SIZE_MAX) > 0) region = region_new(heap, round_up(pages, HUGE_PAGES));
    return region != NULL ? region->first : NULL;
}

hd_run *hd_pages_take(hd_heap heap, size_t pages) {
    hd_run *run = find(heap, pages);
    if (run == NULL) run = grow(heap, pages);
    if (run == NULL) return NULL;
    bin_remove(run);
    if (!cut(run, pages)) {
        bin_insert(run);
        return NULL;
    }
    all.touched += run->pages - run->touched;
    run->touched = run->pages;
    note_taken(run->pages);
    return run;
}

void hd_pages_give(hd_run *run) {
    all.taken -= run->pages;
    hd_run *before = run->before, *after = run->after;
    if (after != NULL && after->is_free) {
        bin_remove(after);
        join(run, after);
    }
    if (before != NULL && before->is_free) {
        bin_remove(before);
        join(before, run);
        run = before;
    }
    bin_insert(run);
}

size_t hd_pages_touched(void) {
    return all.touched * HD_PAGE_SIZE;
}

size_t hd_pages_trim(void) {
    return give_back(SIZE_MAX) * HD_PAGE_SIZE;
}
