/* nn.h: arguments that the bindings of operations and of layers read alike. */
#ifndef HD_LUA_NN_H
#define HD_LUA_NN_H

#include "lua/runtime/check.h"

/* Is it a name of kernels/tables/activation.h? */
bool hd_parse_activation(const char *name, hd_activation *activation);
/* One of them, or absent: none. */
hd_activation hd_opt_activation(hd_call *c, int index, const char *argument);
/* A probability 0..1; absent: 0. */
double hd_opt_probability(hd_call *c, int index, const char *argument);
/* The mask at index, or nil, into options: who is seen, and the bias. argument: "mask" or "memory_mask".
 * (mask.c) */
void hd_read_mask(hd_call *c, int index, const char *argument, hd_attention_options *o);
/* Gives two results their userdata: values at c->slot, weights in `second` (index second_slot) when there are
 * any. */
int hd_return_attention(hd_call *c, hd_tensor *out, hd_handle *second, int second_slot, hd_tensor *weights);

#endif
