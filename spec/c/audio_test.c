/* Sound: what is written is read; files that are cut are refused and cost nothing; every allocation may fail.
 * spec/audio has files of other programs. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "io/audio.h"

#define FRAMES 300
#define CHANNELS 2

static hd_ctx *cx;
static char path[] = "/tmp/heed-audio-XXXXXX";
static const hd_audio_options all = {false, 1 << 20}, mono = {true, 1 << 20};

static hd_tensor *sample(hd_dtype dtype) {
    hd_tensor *t = hd_tensor_zeros(cx, dtype, 2, (const int64_t[]){FRAMES, CHANNELS});
    CHECK(t != NULL);
    for (int64_t i = 0; i < hd_numel(t); i++) {
        const int value = (int)(i * i * 29 % 20011) - 10000;
        if (dtype == HD_I16) ((int16_t *)hd_data(t))[i] = (int16_t)value;
        if (dtype == HD_I32) ((int32_t *)hd_data(t))[i] = value * 65536;
        if (dtype == HD_F32) ((float *)hd_data(t))[i] = (float)value / 32768;
    }
    return t;
}

static hd_status save(hd_dtype dtype, hd_audio_format format) {
    hd_tensor *t = sample(dtype);
    hd_status status = hd_audio_save(cx, path, t, 11025, format);
    hd_release(t);
    return status;
}

static void test_missing(void) {
    int rate;
    CHECK(save(HD_I16, HD_AUDIO_WAV) == HD_EIO && strstr(cx->error.message, "was built without libsndfile"));
    CHECK(hd_audio_load(cx, path, &all, &rate) == NULL && cx->error.status == HD_EIO);
}

static void test_round_trip(hd_dtype dtype, hd_audio_format format) {
    int rate = 0;
    CHECK(save(dtype, format) == HD_OK);
    hd_tensor *wanted = sample(HD_F32), *t = hd_audio_load(cx, path, &all, &rate);
    CHECK(t != NULL && rate == 11025 && hd_same_shape(t, wanted));
    CHECK(!memcmp(hd_data(t), hd_data(wanted), (size_t)hd_numel(t) * sizeof(float)));
    hd_release(t);
    t = hd_audio_load(cx, path, &mono, &rate);
    CHECK(t != NULL && t->shape[0] == FRAMES && t->shape[1] == 1);
    const float *both = hd_data(wanted), *one = hd_data(t);
    for (int64_t i = 0; i < FRAMES; i++)
        CHECK(one[i] == (float)(((double)both[2 * i] + both[2 * i + 1]) / 2));
    hd_release(t);
    hd_release(wanted);
}

/* Each allocation in turn: no memory is lost, and the next call works. */
static void test_allocations(void) {
    int rate;
    const int64_t live = cx->account->live;
    for (int64_t n = 1;; n++) {
        cx->account->fail_at = n;
        hd_tensor *t = hd_audio_load(cx, path, &all, &rate);
        const bool failed = cx->account->fail_at == 0;
        cx->account->fail_at = 0;
        if (t) {
            CHECK(!failed);
            hd_release(t);
            break;
        }
        CHECK(failed && cx->error.status == HD_ENOMEM && cx->account->live == live);
    }
    CHECK(cx->account->live == live);
}

/* Every beginning of a WAV file is refused. */
static void test_cut(void) {
    static uint8_t bytes[4096];
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    const int64_t live = cx->account->live;
    for (size_t length = 0; length < size; length += 7) {
        int rate;
        CHECK(truncate(path, (off_t)(size - 1 - length)) == 0);
        CHECK(hd_audio_load(cx, path, &all, &rate) == NULL && cx->error.status == HD_EIO);
        CHECK(strstr(cx->error.message, path) == cx->error.message && cx->account->live == live);
    }
}

static void test_resample(void) {
    hd_tensor *x = sample(HD_F32),
              *flat = hd_tensor_view(cx, x, 1, (const int64_t[]){FRAMES * CHANNELS}, (const int64_t[]){1}, 0);
    hd_tensor *y = hd_resample(cx, flat, 3, 1);
    if (!strcmp(hd_soxr_version(), "none"))
        CHECK(y == NULL && cx->error.status == HD_EIO);
    else
        CHECK(y != NULL && y->ndim == 1 && y->shape[0] == FRAMES * CHANNELS / 3);
    cx->account->fail_at = 1;
    CHECK(y == NULL || (hd_resample(cx, flat, 3, 1) == NULL && cx->error.status == HD_ENOMEM));
    cx->account->fail_at = 0;
    hd_release(y);
    hd_release(flat);
    hd_release(x);
}

int main(void) {
    cx = hd_ctx_new(1);
    int fd = mkstemp(path);
    CHECK(cx != NULL && fd >= 0);
    close(fd);
    if (!strcmp(hd_sndfile_version(), "none")) {
        test_missing();
    } else {
        test_round_trip(HD_I16, HD_AUDIO_FLAC);
        test_round_trip(HD_I32, HD_AUDIO_FLAC);
        test_round_trip(HD_F32, HD_AUDIO_WAV);
        test_round_trip(HD_I32, HD_AUDIO_WAV);
        test_round_trip(HD_I16, HD_AUDIO_WAV);
        test_allocations();
        test_cut();
    }
    test_resample();
    unlink(path);
    hd_ctx_free(cx);
    return checks_done();
}
