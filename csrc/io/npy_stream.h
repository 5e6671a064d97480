/* npy_stream.h: an npy file that lies in something else, as in an archive: read from a stream, and what comes
 * before its data. */
#ifndef HD_NPY_STREAM_H
#define HD_NPY_STREAM_H

#include "tensor/tensor.h"

typedef struct hd_npy_stream {
    hd_ctx *cx;
    const char *name;                                          /* stands before every message */
    int64_t size;                                              /* of the npy file */
    hd_status (*read)(void *state, void *into, int64_t count); /* the next bytes; the message is complete */
    void *state;
} hd_npy_stream;

/* As hd_npy_load. When it succeeds everything was read. */
hd_tensor *hd_npy_read(const hd_npy_stream *from);

/* Magic, version, length, and a literal whose longest shape has 8 sizes of 19 digits. */
#define HD_NPY_MAX_PREAMBLE 320
/* Writes what comes before t's data, and its size; HD_EARG where the format has no name for the dtype: then the
 * message names the argument. */
hd_status hd_npy_preamble(hd_ctx *cx, const char *argument, const hd_tensor *t,
                          char preamble[HD_NPY_MAX_PREAMBLE], size_t *size);

#endif
