/* files.h: what all functions of files share: paths, named tensors, and the world's failures as nil and a
 * message. */
#ifndef HD_LUA_FILES_H
#define HD_LUA_FILES_H

#include "io/safetensors.h"
#include "lua/runtime/check.h"

/* The string at index, which C would cut at a zero byte: refused. */
const char *hd_text_at(hd_call *c, int index, const char *argument);
const char *hd_path_at(hd_call *c, int index);
/* Of HD_EIO: nil and the context's message. Everything else raises. */
int hd_nil_and_message(hd_call *c, hd_status status);

/* Pushes a userdata that holds a pointer (NULL now), and calls `release`, its __gc, however the call ends: what is
 * open meanwhile. */
void *hd_push_held(lua_State *L, lua_CFunction release);

/* The pairs {name, tensor} of the list at index 2, contiguous; the array and copies are pushed. */
hd_named_tensor *hd_named_tensors(hd_call *c, int64_t *count);

#endif
