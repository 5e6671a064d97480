#include "io/safetensors.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/replace.h"
#include "io/safetensors_names.h"
#include "base/utf8.h"

static const char *format_name(hd_dtype dtype) {
    for (size_t i = 0; i < HD_SAFETENSORS_DTYPES; i++)
        if (hd_safetensors_dtypes[i].dtype == dtype) return hd_safetensors_dtypes[i].name;
    return "?";
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* JSON is UTF-8: other readers refuse a header that is not. */
static hd_status check_utf8(hd_ctx *cx, const char *what, const char *text) {
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        int length = hd_utf8_length(at);
        if (!length)
            return hd_fail(cx, HD_EARG, "%s: expected UTF-8, got the byte 0x%02x at position %lld", what, *at,
                           (long long)(at - (const unsigned char *)text) + 1);
        at += length;
    }
    return HD_OK;
}

static hd_status check_metadata(hd_ctx *cx, int64_t count, const hd_metadata *metadata) {
    hd_status status = HD_OK;
    for (int64_t i = 0; i < count && !status; i++) {
        status = check_utf8(cx, "metadata: a key", metadata[i].key);
        char what[120];
        snprintf(what, sizeof what, "metadata: %.80s", metadata[i].key);
        if (!status) status = check_utf8(cx, what, metadata[i].value);
    }
    return status;
}

static hd_status check_names(hd_ctx *cx, int64_t count, const hd_named_tensor *tensors) {
    const char **names = hd_alloc(cx, (size_t)count * sizeof *names);
    if (!names) return cx->error.status;
    hd_status status = HD_OK;
    for (int64_t i = 0; i < count; i++) {
        names[i] = tensors[i].name;
        if (!status) status = check_utf8(cx, "tensors: a name", names[i]);
        if (!strcmp(names[i], "__metadata__"))
            status =
                hd_fail(cx, HD_EARG, "tensors: \"__metadata__\" is not a name for a tensor in this format");
        if (!hd_is_contiguous(tensors[i].tensor))
            status = hd_fail(cx, HD_EARG, "tensors: \"%.80s\" is not contiguous", names[i]);
    }
    qsort(names, (size_t)count, sizeof *names, by_name);
    for (int64_t i = 1; i < count && !status; i++)
        if (!strcmp(names[i - 1], names[i]))
            status = hd_fail(cx, HD_EARG, "tensors: the name \"%.80s\" is given twice", names[i]);
    hd_free(cx->account, names);
    return status;
}

/* cJSON returns NULL if memory runs out, and adding to NULL does nothing: `fine` collects the
 * results of calls that need no check in between. */
static bool add_tensor(cJSON *header, const hd_named_tensor *named, int64_t begin, int64_t end) {
    cJSON *entry = cJSON_AddObjectToObject(header, named->name);
    bool fine = cJSON_AddStringToObject(entry, "dtype", format_name((hd_dtype)named->tensor->dtype));
    cJSON *shape = cJSON_AddArrayToObject(entry, "shape");
    for (int d = 0; d < named->tensor->ndim; d++)
        fine = cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)named->tensor->shape[d])) && fine;
    cJSON *offsets = cJSON_AddArrayToObject(entry, "data_offsets");
    fine = cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)begin)) && fine;
    return cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)end)) && fine;
}

static bool add_metadata(cJSON *header, int64_t count, const hd_metadata *metadata) {
    if (!count) return true;
    cJSON *object = cJSON_AddObjectToObject(header, "__metadata__");
    bool fine = object != NULL;
    for (int64_t i = 0; i < count; i++)
        fine = cJSON_AddStringToObject(object, metadata[i].key, metadata[i].value) && fine;
    return fine;
}

static int64_t byte_count(const hd_tensor *t) {
    return hd_numel(t) * (int64_t)hd_dtype_size((hd_dtype)t->dtype);
}

/* The header as text from malloc; NULL if memory runs out. */
static char *header_text(int64_t count, const hd_named_tensor *tensors, int64_t metadata_count,
                         const hd_metadata *metadata) {
    cJSON *header = cJSON_CreateObject();
    bool fine = header && add_metadata(header, metadata_count, metadata);
    int64_t begin = 0;
    for (int64_t i = 0; i < count && fine; i++) {
        int64_t end = begin + byte_count(tensors[i].tensor);
        fine = add_tensor(header, &tensors[i], begin, end);
        begin = end;
    }
    char *text = fine ? cJSON_PrintUnformatted(header) : NULL;
    cJSON_Delete(header);
    return text;
}

static hd_status write_all(hd_ctx *cx, hd_replace *file, const char *header, int64_t count,
                           const hd_named_tensor *tensors) {
    static const char spaces[8] = "        ";
    uint64_t length = strlen(header), padding = (8 - length % 8) % 8;
    unsigned char prefix[8];
    for (int i = 0; i < 8; i++) prefix[i] = (unsigned char)((length + padding) >> (8 * i));
    hd_status status;
    if ((status = hd_replace_write(cx, file, prefix, 8)) ||
        (status = hd_replace_write(cx, file, header, length)) ||
        (status = hd_replace_write(cx, file, spaces, padding)))
        return status;
    for (int64_t i = 0; i < count && !status; i++)
        status =
            hd_replace_write(cx, file, hd_data(tensors[i].tensor), (size_t)byte_count(tensors[i].tensor));
    return status;
}

hd_status hd_safetensors_save(hd_ctx *cx, const char *path, int64_t count, const hd_named_tensor *tensors,
                              int64_t metadata_count, const hd_metadata *metadata) {
    hd_status status = check_names(cx, count, tensors);
    if (!status) status = check_metadata(cx, metadata_count, metadata);
    if (status) return status;
    char *header = header_text(count, tensors, metadata_count, metadata);
    if (!header)
        return hd_fail(cx, HD_ENOMEM, "%s: no memory for a header of %lld tensors", path, (long long)count);
    if (strlen(header) + 8 > HD_SAFETENSORS_MAX_HEADER) {
        cJSON_free(header);
        return hd_fail(cx, HD_EARG, "names and metadata: more than %d MB", HD_SAFETENSORS_MAX_HEADER >> 20);
    }
    hd_replace file;
    status = hd_replace_begin(cx, &file, path);
    if (!status) {
        status = write_all(cx, &file, header, count, tensors);
        if (status)
            hd_replace_abort(&file);
        else
            status = hd_replace_commit(cx, &file);
    }
    cJSON_free(header);
    return status;
}
