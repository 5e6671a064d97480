#include "io/raw.h"

#include "io/source.h"

static hd_tensor *read_numbers(hd_source *s, hd_dtype dtype, int ndim, const int64_t *shape, int64_t offset) {
    int64_t count;
    if (hd_check_shape(s->cx, dtype, ndim, shape, &count)) return NULL;
    const int64_t bytes = count * (int64_t)hd_dtype_size(dtype);
    if (offset < 0 || offset > s->size || bytes > s->size - offset) {
        hd_source_bad(s, "the file ended early: expected %lld bytes at byte %lld", (long long)bytes,
                      (long long)offset);
        return NULL;
    }
    hd_tensor *t = hd_tensor_new(s->cx, dtype, ndim, shape);
    if (!t || !hd_source_read(s, hd_data(t), bytes, offset)) return t;
    hd_release(t);
    return NULL;
}

hd_tensor *hd_raw_load(hd_ctx *cx, const char *path, hd_dtype dtype, int ndim, const int64_t *shape,
                       int64_t offset) {
    hd_source source;
    if (hd_source_open(cx, &source, path)) return NULL;
    hd_tensor *t = read_numbers(&source, dtype, ndim, shape, offset);
    hd_source_close(&source);
    return t;
}
