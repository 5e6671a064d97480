/* npy: what is written is read; damaged, cut and foreign files are refused and cost nothing; a failed write
 * leaves the old file. spec/io/npy_spec.lua has the headers one by one, and numpy's own files. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../fuzz/mutate.h"
#include "check.h"
#include "io/npy.h"

#define DATA 24

static hd_ctx *cx;
static char path[] = "/tmp/heed-npy-XXXXXX";

static void write_bytes(const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK(fwrite(bytes, 1, size, file) == size);
    CHECK(fclose(file) == 0);
}

static size_t read_bytes(void *bytes, size_t capacity) {
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    size_t size = fread(bytes, 1, capacity, file);
    fclose(file);
    return size;
}

static hd_status save_sample(float first) {
    hd_tensor *t = hd_tensor_zeros(cx, HD_F32, 2, (const int64_t[]){2, 3});
    CHECK(t != NULL);
    *(float *)hd_data(t) = first;
    hd_status status = hd_npy_save(cx, path, t);
    hd_release(t);
    return status;
}

static void test_there_and_back(void) {
    CHECK(save_sample(2.5f) == HD_OK);
    hd_tensor *t = hd_npy_load(cx, path);
    CHECK(t != NULL && t->dtype == HD_F32 && t->ndim == 2 && t->shape[0] == 2 && t->shape[1] == 3);
    CHECK(*(float *)hd_data(t) == 2.5f);
    hd_release(t);
}

static void test_every_cut(void) {
    uint8_t bytes[4096];
    CHECK(save_sample(1) == HD_OK);
    size_t size = read_bytes(bytes, sizeof bytes);
    CHECK((size - DATA) % 64 == 0);
    for (size_t cut = 0; cut < size; cut++) {
        write_bytes(bytes, cut);
        CHECK(hd_npy_load(cx, path) == NULL && cx->error.status == HD_EIO);
    }
}

static void test_damage(void) {
    uint8_t good[4096], bytes[4096];
    CHECK(save_sample(1) == HD_OK);
    size_t size = read_bytes(good, sizeof good);
    int64_t live = cx->account->live;
    int taken = 0;
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        uint64_t state = seed;
        memcpy(bytes, good, size);
        write_bytes(bytes, mutate(&state, bytes, size, sizeof bytes, DATA, mutate_mend_npy));
        hd_tensor *t = hd_npy_load(cx, path);
        if (!t) CHECK(cx->error.status == HD_EIO && strstr(cx->error.message, path));
        taken += t != NULL;
        hd_release(t);
        CHECK(cx->account->live == live);
    }
    CHECK(taken > 50 && taken < 3000); /* harmless changes and harmful ones were both among them */
}

static void test_no_memory(void) {
    CHECK(save_sample(1) == HD_OK);
    int64_t live = cx->account->live;
    for (int n = 1;; n++) {
        cx->account->fail_at = n;
        hd_tensor *t = hd_npy_load(cx, path);
        bool failed = cx->account->fail_at == 0;
        cx->account->fail_at = 0;
        CHECK(failed == (t == NULL));
        hd_release(t);
        CHECK(cx->account->live == live);
        if (t) break;
        CHECK(cx->error.status == HD_ENOMEM && n < 10);
    }
}

static void test_full_disk(void) {
    uint8_t before[4096], now[4096];
    CHECK(save_sample(1) == HD_OK);
    size_t size = read_bytes(before, sizeof before);
    struct rlimit old, small;
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t limit = 0; limit < size; limit += 50) {
        small = (struct rlimit){limit, old.rlim_max};
        CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
        CHECK(save_sample(7) == HD_EIO);
        CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
        CHECK(read_bytes(now, sizeof now) == size && !memcmp(now, before, size));
    }
}

static void test_misuse_when_saving(void) {
    hd_tensor *t = hd_tensor_zeros(cx, HD_BF16, 1, (const int64_t[]){2});
    CHECK(hd_npy_save(cx, path, t) == HD_EARG && strstr(cx->error.message, "bf16"));
    hd_release(t);
    t = hd_tensor_zeros(cx, HD_F32, 2, (const int64_t[]){2, 3});
    hd_tensor *turned = hd_tensor_view(cx, t, 2, (const int64_t[]){3, 2}, (const int64_t[]){1, 3}, 0);
    CHECK(hd_npy_save(cx, path, turned) == HD_EARG && strstr(cx->error.message, "contiguous"));
    hd_release(turned);
    hd_release(t);
}

int main(void) {
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    cx = hd_ctx_new(1);
    CHECK(cx != NULL);
    test_there_and_back();
    test_every_cut();
    test_damage();
    test_no_memory();
    test_full_disk();
    test_misuse_when_saving();
    CHECK(cx->account->live == 0);
    hd_ctx_free(cx);
    unlink(path);
    return checks_done();
}
