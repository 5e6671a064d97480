/* Single elements: between storage, Lua values and text. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua/runtime/check.h"
#include "tensor/half.h"

double hd_element(const hd_tensor *t, int64_t position) {
    const void *data = t->storage->data;
    switch ((hd_dtype)t->dtype) {
    case HD_BOOL:
    case HD_U8: return ((const uint8_t *)data)[position];
    case HD_I8: return ((const int8_t *)data)[position];
    case HD_I16: return ((const int16_t *)data)[position];
    case HD_U16: return ((const uint16_t *)data)[position];
    case HD_U32: return ((const uint32_t *)data)[position];
    case HD_I32: return ((const int32_t *)data)[position];
    case HD_I64: return (double)((const int64_t *)data)[position];
    case HD_F32: return ((const float *)data)[position];
    case HD_F64: return ((const double *)data)[position];
    default: return hd_from_half((hd_dtype)t->dtype, ((const uint16_t *)data)[position]);
    }
}

void hd_push_element(lua_State *L, const hd_tensor *t, int64_t position) {
    const void *data = t->storage->data;
    switch ((hd_dtype)t->dtype) {
    case HD_BOOL: lua_pushboolean(L, ((const uint8_t *)data)[position] != 0); return;
    case HD_I64: lua_pushinteger(L, ((const int64_t *)data)[position]); return;
    default: break;
    }
    double number = hd_element(t, position); /* exact: other integers have 32 bits at most */
    if (hd_dtype_is_integer((hd_dtype)t->dtype))
        lua_pushinteger(L, (lua_Integer)number);
    else
        lua_pushnumber(L, number);
}

static void refuse(hd_call *c, int index, const char *argument, hd_dtype dtype) {
    char text[HD_VALUE_TEXT];
    hd_arg_error(c, argument, "expected a number that %s can hold, got %s", hd_dtype_name(dtype),
                 hd_value_text(c, index, text));
}

static void store_integer(hd_call *c, int index, const char *argument, hd_dtype dtype, void *data,
                          int64_t position) {
    int is_integer;
    int64_t value = lua_tointegerx(c->L, index, &is_integer);
    if (lua_isboolean(c->L, index)) value = lua_toboolean(c->L, index), is_integer = 1;
    bool fits = is_integer && lua_type(c->L, index) != LUA_TSTRING;
    if (!fits || !hd_dtype_holds(dtype, value)) refuse(c, index, argument, dtype);
    switch (hd_dtype_size(dtype)) { /* low bits are the same, signed or not */
    case 1: ((uint8_t *)data)[position] = (uint8_t)value; return;
    case 2: ((uint16_t *)data)[position] = (uint16_t)value; return;
    case 4: ((uint32_t *)data)[position] = (uint32_t)value; return;
    default: ((int64_t *)data)[position] = value;
    }
}

void hd_store_element(hd_call *c, int index, const char *argument, hd_dtype dtype, void *data,
                      int64_t position) {
    lua_State *L = c->L;
    int type = lua_type(L, index);
    double number = type == LUA_TBOOLEAN  ? lua_toboolean(L, index)
                    : type == LUA_TNUMBER ? lua_tonumber(L, index)
                                          : 0;
    if (type != LUA_TBOOLEAN && type != LUA_TNUMBER) hd_arg_expected(c, index, argument, "a number");
    if (lua_isinteger(L, index)) { /* to f32 and what is narrower in one step */
        int64_t whole = lua_tointeger(L, index);
        if (dtype == HD_F32) number = (float)whole;
        if (dtype == HD_F16 || dtype == HD_BF16) number = hd_odd_from_i64(whole);
    }
    switch (dtype) {
    case HD_F32: ((float *)data)[position] = (float)number; return;
    case HD_F64: ((double *)data)[position] = number; return;
    case HD_BOOL: ((uint8_t *)data)[position] = number != 0; return;
    case HD_F16:
    case HD_BF16: ((uint16_t *)data)[position] = hd_to_half(dtype, hd_odd_from_f64(number)); return;
    default: store_integer(c, index, argument, dtype, data, position);
    }
}

static double as_held(hd_dtype dtype, double value) {
    switch (dtype) {
    case HD_F64: return value;
    case HD_F32: return (float)value;
    default: return hd_from_half(dtype, hd_to_half(dtype, hd_odd_from_f64(value)));
    }
}

void hd_use_point(char *text) {
    const char *point = localeconv()->decimal_point;
    char *at = strcmp(point, ".") == 0 ? NULL : strstr(text, point);
    if (!at) return;
    *at = '.';
    memmove(at + 1, at + strlen(point), strlen(at + strlen(point)) + 1);
}

const char *hd_number_text(hd_dtype dtype, double value, char buffer[HD_NUMBER_TEXT]) {
    char text[HD_NUMBER_TEXT] = "nan";
    if (isinf(value)) {
        snprintf(text, sizeof text, value > 0 ? "inf" : "-inf");
    } else if (!isnan(value) && !hd_dtype_is_float(dtype)) {
        snprintf(text, sizeof text, "%.0f", value);
    } else if (!isnan(value)) {
        for (int digits = hd_dtype_is_half(dtype) ? 5 : 6; digits <= 17; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, value);
            if (as_held(dtype, strtod(text, NULL)) == as_held(dtype, value)) break;
        }
        hd_use_point(text);
        if (!strpbrk(text, ".e")) strcat(text, ".0");
    }
    memcpy(buffer, text, sizeof text);
    return buffer;
}
