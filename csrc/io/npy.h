/* npy.h: reading and writing one tensor as numpy does (NEP 1, "A simple file format for NumPy arrays").
 *
 * The format: "\x93NUMPY", two bytes of version (1.0, 2.0 or 3.0), the header's length in little-endian (two
 * bytes; four from 2.0 on), the header, a literal of Python's such as
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
 *
 * then the data. Files come from strangers: everything is checked against the file before anything is
 * allocated for it.
 */
#ifndef HD_NPY_H
#define HD_NPY_H

#include "tensor/tensor.h"

/* Either byte order; of Fortran's order the tensor is a transposed view. NULL: HD_EIO (no such file, not this
 * format, a dtype that no tensor has) or HD_ENOMEM; the message names the path. */
hd_tensor *hd_npy_load(hd_ctx *cx, const char *path);

/* A contiguous tensor, as version 1.0. bf16, for which the format has no name, is HD_EARG. The file at path
 * is replaced as a whole or not at all (io/replace.h). */
hd_status hd_npy_save(hd_ctx *cx, const char *path, const hd_tensor *t);

#endif
