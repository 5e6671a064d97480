/* audio.h: sound from files and into them, by libsndfile, and at other rates, by libsoxr. Both are
 * optional: without one, what needs it is refused with a message (HD_EIO).
 *
 * Files are not trusted. Only WAV, FLAC, Ogg and MP3 get to libsndfile. What is too long is refused before
 * memory is allocated for it; a file that ends before its header says so is refused, and so are samples
 * that are no numbers.
 */
#ifndef HD_AUDIO_H
#define HD_AUDIO_H

#include "tensor/tensor.h"

typedef struct hd_audio_options {
    bool mono;           /* the mean of all channels */
    int64_t max_samples; /* of all channels that are kept; more are refused */
} hd_audio_options;

/* f32 [T, channels], integers as -1 .. 1; *rate: samples a second. NULL: HD_EIO or HD_ENOMEM or
 * HD_ECANCEL; the message names the path. */
hd_tensor *hd_audio_load(hd_ctx *cx, const char *path, const hd_audio_options *options, int *rate);

typedef enum hd_audio_format { HD_AUDIO_WAV, HD_AUDIO_FLAC } hd_audio_format;

/* t [T, channels], contiguous: i16 is written as 16 bits, i32 by its upper 24, f32 (WAV only) as it is.
 * The file at path is replaced completely or not at all (io/replace.h). */
hd_status hd_audio_save(hd_ctx *cx, const char *path, const hd_tensor *t, int rate, hd_audio_format format);

/* x f32 [.., T], contiguous, from one rate to another: [.., round(T to / from)]. */
hd_tensor *hd_resample(hd_ctx *cx, const hd_tensor *x, double from, double to);

/* What reads and writes sound, and what resamples it: "libsndfile-1.2.0"; "none" in a build without. */
const char *hd_sndfile_version(void);
const char *hd_soxr_version(void);

#endif
