#include "kernels/panels.h"

#include <string.h>

#define LAYOUT(name, bits, zero, part, unit, has_m, listed, scales)                                          \
    {bits, zero, part, unit, has_m, listed, scales},
const hd_panel_layout hd_panel_layouts[HD_PANEL_KINDS] = {HD_EACH_PANEL_KIND(LAYOUT)};
#undef LAYOUT

bool hd_panel_kind_named(const char *format, hd_panel_kind *kind) {
    static const char *const names[HD_PANEL_KINDS] = {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0",   "Q2_K",
                                                      "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS"};
    for (int i = 0; i < HD_PANEL_KINDS; i++)
        if (!strcmp(names[i], format)) {
            *kind = (hd_panel_kind)i;
            return true;
        }
    return false;
}

/* ---- a unit of one row, taken apart ------------------------------------------------------------------ */

/* Elements of a block are read four at a time: a word holds the four of a group, a byte each, and the planes
 * of a row are words that hold several groups (below: in the bits from `width` times a whole number on). */
enum { BLOCKS = 8 /* of a unit, at most */, PLANES = 8 /* of a block, at most */ };

typedef struct unit {
    uint16_t d, m;
    uint32_t planes[BLOCKS][PLANES];
    uint8_t scale[16], least[16]; /* of parts, as a panel has them */
} unit;

static inline uint16_t u16_at(const uint8_t *p) {
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t word_at(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Planes of `width` bits from the eight groups in 32 bytes, of which an element's byte has it from bit
 * `shift` on. */
static inline void put_planes(const uint8_t *bytes, int shift, int width, uint32_t *planes) {
    const int count = width;
    const uint32_t mask = 0x01010101u * ((1u << width) - 1);
    for (int i = 0; i < count; i++) planes[i] = 0;
    for (int g = 0; g < HD_PANEL_GROUPS; g++)
        planes[g % count] |= (word_at(bytes + 4 * g) >> shift & mask) << g / count * width;
}

/* A byte of a file that has element k in its low half and k + 16 in its high half is a byte of a plane. */
static inline void copy_planes(const uint8_t *bytes, uint32_t *planes) {
    for (int i = 0; i < 4; i++) planes[i] = word_at(bytes + 4 * i);
}

/* The fifth bits of 32 elements, one behind the other. */
static inline uint32_t plane_of_bits(const uint8_t *bytes) {
    const uint32_t bits = word_at(bytes);
    uint32_t plane = 0;
    for (int e = 0; e < 4; e++) { /* every fourth bit, drawn together */
        uint32_t x = bits >> e & 0x11111111;
        x = (x | x >> 3) & 0x03030303;
        x = (x | x >> 6) & 0x000F000F;
        plane |= ((x | x >> 12) & 0xFF) << 8 * e;
    }
    return plane;
}

static void read_q4_0(const uint8_t *b, unit *u) {
    u->d = u16_at(b);
    copy_planes(b + 2, u->planes[0]);
}

static void read_q4_1(const uint8_t *b, unit *u) {
    u->d = u16_at(b), u->m = u16_at(b + 2);
    copy_planes(b + 4, u->planes[0]);
}

static void read_q5_0(const uint8_t *b, unit *u) {
    u->d = u16_at(b);
    copy_planes(b + 6, u->planes[0]);
    u->planes[0][4] = plane_of_bits(b + 2);
}

static void read_q5_1(const uint8_t *b, unit *u) {
    u->d = u16_at(b), u->m = u16_at(b + 2);
    copy_planes(b + 8, u->planes[0]);
    u->planes[0][4] = plane_of_bits(b + 4);
}

static void read_q8_0(const uint8_t *b, unit *u) {
    u->d = u16_at(b);
    for (int g = 0; g < HD_PANEL_GROUPS; g++) u->planes[0][g] = word_at(b + 2 + 4 * g) ^ 0x80808080;
}

static void read_q2_k(const uint8_t *b, unit *u) {
    u->d = u16_at(b + 80), u->m = u16_at(b + 82);
    memcpy(u->scale, b, 16);
    for (int p = 0; p < BLOCKS; p++) put_planes(b + 16 + p / 4 * 32, p % 4 * 2, 2, u->planes[p]);
}

static void read_q3_k(const uint8_t *b, unit *u) {
    const uint8_t *scales = b + 96;
    u->d = u16_at(b + 108);
    for (int p = 0; p < BLOCKS; p++) {
        put_planes(b + 32 + p / 4 * 32, p % 4 * 2, 2, u->planes[p]);
        put_planes(b, p, 1, u->planes[p] + 2);
    }
    for (int p = 0; p < 16; p++) {
        const int low = scales[p % 8] >> p / 8 * 4 & 15, high = scales[8 + p % 4] >> p / 4 * 2 & 3;
        u->scale[p] = (uint8_t)((low | high << 4) - 32);
    }
}

static void six_bits(const uint8_t *packed, unit *u) {
    for (int p = 0; p < 4; p++) {
        u->scale[p] = packed[p] & 63;
        u->least[p] = packed[4 + p] & 63;
        u->scale[4 + p] = (uint8_t)((packed[8 + p] & 15) | (packed[p] >> 2 & 48));
        u->least[4 + p] = (uint8_t)(packed[8 + p] >> 4 | (packed[4 + p] >> 2 & 48));
    }
}

static void read_q4_k(const uint8_t *b, unit *u) {
    u->d = u16_at(b), u->m = u16_at(b + 2);
    six_bits(b + 4, u);
    for (int p = 0; p < BLOCKS; p++) put_planes(b + 16 + p / 2 * 32, p % 2 * 4, 4, u->planes[p]);
}

static void read_q5_k(const uint8_t *b, unit *u) {
    u->d = u16_at(b), u->m = u16_at(b + 2);
    six_bits(b + 4, u);
    for (int p = 0; p < BLOCKS; p++) {
        put_planes(b + 48 + p / 2 * 32, p % 2 * 4, 4, u->planes[p]);
        put_planes(b + 16, p, 1, u->planes[p] + 4);
    }
}

static void read_q6_k(const uint8_t *b, unit *u) {
    u->d = u16_at(b + 208);
    memcpy(u->scale, b + 192, 16);
    for (int p = 0; p < BLOCKS; p++) {
        put_planes(b + p / 4 * 64 + p % 2 * 32, p % 4 / 2 * 4, 4, u->planes[p]);
        put_planes(b + 128 + p / 4 * 32, p % 4 * 2, 2, u->planes[p] + 4);
    }
}

static void read_iq4_xs(const uint8_t *b, unit *u) {
    const int high = u16_at(b + 2);
    u->d = u16_at(b);
    for (int p = 0; p < BLOCKS; p++) {
        u->scale[p] = (uint8_t)(((b[4 + p / 2] >> p % 2 * 4 & 15) | (high >> 2 * p & 3) << 4) - 32);
        copy_planes(b + 8 + 16 * p, u->planes[p]);
    }
}

typedef struct source {
    int bytes; /* of a unit in the file */
    void (*read)(const uint8_t *block, unit *u);
} source;

static const source sources[HD_PANEL_KINDS] = {
    {18, read_q4_0},  {20, read_q4_1},  {22, read_q5_0},  {24, read_q5_1},
    {34, read_q8_0},  {84, read_q2_k},  {110, read_q3_k}, {144, read_q4_k},
    {176, read_q5_k}, {210, read_q6_k}, {18, read_q4_0},  {136, read_iq4_xs},
};

/* ---- into a panel ------------------------------------------------------------------------------------ */

static inline void put_word(uint8_t *to, uint32_t word) {
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(word >> 8 * i);
}

static void put_scales(const hd_panel_layout *l, uint8_t *to, int r, int block, const unit *u) {
    const int parts = HD_PANEL_BLOCK / l->part;
    for (int p = 0; p < parts && l->scales != HD_SCALES_NONE; p++) {
        to[HD_PANEL_ROWS * p + r] = u->scale[block * parts + p];
        if (l->scales == HD_SCALES_AND_MINIMA)
            to[HD_PANEL_ROWS * (parts + p) + r] = u->least[block * parts + p];
    }
}

static void put_unit(const hd_panel_layout *l, uint8_t *to, int r, const unit *u) {
    memcpy(to + 2 * r, &u->d, 2);
    if (l->has_m) memcpy(to + 2 * (HD_PANEL_ROWS + r), &u->m, 2);
    to += 2 * HD_PANEL_ROWS * (l->has_m ? 2 : 1);
    for (int block = 0; block < l->unit / HD_PANEL_BLOCK; block++, to += hd_panel_block_bytes(l)) {
        put_scales(l, to, r, block, u);
        uint8_t *plane = to + hd_panel_scale_bytes(l) + 4 * r;
        for (int i = 0; i < l->bits; i++, plane += 64) put_word(plane, u->planes[block][i]);
    }
}

void hd_panel_pack(hd_panel_kind kind, int rows, int64_t in, const uint8_t *blocks, size_t row_bytes,
                   uint8_t *panel) {
    const hd_panel_layout *l = &hd_panel_layouts[kind];
    const source *s = &sources[kind];
    const size_t unit_bytes = (size_t)hd_panel_unit_bytes(l);
    if (rows < HD_PANEL_ROWS) memset(panel, 0, hd_panel_bytes(l, in));
    for (int64_t i = 0; i < in / l->unit; i++)
        for (int r = 0; r < rows; r++) {
            unit u;
            s->read(blocks + (size_t)r * row_bytes + (size_t)i * (size_t)s->bytes, &u);
            put_unit(l, panel + (size_t)i * unit_bytes, r, &u);
        }
}
