/* property.h: the fields of a tensor. */
#ifndef HD_LUA_PROPERTY_H
#define HD_LUA_PROPERTY_H

#include "lua/runtime/check.h"

/* Pushes the name of its dtype; of a quantised weight, of its format. */
void hd_push_dtype(lua_State *L, const hd_tensor *t);
/* Pushes the field of the tensor at index 1; code is what the methods table holds for its name. */
void hd_push_property(lua_State *L, hd_lua *h, int code);
/* t.name = the value at index 3. */
void hd_set_property(hd_call *c, const char *name);
/* Leaves of f32 or f64. One that wants a gradient belongs to no scope: parameters outlive the step that made
 * them. */
void hd_set_requires_grad(hd_call *c, hd_handle *handle, bool wanted);
/* A table {2, 4, 8} that prints, concatenates and compares. */
void hd_push_shape(lua_State *L, int ndim, const int64_t *shape);

#endif
