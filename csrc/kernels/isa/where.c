/* where.c: y = c ? a : b. */
#include "kernels/isa/map.h"
#include "kernels/isa/parts.h"

/* where_f32 where_f64 where_i64 where_i32 where_u8. With the same c for a whole run it is a copy. Both
 * operands are loaded before the choice, so that the compiler makes no branch of it. */
#define WHERE(type, T)                                                                                       \
    static void where_##type(int64_t n, const uint8_t *c, int64_t sc, const void *pa, int64_t sa,            \
                             const void *pb, int64_t sb, void *py, int64_t sy) {                             \
        const T *a = pa, *b = pb;                                                                            \
        T *y = py;                                                                                           \
        if (n <= 0) return;                                                                                  \
        const T yes = *a, no = *b;                                                                           \
        const bool in_line = sc == 1 && sy == 1;                                                             \
        if (in_line && sa == 1 && sb == 1) {                                                                 \
            HD_INDEPENDENT for (int64_t i = 0; i < n; i++) {                                                 \
                T a_i = a[i], b_i = b[i];                                                                    \
                y[i] = c[i] ? a_i : b_i;                                                                     \
            }                                                                                                \
        } else if (in_line && sa == 0 && sb == 1) {                                                          \
            HD_INDEPENDENT for (int64_t i = 0; i < n; i++) {                                                 \
                T b_i = b[i];                                                                                \
                y[i] = c[i] ? yes : b_i;                                                                     \
            }                                                                                                \
        } else if (in_line && sa == 1 && sb == 0) {                                                          \
            HD_INDEPENDENT for (int64_t i = 0; i < n; i++) {                                                 \
                T a_i = a[i];                                                                                \
                y[i] = c[i] ? a_i : no;                                                                      \
            }                                                                                                \
        } else if (in_line && sa == 0 && sb == 0) {                                                          \
            HD_INDEPENDENT for (int64_t i = 0; i < n; i++) y[i] = c[i] ? yes : no;                           \
        } else if (sc == 0) {                                                                                \
            const T *x = *c ? a : b;                                                                         \
            const int64_t sx = *c ? sa : sb;                                                                 \
            if (sx == 1 && sy == 1)                                                                          \
                HD_INDEPENDENT for (int64_t i = 0; i < n; i++) y[i] = x[i];                                  \
            else                                                                                             \
                for (int64_t i = 0; i < n; i++) y[i * sy] = x[i * sx];                                       \
        } else {                                                                                             \
            for (int64_t i = 0; i < n; i++) y[i * sy] = c[i * sc] ? a[i * sa] : b[i * sb];                   \
        }                                                                                                    \
    }
WHERE(f32, float)
WHERE(f64, double)
WHERE(i64, int64_t)
WHERE(i32, int32_t)
WHERE(u8, uint8_t) /* of bool too */

void HD_ISA(hd_fill_where)(hd_kernels *k) {
    k->where[HD_F32] = where_f32;
    k->where[HD_F64] = where_f64;
    k->where[HD_I64] = where_i64;
    k->where[HD_I32] = where_i32;
    k->where[HD_U8] = k->where[HD_BOOL] = where_u8;
}
