/* marian.h: the binary files of marian-nmt: a model's parameters by name, and its settings as text.
 *
 * The format (version 1, little-endian): u64 version, u64 count; of each item u64 bytes of its name, u64
 * type, u64 number of dimensions, u64 bytes of its data; the names, each with its zero; the dimensions, i32
 * each; u64 and as many bytes of padding; the data, one behind another. Files are not trusted: each length
 * is checked against what there is before anything is read or allocated for it.
 *
 * Items of intgemm's int8 hold an f32 behind their elements, by which these are divided. Matrices of them
 * are stored transposed, but for embeddings, whose rows are looked up.
 */
#ifndef HD_MARIAN_H
#define HD_MARIAN_H

#include "io/source.h"
#include "tensor/tensor.h"

#define HD_MARIAN_DIMS 4

typedef struct hd_marian_item {
    const char *name;
    uint64_t type;
    int ndim;
    int64_t shape[HD_MARIAN_DIMS];
    int64_t offset, bytes; /* of its data in the file */
    bool is_text;          /* settings, no numbers: the data as they are */
} hd_marian_item;

typedef struct hd_marian {
    hd_source source;
    char *names; /* all items' */
    int64_t count;
    hd_marian_item *items;
} hd_marian;

/* Opens the file and reads what it says of its items. HD_EIO: it is not one, or is cut short; HD_ENOMEM. */
hd_status hd_marian_open(hd_ctx *cx, hd_marian *file, const char *path);
/* An item's numbers as f32, in the shape that the file says. NULL: HD_EIO, HD_ENOMEM or HD_ECANCEL. */
hd_tensor *hd_marian_read(hd_marian *file, const hd_marian_item *item);
void hd_marian_close(hd_account *account, hd_marian *file);

#endif
