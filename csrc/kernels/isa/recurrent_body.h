/* recurrent_body.h: recurrent.c for one element type (names: see vec_real.h). With x = W_ih x + b_ih and
 * u = W_hh h + b_hh, gate by gate:
 *
 *     GRU     r = sigmoid(x_r + u_r)    z = sigmoid(x_z + u_z)    n = tanh(x_n + r u_n)
 *             h' = (1 - z) n + z h
 *     LSTM    i = sigmoid(x_i + u_i)    f = sigmoid(x_f + u_f)    o = sigmoid(x_o + u_o)
 *             g = tanh(x_g + u_g)       c' = f c + i g            h' = o tanh(c')
 *
 * Backward, with d standing for the gradient of what follows it (of gates: before their functions):
 *
 *     GRU     dn = dh' (1 - z) (1 - n²)    dz = dh' (h - n) z (1 - z)    dr = dn u_n r (1 - r)
 *             dh = dh' z, and by W_hh: dr, dz, dn r
 *     LSTM    do = dh' tanh(c') o (1 - o)    dc' += dh' o (1 - tanh²(c'))
 *             di = dc' g i (1 - i)    df = dc' c f (1 - f)    dg = dc' i (1 - g²)    dc = dc' f
 */
#include "kernels/vec_real.h"

/* What one gate gets at elements [i, i + count): from the input, and from the state. */
HD_INLINE vr NAME(of_input)(const real *gates, const real *bias, int64_t at, int64_t count) {
    vr x = V(load_n)(gates + at, count);
    return bias ? x + V(load_n)(bias + at, count) : x;
}

/* a b, and a where that is 0, whatever b is. (Not the constant 0: GCC 12 cannot compile this choice for plain
 * vectors with -O1 and sanitizers.) */
HD_INLINE vr NAME(passed)(vr a, vr b) {
    const vr zero = {0};
    return V(select)(V(eq)(a, zero), a, a * b);
}

static void NAME(gru_row)(int64_t n, void *gates_, const void *recurrent, const void *b_ih, const void *b_hh,
                          const void *before, void *inner, void *h) {
    real *gates = gates_;
    const vr one = V(set)(1);
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t count = n - i < LANES ? n - i : LANES;
        vr r = V(sigmoid)(NAME(of_input)(gates, b_ih, i, count) + NAME(of_input)(recurrent, b_hh, i, count));
        vr z = V(sigmoid)(NAME(of_input)(gates, b_ih, n + i, count) +
                          NAME(of_input)(recurrent, b_hh, n + i, count));
        vr u = NAME(of_input)(recurrent, b_hh, 2 * n + i, count);
        vr candidate = V(tanh)(NAME(of_input)(gates, b_ih, 2 * n + i, count) + r * u);
        V(store_n)(gates + i, r, count);
        V(store_n)(gates + n + i, z, count);
        V(store_n)(gates + 2 * n + i, candidate, count);
        if (inner) V(store_n)((real *)inner + i, u, count);
        vr state = V(load_n)((const real *)before + i, count);
        V(store_n)((real *)h + i, (one - z) * candidate + z * state, count);
    }
}

static void NAME(gru_row_grad)(int64_t n, const void *gates_, const void *inner, const void *before,
                               const void *g, void *dh_, void *dx_, void *dr_) {
    const real *gates = gates_;
    real *dh = dh_, *dx = dx_, *dr = dr_;
    const vr one = V(set)(1);
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t count = n - i < LANES ? n - i : LANES;
        vr r = V(load_n)(gates + i, count), z = V(load_n)(gates + n + i, count);
        vr candidate = V(load_n)(gates + 2 * n + i, count), u = V(load_n)((const real *)inner + i, count);
        vr state = V(load_n)((const real *)before + i, count), d = V(load_n)(dh + i, count);
        if (g) d += V(load_n)((const real *)g + i, count);
        vr dn = NAME(passed)(d, (one - z) * (one - candidate * candidate));
        vr dz = NAME(passed)(d, (state - candidate) * z * (one - z));
        vr d_reset = NAME(passed)(dn, u * r * (one - r));
        V(store_n)(dx + i, d_reset, count);
        V(store_n)(dx + n + i, dz, count);
        V(store_n)(dx + 2 * n + i, dn, count);
        V(store_n)(dr + i, d_reset, count);
        V(store_n)(dr + n + i, dz, count);
        V(store_n)(dr + 2 * n + i, NAME(passed)(dn, r), count);
        V(store_n)(dh + i, NAME(passed)(d, z), count);
    }
}

static void NAME(lstm_row)(int64_t n, void *gates_, const void *recurrent, const void *b_ih, const void *b_hh,
                           const void *before, void *c, void *tanh_c, void *h) {
    real *gates = gates_;
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t count = n - i < LANES ? n - i : LANES;
        vr a[4];
        for (int gate = 0; gate < 4; gate++) {
            vr sum = NAME(of_input)(gates, b_ih, gate * n + i, count) +
                     NAME(of_input)(recurrent, b_hh, gate * n + i, count);
            a[gate] = gate == 2 ? V(tanh)(sum) : V(sigmoid)(sum);
            V(store_n)(gates + gate * n + i, a[gate], count);
        }
        vr cell = a[1] * V(load_n)((const real *)before + i, count) + a[0] * a[2], bent = V(tanh)(cell);
        V(store_n)((real *)c + i, cell, count);
        if (tanh_c) V(store_n)((real *)tanh_c + i, bent, count);
        V(store_n)((real *)h + i, a[3] * bent, count);
    }
}

static void NAME(lstm_row_grad)(int64_t n, const void *gates_, const void *tanh_c, const void *before,
                                const void *g, const void *dh, void *dc_, void *dx_) {
    const real *gates = gates_;
    real *dc = dc_, *dx = dx_;
    const vr one = V(set)(1);
    for (int64_t k = 0; k < n; k += LANES) {
        const int64_t count = n - k < LANES ? n - k : LANES;
        vr i = V(load_n)(gates + k, count), f = V(load_n)(gates + n + k, count);
        vr candidate = V(load_n)(gates + 2 * n + k, count), o = V(load_n)(gates + 3 * n + k, count);
        vr bent = V(load_n)((const real *)tanh_c + k, count);
        vr d = V(load_n)((const real *)dh + k, count);
        if (g) d += V(load_n)((const real *)g + k, count);
        vr d_cell = V(load_n)(dc + k, count) + NAME(passed)(d, o * (one - bent * bent));
        vr cell = V(load_n)((const real *)before + k, count);
        V(store_n)(dx + k, NAME(passed)(d_cell, candidate * i * (one - i)), count);
        V(store_n)(dx + n + k, NAME(passed)(d_cell, cell * f * (one - f)), count);
        V(store_n)(dx + 2 * n + k, NAME(passed)(d_cell, i * (one - candidate * candidate)), count);
        V(store_n)(dx + 3 * n + k, NAME(passed)(d, bent * o * (one - o)), count);
        V(store_n)(dc + k, NAME(passed)(d_cell, f), count);
    }
}

#include "kernels/vec_real_end.h"
