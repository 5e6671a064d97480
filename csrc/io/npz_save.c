#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "io/npy_stream.h"
#include "io/npz.h"
#include "base/utf8.h"
#include "io/zip.h"

#define MAX_NAME 65531 /* with .npy 16 bits count it */

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static hd_status check_name(hd_ctx *cx, const char *name) {
    if (strlen(name) > MAX_NAME)
        return hd_fail(cx, HD_EARG, "tensors: expected names of at most %d bytes, got one of %zu", MAX_NAME,
                       strlen(name));
    for (const unsigned char *at = (const unsigned char *)name; *at;) {
        int length = hd_utf8_length(at);
        if (!length)
            return hd_fail(cx, HD_EARG,
                           "tensors: a name: expected UTF-8, got the byte 0x%02x at position %lld", *at,
                           (long long)(at - (const unsigned char *)name) + 1);
        at += length;
    }
    return HD_OK;
}

static hd_status check_names(hd_ctx *cx, int64_t count, const hd_named_tensor *tensors) {
    const char **names = hd_alloc(cx, sizeof *names * (size_t)(count + 1));
    hd_status status = names ? HD_OK : cx->error.status;
    for (int64_t i = 0; i < count && !status; i++) {
        names[i] = tensors[i].name;
        status = check_name(cx, names[i]);
    }
    if (!status) qsort(names, (size_t)count, sizeof *names, by_name);
    for (int64_t i = 1; i < count && !status; i++)
        if (!strcmp(names[i - 1], names[i]))
            status = hd_fail(cx, HD_EARG, "tensors: two are called \"%.80s\"", names[i]);
    hd_free(cx->account, names);
    return status;
}

/* The preambles of all, so that one that cannot be written is known before the file is begun. */
static hd_status check_tensors(hd_ctx *cx, int64_t count, const hd_named_tensor *tensors) {
    char preamble[HD_NPY_MAX_PREAMBLE];
    size_t size;
    for (int64_t i = 0; i < count; i++)
        if (hd_npy_preamble(cx, tensors[i].name, tensors[i].tensor, preamble, &size)) return cx->error.status;
    return HD_OK;
}

static hd_status write_tensor(hd_zip_writer *w, const char *member, const hd_tensor *t) {
    char preamble[HD_NPY_MAX_PREAMBLE];
    size_t before, bytes = (size_t)hd_numel(t) * hd_dtype_size((hd_dtype)t->dtype);
    hd_status status = hd_npy_preamble(w->cx, member, t, preamble, &before);
    if (status) return status;
    const uint32_t crc = hd_zip_crc(hd_zip_crc(0, preamble, before), hd_data(t), bytes);
    status = hd_zip_begin(w, member, (int64_t)(before + bytes), crc);
    if (!status) status = hd_zip_write(w, preamble, before);
    return status ? status : hd_zip_write(w, hd_data(t), bytes);
}

/* The names with their ending, one behind another. */
static char *member_names(hd_ctx *cx, int64_t count, const hd_named_tensor *tensors) {
    size_t total = 1;
    for (int64_t i = 0; i < count; i++) total += strlen(tensors[i].name) + sizeof ".npy";
    char *names = hd_alloc(cx, total), *to = names;
    for (int64_t i = 0; names && i < count; i++) {
        to = stpcpy(to, tensors[i].name);
        to = stpcpy(to, ".npy") + 1;
    }
    return names;
}

static hd_status write_all(hd_zip_writer *w, const char *names, int64_t count,
                           const hd_named_tensor *tensors) {
    hd_status status = HD_OK;
    for (int64_t i = 0; i < count && !status; i++) {
        status = write_tensor(w, names, tensors[i].tensor);
        names += strlen(names) + 1;
    }
    return status ? status : hd_zip_finish(w);
}

static hd_status save(hd_ctx *cx, const char *path, const char *names, int64_t count,
                      const hd_named_tensor *tensors) {
    hd_replace file;
    hd_zip_writer w = {.cx = cx, .file = &file};
    w.members = hd_alloc(cx, sizeof *w.members * (size_t)(count + 1));
    hd_status status = w.members ? hd_replace_begin(cx, &file, path) : cx->error.status;
    if (!status) {
        status = write_all(&w, names, count, tensors);
        if (!status)
            status = hd_replace_commit(cx, &file);
        else
            hd_replace_abort(&file);
    }
    hd_free(cx->account, w.members);
    return status;
}

hd_status hd_npz_save(hd_ctx *cx, const char *path, int64_t count, const hd_named_tensor *tensors) {
    if (!strcmp(hd_zlib_version(), "none")) return hd_fail(cx, HD_EIO, "%s: " HD_ZIP_WITHOUT, path);
    if (check_names(cx, count, tensors) || check_tensors(cx, count, tensors)) return cx->error.status;
    char *names = member_names(cx, count, tensors);
    hd_status status = names ? save(cx, path, names, count, tensors) : cx->error.status;
    hd_free(cx->account, names);
    return status;
}
