/* fft.h: discrete Fourier transforms of lines of n real numbers, and their adjoint.
 *
 *     y[k] = sum over j of x[j] e^(-2 pi i j k / n), k = 0 .. n / 2: pairs of real and imaginary part
 *
 * f32 of a length without prime factors above 5 goes through kissfft. Everything else is the sum itself,
 * in f64 and of n * n / 2 steps: f64 is for checking, and kissfft's general step allocates memory that
 * nobody counts.
 */
#ifndef HD_FFT_H
#define HD_FFT_H

#include "base/context.h"
#include "tensor/dtype.h"

typedef struct hd_fft {
    hd_dtype dtype; /* f32 or f64 */
    int64_t n;
    bool adjoint;
    void *plan;       /* kissfft's; NULL: by the sum */
    double *twiddles; /* [n][2]: cosine and sine of 2 pi m / n, of the sum */
} hd_fft;

/* The pairs that n numbers give. */
static inline int64_t hd_fft_pairs(int64_t n) {
    return n / 2 + 1;
}

/* n at least 1. HD_ENOMEM, or HD_EARG where n is beyond what a table holds. */
hd_status hd_fft_begin(hd_ctx *cx, hd_fft *fft, hd_dtype dtype, int64_t n, bool adjoint);
void hd_fft_end(hd_ctx *cx, hd_fft *fft);

/* Bytes that each thread needs. */
size_t hd_fft_scratch(const hd_fft *fft);
/* y[pairs][2] of x[n]; of an adjoint x[n] of y[pairs][2]:
 *
 *     x[j] = sum over k of Re(y[k] e^(2 pi i j k / n))
 */
void hd_fft_line(const hd_fft *fft, const void *from, void *to, void *scratch);

/* What computes f32: "kissfft", or "none" in a build without it. */
const char *hd_fft_library(void);

#endif
