/* GGUF: a small file of others is read; damaged and cut ones are refused and cost nothing.
 * spec/io/gguf_spec.lua has the package's own. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "../fuzz/gguf_sample.h"
#include "../fuzz/mutate.h"
#include "check.h"
#include "io/gguf.h"
#include "tensor/half.h"

static hd_ctx *cx;
static char path[] = "/tmp/heed-gguf-XXXXXX";
static uint8_t sample[4096];
static size_t sample_size;

static void write_bytes(const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK(fwrite(bytes, 1, size, file) == size);
    CHECK(fclose(file) == 0);
}

static bool read_tensors(hd_source *source, const hd_gguf *file) {
    bool whole = true;
    for (int64_t i = 0; whole && i < file->tensor_count; i++) {
        hd_tensor *t = hd_gguf_tensor_read(source, NULL, &file->tensors[i]);
        whole = t != NULL;
        hd_release(t);
    }
    return whole;
}

/* The file with all its tensors; false when something of it was refused, with the error in cx. */
static bool is_read(void) {
    hd_source source;
    hd_gguf file;
    if (hd_source_open(cx, &source, path)) return false;
    bool whole = !hd_gguf_read(&source, &file);
    if (whole) {
        whole = read_tensors(&source, &file);
        hd_gguf_free(cx->account, &file);
    }
    hd_source_close(&source);
    return whole;
}

static void test_sample(void) {
    hd_source source;
    hd_gguf file;
    write_bytes(sample, sample_size);
    CHECK(!hd_source_open(cx, &source, path) && !hd_gguf_read(&source, &file));
    CHECK(file.version == 3 && file.item_count == 15 && file.tensor_count == 5);
    const hd_gguf_tensor *small = &file.tensors[1];
    CHECK(small->ndim == 2 && small->shape[0] == 2 && small->shape[1] == 32 && hd_gguf_bytes(small) == 68);
    hd_tensor *t = hd_gguf_tensor_read(&source, NULL, small);
    CHECK(t && t->dtype == HD_F32 && t->shape[0] == 2);
    const uint8_t *data = sample + small->offset;
    const float d = hd_from_f16((uint16_t)(data[0] | data[1] << 8));
    for (int k = 0; k < 32; k++) CHECK(((const float *)hd_data(t))[k] == (float)(int8_t)data[2 + k] * d);
    hd_release(t);
    hd_gguf_free(cx->account, &file);
    hd_source_close(&source);
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
    CHECK(taken > 100 && taken < 2600); /* harmless changes and harmful ones were both among them */
}

static void test_no_memory(void) {
    write_bytes(sample, sample_size);
    int64_t live = cx->account->live;
    for (int n = 1;; n++) {
        cx->account->fail_at = n;
        const bool whole = is_read(), failed = cx->account->fail_at == 0;
        cx->account->fail_at = 0;
        CHECK(cx->account->live == live && failed == !whole);
        if (whole) break;
        CHECK(cx->error.status == HD_ENOMEM && n < 40);
    }
}

/* A header longer than what is read at first. */
static void test_long_header(void) {
    enum { LONG = 3 << 20 };
    uint8_t *bytes = malloc(LONG + 256), *at = bytes;
    CHECK(bytes != NULL);
    memcpy(at, "GGUF", 4);
    at = gguf_number(gguf_number(gguf_number(at + 4, 4, 3), 8, 1), 8, 1);
    at = gguf_array(gguf_key(at, "long", 9), 0, LONG);
    memset(at, 7, LONG);
    at = gguf_tensor(at + LONG, "a", 1, 0, 24, 0);
    while ((at - bytes) % 32) *at++ = 0;
    *at++ = 5;
    write_bytes(bytes, (size_t)(at - bytes));
    CHECK(is_read());
    write_bytes(bytes, (size_t)(at - bytes) - 1);
    CHECK(!is_read() && strstr(cx->error.message, "tensor \"a\""));
    free(bytes);
}

static void test_interrupt(void) {
    write_bytes(sample, sample_size);
    hd_source source;
    hd_gguf file;
    CHECK(!hd_source_open(cx, &source, path) && !hd_gguf_read(&source, &file));
    hd_set_cancelled(cx, true);
    for (int i = 0; i < 3; i++) {
        CHECK(hd_gguf_tensor_read(&source, NULL, &file.tensors[i]) == NULL && cx->error.status == HD_ECANCEL);
    }
    hd_set_cancelled(cx, false);
    CHECK(read_tensors(&source, &file));
    hd_gguf_free(cx->account, &file);
    hd_source_close(&source);
}

static void test_saving(void) {
    const int64_t shape[] = {1, 64};
    hd_tensor *x = hd_tensor_zeros(cx, HD_F32, 2, shape),
              *five = hd_tensor_zeros(cx, HD_F32, 5, (int64_t[5]){0});
    hd_gguf_entry entry = {.name = "x", .tensor = x};
    hd_gguf_contents contents = {.alignment = 32, .count = 1, .entries = &entry, .metadata = {"", 0}};
    CHECK(hd_gguf_type_named("Q8_0", &entry.type) && !hd_gguf_save(cx, path, &contents) && is_read());
    const int64_t live = cx->account->live;
    for (int n = 1;; n++) {
        cx->account->fail_at = n;
        const hd_status status = hd_gguf_save(cx, path, &contents);
        cx->account->fail_at = 0;
        CHECK(cx->account->live == live && is_read());
        if (!status) break;
        CHECK(status == HD_ENOMEM && n < 20);
    }
    hd_set_cancelled(cx, true);
    CHECK(hd_gguf_save(cx, path, &contents) == HD_ECANCEL);
    hd_set_cancelled(cx, false);
    CHECK(is_read());
    CHECK(hd_gguf_type_named("Q6_K", &entry.type));
    CHECK(hd_gguf_save(cx, path, &contents) == HD_EARG && strstr(cx->error.message, "read, not written"));
    CHECK(hd_gguf_type_named("F16", &entry.type));
    CHECK(hd_gguf_save(cx, path, &contents) == HD_EARG &&
          strstr(cx->error.message, "expected a tensor of f16"));
    CHECK(hd_gguf_type_named("F32", &entry.type) && !hd_gguf_type_named("U8", &entry.type));
    entry.tensor = five;
    CHECK(hd_gguf_save(cx, path, &contents) == HD_EARG && strstr(cx->error.message, "at most 4 dimensions"));
    hd_release(five);
    hd_release(x);
}

int main(void) {
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    cx = hd_ctx_new(1);
    CHECK(cx != NULL);
    sample_size = gguf_sample(sample);
    test_sample();
    test_every_cut();
    test_damage();
    test_no_memory();
    test_long_header();
    test_interrupt();
    test_saving();
    CHECK(cx->account->live == 0);
    hd_ctx_free(cx);
    unlink(path);
    return checks_done();
}
