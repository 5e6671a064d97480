/* Tensors' data: where it must lie, and as numbers. */
#include <string.h>

#include "base/minmax.h"
#include "base/parallel.h"
#include "io/gguf.h"

#define bad_tensor(s, t, format, ...)                                                                        \
    hd_source_bad(s, "tensor \"%s\": " format, hd_gguf_printable((char[HD_PRINTABLE]){0}, (t)->name),        \
                  ##__VA_ARGS__)

const char *hd_gguf_printable(char into[HD_PRINTABLE], hd_gguf_text text) {
    char cut[HD_PRINTABLE + 1] = {0};
    memcpy(cut, text.bytes, (size_t)hd_min(text.size, HD_PRINTABLE));
    return hd_printable(into, cut);
}

static hd_status check_rows(hd_source *s, const hd_gguf_tensor *t) {
    const int64_t row = t->ndim ? t->shape[t->ndim - 1] : 1;
    if (!t->type.blocks || row % t->type.blocks->elements == 0) return HD_OK;
    char shape[HD_SHAPE_TEXT];
    return bad_tensor(s, t, "%s: expected rows of a multiple of %d elements, got %s", t->type.name,
                      t->type.blocks->elements, hd_shape_text(t->ndim, t->shape, shape));
}

static int64_t element_count(const hd_gguf_tensor *t) {
    int64_t count = 1;
    for (int d = 0; d < t->ndim; d++) count *= t->shape[d];
    return count;
}

int64_t hd_gguf_bytes(const hd_gguf_tensor *t) {
    const int64_t count = element_count(t);
    if (t->type.blocks) return count / t->type.blocks->elements * t->type.blocks->bytes;
    return count * (int64_t)hd_dtype_size(t->type.dtype);
}

hd_status hd_gguf_check_tensor(hd_source *s, const hd_gguf_tensor *t) {
    if (!t->type.is_read) return HD_OK;
    char shape[HD_SHAPE_TEXT];
    int64_t numel;
    if (hd_check_shape(s->cx, t->type.dtype, t->ndim, t->shape, &numel))
        return bad_tensor(s, t, "shape %s is too large", hd_shape_text(t->ndim, t->shape, shape));
    hd_status status = check_rows(s, t);
    if (status) return status;
    const int64_t bytes = hd_gguf_bytes(t);
    if (t->offset >= 0 && bytes <= s->size && t->offset <= s->size - bytes) return HD_OK;
    return bad_tensor(s, t, "%s %s: expected %lld bytes at %lld, got a file of %lld: was it cut short?",
                      t->type.name, hd_shape_text(t->ndim, t->shape, shape), (long long)bytes,
                      (long long)t->offset, (long long)s->size);
}

/* ---- reading ------------------------------------------------------------------------------------- */

enum { PIECE = 4 << 20 }; /* bytes that are read at once, between looks at whether to stop */

static hd_status stop_asked(hd_ctx *cx) {
    return hd_must_stop(cx) ? hd_fail(cx, HD_ECANCEL, "interrupted") : HD_OK;
}

static hd_status read_plain(hd_source *s, const hd_mapping *m, const hd_gguf_tensor *t, char *into) {
    const int64_t bytes = hd_gguf_bytes(t);
    hd_status status = HD_OK;
    for (int64_t at = 0; at < bytes && !status; at += PIECE) {
        const int64_t count = hd_min(bytes - at, PIECE);
        status = stop_asked(s->cx);
        if (status) break;
        if (m)
            memcpy(into + at, hd_mapping_bytes(m) + t->offset + at, (size_t)count);
        else
            status = hd_source_read(s, into + at, count, t->offset + at);
    }
    return status;
}

typedef struct piece {
    const hd_block_format *format;
    const uint8_t *blocks;
    float *y;
} piece;

static void dequantize_range(void *arg, int64_t first, int64_t last, int worker) {
    const piece *p = arg;
    (void)worker;
    p->format->dequantize(p->blocks + first * p->format->bytes, last - first,
                          p->y + first * p->format->elements);
}

#define GRAIN_ELEMENTS 32768

static hd_status dequantize(hd_ctx *cx, int64_t count, piece p) {
    return hd_parallel_ranges(cx, count, GRAIN_ELEMENTS / p.format->elements, dequantize_range, &p);
}

/* A piece of the file at a time, so that no more than this is held beside the result. */
static hd_status read_blocks(hd_source *s, const hd_gguf_tensor *t, float *y) {
    const hd_block_format *format = t->type.blocks;
    const int64_t bytes = hd_gguf_bytes(t), step = PIECE / format->bytes * format->bytes;
    uint8_t *blocks = hd_alloc(s->cx, (size_t)hd_min(bytes, step));
    hd_status status = blocks ? HD_OK : s->cx->error.status;
    for (int64_t at = 0; at < bytes && !status; at += step) {
        const int64_t count = hd_min(bytes - at, step) / format->bytes;
        status = hd_source_read(s, blocks, count * format->bytes, t->offset + at);
        if (!status)
            status =
                dequantize(s->cx, count, (piece){format, blocks, y + at / format->bytes * format->elements});
    }
    hd_free(s->cx->account, blocks);
    return status;
}

/* Once they are numbers, the blocks are not needed again: they would be held twice. */
static hd_status mapped_blocks(hd_ctx *cx, hd_mapping *m, const hd_gguf_tensor *t, float *y) {
    const hd_block_format *format = t->type.blocks;
    const uint8_t *blocks = (const uint8_t *)hd_mapping_bytes(m) + t->offset;
    const int64_t bytes = hd_gguf_bytes(t);
    const hd_status status = dequantize(cx, bytes / format->bytes, (piece){format, blocks, y});
    hd_mapping_let_go(m, (size_t)t->offset, (size_t)bytes);
    return status;
}

static hd_status check_read(hd_source *s, const hd_gguf_tensor *t) {
    if (t->type.is_read) return hd_gguf_check_tensor(s, t);
    if (t->type.name) return bad_tensor(s, t, "its type %s cannot be read here", t->type.name);
    return bad_tensor(s, t, "its type is not known: number %lu", (unsigned long)t->type.number);
}

static hd_status fill(hd_source *s, hd_mapping *m, const hd_gguf_tensor *t, hd_tensor *y) {
    if (s->cx->skipping) return HD_OK;
    if (!t->type.blocks) return read_plain(s, m, t, hd_data(y));
    return m ? mapped_blocks(s->cx, m, t, hd_data(y)) : read_blocks(s, t, hd_data(y));
}

hd_tensor *hd_gguf_tensor_read(hd_source *s, hd_mapping *m, const hd_gguf_tensor *t) {
    if (check_read(s, t)) return NULL;
    if (m && !t->type.blocks && hd_mapped_fits(t->type.dtype, t->offset) && hd_gguf_bytes(t) > 0)
        return hd_mapped_tensor(s->cx, m, t->offset, t->type.dtype, t->ndim, t->shape);
    hd_tensor *y = hd_tensor_new(s->cx, t->type.dtype, t->ndim, t->shape);
    if (!y || !fill(s, m, t, y)) return y;
    hd_release(y);
    return NULL;
}

hd_status hd_gguf_tensor_into(hd_source *s, hd_mapping *m, const hd_gguf_tensor *t, hd_tensor *y) {
    hd_status status = check_read(s, t);
    if (status) return status;
    char shape[HD_SHAPE_TEXT];
    if (y->dtype != t->type.dtype || !hd_is_contiguous(y) || hd_numel(y) != element_count(t))
        return hd_fail(s->cx, HD_EARG, "into: expected a contiguous %s tensor of %lld elements, got %s %s",
                       hd_dtype_name(t->type.dtype), (long long)element_count(t),
                       hd_dtype_name((hd_dtype)y->dtype), hd_tensor_shape_text(y, shape));
    return fill(s, m, t, y);
}
