#include <math.h>

#include "layers/layers.h"

/* Column of the sine (or cosine) of rate i. An odd d_model ends with a sine that has no cosine. */
static int64_t column(int64_t i, bool is_cosine, int64_t d_model, hd_position_layout layout) {
    if (layout == HD_POSITIONS_INTERLEAVED) return 2 * i + is_cosine;
    return i + (is_cosine ? (d_model + 1) / 2 : 0);
}

hd_tensor *hd_sinusoidal_positions(hd_ctx *cx, int64_t max_len, int64_t d_model, int64_t first_position,
                                   hd_position_layout layout, const double *rates) {
    const int64_t shape[2] = {max_len, d_model};
    hd_tensor *table = hd_tensor_new(cx, HD_F32, 2, shape);
    if (!table || cx->shapes_only) return table;
    float *to = hd_data(table);
    for (int64_t i = 0; i < (d_model + 1) / 2; i++) {
        double rate = rates ? rates[i] : pow(10000, -2 * (double)i / (double)d_model);
        int64_t sine = column(i, false, d_model, layout), cosine = column(i, true, d_model, layout);
        for (int64_t row = 0; row < max_len; row++) {
            double angle = ((double)first_position + (double)row) * rate;
            to[row * d_model + sine] = (float)sin(angle);
            if (2 * i + 1 < d_model) to[row * d_model + cosine] = (float)cos(angle);
        }
    }
    return table;
}
