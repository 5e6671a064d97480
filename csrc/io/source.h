/* source.h: reads a regular file that is not trusted. Every message names the path. */
#ifndef HD_SOURCE_H
#define HD_SOURCE_H

#include <stdint.h>

#include "base/context.h"

typedef struct hd_source {
    hd_ctx *cx;
    const char *path;
    int fd; /* -1: nothing open */
    int64_t size;
} hd_source;

/* Fails with HD_EIO and the path before the message. */
#define hd_source_bad(s, format, ...) hd_fail((s)->cx, HD_EIO, "%s: " format, (s)->path, ##__VA_ARGS__)

/* The path is borrowed. Anything but a regular file is refused at once; a pipe is not waited for. */
hd_status hd_source_open(hd_ctx *cx, hd_source *s, const char *path);
/* Reads all of count bytes at offset, or fails with HD_EIO. */
hd_status hd_source_read(hd_source *s, void *into, int64_t count, int64_t offset);
void hd_source_close(hd_source *s);

/* Text from a file as a message may show it: cut, and without control characters. */
#define HD_PRINTABLE 84
const char *hd_printable(char text[HD_PRINTABLE], const char *strange);

#endif
