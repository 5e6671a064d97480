/* safetensors.h: reading and writing tensors by name.
 *
 * The format: 8 bytes little-endian header length, a JSON object of name -> {dtype, shape, data_offsets} with
 * "__metadata__" (string -> string) beside them, then the data. Files come from strangers: every length,
 * offset, name and number is checked against the file before anything is allocated for it. No code is ever
 * run.
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

/* What a file held; everything is owned by it, in the order of the header. */
typedef struct hd_safetensors {
    int64_t count, metadata_count;
    hd_named_tensor *tensors;
    hd_metadata *metadata;
    hd_account *account;
} hd_safetensors;

/* NULL: HD_EIO (no such file, not this format, hostile) or HD_ENOMEM; the message names the path. */
hd_safetensors *hd_safetensors_load(hd_ctx *cx, const char *path);
void hd_safetensors_free(hd_safetensors *file); /* NULL is fine */

/* Contiguous tensors, in this order. Duplicate names, "__metadata__" as a name and tensors that are not
 * contiguous are HD_EARG. The file at path is replaced as a whole or not at all (io/replace.h). */
hd_status hd_safetensors_save(hd_ctx *cx, const char *path, int64_t count, const hd_named_tensor *tensors,
                              int64_t metadata_count, const hd_metadata *metadata);

#endif
