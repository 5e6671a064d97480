#include "io/directory.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

void hd_directory_free(hd_account *account, hd_directory *directory) {
    hd_free(account, directory->names);
    *directory = (hd_directory){0};
}

/* Room for so many bytes more. */
static hd_status grow(hd_ctx *cx, hd_directory *d, int64_t *capacity, int64_t bytes) {
    if (d->size + bytes <= *capacity) return HD_OK;
    const int64_t larger = 2 * (d->size + bytes) + 1024;
    char *names = hd_alloc(cx, (size_t)larger);
    if (!names) return cx->error.status;
    if (d->size) memcpy(names, d->names, (size_t)d->size);
    hd_free(cx->account, d->names);
    d->names = names;
    *capacity = larger;
    return HD_OK;
}

hd_status hd_directory_read(hd_ctx *cx, hd_directory *directory, const char *path) {
    *directory = (hd_directory){0};
    DIR *stream = opendir(path);
    if (!stream) return hd_fail(cx, HD_EIO, "%s: %s", path, strerror(errno));
    hd_status status = HD_OK;
    int64_t capacity = 0;
    for (struct dirent *entry; !status && (entry = readdir(stream));) {
        if (entry->d_name[0] == '.') continue;
        const int64_t bytes = (int64_t)strlen(entry->d_name) + 1;
        status = grow(cx, directory, &capacity, bytes);
        if (status) break;
        memcpy(directory->names + directory->size, entry->d_name, (size_t)bytes);
        directory->size += bytes;
        directory->count++;
    }
    closedir(stream);
    if (status) hd_directory_free(cx->account, directory);
    return status;
}
