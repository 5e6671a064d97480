/* panels.h: quantised weights [out, in] as products read them.
 *
 * Sixteen rows stand side by side in a panel, so that a lane of a vector holds a row: a group of four
 * elements of all sixteen is 64 bytes, which one instruction multiplies with four bytes of x. Nothing is
 * summed across lanes, and a scale for each row is one vector. Panels hold the same numbers as the blocks
 * of the file (blocks.h) in as many bits; only the scales of parts, which files pack into 4 or 6 bits, are
 * bytes here.
 *
 *     panel:     in / unit units, one behind the other
 *     unit:      d f16 [16]; m f16 [16] where there is a minimum; in / 32 of its blocks
 *     block:     32 elements of each row: scales of its parts (none, where a unit is one block), then the
 *                elements as planes of bits: a byte of a plane has an element each of several groups
 *
 *     w = d s (q - zero), or d s q + o: o is m, or -m times the part's minimum
 */
#ifndef HD_PANELS_H
#define HD_PANELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HD_PANEL_ROWS = 16, HD_PANEL_BLOCK = 32, HD_PANEL_GROUPS = 8 /* of four elements, in a block */ };

typedef enum hd_panel_kind {
    HD_PANEL_Q4_0,
    HD_PANEL_Q4_1,
    HD_PANEL_Q5_0,
    HD_PANEL_Q5_1,
    HD_PANEL_Q8_0,
    HD_PANEL_Q2_K,
    HD_PANEL_Q3_K,
    HD_PANEL_Q4_K,
    HD_PANEL_Q5_K,
    HD_PANEL_Q6_K,
    HD_PANEL_IQ4_NL,
    HD_PANEL_IQ4_XS,
    HD_PANEL_KINDS
} hd_panel_kind;

/* How the scales of parts are stored: none; a signed byte; scale and minimum, a byte each, or four bits
 * each of one. */
typedef enum hd_panel_scales {
    HD_SCALES_NONE,
    HD_SCALES_SIGNED,
    HD_SCALES_AND_MINIMA,
    HD_SCALES_PACKED
} hd_panel_scales;

/* Constants of a kind: kernels are compiled for each. */
typedef struct hd_panel_layout {
    int bits;    /* of an element */
    int zero;    /* what is subtracted from it */
    int part;    /* elements with a scale of their own: 16 or 32 */
    int unit;    /* elements with a d (and an m) of their own: 32 or 256 */
    bool has_m;  /* there is a minimum */
    bool listed; /* elements are indices of hd_panel_values */
    hd_panel_scales scales;
} hd_panel_layout;

/* 128 + the value that a listed element stands for. */
#define HD_PANEL_VALUES                                                                                      \
    { 1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241 }

/* The kinds, in the order of hd_panel_kind. */
#define HD_EACH_PANEL_KIND(X)                                                                                \
    X(q4_0, 4, 8, 32, 32, false, false, HD_SCALES_NONE)                                                      \
    X(q4_1, 4, 0, 32, 32, true, false, HD_SCALES_NONE)                                                       \
    X(q5_0, 5, 16, 32, 32, false, false, HD_SCALES_NONE)                                                     \
    X(q5_1, 5, 0, 32, 32, true, false, HD_SCALES_NONE)                                                       \
    X(q8_0, 8, 128, 32, 32, false, false, HD_SCALES_NONE)                                                    \
    X(q2_k, 2, 0, 16, 256, true, false, HD_SCALES_PACKED)                                                    \
    X(q3_k, 3, 4, 16, 256, false, false, HD_SCALES_SIGNED)                                                   \
    X(q4_k, 4, 0, 32, 256, true, false, HD_SCALES_AND_MINIMA)                                                \
    X(q5_k, 5, 0, 32, 256, true, false, HD_SCALES_AND_MINIMA)                                                \
    X(q6_k, 6, 32, 16, 256, false, false, HD_SCALES_SIGNED)                                                  \
    X(iq4_nl, 4, 128, 32, 32, false, true, HD_SCALES_NONE)                                                   \
    X(iq4_xs, 4, 128, 32, 256, false, true, HD_SCALES_SIGNED)

extern const hd_panel_layout hd_panel_layouts[HD_PANEL_KINDS];

/* The kind of a format of blocks.h; false: products have none for it. */
bool hd_panel_kind_named(const char *format, hd_panel_kind *kind);

/* Bytes of a block's scales, of a block, of a unit. */
static inline int hd_panel_scale_bytes(const hd_panel_layout *l) {
    const int parts = HD_PANEL_BLOCK / l->part * HD_PANEL_ROWS;
    return l->scales == HD_SCALES_NONE ? 0 : l->scales == HD_SCALES_AND_MINIMA ? 2 * parts : parts;
}
static inline int hd_panel_block_bytes(const hd_panel_layout *l) {
    return hd_panel_scale_bytes(l) + l->bits * HD_PANEL_BLOCK / 8 * HD_PANEL_ROWS;
}
static inline int hd_panel_unit_bytes(const hd_panel_layout *l) {
    return 2 * HD_PANEL_ROWS * (l->has_m ? 2 : 1) + l->unit / HD_PANEL_BLOCK * hd_panel_block_bytes(l);
}
/* Of 16 rows of `in` elements, a multiple of the unit. */
static inline size_t hd_panel_bytes(const hd_panel_layout *l, int64_t in) {
    return (size_t)(in / l->unit) * (size_t)hd_panel_unit_bytes(l);
}

/* One panel of `rows` <= 16 rows in the file's blocks, `row_bytes` apart; the rows that lack are zeros. */
void hd_panel_pack(hd_panel_kind kind, int rows, int64_t in, const uint8_t *blocks, size_t row_bytes,
                   uint8_t *panel);

/* ---- x, in bytes ----------------------------------------------------------------------------------- */

/* Rows of x, 32 elements of which share a scale: x is about scale (q + fine / 254), both in -127 .. 127. One
 * byte would do for most models; large language models have elements a thousand times as large as their
 * neighbours, whose products would be lost beside them. */
enum { HD_FINE_STEPS = 254 };
typedef struct hd_byte_rows {
    int64_t in;       /* a multiple of 32 */
    int8_t *q, *fine; /* [rows, in] */
    float *scale;     /* [rows, in / 32] */
    int32_t *sums;    /* [rows, in / 16, 2]: of q and of fine */
    float *scaled;    /* [rows, in / 16]: of x as it is here */
} hd_byte_rows;

typedef struct hd_panel_kernels {
    /* Row `row` of b, of x. NaN and infinities make the row NaN. */
    void (*to_bytes)(const float *x, const hd_byte_rows *b, int64_t row);
    /* y[i y_row + j] = row first + i of x by row j of the panel, i < rows, j < columns <= 16. */
    void (*dots[HD_PANEL_KINDS])(const uint8_t *panel, const hd_byte_rows *x, int64_t first, int64_t rows,
                                 float *y, int64_t y_row, int columns);
} hd_panel_kernels;

#endif
