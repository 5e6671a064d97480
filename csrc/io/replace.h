/* replace.h: writing a file so that a reader sees the old whole or the new whole, never a half: written
 * beside, synced, renamed over. A failed or abandoned write leaves the old file and nothing beside it.
 */
#ifndef HD_REPLACE_H
#define HD_REPLACE_H

#include <stddef.h>

#include "base/context.h"

typedef struct hd_replace {
    int fd;          /* -1: nothing open */
    char *target;    /* where symbolic links lead */
    char *temporary; /* beside it */
    hd_account *account;
} hd_replace;

/* On failure (HD_EIO, HD_ENOMEM; the message names the path) nothing is left to abort. */
hd_status hd_replace_begin(hd_ctx *cx, hd_replace *r, const char *path);
hd_status hd_replace_write(hd_ctx *cx, hd_replace *r, const void *bytes, size_t count);
/* After it, successful or not, r is closed. */
hd_status hd_replace_commit(hd_ctx *cx, hd_replace *r);
void hd_replace_abort(hd_replace *r);

/* All of it at once. */
hd_status hd_replace_file(hd_ctx *cx, const char *path, const void *bytes, size_t count);

#endif
