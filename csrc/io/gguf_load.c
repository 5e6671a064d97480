#include <stdlib.h>
#include <string.h>

#include "io/gguf.h"

#define FIRST_READ (1 << 20)
#define DEEPEST_ARRAY 4

void hd_gguf_free(hd_account *account, hd_gguf *file) {
    hd_free(account, file->header);
    hd_free(account, file->items);
    hd_free(account, file->tensors);
    *file = (hd_gguf){0};
}

/* ---- values -------------------------------------------------------------------------------- */

static const int sizes[HD_GGUF_KINDS] = {
    [HD_GGUF_U8] = 1,  [HD_GGUF_I8] = 1,  [HD_GGUF_U16] = 2, [HD_GGUF_I16] = 2,
    [HD_GGUF_U32] = 4, [HD_GGUF_I32] = 4, [HD_GGUF_F32] = 4, [HD_GGUF_BOOL] = 1,
    [HD_GGUF_U64] = 8, [HD_GGUF_I64] = 8, [HD_GGUF_F64] = 8};

static uint64_t little(const char *at, int size) {
    uint64_t value = 0;
    for (int i = 0; i < size; i++) value |= (uint64_t)(unsigned char)at[i] << 8 * i;
    return value;
}

static double float_at(const char *at) {
    const uint32_t bits = (uint32_t)little(at, 4);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double double_at(const char *at) {
    const uint64_t bits = little(at, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Where an array ends is not looked for: its reader comes to it. */
hd_gguf_value hd_gguf_value_at(hd_gguf_kind kind, const char *at) {
    hd_gguf_value v = {.kind = kind};
    if (kind == HD_GGUF_STRING) {
        v.text = (hd_gguf_text){at + 8, (int64_t)little(at, 8)};
        v.next = at + 8 + v.text.size;
        return v;
    }
    if (kind == HD_GGUF_ARRAY) {
        v.array.kind = (hd_gguf_kind)little(at, 4);
        v.array.count = (int64_t)little(at + 4, 8);
        v.array.values = at + 12;
        v.next = NULL;
        return v;
    }
    v.next = at + sizes[kind];
    const uint64_t bits = little(at, sizes[kind]);
    v.is_float = kind == HD_GGUF_F32 || kind == HD_GGUF_F64 || (kind == HD_GGUF_U64 && bits >> 63);
    switch (kind) {
    case HD_GGUF_I8: v.i = (int8_t)bits; break;
    case HD_GGUF_I16: v.i = (int16_t)bits; break;
    case HD_GGUF_I32: v.i = (int32_t)bits; break;
    case HD_GGUF_F32: v.f = float_at(at); break;
    case HD_GGUF_F64: v.f = double_at(at); break;
    case HD_GGUF_BOOL: v.i = bits != 0; break;
    case HD_GGUF_U64:
        if (v.is_float)
            v.f = (double)bits;
        else
            v.i = (int64_t)bits;
        break;
    default: v.i = (int64_t)bits;
    }
    return v;
}

/* ---- reading, with every length checked ---------------------------------------------------- */

/* The part of the file that was read. `short_of` is set when more of it is needed. */
typedef struct hd_gguf_reader {
    hd_source *source;
    const char *at, *end;
    bool short_of;
} hd_gguf_reader;

static bool has(hd_gguf_reader *r, uint64_t size) {
    if (size <= (uint64_t)(r->end - r->at)) return true;
    r->short_of = true;
    return false;
}

static uint64_t take(hd_gguf_reader *r, int size) {
    if (!has(r, (uint64_t)size)) return 0;
    const uint64_t value = little(r->at, size);
    r->at += size;
    return value;
}

static hd_gguf_text take_text(hd_gguf_reader *r) {
    hd_gguf_text text = {r->at, 0};
    const uint64_t size = take(r, 8);
    if (r->short_of || !has(r, size)) return text;
    text = (hd_gguf_text){r->at, (int64_t)size};
    r->at += size;
    return text;
}

static hd_status bad(hd_gguf_reader *r, const char *what, uint64_t value) {
    return hd_source_bad(r->source, "GGUF: expected %s, got %llu", what, (unsigned long long)value);
}

static hd_status pass_values(hd_gguf_reader *r, uint64_t kind, uint64_t count, int depth) {
    if (kind >= HD_GGUF_KINDS) return bad(r, "a kind of metadata 0..12", kind);
    if (sizes[kind]) {
        if (count > UINT64_MAX / 8 || !has(r, count * (uint64_t)sizes[kind])) r->short_of = true;
        if (!r->short_of) r->at += count * (uint64_t)sizes[kind];
        return HD_OK;
    }
    if (kind == HD_GGUF_ARRAY && depth == 0)
        return hd_source_bad(r->source, "GGUF: expected arrays in arrays at most %d deep, got more",
                             DEEPEST_ARRAY);
    hd_status status = HD_OK;
    for (uint64_t i = 0; i < count && !status && !r->short_of; i++) {
        if (kind == HD_GGUF_STRING) {
            take_text(r);
            continue;
        }
        const uint64_t inner = take(r, 4), inner_count = take(r, 8);
        if (!r->short_of) status = pass_values(r, inner, inner_count, depth - 1);
    }
    return status;
}

static hd_status read_item(hd_gguf_reader *r, hd_gguf_item *item) {
    item->name = take_text(r);
    const uint64_t kind = take(r, 4);
    item->value = r->at;
    if (r->short_of) return HD_OK;
    item->kind = (hd_gguf_kind)kind;
    return pass_values(r, kind, 1, DEEPEST_ARRAY);
}

static hd_status read_tensor(hd_gguf_reader *r, hd_gguf_tensor *t) {
    t->name = take_text(r);
    const uint64_t ndim = take(r, 4);
    if (r->short_of) return HD_OK;
    if (ndim > HD_GGUF_DIMS) return bad(r, "at most 4 dimensions", ndim);
    t->ndim = (int)ndim;
    int64_t count = 1;
    for (int i = t->ndim - 1; i >= 0; i--) {
        const uint64_t size = take(r, 8);
        if (size > INT64_MAX || !hd_mul_fits(count, (int64_t)size, &count))
            return bad(r, "fewer elements", size);
        t->shape[i] = (int64_t)size;
    }
    t->type = hd_gguf_type_numbered((uint32_t)take(r, 4));
    const uint64_t offset = take(r, 8);
    if (offset > (uint64_t)r->source->size) return bad(r, "an offset in the file", offset);
    t->offset = (int64_t)offset;
    return HD_OK;
}

/* At least so many bytes each has: more of them than the file could hold are none. */
#define LEAST_ITEM 13
#define LEAST_TENSOR 24

static hd_status read_counts(hd_gguf_reader *r, hd_gguf *file) {
    if (!has(r, 24) || memcmp(r->at, "GGUF", 4) != 0) return hd_source_bad(r->source, "expected a GGUF file");
    r->at += 4;
    file->version = (uint32_t)take(r, 4);
    if (file->version && file->version << 16 == 0)
        return hd_source_bad(r->source, "GGUF: expected little-endian numbers, got big-endian");
    if (file->version < 2 || file->version > 3) return bad(r, "version 2 or 3", file->version);
    const uint64_t tensors = take(r, 8), items = take(r, 8), most = (uint64_t)r->source->size;
    if (tensors > most / LEAST_TENSOR) return bad(r, "fewer tensors", tensors);
    if (items > most / LEAST_ITEM) return bad(r, "fewer metadata", items);
    file->tensor_count = (int64_t)tensors;
    file->item_count = (int64_t)items;
    return HD_OK;
}

/* Tensors' offsets are counted from the data. */
static hd_status place_data(hd_gguf_reader *r, hd_gguf *file) {
    uint64_t alignment = 32;
    for (int64_t i = 0; i < file->item_count; i++) {
        const hd_gguf_item *item = &file->items[i];
        if (item->name.size != 17 || memcmp(item->name.bytes, "general.alignment", 17) != 0) continue;
        if (item->kind != HD_GGUF_U32) return bad(r, "general.alignment of kind 4 (u32)", item->kind);
        alignment = little(item->value, 4);
    }
    if (alignment == 0 || alignment > 1 << 20 || (alignment & (alignment - 1)))
        return bad(r, "an alignment", alignment);
    file->header_size = r->at - file->header;
    const int64_t data =
        (file->header_size + (int64_t)alignment - 1) / (int64_t)alignment * (int64_t)alignment;
    for (int64_t i = 0; i < file->tensor_count; i++) file->tensors[i].offset += data;
    return HD_OK;
}

/* ---- what was read, as a whole ------------------------------------------------------------------- */

static int by_text(const void *a, const void *b) {
    const hd_gguf_text *x = *(const hd_gguf_text *const *)a, *y = *(const hd_gguf_text *const *)b;
    const int order = memcmp(x->bytes, y->bytes, (size_t)(x->size < y->size ? x->size : y->size));
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

/* The names of `count` records of `stride` bytes, which begin with them. */
static hd_status check_names_differ(hd_gguf_reader *r, const char *what, const void *records, int64_t count,
                                    size_t stride) {
    hd_ctx *cx = r->source->cx;
    const hd_gguf_text **names = hd_alloc(cx, sizeof *names * (size_t)count);
    if (!names) return cx->error.status;
    for (int64_t i = 0; i < count; i++)
        names[i] = (const hd_gguf_text *)((const char *)records + (size_t)i * stride);
    qsort(names, (size_t)count, sizeof *names, by_text);
    hd_status status = HD_OK;
    char text[HD_PRINTABLE];
    for (int64_t i = 1; i < count && !status; i++)
        if (by_text(&names[i - 1], &names[i]) == 0)
            status = hd_source_bad(r->source, "GGUF: %s \"%s\" is given twice", what,
                                   hd_gguf_printable(text, *names[i]));
    hd_free(cx->account, names);
    return status;
}

static hd_status check_whole(hd_gguf_reader *r, hd_gguf *file) {
    hd_status status = place_data(r, file);
    if (!status)
        status = check_names_differ(r, "metadata", file->items, file->item_count, sizeof *file->items);
    if (!status)
        status = check_names_differ(r, "tensor", file->tensors, file->tensor_count, sizeof *file->tensors);
    for (int64_t i = 0; i < file->tensor_count && !status; i++)
        status = hd_gguf_check_tensor(r->source, &file->tensors[i]);
    return status;
}

static hd_status parse(hd_gguf_reader *r, hd_gguf *file) {
    hd_ctx *cx = r->source->cx;
    hd_status status = read_counts(r, file);
    if (status) return status;
    file->items = hd_alloc_zeroed(cx, (size_t)file->item_count * sizeof *file->items);
    file->tensors =
        file->items ? hd_alloc_zeroed(cx, (size_t)file->tensor_count * sizeof *file->tensors) : NULL;
    if (!file->tensors) return cx->error.status;
    for (int64_t i = 0; i < file->item_count && !status && !r->short_of; i++)
        status = read_item(r, &file->items[i]);
    for (int64_t i = 0; i < file->tensor_count && !status && !r->short_of; i++)
        status = read_tensor(r, &file->tensors[i]);
    return status || r->short_of ? status : check_whole(r, file);
}

/* The header's size is not told: so much of the file is read, then twice as much. */
hd_status hd_gguf_read(hd_source *s, hd_gguf *file) {
    hd_account *account = s->cx->account;
    for (int64_t size = FIRST_READ;; size *= 2) {
        if (size > s->size) size = s->size;
        *file = (hd_gguf){.header = hd_alloc(s->cx, (size_t)size)};
        if (!file->header) return s->cx->error.status;
        hd_gguf_reader r = {.source = s, .at = file->header, .end = file->header + size};
        hd_status status = hd_source_read(s, file->header, size, 0);
        if (!status) status = parse(&r, file);
        if (!status && !r.short_of) return HD_OK;
        if (!status && size == s->size) status = hd_source_bad(s, "GGUF: the file ended early");
        hd_gguf_free(account, file);
        if (status) return status;
    }
}
