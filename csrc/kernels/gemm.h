/* gemm.h: matrix products. C = alpha · A · B + beta · C. Loops, packing and threads are heed's own,
 * around a micro-kernel: that of BLIS for the processor, or heed's where it is faster. The shape alone
 * decides in which order an element of C is summed, so the bits do not depend on the number of threads.
 * gemm.c is the only file of the project that includes blis.h.
 *
 * Row and column strides are free: a transpose is a swap of strides and copies nothing. beta = 0 never
 * reads C. NaN and infinities propagate (0 · NaN is NaN). k = 0 gives beta · C.
 */
#ifndef HD_GEMM_H
#define HD_GEMM_H

#include "base/context.h"
#include "tensor/dtype.h"

typedef struct hd_matrix {
    void *data;
    int64_t row_stride, col_stride; /* elements */
    int64_t batch_stride;           /* elements from one product of a batch to the next; 0 repeats it */
} hd_matrix;

/* An operand that lies nowhere as a matrix: a function writes it where the product would pack it. So a
 * convolution gathers the patches of its input. */
typedef struct hd_panels {
    /* to[q * width + i] = the element of row (of a; of b: column) first + i at depth p + q, for i < count and
     * q < k; 0 for the rest of the width. */
    void (*write)(const void *source, int64_t entry, int64_t first, int64_t count, int64_t p, int64_t k,
                  int64_t width, void *to);
    const void *source;
} hd_panels;

typedef struct hd_gemm {
    hd_dtype dtype; /* HD_F32 or HD_F64 */
    int64_t m, n, k;
    int64_t batch; /* 1 for a single product */
    double alpha, beta;
    hd_matrix a; /* m x k */
    hd_matrix b; /* k x n */
    hd_matrix c; /* m x n; must not overlap a or b, nor one batch another */
    /* The rest may be left out, and is looked at in products with panels alone. */
    const hd_panels *a_panels, *b_panels; /* in place of a, of b */
    const void *row_bias;                 /* batch x m: added to the rows of c; beta must be 0 */
    /* The columns of c lie in runs of c_run (0: in one), whose first ones are c_run_stride apart. */
    int64_t c_run, c_run_stride;
} hd_gemm;

/* HD_ENOMEM if there is no memory for the packing buffers; HD_ECANCEL if interrupted between tasks, with
 * C partly written. Calls hd_gemm_init if this has not been done. */
hd_status hd_gemm_run(hd_ctx *cx, const hd_gemm *g);

/* Chooses the kernel for the microarchitecture. Refuses (HD_EARG) a BLIS of another version than that of
 * the header it was built with. */
hd_status hd_gemm_init(hd_ctx *cx);
void hd_gemm_done(hd_ctx *cx);
/* "BLIS zen3 6x16", or "avx512 14x32" for ours: what heed.info() shows; blis_version is the loaded
 * library's. */
const char *hd_gemm_kernel_name(const hd_ctx *cx);
const char *hd_gemm_blis_version(void);

#endif
