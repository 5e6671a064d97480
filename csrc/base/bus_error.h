/* bus_error.h: the handler of SIGBUS, and the ranges of memory that it answers for (mapping.h).
 *
 * Everything else is passed to the handler that stood before, as if this one were not there. A host that
 * installs its own later calls the one that it found for addresses that it does not know, as is usual.
 */
#ifndef HD_BUS_ERROR_H
#define HD_BUS_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Its fields belong to bus_error.c. */
typedef struct hd_range hd_range;

/* Answers for `size` bytes from base, which is a page's first; NULL when memory fails or no handler can be
 * installed. Any thread may call all functions here. */
hd_range *hd_range_watch(char *base, size_t size);
void hd_range_forget(hd_range *range); /* while nobody reads it any more */
/* 0, or the number that hd_range_losses had reached when a page of it was last missing. */
uint32_t hd_range_lost(const hd_range *range);
uint32_t hd_range_losses(void);

#endif
