#define _GNU_SOURCE
#include "base/mapping.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bus_error.h"

struct hd_mapping {
    int refs;
    char *bytes, *path;
    size_t size;
    hd_range *range;
    hd_account *account;         /* whose it is */
    hd_mapping *previous, *next; /* of all */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hd_mapping *all;

bool hd_mapping_is_safe(void) {
    sigset_t blocked;
    return pthread_sigmask(SIG_SETMASK, NULL, &blocked) == 0 && !sigismember(&blocked, SIGBUS);
}

static void list(hd_mapping *m) {
    pthread_mutex_lock(&lock);
    m->next = all;
    if (all != NULL) all->previous = m;
    all = m;
    pthread_mutex_unlock(&lock);
}

static void unlist(hd_mapping *m) {
    pthread_mutex_lock(&lock);
    if (m->next != NULL) m->next->previous = m->previous;
    if (m->previous != NULL)
        m->previous->next = m->next;
    else
        all = m->next;
    pthread_mutex_unlock(&lock);
}

static hd_mapping *record_of(hd_ctx *cx, char *bytes, size_t size, const char *path) {
    hd_mapping *m = calloc(1, sizeof *m);
    if (m == NULL) return NULL;
    *m = (hd_mapping){.refs = 1, .bytes = bytes, .path = strdup(path), .size = size, .account = cx->account};
    m->range = m->path != NULL ? hd_range_watch(bytes, size) : NULL;
    if (m->range == NULL) {
        free(m->path);
        free(m);
        return NULL;
    }
    hd_account_retain(m->account);
    return m;
}

hd_mapping *hd_mapping_new(hd_ctx *cx, int fd, size_t size, const char *path) {
    char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
    if (bytes == MAP_FAILED) return hd_fail_null(cx, HD_EIO, "%s: mapping: %s", path, strerror(errno));
    hd_mapping *m = record_of(cx, bytes, size, path);
    if (m == NULL) {
        munmap(bytes, size);
        return hd_fail_null(cx, HD_ENOMEM, "%s: mapping: no memory", path);
    }
    list(m);
    return m;
}

hd_mapping *hd_mapping_retain(hd_mapping *m) {
    m->refs++;
    return m;
}

void hd_mapping_release(hd_mapping *m) {
    if (m == NULL || --m->refs > 0) return;
    unlist(m);
    hd_range_forget(m->range);
    munmap(m->bytes, m->size);
    hd_account_release(m->account);
    free(m->path);
    free(m);
}

char *hd_mapping_bytes(const hd_mapping *m) {
    return m->bytes;
}

void hd_mapping_let_go(hd_mapping *m, size_t offset, size_t size) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), first = (offset + page - 1) / page * page;
    const size_t end = (offset + size) / page * page;
    if (first < end && hd_range_lost(m->range) == 0) madvise(m->bytes + first, end - first, MADV_DONTNEED);
}

/* ---- what was lost ------------------------------------------------------------------------------- */

hd_status hd_mapping_check(hd_ctx *cx, const hd_mapping *m) {
    if (hd_range_lost(m->range) == 0) return HD_OK;
    return hd_fail(cx, HD_EIO,
                   "%.300s: the file was cut short, or could not be read, while it was mapped; load it again",
                   m->path);
}

uint32_t hd_mapping_losses(void) {
    return hd_range_losses();
}

hd_status hd_mapping_check_since(hd_ctx *cx, uint32_t losses) {
    hd_status status = HD_OK;
    pthread_mutex_lock(&lock);
    for (const hd_mapping *m = all; m != NULL && !status; m = m->next) {
        const uint32_t lost = hd_range_lost(m->range);
        /* The numbers may wrap. */
        if (m->account == cx->account && lost != 0 && (int32_t)(lost - losses) > 0)
            status = hd_mapping_check(cx, m);
    }
    pthread_mutex_unlock(&lock);
    return status;
}
