/* npz: archives of others are read, what is written is read; damaged and cut ones are refused and cost nothing.
 * spec/io/npz_spec.lua has numpy's own. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "../fuzz/mutate.h"
#include "../fuzz/npz_samples.h"
#include "check.h"
#include "io/npz.h"
#include "io/zip.h"

static hd_ctx *cx;
static char path[] = "/tmp/heed-npz-XXXXXX";

static const struct {
    const uint8_t *bytes;
    size_t size;
} samples[] = {
    {npz_stored, sizeof npz_stored}, {npz_deflated, sizeof npz_deflated}, {npz_zip64, sizeof npz_zip64}};
enum { SAMPLES = sizeof samples / sizeof *samples };

static void write_bytes(const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK(fwrite(bytes, 1, size, file) == size);
    CHECK(fclose(file) == 0);
}

/* Is every member what the samples have? False when one was refused; then cx has the error. */
static bool is_sample(void) {
    hd_npz *file = hd_npz_open(cx, path);
    if (!file) return false;
    bool whole = true, same = hd_npz_count(file) == 2;
    for (int64_t i = 0; i < hd_npz_count(file); i++) {
        hd_tensor *t = hd_npz_read(file, i);
        whole = whole && t != NULL;
        same = same && t && !strcmp(hd_npz_name(file, i), i ? "b" : "a") && t->ndim == (i ? 0 : 2) &&
               t->dtype == (i ? HD_BOOL : HD_F32);
        if (same && i == 0)
            for (int k = 0; k < 6; k++) same = same && ((const float *)hd_data(t))[k] == (float)k;
        hd_release(t);
    }
    hd_npz_close(file);
    CHECK(!whole || same);
    return whole;
}

static void test_samples(void) {
    for (int s = 0; s < SAMPLES; s++) {
        write_bytes(samples[s].bytes, samples[s].size);
        CHECK(is_sample());
    }
}

static void test_every_cut(void) {
    for (int s = 0; s < SAMPLES; s++)
        for (size_t cut = 0; cut < samples[s].size; cut++) {
            write_bytes(samples[s].bytes, cut);
            CHECK(!is_sample() && cx->error.status == HD_EIO);
        }
}

/* Every byte of contents and sizes counts; some of headers do not (times, versions, attributes). */
static void test_every_byte(void) {
    uint8_t bytes[1024];
    for (int s = 0; s < SAMPLES; s++) {
        size_t harmless = 0;
        for (size_t at = 0; at < samples[s].size; at++) {
            memcpy(bytes, samples[s].bytes, samples[s].size);
            bytes[at] ^= 0x10;
            write_bytes(bytes, samples[s].size);
            hd_npz *file = hd_npz_open(cx, path);
            bool fine = file != NULL;
            for (int64_t i = 0; fine && i < hd_npz_count(file); i++) {
                hd_tensor *t = hd_npz_read(file, i);
                fine = t != NULL;
                hd_release(t);
            }
            if (!fine) CHECK(cx->error.status == HD_EIO);
            hd_npz_close(file);
            harmless += fine;
        }
        CHECK(harmless < samples[s].size / 2);
    }
}

static void test_damage(void) {
    uint8_t bytes[4096];
    int64_t live = cx->account->live;
    int taken = 0;
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        uint64_t state = seed;
        const int s = (int)(seed % SAMPLES);
        memcpy(bytes, samples[s].bytes, samples[s].size);
        write_bytes(bytes, mutate(&state, bytes, samples[s].size, sizeof bytes, 0, mutate_mend_npz));
        hd_npz *file = hd_npz_open(cx, path);
        bool fine = file != NULL;
        for (int64_t i = 0; fine && i < hd_npz_count(file); i++) {
            hd_tensor *t = hd_npz_read(file, i);
            fine = t != NULL;
            hd_release(t);
        }
        if (!fine) CHECK(cx->error.status == HD_EIO && strstr(cx->error.message, path));
        taken += fine;
        hd_npz_close(file);
        CHECK(cx->account->live == live);
    }
    CHECK(taken > 50 && taken < 3000); /* harmless changes and harmful ones were both among them */
}

/* A member that claims to be larger than deflate can make of its bytes costs no memory. */
static void test_claims(void) {
    uint8_t bytes[1024];
    memcpy(bytes, npz_deflated, sizeof npz_deflated);
    uint8_t *entry = memmem(bytes, sizeof npz_deflated, "PK\1\2", 4);
    mutate_put_32(entry + 24, 0x7fffffff);
    write_bytes(bytes, sizeof npz_deflated);
    CHECK(!hd_npz_open(cx, path) && strstr(cx->error.message, "claims 2147483647 bytes"));
}

static void test_no_memory(void) {
    write_bytes(npz_deflated, sizeof npz_deflated);
    int64_t live = cx->account->live;
    for (int n = 1;; n++) {
        cx->account->fail_at = n;
        bool whole = is_sample();
        bool failed = cx->account->fail_at == 0;
        cx->account->fail_at = 0;
        CHECK(cx->account->live == live && failed == !whole);
        if (whole) break;
        CHECK(cx->error.status == HD_ENOMEM && n < 30);
    }
}

static hd_status save(int64_t count, const char *const *names, hd_dtype dtype) {
    hd_named_tensor named[4] = {{NULL, NULL}};
    for (int64_t i = 0; i < count; i++)
        named[i] = (hd_named_tensor){names[i], hd_tensor_zeros(cx, dtype, 1, (const int64_t[]){5})};
    hd_status status = hd_npz_save(cx, path, count, named);
    for (int64_t i = 0; i < count; i++) hd_release(named[i].tensor);
    return status;
}

static void test_there_and_back(void) {
    static const char *const names[] = {"z", "", "a/\xc3\xa9"};
    CHECK(save(3, names, HD_U16) == HD_OK);
    hd_npz *file = hd_npz_open(cx, path);
    CHECK(file != NULL && hd_npz_count(file) == 3);
    for (int i = 0; i < 3; i++) {
        hd_tensor *t = hd_npz_read(file, i);
        CHECK(t && t->dtype == HD_U16 && t->shape[0] == 5 && !strcmp(hd_npz_name(file, i), names[i]));
        hd_release(t);
    }
    hd_npz_close(file);
    CHECK(save(0, names, HD_U16) == HD_OK && (file = hd_npz_open(cx, path)) && hd_npz_count(file) == 0);
    hd_npz_close(file);
}

static void test_misuse_when_saving(void) {
    static const char *const twice[] = {"a", "b", "a"}, *const strange[] = {"\xff"}, *const plain[] = {"x"};
    CHECK(save(3, twice, HD_F32) == HD_EARG && strstr(cx->error.message, "two are called \"a\""));
    CHECK(save(1, strange, HD_F32) == HD_EARG && strstr(cx->error.message, "UTF-8"));
    CHECK(save(1, plain, HD_BF16) == HD_EARG && strstr(cx->error.message, "x: bf16"));
}

int main(void) {
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    cx = hd_ctx_new(1);
    CHECK(cx != NULL);
    if (!strcmp(hd_zlib_version(), "none")) {
        write_bytes(npz_stored, sizeof npz_stored);
        CHECK(!is_sample() && cx->error.status == HD_EIO && strstr(cx->error.message, HD_ZIP_WITHOUT));
        CHECK(save(0, NULL, HD_F32) == HD_EIO && strstr(cx->error.message, HD_ZIP_WITHOUT));
    } else {
        test_samples();
        test_every_cut();
        test_every_byte();
        test_damage();
        test_claims();
        test_no_memory();
        test_there_and_back();
        test_misuse_when_saving();
    }
    CHECK(cx->account->live == 0);
    hd_ctx_free(cx);
    unlink(path);
    return checks_done();
}
