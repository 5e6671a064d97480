#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/npy_stream.h"
#include "io/npz.h"
#include "io/zip.h"

static const char ending[] = ".npy";
enum { ENDING = sizeof ending - 1 };

struct hd_npz {
    hd_zip zip; /* its members' names without the ending */
};

#define bad(f, format, ...) hd_source_bad(&(f)->zip.source, format, ##__VA_ARGS__)

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static hd_status cut_endings(hd_npz *f) {
    char text[HD_PRINTABLE];
    for (int64_t i = 0; i < f->zip.count; i++) {
        char *name = (char *)f->zip.members[i].name;
        const size_t length = strlen(name);
        if (length < ENDING || strcmp(name + length - ENDING, ending))
            return bad(f, "expected members that are npy files, got \"%s\"", hd_printable(text, name));
        name[length - ENDING] = 0;
    }
    return HD_OK;
}

static hd_status check_names_differ(hd_npz *f) {
    hd_ctx *cx = f->zip.source.cx;
    const int64_t count = f->zip.count;
    const char **names = hd_alloc(cx, sizeof *names * (size_t)(count + 1));
    if (!names) return cx->error.status;
    for (int64_t i = 0; i < count; i++) names[i] = f->zip.members[i].name;
    qsort(names, (size_t)count, sizeof *names, by_name);
    hd_status status = HD_OK;
    for (int64_t i = 1; i < count && !status; i++)
        if (!strcmp(names[i - 1], names[i]))
            status =
                bad(f, "has two members of the name \"%s\"", hd_printable((char[HD_PRINTABLE]){0}, names[i]));
    hd_free(cx->account, names);
    return status;
}

hd_npz *hd_npz_open(hd_ctx *cx, const char *path) {
    hd_npz *f = hd_alloc(cx, sizeof *f);
    if (!f) return NULL;
    if (hd_zip_open(cx, &f->zip, path)) {
        hd_free(cx->account, f);
        return NULL;
    }
    if (!cut_endings(f) && !check_names_differ(f)) return f;
    hd_npz_close(f);
    return NULL;
}

void hd_npz_close(hd_npz *f) {
    if (!f) return;
    hd_account *account = f->zip.source.cx->account;
    hd_zip_close(&f->zip);
    hd_free(account, f);
}

int64_t hd_npz_count(const hd_npz *f) {
    return f->zip.count;
}

const char *hd_npz_name(const hd_npz *f, int64_t i) {
    return f->zip.members[i].name;
}

static hd_status read_member(void *state, void *into, int64_t count) {
    return hd_zip_stream_read(state, into, count);
}

hd_tensor *hd_npz_read(hd_npz *f, int64_t i) {
    const hd_zip_member *m = &f->zip.members[i];
    char text[HD_PRINTABLE], name[HD_MESSAGE_SIZE];
    hd_zip_stream *stream = hd_zip_stream_open(&f->zip, m);
    if (!stream) return NULL;
    snprintf(name, sizeof name, "%s: %s", f->zip.source.path, hd_printable(text, m->name));
    hd_npy_stream from = {f->zip.source.cx, name, m->size, read_member, stream};
    hd_tensor *t = hd_npy_read(&from);
    if (t && hd_zip_stream_check(stream)) {
        hd_release(t);
        t = NULL;
    }
    hd_zip_stream_close(stream);
    return t;
}
