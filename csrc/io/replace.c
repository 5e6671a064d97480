#define _GNU_SOURCE
#include "io/replace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static hd_status failed(hd_ctx *cx, const hd_replace *r, const char *doing) {
    return hd_fail(cx, HD_EIO, "%s: %s: %s", r->target, doing, strerror(errno));
}

static void close_and_free(hd_replace *r) {
    if (r->fd >= 0) close(r->fd);
    hd_free(r->account, r->temporary);
    hd_free(r->account, r->target);
    *r = (hd_replace){.fd = -1};
}

void hd_replace_abort(hd_replace *r) {
    if (r->fd >= 0) unlink(r->temporary);
    close_and_free(r);
}

/* A file keeps its permissions; a new one gets those that open(2) would give. */
static mode_t wanted_mode(const char *target) {
    struct stat st;
    if (!stat(target, &st)) return st.st_mode & 0777;
    /* umask(2) can only read the mask by setting it, which other threads would see; so it is read from
     * /proc. */
    mode_t mask = 022;
    FILE *status = fopen("/proc/self/status", "re");
    char line[128];
    unsigned value;
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "Umask: %o", &value) == 1) mask = (mode_t)value;
    if (status) fclose(status);
    return 0666 & ~mask;
}

/* ---- the temporary file ------------------------------------------------------------------------ */

/* TARGET.heed-XXXXXX.tmp. Its writer holds a lock on it, which ends with the process, so one that nobody
 * holds was left by a writer that was killed. */
static const char mark[] = ".heed-", placeholder[] = "XXXXXX", ending[] = ".tmp";

static bool is_temporary_of(const char *name, const char *base) {
    size_t length = strlen(base);
    if (strncmp(name, base, length) || strncmp(name + length, mark, sizeof mark - 1)) return false;
    name += length + sizeof mark - 1;
    return strlen(name) == sizeof placeholder - 1 + sizeof ending - 1 &&
           !strcmp(name + sizeof placeholder - 1, ending);
}

static bool is_same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Where a file system has no locks, this one fails and the file stays. */
static void remove_if_unlocked(int directory, const char *name) {
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    struct stat opened, named;
    if (!fstat(fd, &opened) && S_ISREG(opened.st_mode) && opened.st_uid == geteuid() &&
        !flock(fd, LOCK_EX | LOCK_NB) && !fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) &&
        is_same_file(&opened, &named))
        (void)!unlinkat(directory, name, 0);
    close(fd);
}

/* What earlier writers of the same target left. */
static void remove_stale(const char *target) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", target);
    char *slash = strrchr(path, '/');
    const char *base = slash ? target + (slash - path) + 1 : target;
    if (slash) slash[1] = 0;
    DIR *directory = opendir(slash ? path : ".");
    if (!directory) return;
    for (struct dirent *entry; (entry = readdir(directory));)
        if (is_temporary_of(entry->d_name, base)) remove_if_unlocked(dirfd(directory), entry->d_name);
    closedir(directory);
}

/* An open, locked file under a name that nothing else has. Another process may take a new file for a left
 * one before it is locked; then it has no name any more, and the next is tried. */
static bool make_temporary(hd_replace *r, size_t size) {
    struct stat st;
    for (;;) {
        snprintf(r->temporary, size, "%s%s%s%s", r->target, mark, placeholder, ending);
        r->fd = mkostemps(r->temporary, sizeof ending - 1, O_CLOEXEC);
        if (r->fd < 0) return false;
        while (flock(r->fd, LOCK_EX) && errno == EINTR) {
        }
        if (fstat(r->fd, &st) || st.st_nlink > 0) return true;
        close(r->fd);
    }
}

/* ---- the steps --------------------------------------------------------------------------------- */

hd_status hd_replace_begin(hd_ctx *cx, hd_replace *r, const char *path) {
    *r = (hd_replace){.fd = -1, .account = cx->account, .losses = hd_mapping_losses()};
    char resolved[PATH_MAX];
    if (!realpath(path, resolved)) {
        size_t length = strlen(path);
        if (length >= sizeof resolved)
            return hd_fail(cx, HD_EIO, "%.100s...: %s", path, strerror(ENAMETOOLONG));
        memcpy(resolved, path, length + 1);
    }
    struct stat st;
    bool exists = !stat(resolved, &st);
    if (exists && !S_ISREG(st.st_mode))
        return hd_fail(cx, HD_EIO, "%s: expected a regular file to write to, it is something else", resolved);
    if (!exists && !lstat(resolved, &st))
        return hd_fail(cx, HD_EIO, "%s: a symbolic link that leads to no file", resolved);
    size_t size = strlen(resolved) + sizeof ".heed-XXXXXX.tmp";
    r->target = hd_alloc(cx, size);
    r->temporary = r->target ? hd_alloc(cx, size) : NULL;
    if (!r->temporary) {
        close_and_free(r);
        return cx->error.status;
    }
    strcpy(r->target, resolved);
    remove_stale(r->target);
    if (make_temporary(r, size) && !fchmod(r->fd, wanted_mode(r->target))) return HD_OK;
    hd_status status = failed(cx, r, "creating a file beside it");
    hd_replace_abort(r);
    return status;
}

/* Reads a byte of each page. */
static void touch(const char *bytes, size_t count) {
    const long page = sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < count; i += (size_t)page) (void)*(const volatile char *)(bytes + i);
    (void)*(const volatile char *)(bytes + count - 1);
}

hd_status hd_replace_write(hd_ctx *cx, hd_replace *r, const void *bytes, size_t count) {
    const char *at = bytes;
    while (count) {
        ssize_t written = write(r->fd, at, count > (1u << 30) ? (1u << 30) : count);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 && errno == EFAULT) touch(at, count); /* the kernel's reading marks nothing */
        if (written <= 0) return hd_mapping_check_since(cx, r->losses) ? HD_EIO : failed(cx, r, "writing");
        at += written;
        count -= (size_t)written;
    }
    return HD_OK;
}

/* The directory is synced so that the rename survives a crash. Not every file system can do this, so a
 * failure is no error. */
static void sync_directory(const char *target) {
    char directory[PATH_MAX];
    snprintf(directory, sizeof directory, "%s", target);
    char *slash = strrchr(directory, '/');
    if (slash == directory) slash++;
    if (slash) *slash = 0;
    int fd = open(slash ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    (void)!fsync(fd);
    close(fd);
}

hd_status hd_replace_commit(hd_ctx *cx, hd_replace *r) {
    hd_status status = hd_mapping_check_since(cx, r->losses);
    if (!status && fsync(r->fd)) status = failed(cx, r, "syncing");
    if (!status && rename(r->temporary, r->target)) status = failed(cx, r, "renaming into place");
    if (status) {
        hd_replace_abort(r);
        return status;
    }
    sync_directory(r->target);
    close_and_free(r);
    return HD_OK;
}

hd_status hd_replace_file(hd_ctx *cx, const char *path, const void *bytes, size_t count) {
    hd_replace r;
    hd_status status = hd_replace_begin(cx, &r, path);
    if (status) return status;
    status = hd_replace_write(cx, &r, bytes, count);
    if (!status) return hd_replace_commit(cx, &r);
    hd_replace_abort(&r);
    return status;
}

hd_status hd_make_directory(hd_ctx *cx, const char *path) {
    struct stat st;
    if (!mkdir(path, 0777)) return HD_OK;
    const int error = errno;
    if (error == EEXIST && !stat(path, &st) && S_ISDIR(st.st_mode)) return HD_OK;
    return hd_fail(cx, HD_EIO, "%.300s: %s", path, strerror(error));
}
