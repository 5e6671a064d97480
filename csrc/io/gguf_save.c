/* A file is made of a head (counts, metadata, what there is of tensors) and the data, each tensor's from a
 * multiple of the alignment on. Version 3. */
#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"
#include "base/parallel.h"
#include "base/utf8.h"
#include "io/gguf.h"
#include "io/replace.h"

/* ---- what can be written ------------------------------------------------------------------------- */

static hd_status check_name(hd_ctx *cx, const char *name) {
    const unsigned char *at = (const unsigned char *)name;
    while (*at) {
        const int length = hd_utf8_length(at);
        if (!length)
            return hd_fail(cx, HD_EARG,
                           "tensors: a name: expected UTF-8, got the byte 0x%02x at position %lld", *at,
                           (long long)(at - (const unsigned char *)name) + 1);
        at += length;
    }
    if (at - (const unsigned char *)name <= HD_GGUF_LONGEST_NAME) return HD_OK;
    return hd_fail(cx, HD_EARG, "tensors: expected names of at most %d bytes, got \"%.80s\"",
                   HD_GGUF_LONGEST_NAME, name);
}

static hd_status check_type(hd_ctx *cx, const hd_gguf_entry *e) {
    const hd_gguf_type *type = &e->type;
    const hd_tensor *t = e->tensor;
    if (t->dtype != type->dtype)
        return hd_fail(cx, HD_EARG, "tensors: \"%s\": type %s: expected a tensor of %s, got %s", e->name,
                       type->name, hd_dtype_name(type->dtype), hd_dtype_name((hd_dtype)t->dtype));
    if (!type->blocks) return HD_OK;
    if (!type->blocks->quantize)
        return hd_fail(cx, HD_EARG, "types: \"%s\": %s is read, not written", e->name, type->name);
    char shape[HD_SHAPE_TEXT];
    if (t->ndim && t->shape[t->ndim - 1] % type->blocks->elements == 0) return HD_OK;
    return hd_fail(cx, HD_EARG, "types: \"%s\": %s: expected rows of a multiple of %d elements, got %s",
                   e->name, type->name, type->blocks->elements, hd_tensor_shape_text(t, shape));
}

static hd_status check_entry(hd_ctx *cx, const hd_gguf_entry *e) {
    hd_status status = check_name(cx, e->name);
    if (status) return status;
    if (e->tensor->ndim > HD_GGUF_DIMS)
        return hd_fail(cx, HD_EARG, "tensors: \"%s\": expected at most %d dimensions, got %d", e->name,
                       HD_GGUF_DIMS, e->tensor->ndim);
    return check_type(cx, e);
}

/* ---- the head ------------------------------------------------------------------------------------ */

static char *put(char *at, uint64_t number, int size) {
    for (int i = 0; i < size; i++, number >>= 8) *at++ = (char)number;
    return at;
}

static hd_gguf_tensor described(const hd_gguf_entry *e) {
    hd_gguf_tensor t = {
        .name = {e->name, (int64_t)strlen(e->name)}, .ndim = e->tensor->ndim, .type = e->type};
    memcpy(t.shape, e->tensor->shape, sizeof *t.shape * (size_t)t.ndim);
    return t;
}

static int64_t bytes_of(const hd_gguf_entry *e) {
    const hd_gguf_tensor t = described(e);
    return hd_gguf_bytes(&t);
}

static int64_t aligned(int64_t size, int64_t alignment) {
    return (size + alignment - 1) / alignment * alignment;
}

static char *put_tensor(char *at, const hd_gguf_tensor *t) {
    at = put(at, (uint64_t)t->name.size, 8);
    memcpy(at, t->name.bytes, (size_t)t->name.size);
    at = put(at + t->name.size, (uint64_t)t->ndim, 4);
    for (int d = t->ndim - 1; d >= 0; d--) at = put(at, (uint64_t)t->shape[d], 8);
    return put(put(at, t->type.number, 4), (uint64_t)t->offset, 8);
}

/* From hd_alloc, with the padding behind it; NULL when memory runs out. */
static char *head_of(hd_ctx *cx, const hd_gguf_contents *c, int64_t *size) {
    int64_t most = 24 + (int64_t)c->metadata.size + c->alignment;
    for (int64_t i = 0; i < c->count; i++)
        most += (int64_t)strlen(c->entries[i].name) + 24 + 8 * HD_GGUF_DIMS;
    char *head = hd_alloc_zeroed(cx, (size_t)most), *at = head;
    if (!head) return NULL;
    memcpy(at, "GGUF", 4);
    at = put(at + 4, 3, 4);
    at = put(put(at, (uint64_t)c->count, 8), (uint64_t)c->item_count, 8);
    memcpy(at, c->metadata.bytes, (size_t)c->metadata.size);
    at += c->metadata.size;
    int64_t offset = 0;
    for (int64_t i = 0; i < c->count; i++) {
        hd_gguf_tensor t = described(&c->entries[i]);
        t.offset = offset;
        at = put_tensor(at, &t);
        offset += aligned(hd_gguf_bytes(&t), c->alignment);
    }
    *size = aligned(at - head, c->alignment);
    return head;
}

/* ---- the data ------------------------------------------------------------------------------------ */

enum { PIECE = 4 << 20 }; /* bytes that are quantised and written at once */

typedef struct piece {
    const hd_block_format *format;
    const float *x;
    uint8_t *blocks;
    bool lost; /* by any of the tasks */
} piece;

static void quantize_range(void *arg, int64_t first, int64_t last, int worker) {
    piece *p = arg;
    (void)worker;
    const bool whole = p->format->quantize(p->x + first * p->format->elements, last - first,
                                           p->blocks + first * p->format->bytes);
    if (!whole) __atomic_store_n(&p->lost, true, __ATOMIC_RELAXED);
}

#define GRAIN_ELEMENTS 8192

static hd_status write_blocks(hd_ctx *cx, hd_replace *file, const hd_gguf_entry *e) {
    const hd_block_format *format = e->type.blocks;
    const int64_t total = hd_numel(e->tensor) / format->elements, step = PIECE / format->bytes;
    piece p = {.format = format, .x = hd_data(e->tensor)};
    p.blocks = hd_alloc(cx, (size_t)(hd_min(total, step) * format->bytes));
    hd_status status = p.blocks ? HD_OK : cx->error.status;
    for (int64_t at = 0; at < total && !status; at += step, p.x += step * format->elements) {
        const int64_t count = hd_min(total - at, step);
        status = hd_parallel_ranges(cx, count, GRAIN_ELEMENTS / format->elements, quantize_range, &p);
        if (!status && p.lost)
            status = hd_fail(cx, HD_EARG, "tensors: \"%s\": expected finite numbers that %s can hold",
                             e->name, format->name);
        if (!status) status = hd_replace_write(cx, file, p.blocks, (size_t)(count * format->bytes));
    }
    hd_free(cx->account, p.blocks);
    return status;
}

static hd_status write_padding(hd_ctx *cx, hd_replace *file, int64_t count) {
    static const char zeros[4096];
    hd_status status = HD_OK;
    for (; count > 0 && !status; count -= (int64_t)sizeof zeros)
        status = hd_replace_write(cx, file, zeros, (size_t)hd_min(count, (int64_t)sizeof zeros));
    return status;
}

static hd_status write_entry(hd_ctx *cx, hd_replace *file, const hd_gguf_entry *e, int64_t alignment) {
    const int64_t bytes = bytes_of(e);
    hd_status status = e->type.blocks ? write_blocks(cx, file, e)
                                      : hd_replace_write(cx, file, hd_data(e->tensor), (size_t)bytes);
    return status ? status : write_padding(cx, file, aligned(bytes, alignment) - bytes);
}

hd_status hd_gguf_save(hd_ctx *cx, const char *path, const hd_gguf_contents *c) {
    hd_status status = HD_OK;
    for (int64_t i = 0; i < c->count && !status; i++) status = check_entry(cx, &c->entries[i]);
    if (status) return status;
    int64_t size;
    char *head = head_of(cx, c, &size);
    if (!head) return cx->error.status;
    hd_replace file;
    status = hd_replace_begin(cx, &file, path);
    if (!status) {
        status = hd_replace_write(cx, &file, head, (size_t)size);
        for (int64_t i = 0; i < c->count && !status; i++)
            status = write_entry(cx, &file, &c->entries[i], c->alignment);
        if (status)
            hd_replace_abort(&file);
        else
            status = hd_replace_commit(cx, &file);
    }
    hd_free(cx->account, head);
    return status;
}
