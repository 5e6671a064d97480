/* Images: what is written is read; damaged, cut and hostile files are refused and cost nothing; every allocation may
 * fail. spec/image/image_spec.lua has files of other programs. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../fuzz/mutate.h"
#include "check.h"
#include "io/image.h"

static hd_ctx *cx;
static char path[] = "/tmp/heed-image-XXXXXX"; /* of files that are written as they should be */
static char memory_path[64];                   /* of those that are damaged: in memory, for there are many */
static int memory;
static const hd_image_options as_is = {0, 1 << 20};

static bool is_missing(hd_image_format format) {
    return !strcmp(format == HD_IMAGE_PNG ? hd_png_version() : hd_jpeg_version(), "none");
}

static hd_tensor *sample(int64_t height, int64_t width, int64_t channels) {
    hd_tensor *t = hd_tensor_new(cx, HD_U8, 3, (const int64_t[]){height, width, channels});
    CHECK(t != NULL);
    uint8_t *data = hd_data(t);
    for (int64_t i = 0; i < hd_numel(t); i++) data[i] = (uint8_t)(i * 3 % 251);
    return t;
}

static hd_tensor *load(const char *from) {
    int orientation = 0;
    hd_tensor *t = hd_image_load(cx, from, &as_is, &orientation);
    CHECK(orientation >= 1 && orientation <= 8);
    return t;
}

/* What write_bytes wrote; refused with this said. */
static void check_refused(hd_status status, const char *said) {
    CHECK(load(memory_path) == NULL && cx->error.status == status && strstr(cx->error.message, said));
}

static size_t read_bytes(uint8_t *bytes, size_t capacity) {
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    size_t size = fread(bytes, 1, capacity, file);
    fclose(file);
    return size;
}

static void write_bytes(const uint8_t *bytes, size_t size) {
    CHECK(ftruncate(memory, 0) == 0 && pwrite(memory, bytes, size, 0) == (ssize_t)size);
}

static void test_missing(hd_image_format format) {
    hd_tensor *t = sample(2, 3, 3);
    CHECK(hd_image_save(cx, path, t, format, 90) == HD_EIO && strstr(cx->error.message, "was built without"));
    hd_release(t);
    const uint8_t *start =
        (const uint8_t *)(format == HD_IMAGE_PNG ? "\x89PNG\r\n\x1a\n" : "\xff\xd8\xff\xe0");
    write_bytes(start, format == HD_IMAGE_PNG ? 8 : 4);
    check_refused(HD_EIO, "was built without");
}

static void test_there_and_back(hd_image_format format, int64_t channels) {
    hd_tensor *t = sample(9, 14, channels);
    CHECK(hd_image_save(cx, path, t, format, 100) == HD_OK);
    hd_tensor *again = load(path);
    CHECK(again != NULL && again->ndim == 3 && again->shape[0] == 9 && again->shape[1] == 14);
    CHECK(again->shape[2] == channels);
    const uint8_t *a = hd_data(t), *b = hd_data(again);
    if (format == HD_IMAGE_PNG) CHECK(memcmp(a, b, (size_t)hd_numel(t)) == 0);
    hd_release(t);
    hd_release(again);
}

static void test_every_cut(hd_image_format format) {
    static uint8_t bytes[8192];
    hd_tensor *t = sample(20, 20, 3);
    CHECK(hd_image_save(cx, path, t, format, 90) == HD_OK);
    hd_release(t);
    size_t size = read_bytes(bytes, sizeof bytes);
    int64_t live = cx->account->live;
    for (size_t cut = 0; cut < size; cut++) {
        write_bytes(bytes, cut);
        check_refused(HD_EIO, memory_path);
        CHECK(cx->account->live == live);
    }
}

static void test_damage(hd_image_format format, void (*mend)(uint8_t *, size_t, size_t)) {
    static uint8_t good[8192], bytes[8192];
    hd_tensor *t = sample(20, 20, 3);
    CHECK(hd_image_save(cx, path, t, format, 90) == HD_OK);
    hd_release(t);
    size_t size = read_bytes(good, sizeof good);
    int64_t live = cx->account->live;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        uint64_t state = seed;
        memcpy(bytes, good, size);
        write_bytes(bytes, mutate(&state, bytes, size, sizeof bytes, 0, mend));
        hd_tensor *loaded = load(memory_path);
        if (!loaded) CHECK(cx->error.status == HD_EIO && strstr(cx->error.message, memory_path));
        hd_release(loaded);
        CHECK(cx->account->live == live);
    }
}

/* The n-th allocation of a call fails, for every n until none does. */
static void test_no_memory(hd_image_format format) {
    hd_tensor *t = sample(20, 20, 3);
    CHECK(hd_image_save(cx, path, t, format, 90) == HD_OK);
    int64_t live = cx->account->live;
    hd_tensor *loaded = NULL;
    for (int64_t n = 1; !loaded && n < 100; n++) {
        cx->account->fail_at = n;
        int orientation;
        loaded = hd_image_load(cx, path, &(hd_image_options){1, 1 << 20}, &orientation);
        cx->account->fail_at = 0;
        if (!loaded) CHECK(cx->error.status == HD_ENOMEM);
        if (!loaded) CHECK(cx->account->live == live);
    }
    CHECK(loaded != NULL && loaded->shape[2] == 1);
    hd_release(loaded);
    hd_status status = HD_ENOMEM;
    for (int64_t n = 1; status && n < 100; n++) {
        cx->account->fail_at = n;
        status = hd_image_save(cx, path, t, format, 90);
        cx->account->fail_at = 0;
        CHECK(status == HD_OK || status == HD_ENOMEM);
        CHECK(cx->account->live == live);
    }
    CHECK(status == HD_OK);
    hd_release(t);
}

static void test_full_disk(hd_image_format format) {
    hd_tensor *t = sample(20, 20, 3);
    CHECK(hd_image_save(cx, path, t, format, 90) == HD_OK);
    struct rlimit old;
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &(struct rlimit){100, old.rlim_max}) == 0);
    CHECK(hd_image_save(cx, path, t, format, 50) == HD_EIO && strstr(cx->error.message, path));
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    hd_release(t);
    t = load(path);
    CHECK(t != NULL); /* the old file */
    hd_release(t);
}

/* ---- bombs: small files that ask for much ---------------------------------------------------- */

static void test_huge_png(void) {
    static uint8_t bytes[8192];
    hd_tensor *t = sample(1, 1, 3);
    CHECK(hd_image_save(cx, path, t, HD_IMAGE_PNG, 90) == HD_OK);
    hd_release(t);
    size_t size = read_bytes(bytes, sizeof bytes);
    memcpy(bytes + 16, "\x7f\xff\xff\xff\x7f\xff\xff\xff", 8); /* width and height */
    mutate_mend_png(bytes, size, 0);
    write_bytes(bytes, size);
    check_refused(HD_EIO, "more than max_pixels");
}

/* A progressive, gray JPEG of high * 256 + low pixels a side, of scans that hold
 * one block. */
static size_t progressive(uint8_t *bytes, int scans, uint8_t high, uint8_t low) {
    static const uint8_t table[] = {0xff, 0xc4, 0, 20, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t scan[] = {0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0, 0x7f};
    const uint8_t frame[] = {0xff, 0xc2, 0, 11, 8, high, low, high, low, 1, 1, 0x11, 0};
    uint8_t *at = bytes;
    memcpy(at, "\xff\xd8\xff\xdb\0\x43\0", 7), memset(at + 7, 1, 64), at += 71;
    memcpy(at, frame, sizeof frame), at += sizeof frame;
    memcpy(at, table, sizeof table), at += sizeof table;
    for (int i = 0; i < scans; i++) memcpy(at, scan, sizeof scan), at += sizeof scan;
    memcpy(at, "\xff\xd9", 2);
    return (size_t)(at + 2 - bytes);
}

static void test_huge_jpeg(void) {
    static uint8_t bytes[65536];
    write_bytes(bytes, progressive(bytes, 1, 0xff, 0xdc));
    check_refused(HD_EIO, "more than max_pixels");
    /* What libjpeg keeps of a progressive file counts too. */
    cx->account->limit = cx->account->live + (2 << 20);
    write_bytes(bytes, progressive(bytes, 1, 0x03, 0xff));
    check_refused(HD_ENOMEM, "");
    cx->account->limit = 0;
    write_bytes(bytes, progressive(bytes, 400, 0, 8));
    hd_tensor *t = load(memory_path);
    CHECK(t != NULL && t->shape[0] == 8 && t->shape[2] == 1);
    hd_release(t);
    write_bytes(bytes, progressive(bytes, 1000, 0, 8));
    check_refused(HD_EIO, "JPEG: more than 500 scans");
}

int main(void) {
    cx = hd_ctx_new(1);
    int fd = mkstemp(path);
    CHECK(cx != NULL && fd >= 0);
    close(fd);
    memory = memfd_create("heed", MFD_CLOEXEC);
    CHECK(memory >= 0);
    snprintf(memory_path, sizeof memory_path, "/proc/self/fd/%d", memory);
    for (int f = HD_IMAGE_PNG; f <= HD_IMAGE_JPEG; f++) {
        hd_image_format format = (hd_image_format)f;
        if (is_missing(format)) {
            test_missing(format);
            continue;
        }
        bool png = format == HD_IMAGE_PNG;
        for (int64_t channels = 1; channels <= 4; channels++)
            if (png || channels % 2) test_there_and_back(format, channels);
        test_every_cut(format);
        test_damage(format, png ? mutate_mend_png : mutate_mend_none);
        test_no_memory(format);
        test_full_disk(format);
        if (png)
            test_huge_png();
        else
            test_huge_jpeg();
    }
    CHECK(cx->account->live == 0);
    unlink(path);
    hd_ctx_free(cx);
    return checks_done();
}
