/* source.h: reads a regular file that is not trusted. Every message names the path. */
#ifndef HD_SOURCE_H
#define HD_SOURCE_H

#include <stdint.h>

#include "base/mapping.h"

/* What tells a file from one that was put in its place, or written over, since. */
typedef struct hd_source_stamp {
    uint64_t device, inode;
    int64_t size, seconds, nanoseconds; /* of the last change */
} hd_source_stamp;

typedef struct hd_source {
    hd_ctx *cx;
    const char *path;
    int fd; /* -1: nothing open */
    int64_t size;
    hd_source_stamp stamp;
} hd_source;

/* Fails with HD_EIO and the path before the message. */
#define hd_source_bad(s, format, ...) hd_fail((s)->cx, HD_EIO, "%s: " format, (s)->path, ##__VA_ARGS__)

/* The path is borrowed. Anything but a regular file is refused at once; a pipe is not waited for. */
hd_status hd_source_open(hd_ctx *cx, hd_source *s, const char *path);
/* Reads all of count bytes at offset, or fails with HD_EIO. */
hd_status hd_source_read(hd_source *s, void *into, int64_t count, int64_t offset);
/* HD_EIO when the open file is not the one that had this stamp, or was written to since. */
hd_status hd_source_check_same(hd_source *s, const hd_source_stamp *stamp);
/* All of the open file as memory. NULL where it is empty, is on no file system that maps, or must not be
 * mapped (hd_mapping_is_safe): that is no failure, it is read then. */
hd_mapping *hd_source_map(hd_source *s);
void hd_source_close(hd_source *s);

/* Text from a file as a message may show it: cut, and without control characters. */
#define HD_PRINTABLE 84
const char *hd_printable(char text[HD_PRINTABLE], const char *strange);

#endif
