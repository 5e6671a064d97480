/* Products of quantised weights: every format, number of rows and instruction set against the numbers that
 * its blocks and x's bytes stand for. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "kernels/blocks.h"
#include "kernels/kernels.h"
#include "tensor/half.h"

enum { IN = 512, OUT = 21, MOST_ROWS = 19, PANELS = 2 };

static const char *const formats[HD_PANEL_KINDS] = {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0",   "Q2_K",
                                                    "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS"};

static uint32_t state = 7;

static uint32_t pick(uint32_t count) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % count;
}

static float draw(void) {
    return (float)pick(20001) / 10000 - 1;
}

/* ---- weights ------------------------------------------------------------------------------------------- */

static uint8_t blocks[OUT * IN * 2];
static float weights[OUT][IN];
static uint8_t panels[PANELS][IN * 40];
static size_t row_bytes;

static void put_f16(uint8_t *to, float x) {
    const uint16_t half = hd_to_f16(x);
    memcpy(to, &half, 2);
}

/* Random bytes are blocks of any format once their scales are floats; each tells by itself where it has them. */
static void draw_blocks(hd_panel_kind kind, const hd_block_format *f) {
    static const int d_at[HD_PANEL_KINDS] = {0, 0, 0, 0, 0, 80, 108, 0, 0, 208, 0, 0};
    row_bytes = (size_t)(IN / f->elements * f->bytes);
    for (size_t i = 0; i < OUT * row_bytes; i++) blocks[i] = (uint8_t)pick(256);
    for (size_t at = 0; at < OUT * row_bytes; at += (size_t)f->bytes) {
        put_f16(blocks + at + d_at[kind], draw() / 8);
        if (hd_panel_layouts[kind].has_m) put_f16(blocks + at + d_at[kind] + 2, draw() / 8);
    }
    for (int j = 0; j < OUT; j++) f->dequantize(blocks + (size_t)j * row_bytes, IN / f->elements, weights[j]);
    for (int p = 0; p < PANELS; p++) {
        const int rows = OUT - 16 * p < 16 ? OUT - 16 * p : 16;
        CHECK(hd_panel_bytes(&hd_panel_layouts[kind], IN) <= sizeof panels[p]);
        hd_panel_pack(kind, rows, IN, blocks + (size_t)(16 * p) * row_bytes, row_bytes, panels[p]);
    }
}

/* ---- x ------------------------------------------------------------------------------------------------- */

static float x[MOST_ROWS][IN], y[MOST_ROWS][OUT + 3];
static int8_t q[MOST_ROWS * IN], fine[MOST_ROWS * IN];
static float scale[MOST_ROWS * IN / 32], scaled[MOST_ROWS * IN / 16];
static int32_t sums[2 * MOST_ROWS * IN / 16];
static const hd_byte_rows rows = {IN, q, fine, scale, sums, scaled};

static void draw_x(const hd_panel_kernels *k) {
    for (int i = 0; i < MOST_ROWS; i++) {
        for (int c = 0; c < IN; c++) x[i][c] = draw() * (c / 32 % 5 == 4 ? 0 : c / 32 % 3 == 1 ? 1e-6f : 10);
        k->to_bytes(x[i], &rows, i);
    }
}

/* x as the bytes have it. */
static double number(int row, int c) {
    return scale[row * (IN / 32) + c / 32] * (q[row * IN + c] + (double)fine[row * IN + c] / HD_FINE_STEPS);
}

/* Bytes are as near to x as they can be. */
static void check_bytes(void) {
    for (int i = 0; i < MOST_ROWS; i++)
        for (int b = 0; b < IN / 32; b++) {
            float most = 0;
            for (int c = 32 * b; c < 32 * b + 32; c++) most = fmaxf(most, fabsf(x[i][c]));
            const float d = scale[i * (IN / 32) + b];
            CHECK(fabsf(d - most / 127) <= 1e-6f * most);
            for (int c = 32 * b; c < 32 * b + 32; c++) {
                CHECK(fabsf(x[i][c] - d * (float)q[i * IN + c]) <= d * 0.5001f);
                CHECK(fabs(x[i][c] - number(i, c)) <= d * 0.51f / HD_FINE_STEPS);
            }
            for (int s = 2 * b; s < 2 * b + 2; s++) {
                int32_t sum = 0, fine_sum = 0;
                for (int c = 16 * s; c < 16 * s + 16; c++) sum += q[i * IN + c], fine_sum += fine[i * IN + c];
                CHECK(sums[2 * (i * (IN / 16) + s)] == sum && sums[2 * (i * (IN / 16) + s) + 1] == fine_sum);
                const float want = ((float)sum + (float)fine_sum / HD_FINE_STEPS) * d;
                CHECK(fabsf(scaled[i * (IN / 16) + s] - want) <= 1e-6f * fabsf(want));
            }
        }
}

/* ---- products ------------------------------------------------------------------------------------------ */

static void multiply(const hd_panel_kernels *k, hd_panel_kind kind, int count) {
    for (int i = 0; i < MOST_ROWS; i++)
        for (int j = 0; j < OUT + 3; j++) y[i][j] = 77;
    for (int p = 0; p < PANELS; p++) {
        const int columns = OUT - 16 * p < 16 ? OUT - 16 * p : 16;
        k->dots[kind](panels[p], &rows, MOST_ROWS - count, count, &y[0][16 * p], OUT + 3, columns);
    }
}

static void check_product(int count) {
    for (int i = 0; i < count; i++)
        for (int j = 0; j < OUT; j++) {
            const int row = MOST_ROWS - count + i;
            double sum = 0, size = 0;
            for (int c = 0; c < IN; c++) {
                const double term = (double)weights[j][c] * number(row, c);
                sum += term, size += fabs(term);
            }
            CHECK(fabs(y[i][j] - sum) <= 1e-6 * size);
        }
    for (int i = 0; i < MOST_ROWS; i++)
        for (int j = i < count ? OUT : 0; j < OUT + 3; j++) CHECK(y[i][j] == 77);
}

static void test_products(const hd_panel_kernels *k) {
    draw_x(k);
    check_bytes();
    for (int kind = 0; kind < HD_PANEL_KINDS; kind++) {
        const hd_block_format *f = hd_block_format_named(formats[kind]);
        hd_panel_kind named;
        CHECK(f && hd_panel_kind_named(formats[kind], &named) && (int)named == kind);
        draw_blocks(named, f);
        for (int count = 0; count <= MOST_ROWS; count++) {
            multiply(k, named, count);
            check_product(count);
        }
    }
}

/* The bits of a row do not depend on the rows beside it. */
static void test_bits(const hd_panel_kernels *k) {
    static float alone[OUT];
    for (int kind = 0; kind < HD_PANEL_KINDS; kind++) {
        draw_blocks((hd_panel_kind)kind, hd_block_format_named(formats[kind]));
        multiply(k, (hd_panel_kind)kind, 1);
        memcpy(alone, y[0], sizeof alone);
        multiply(k, (hd_panel_kind)kind, MOST_ROWS);
        CHECK(!memcmp(alone, y[MOST_ROWS - 1], sizeof alone));
    }
}

static void test_what_is_not_finite(const hd_panel_kernels *k) {
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    draw_blocks(HD_PANEL_Q4_1, hd_block_format_named("Q4_1"));
    for (int b = 0; b < 3; b++) {
        draw_x(k);
        x[MOST_ROWS - 1][33] = bad[b];
        k->to_bytes(x[MOST_ROWS - 1], &rows, MOST_ROWS - 1);
        multiply(k, HD_PANEL_Q4_1, 2);
        for (int j = 0; j < OUT; j++) CHECK(!isnan(y[0][j]) && isnan(y[1][j]));
    }
}

int main(void) {
    hd_panel_kind kind;
    CHECK(!hd_panel_kind_named("TQ1_0", &kind));
    for (int isa = 0; isa < HD_ISA_COUNT; isa++) {
        const hd_kernels *k = hd_kernels_of((hd_isa)isa);
        if (!k) continue;
        test_products(k->panels);
        test_bits(k->panels);
        test_what_is_not_finite(k->panels);
    }
    return checks_done();
}
