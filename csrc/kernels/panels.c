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

enum { MOST = 256 };

typedef struct unit {
    uint16_t d, m;
    uint8_t q[MOST];
    uint8_t scale[16], least[16]; /* of parts, as a panel has them */
} unit;

static uint16_t u16_at(const uint8_t *p) {
    return (uint16_t)(p[0] | p[1] << 8);
}

/* Element k of 32 in the low half of byte k, element k + 16 in its high half. */
static void halves(const uint8_t *from, uint8_t *q) {
    for (int k = 0; k < 16; k++) q[k] = from[k] & 15, q[k + 16] = from[k] >> 4;
}

static void fifth_bits(const uint8_t *from, uint8_t *q) {
    for (int k = 0; k < 32; k++) q[k] |= (uint8_t)((from[k / 8] >> k % 8 & 1) << 4);
}

static void read_q4_0(const uint8_t *b, unit *u) {
    u->d = u16_at(b);
    halves(b + 2, u->q);
}

static void read_q4_1(const uint8_t *b, unit *u) {
    u->d = u16_at(b), u->m = u16_at(b + 2);
    halves(b + 4, u->q);
}

static void read_q5_0(const uint8_t *b, unit *u) {
    u->d = u16_at(b);
    halves(b + 6, u->q);
    fifth_bits(b + 2, u->q);
}

static void read_q5_1(const uint8_t *b, unit *u) {
    u->d = u16_at(b), u->m = u16_at(b + 2);
    halves(b + 8, u->q);
    fifth_bits(b + 4, u->q);
}

static void read_q8_0(const uint8_t *b, unit *u) {
    u->d = u16_at(b);
    for (int k = 0; k < 32; k++) u->q[k] = b[2 + k] ^ 0x80;
}

/* Two bits of each of 256 elements in 64 bytes: of 128 elements byte k has element k + 32 s from bit 2 s. */
static void quarters(const uint8_t *from, uint8_t *q) {
    for (int k = 0; k < MOST; k++) q[k] = from[k / 128 * 32 + k % 32] >> k % 128 / 32 * 2 & 3;
}

static void read_q2_k(const uint8_t *b, unit *u) {
    u->d = u16_at(b + 80), u->m = u16_at(b + 82);
    memcpy(u->scale, b, 16);
    quarters(b + 16, u->q);
}

static void read_q3_k(const uint8_t *b, unit *u) {
    const uint8_t *scales = b + 96;
    u->d = u16_at(b + 108);
    quarters(b + 32, u->q);
    for (int k = 0; k < MOST; k++) u->q[k] |= (uint8_t)((b[k % 32] >> k / 32 & 1) << 2);
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
    for (int k = 0; k < MOST; k++) u->q[k] = b[16 + k / 64 * 32 + k % 32] >> k / 32 % 2 * 4 & 15;
}

static void read_q5_k(const uint8_t *b, unit *u) {
    u->d = u16_at(b), u->m = u16_at(b + 2);
    six_bits(b + 4, u);
    for (int k = 0; k < MOST; k++) {
        const int low = b[48 + k / 64 * 32 + k % 32] >> k / 32 % 2 * 4 & 15;
        u->q[k] = (uint8_t)(low | (b[16 + k % 32] >> k / 32 & 1) << 4);
    }
}

static void read_q6_k(const uint8_t *b, unit *u) {
    u->d = u16_at(b + 208);
    memcpy(u->scale, b + 192, 16);
    for (int k = 0; k < MOST; k++) {
        const int low = b[k / 128 * 64 + k % 64] >> k / 64 % 2 * 4 & 15;
        const int high = b[128 + k / 128 * 32 + k % 32] >> k / 32 % 4 * 2 & 3;
        u->q[k] = (uint8_t)(low | high << 4);
    }
}

static void read_iq4_xs(const uint8_t *b, unit *u) {
    const int high = u16_at(b + 2);
    u->d = u16_at(b);
    for (int p = 0; p < 8; p++) {
        u->scale[p] = (uint8_t)(((b[4 + p / 2] >> p % 2 * 4 & 15) | (high >> 2 * p & 3) << 4) - 32);
        halves(b + 8 + 16 * p, u->q + 32 * p);
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

/* Bits of element e of row r, in planes of 64 bytes that begin with the widest: a plane of 4 bits has
 * groups g and g + 4 in a byte, one of 2 bits g, g + 2, g + 4 and g + 6, one of 1 bit all. */
static void put_bits(uint8_t *plane, int width, int r, int e, int value) {
    const int planes = width, group = e / 4;
    plane[group % planes * 64 + 4 * r + e % 4] |= (uint8_t)(value << group / planes * width);
}

static void put_element(const hd_panel_layout *l, uint8_t *planes, int r, int e, int q) {
    const int base = l->bits == 8 ? 8 : l->bits >= 4 ? 4 : 2, rest = l->bits - base;
    put_bits(planes, base, r, e, q & ((1 << base) - 1));
    if (rest) put_bits(planes + 64 * base, rest, r, e, q >> base);
}

static void put_scales(const hd_panel_layout *l, uint8_t *to, int r, int block, const unit *u) {
    const int parts = HD_PANEL_BLOCK / l->part;
    if (l->scales == HD_SCALES_NONE) return;
    for (int p = 0; p < parts; p++) {
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
        for (int e = 0; e < HD_PANEL_BLOCK; e++)
            put_element(l, to + hd_panel_scale_bytes(l), r, e, u->q[HD_PANEL_BLOCK * block + e]);
    }
}

void hd_panel_pack(hd_panel_kind kind, int rows, int64_t in, const uint8_t *blocks, size_t row_bytes,
                   uint8_t *panel) {
    const hd_panel_layout *l = &hd_panel_layouts[kind];
    const source *s = &sources[kind];
    memset(panel, 0, hd_panel_bytes(l, in));
    for (int64_t i = 0; i < in / l->unit; i++)
        for (int r = 0; r < rows; r++) {
            unit u;
            s->read(blocks + (size_t)r * row_bytes + (size_t)i * (size_t)s->bytes, &u);
            put_unit(l, panel + (size_t)i * (size_t)hd_panel_unit_bytes(l), r, &u);
        }
}
