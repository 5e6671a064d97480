/* open.c: luaopen_heed_core. Every file of this room that has functions for Lua registers them. */
#include "heed.h"

#include "lua/runtime/state.h"

static void (*const registers[])(hd_registrar *r) = {
    hd_register_tensor,  hd_register_property,   hd_register_create,     hd_register_index,
    hd_register_print,   hd_register_shape,      hd_register_arrange,    hd_register_split,
    hd_register_scatter, hd_register_einsum,     hd_register_cdist,      hd_register_quantized,
    hd_register_rfft,    hd_register_unary,      hd_register_parametric, hd_register_binary,
    hd_register_where,   hd_register_lerp,       hd_register_in_place,   hd_register_matmul,
    hd_register_tril,    hd_register_softmax,    hd_register_compare,    hd_register_reduce,
    hd_register_sort,    hd_register_nonzero,    hd_register_nn,         hd_register_channels,
    hd_register_mask,    hd_register_loss,       hd_register_layers,     hd_register_recurrent,
    hd_register_modes,   hd_register_autograd,   hd_register_function,   hd_register_recompute,
    hd_register_memory,  hd_register_random,     hd_register_optim,      hd_register_info,
    hd_register_dtypes,  hd_register_io,         hd_register_gguf,       hd_register_directory,
    hd_register_marian,  hd_register_characters, hd_register_tokenizer,  hd_register_image,
    hd_register_audio,   hd_register_json,       hd_register_json_write, hd_register_csv,
    hd_register_npz,
};

static void register_rooms(hd_registrar *r) {
    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++) registers[i](r);
}

int luaopen_heed_core(lua_State *L) {
    return hd_open(L, register_rooms);
}
