/* gemm_tile.h: the innermost pieces of a matrix product, for one element type and instruction set: the
 * register tile and the packing of its operands. gemm_loops.c puts products together from them; they
 * come from isa/gemm_tile.c (ours) or, wrapped by gemm.c, from BLIS.
 */
#ifndef HD_GEMM_TILE_H
#define HD_GEMM_TILE_H

#include "kernels/gemm.h"

typedef struct hd_gemm_tile hd_gemm_tile;

struct hd_gemm_tile {
    const char *name; /* "avx512 14x32" */
    int64_t mr, nr;   /* rows and columns of the register tile: widths of the packed panels of a and b */
    int64_t mc, kc;   /* rows and depth of the block of a that stays in the second-level cache */
    bool strided;     /* run() reads a with any strides, and b with any row stride */
    /* c (m x n) = alpha a b + beta c with m <= mr, n <= nr; beta = 0 never reads c. Columns of b and c are
     * contiguous. Packed operands have a_rs = 1, a_cs = mr, b_rs = nr. Reads nothing outside the operands
     * unless they are packed panels, which HD_GEMM_SLACK bytes may follow. */
    void (*run)(const hd_gemm_tile *t, int64_t m, int64_t n, int64_t k, double alpha, const void *a,
                int64_t a_rs, int64_t a_cs, const void *b, int64_t b_rs, double beta, void *c, int64_t c_rs);
    /* One panel: to[p * width + i] = from[i * inc + p * ld] for i < rows, 0 for the rest of the width. */
    void (*pack)(int64_t width, int64_t rows, int64_t k, const void *from, int64_t inc, int64_t ld, void *to);
    /* c = alpha a b + beta c for few rows (or few columns, by mirroring) when the rows of a and the columns
     * of b are contiguous: b is read once, as it lies. NULL: not to be had. */
    void (*dots)(int64_t m, int64_t n, int64_t k, double alpha, const void *a, int64_t a_rs, const void *b,
                 int64_t b_cs, double beta, void *c, int64_t c_rs, int64_t c_cs);
    void *foreign; /* BLIS' micro-kernel */
    void *foreign_context;
};

/* Bytes behind a packed panel that run() may read and pack() may write. */
#define HD_GEMM_SLACK 512
/* Scratch for a whole register tile of c. */
#define HD_GEMM_TILE_BYTES 8192

typedef struct hd_gemm_tiles {
    hd_gemm_tile f32, f64;
} hd_gemm_tiles;

extern const hd_gemm_tiles hd_gemm_tiles_plain, hd_gemm_tiles_avx2, hd_gemm_tiles_avx512;

/* What one context uses. */
struct hd_gemm_plan {
    hd_gemm_tiles blocked; /* ours or BLIS' */
    hd_gemm_tiles direct;  /* ours */
};

typedef enum hd_gemm_source { HD_GEMM_BEST = 0, HD_GEMM_OWN, HD_GEMM_BLIS } hd_gemm_source;

/* hd_gemm_init with a wish, for specs and benchmarks: whose register tile large products use. */
hd_status hd_gemm_choose(hd_ctx *cx, hd_gemm_source source);

/* The three routes of a product. c may have any strides; k may be 0, but not m, n or batch. However a
 * product is cut into tasks, every element of c is summed in the same order. */

/* Operands are read where they lie (b is transposed panel by panel when its rows are not contiguous):
 * small products and batches of them. */
hd_status hd_gemm_direct(hd_ctx *cx, const hd_gemm_tile *t, const hd_gemm *g);
/* Few rows of a against the columns of b, both contiguous: needs t->dots. */
hd_status hd_gemm_dots(hd_ctx *cx, const hd_gemm_tile *t, const hd_gemm *g);
/* Blocks of a and b are packed once, by all threads, then read from the caches: large products. */
hd_status hd_gemm_blocked(hd_ctx *cx, const hd_gemm_tile *t, const hd_gemm *g);

#endif
