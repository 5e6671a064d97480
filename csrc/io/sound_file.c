#ifdef HEED_HAVE_SNDFILE

#define _GNU_SOURCE
#include "io/sound_file.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static sf_count_t length(void *user) {
    return ((hd_sound_file *)user)->size;
}

static sf_count_t tell(void *user) {
    return ((hd_sound_file *)user)->at;
}

static sf_count_t seek(sf_count_t offset, int whence, void *user) {
    hd_sound_file *f = user;
    sf_count_t from = whence == SEEK_CUR ? f->at : whence == SEEK_END ? f->size : 0, at;
    if (__builtin_add_overflow(from, offset, &at) || at < 0) return -1;
    return f->at = at;
}

static sf_count_t fail(hd_sound_file *f, sf_count_t done) {
    f->failed = true;
    f->error = errno;
    return done;
}

static sf_count_t take(void *into, sf_count_t count, void *user) {
    hd_sound_file *f = user;
    sf_count_t done = 0;
    while (done < count) {
        ssize_t got = pread(f->fd, (char *)into + done, (size_t)(count - done), f->at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(f, done);
        if (got == 0) break;
        done += got;
        f->at += got;
    }
    return done;
}

static sf_count_t give(const void *from, sf_count_t count, void *user) {
    hd_sound_file *f = user;
    sf_count_t done = 0;
    while (done < count) {
        ssize_t put = pwrite(f->fd, (const char *)from + done, (size_t)(count - done), f->at);
        if (put < 0 && errno == EINTR) continue;
        if (put == 0) errno = ENOSPC;
        if (put <= 0) return fail(f, done);
        done += put;
        f->at += put;
        if (f->at > f->size) f->size = f->at;
    }
    return done;
}

SF_VIRTUAL_IO hd_sound_io = {length, seek, take, give, tell};

#else

typedef int hd_no_sound_files; /* a file is never empty */

#endif
