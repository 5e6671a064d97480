/* fields.h: the parameters and options of a module, read from its table by their names at every call:
 * whatever was assigned since the last one is seen.
 *
 * Tensors and parts stay on the stack until the call returns, so its results keep what their graphs need of
 * Lua (hd_anchor_result). Where a function runs for a field (an __index of the user's), which may drop any
 * tensor, those read before it get references of their own.
 */
#ifndef HD_LUA_FIELDS_H
#define HD_LUA_FIELDS_H

#include "lua/runtime/check.h"

/* Every field that is read: HD_FIELD_weight is "weight". Their names are made strings of Lua once. */
/* clang-format off */
#define HD_EACH_FIELD(X) \
    X(activation) X(before) X(bias) X(dropout) X(eps) X(hidden_dropout) X(in_proj_bias) X(in_proj_weight) \
    X(interleaved) X(k) X(k_norm) X(k_proj_weight) X(length) X(linear1) X(linear2) X(linear3) \
    X(multihead_attn) X(norm1) X(norm2) X(norm3) X(norm_first) X(norm_kind) X(num_heads) \
    X(num_kv_heads) X(of_memory) X(out_proj) X(places) X(post_norm1) X(post_norm2) X(post_norm3) \
    X(q_norm) X(q_proj_weight) X(rotary) X(scale) X(self_attn) X(softcap) X(training) X(unit_offset) \
    X(v) X(v_proj_weight) X(weight)
/* clang-format on */

#define HD_FIELD_ID(name) HD_FIELD_##name,
typedef enum hd_field { HD_FIELD_NONE, HD_EACH_FIELD(HD_FIELD_ID) HD_FIELD_COUNT } hd_field;
#undef HD_FIELD_ID

/* A module, or a part of one. */
typedef struct hd_fields {
    hd_call *c;
    int names; /* index of the table of names */
    int table;
    const struct hd_fields *outer; /* NULL: it is an argument */
    hd_field field;                /* in `outer` */
    bool runs_functions;           /* an __index of its classes is one */
} hd_fields;

void hd_register_fields(hd_registrar *r);

/* The module that is an argument. */
hd_fields hd_fields_of(hd_call *c, int index, const char *argument);
/* The part in a field; hd_fields_opt: table 0 when there is none. `outer` must stay where it is. */
hd_fields hd_fields_in(const hd_fields *outer, hd_field field);
hd_fields hd_fields_opt(const hd_fields *outer, hd_field field);

/* Messages name fields by their path, "self_attn.out_proj.weight". */
hd_tensor *hd_field_tensor(const hd_fields *f, hd_field field);
hd_tensor *hd_field_opt_tensor(const hd_fields *f, hd_field field); /* NULL when it is nil or false */
/* The same, or a quantised weight. */
hd_tensor *hd_field_weight(const hd_fields *f, hd_field field);
hd_tensor *hd_field_opt_weight(const hd_fields *f, hd_field field);
double hd_field_number(const hd_fields *f, hd_field field, double otherwise);
double hd_field_probability(const hd_fields *f, hd_field field, double otherwise);
int64_t hd_field_integer(const hd_fields *f, hd_field field, int64_t otherwise);
int hd_field_count(const hd_fields *f, hd_field field); /* 1 or more */
bool hd_field_boolean(const hd_fields *f, hd_field field);
const char *hd_field_string(const hd_fields *f, hd_field field); /* stays on the stack */
/* "self_attn.num_heads: expected ..., got ..." of the value on top of the stack. */
int hd_field_expected(const hd_fields *f, hd_field field, const char *expected);

#endif
