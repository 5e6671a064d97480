#include "kernels/fft.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#ifdef HEED_HAVE_KISSFFT

#include <kiss_fft.h>

const char *hd_fft_library(void) {
    return "kissfft";
}

/* Its steps for 2, 3, 4 and 5 touch no memory of their own; a line of one number goes through another. */
static bool is_fast(int64_t n) {
    if (n < 2 || n > INT_MAX / 64) return false;
    for (int64_t factor = 2; factor <= 5; factor++)
        while (n % factor == 0) n /= factor;
    return n == 1;
}

static hd_status make_plan(hd_ctx *cx, hd_fft *fft) {
    if (fft->dtype != HD_F32 || !is_fast(fft->n)) return HD_OK;
    size_t size = 0;
    kiss_fft_alloc((int)fft->n, fft->adjoint, NULL, &size);
    fft->plan = hd_alloc(cx, size);
    if (!fft->plan) return cx->error.status;
    kiss_fft_alloc((int)fft->n, fft->adjoint, fft->plan, &size);
    return HD_OK;
}

static size_t plan_scratch(const hd_fft *fft) {
    return 2 * (size_t)fft->n * sizeof(kiss_fft_cpx);
}

static void run_plan(const hd_fft *fft, const float *from, float *to, void *scratch) {
    const int64_t n = fft->n, pairs = hd_fft_pairs(n);
    kiss_fft_cpx *in = scratch, *out = in + n;
    if (!fft->adjoint) {
        for (int64_t j = 0; j < n; j++) in[j] = (kiss_fft_cpx){from[j], 0};
        kiss_fft(fft->plan, in, out);
        memcpy(to, out, (size_t)pairs * sizeof *out);
        return;
    }
    memcpy(in, from, (size_t)pairs * sizeof *in);
    memset(in + pairs, 0, (size_t)(n - pairs) * sizeof *in);
    kiss_fft(fft->plan, in, out);
    for (int64_t j = 0; j < n; j++) to[j] = out[j].r;
}

#else

const char *hd_fft_library(void) {
    return "none";
}

static hd_status make_plan(hd_ctx *cx, hd_fft *fft) {
    (void)cx, (void)fft;
    return HD_OK;
}

static size_t plan_scratch(const hd_fft *fft) {
    (void)fft;
    return 0;
}

static void run_plan(const hd_fft *fft, const float *from, float *to, void *scratch) {
    (void)fft, (void)from, (void)to, (void)scratch;
}

#endif

/* ---- the sum ------------------------------------------------------------------------------------ */

static hd_status make_twiddles(hd_ctx *cx, hd_fft *fft) {
    int64_t bytes;
    if (!hd_mul_fits(fft->n, 2 * sizeof *fft->twiddles, &bytes))
        return hd_fail(cx, HD_EARG, "t: expected fewer numbers in a line, got %lld", (long long)fft->n);
    fft->twiddles = hd_alloc(cx, (size_t)bytes);
    if (!fft->twiddles) return cx->error.status;
    for (int64_t m = 0; m < fft->n; m++) {
        double angle = 2 * M_PI * (double)m / (double)fft->n;
        fft->twiddles[2 * m] = cos(angle);
        fft->twiddles[2 * m + 1] = sin(angle);
    }
    return HD_OK;
}

static double number(const hd_fft *fft, const void *line, int64_t i) {
    return fft->dtype == HD_F32 ? (double)((const float *)line)[i] : ((const double *)line)[i];
}

static void put(const hd_fft *fft, void *line, int64_t i, double value) {
    if (fft->dtype == HD_F32)
        ((float *)line)[i] = (float)value;
    else
        ((double *)line)[i] = value;
}

static void sum_forward(const hd_fft *fft, const void *x, void *y) {
    const int64_t n = fft->n;
    for (int64_t k = 0; k < hd_fft_pairs(n); k++) {
        double real = 0, imaginary = 0;
        for (int64_t j = 0, m = 0; j < n; j++, m = m + k < n ? m + k : m + k - n) {
            const double v = number(fft, x, j);
            real += v * fft->twiddles[2 * m];
            imaginary -= v * fft->twiddles[2 * m + 1];
        }
        put(fft, y, 2 * k, real);
        put(fft, y, 2 * k + 1, imaginary);
    }
}

static void sum_adjoint(const hd_fft *fft, const void *y, void *x) {
    const int64_t n = fft->n;
    for (int64_t j = 0; j < n; j++) {
        double sum = 0;
        for (int64_t k = 0, m = 0; k < hd_fft_pairs(n); k++, m = m + j < n ? m + j : m + j - n)
            sum += number(fft, y, 2 * k) * fft->twiddles[2 * m] -
                   number(fft, y, 2 * k + 1) * fft->twiddles[2 * m + 1];
        put(fft, x, j, sum);
    }
}

/* ---- either ------------------------------------------------------------------------------------- */

hd_status hd_fft_begin(hd_ctx *cx, hd_fft *fft, hd_dtype dtype, int64_t n, bool adjoint) {
    *fft = (hd_fft){.dtype = dtype, .n = n, .adjoint = adjoint};
    hd_status status = make_plan(cx, fft);
    return status || fft->plan ? status : make_twiddles(cx, fft);
}

void hd_fft_end(hd_ctx *cx, hd_fft *fft) {
    hd_free(cx->account, fft->plan);
    hd_free(cx->account, fft->twiddles);
}

size_t hd_fft_scratch(const hd_fft *fft) {
    return fft->plan ? plan_scratch(fft) : 0;
}

void hd_fft_line(const hd_fft *fft, const void *from, void *to, void *scratch) {
    if (fft->plan)
        run_plan(fft, from, to, scratch);
    else if (fft->adjoint)
        sum_adjoint(fft, from, to);
    else
        sum_forward(fft, from, to);
}
