#include "io/safetensors.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/mapped.h"
#include "io/safetensors_names.h"
#include "io/source.h"

typedef struct reader {
    hd_ctx *cx;
    hd_source source;
    hd_mapping *mapping; /* NULL: tensors are read */
    int64_t data_start, data_size;
    char *header; /* zero-terminated */
    int64_t header_size;
    cJSON *json;
} reader;

/* The header's record of one tensor. name and json belong to the reader's JSON. */
typedef struct record {
    const char *name;
    const cJSON *json;
    hd_dtype dtype;
    int ndim;
    int64_t shape[HD_MAX_DIMS];
    int64_t begin, end; /* bytes of the data */
} record;

/* Most JSON values of a header: 10^5 tensors have about 10^6. A parsed value takes many times the memory
 * of its text. */
#define MAX_VALUES (1 << 22)

#define bad(r, format, ...) hd_source_bad(&(r)->source, format, ##__VA_ARGS__)
#define bad_tensor(r, t, format, ...)                                                                        \
    bad(r, "tensor \"%s\": " format, hd_printable((char[HD_PRINTABLE]){0}, (t)->name), ##__VA_ARGS__)

static hd_status read_header(reader *r) {
    if (r->source.size < 8)
        return bad(r, "not a safetensors file: %lld bytes, the header's length alone takes 8",
                   (long long)r->source.size);
    unsigned char prefix[8];
    hd_status status = hd_source_read(&r->source, prefix, 8, 0);
    if (status) return status;
    uint64_t size = 0;
    for (int i = 7; i >= 0; i--) size = size << 8 | prefix[i];
    if (size > HD_SAFETENSORS_MAX_HEADER || size > (uint64_t)(r->source.size - 8))
        return bad(r, "not a safetensors file, or cut short: its header claims %llu bytes, the file has %lld",
                   (unsigned long long)size, (long long)r->source.size);
    r->header_size = (int64_t)size;
    r->data_start = 8 + r->header_size;
    r->data_size = r->source.size - r->data_start;
    r->header = hd_alloc(r->cx, (size_t)size + 1);
    if (!r->header) return r->cx->error.status;
    r->header[size] = 0;
    return hd_source_read(&r->source, r->header, r->header_size, 8);
}

/* Checks the text before it is parsed: that it does not have too many values, and that no string contains the
 * character zero (\u0000), which would end it in C. */
static hd_status scan_header(reader *r) {
    if (memchr(r->header, 0, (size_t)r->header_size)) return bad(r, "header: holds a zero byte");
    int64_t values = 0;
    bool in_string = false;
    for (const char *at = r->header; *at; at++) {
        if (*at == '"') {
            in_string = !in_string;
        } else if (in_string && *at == '\\') {
            if (!strncmp(++at, "u0000", 5)) return bad(r, "header: a text holds a zero character");
            if (!*at) break;
        } else if (!in_string && (*at == ',' || *at == '[' || *at == '{') && ++values > MAX_VALUES) {
            return bad(r, "header: more than %d values", MAX_VALUES);
        }
    }
    return HD_OK;
}

static hd_status parse_header(reader *r) {
    hd_status status = scan_header(r);
    if (status) return status;
    const char *end;
    r->json = cJSON_ParseWithLengthOpts(r->header, (size_t)r->header_size + 1, &end, 0);
    if (!r->json) return bad(r, "header: not JSON near byte %lld", (long long)(end ? end - r->header : 0));
    while (*end == ' ' || *end == '\n' || *end == '\t' || *end == '\r') end++;
    if (*end) return bad(r, "header: something follows the JSON at byte %lld", (long long)(end - r->header));
    if (!cJSON_IsObject(r->json)) return bad(r, "header: expected a JSON object of names");
    return HD_OK;
}

/* Reads a JSON number as an integer from 0 to 2^53. */
static bool whole(const cJSON *item, int64_t *value) {
    if (!cJSON_IsNumber(item)) return false;
    double d = item->valuedouble;
    if (!(d >= 0 && d <= 9007199254740992.0) || d != floor(d)) return false;
    *value = (int64_t)d;
    return true;
}

/* The member of this name. A second one of the same name is an error. */
static hd_status member(reader *r, const record *t, const char *key, const cJSON **found) {
    *found = NULL;
    for (const cJSON *item = t->json->child; item; item = item->next) {
        if (strcmp(item->string, key)) continue;
        if (*found) return bad_tensor(r, t, "%s is given twice", key);
        *found = item;
    }
    return *found ? HD_OK : bad_tensor(r, t, "%s is missing", key);
}

static hd_status read_dtype(reader *r, record *t) {
    const cJSON *item;
    hd_status status = member(r, t, "dtype", &item);
    if (status) return status;
    if (!cJSON_IsString(item)) return bad_tensor(r, t, "dtype is not a string");
    for (size_t i = 0; i < HD_SAFETENSORS_DTYPES; i++)
        if (!strcmp(item->valuestring, hd_safetensors_dtypes[i].name)) {
            t->dtype = hd_safetensors_dtypes[i].dtype;
            return HD_OK;
        }
    return bad_tensor(
        r, t, "dtype: expected F32, F64, I64, I32, I16, I8, U32, U16, U8, BOOL, BF16 or F16, got \"%.20s\"",
        hd_printable((char[HD_PRINTABLE]){0}, item->valuestring));
}

static hd_status read_shape(reader *r, record *t) {
    const cJSON *item;
    hd_status status = member(r, t, "shape", &item);
    if (status) return status;
    if (!cJSON_IsArray(item)) return bad_tensor(r, t, "shape is not a list");
    for (const cJSON *size = item->child; size; size = size->next) {
        if (t->ndim == HD_MAX_DIMS) return bad_tensor(r, t, "shape: more than %d dimensions", HD_MAX_DIMS);
        if (!whole(size, &t->shape[t->ndim++]))
            return bad_tensor(r, t, "shape: size %d is not a whole number", t->ndim);
    }
    return HD_OK;
}

static hd_status read_offsets(reader *r, record *t) {
    const cJSON *item;
    hd_status status = member(r, t, "data_offsets", &item);
    if (status) return status;
    const cJSON *first = cJSON_IsArray(item) ? item->child : NULL;
    const cJSON *second = first ? first->next : NULL;
    if (!second || second->next || !whole(first, &t->begin) || !whole(second, &t->end))
        return bad_tensor(r, t, "data_offsets: expected two whole numbers");
    if (t->begin > t->end || t->end > r->data_size)
        return bad_tensor(r, t, "data_offsets %lld to %lld are not inside the file's %lld bytes of data",
                          (long long)t->begin, (long long)t->end, (long long)r->data_size);
    return HD_OK;
}

/* t is zeroed except for name and json. */
static hd_status read_record(reader *r, record *t) {
    int64_t numel;
    char text[HD_SHAPE_TEXT];
    if (!cJSON_IsObject(t->json)) return bad_tensor(r, t, "expected a JSON object");
    hd_status status;
    if ((status = read_dtype(r, t)) || (status = read_shape(r, t)) || (status = read_offsets(r, t)))
        return status;
    if (hd_check_shape(r->cx, t->dtype, t->ndim, t->shape, &numel))
        return bad_tensor(r, t, "shape %s is too large", hd_shape_text(t->ndim, t->shape, text));
    int64_t needed = numel * (int64_t)hd_dtype_size(t->dtype), given = t->end - t->begin;
    if (needed == given) return HD_OK;
    return bad_tensor(r, t, "%s %s needs %lld bytes, its data_offsets give %lld", hd_dtype_name(t->dtype),
                      hd_shape_text(t->ndim, t->shape, text), (long long)needed, (long long)given);
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
        if (!cJSON_IsString(item))
            return bad(r, "__metadata__: \"%s\" is not a string",
                       hd_printable((char[HD_PRINTABLE]){0}, item->string));
        hd_metadata *m = &file->metadata[file->metadata_count++];
        m->key = copy_text(r->cx, item->string);
        m->value = m->key ? copy_text(r->cx, item->valuestring) : NULL;
        if (!m->value) return r->cx->error.status;
    }
    return HD_OK;
}

/* ---- all tensors together */

static int by_begin(const void *a, const void *b) {
    const record *x = *(const record *const *)a, *y = *(const record *const *)b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static int by_name(const void *a, const void *b) {
    return strcmp((*(const record *const *)a)->name, (*(const record *const *)b)->name);
}

/* Every byte of the data must belong to exactly one tensor, so that no file causes more to be allocated
 * than it has. */
static hd_status check_records(reader *r, const record **sorted, int64_t count) {
    qsort(sorted, (size_t)count, sizeof *sorted, by_name);
    for (int64_t i = 1; i < count; i++)
        if (!strcmp(sorted[i - 1]->name, sorted[i]->name)) return bad_tensor(r, sorted[i], "is given twice");
    qsort(sorted, (size_t)count, sizeof *sorted, by_begin);
    int64_t end = 0;
    for (int64_t i = 0; i < count; end = sorted[i++]->end) {
        if (sorted[i]->begin < end)
            return bad_tensor(r, sorted[i], "overlaps \"%s\"",
                              hd_printable((char[HD_PRINTABLE]){0}, sorted[i - 1]->name));
        if (sorted[i]->begin > end)
            return bad(r, "bytes %lld to %lld of the data belong to no tensor", (long long)end,
                       (long long)sorted[i]->begin);
    }
    if (end == r->data_size) return HD_OK;
    return bad(r, "%lld bytes after the last tensor belong to nothing", (long long)(r->data_size - end));
}

/* Fills *count records from the header, and the metadata of the file. */
static hd_status read_records(reader *r, hd_safetensors *file, record *records, int64_t *count) {
    for (const cJSON *entry = r->json->child; entry; entry = entry->next) {
        hd_status status;
        if (strcmp(entry->string, "__metadata__")) {
            record *t = &records[(*count)++];
            t->name = entry->string;
            t->json = entry;
            status = read_record(r, t);
        } else {
            status = read_metadata(r, entry, file);
        }
        if (status) return status;
    }
    return HD_OK;
}

static hd_status check_order(reader *r, const record *records, int64_t count) {
    const record **sorted = hd_alloc(r->cx, (size_t)count * sizeof *sorted);
    if (!sorted) return r->cx->error.status;
    for (int64_t i = 0; i < count; i++) sorted[i] = &records[i];
    hd_status status = check_records(r, sorted, count);
    hd_free(r->cx->account, sorted);
    return status;
}

/* A bool of a tensor is 0 or 1, whatever byte the file has. */
static void normalise_bool(hd_tensor *t) {
    if (t->dtype != HD_BOOL) return;
    uint8_t *b = hd_data(t);
    for (int64_t i = 0, n = hd_numel(t); i < n; i++) b[i] = b[i] != 0;
}

static hd_tensor *read_tensor(reader *r, const record *t) {
    const int64_t offset = r->data_start + t->begin;
    if (r->mapping && t->end > t->begin && hd_mapped_fits(t->dtype, offset))
        return hd_mapped_tensor(r->cx, r->mapping, offset, t->dtype, t->ndim, t->shape);
    hd_tensor *y = hd_tensor_new(r->cx, t->dtype, t->ndim, t->shape);
    if (!y || !hd_source_read(&r->source, hd_data(y), t->end - t->begin, offset)) return y;
    hd_release(y);
    return NULL;
}

static hd_status read_tensors(reader *r, hd_safetensors *file, const record *records, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        const record *t = &records[i];
        hd_named_tensor *named = &file->tensors[file->count++];
        named->tensor = read_tensor(r, t);
        named->name = named->tensor ? copy_text(r->cx, t->name) : NULL;
        if (!named->name) return r->cx->error.status;
        normalise_bool(named->tensor);
    }
    return HD_OK;
}

static hd_status read_entries(reader *r, hd_safetensors *file) {
    int64_t entries = 0, count = 0;
    for (const cJSON *entry = r->json->child; entry; entry = entry->next) entries++;
    file->tensors = hd_alloc_zeroed(r->cx, (size_t)entries * sizeof *file->tensors);
    record *records = file->tensors ? hd_alloc_zeroed(r->cx, (size_t)entries * sizeof *records) : NULL;
    if (!records) return r->cx->error.status;
    hd_status status;
    if (!(status = read_records(r, file, records, &count)) && !(status = check_order(r, records, count)))
        status = read_tensors(r, file, records, count);
    hd_free(r->cx->account, records);
    return status;
}

static hd_status read_file(reader *r, const char *path, bool map, hd_safetensors *file) {
    hd_status status = hd_source_open(r->cx, &r->source, path);
    if (status || (status = read_header(r)) || (status = parse_header(r))) return status;
    r->mapping = map ? hd_source_map(&r->source) : NULL;
    return read_entries(r, file);
}

hd_safetensors *hd_safetensors_load(hd_ctx *cx, const char *path, bool map) {
    hd_safetensors *file = hd_alloc_zeroed(cx, sizeof *file);
    if (!file) return NULL;
    file->account = cx->account;
    hd_account_retain(file->account);
    reader r = {.cx = cx};
    hd_status status = read_file(&r, path, map, file);
    cJSON_Delete(r.json);
    hd_free(cx->account, r.header);
    hd_mapping_release(r.mapping);
    hd_source_close(&r.source);
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
