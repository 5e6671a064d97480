/* The keys by which elements are put in order, of every table. */
#include "kernels_check.h"

static const hd_dtype ordered[] = {HD_BOOL, HD_U8, HD_I32, HD_I64, HD_F32, HD_F64};

static uint64_t key(hd_dtype t, const block *keys, int64_t i) {
    return size_of(t) == 8 ? (uint64_t)keys->i[i] : (uint32_t)keys->i32[i];
}

/* -1, 0, 1: NaN above all, and equal to itself; 0 and -0 equal. */
static int compare(double a, double b) {
    if (a != a || b != b) return (a != a) - (b != b);
    return (a > b) - (a < b);
}

static void check_pairs(hd_dtype t, int64_t n, const block *x) {
    for (int descending = 0; descending < 2; descending++) {
        k->order_keys[t](n, x, descending, &out);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n && j < 70; j++) {
                int wanted = compare(get(t, x, i), get(t, x, j));
                uint64_t a = key(t, &out, i), b = key(t, &out, j);
                CHECK(((a > b) - (a < b)) == (descending ? -wanted : wanted));
            }
    }
}

static void check_keys(void) {
    static const double corners[] = {0,     -0.0,   NAN,    INFINITY, -INFINITY, 1,   -1,  1e-40, -1e-40,
                                     1e-30, -1e-30, 3.4e38, -3.4e38,  0.5,       1.5, NAN, -1.5,  2};
    EACH_DTYPE(t, ordered) {
        make(t, &in_a, 50, t);
        for (int64_t i = 0; i < 18 && hd_dtype_is_float(t); i++) set(t, &in_a, 2 * i, corners[i]);
        EACH_LENGTH(n) check_pairs(t, n, &in_a);
    }
    in_a.i[0] = INT64_MIN, in_a.i[1] = INT64_MAX, in_a.i[2] = -1, in_a.i[3] = 0;
    check_pairs(HD_I64, 4, &in_a);
    in_a.i32[0] = INT32_MIN, in_a.i32[1] = INT32_MAX, in_a.i32[2] = -1, in_a.i32[3] = 0;
    check_pairs(HD_I32, 4, &in_a);
}

int main(void) {
    return check_tables(check_keys);
}
