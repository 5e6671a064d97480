/* ops_recurrent_test.c: recurrent layers without Lua: every gradient, failing memory, an interrupt. */

#include "operations_check.h"

enum { B = 3, L = 5, E = 2, H = 3 };

typedef struct layer {
    hd_recurrent_kind kind;
    bool reverse;
    hd_tensor *lengths;
    int output; /* the one that is looked at */
} layer;

/* in: x, h, weight_ih, weight_hh, bias_ih, bias_hh, and c of an LSTM. */
static hd_tensor *recurrent(hd_tensor *const *in, const void *arg) {
    const layer *l = arg;
    const hd_recurrent_params p = {l->kind, l->reverse, in[2], in[3], in[4], in[5]};
    hd_tensor *out[3] = {NULL};
    if (hd_recurrent(cx, &p, in[0], l->lengths, in[1], l->kind == HD_LSTM ? in[6] : NULL, out)) return NULL;
    for (int i = 0; i < 3; i++)
        if (i != l->output) hd_release(out[i]);
    return out[l->output];
}

enum { INPUTS = 6 }; /* without c */

static void make_inputs(hd_tensor *in[INPUTS + 1], int64_t gates) {
    in[0] = parameter(HD_F64, SHAPE(B, L, E));
    in[1] = parameter(HD_F64, SHAPE(B, H));
    in[2] = parameter(HD_F64, SHAPE(gates * H, E));
    in[3] = parameter(HD_F64, SHAPE(gates * H, H));
    in[4] = parameter(HD_F64, SHAPE(gates * H));
    in[5] = parameter(HD_F64, SHAPE(gates * H));
    in[6] = parameter(HD_F64, SHAPE(B, H));
}

static void test_layers(hd_recurrent_kind kind) {
    static const int64_t counts[][B] = {{5, 2, 4}, {0, 5, 1}};
    hd_tensor *in[INPUTS + 1];
    const int count = kind == HD_GRU ? INPUTS : INPUTS + 1;
    make_inputs(in, kind == HD_GRU ? 3 : 4);
    for (int output = 0; output < (kind == HD_GRU ? 2 : 3); output++) {
        layer l = {kind, false, NULL, output};
        check("recurrent", recurrent, count, in, &l);
        for (int i = 0; i < 2; i++) {
            l.reverse = i == 1;
            l.lengths = integers(SHAPE(B), counts[i]);
            check("recurrent with lengths", recurrent, count, in, &l);
            hd_release(l.lengths);
        }
    }
    release_inputs(INPUTS + 1, in);
}

static void test_cancel(void) {
    hd_tensor *in[INPUTS + 1];
    make_inputs(in, 3);
    const layer l = {HD_GRU, false, NULL, 0};
    const int64_t live = cx->account->live;
    cx->cancel = 1;
    CHECK(recurrent(in, &l) == NULL && cx->error.status == HD_ECANCEL && cx->account->live == live);
    cx->cancel = 0;
    hd_tensor *y = recurrent(in, &l), *ones = random_tensor(HD_F64, SHAPE(B, L, H));
    cx->cancel = 1;
    CHECK(hd_backward_run(cx, y, ones, false) == HD_ECANCEL);
    cx->cancel = 0;
    hd_release(y);
    hd_release(ones);
    release_inputs(INPUTS + 1, in);
}

int main(void) {
    cx = new_context(2);
    test_layers(HD_GRU);
    test_layers(HD_LSTM);
    test_cancel();
    CHECK(cx->account->live == 0);
    free_context(cx);
    return checks_done();
}
