#include "io/marian.h"

#include <math.h>
#include <string.h>

/* Types of items: a class and the bytes of an element. */
enum { F32 = 0x404, INTGEMM8 = 0x4101 };
enum { COUNTS = 16, HEADER = 32 }; /* bytes in the file */

void hd_marian_close(hd_account *account, hd_marian *file) {
    hd_source_close(&file->source);
    hd_free(account, file->names);
    hd_free(account, file->items);
    *file = (hd_marian){.source.fd = -1};
}

static uint64_t little(const unsigned char *at, int size) {
    uint64_t value = 0;
    for (int i = 0; i < size; i++) value |= (uint64_t)at[i] << 8 * i;
    return value;
}

#define bad(file, format, ...) hd_source_bad(&(file)->source, "Marian: " format, ##__VA_ARGS__)
#define bad_item(file, item, format, ...)                                                                    \
    bad(file, "%s: " format, hd_printable((char[HD_PRINTABLE]){0}, (item)->name), ##__VA_ARGS__)

/* ---- what the file says of its items ------------------------------------------------------------- */

static hd_status read_counts(hd_marian *file) {
    unsigned char counts[COUNTS];
    if (file->source.size < COUNTS) return bad(file, "the file ended early");
    hd_status status = hd_source_read(&file->source, counts, COUNTS, 0);
    if (status) return status;
    const uint64_t version = little(counts, 8), count = little(counts + 8, 8);
    if (version != 1) return bad(file, "expected version 1, got %llu", (unsigned long long)version);
    if (count > (uint64_t)(file->source.size - COUNTS) / HEADER)
        return bad(file, "expected fewer items than %llu", (unsigned long long)count);
    file->count = (int64_t)count;
    return HD_OK;
}

/* Takes the item's sizes, and adds up those of its name and its dimensions. */
static hd_status take_header(hd_marian *file, hd_marian_item *item, const unsigned char *at, int64_t *names,
                             int64_t *dims) {
    const uint64_t name = little(at, 8), ndim = little(at + 16, 8), bytes = little(at + 24, 8);
    const uint64_t most = (uint64_t)file->source.size;
    if (name == 0 || name > most || bytes > most)
        return bad(file, "expected items that fit the file, got %llu and %llu bytes",
                   (unsigned long long)name, (unsigned long long)bytes);
    if (ndim > HD_MARIAN_DIMS)
        return bad(file, "expected at most %d dimensions, got %llu", HD_MARIAN_DIMS,
                   (unsigned long long)ndim);
    item->type = little(at + 8, 8);
    item->ndim = (int)ndim;
    item->bytes = (int64_t)bytes;
    item->offset = *names; /* of its name, for now */
    *names += (int64_t)name;
    *dims += (int64_t)ndim;
    return *names > file->source.size ? bad(file, "the file ended early") : HD_OK;
}

static hd_status read_headers(hd_marian *file, int64_t *names, int64_t *dims) {
    hd_ctx *cx = file->source.cx;
    unsigned char *headers = hd_alloc(cx, (size_t)(file->count * HEADER));
    file->items = headers ? hd_alloc_zeroed(cx, (size_t)file->count * sizeof *file->items) : NULL;
    hd_status status = file->items ? HD_OK : cx->error.status;
    if (!status) status = hd_source_read(&file->source, headers, file->count * HEADER, COUNTS);
    for (int64_t i = 0; i < file->count && !status; i++)
        status = take_header(file, &file->items[i], headers + i * HEADER, names, dims);
    hd_free(cx->account, headers);
    return status;
}

/* The names end with a zero each, and have no other. */
static hd_status place_names(hd_marian *file, int64_t size) {
    for (int64_t i = 0; i < file->count; i++) {
        hd_marian_item *item = &file->items[i];
        const int64_t end = i + 1 < file->count ? file->items[i + 1].offset : size;
        item->name = file->names + item->offset;
        if (memchr(item->name, 0, (size_t)(end - item->offset)) != file->names + end - 1)
            return bad(file, "expected a name of %lld bytes with its zero", (long long)(end - item->offset));
        item->is_text = !strncmp(item->name, "special:", 8);
    }
    return HD_OK;
}

static hd_status check_item(hd_marian *file, hd_marian_item *item, const unsigned char *dims) {
    int64_t numel = 1;
    for (int d = 0; d < item->ndim; d++) {
        const uint32_t size = (uint32_t)little(dims + 4 * d, 4);
        if (size > INT32_MAX) return bad_item(file, item, "expected a size, got %u", size);
        item->shape[d] = size;
    }
    if (item->is_text) return HD_OK;
    if (hd_check_shape(file->source.cx, HD_F32, item->ndim, item->shape, &numel))
        return bad_item(file, item, "expected fewer elements");
    if (item->type != F32 && item->type != INTGEMM8)
        return bad_item(file, item, "type: unknown: 0x%llx", (unsigned long long)item->type);
    if (item->type == INTGEMM8 && item->ndim != 2)
        return bad_item(file, item, "expected 2 dimensions of int8, got %d", item->ndim);
    const int64_t needed = item->type == F32 ? numel * 4 : numel + 4;
    if (needed > item->bytes)
        return bad_item(file, item, "expected %lld bytes, got %lld", (long long)needed,
                        (long long)item->bytes);
    return HD_OK;
}

/* The dimensions stand behind the names; then comes the padding, then the data. */
static hd_status read_dims(hd_marian *file, int64_t at, int64_t count) {
    hd_ctx *cx = file->source.cx;
    const int64_t size = 4 * count + 8;
    if (size > file->source.size - at) return bad(file, "the file ended early");
    unsigned char *dims = hd_alloc(cx, (size_t)size), *next = dims;
    hd_status status = dims ? hd_source_read(&file->source, dims, size, at) : cx->error.status;
    for (int64_t i = 0; i < file->count && !status; i++) {
        status = check_item(file, &file->items[i], next);
        next += 4 * file->items[i].ndim;
    }
    const uint64_t padding = status ? 0 : little(dims + 4 * count, 8);
    hd_free(cx->account, dims);
    if (status) return status;
    if (padding > (uint64_t)(file->source.size - at - size)) return bad(file, "the file ended early");
    int64_t offset = at + size + (int64_t)padding;
    for (int64_t i = 0; i < file->count; i++) {
        hd_marian_item *item = &file->items[i];
        if (item->bytes > file->source.size - offset)
            return bad_item(file, item, "the file ended early: was it cut short?");
        item->offset = offset;
        offset += item->bytes;
    }
    return HD_OK;
}

static hd_status read_all(hd_marian *file) {
    hd_ctx *cx = file->source.cx;
    int64_t names = 0, dims = 0, at;
    hd_status status = read_counts(file);
    if (!status) status = read_headers(file, &names, &dims);
    if (status) return status;
    at = COUNTS + file->count * HEADER;
    if (names > file->source.size - at) return bad(file, "the file ended early");
    file->names = hd_alloc(cx, (size_t)names);
    if (!file->names) return cx->error.status;
    status = hd_source_read(&file->source, file->names, names, at);
    if (!status) status = place_names(file, names);
    return status ? status : read_dims(file, at + names, dims);
}

hd_status hd_marian_open(hd_ctx *cx, hd_marian *file, const char *path) {
    *file = (hd_marian){.source.fd = -1};
    hd_status status = hd_source_open(cx, &file->source, path);
    if (!status) status = read_all(file);
    if (status) hd_marian_close(cx->account, file);
    return status;
}

/* ---- numbers ------------------------------------------------------------------------------------- */

/* Rows of a matrix [k, n] whose columns lie one behind another. */
static void untransposed(const int8_t *x, int64_t k, int64_t n, float multiplier, float *y) {
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < n; j++) y[i * n + j] = (float)x[j * k + i] / multiplier;
}

static hd_status read_bytes(hd_marian *file, const hd_marian_item *item, float *into) {
    hd_ctx *cx = file->source.cx;
    const int64_t k = item->shape[0], n = item->shape[1];
    const size_t name = strlen(item->name);
    int8_t *bytes = hd_alloc(cx, (size_t)(k * n + 4));
    hd_status status =
        bytes ? hd_source_read(&file->source, bytes, k * n + 4, item->offset) : cx->error.status;
    const uint32_t bits = status ? 0 : (uint32_t)little((const unsigned char *)bytes + k * n, 4);
    float multiplier;
    memcpy(&multiplier, &bits, sizeof multiplier);
    if (!status && !(multiplier > 0 && multiplier <= 1e30f))
        status = bad_item(file, item, "expected a multiplier above 0, got %g", multiplier);
    if (!status && name >= 4 && !strcmp(item->name + name - 4, "Wemb"))
        untransposed(bytes, 1, k * n, multiplier, into);
    else if (!status)
        untransposed(bytes, k, n, multiplier, into);
    hd_free(cx->account, bytes);
    return status;
}

hd_tensor *hd_marian_read(hd_marian *file, const hd_marian_item *item) {
    hd_ctx *cx = file->source.cx;
    if (hd_must_stop(cx)) return hd_fail_null(cx, HD_ECANCEL, "interrupted");
    hd_tensor *t = hd_tensor_new(cx, HD_F32, item->ndim, item->shape);
    if (!t) return NULL;
    hd_status status = HD_OK;
    if (item->type == INTGEMM8)
        status = read_bytes(file, item, hd_data(t));
    else
        status = hd_source_read(&file->source, hd_data(t), hd_numel(t) * 4, item->offset);
    if (status) hd_release(t);
    return status ? NULL : t;
}
