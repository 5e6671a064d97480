/* replace.h: replaces a file completely or not at all. The new contents are written to a temporary file
 * beside it, synced, and renamed over it, so a reader sees the old file or the new one. A write that
 * fails or is given up leaves the old file and no other. One that is killed leaves its temporary file, which
 * the next write of the same path removes.
 */
#ifndef HD_REPLACE_H
#define HD_REPLACE_H

#include <stddef.h>

#include "base/mapping.h"

typedef struct hd_replace {
    int fd;          /* -1: nothing open */
    char *target;    /* the path, with symbolic links followed */
    char *temporary; /* beside it */
    hd_account *account;
    uint32_t losses; /* of mapped files when it began: what was read from one since is not written */
} hd_replace;

/* After a failure (HD_EIO, HD_ENOMEM; the message names the path) there is nothing to abort. */
hd_status hd_replace_begin(hd_ctx *cx, hd_replace *r, const char *path);
hd_status hd_replace_write(hd_ctx *cx, hd_replace *r, const void *bytes, size_t count);
/* Closes r, also on failure. */
hd_status hd_replace_commit(hd_ctx *cx, hd_replace *r);
void hd_replace_abort(hd_replace *r);

/* The three steps in one. */
hd_status hd_replace_file(hd_ctx *cx, const char *path, const void *bytes, size_t count);

/* A directory, which may be there already, in one that is. */
hd_status hd_make_directory(hd_ctx *cx, const char *path);

#endif
