#include <string.h>

#include "io/zip.h"
#include "io/zip_bytes.h"

/* What is written names the version that can read it: 2.0, or 4.5 for zip64. */
#define PLAIN_VERSION 20
#define ZIP64_VERSION 45
#define MADE_ON_UNIX (3 << 8)
#define PERMISSIONS (0100600u << 16) /* a file that its owner reads and writes */
/* The same tensors give the same bytes: every member is from the first day that the format has. */
#define MIDNIGHT 0
#define FIRST_DAY 0x21

static bool fits(int64_t n) {
    return n < HD_ZIP_ELSEWHERE_32;
}
static uint64_t number_or_elsewhere(int64_t n) {
    return fits(n) ? (uint64_t)n : HD_ZIP_ELSEWHERE_32;
}

/* What local header and directory say alike: version, flags, method, time, day, crc, sizes, name. */
static uint8_t *put_common(uint8_t *to, const hd_zip_member *m, bool zip64) {
    to = hd_zip_put_16(to, zip64 ? ZIP64_VERSION : PLAIN_VERSION);
    to = hd_zip_put_16(to, HD_ZIP_UTF8_NAME);
    to = hd_zip_put_16(to, HD_ZIP_STORED);
    to = hd_zip_put_16(to, MIDNIGHT);
    to = hd_zip_put_16(to, FIRST_DAY);
    to = hd_zip_put_32(to, m->crc);
    to = hd_zip_put_32(to, number_or_elsewhere(m->size));
    to = hd_zip_put_32(to, number_or_elsewhere(m->size));
    return hd_zip_put_16(to, strlen(m->name));
}

/* The extra field: both sizes if they do not fit, the offset if that does not (in the directory alone). */
static int extra_size(const hd_zip_member *m, bool with_offset) {
    const int numbers = (fits(m->size) ? 0 : 2) + (with_offset && !fits(m->header) ? 1 : 0);
    return numbers ? 4 + 8 * numbers : 0;
}

static size_t put_extra(uint8_t *to, const hd_zip_member *m, bool with_offset) {
    const int size = extra_size(m, with_offset);
    if (!size) return 0;
    to = hd_zip_put_16(to, HD_ZIP64_EXTRA);
    to = hd_zip_put_16(to, (uint64_t)size - 4);
    if (!fits(m->size)) to = hd_zip_put_64(hd_zip_put_64(to, (uint64_t)m->size), (uint64_t)m->size);
    if (with_offset && !fits(m->header)) hd_zip_put_64(to, (uint64_t)m->header);
    return (size_t)size;
}

hd_status hd_zip_write(hd_zip_writer *w, const void *bytes, size_t count) {
    w->at += (int64_t)count;
    return hd_replace_write(w->cx, w->file, bytes, count);
}

hd_status hd_zip_begin(hd_zip_writer *w, const char *name, int64_t size, uint32_t crc) {
    hd_zip_member m = {name, crc, false, size, size, w->at};
    w->members[w->count++] = m;
    uint8_t header[HD_ZIP_LOCAL_SIZE], extra[28];
    const size_t more = put_extra(extra, &m, false);
    uint8_t *to = hd_zip_put_32(header, HD_ZIP_LOCAL);
    to = put_common(to, &m, more > 0);
    hd_zip_put_16(to, more);
    hd_status status = hd_zip_write(w, header, sizeof header);
    if (!status) status = hd_zip_write(w, name, strlen(name));
    return status ? status : hd_zip_write(w, extra, more);
}

static hd_status write_entry(hd_zip_writer *w, const hd_zip_member *m) {
    uint8_t header[HD_ZIP_ENTRY_SIZE] = {0}, extra[28];
    const size_t more = put_extra(extra, m, true);
    uint8_t *to = hd_zip_put_32(header, HD_ZIP_ENTRY);
    to = hd_zip_put_16(to, MADE_ON_UNIX | (more ? ZIP64_VERSION : PLAIN_VERSION));
    to = put_common(to, m, more > 0);
    hd_zip_put_16(to, more);
    hd_zip_put_32(header + 38, PERMISSIONS);
    hd_zip_put_32(header + 42, number_or_elsewhere(m->header));
    hd_status status = hd_zip_write(w, header, sizeof header);
    if (!status) status = hd_zip_write(w, m->name, strlen(m->name));
    return status ? status : hd_zip_write(w, extra, more);
}

/* The zip64 end and the locator, where counts or offsets do not fit into the end. */
static hd_status write_zip64_end(hd_zip_writer *w, int64_t offset, int64_t size) {
    uint8_t bytes[HD_ZIP64_END_SIZE + HD_ZIP64_LOCATOR_SIZE];
    uint8_t *to = hd_zip_put_32(bytes, HD_ZIP64_END);
    to = hd_zip_put_64(to, HD_ZIP64_END_SIZE - 12);
    to = hd_zip_put_16(to, MADE_ON_UNIX | ZIP64_VERSION);
    to = hd_zip_put_16(to, ZIP64_VERSION);
    to = hd_zip_put_64(to, 0); /* this part, the directory's */
    to = hd_zip_put_64(to, (uint64_t)w->count);
    to = hd_zip_put_64(to, (uint64_t)w->count);
    to = hd_zip_put_64(to, (uint64_t)size);
    to = hd_zip_put_64(to, (uint64_t)offset);
    to = hd_zip_put_32(to, HD_ZIP64_LOCATOR);
    to = hd_zip_put_32(to, 0);
    to = hd_zip_put_64(to, (uint64_t)w->at);
    hd_zip_put_32(to, 1);
    return hd_zip_write(w, bytes, sizeof bytes);
}

hd_status hd_zip_finish(hd_zip_writer *w) {
    const int64_t offset = w->at;
    hd_status status = HD_OK;
    for (int64_t i = 0; i < w->count && !status; i++) status = write_entry(w, &w->members[i]);
    const int64_t size = w->at - offset;
    const bool many = w->count >= HD_ZIP_ELSEWHERE_16;
    if (!status && (many || !fits(offset) || !fits(size))) status = write_zip64_end(w, offset, size);
    if (status) return status;
    uint8_t end[HD_ZIP_END_SIZE] = {0};
    hd_zip_put_32(end, HD_ZIP_END);
    hd_zip_put_16(end + 8, many ? HD_ZIP_ELSEWHERE_16 : (uint64_t)w->count);
    hd_zip_put_16(end + 10, many ? HD_ZIP_ELSEWHERE_16 : (uint64_t)w->count);
    hd_zip_put_32(end + 12, number_or_elsewhere(size));
    hd_zip_put_32(end + 16, number_or_elsewhere(offset));
    return hd_zip_write(w, end, sizeof end);
}
