/* Moving elements, of every table: runs, squares that are transposed, and what is written past the caches. */
#include "kernels_check.h"

static const char *element(const block *x, size_t size, int64_t i) {
    return (const char *)x->bytes + (int64_t)size * i;
}

static void check_element(size_t size, int64_t y, int64_t x) {
    CHECK(memcmp(element(&out, size, y), element(&in_a, size, x), size) == 0);
}

/* Outside the `n` elements from `base` on, in bytes. */
static void check_around(size_t size, int64_t base, int64_t n) {
    int64_t end = (base + n) * (int64_t)size;
    CHECK(memcmp(out.bytes, before.bytes, (size_t)base * size) == 0);
    CHECK(memcmp(out.bytes + end, before.bytes + end, 256) == 0);
}

static void check_run(size_t size, int64_t n, int64_t sx) {
    int64_t x0 = base_of(sx);
    memcpy(&out, &before, sizeof out);
    k->copy[hd_size_class(size)](n, element(&in_a, size, x0), sx, (void *)element(&out, size, 3), 1);
    for (int64_t i = 0; i < n; i++) check_element(size, 3 + i, x0 + i * sx);
    check_around(size, 3, n);
    k->copy[hd_size_class(size)](n, element(&in_a, size, x0), sx, (void *)element(&out, size, 3), 2);
    for (int64_t i = 0; i < n; i++) check_element(size, 3 + 2 * i, x0 + i * sx);
}

/* From every place in a line of the cache. */
static void check_streams(size_t size, int64_t n) {
    if (!k->stream) return;
    for (int64_t base = 0; base < 64; base += n < 70 ? 1 : 7) {
        memcpy(&out, &before, sizeof out);
        k->stream((size_t)n * size, element(&in_a, size, 5), (void *)element(&out, size, base));
        k->streamed();
        for (int64_t i = 0; i < n; i++) check_element(size, base + i, 5 + i);
        check_around(size, base, n);
        memcpy(&out, &before, sizeof out);
        k->stream_back[hd_size_class(size)](n, element(&in_a, size, MAX), (void *)element(&out, size, base));
        k->streamed();
        for (int64_t i = 0; i < n; i++) check_element(size, base + i, MAX - i);
        check_around(size, base, n);
    }
}

static void check_transpose(size_t size, int64_t rows, int64_t n) {
    const int64_t step = rows + 3, y_row = n + 2;
    memcpy(&out, &before, sizeof out);
    k->transpose[hd_size_class(size)](rows, n, element(&in_a, size, 1), step, (void *)element(&out, size, 3),
                                      y_row);
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = 0; i < n; i++) check_element(size, 3 + r * y_row + i, 1 + r + i * step);
        for (int64_t i = n; i < y_row; i++)
            CHECK(memcmp(element(&out, size, 3 + r * y_row + i), element(&before, size, 3 + r * y_row + i),
                         size) == 0);
    }
}

static void check_size(size_t size) {
    EACH_LENGTH(n) {
        for (int s = 0; s < STRIDES; s++) check_run(size, n, strides[s]);
        check_streams(size, n);
    }
    for (int64_t rows = 1; rows < 50; rows += rows < 20 ? 1 : 7)
        for (int64_t n = 1; n < 60; n += n < 20 ? 1 : 9) check_transpose(size, rows, n);
}

static void check_copies(void) {
    for (int64_t i = 0; i < ROOM * 8; i++) in_a.bytes[i] = (uint8_t)(noise(i) * 256);
    for (size_t size = 1; size <= 8; size *= 2) check_size(size);
}

int main(void) {
    return check_tables(check_copies);
}
