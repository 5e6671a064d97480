/* safetensors.h: reads and writes tensors by name.
 *
 * The format: the length of the header in 8 bytes little-endian; the header, a JSON object of name ->
 * {dtype, shape, data_offsets} and perhaps "__metadata__" -> {string -> string}; the data. Files are not
 * trusted: every length, offset, name and number is checked against the file before memory is allocated
 * for it. No code is ever run.
 */
#ifndef HD_SAFETENSORS_H
#define HD_SAFETENSORS_H

#include "tensor/tensor.h"

typedef struct hd_named_tensor {
    const char *name;
    hd_tensor *tensor;
} hd_named_tensor;

typedef struct hd_metadata {
    const char *key, *value;
} hd_metadata;

/* The contents of a file, in the order of the header. It owns everything in it. */
typedef struct hd_safetensors {
    int64_t count, metadata_count;
    hd_named_tensor *tensors;
    hd_metadata *metadata;
    hd_account *account;
} hd_safetensors;

/* `map`: tensors lie in the file's pages where they can (io/mapped.h). NULL: HD_EIO (no such file, not this
 * format, an invalid header) or HD_ENOMEM; the message names the path. */
hd_safetensors *hd_safetensors_load(hd_ctx *cx, const char *path, bool map);
void hd_safetensors_free(hd_safetensors *file); /* NULL is fine */

/* Writes contiguous tensors in this order. Duplicate names, "__metadata__" as a name and tensors that are not
 * contiguous are HD_EARG. The file at path is replaced completely or not at all (io/replace.h). */
hd_status hd_safetensors_save(hd_ctx *cx, const char *path, int64_t count, const hd_named_tensor *tensors,
                              int64_t metadata_count, const hd_metadata *metadata);

#endif
