/* npz.h: tensors by name in one file, as numpy's savez and savez_compressed write them: a zip archive (zip.h) of
 * npy files (npy.h), NAME.npy each. Files are not trusted, and no code is ever run: what numpy pickled, arrays of
 * objects, is refused.
 */
#ifndef HD_NPZ_H
#define HD_NPZ_H

#include "io/safetensors.h"

typedef struct hd_npz hd_npz;

/* NULL: HD_EIO (no such file, not this format, a member that is no npy file, two of one name) or HD_ENOMEM; the
 * message names the path, which is borrowed. */
hd_npz *hd_npz_open(hd_ctx *cx, const char *path);
int64_t hd_npz_count(const hd_npz *file);
const char *hd_npz_name(const hd_npz *file, int64_t i); /* without .npy */
hd_tensor *hd_npz_read(hd_npz *file, int64_t i);        /* NULL: as above */
void hd_npz_close(hd_npz *file);                        /* NULL is fine */

/* Writes contiguous tensors in this order, stored. bf16, and names that are no UTF-8, twice there or longer than
 * 65531 bytes are HD_EARG. The file at path is replaced completely or not at all (io/replace.h). */
hd_status hd_npz_save(hd_ctx *cx, const char *path, int64_t count, const hd_named_tensor *tensors);

#endif
