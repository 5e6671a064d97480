/* Images in files, and pixels as the bytes of one. */
#include "io/image.h"

#include <string.h>

#include "io/png.h"
#include "lua/io/files.h"

/* image_load(path, channels, max_pixels): a u8 tensor [H, W, C] and its EXIF orientation, or nil and message.
 * channels 0: as the file has them. */
static int image_load(lua_State *L) {
    hd_call c = hd_begin(L, "image.load");
    const char *path = hd_path_at(&c, 1);
    int64_t channels = hd_arg_integer(&c, 2, "channels");
    if (channels < 0 || channels > HD_IMAGE_CHANNELS)
        hd_arg_error(&c, "channels", "expected 1..%d, got %lld", HD_IMAGE_CHANNELS, (long long)channels);
    hd_image_options options = {(int)channels, hd_arg_integer(&c, 3, "max_pixels")};
    int orientation;
    hd_handle *handle = hd_push_handle(&c);
    handle->t = hd_image_load(c.cx, path, &options, &orientation);
    if (!handle->t) return hd_nil_and_message(&c, c.cx->error.status);
    lua_pushinteger(L, orientation);
    return 2;
}

static void check_image(hd_call *c, const hd_tensor *t, hd_image_format format) {
    bool jpeg = format == HD_IMAGE_JPEG;
    int64_t longest = jpeg ? HD_JPEG_LONGEST : HD_PNG_LONGEST;
    int64_t channels = t->ndim == 3 ? t->shape[2] : 0;
    if (t->dtype != HD_U8 || channels < 1 || channels > HD_IMAGE_CHANNELS ||
        (jpeg && channels != 1 && channels != 3))
        hd_arg_error(c, "pixels", "expected u8 [H, W, C] of %s channels", jpeg ? "1 or 3" : "1..4");
    for (int d = 0; d < 2; d++)
        if (t->shape[d] < 1 || t->shape[d] > longest)
            hd_arg_error(c, "pixels", "expected sides of 1..%lld pixels, got %lld", (long long)longest,
                         (long long)t->shape[d]);
}

static hd_image_format format_at(hd_call *c, int index) {
    const char *name = lua_type(c->L, index) == LUA_TSTRING ? lua_tostring(c->L, index) : "";
    if (strcmp(name, "png") != 0 && strcmp(name, "jpeg") != 0)
        hd_arg_expected(c, index, "format", "\"png\" or \"jpeg\"");
    return *name == 'p' ? HD_IMAGE_PNG : HD_IMAGE_JPEG;
}

/* image_save(path, pixels, format, quality): true, or nil and message. format: "png" or "jpeg" */
static int image_save(lua_State *L) {
    hd_call c = hd_begin(L, "image.save");
    const char *path = hd_path_at(&c, 1);
    hd_image_format format = format_at(&c, 3);
    int64_t quality = hd_arg_integer(&c, 4, "quality");
    if (quality < 1 || quality > 100)
        hd_arg_error(&c, "quality", "expected 1..100, got %lld", (long long)quality);
    hd_tensor *t = hd_arg_tensor(&c, 2, "pixels");
    check_image(&c, t, format);
    hd_handle *copy = hd_push_handle(&c);
    copy->t = hd_contiguous(c.cx, t);
    if (!copy->t) return hd_raise(&c);
    hd_status status = hd_image_save(c.cx, path, copy->t, format, (int)quality);
    if (status) return hd_nil_and_message(&c, status);
    lua_pushboolean(L, true);
    return 1;
}

/* ---- without a tensor ------------------------------------------------------------------------ */

#define LONGEST 32767 /* a side of a picture; its bytes are counted in size_t */
#define RGB 3

static int64_t side_at(hd_call *c, int index, const char *name) {
    int64_t side = hd_integer_at(c, index, name);
    if (side < 1 || side > LONGEST)
        hd_arg_error(c, name, "expected an integer in 1..%d, got %lld", LONGEST, (long long)side);
    return side;
}

/* png_encode(pixels, width, height): the bytes of a PNG file, or nil and message */
static int png_encode(lua_State *L) {
    hd_call c = hd_begin(L, "png_encode");
    if (!hd_given(&c, 1) || lua_type(L, 1) != LUA_TSTRING) hd_arg_expected(&c, 1, "pixels", "a string");
    hd_png_pixels pixels = {.width = side_at(&c, 2, "width"), .channels = RGB};
    pixels.height = side_at(&c, 3, "height");
    size_t length, needed = (size_t)(pixels.width * pixels.height * RGB);
    pixels.bytes = (const uint8_t *)lua_tolstring(L, 1, &length);
    if (length != needed)
        hd_arg_error(&c, "pixels", "expected %zu bytes, %lld x %lld of %d, got %zu", needed,
                     (long long)pixels.width, (long long)pixels.height, RGB, length);
    luaL_Buffer buffer;
    uint8_t *out = (uint8_t *)luaL_buffinitsize(L, &buffer, hd_png_bound(&pixels));
    size_t size = 0;
    hd_status status = hd_png_encode(c.cx, &pixels, out, &size);
    if (status) return hd_nil_and_message(&c, status);
    luaL_pushresultsize(&buffer, size);
    return 1;
}

static const hd_function functions[] = {
    {"image_load", image_load, HD_INTERNAL},
    {"image_save", image_save, HD_INTERNAL},
    {"png_encode", png_encode, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_image(hd_registrar *r) {
    hd_define(r, functions);
}
