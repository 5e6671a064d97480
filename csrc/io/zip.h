/* zip.h: archives: the members of one are read one after another; one of stored members is written.
 *
 * The format (PKWARE's APPNOTE.TXT): members, each behind a local header; then the directory, a header for each
 * of them; then the end, which says where the directory is. Sizes and offsets that do not fit into 32 bits stand
 * in extra fields ("zip64"), and another end before the end. All numbers are little-endian. Archives are not
 * trusted: everything is checked against the file before memory is allocated for it.
 *
 * It needs zlib, which heed may have been built without: then reading and writing are HD_EIO, and say so.
 */
#ifndef HD_ZIP_H
#define HD_ZIP_H

#include "io/replace.h"
#include "io/source.h"

typedef struct hd_zip_member {
    const char *name;
    uint32_t crc;
    bool deflated;
    int64_t stored_size, size; /* in the file; of the contents */
    int64_t header;            /* where its local header is */
} hd_zip_member;

/* ---- reading */

typedef struct hd_zip {
    hd_source source;
    int64_t count;
    hd_zip_member *members; /* in the order of the directory */
    char *directory;        /* holds the names */
} hd_zip;

/* The path is borrowed. Encrypted members, other methods than deflate, names that are no UTF-8 or hold a zero,
 * archives of several parts: HD_EIO. After a failure there is nothing to close. */
hd_status hd_zip_open(hd_ctx *cx, hd_zip *zip, const char *path);
void hd_zip_close(hd_zip *zip);

typedef struct hd_zip_stream hd_zip_stream;

/* NULL: HD_EIO or HD_ENOMEM. */
hd_zip_stream *hd_zip_stream_open(hd_zip *zip, const hd_zip_member *member);
/* The next bytes. More than the member has is HD_EIO. */
hd_status hd_zip_stream_read(hd_zip_stream *stream, void *into, int64_t count);
/* When all was read: is it what was written? */
hd_status hd_zip_stream_check(const hd_zip_stream *stream);
void hd_zip_stream_close(hd_zip_stream *stream);

/* ---- writing: begin, its bytes, and the next; then the directory */

typedef struct hd_zip_writer {
    hd_ctx *cx;
    hd_replace *file;
    int64_t at, count;
    hd_zip_member *members; /* the caller's: room for all that are begun; their names are borrowed */
} hd_zip_writer;

/* crc is that of all of its bytes (hd_zip_crc). */
hd_status hd_zip_begin(hd_zip_writer *w, const char *name, int64_t size, uint32_t crc);
hd_status hd_zip_write(hd_zip_writer *w, const void *bytes, size_t count);
hd_status hd_zip_finish(hd_zip_writer *w);
/* Of nothing: 0. */
uint32_t hd_zip_crc(uint32_t crc, const void *bytes, size_t count);

/* zlib's version, or "none". */
const char *hd_zlib_version(void);
#define HD_ZIP_WITHOUT "heed was built without zlib, which archives need"

#endif
