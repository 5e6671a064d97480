/* pages.h: runs of 4 KB pages, cut from large regions of the system's memory and joined again when they
 * are free.
 *
 * There are two heaps, so that small blocks that live long do not lie between large ones. A request takes
 * the smallest free run that fits. Free neighbours are joined, so memory of one size can serve any other.
 * Callers hold the pool's lock.
 */
#ifndef HD_PAGES_H
#define HD_PAGES_H

#include <stdbool.h>
#include <stddef.h>

#define HD_PAGE_SIZE 4096

typedef enum hd_heap { HD_HEAP_SLABS = 0, HD_HEAP_LARGE, HD_HEAP_COUNT } hd_heap;

typedef struct hd_run {
    char *base;
    size_t pages;
    size_t touched; /* pages at the front that have physical memory, as far as is known */
    bool is_free;
    struct hd_region *region;
    struct hd_run *before, *after;          /* neighbours in the region */
    struct hd_run *bin_previous, *bin_next; /* of the free ones */
} hd_run;

hd_run *hd_pages_take(hd_heap heap, size_t pages); /* NULL: the system gives no more */
void hd_pages_give(hd_run *run);
size_t hd_pages_touched(void); /* bytes of all runs, taken and free, that hold physical memory */
size_t hd_pages_trim(void);    /* give free runs back to the kernel; the bytes given back */

#endif
