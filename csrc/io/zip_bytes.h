/* zip_bytes.h: what the reader and the writer of archives share: signatures, sizes of headers, and numbers in
 * little-endian. */
#ifndef HD_ZIP_BYTES_H
#define HD_ZIP_BYTES_H

#include <stdint.h>

#define HD_ZIP_LOCAL 0x04034b50u
#define HD_ZIP_LOCAL_SIZE 30
#define HD_ZIP_ENTRY 0x02014b50u /* of the directory */
#define HD_ZIP_ENTRY_SIZE 46
#define HD_ZIP_END 0x06054b50u
#define HD_ZIP_END_SIZE 22
#define HD_ZIP64_END 0x06064b50u
#define HD_ZIP64_END_SIZE 56
#define HD_ZIP64_LOCATOR 0x07064b50u /* where the zip64 end is; just before the end */
#define HD_ZIP64_LOCATOR_SIZE 20
#define HD_ZIP64_EXTRA 1 /* the extra field with what did not fit */

/* Stands where the number is elsewhere. */
#define HD_ZIP_ELSEWHERE_16 0xFFFFu
#define HD_ZIP_ELSEWHERE_32 0xFFFFFFFFu

#define HD_ZIP_STORED 0
#define HD_ZIP_DEFLATED 8
#define HD_ZIP_ENCRYPTED 1    /* flag */
#define HD_ZIP_UTF8_NAME 2048 /* flag */

static inline uint64_t hd_zip_number(const uint8_t *at, int bytes) {
    uint64_t n = 0;
    for (int i = bytes - 1; i >= 0; i--) n = n << 8 | at[i];
    return n;
}
static inline uint32_t hd_zip_16(const uint8_t *at) {
    return (uint32_t)hd_zip_number(at, 2);
}
static inline uint32_t hd_zip_32(const uint8_t *at) {
    return (uint32_t)hd_zip_number(at, 4);
}
static inline uint64_t hd_zip_64(const uint8_t *at) {
    return hd_zip_number(at, 8);
}

/* Each returns where the next number goes. */
static inline uint8_t *hd_zip_put(uint8_t *to, int bytes, uint64_t n) {
    for (int i = 0; i < bytes; i++, n >>= 8) *to++ = (uint8_t)n;
    return to;
}
static inline uint8_t *hd_zip_put_16(uint8_t *to, uint64_t n) {
    return hd_zip_put(to, 2, n);
}
static inline uint8_t *hd_zip_put_32(uint8_t *to, uint64_t n) {
    return hd_zip_put(to, 4, n);
}
static inline uint8_t *hd_zip_put_64(uint8_t *to, uint64_t n) {
    return hd_zip_put(to, 8, n);
}

#endif
