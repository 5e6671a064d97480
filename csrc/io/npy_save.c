#include "io/npy.h"

#include <stdio.h>
#include <string.h>

#include "io/npy_names.h"
#include "io/npy_stream.h"
#include "io/replace.h"

/* The data begin at a multiple of this. */
#define ALIGNMENT 64

static const char *format_name(hd_dtype dtype) {
    for (size_t i = 0; i < HD_NPY_DTYPES; i++)
        if (hd_npy_dtypes[i].dtype == dtype) return hd_npy_dtypes[i].name;
    return NULL;
}

static size_t append_shape(char *text, const hd_tensor *t) {
    size_t length = 0;
    for (int d = 0; d < t->ndim; d++)
        length += (size_t)sprintf(text + length, d ? ", %lld" : "%lld", (long long)t->shape[d]);
    return length + (size_t)sprintf(text + length, t->ndim == 1 ? "," : "");
}

/* Writes everything before the data; returns its size. */
static size_t write_preamble(char preamble[HD_NPY_MAX_PREAMBLE], const hd_tensor *t, const char *name) {
    enum { BEFORE = HD_NPY_MAGIC_SIZE + 4 };
    char *header = preamble + BEFORE;
    char order = hd_dtype_size((hd_dtype)t->dtype) == 1 ? '|' : '<';
    size_t length =
        (size_t)sprintf(header, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order, name);
    length += append_shape(header + length, t);
    length += (size_t)sprintf(header + length, "), }");
    while ((BEFORE + length + 1) % ALIGNMENT) header[length++] = ' ';
    header[length++] = '\n';
    memcpy(preamble, HD_NPY_MAGIC "\x01\x00", HD_NPY_MAGIC_SIZE + 2);
    preamble[BEFORE - 2] = (char)(length & 255);
    preamble[BEFORE - 1] = (char)(length >> 8);
    return BEFORE + length;
}

hd_status hd_npy_preamble(hd_ctx *cx, const char *argument, const hd_tensor *t,
                          char preamble[HD_NPY_MAX_PREAMBLE], size_t *size) {
    const char *name = format_name((hd_dtype)t->dtype);
    if (!name)
        return hd_fail(cx, HD_EARG,
                       "%s: %s has no name in this format (t:to(\"f32\") is exact, safetensors keeps it)",
                       argument, hd_dtype_name((hd_dtype)t->dtype));
    if (!hd_is_contiguous(t)) return hd_fail(cx, HD_EARG, "%s: not contiguous", argument);
    *size = write_preamble(preamble, t, name);
    return HD_OK;
}

hd_status hd_npy_save(hd_ctx *cx, const char *path, const hd_tensor *t) {
    char preamble[HD_NPY_MAX_PREAMBLE];
    size_t size;
    if (hd_npy_preamble(cx, "t", t, preamble, &size)) return cx->error.status;
    hd_replace file;
    hd_status status = hd_replace_begin(cx, &file, path);
    if (status) return status;
    status = hd_replace_write(cx, &file, preamble, size);
    if (!status)
        status =
            hd_replace_write(cx, &file, hd_data(t), (size_t)hd_numel(t) * hd_dtype_size((hd_dtype)t->dtype));
    if (!status) return hd_replace_commit(cx, &file);
    hd_replace_abort(&file);
    return status;
}
