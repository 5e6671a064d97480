/* Files of marian-nmt's: a small one is read; damaged and cut ones are refused and cost nothing.
 * spec/models/marian_spec.lua has models of them. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "../fuzz/marian_sample.h"
#include "../fuzz/mutate.h"
#include "check.h"
#include "io/directory.h"
#include "io/marian.h"

static hd_ctx *cx;
static char path[] = "/tmp/heed-marian-XXXXXX";
static uint8_t sample[2048];
static size_t sample_size;

static void write_bytes(const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK(fwrite(bytes, 1, size, file) == size);
    CHECK(fclose(file) == 0);
}

/* The file with all its numbers; false when something of it was refused, with the error in cx. */
static bool is_read(void) {
    hd_marian file;
    if (hd_marian_open(cx, &file, path)) return false;
    bool whole = true;
    for (int64_t i = 0; i < file.count && whole; i++) {
        if (file.items[i].is_text) continue;
        hd_tensor *t = hd_marian_read(&file, &file.items[i]);
        whole = t != NULL;
        hd_release(t);
    }
    hd_marian_close(cx->account, &file);
    return whole;
}

/* Element k of item i, of int8 numbers whose multiplier is 1: its bytes are 37 times their places. */
static void check_bytes(hd_marian *file, int i, const int *places) {
    hd_tensor *t = hd_marian_read(file, &file->items[i]);
    CHECK(t && t->dtype == HD_F32 && t->ndim == 2);
    for (int k = 0; k < 6; k++) CHECK(((float *)hd_data(t))[k] == (float)(int8_t)(places[k] * 37));
    hd_release(t);
}

static void test_sample(void) {
    hd_marian file;
    write_bytes(sample, sample_size);
    CHECK(!hd_marian_open(cx, &file, path) && file.count == MARIAN_ITEMS);
    const hd_marian_item *bias = &file.items[0], *text = &file.items[3];
    CHECK(!strcmp(bias->name, "encoder_bias") && bias->ndim == 2 && bias->shape[1] == 3);
    hd_tensor *t = hd_marian_read(&file, bias);
    CHECK(t && !memcmp(hd_data(t), sample + bias->offset, 12));
    hd_release(t);
    check_bytes(&file, 1, (const int[]){0, 2, 4, 1, 3, 5}); /* transposed */
    check_bytes(&file, 2, (const int[]){0, 1, 2, 3, 4, 5}); /* an embedding */
    CHECK(text->is_text && text->bytes == 8 && !memcmp(sample + text->offset, "a: true", 8));
    hd_set_cancelled(cx, true);
    CHECK(!hd_marian_read(&file, bias) && cx->error.status == HD_ECANCEL);
    hd_set_cancelled(cx, false);
    hd_marian_close(cx->account, &file);
}

static void test_every_cut(void) {
    for (size_t cut = 0; cut < sample_size; cut++) {
        write_bytes(sample, cut);
        CHECK(!is_read() && cx->error.status == HD_EIO && strstr(cx->error.message, path));
    }
}

static void test_damage(void) {
    uint8_t bytes[sizeof sample];
    int64_t live = cx->account->live;
    int taken = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        uint64_t state = seed;
        memcpy(bytes, sample, sample_size);
        write_bytes(bytes, mutate(&state, bytes, sample_size, sizeof bytes, 0, mutate_mend_none));
        const bool whole = is_read();
        if (!whole) CHECK(cx->error.status == HD_EIO && strstr(cx->error.message, path));
        taken += whole;
        CHECK(cx->account->live == live);
    }
    CHECK(taken > 100 && taken < 2900); /* harmless changes and harmful ones were both among them */
}

static bool is_listed(void) {
    hd_directory directory;
    if (hd_directory_read(cx, &directory, "/")) return false;
    CHECK(directory.count > 1 && directory.size > directory.count);
    hd_directory_free(cx->account, &directory);
    return true;
}

static void test_no_memory(bool (*works)(void)) {
    write_bytes(sample, sample_size);
    int64_t live = cx->account->live;
    for (int n = 1;; n++) {
        cx->account->fail_at = n;
        const bool whole = works(), failed = cx->account->fail_at == 0;
        cx->account->fail_at = 0;
        CHECK(cx->account->live == live && failed == !whole);
        if (whole) break;
        CHECK(cx->error.status == HD_ENOMEM && n < 40);
    }
}

static void test_directory(void) {
    hd_directory directory;
    CHECK(hd_directory_read(cx, &directory, "/nowhere at all") == HD_EIO);
    CHECK(strstr(cx->error.message, "/nowhere at all: No such file"));
}

int main(void) {
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    cx = hd_ctx_new(1);
    CHECK(cx != NULL);
    sample_size = marian_sample(sample);
    test_sample();
    test_every_cut();
    test_damage();
    test_no_memory(is_read);
    test_no_memory(is_listed);
    test_directory();
    CHECK(cx->account->live == 0);
    hd_ctx_free(cx);
    unlink(path);
    return checks_done();
}
