#define _GNU_SOURCE
#include "io/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static hd_source_stamp stamp_of(const struct stat *st) {
    return (hd_source_stamp){st->st_dev, st->st_ino, st->st_size, st->st_mtim.tv_sec, st->st_mtim.tv_nsec};
}

hd_status hd_source_open(hd_ctx *cx, hd_source *s, const char *path) {
    *s = (hd_source){.cx = cx, .path = path};
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (s->fd < 0) return hd_source_bad(s, "%s", strerror(errno));
    struct stat st = {0};
    hd_status status = HD_OK;
    if (fstat(s->fd, &st))
        status = hd_source_bad(s, "%s", strerror(errno));
    else if (!S_ISREG(st.st_mode))
        status = hd_source_bad(s, "expected a regular file");
    else
        s->size = st.st_size;
    s->stamp = stamp_of(&st);
    if (status) hd_source_close(s);
    return status;
}

hd_status hd_source_check_same(hd_source *s, const hd_source_stamp *stamp) {
    struct stat st;
    if (fstat(s->fd, &st)) return hd_source_bad(s, "%s", strerror(errno));
    const hd_source_stamp now = stamp_of(&st);
    if (!memcmp(&now, stamp, sizeof now)) return HD_OK;
    return hd_source_bad(s, "the file was replaced or changed since it was opened; open it again");
}

hd_status hd_source_read(hd_source *s, void *into, int64_t count, int64_t offset) {
    char *at = into;
    while (count > 0) {
        ssize_t got = pread(s->fd, at, count > (1 << 30) ? (1 << 30) : (size_t)count, offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return hd_source_bad(s, "reading: %s", strerror(errno));
        if (got == 0) return hd_source_bad(s, "the file ended early, at byte %lld", (long long)offset);
        at += got;
        offset += got;
        count -= got;
    }
    return HD_OK;
}

hd_mapping *hd_source_map(hd_source *s) {
    if (s->size == 0 || !hd_mapping_is_safe()) return NULL;
    return hd_mapping_new(s->cx, s->fd, (size_t)s->size, s->path);
}

void hd_source_close(hd_source *s) {
    if (s->fd >= 0) close(s->fd);
    s->fd = -1;
}

const char *hd_printable(char text[HD_PRINTABLE], const char *strange) {
    size_t length = 0;
    for (; strange[length] && length < HD_PRINTABLE - 4; length++)
        text[length] = (unsigned char)strange[length] < ' ' || strange[length] == 127 ? '?' : strange[length];
    strcpy(text + length, strange[length] ? "..." : "");
    return text;
}
