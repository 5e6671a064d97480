/* Recurrent layers: one layer in one direction a call, and the recurrence that is linear. */
#include "lua/runtime/check.h"

/* Handles that get the results, on the stack from `first` on. */
typedef struct results {
    hd_handle *made[3];
    int first, count;
} results;

static results push_results(hd_call *c, int count) {
    results r = {.first = lua_gettop(c->L) + 1, .count = count};
    for (int i = 0; i < count; i++) r.made[i] = hd_push_handle(c);
    return r;
}

static int return_results(hd_call *c, const results *r, hd_tensor *const out[3]) {
    for (int i = 0; i < r->count; i++) r->made[i]->t = out[i]; /* all are owned before anything may raise */
    for (int i = 0; i < r->count; i++) hd_settle(c, r->first + i, r->made[i], out[i]);
    lua_settop(c->L, r->first + r->count - 1);
    return r->count;
}

/* Arguments from `at` on: lengths, weight_ih, weight_hh, bias_ih, bias_hh, reverse. */
static int recurrent(hd_call *c, hd_recurrent_kind kind, int at) {
    const bool lstm = kind == HD_LSTM;
    hd_no_more(c, at + 5);
    lua_settop(c->L, at + 5);
    const results r = push_results(c, lstm ? 3 : 2);
    const bool has_lengths = hd_given(c, at);
    hd_tensor *lengths = has_lengths ? hd_arg_ids(c, at, "lengths") : NULL;
    const hd_recurrent_params p = {.kind = kind,
                                   .reverse = hd_opt_boolean(c, at + 5, "reverse", false),
                                   .weight_ih = hd_arg_tensor(c, at + 1, "weight_ih"),
                                   .weight_hh = hd_arg_tensor(c, at + 2, "weight_hh"),
                                   .bias_ih = hd_opt_tensor(c, at + 3, "bias_ih"),
                                   .bias_hh = hd_opt_tensor(c, at + 4, "bias_hh")};
    hd_tensor *x = hd_arg_tensor(c, 1, "x"), *h = hd_opt_tensor(c, 2, "h"), *out[3] = {NULL};
    hd_tensor *cell = lstm ? hd_opt_tensor(c, 3, "c") : NULL;
    hd_set_modes(c);
    hd_try(c, hd_recurrent(c->cx, &p, x, lengths, h, cell, out));
    return return_results(c, &r, out);
}

/* gru(x, h, lengths, weight_ih, weight_hh, bias_ih, bias_hh, reverse) -> y, h */
static int gru(lua_State *L) {
    hd_call c = hd_begin(L, "gru");
    return recurrent(&c, HD_GRU, 3);
}

/* lstm(x, h, c, lengths, weight_ih, weight_hh, bias_ih, bias_hh, reverse) -> y, h, c */
static int lstm(lua_State *L) {
    hd_call c = hd_begin(L, "lstm");
    return recurrent(&c, HD_LSTM, 4);
}

/* linear_recurrence(a, b, h) -> y */
static int linear_recurrence(lua_State *L) {
    hd_call c = hd_enter(L, "linear_recurrence");
    hd_no_more(&c, 3);
    hd_tensor *a = hd_arg_tensor(&c, 1, "a"), *b = hd_arg_tensor(&c, 2, "b");
    return hd_return(&c, hd_linear_recurrence(c.cx, a, b, hd_opt_tensor(&c, 3, "h")));
}

static const hd_function functions[] = {
    {"gru", gru, HD_INTERNAL},
    {"lstm", lstm, HD_INTERNAL},
    {"linear_recurrence", linear_recurrence, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_recurrent(hd_registrar *r) {
    hd_define(r, functions);
}
