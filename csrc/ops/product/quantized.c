/* quantized.c: quantised weights as things: made, joined, taken apart, dequantised. */
#include "ops/product/quantized_weight.h"

#include <stdio.h>
#include <string.h>

#include "base/parallel.h"

/* ---- blocks ------------------------------------------------------------------------------------------ */

static void release_blocks(hd_blocks *b) {
    if (--b->refs > 0) return;
    hd_account *account = b->account;
    if (b->owner_kind) b->owner_kind->release(b->owner, (void *)b->blocks, b->row_bytes * (size_t)b->rows);
    hd_free(account, b->own);
    hd_free(account, b->panels);
    hd_free(account, b);
    hd_account_release(account);
}

static hd_blocks *blocks_new(hd_ctx *cx, const hd_block_format *format, int64_t rows, int64_t in) {
    hd_blocks *b = hd_alloc_zeroed(cx, sizeof *b);
    if (!b) return NULL;
    b->refs = 1;
    b->account = cx->account;
    hd_account_retain(b->account);
    b->format = format;
    hd_panel_kind_named(format->name, &b->kind);
    b->rows = rows, b->in = in;
    b->row_bytes = (size_t)(in / format->elements * format->bytes);
    return b;
}

bool hd_quantized_takes(const hd_block_format *format) {
    hd_panel_kind kind;
    return hd_panel_kind_named(format->name, &kind);
}

/* ---- as tensors -------------------------------------------------------------------------------------- */

static void release(void *owner, void *data, size_t bytes) {
    hd_quantized *q = owner;
    (void)data, (void)bytes;
    hd_account *account = q->account;
    for (int i = 0; i < q->count; i++) release_blocks(q->parts[i]);
    hd_free(account, q);
    hd_account_release(account);
}

const char *hd_quantized_name(const hd_quantized *q, char buffer[64]) {
    size_t length = 0;
    buffer[0] = 0;
    for (int i = 0; i < q->count; i++) {
        bool known = false;
        for (int k = 0; k < i; k++) known |= q->parts[k]->format == q->parts[i]->format;
        if (!known && length < 48)
            length += (size_t)snprintf(buffer + length, 64 - length, "%s%s", length ? ", " : "",
                                       q->parts[i]->format->name);
    }
    return buffer;
}

static hd_status has_no_elements(hd_ctx *cx, void *owner) {
    char name[64];
    return hd_fail(cx, HD_EARG, "expected a tensor of numbers, got a %s weight; its :to \"f32\" gives them",
                   hd_quantized_name(owner, name));
}

static const hd_memory_owner kind = {release, has_no_elements};

const hd_quantized *hd_quantized_of(const hd_tensor *t) {
    return t->storage->owner_kind == &kind ? t->storage->owner : NULL;
}

/* Takes over the references to parts, also on failure. */
static hd_tensor *tensor_of(hd_ctx *cx, int count, hd_blocks **parts) {
    hd_quantized *q = hd_alloc(cx, sizeof *q + (size_t)count * sizeof *q->parts);
    int64_t shape[2] = {0, parts[0]->in};
    for (int i = 0; i < count; i++) shape[0] += parts[i]->rows;
    if (!q) {
        for (int i = 0; i < count; i++) release_blocks(parts[i]);
        return NULL;
    }
    q->account = cx->account;
    hd_account_retain(q->account);
    q->count = count;
    for (int i = 0; i < count; i++) q->parts[i] = parts[i];
    static char nothing[64]; /* an address that nobody reads from */
    return hd_tensor_in(cx, HD_F32, 2, shape, nothing, &kind, q);
}

hd_tensor *hd_quantized_new(hd_ctx *cx, const hd_block_format *format, int64_t rows, int64_t in,
                            const uint8_t *blocks, const hd_memory_owner *owner_kind, void *owner) {
    hd_blocks *b = blocks_new(cx, format, rows, in);
    if (!b) {
        owner_kind->release(owner, (void *)blocks, 0);
        return NULL;
    }
    b->blocks = blocks;
    b->owner_kind = owner_kind, b->owner = owner;
    return tensor_of(cx, 1, &b);
}

hd_tensor *hd_quantized_cat(hd_ctx *cx, int count, hd_tensor *const *parts) {
    int all = 0;
    for (int i = 0; i < count; i++) all += hd_quantized_of(parts[i])->count;
    hd_blocks **blocks = hd_alloc(cx, (size_t)all * sizeof *blocks);
    if (!blocks) return NULL;
    all = 0;
    for (int i = 0; i < count; i++) {
        const hd_quantized *q = hd_quantized_of(parts[i]);
        for (int k = 0; k < q->count; k++) {
            blocks[all] = q->parts[k];
            blocks[all++]->refs++;
        }
    }
    hd_tensor *t = tensor_of(cx, all, blocks);
    hd_free(cx->account, blocks);
    return t;
}

hd_tensor *hd_quantized_rows(hd_ctx *cx, hd_tensor *t, int64_t first, int64_t count) {
    if (first == 0 && count == t->shape[0]) return hd_retain(t);
    const int64_t shape[2] = {count, t->shape[1]};
    return hd_tensor_view(cx, t, 2, shape, t->stride, t->offset + first * t->shape[1]);
}

/* ---- quantising -------------------------------------------------------------------------------------- */

typedef struct rows_pass {
    const hd_tensor *w;
    hd_blocks *b;
    const float *x;
    float *y;
    int64_t stride;
    _Atomic int failed;
} rows_pass;

static void quantize_rows(void *arg, int64_t first, int64_t last, int worker) {
    rows_pass *p = arg;
    (void)worker;
    for (int64_t i = first; i < last; i++)
        if (!p->b->format->quantize(p->x + i * p->stride, p->b->in / p->b->format->elements,
                                    p->b->own + (size_t)i * p->b->row_bytes))
            p->failed = 1;
}

static hd_status check_quantize(hd_ctx *cx, const hd_tensor *x, const hd_block_format *format) {
    char got[HD_SHAPE_TEXT];
    if (hd_require_dtype(cx, "x", x, HD_F32)) return cx->error.status;
    if (x->ndim != 2 || x->shape[0] < 1 || x->shape[1] < 1 || x->shape[1] % format->elements)
        return hd_fail(cx, HD_EARG, "x: expected [out, in], in a multiple of %d, got %s", format->elements,
                       hd_tensor_shape_text(x, got));
    return HD_OK;
}

hd_tensor *hd_quantize(hd_ctx *cx, hd_tensor *x, const hd_block_format *format) {
    if (check_quantize(cx, x, format)) return NULL;
    hd_rows in;
    hd_tensor *rows = hd_as_rows(cx, x, &in);
    hd_blocks *b = rows ? blocks_new(cx, format, x->shape[0], x->shape[1]) : NULL;
    hd_status status = b ? HD_OK : cx->error.status;
    if (b) {
        b->blocks = b->own = hd_alloc(cx, b->row_bytes * (size_t)b->rows);
        rows_pass p = {.b = b, .x = (const float *)in.data, .stride = in.stride};
        status = b->own ? hd_parallel_ranges(cx, b->rows, hd_rows_grain(b->in), quantize_rows, &p)
                        : cx->error.status;
        if (!status && p.failed)
            status =
                hd_fail(cx, HD_EARG, "x: expected numbers that are finite and that a scale of f16 can hold");
    }
    hd_release(rows);
    if (!status) return tensor_of(cx, 1, &b);
    if (b) release_blocks(b);
    return NULL;
}

/* ---- as numbers -------------------------------------------------------------------------------------- */

hd_blocks *hd_blocks_of_row(const hd_tensor *w, int64_t *row) {
    const hd_quantized *q = hd_quantized_of(w);
    int i = 0;
    *row += w->offset / w->shape[1];
    while (*row >= q->parts[i]->rows) *row -= q->parts[i++]->rows;
    return q->parts[i];
}

void hd_quantized_look_up(const hd_tensor *w, int64_t row, float *y) {
    const hd_blocks *b = hd_blocks_of_row(w, &row);
    b->format->dequantize(b->blocks + (size_t)row * b->row_bytes, b->in / b->format->elements, y);
}

static void dequantize_rows(void *arg, int64_t first, int64_t last, int worker) {
    const rows_pass *p = arg;
    (void)worker;
    for (int64_t i = first; i < last; i++) hd_quantized_look_up(p->w, i, p->y + i * p->w->shape[1]);
}

hd_status hd_quantized_check(hd_ctx *cx, const hd_tensor *w) {
    const hd_quantized *q = hd_quantized_of(w);
    for (int i = 0; i < q->count; i++) {
        const hd_blocks *b = q->parts[i];
        if (b->owner_kind && b->owner_kind->check && b->owner_kind->check(cx, b->owner))
            return cx->error.status;
    }
    return HD_OK;
}

hd_tensor *hd_dequantize(hd_ctx *cx, const hd_tensor *t) {
    if (hd_quantized_check(cx, t)) return NULL;
    hd_tensor *y = hd_tensor_new(cx, HD_F32, 2, t->shape);
    if (!y) return NULL;
    rows_pass p = {.w = t, .y = hd_data(y)};
    if (!hd_parallel_ranges(cx, t->shape[0], hd_rows_grain(t->shape[1]), dequantize_rows, &p)) return y;
    hd_release(y);
    return NULL;
}
