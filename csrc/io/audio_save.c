#include "io/audio.h"

#include "io/replace.h"

#ifdef HEED_HAVE_SNDFILE

#include <string.h>

#include "io/sound_file.h"

static int format_of(hd_audio_format format, hd_dtype dtype) {
    const int kind = format == HD_AUDIO_WAV ? SF_FORMAT_WAV : SF_FORMAT_FLAC;
    if (dtype == HD_F32) return kind | SF_FORMAT_FLOAT;
    return kind | (dtype == HD_I16 ? SF_FORMAT_PCM_16 : SF_FORMAT_PCM_24);
}

static sf_count_t write_frames(SNDFILE *sound, const hd_tensor *t) {
    switch (t->dtype) {
    case HD_I16: return sf_writef_short(sound, hd_data(t), t->shape[0]);
    case HD_I32: return sf_writef_int(sound, hd_data(t), t->shape[0]);
    default: return sf_writef_float(sound, hd_data(t), t->shape[0]);
    }
}

static hd_status write_sound(hd_ctx *cx, const char *path, int fd, const hd_tensor *t, int rate, int format) {
    SF_INFO info = {.samplerate = rate, .channels = (int)t->shape[1], .format = format};
    hd_sound_file file = {.fd = fd};
    SNDFILE *sound = sf_open_virtual(&hd_sound_io, SFM_WRITE, &info, &file);
    if (!sound) return hd_fail(cx, HD_EIO, "%s: %s", path, sf_strerror(NULL));
    const bool whole = write_frames(sound, t) == t->shape[0];
    const int error = sf_error(sound), closed = sf_close(sound);
    if (file.failed) return hd_fail(cx, HD_EIO, "%s: writing: %s", path, strerror(file.error));
    if (!whole || closed) return hd_fail(cx, HD_EIO, "%s: %s", path, sf_error_number(error ? error : closed));
    return HD_OK;
}

hd_status hd_audio_save(hd_ctx *cx, const char *path, const hd_tensor *t, int rate, hd_audio_format format) {
    hd_replace r;
    hd_status status = hd_replace_begin(cx, &r, path);
    if (status) return status;
    status = write_sound(cx, path, r.fd, t, rate, format_of(format, (hd_dtype)t->dtype));
    if (!status) return hd_replace_commit(cx, &r);
    hd_replace_abort(&r);
    return status;
}

#else

hd_status hd_audio_save(hd_ctx *cx, const char *path, const hd_tensor *t, int rate, hd_audio_format format) {
    (void)t, (void)rate, (void)format;
    return hd_fail(cx, HD_EIO,
                   "%s: a sound file: heed was built without libsndfile (Debian: libsndfile1-dev)", path);
}

#endif
