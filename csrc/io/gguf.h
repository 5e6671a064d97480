/* gguf.h: the files of llama.cpp: metadata, then tensors of many types, each in blocks along its innermost
 * dimension.
 *
 * The format (versions 2 and 3, little-endian): "GGUF", u32 version, u64 number of tensors, u64 number of
 * metadata; metadata: a string (u64 length, bytes), u32 type, value; tensors: name, u32 number of dimensions,
 * u64 each of them with the innermost first, u32 type, u64 offset from the data's beginning; padding to the
 * alignment ("general.alignment", 32 when absent); the data. Files are not trusted: each length is checked
 * against what there is before anything is read or allocated for it.
 */
#ifndef HD_GGUF_H
#define HD_GGUF_H

#include "io/mapped.h"
#include "io/source.h"
#include "kernels/blocks.h"
#include "tensor/tensor.h"

/* ---- types of tensors ---------------------------------------------------------------------------- */
typedef struct hd_gguf_type {
    uint32_t number;               /* ggml's */
    const char *name;              /* "Q4_K"; NULL when the number is not known */
    const hd_block_format *blocks; /* NULL: plain numbers, or not read here */
    hd_dtype dtype;                /* of what is read: f32 of blocks */
    bool is_read;                  /* else only the name is known, if that */
} hd_gguf_type;

hd_gguf_type hd_gguf_type_numbered(uint32_t number);
/* False: there is none. */
bool hd_gguf_type_named(const char *name, hd_gguf_type *type);

/* ---- what a file says ---------------------------------------------------------------------------- */

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

/* As a message may show it (hd_printable). */
const char *hd_gguf_printable(char into[HD_PRINTABLE], hd_gguf_text text);

typedef struct hd_gguf_item {
    hd_gguf_text name; /* first, here and below */
    hd_gguf_kind kind;
    const char *value; /* as in the file; of an array its kind (u32), count (u64) and values */
} hd_gguf_item;

#define HD_GGUF_DIMS 4

typedef struct hd_gguf_tensor {
    hd_gguf_text name;
    int ndim;
    int64_t shape[HD_GGUF_DIMS]; /* outermost first */
    hd_gguf_type type;
    int64_t offset; /* in the file */
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

/* Reads everything before the data. Names that are there twice, and tensors that the file is too short
 * for, are refused (HD_EIO). */
hd_status hd_gguf_read(hd_source *s, hd_gguf *file);
void hd_gguf_free(hd_account *account, hd_gguf *file);

/* ---- tensors ------------------------------------------------------------------------------------- */
/* How many bytes it takes in the file; its type is one that is read. */
int64_t hd_gguf_bytes(const hd_gguf_tensor *t);
/* Do its rows consist of whole blocks, and does it lie inside the file? Of types that are not read this is
 * not known. */
hd_status hd_gguf_check_tensor(hd_source *s, const hd_gguf_tensor *t);
/* Plain numbers as their dtype, blocks dequantised to f32. With a mapping of the file nothing is read from the
 * source: blocks are dequantised where they lie, and plain numbers stay there if they can (io/mapped.h). NULL:
 * HD_EIO, HD_ENOMEM or HD_ECANCEL; the message names file and tensor. */
hd_tensor *hd_gguf_tensor_read(hd_source *s, hd_mapping *m, const hd_gguf_tensor *t);
/* The same into `y`, a contiguous tensor of the type's dtype, with as many elements: HD_EARG if it is none. */
hd_status hd_gguf_tensor_into(hd_source *s, hd_mapping *m, const hd_gguf_tensor *t, hd_tensor *y);

/* ---- values of metadata -------------------------------------------------------------------------- */

/* One value of an array, or of an item: what it is, and where the next one is. Arrays in arrays are read
 * by their own. */
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

/* ---- writing ------------------------------------------------------------------------------------- */

#define HD_GGUF_LONGEST_NAME 63 /* of a tensor: llama.cpp takes no longer one */

typedef struct hd_gguf_entry {
    const char *name;
    const hd_tensor *tensor; /* contiguous, of the type's dtype */
    hd_gguf_type type;       /* one that is read; of blocks, one that can be quantised to */
} hd_gguf_entry;

typedef struct hd_gguf_contents {
    int64_t item_count;
    hd_gguf_text metadata; /* the items as they stand in a file, one behind another */
    int64_t alignment;     /* of tensors' data; the metadata say so if it is not 32 */
    int64_t count;
    const hd_gguf_entry *entries; /* of different names */
} hd_gguf_contents;

/* Writes version 3. What the format has not, and numbers that a quantised type cannot hold, are HD_EARG.
 * The file at path is replaced completely or not at all (io/replace.h). */
hd_status hd_gguf_save(hd_ctx *cx, const char *path, const hd_gguf_contents *contents);

#endif
