#include "io/audio.h"

#include "io/source.h"

#ifdef HEED_HAVE_SNDFILE

#include <math.h>
#include <string.h>

#include "base/minmax.h"
#include "io/sound_file.h"

#define BLOCK 65536       /* numbers that are read at once */
#define FIRST (1 << 20)   /* numbers that there is room for while nothing says how many come */
#define MOST_CHUNKS 10000 /* of a WAV file before its samples */
#define MOST_CHANNELS 1024

typedef struct reading {
    hd_source source;
    hd_sound_file file;
    const hd_audio_options *options;
    SNDFILE *sound;
    SF_INFO info;
    int channels;   /* that are kept */
    int64_t frames; /* read so far */
    hd_tensor *t;   /* [capacity, channels] */
} reading;

/* ---- what the file is -------------------------------------------------------------------------- */

static bool is_known(const uint8_t start[12]) {
    const bool riff = !memcmp(start, "RIFF", 4) || !memcmp(start, "RF64", 4);
    return (riff && !memcmp(start + 8, "WAVE", 4)) || !memcmp(start, "fLaC", 4) ||
           !memcmp(start, "OggS", 4) || !memcmp(start, "ID3", 3) ||
           (start[0] == 0xff && (start[1] & 0xe0) == 0xe0);
}

/* libsndfile takes a WAV file that ends early for a shorter one. Its chunks: a name, a u32 size, so many
 * bytes and one more where they are odd; the samples' is "data". Writers that could not go back leave 0 or
 * 2^32 - 1 for a size. */
static hd_status check_wav_whole(hd_source *s) {
    int64_t at = 12;
    for (int i = 0; i < MOST_CHUNKS && at + 8 <= s->size; i++) {
        uint8_t chunk[8];
        hd_status status = hd_source_read(s, chunk, sizeof chunk, at);
        if (status) return status;
        int64_t size = chunk[4] | chunk[5] << 8 | chunk[6] << 16 | (int64_t)chunk[7] << 24;
        at += 8;
        if (!memcmp(chunk, "data", 4)) {
            if (size == UINT32_MAX || size <= s->size - at) return HD_OK;
            return hd_source_bad(s, "the file ended early: expected %lld bytes of samples, got %lld",
                                 (long long)size, (long long)(s->size - at));
        }
        at += size + size % 2;
    }
    return hd_source_bad(s, "WAV: expected samples, got none");
}

static hd_status check_start(reading *r) {
    uint8_t start[12];
    hd_source *s = &r->source;
    if (s->size < (int64_t)sizeof start) return hd_source_bad(s, "expected a WAV, FLAC, Ogg or MP3 file");
    hd_status status = hd_source_read(s, start, sizeof start, 0);
    if (status) return status;
    if (!is_known(start)) return hd_source_bad(s, "expected a WAV, FLAC, Ogg or MP3 file");
    return memcmp(start, "RIFF", 4) ? HD_OK : check_wav_whole(s);
}

static hd_status check_info(reading *r) {
    const SF_INFO *info = &r->info;
    hd_source *s = &r->source;
    if (info->channels < 1 || info->channels > MOST_CHANNELS)
        return hd_source_bad(s, "expected 1..%d channels, got %d", MOST_CHANNELS, info->channels);
    if (info->frames < 0) return hd_source_bad(s, "expected samples, got %lld", (long long)info->frames);
    if (info->samplerate < 1) return hd_source_bad(s, "expected a rate, got %d", info->samplerate);
    r->channels = r->options->mono ? 1 : info->channels;
    if (info->frames != SF_COUNT_MAX && info->frames > r->options->max_samples / r->channels)
        return hd_source_bad(s, "%lld samples of %d channels, more than max_samples = %lld",
                             (long long)info->frames, r->channels, (long long)r->options->max_samples);
    return HD_OK;
}

/* ---- samples ----------------------------------------------------------------------------------- */

/* Room for `more` frames behind those that were read. */
static hd_status make_room(reading *r, int64_t more) {
    hd_ctx *cx = r->source.cx;
    int64_t capacity = r->t->shape[0], most = r->options->max_samples / r->channels;
    if (r->frames + more <= capacity) return HD_OK;
    if (r->frames + more > most)
        return hd_source_bad(&r->source, "more samples than max_samples = %lld",
                             (long long)r->options->max_samples);
    capacity = hd_min(hd_max(2 * capacity, r->frames + more), most);
    hd_tensor *t = hd_tensor_new(cx, HD_F32, 2, (const int64_t[]){capacity, r->channels});
    if (!t) return cx->error.status;
    memcpy(hd_data(t), hd_data(r->t), (size_t)(r->frames * r->channels) * sizeof(float));
    hd_release(r->t);
    r->t = t;
    return HD_OK;
}

static hd_status keep(reading *r, const float *block, int64_t frames) {
    hd_status status = make_room(r, frames);
    if (status) return status;
    const int have = r->info.channels;
    for (int64_t i = 0; i < frames * have; i++)
        if (!isfinite(block[i]))
            return hd_source_bad(&r->source, "sample %lld is no finite number",
                                 (long long)(r->frames + i / have + 1));
    float *to = (float *)hd_data(r->t) + r->frames * r->channels;
    r->frames += frames;
    if (r->channels == have) {
        memcpy(to, block, (size_t)(frames * have) * sizeof *to);
        return HD_OK;
    }
    for (int64_t i = 0; i < frames; i++) {
        double sum = 0;
        for (int c = 0; c < have; c++) sum += block[i * have + c];
        to[i] = (float)(sum / have);
    }
    return HD_OK;
}

static hd_status read_blocks(reading *r, float *block) {
    const int64_t most = BLOCK / r->info.channels;
    for (;;) {
        const int64_t got = sf_readf_float(r->sound, block, most);
        if (r->file.failed) return hd_source_bad(&r->source, "reading: %s", strerror(r->file.error));
        if (got <= 0) break;
        hd_status status = keep(r, block, got);
        if (!status && hd_must_stop(r->source.cx)) status = hd_fail(r->source.cx, HD_ECANCEL, "interrupted");
        if (status) return status;
    }
    if (sf_error(r->sound)) return hd_source_bad(&r->source, "%s", sf_strerror(r->sound));
    if (r->info.frames != SF_COUNT_MAX && r->frames < r->info.frames)
        return hd_source_bad(&r->source, "the file ended early: expected %lld samples, got %lld",
                             (long long)r->info.frames, (long long)r->frames);
    return HD_OK;
}

static hd_status read_all(reading *r) {
    hd_ctx *cx = r->source.cx;
    const int64_t first = hd_min(FIRST, r->options->max_samples) / r->channels;
    const int64_t frames = r->info.frames == SF_COUNT_MAX ? first : r->info.frames;
    r->t = hd_tensor_new(cx, HD_F32, 2, (const int64_t[]){frames, r->channels});
    float *block = r->t ? hd_alloc(cx, BLOCK * sizeof *block) : NULL;
    if (!block) return cx->error.status;
    hd_status status = read_blocks(r, block);
    hd_free(cx->account, block);
    return status;
}

/* The frames that were read, without the room behind them. Takes r->t over. */
static hd_tensor *trimmed(reading *r) {
    hd_ctx *cx = r->source.cx;
    if (r->frames == r->t->shape[0]) return r->t;
    hd_tensor *t = hd_tensor_new(cx, HD_F32, 2, (const int64_t[]){r->frames, r->channels});
    if (t) memcpy(hd_data(t), hd_data(r->t), (size_t)(r->frames * r->channels) * sizeof(float));
    hd_release(r->t);
    return t;
}

static hd_status read_sound(reading *r) {
    hd_status status = check_start(r);
    if (status) return status;
    r->file = (hd_sound_file){.fd = r->source.fd, .size = r->source.size};
    r->sound = sf_open_virtual(&hd_sound_io, SFM_READ, &r->info, &r->file);
    if (r->file.failed) return hd_source_bad(&r->source, "reading: %s", strerror(r->file.error));
    if (!r->sound) return hd_source_bad(&r->source, "%s", sf_strerror(NULL));
    status = check_info(r);
    return status ? status : read_all(r);
}

hd_tensor *hd_audio_load(hd_ctx *cx, const char *path, const hd_audio_options *options, int *rate) {
    reading r = {.options = options};
    if (hd_source_open(cx, &r.source, path)) return NULL;
    hd_status status = read_sound(&r);
    if (r.sound) sf_close(r.sound);
    hd_source_close(&r.source);
    *rate = r.info.samplerate;
    if (!status) return trimmed(&r);
    hd_release(r.t);
    return NULL;
}

const char *hd_sndfile_version(void) {
    return sf_version_string();
}

#else

hd_tensor *hd_audio_load(hd_ctx *cx, const char *path, const hd_audio_options *options, int *rate) {
    (void)options, (void)rate;
    return hd_fail_null(
        cx, HD_EIO, "%s: a sound file: heed was built without libsndfile (Debian: libsndfile1-dev)", path);
}

const char *hd_sndfile_version(void) {
    return "none";
}

#endif
