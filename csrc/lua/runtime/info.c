/* Threads, time, the terminal, and what heed.info() shows. */
#include <unistd.h>

#include "base/parallel.h"
#include "io/audio.h"
#include "io/image.h"
#include "io/zip.h"
#include "kernels/fft.h"
#include "kernels/gemm.h"
#include "lua/runtime/check.h"

static int set_num_threads(lua_State *L) {
    hd_call c = hd_begin(L, "set_num_threads");
    hd_no_more(&c, 1);
    int64_t n = hd_arg_integer(&c, 1, "n");
    if (n < 1 || n > HD_MAX_THREADS)
        hd_arg_error(&c, "n", "expected 1..%d, got %lld", HD_MAX_THREADS, (long long)n);
    hd_set_num_threads(c.cx, (int)n);
    return 0;
}

static int get_num_threads(lua_State *L) {
    hd_call c = hd_begin(L, "get_num_threads");
    hd_no_more(&c, 0);
    lua_pushinteger(L, c.cx->num_threads);
    return 1;
}

static int clock_(lua_State *L) {
    lua_pushnumber(L, hd_seconds());
    return 1;
}

/* isatty(descriptor): does it lead to a terminal? */
static int isatty_(lua_State *L) {
    hd_call c = hd_begin(L, "isatty");
    lua_pushboolean(L, isatty((int)hd_arg_integer(&c, 1, "descriptor")));
    return 1;
}

static void set_text(lua_State *L, const char *name, const char *text) {
    lua_pushstring(L, text);
    lua_setfield(L, -2, name);
}

static int info(lua_State *L) {
    hd_call c = hd_begin(L, "info");
    hd_no_more(&c, 0);
    lua_createtable(L, 0, 13);
    set_text(L, "version", HEED_VERSION);
    set_text(L, "lua", LUA_RELEASE);
    set_text(L, "blis", hd_gemm_blis_version());
    set_text(L, "gemm", hd_gemm_kernel_name(c.cx));
    set_text(L, "isa", c.cx->kernels ? c.cx->kernels->name : "none");
    set_text(L, "cpu", hd_microarch_name(hd_cpu_microarch()));
    set_text(L, "png", hd_png_version());
    set_text(L, "jpeg", hd_jpeg_version());
    set_text(L, "kissfft", hd_fft_library());
    set_text(L, "sndfile", hd_sndfile_version());
    set_text(L, "soxr", hd_soxr_version());
    set_text(L, "zlib", hd_zlib_version());
    lua_pushinteger(L, c.cx->num_threads);
    lua_setfield(L, -2, "threads");
    return 1;
}

static const hd_function functions[] = {
    {"set_num_threads", set_num_threads, HD_MODULE},
    {"get_num_threads", get_num_threads, HD_MODULE},
    {"clock", clock_, HD_MODULE},
    {"isatty", isatty_, HD_INTERNAL},
    {"info", info, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_info(hd_registrar *r) {
    hd_define(r, functions);
}
