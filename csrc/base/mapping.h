/* mapping.h: files as memory. Pages are read when they are touched, shared between processes until they are
 * written to, and never written back.
 *
 * A file that becomes shorter, or a disk that fails, takes pages away: touching them is SIGBUS. With the first
 * mapping a handler of this signal is installed, and with the last one it is taken out (bus_error.h). It puts
 * zeros where pages of ours are gone and marks the mapping lost; whoever reads on reads zeros, and
 * hd_mapping_check says so afterwards. A check before reading alone would leave a gap between the two.
 *
 * Mapped bytes are in no account: the kernel takes such pages back when memory is short.
 */
#ifndef HD_MAPPING_H
#define HD_MAPPING_H

#include "base/context.h"

typedef struct hd_mapping hd_mapping;

/* Can this thread map? Not while it blocks SIGBUS: then the kernel would end the process. */
bool hd_mapping_is_safe(void);
/* The first `size` bytes of an open file of this path, size > 0. NULL: HD_EIO, HD_ENOMEM. */
hd_mapping *hd_mapping_new(hd_ctx *cx, int fd, size_t size, const char *path);
hd_mapping *hd_mapping_retain(hd_mapping *m);
void hd_mapping_release(hd_mapping *m); /* NULL is fine */
char *hd_mapping_bytes(const hd_mapping *m);
/* These bytes, which were never written to, are not needed soon: this process lets go of the whole pages among
 * them. They are there again when they are touched. */
void hd_mapping_let_go(hd_mapping *m, size_t offset, size_t size);

/* HD_EIO when a page of it was lost; the message names the file. */
hd_status hd_mapping_check(hd_ctx *cx, const hd_mapping *m);

/* How many pages were found missing so far, in all mappings of the process. */
uint32_t hd_mapping_losses(void);
/* HD_EIO when one that this context made was lost since there were so many losses. */
hd_status hd_mapping_check_since(hd_ctx *cx, uint32_t losses);

#endif
