/* npy.h: reads and writes one tensor in numpy's format (NEP 1, "A simple file format for NumPy arrays").
 *
 * The format: "\x93NUMPY", two bytes of version (1.0, 2.0 or 3.0), the length of the header in little-endian
 * (two bytes; four from 2.0 on), the header, which is a Python literal such as
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
 *
 * and the data. Files are not trusted: everything is checked against the file before memory is allocated
 * for it.
 */
#ifndef HD_NPY_H
#define HD_NPY_H

#include "tensor/tensor.h"

/* Either byte order; data in Fortran order become a transposed view. NULL: HD_EIO (no such file, not this
 * format, a dtype that no tensor has) or HD_ENOMEM; the message names the path. */
hd_tensor *hd_npy_load(hd_ctx *cx, const char *path);

/* Writes a contiguous tensor as version 1.0. The format has no name for bf16: HD_EARG. The file at path is
 * replaced completely or not at all (io/replace.h). */
hd_status hd_npy_save(hd_ctx *cx, const char *path, const hd_tensor *t);

#endif
