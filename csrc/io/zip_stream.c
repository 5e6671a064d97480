/* zip_stream.c: the bytes of a member, inflated as they are asked for. */
#include "io/zip.h"

#ifdef HEED_HAVE_ZLIB

#include <string.h>

#include <zlib.h>

#include "base/parallel.h"
#include "io/zip_bytes.h"

#define BUFFER (1 << 16)
#define AT_ONCE (1 << 24) /* and then look for an interrupt; zlib counts in 32 bits */

struct hd_zip_stream {
    hd_zip *zip;
    const hd_zip_member *member;
    int64_t at, left; /* where the next stored byte is, and how many there are */
    uint32_t crc;     /* of what was read */
    bool inflates, ended;
    z_stream z;
    uint8_t buffer[BUFFER];
};

static hd_status bad(const hd_zip_stream *s, const char *what) {
    char text[HD_PRINTABLE];
    return hd_source_bad(&s->zip->source, "%s: %s", hd_printable(text, s->member->name), what);
}

static void *allocate(void *cx, unsigned count, unsigned size) {
    return hd_alloc(cx, (size_t)count * size);
}
static void release(void *cx, void *block) {
    hd_free(((hd_ctx *)cx)->account, block);
}

/* Behind the local header, whose name and extra field may be other ones than the directory's. */
static hd_status find_data(hd_zip_stream *s) {
    uint8_t header[HD_ZIP_LOCAL_SIZE];
    const hd_source *source = &s->zip->source;
    hd_status status = hd_source_read(&s->zip->source, header, sizeof header, s->member->header);
    if (status) return status;
    if (hd_zip_32(header) != HD_ZIP_LOCAL) return bad(s, "has no header");
    s->at = s->member->header + HD_ZIP_LOCAL_SIZE + hd_zip_16(header + 26) + hd_zip_16(header + 28);
    s->left = s->member->stored_size;
    return s->at > source->size - s->left ? bad(s, "is cut short") : HD_OK;
}

static hd_status begin(hd_zip_stream *s) {
    hd_ctx *cx = s->zip->source.cx;
    hd_status status = find_data(s);
    if (status || !s->member->deflated) return status;
    s->z = (z_stream){.zalloc = allocate, .zfree = release, .opaque = cx};
    if (inflateInit2(&s->z, -MAX_WBITS) != Z_OK) return hd_fail(cx, HD_ENOMEM, "out of memory for zlib");
    s->inflates = true;
    return HD_OK;
}

hd_zip_stream *hd_zip_stream_open(hd_zip *zip, const hd_zip_member *member) {
    hd_zip_stream *s = hd_alloc(zip->source.cx, sizeof *s);
    if (!s) return NULL;
    memset(s, 0, offsetof(hd_zip_stream, buffer));
    s->zip = zip, s->member = member;
    if (!begin(s)) return s;
    hd_zip_stream_close(s);
    return NULL;
}

void hd_zip_stream_close(hd_zip_stream *s) {
    if (!s) return;
    if (s->inflates) inflateEnd(&s->z);
    hd_free(s->zip->source.cx->account, s);
}

/* The next `count` bytes as they are stored. */
static hd_status read_stored(hd_zip_stream *s, void *into, int64_t count) {
    if (count > s->left) return bad(s, "ends early");
    hd_status status = hd_source_read(&s->zip->source, into, count, s->at);
    s->at += count;
    s->left -= count;
    return status;
}

static hd_status refill(hd_zip_stream *s) {
    const int64_t count = s->left < BUFFER ? s->left : BUFFER;
    s->z.next_in = s->buffer;
    s->z.avail_in = (unsigned)count;
    return read_stored(s, s->buffer, count);
}

static hd_status inflate_some(hd_zip_stream *s, uint8_t *into, unsigned count) {
    s->z.next_out = into;
    s->z.avail_out = count;
    while (s->z.avail_out > 0) {
        hd_status status = s->z.avail_in == 0 && s->left > 0 ? refill(s) : HD_OK;
        if (status) return status;
        if (s->ended || (s->z.avail_in == 0 && s->left == 0)) return bad(s, "ends early");
        const int result = inflate(&s->z, Z_NO_FLUSH);
        s->ended = result == Z_STREAM_END;
        if (result == Z_MEM_ERROR) return hd_fail(s->zip->source.cx, HD_ENOMEM, "out of memory for zlib");
        if (result != Z_OK && !s->ended && result != Z_BUF_ERROR)
            return bad(s, "is damaged: it does not inflate");
    }
    return HD_OK;
}

hd_status hd_zip_stream_read(hd_zip_stream *s, void *into, int64_t count) {
    uint8_t *to = into;
    hd_status status = HD_OK;
    for (int64_t rest = count; rest > 0 && !status;) {
        const int64_t some = rest < AT_ONCE ? rest : AT_ONCE;
        status = hd_check_cancel(s->zip->source.cx, 0);
        if (!status) status = s->inflates ? inflate_some(s, to, (unsigned)some) : read_stored(s, to, some);
        if (!status) s->crc = hd_zip_crc(s->crc, to, (size_t)some);
        to += some, rest -= some;
    }
    return status;
}

hd_status hd_zip_stream_check(const hd_zip_stream *s) {
    return s->crc == s->member->crc ? HD_OK : bad(s, "is damaged: its checksum is another one");
}

uint32_t hd_zip_crc(uint32_t crc, const void *bytes, size_t count) {
    return (uint32_t)crc32_z(crc, bytes, count);
}

const char *hd_zlib_version(void) {
    return zlibVersion();
}

#else

hd_zip_stream *hd_zip_stream_open(hd_zip *zip, const hd_zip_member *member) {
    (void)member;
    hd_source_bad(&zip->source, HD_ZIP_WITHOUT);
    return NULL;
}

void hd_zip_stream_close(hd_zip_stream *stream) {
    (void)stream;
}

hd_status hd_zip_stream_read(hd_zip_stream *stream, void *into, int64_t count) {
    (void)stream, (void)into, (void)count;
    return HD_EIO;
}

hd_status hd_zip_stream_check(const hd_zip_stream *stream) {
    (void)stream;
    return HD_EIO;
}

uint32_t hd_zip_crc(uint32_t crc, const void *bytes, size_t count) {
    (void)bytes, (void)count;
    return crc;
}

const char *hd_zlib_version(void) {
    return "none";
}

#endif
