/* gguf.h: the files of llama.cpp: metadata, then tensors of many types, each in blocks along its innermost dimension.
 *
 * The format (versions 2 and 3, little-endian): "GGUF", u32 version, u64 number of tensors, u64 number of metadata;
 * metadata: a string (u64 length, bytes), u32 type, value; tensors: name, u32 number of dimensions, u64 each of them
 * with the innermost first, u32 type, u64 offset from the data's beginning; padding to the alignment
 * ("general.alignment", 32 when absent); the data. Files are not trusted: each length is checked against what there
 * is before anything is read or allocated for it.
 */
#ifndef HD_GGUF_H
#define HD_GGUF_H

#include "io/source.h"

typedef enum hd_gguf_kind { /* of a metadata value */
                            HD_GGUF_U8,
                            HD_GGUF_I8,
                            HD_GGUF_U16,
                            HD_GGUF_I16,
                            HD_GGUF_U32,
                            HD_GGUF_I32,
                            HD_GGUF_F32,
                            HD_GGUF_BOOL,
                            HD_GGUF_STRING,
                            HD_GGUF_ARRAY,
                            HD_GGUF_U64,
                            HD_GGUF_I64,
                            HD_GGUF_F64,
                            HD_GGUF_KINDS
} hd_gguf_kind;

typedef struct hd_gguf_text {
    const char *bytes;
    int64_t size;
} hd_gguf_text;

typedef struct hd_gguf_item {
    hd_gguf_text name;
    hd_gguf_kind kind;
    const char *value; /* as in the file; of an array its kind (u32), count (u64) and values */
} hd_gguf_item;

#define HD_GGUF_DIMS 4

typedef struct hd_gguf_tensor {
    hd_gguf_text name;
    int ndim;
    int64_t shape[HD_GGUF_DIMS]; /* outermost first */
    uint32_t type;               /* ggml's number */
    int64_t offset;              /* in the file */
} hd_gguf_tensor;

/* All texts point into `header`, which it owns. */
typedef struct hd_gguf {
    char *header;
    int64_t header_size;
    uint32_t version;
    int64_t item_count, tensor_count;
    hd_gguf_item *items;
    hd_gguf_tensor *tensors;
} hd_gguf;

/* Reads everything before the data. */
hd_status hd_gguf_read(hd_source *s, hd_gguf *file);
void hd_gguf_free(hd_account *account, hd_gguf *file);

/* One value of an array, or of an item: what it is, and where the next one is. Arrays in arrays are read by their
 * own. */
typedef struct hd_gguf_value {
    hd_gguf_kind kind;
    union {
        int64_t i; /* of all integers but U64 beyond 2^63 - 1, and of BOOL */
        double f;  /* of floats, and of such U64 */
        hd_gguf_text text;
        struct {
            hd_gguf_kind kind;
            int64_t count;
            const char *values;
        } array;
    };
    bool is_float;
    const char *next;
} hd_gguf_value;

/* The value at `at`, which hd_gguf_read has checked. */
hd_gguf_value hd_gguf_value_at(hd_gguf_kind kind, const char *at);

#endif
