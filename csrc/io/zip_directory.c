/* zip_directory.c: finds and reads the directory of an archive. */
#include <string.h>

#include "base/utf8.h"
#include "io/zip.h"
#include "io/zip_bytes.h"

/* The end may have a comment of up to 65535 bytes behind it. */
#define MAX_TAIL (HD_ZIP_END_SIZE + 65535)
#define MAX_DIRECTORY (64 << 20)
/* Deflate makes one byte of at most 1032. */
#define MAX_RATIO 1032

#define bad(z, format, ...) hd_source_bad(&(z)->source, format, ##__VA_ARGS__)

/* ---- where the directory is */

typedef struct place {
    uint64_t count, size, offset;
    int64_t end; /* what comes next in the file */
} place;

static hd_status read_zip64_end(hd_zip *z, int64_t end, place *p) {
    uint8_t locator[HD_ZIP64_LOCATOR_SIZE], bytes[HD_ZIP64_END_SIZE];
    const int64_t at = end - HD_ZIP64_LOCATOR_SIZE;
    if (at < HD_ZIP64_END_SIZE) return bad(z, "not a zip archive, or cut short: its zip64 end is missing");
    hd_status status = hd_source_read(&z->source, locator, sizeof locator, at);
    if (status) return status;
    if (hd_zip_32(locator) != HD_ZIP64_LOCATOR) return bad(z, "its zip64 end is missing");
    const uint64_t offset = hd_zip_64(locator + 8);
    if (offset > (uint64_t)(at - HD_ZIP64_END_SIZE)) return bad(z, "its zip64 end is outside of the file");
    status = hd_source_read(&z->source, bytes, sizeof bytes, (int64_t)offset);
    if (status) return status;
    if (hd_zip_32(bytes) != HD_ZIP64_END) return bad(z, "its zip64 end is missing");
    if (hd_zip_32(bytes + 16) || hd_zip_32(bytes + 20))
        return bad(z, "is one of several parts of an archive");
    *p = (place){hd_zip_64(bytes + 32), hd_zip_64(bytes + 40), hd_zip_64(bytes + 48), (int64_t)offset};
    return HD_OK;
}

/* The end is the last of its signatures behind which there is as much as its comment has. */
static const uint8_t *find_end(const uint8_t *tail, int64_t size) {
    for (int64_t i = size - HD_ZIP_END_SIZE; i >= 0; i--)
        if (hd_zip_32(tail + i) == HD_ZIP_END && hd_zip_16(tail + i + 20) == size - i - HD_ZIP_END_SIZE)
            return tail + i;
    return NULL;
}

static hd_status read_end(hd_zip *z, const uint8_t *tail, int64_t size, place *p) {
    const uint8_t *end = find_end(tail, size);
    if (!end) return bad(z, "not a zip archive, or cut short: it does not end as one");
    const int64_t at = z->source.size - size + (end - tail);
    *p = (place){hd_zip_16(end + 10), hd_zip_32(end + 12), hd_zip_32(end + 16), at};
    if (p->count == HD_ZIP_ELSEWHERE_16 || p->size == HD_ZIP_ELSEWHERE_32 || p->offset == HD_ZIP_ELSEWHERE_32)
        return read_zip64_end(z, at, p);
    if (hd_zip_16(end + 4) || hd_zip_16(end + 6)) return bad(z, "is one of several parts of an archive");
    return HD_OK;
}

static hd_status find_directory(hd_zip *z, place *p) {
    const int64_t size = z->source.size < MAX_TAIL ? z->source.size : MAX_TAIL;
    uint8_t *tail = hd_alloc(z->source.cx, (size_t)size + 1);
    if (!tail) return z->source.cx->error.status;
    hd_status status = hd_source_read(&z->source, tail, size, z->source.size - size);
    if (!status) status = read_end(z, tail, size, p);
    hd_free(z->source.cx->account, tail);
    if (status) return status;
    if (p->offset > (uint64_t)p->end || p->size > (uint64_t)p->end - p->offset)
        return bad(z, "its directory is outside of the file");
    if (p->size > MAX_DIRECTORY)
        return bad(z, "directory: expected at most %d bytes, it has %llu", MAX_DIRECTORY,
                   (unsigned long long)p->size);
    if (p->count > p->size / HD_ZIP_ENTRY_SIZE)
        return bad(z, "directory: %llu members do not fit into its %llu bytes", (unsigned long long)p->count,
                   (unsigned long long)p->size);
    return HD_OK;
}

/* ---- one entry */

typedef struct entry {
    const uint8_t *at;
    uint32_t name, extra, comment; /* sizes of what follows the header */
    uint64_t size, stored_size, header;
} entry;

/* The numbers that did not fit, each where it is missing, in this order. */
static hd_status read_zip64_extra(hd_zip *z, entry *e) {
    uint64_t *const numbers[] = {&e->size, &e->stored_size, &e->header};
    const uint8_t *at = e->at + HD_ZIP_ENTRY_SIZE + e->name, *end = at + e->extra;
    while (end - at >= 4 && hd_zip_16(at) != HD_ZIP64_EXTRA) {
        if (hd_zip_16(at + 2) > (uint32_t)(end - at - 4))
            return bad(z, "directory: an extra field is cut short");
        at += 4 + hd_zip_16(at + 2);
    }
    const uint8_t *field = end - at >= 4 ? at + 4 : end;
    const uint8_t *last =
        end - at >= 4 && hd_zip_16(at + 2) <= end - field ? field + hd_zip_16(at + 2) : field;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (*numbers[i] != HD_ZIP_ELSEWHERE_32) continue;
        if (last - field < 8) return bad(z, "directory: a zip64 size or offset is missing");
        *numbers[i] = hd_zip_64(field);
        field += 8;
    }
    return HD_OK;
}

/* The name goes one byte to the front, over the end of the header, so that a zero fits behind it. */
static hd_status read_name(hd_zip *z, const entry *e, hd_zip_member *m) {
    char *name = (char *)(e->at + HD_ZIP_ENTRY_SIZE - 1);
    if (memchr(name + 1, 0, e->name)) return bad(z, "directory: a name holds a zero byte");
    memmove(name, name + 1, e->name);
    name[e->name] = 0;
    for (const unsigned char *at = (const unsigned char *)name; *at;) {
        int length = hd_utf8_length(at);
        if (!length)
            return bad(z, "directory: a name is not UTF-8: \"%s\"",
                       hd_printable((char[HD_PRINTABLE]){0}, name));
        at += length;
    }
    m->name = name;
    return HD_OK;
}

static hd_status check_member(hd_zip *z, const entry *e, const hd_zip_member *m, uint32_t flags,
                              uint32_t method) {
    char text[HD_PRINTABLE];
    hd_printable(text, m->name);
    if (flags & HD_ZIP_ENCRYPTED) return bad(z, "%s: is encrypted", text);
    if (method != HD_ZIP_STORED && method != HD_ZIP_DEFLATED)
        return bad(z, "%s: expected a member that is stored or deflated, got method %u", text, method);
    const uint64_t file = (uint64_t)z->source.size;
    if (e->stored_size > file || e->header > file - HD_ZIP_LOCAL_SIZE)
        return bad(z, "%s: is outside of the file", text);
    if (m->deflated ? e->size / MAX_RATIO > e->stored_size : e->size != e->stored_size)
        return bad(z, "%s: claims %llu bytes, the file has %llu for it", text, (unsigned long long)e->size,
                   (unsigned long long)e->stored_size);
    return HD_OK;
}

static hd_status read_entry(hd_zip *z, const uint8_t *end, entry *e, hd_zip_member *m) {
    const uint8_t *at = e->at;
    if (end - at < HD_ZIP_ENTRY_SIZE || hd_zip_32(at) != HD_ZIP_ENTRY)
        return bad(z, "directory: expected a member's header");
    e->name = hd_zip_16(at + 28), e->extra = hd_zip_16(at + 30), e->comment = hd_zip_16(at + 32);
    if (e->name + e->extra + e->comment > end - at - HD_ZIP_ENTRY_SIZE)
        return bad(z, "directory: a member's header is cut short");
    e->stored_size = hd_zip_32(at + 20), e->size = hd_zip_32(at + 24), e->header = hd_zip_32(at + 42);
    const uint32_t flags = hd_zip_16(at + 8), method = hd_zip_16(at + 10);
    hd_status status = read_zip64_extra(z, e);
    *m = (hd_zip_member){.crc = hd_zip_32(at + 16), .deflated = method == HD_ZIP_DEFLATED};
    if (status || (status = read_name(z, e, m)) || (status = check_member(z, e, m, flags, method)))
        return status;
    m->stored_size = (int64_t)e->stored_size, m->size = (int64_t)e->size, m->header = (int64_t)e->header;
    return HD_OK;
}

/* ---- all */

static hd_status read_directory(hd_zip *z) {
    place p = {0};
    hd_status status = find_directory(z, &p);
    if (status) return status;
    z->directory = hd_alloc(z->source.cx, (size_t)p.size + 1);
    z->members = z->directory ? hd_alloc(z->source.cx, sizeof *z->members * (size_t)(p.count + 1)) : NULL;
    if (!z->members) return z->source.cx->error.status;
    status = hd_source_read(&z->source, z->directory, (int64_t)p.size, (int64_t)p.offset);
    entry e = {.at = (const uint8_t *)z->directory};
    const uint8_t *end = e.at + p.size;
    for (; !status && z->count < (int64_t)p.count; z->count++) {
        status = read_entry(z, end, &e, &z->members[z->count]);
        e.at += HD_ZIP_ENTRY_SIZE + e.name + e.extra + e.comment;
    }
    return status;
}

hd_status hd_zip_open(hd_ctx *cx, hd_zip *zip, const char *path) {
    *zip = (hd_zip){.source.fd = -1};
    hd_status status = hd_source_open(cx, &zip->source, path);
    if (status) return status;
    if (!strcmp(hd_zlib_version(), "none"))
        status = bad(zip, HD_ZIP_WITHOUT);
    else
        status = read_directory(zip);
    if (status) hd_zip_close(zip);
    return status;
}

void hd_zip_close(hd_zip *zip) {
    if (!zip->source.cx) return;
    hd_free(zip->source.cx->account, zip->members);
    hd_free(zip->source.cx->account, zip->directory);
    hd_source_close(&zip->source);
    *zip = (hd_zip){.source.fd = -1};
}
