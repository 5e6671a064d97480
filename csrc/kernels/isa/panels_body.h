/* panels_body.h: products of panels with rows of bytes, included for each way to multiply bytes. DOT4(acc, u,
 * s) adds to each lane four products of unsigned by signed bytes; WIDE_DOT4 is for u above 127. NAME(x) is the
 * kernel's name, TARGET what a function needs beyond the file's instruction set.
 *
 * A block of 32 elements gives one sum of integers for each row of the panel and part; as a float it is
 * multiplied by the scales of both sides. What is subtracted from the elements is subtracted from that sum
 * before, exactly: it starts at -zero times the sum of x's bytes.
 */

/* Vectors that hold the 16 rows. */
#define VECTORS (HD_PANEL_ROWS / VF_LANES)

/* Elements of group g of the rows in lanes: four bytes each. planes: of these lanes. */
TARGET HD_INLINE vu NAME(group)(const hd_panel_layout l, const uint8_t *planes, int g) {
    if (l.bits == 8) return vu_load_bytes(planes + 64 * g);
    if (l.bits >= 4) {
        vu low = vu_load_bytes(planes + 64 * (g % 4)) >> (g < 4 ? 0 : 4) & 0x0F0F0F0F;
        if (l.bits == 5) low |= (vu_load_bytes(planes + 256) >> g & 0x01010101) << 4;
        if (l.bits == 6) low |= (vu_load_bytes(planes + 256 + 64 * (g % 2)) >> g / 2 * 2 & 0x03030303) << 4;
        return l.listed ? listed_values(low) : low;
    }
    vu low = vu_load_bytes(planes + 64 * (g % 2)) >> g / 2 * 2 & 0x03030303;
    if (l.bits == 3) low |= (vu_load_bytes(planes + 128) >> g & 0x01010101) << 2;
    return low;
}

/* The scale of a part's rows, and (has_m) what is added. */
TARGET HD_INLINE void NAME(scales)(const hd_panel_layout l, const uint8_t *unit, const uint8_t *block,
                                   int part, int lane, vf *scale, vf *offset) {
    const uint16_t *d = (const uint16_t *)unit + lane, *m = d + HD_PANEL_ROWS;
    const uint8_t *s = block + HD_PANEL_ROWS * part + lane;
    *scale = vf_of_f16(d);
    if (l.has_m) *offset = vf_of_f16(m);
    if (l.scales == HD_SCALES_SIGNED) *scale *= vf_of_i8(s);
    if (l.scales == HD_SCALES_AND_MINIMA) {
        *scale *= vf_of_u8(s);
        *offset *= -vf_of_u8(s + HD_PANEL_BLOCK / l.part * HD_PANEL_ROWS);
    }
    if (l.scales == HD_SCALES_PACKED) {
        const vu both = vu_of_u8(s);
        *scale *= vf_of_small(both & 15);
        *offset *= -vf_of_small(both >> 4);
    }
}

/* Of ROWS rows: the sums of a part's products with x's bytes and with their fine parts. */
typedef struct NAME(sums) {
    vi coarse[MOST_TILE_ROWS], fine[MOST_TILE_ROWS];
} NAME(sums);

/* planes: of these lanes; q, fine and start: of the block and part of the first row. */
TARGET HD_INLINE void NAME(part_sums)(const hd_panel_layout l, int ROWS, const uint8_t *planes, int part,
                                      const hd_byte_rows *x, const int8_t *q, const int8_t *fine,
                                      const int32_t *start, NAME(sums) * sum) {
    const int64_t sums_row = 2 * (x->in / 16);
    for (int r = 0; r < ROWS; r++) {
        const int32_t *s = start + r * sums_row;
        const bool two = l.part == 32;
        sum->coarse[r] = vi_set(l.zero ? -l.zero * (s[0] + (two ? s[2] : 0)) : 0);
        sum->fine[r] = vi_set(l.zero ? -l.zero * (s[1] + (two ? s[3] : 0)) : 0);
    }
    for (int g = part * l.part / 4; g < (part + 1) * l.part / 4; g++) {
        const vu u = NAME(group)(l, planes, g);
        for (int r = 0; r < ROWS; r++) {
            const vi four = vi_four_bytes(q + r * x->in + 4 * g),
                     rest = vi_four_bytes(fine + r * x->in + 4 * g);
            const bool wide = l.bits == 8 || l.listed;
            sum->coarse[r] = wide ? WIDE_DOT4(sum->coarse[r], u, four) : DOT4(sum->coarse[r], u, four);
            sum->fine[r] = wide ? WIDE_DOT4(sum->fine[r], u, rest) : DOT4(sum->fine[r], u, rest);
        }
    }
}

/* ROWS rows from row i on. */
TARGET HD_INLINE void NAME(tile)(const hd_panel_layout l, int ROWS, const uint8_t *panel,
                                 const hd_byte_rows *x, int64_t i, float *y, int64_t y_row, int columns) {
    const int blocks = l.unit / HD_PANEL_BLOCK, parts = HD_PANEL_BLOCK / l.part, sixteens = l.part / 16;
    const int64_t in = x->in, scales_row = in / 32, sums_row = in / 16;
    const int8_t *q = x->q + i * in, *fine = x->fine + i * in;
    const float *dx = x->scale + i * scales_row, *scaled = x->scaled + i * sums_row;
    const int32_t *start = x->sums + 2 * i * sums_row;
    vf total[MOST_TILE_ROWS][VECTORS] = {{{0}}};
    for (int64_t u = 0; u < in / l.unit; u++) {
        const uint8_t *unit = panel, *block = panel + 2 * HD_PANEL_ROWS * (l.has_m ? 2 : 1);
        panel += hd_panel_unit_bytes(&l);
        for (int b = 0; b < blocks; b++, block += hd_panel_block_bytes(&l)) {
            for (int p = 0; p < parts; p++)
                for (int v = 0; v < VECTORS; v++) {
                    vf scale, offset;
                    NAME(sums) sum;
                    NAME(part_sums)
                    (l, ROWS, block + hd_panel_scale_bytes(&l) + HD_VEC_BYTES * v, p, x, q, fine,
                     start + 2 * sixteens * p, &sum);
                    NAME(scales)(l, unit, block, p, VF_LANES * v, &scale, &offset);
                    for (int r = 0; r < ROWS; r++) {
                        const vf both =
                            vf_of_vi(sum.coarse[r]) + vf_of_vi(sum.fine[r]) * (1.0f / HD_FINE_STEPS);
                        total[r][v] += both * (scale * vf_set(dx[r * scales_row]));
                        if (!l.has_m) continue;
                        const float *s = scaled + r * sums_row + sixteens * p;
                        total[r][v] += offset * vf_set(sixteens > 1 ? s[0] + s[1] : s[0]);
                    }
                }
            q += HD_PANEL_BLOCK, fine += HD_PANEL_BLOCK, dx++, scaled += 2, start += 4;
        }
    }
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < VECTORS && VF_LANES * v < columns; v++)
            vf_store_n(y + r * y_row + VF_LANES * v, total[r][v],
                       columns - VF_LANES * v < VF_LANES ? columns - VF_LANES * v : VF_LANES);
}

#define DEFINE(kind, ...)                                                                                    \
    TARGET static void NAME(dots_##kind)(const uint8_t *panel, const hd_byte_rows *x, int64_t first,         \
                                         int64_t rows, float *y, int64_t y_row, int columns) {               \
        const hd_panel_layout l = {__VA_ARGS__};                                                             \
        int64_t i = 0;                                                                                       \
        for (; rows - i >= MOST_TILE_ROWS; i += MOST_TILE_ROWS)                                              \
            NAME(tile)(l, MOST_TILE_ROWS, panel, x, first + i, y + i * y_row, y_row, columns);               \
        for (; rows - i >= 2; i += 2) NAME(tile)(l, 2, panel, x, first + i, y + i * y_row, y_row, columns);  \
        if (i < rows) NAME(tile)(l, 1, panel, x, first + i, y + i * y_row, y_row, columns);                  \
    }
HD_EACH_PANEL_KIND(DEFINE)
#undef DEFINE

#define ENTRY(kind, ...) NAME(dots_##kind),
static const hd_panel_kernels NAME(kernels) = {to_bytes, {HD_EACH_PANEL_KIND(ENTRY)}};
#undef ENTRY
#undef VECTORS
