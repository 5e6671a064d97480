/* Sound in files, and at other rates. */
#include "io/audio.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "lua/io/files.h"

/* audio_load(path, mono, max_samples): f32 [T, channels] and the rate, or nil and message */
static int audio_load(lua_State *L) {
    hd_call c = hd_begin(L, "audio.load");
    const char *path = hd_path_at(&c, 1);
    hd_audio_options options = {hd_opt_boolean(&c, 2, "mono", true), hd_arg_integer(&c, 3, "max_samples")};
    int rate = 0;
    hd_handle *handle = hd_push_handle(&c);
    handle->t = hd_audio_load(c.cx, path, &options, &rate);
    if (!handle->t) return hd_nil_and_message(&c, c.cx->error.status);
    lua_pushinteger(L, rate);
    return 2;
}

static hd_audio_format format_at(hd_call *c, int index) {
    const char *name = lua_type(c->L, index) == LUA_TSTRING ? lua_tostring(c->L, index) : "";
    if (strcmp(name, "wav") != 0 && strcmp(name, "flac") != 0)
        hd_arg_expected(c, index, "format", "\"wav\" or \"flac\"");
    return *name == 'w' ? HD_AUDIO_WAV : HD_AUDIO_FLAC;
}

/* audio_save(path, samples [T, channels], rate, format): true, or nil and message. format: "wav" or "flac" */
static int audio_save(lua_State *L) {
    hd_call c = hd_begin(L, "audio.save");
    const char *path = hd_path_at(&c, 1);
    const int64_t rate = hd_arg_integer(&c, 3, "rate");
    const hd_audio_format format = format_at(&c, 4);
    hd_tensor *t = hd_arg_tensor(&c, 2, "samples");
    if (rate < 1 || rate > INT_MAX)
        hd_arg_error(&c, "rate", "expected 1..%d, got %lld", INT_MAX, (long long)rate);
    const bool fits =
        t->dtype == HD_I16 || t->dtype == HD_I32 || (t->dtype == HD_F32 && format == HD_AUDIO_WAV);
    if (!fits || t->ndim != 2) hd_arg_error(&c, "samples", "expected i16, i32 or f32 [T, channels]");
    hd_handle *copy = hd_push_handle(&c);
    copy->t = hd_contiguous(c.cx, t);
    if (!copy->t) return hd_raise(&c);
    hd_status status = hd_audio_save(c.cx, path, copy->t, (int)rate, format);
    if (status) return hd_nil_and_message(&c, status);
    lua_pushboolean(L, true);
    return 1;
}

static double rate_at(hd_call *c, int index, const char *name) {
    const double rate = hd_arg_number(c, index, name);
    if (!(rate > 0) || isinf(rate)) hd_arg_error(c, name, "expected a rate above 0, got %g", rate);
    return rate;
}

/* resample(samples [.., T], from, to): f32, or nil and message */
static int resample(lua_State *L) {
    hd_call c = hd_enter(L, "audio.resample");
    const double from = rate_at(&c, 2, "from"), to = rate_at(&c, 3, "to");
    hd_tensor *t = hd_arg_tensor(&c, 1, "samples");
    if (t->dtype != HD_F32 || t->ndim < 1) hd_arg_expected(&c, 1, "samples", "f32 [.., T]");
    hd_handle *dense = hd_push_handle(&c);
    c.cx->grad_enabled = false;
    dense->t = hd_contiguous(c.cx, t);
    if (!dense->t) return hd_raise(&c);
    hd_tensor *y = hd_resample(c.cx, dense->t, from, to);
    if (!y && c.cx->error.status == HD_EIO) return hd_nil_and_message(&c, HD_EIO);
    return hd_return(&c, y);
}

static const hd_function functions[] = {
    {"audio_load", audio_load, HD_INTERNAL},
    {"audio_save", audio_save, HD_INTERNAL},
    {"resample", resample, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_audio(hd_registrar *r) {
    hd_define(r, functions);
}
