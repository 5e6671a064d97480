#include "io/audio.h"

#ifdef HEED_HAVE_SOXR

#include <math.h>
#include <string.h>

#include <soxr.h>

#include "base/minmax.h"

#define BLOCK 65536 /* samples that go in at once */

/* One line of `from` samples into one of `to`; what the filter does not reach is 0. */
static hd_status resample_line(hd_ctx *cx, soxr_t soxr, const float *x, int64_t from, float *y, int64_t to) {
    int64_t in = 0, out = 0;
    bool ended = false;
    while (out < to && !ended) {
        if (hd_must_stop(cx)) return hd_fail(cx, HD_ECANCEL, "interrupted");
        size_t used = 0, made = 0;
        const size_t left = (size_t)hd_min(from - in, BLOCK);
        soxr_error_t error =
            soxr_process(soxr, left ? x + in : NULL, left, &used, y + out, (size_t)(to - out), &made);
        if (error) return hd_fail(cx, HD_EIO, "libsoxr: %s", error);
        in += (int64_t)used;
        out += (int64_t)made;
        ended = left == 0 && made == 0;
    }
    memset(y + out, 0, (size_t)(to - out) * sizeof *y);
    soxr_error_t error = soxr_clear(soxr);
    return error ? hd_fail(cx, HD_EIO, "libsoxr: %s", error) : HD_OK;
}

static hd_status resample_lines(hd_ctx *cx, const hd_tensor *x, hd_tensor *y, double from, double to) {
    const int64_t have = x->shape[x->ndim - 1], want = y->shape[y->ndim - 1];
    const soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
    soxr_error_t error = NULL;
    soxr_t soxr = soxr_create(from, to, 1, &error, NULL, &quality, NULL);
    if (!soxr) return hd_fail(cx, HD_EIO, "libsoxr: %s", error ? error : "it could not begin");
    hd_status status = HD_OK;
    const float *in = hd_data(x);
    float *out = hd_data(y);
    for (int64_t i = 0, lines = hd_numel(x) / have; i < lines && !status; i++)
        status = resample_line(cx, soxr, in + i * have, have, out + i * want, want);
    soxr_delete(soxr);
    return status;
}

hd_tensor *hd_resample(hd_ctx *cx, const hd_tensor *x, double from, double to) {
    int64_t shape[HD_MAX_DIMS];
    for (int d = 0; d < x->ndim; d++) shape[d] = x->shape[d];
    const double length = floor((double)shape[x->ndim - 1] * to / from + 0.5);
    if (length > 0x1p53) return hd_fail_null(cx, HD_EARG, "to: expected fewer samples, got %.0f", length);
    shape[x->ndim - 1] = (int64_t)length;
    hd_tensor *y = hd_tensor_new(cx, HD_F32, x->ndim, shape);
    if (!y || hd_numel(y) == 0 || !resample_lines(cx, x, y, from, to)) return y;
    hd_release(y);
    return NULL;
}

const char *hd_soxr_version(void) {
    return soxr_version();
}

#else

hd_tensor *hd_resample(hd_ctx *cx, const hd_tensor *x, double from, double to) {
    (void)x, (void)from, (void)to;
    return hd_fail_null(cx, HD_EIO, "heed was built without libsoxr (Debian: libsoxr-dev)");
}

const char *hd_soxr_version(void) {
    return "none";
}

#endif
