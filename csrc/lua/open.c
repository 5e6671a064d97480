/* open.c: luaopen_heed_core. Every file of this room that has functions for Lua registers them. */
#include "heed.h"

#include "lua/runtime/state.h"

static void register_rooms(hd_registrar *r) {
    hd_register_tensor(r);
    hd_register_property(r);
    hd_register_create(r);
    hd_register_index(r);
    hd_register_print(r);
    hd_register_shape(r);
    hd_register_arrange(r);
    hd_register_split(r);
    hd_register_scatter(r);
    hd_register_einsum(r);
    hd_register_cdist(r);
    hd_register_quantized(r);
    hd_register_rfft(r);
    hd_register_unary(r);
    hd_register_parametric(r);
    hd_register_binary(r);
    hd_register_where(r);
    hd_register_lerp(r);
    hd_register_in_place(r);
    hd_register_matmul(r);
    hd_register_tril(r);
    hd_register_softmax(r);
    hd_register_compare(r);
    hd_register_reduce(r);
    hd_register_sort(r);
    hd_register_nonzero(r);
    hd_register_nn(r);
    hd_register_channels(r);
    hd_register_mask(r);
    hd_register_loss(r);
    hd_register_layers(r);
    hd_register_recurrent(r);
    hd_register_modes(r);
    hd_register_autograd(r);
    hd_register_function(r);
    hd_register_recompute(r);
    hd_register_memory(r);
    hd_register_random(r);
    hd_register_optim(r);
    hd_register_info(r);
    hd_register_dtypes(r);
    hd_register_io(r);
    hd_register_gguf(r);
    hd_register_directory(r);
    hd_register_marian(r);
    hd_register_characters(r);
    hd_register_tokenizer(r);
    hd_register_image(r);
    hd_register_audio(r);
    hd_register_json(r);
    hd_register_json_write(r);
    hd_register_csv(r);
    hd_register_npz(r);
}

int luaopen_heed_core(lua_State *L) {
    return hd_open(L, register_rooms);
}
