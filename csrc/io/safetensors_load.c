#define _GNU_SOURCE
#include "io/safetensors.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/safetensors_names.h"

typedef struct reader {
    hd_ctx *cx;
    const char *path;
    int fd;
    int64_t file_size, data_start, data_size;
    char *header; /* zero-terminated */
    int64_t header_size;
    cJSON *json;
} reader;

/* Where the data of one tensor lies, to find overlaps and holes. */
typedef struct span {
    int64_t begin, end;
    const char *name;
} span;

#define bad(r, format, ...) hd_fail((r)->cx, HD_EIO, "%s: " format, (r)->path, ##__VA_ARGS__)

static hd_status read_at(reader *r, void *into, int64_t count, int64_t offset) {
    char *at = into;
    while (count > 0) {
        ssize_t got = pread(r->fd, at, count > (1 << 30) ? (1 << 30) : (size_t)count, offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return bad(r, "reading: %s", strerror(errno));
        if (got == 0) return bad(r, "the file ended early, at byte %lld", (long long)offset);
        at += got;
        offset += got;
        count -= got;
    }
    return HD_OK;
}

static hd_status open_file(reader *r) {
    r->fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (r->fd < 0) return bad(r, "%s", strerror(errno));
    struct stat st;
    if (fstat(r->fd, &st)) return bad(r, "%s", strerror(errno));
    if (!S_ISREG(st.st_mode)) return bad(r, "expected a regular file");
    r->file_size = st.st_size;
    return HD_OK;
}

static hd_status read_header(reader *r) {
    if (r->file_size < 8)
        return bad(r, "not a safetensors file: %lld bytes, the header's length alone takes 8",
                   (long long)r->file_size);
    unsigned char prefix[8];
    hd_status status = read_at(r, prefix, 8, 0);
    if (status) return status;
    uint64_t size = 0;
    for (int i = 7; i >= 0; i--) size = size << 8 | prefix[i];
    if (size > HD_SAFETENSORS_MAX_HEADER || size > (uint64_t)(r->file_size - 8))
        return bad(r, "not a safetensors file, or cut short: its header claims %llu bytes, the file has %lld",
                   (unsigned long long)size, (long long)r->file_size);
    r->header_size = (int64_t)size;
    r->data_start = 8 + r->header_size;
    r->data_size = r->file_size - r->data_start;
    r->header = hd_alloc(r->cx, (size_t)size + 1);
    if (!r->header) return r->cx->error.status;
    r->header[size] = 0;
    return read_at(r, r->header, r->header_size, 8);
}

static hd_status parse_header(reader *r) {
    if (memchr(r->header, 0, (size_t)r->header_size)) return bad(r, "header: holds a zero byte");
    const char *end;
    r->json = cJSON_ParseWithLengthOpts(r->header, (size_t)r->header_size + 1, &end, 0);
    if (!r->json) return bad(r, "header: not JSON near byte %lld", (long long)(end ? end - r->header : 0));
    while (*end == ' ' || *end == '\n' || *end == '\t' || *end == '\r') end++;
    if (*end) return bad(r, "header: something follows the JSON at byte %lld", (long long)(end - r->header));
    if (!cJSON_IsObject(r->json)) return bad(r, "header: expected a JSON object of names");
    return HD_OK;
}

/* A number of JSON as a whole number from 0 to 2^53. */
static bool whole(const cJSON *item, int64_t *value) {
    if (!cJSON_IsNumber(item)) return false;
    double d = item->valuedouble;
    if (!(d >= 0 && d <= 9007199254740992.0) || d != floor(d)) return false;
    *value = (int64_t)d;
    return true;
}

/* The member of that name; a second one of the same name is hostile. */
static hd_status member(reader *r, const cJSON *entry, const char *key, const cJSON **found) {
    *found = NULL;
    for (const cJSON *item = entry->child; item; item = item->next) {
        if (strcmp(item->string, key)) continue;
        if (*found) return bad(r, "tensor \"%.80s\": %s is given twice", entry->string, key);
        *found = item;
    }
    return *found ? HD_OK : bad(r, "tensor \"%.80s\": %s is missing", entry->string, key);
}

static hd_status read_dtype(reader *r, const cJSON *entry, hd_dtype *dtype) {
    const cJSON *item;
    hd_status status = member(r, entry, "dtype", &item);
    if (status) return status;
    if (!cJSON_IsString(item)) return bad(r, "tensor \"%.80s\": dtype is not a string", entry->string);
    for (size_t i = 0; i < HD_SAFETENSORS_DTYPES; i++)
        if (!strcmp(item->valuestring, hd_safetensors_dtypes[i].name)) {
            *dtype = hd_safetensors_dtypes[i].dtype;
            return HD_OK;
        }
    return bad(r,
               "tensor \"%.80s\": dtype: expected F32, F64, I64, I32, U8, BOOL, BF16 or F16, got \"%.20s\"",
               entry->string, item->valuestring);
}

static hd_status read_shape(reader *r, const cJSON *entry, int *ndim, int64_t *shape) {
    const cJSON *item;
    hd_status status = member(r, entry, "shape", &item);
    if (status) return status;
    if (!cJSON_IsArray(item)) return bad(r, "tensor \"%.80s\": shape is not a list", entry->string);
    *ndim = 0;
    for (const cJSON *size = item->child; size; size = size->next) {
        if (*ndim == HD_MAX_DIMS)
            return bad(r, "tensor \"%.80s\": shape: more than %d dimensions", entry->string, HD_MAX_DIMS);
        if (!whole(size, &shape[(*ndim)++]))
            return bad(r, "tensor \"%.80s\": shape: size %d is not a whole number", entry->string, *ndim);
    }
    return HD_OK;
}

static hd_status read_offsets(reader *r, const cJSON *entry, span *at) {
    const cJSON *item;
    hd_status status = member(r, entry, "data_offsets", &item);
    if (status) return status;
    const cJSON *first = cJSON_IsArray(item) ? item->child : NULL;
    const cJSON *second = first ? first->next : NULL;
    if (!second || second->next || !whole(first, &at->begin) || !whole(second, &at->end))
        return bad(r, "tensor \"%.80s\": data_offsets: expected two whole numbers", entry->string);
    if (at->begin > at->end || at->end > r->data_size)
        return bad(r,
                   "tensor \"%.80s\": data_offsets %lld to %lld are not inside the file's %lld bytes of data",
                   entry->string, (long long)at->begin, (long long)at->end, (long long)r->data_size);
    at->name = entry->string;
    return HD_OK;
}

/* Stored truth values are 0 and 1, whatever the file says. */
static void normalise_bool(hd_tensor *t) {
    if (t->dtype != HD_BOOL) return;
    uint8_t *b = hd_data(t);
    for (int64_t i = 0, n = hd_numel(t); i < n; i++) b[i] = b[i] != 0;
}

static hd_status read_tensor(reader *r, const cJSON *entry, span *at, hd_tensor **out) {
    hd_dtype dtype;
    int ndim;
    int64_t shape[HD_MAX_DIMS], numel;
    char text[HD_SHAPE_TEXT];
    if (!cJSON_IsObject(entry)) return bad(r, "tensor \"%.80s\": expected a JSON object", entry->string);
    hd_status status;
    if ((status = read_dtype(r, entry, &dtype)) || (status = read_shape(r, entry, &ndim, shape)) ||
        (status = read_offsets(r, entry, at)))
        return status;
    if (hd_check_shape(r->cx, dtype, ndim, shape, &numel))
        return bad(r, "tensor \"%.80s\": shape %s is too large", entry->string,
                   hd_shape_text(ndim, shape, text));
    if (numel * (int64_t)hd_dtype_size(dtype) != at->end - at->begin)
        return bad(r, "tensor \"%.80s\": %s %s needs %lld bytes, its data_offsets give %lld", entry->string,
                   hd_dtype_name(dtype), hd_shape_text(ndim, shape, text),
                   (long long)(numel * (int64_t)hd_dtype_size(dtype)), (long long)(at->end - at->begin));
    *out = hd_tensor_new(r->cx, dtype, ndim, shape);
    if (!*out) return r->cx->error.status;
    status = read_at(r, hd_data(*out), at->end - at->begin, r->data_start + at->begin);
    if (!status) normalise_bool(*out);
    return status;
}

static char *copy_text(hd_ctx *cx, const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = hd_alloc(cx, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

static hd_status read_metadata(reader *r, const cJSON *entry, hd_safetensors *file) {
    if (!cJSON_IsObject(entry)) return bad(r, "__metadata__: expected a JSON object");
    if (file->metadata) return bad(r, "__metadata__ is given twice");
    int64_t count = 0;
    for (const cJSON *item = entry->child; item; item = item->next) count++;
    file->metadata = hd_alloc_zeroed(r->cx, (size_t)count * sizeof *file->metadata);
    if (!file->metadata) return r->cx->error.status;
    for (const cJSON *item = entry->child; item; item = item->next) {
        if (!cJSON_IsString(item)) return bad(r, "__metadata__: \"%.80s\" is not a string", item->string);
        hd_metadata *m = &file->metadata[file->metadata_count++];
        m->key = copy_text(r->cx, item->string);
        m->value = m->key ? copy_text(r->cx, item->valuestring) : NULL;
        if (!m->value) return r->cx->error.status;
    }
    return HD_OK;
}

static int by_begin(const void *a, const void *b) {
    const span *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const span *)a)->name, ((const span *)b)->name);
}

static hd_status check_spans(reader *r, span *spans, int64_t count) {
    qsort(spans, (size_t)count, sizeof *spans, by_name);
    for (int64_t i = 1; i < count; i++)
        if (!strcmp(spans[i - 1].name, spans[i].name))
            return bad(r, "tensor \"%.80s\" is given twice", spans[i].name);
    qsort(spans, (size_t)count, sizeof *spans, by_begin);
    int64_t end = 0;
    for (int64_t i = 0; i < count; end = spans[i++].end) {
        if (spans[i].begin < end)
            return bad(r, "tensor \"%.80s\" overlaps \"%.80s\"", spans[i].name, spans[i - 1].name);
        if (spans[i].begin > end)
            return bad(r, "bytes %lld to %lld of the data belong to no tensor", (long long)end,
                       (long long)spans[i].begin);
    }
    if (end == r->data_size) return HD_OK;
    return bad(r, "%lld bytes after the last tensor belong to nothing", (long long)(r->data_size - end));
}

static hd_status read_entries(reader *r, hd_safetensors *file, span *spans) {
    for (const cJSON *entry = r->json->child; entry; entry = entry->next) {
        hd_status status;
        if (!strcmp(entry->string, "__metadata__")) {
            status = read_metadata(r, entry, file);
        } else {
            hd_named_tensor *t = &file->tensors[file->count];
            status = read_tensor(r, entry, &spans[file->count], &t->tensor);
            file->count++;
            if (!status && !(t->name = copy_text(r->cx, entry->string))) status = r->cx->error.status;
        }
        if (status) return status;
    }
    return check_spans(r, spans, file->count);
}

static hd_status read_file(reader *r, hd_safetensors *file) {
    hd_status status;
    if ((status = open_file(r)) || (status = read_header(r)) || (status = parse_header(r))) return status;
    int64_t entries = 0;
    for (const cJSON *entry = r->json->child; entry; entry = entry->next) entries++;
    file->tensors = hd_alloc_zeroed(r->cx, (size_t)entries * sizeof *file->tensors);
    span *spans = file->tensors ? hd_alloc_zeroed(r->cx, (size_t)entries * sizeof *spans) : NULL;
    status = spans ? read_entries(r, file, spans) : r->cx->error.status;
    hd_free(r->cx->account, spans);
    return status;
}

hd_safetensors *hd_safetensors_load(hd_ctx *cx, const char *path) {
    hd_safetensors *file = hd_alloc_zeroed(cx, sizeof *file);
    if (!file) return NULL;
    file->account = cx->account;
    hd_account_retain(file->account);
    reader r = {.cx = cx, .path = path, .fd = -1};
    hd_status status = read_file(&r, file);
    cJSON_Delete(r.json);
    hd_free(cx->account, r.header);
    if (r.fd >= 0) close(r.fd);
    if (!status) return file;
    hd_safetensors_free(file);
    return NULL;
}

void hd_safetensors_free(hd_safetensors *file) {
    if (!file) return;
    hd_account *account = file->account;
    for (int64_t i = 0; i < file->count; i++) {
        hd_free(account, (void *)file->tensors[i].name);
        hd_release(file->tensors[i].tensor);
    }
    for (int64_t i = 0; i < file->metadata_count; i++) {
        hd_free(account, (void *)file->metadata[i].key);
        hd_free(account, (void *)file->metadata[i].value);
    }
    hd_free(account, file->tensors);
    hd_free(account, file->metadata);
    hd_free(account, file);
    hd_account_release(account);
}
