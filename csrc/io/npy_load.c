#include "io/npy.h"

#include <string.h>

#include "io/npy_names.h"
#include "io/npy_stream.h"
#include "io/source.h"
#include "tensor/view.h"

/* numpy's own headers are below 300 bytes, whatever the array. */
#define MAX_HEADER (1 << 16)

typedef struct reader {
    const hd_npy_stream *from;
    char *header; /* zero-terminated; without other zeros */
    char *at;
    int64_t data_start;
    unsigned seen; /* bits: which of the entries */
    /* what the header says */
    hd_dtype dtype;
    bool big_endian, fortran_order;
    int ndim;
    int64_t shape[HD_MAX_DIMS];
} reader;

#define bad(r, format, ...) hd_fail((r)->from->cx, HD_EIO, "%s: " format, (r)->from->name, ##__VA_ARGS__)

/* ---- the header's bytes */

static hd_status next(reader *r, void *into, int64_t count) {
    return r->from->read(r->from->state, into, count);
}

/* The length of the header, in two bytes or four. */
static hd_status read_length(reader *r, int width, int64_t *length) {
    unsigned char bytes[4];
    hd_status status = next(r, bytes, width);
    *length = 0;
    for (int i = width - 1; i >= 0 && !status; i--) *length = *length << 8 | bytes[i];
    return status;
}

static hd_status read_header(reader *r) {
    unsigned char start[HD_NPY_MAGIC_SIZE + 2];
    const int64_t size = r->from->size;
    bool begins = size >= (int64_t)sizeof start + 2;
    hd_status status = begins ? next(r, start, sizeof start) : HD_OK;
    if (status) return status;
    if (!begins || memcmp(start, HD_NPY_MAGIC, HD_NPY_MAGIC_SIZE))
        return bad(r, "not an npy file: it does not begin as one");
    const unsigned char *version = start + HD_NPY_MAGIC_SIZE;
    if (version[0] < 1 || version[0] > 3 || version[1] != 0)
        return bad(r, "npy version %d.%d: expected 1.0, 2.0 or 3.0", version[0], version[1]);
    int width = version[0] == 1 ? 2 : 4;
    int64_t header_size, header_start = (int64_t)sizeof start + width;
    if (size < header_start) return bad(r, "cut short: it ends in its header");
    if ((status = read_length(r, width, &header_size))) return status;
    if (header_size > size - header_start)
        return bad(r, "not an npy file, or cut short: its header claims %lld bytes, the file has %lld",
                   (long long)header_size, (long long)size);
    if (header_size > MAX_HEADER)
        return bad(r, "header: expected at most %d bytes, it has %lld", MAX_HEADER, (long long)header_size);
    r->data_start = header_start + header_size;
    r->at = r->header = hd_alloc(r->from->cx, (size_t)header_size + 1);
    if (!r->header) return r->from->cx->error.status;
    r->header[header_size] = 0;
    status = next(r, r->header, header_size);
    if (!status && memchr(r->header, 0, (size_t)header_size)) status = bad(r, "header: holds a zero byte");
    return status;
}

/* ---- the literal */

static hd_status expected(reader *r, const char *what) {
    return bad(r, "header: expected %s at byte %lld, got \"%s\"", what, (long long)(r->at - r->header),
               hd_printable((char[HD_PRINTABLE]){0}, r->at));
}

static void skip_space(reader *r) {
    r->at += strspn(r->at, " \t\r\n");
}

/* Skips space, and the word if it comes next. */
static bool takes(reader *r, const char *word) {
    skip_space(r);
    size_t length = strlen(word);
    if (strncmp(r->at, word, length)) return false;
    r->at += length;
    return true;
}

/* A string without escapes, ended with a zero in place; NULL: HD_EIO. */
static const char *read_string(reader *r, const char *what) {
    skip_space(r);
    char quote = *r->at, *begin = r->at + 1;
    char *end = quote == '\'' || quote == '"' ? strchr(begin, quote) : NULL;
    if (!end || memchr(begin, '\\', (size_t)(end - begin))) {
        expected(r, what);
        return NULL;
    }
    *end = 0;
    r->at = end + 1;
    return begin;
}

static hd_status read_descr(reader *r) {
    const char *text = read_string(r, "a string as descr (a plain dtype)");
    if (!text) return HD_EIO;
    for (size_t i = 0; i < HD_NPY_DTYPES && *text; i++) {
        if (strcmp(text + 1, hd_npy_dtypes[i].name)) continue;
        hd_dtype dtype = hd_npy_dtypes[i].dtype;
        bool fits = *text == '<' || *text == '>' || (*text == '|' && hd_dtype_size(dtype) == 1);
        if (!fits) break;
        r->dtype = dtype;
        r->big_endian = *text == '>';
        return HD_OK;
    }
    if (!strcmp(text, "|O")) return bad(r, "holds Python objects (\"|O\"): a pickle, which is never run");
    return bad(r, "descr: expected f4, f8, f2, i8, i4, i2, i1, u4, u2, u1 or b1 behind < or >, got \"%s\"",
               hd_printable((char[HD_PRINTABLE]){0}, text));
}

static hd_status read_order(reader *r) {
    r->fortran_order = takes(r, "True");
    if (r->fortran_order || takes(r, "False")) return HD_OK;
    return expected(r, "True or False as fortran_order");
}

/* Python 2 wrote 3L for some integers. */
static hd_status read_size(reader *r, int64_t *size) {
    skip_space(r);
    if (*r->at < '0' || *r->at > '9') return expected(r, "a size in shape");
    for (*size = 0; *r->at >= '0' && *r->at <= '9'; r->at++) {
        if (*size > (INT64_MAX - 9) / 10) return bad(r, "shape: a size is too large");
        *size = *size * 10 + (*r->at - '0');
    }
    if (*r->at == 'L') r->at++;
    return HD_OK;
}

static hd_status read_shape(reader *r) {
    if (!takes(r, "(")) return expected(r, "a tuple as shape");
    while (!takes(r, ")")) {
        if (r->ndim == HD_MAX_DIMS) return bad(r, "shape: more than %d dimensions", HD_MAX_DIMS);
        hd_status status = read_size(r, &r->shape[r->ndim++]);
        if (status) return status;
        if (takes(r, ",")) continue;
        if (r->ndim == 1 || !takes(r, ")")) return expected(r, r->ndim == 1 ? "a comma" : "a comma or )");
        return HD_OK;
    }
    return HD_OK;
}

static const struct {
    const char *name;
    hd_status (*read)(reader *);
} entries[] = {{"descr", read_descr}, {"fortran_order", read_order}, {"shape", read_shape}};

#define ENTRIES (sizeof entries / sizeof *entries)

static hd_status read_entry(reader *r) {
    const char *name = read_string(r, "a name or }");
    if (!name) return HD_EIO;
    if (!takes(r, ":")) return expected(r, "a colon");
    for (size_t i = 0; i < ENTRIES; i++) {
        if (strcmp(name, entries[i].name)) continue;
        if (r->seen & 1u << i) return bad(r, "header: %s is given twice", name);
        r->seen |= 1u << i;
        return entries[i].read(r);
    }
    return bad(r, "header: expected descr, fortran_order and shape, got \"%s\"",
               hd_printable((char[HD_PRINTABLE]){0}, name));
}

static hd_status parse_header(reader *r) {
    if (!takes(r, "{")) return expected(r, "{");
    while (!takes(r, "}")) {
        hd_status status = read_entry(r);
        if (status) return status;
        if (takes(r, ",")) continue;
        if (!takes(r, "}")) return expected(r, "a comma or }");
        break;
    }
    skip_space(r);
    if (*r->at) return expected(r, "nothing behind }");
    for (size_t i = 0; i < ENTRIES; i++)
        if (!(r->seen & 1u << i)) return bad(r, "header: %s is missing", entries[i].name);
    return HD_OK;
}

/* ---- the data */

static void swap_bytes(uint8_t *bytes, int64_t count, size_t width) {
    for (; count > 0; count--, bytes += width)
        for (size_t i = 0; i < width / 2; i++) {
            uint8_t kept = bytes[i];
            bytes[i] = bytes[width - 1 - i];
            bytes[width - 1 - i] = kept;
        }
}

/* A bool of a tensor is 0 or 1, whatever byte the file has. */
static void normalise_bool(uint8_t *bytes, int64_t count) {
    for (int64_t i = 0; i < count; i++) bytes[i] = bytes[i] != 0;
}

static hd_status check_size(reader *r, int64_t *numel) {
    char text[HD_SHAPE_TEXT];
    if (hd_check_shape(r->from->cx, r->dtype, r->ndim, r->shape, numel))
        return bad(r, "shape %s is too large", hd_shape_text(r->ndim, r->shape, text));
    int64_t needed = *numel * (int64_t)hd_dtype_size(r->dtype), given = r->from->size - r->data_start;
    if (needed == given) return HD_OK;
    return bad(r, "%s %s needs %lld bytes, the file has %lld", hd_dtype_name(r->dtype),
               hd_shape_text(r->ndim, r->shape, text), (long long)needed, (long long)given);
}

/* A tensor with the dimensions in the order of memory, the slowest first. */
static hd_tensor *new_tensor(reader *r) {
    int64_t shape[HD_MAX_DIMS];
    for (int d = 0; d < r->ndim; d++) shape[d] = r->shape[r->fortran_order ? r->ndim - 1 - d : d];
    return hd_tensor_new(r->from->cx, r->dtype, r->ndim, shape);
}

static hd_tensor *turned_round(hd_ctx *cx, hd_tensor *t) {
    int64_t dims[HD_MAX_DIMS];
    for (int d = 0; d < t->ndim; d++) dims[d] = t->ndim - 1 - d;
    hd_tensor *view = hd_view_permute(cx, t, t->ndim, dims);
    hd_release(t);
    return view;
}

static hd_tensor *read_tensor(reader *r) {
    int64_t numel;
    if (check_size(r, &numel)) return NULL;
    hd_tensor *t = new_tensor(r);
    if (!t) return NULL;
    size_t width = hd_dtype_size(r->dtype);
    if (next(r, hd_data(t), numel * (int64_t)width)) {
        hd_release(t);
        return NULL;
    }
    if (r->big_endian) swap_bytes(hd_data(t), numel, width);
    if (r->dtype == HD_BOOL) normalise_bool(hd_data(t), numel);
    return r->fortran_order ? turned_round(r->from->cx, t) : t;
}

hd_tensor *hd_npy_read(const hd_npy_stream *from) {
    reader r = {.from = from};
    hd_tensor *t = read_header(&r) || parse_header(&r) ? NULL : read_tensor(&r);
    hd_free(from->cx->account, r.header);
    return t;
}

/* ---- a file of its own */

typedef struct file_stream {
    hd_source source;
    int64_t at;
} file_stream;

static hd_status read_file(void *state, void *into, int64_t count) {
    file_stream *f = state;
    hd_status status = hd_source_read(&f->source, into, count, f->at);
    f->at += count;
    return status;
}

hd_tensor *hd_npy_load(hd_ctx *cx, const char *path) {
    file_stream f = {.at = 0};
    if (hd_source_open(cx, &f.source, path)) return NULL;
    hd_npy_stream from = {cx, path, f.source.size, read_file, &f};
    hd_tensor *t = hd_npy_read(&from);
    hd_source_close(&f.source);
    return t;
}
