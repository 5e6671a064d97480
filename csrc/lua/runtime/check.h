/* check.h: arguments. Each helper raises an error that names the function, the argument, what was expected
 * and what came. Numeric strings are not numbers; 2.5 is not an integer; nil and none are the same.
 */
#ifndef HD_LUA_CHECK_H
#define HD_LUA_CHECK_H

#include "lua/runtime/state.h"

typedef struct hd_shape {
    int ndim;
    int64_t size[HD_MAX_DIMS];
} hd_shape;

/* "heed.name: argument: message"; without the argument when it is NULL. */
int hd_arg_error(hd_call *c, const char *argument, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "heed.name: argument: expected what, got <value at index>". */
int hd_arg_expected(hd_call *c, int index, const char *argument, const char *expected);
/* What a message says about the value at index: "nil", "\"1\"", "f32 tensor [2, 3]". In buffer. */
#define HD_VALUE_TEXT 192
const char *hd_value_text(hd_call *c, int index, char buffer[HD_VALUE_TEXT]);

/* The end of a message that names what there is not: "; did you mean sum?", or "". `kind` as in lua/heed/suggest.lua;
 * candidates are separated by blanks, NULL: the methods of tensors. Pushed. */
const char *hd_suggest(hd_call *c, const char *kind, const char *name, const char *candidates);

/* Is there an argument (or an option's value, by the index that hd_option gave) at i? */
static inline bool hd_given(const hd_call *c, int i) {
    return i > 0 && (i <= c->top || (i < 64 && c->pushed >> i & 1)) && !lua_isnil(c->L, i);
}

/* Refuses arguments behind the `last`: they would be passed over. Options may be an empty table. */
void hd_no_more(hd_call *c, int last);
/* A function, or what can be called like one. */
void hd_check_function(hd_call *c, int index, const char *argument, const char *expected);

/* The tensor of a handle that is no argument itself. */
hd_tensor *hd_tensor_of(hd_call *c, const hd_handle *handle, const char *argument);
hd_tensor *hd_arg_tensor(hd_call *c, int index,
                         const char *argument); /* borrowed from the userdata on the stack */
/* The same, or a quantised weight: for products and look-ups; and for what asks nothing of the elements. */
hd_tensor *hd_arg_weight(hd_call *c, int index, const char *argument);
hd_tensor *hd_weight_at(hd_call *c, int index, const char *argument);
hd_tensor *hd_opt_tensor(hd_call *c, int index, const char *argument); /* NULL when absent */
hd_tensor *hd_tensor_at(hd_call *c, int index, const char *argument);  /* wherever index points */
int64_t hd_arg_integer(hd_call *c, int index, const char *argument);
int64_t hd_integer_at(hd_call *c, int index, const char *argument); /* wherever index points */
int64_t hd_opt_integer(hd_call *c, int index, const char *argument, int64_t otherwise);
double hd_arg_number(hd_call *c, int index, const char *argument);
double hd_opt_number(hd_call *c, int index, const char *argument, double otherwise);
bool hd_opt_boolean(hd_call *c, int index, const char *argument, bool otherwise);
/* A number (weak in promotion), or true and false as 1 and 0. */
hd_scalar hd_arg_scalar(hd_call *c, int index, const char *argument);
bool hd_is_number(hd_call *c, int index);
hd_dtype hd_arg_dtype(hd_call *c, int index, const char *argument);

/* A dimension, 1..ndim or -ndim..-1, as C counts it. A tensor without dimensions takes 1 and -1: operations for which that
 * means nothing refuse it below. */
int hd_arg_dim(hd_call *c, int index, const char *argument, int ndim);
int hd_dim_at(hd_call *c, int index, const char *argument, int ndim); /* wherever index points */
int hd_opt_dim(hd_call *c, int index, const char *argument, int ndim, int otherwise);
/* A number or a list of dimensions, as a bit set. Absent: HD_ALL_DIMS. */
uint32_t hd_opt_dims(hd_call *c, int index, const char *argument, int ndim);
/* A position 1..size or -size..-1, as C counts it. */
int64_t hd_arg_position(hd_call *c, int index, const char *argument, int64_t size);
/* Sizes: one table at `first`, or numbers from `first` to the last argument. `inferred`: -1 is allowed. */
hd_shape hd_arg_shape(hd_call *c, int first, bool inferred);
/* Integers, but u8, which may mean a mask. */
bool hd_is_index_dtype(hd_dtype t);
/* Raises when t, which stands at index, is none of these. */
void hd_check_index_dtype(hd_call *c, int index, const char *argument, const hd_tensor *t);
/* Indices, tokens, classes, lengths: a tensor of integers, as i64; a Lua table of integers becomes one (the stack slot is replaced). */
hd_tensor *hd_arg_ids(hd_call *c, int index, const char *argument);
/* How long the list at index is: at most HD_MOST_LISTED, for a table with holes may call itself as long as 2^63. */
#define HD_MOST_LISTED 1000000
int hd_count(hd_call *c, int index, const char *argument);
/* A list of tensors: its length and the i-th (from 1), borrowed from the table on the stack. */
int hd_arg_list(hd_call *c, int index, const char *argument);
hd_tensor *hd_list_tensor(hd_call *c, int index, const char *argument, int i);
/* All of a list, in memory that the collector owns (pushed). */
hd_tensor **hd_arg_tensors(hd_call *c, int index, const char *argument, int *count);

/* ---- options: a trailing table with string keys ------------------------------------------ */
/* Takes it off the arguments when there is one; every key must be among `allowed` (space separated). */
void hd_take_options(hd_call *c, const char *allowed);
/* The same for functions that take no lists: {}, of options that were all nil, is none. */
void hd_take_any_options(hd_call *c, const char *allowed);
/* Pushes the option and returns its index; 0 when absent. */
int hd_option(hd_call *c, const char *name);
/* A missing argument may be given as the option of its name: the index of either, or 0. */
int hd_or_option(hd_call *c, int index, const char *name);
bool hd_option_boolean(hd_call *c, const char *name, bool otherwise);
double hd_option_number(hd_call *c, const char *name, double otherwise);
int64_t hd_option_integer(hd_call *c, const char *name, int64_t otherwise);
hd_dtype hd_option_dtype(hd_call *c, hd_dtype otherwise);
/* generator=: where to draw from; NULL: the training stream. */
hd_rng *hd_option_generator(hd_call *c);

/* A nested Lua table (or number, or boolean) as a tensor, pushed; its handle. nested.c */
hd_handle *hd_push_nested(hd_call *c, int index, const char *argument, bool has_dtype, hd_dtype dtype);
/* Refuses a list with a named field beside it, which would be passed over: an option in the wrong place.
 * The n of table.pack is none. nested.c */
void hd_check_list(hd_call *c, int index, const char *argument);
/* Pushes element `position` (in elements from the start of the storage) as a number or boolean. element.c */
void hd_push_element(lua_State *L, const hd_tensor *t, int64_t position);
double hd_element(const hd_tensor *t, int64_t position);
/* Stores the Lua value at index; raises when the dtype cannot hold it. */
void hd_store_element(hd_call *c, int index, const char *argument, hd_dtype dtype, void *data,
                      int64_t position);
/* A number as text: the shortest that reads back the same in its dtype. */
#define HD_NUMBER_TEXT 40
/* The point of numbers in text, where the locale writes another. */
void hd_use_point(char *text);
const char *hd_number_text(hd_dtype dtype, double value, char buffer[HD_NUMBER_TEXT]);

#endif
