#include "lua/runtime/check.h"

#include <stdio.h>
#include <string.h>

#include "lua/runtime/modes.h"
#include "ops/product/quantized.h"

/* ---- what came --------------------------------------------------------------------------- */

static const char *string_text(lua_State *L, int index, char buffer[HD_VALUE_TEXT]) {
    size_t length;
    const char *s = lua_tolstring(L, index, &length);
    snprintf(buffer, HD_VALUE_TEXT, length > 40 ? "\"%.37s\"..." : "\"%.40s\"", s);
    return buffer;
}

/* Modules, masks and others say by __name what they are. */
static const char *other_text(lua_State *L, int index, char buffer[HD_VALUE_TEXT]) {
    int type = luaL_getmetafield(L, index, "__name");
    if (type == LUA_TSTRING) {
        const char *name = lua_tostring(L, -1);
        snprintf(buffer, HD_VALUE_TEXT, "%s %.100s", strchr("AEIOUaeiou", name[0]) ? "an" : "a", name);
    } else if (lua_type(L, index) == LUA_TTABLE) {
        snprintf(buffer, HD_VALUE_TEXT, "a table of length %lld", (long long)lua_rawlen(L, index));
    } else {
        snprintf(buffer, HD_VALUE_TEXT, "a %s", luaL_typename(L, index));
    }
    if (type != LUA_TNIL) lua_pop(L, 1);
    return buffer;
}

const char *hd_value_text(hd_call *c, int index, char buffer[HD_VALUE_TEXT]) {
    lua_State *L = c->L;
    char text[HD_SHAPE_TEXT > HD_NUMBER_TEXT ? HD_SHAPE_TEXT : HD_NUMBER_TEXT];
    hd_handle *handle;
    switch (lua_type(L, index)) {
    case LUA_TNONE:
    case LUA_TNIL: snprintf(buffer, HD_VALUE_TEXT, "nil"); return buffer;
    case LUA_TBOOLEAN:
        snprintf(buffer, HD_VALUE_TEXT, "%s", lua_toboolean(L, index) ? "true" : "false");
        return buffer;
    case LUA_TNUMBER:
        if (lua_isinteger(L, index))
            snprintf(buffer, HD_VALUE_TEXT, "%lld", (long long)lua_tointeger(L, index));
        else
            snprintf(buffer, HD_VALUE_TEXT, "%s", hd_number_text(HD_F64, lua_tonumber(L, index), text));
        return buffer;
    case LUA_TSTRING: return string_text(L, index, buffer);
    case LUA_TUSERDATA:
        handle = hd_to_handle(L, c->h, index);
        if (!handle) return other_text(L, index, buffer);
        if (!handle->t)
            snprintf(buffer, HD_VALUE_TEXT, "a dropped tensor");
        else
            snprintf(buffer, HD_VALUE_TEXT, "%s tensor %s", hd_dtype_name((hd_dtype)handle->t->dtype),
                     hd_tensor_shape_text(handle->t, text));
        return buffer;
    default: return other_text(L, index, buffer);
    }
}

int hd_arg_expected(hd_call *c, int index, const char *argument, const char *expected) {
    char text[HD_VALUE_TEXT];
    if (index > c->top && (index == c->slot || index == c->options))
        return hd_arg_error(c, argument, "expected %s, got nil", expected);
    return hd_arg_error(c, argument, "expected %s, got %s", expected, hd_value_text(c, index, text));
}

const char *hd_suggest(hd_call *c, const char *kind, const char *name, const char *candidates) {
    lua_State *L = c->L;
    luaL_checkstack(L, 8, NULL);
    hd_push_uv(L, HD_UV_SUGGEST);
    lua_pushstring(L, kind);
    lua_pushstring(L, name);
    if (candidates)
        lua_pushstring(L, candidates);
    else
        hd_push_uv(L, HD_UV_METHODS);
    if (lua_isnil(L, -4) || lua_pcall(L, 3, 1, 0) != LUA_OK || lua_type(L, -1) != LUA_TSTRING) return "";
    return lua_tostring(L, -1);
}

/* The names of options with commas. Pushed. */
static const char *listed(hd_call *c, const char *names) {
    return luaL_gsub(c->L, names, " ", ", ");
}

static bool is_empty_table(lua_State *L, int index) {
    if (lua_type(L, index) != LUA_TTABLE) return false;
    lua_pushnil(L);
    if (!lua_next(L, index)) return true;
    lua_pop(L, 2);
    return false;
}

void hd_no_more(hd_call *c, int last) {
    for (int i = last + 1; i <= c->top; i++) {
        char text[HD_VALUE_TEXT];
        if (!hd_given(c, i) || (c->allowed && i == c->top && is_empty_table(c->L, i))) continue;
        luaL_checkstack(c->L, 8, NULL);
        hd_arg_error(c, "arguments", "expected at most %d, the first counted, got one more: %s%s%s", last,
                     hd_value_text(c, i, text),
                     c->allowed ? "; options come last, in a table, by name: " : "",
                     c->allowed ? listed(c, c->allowed) : "");
    }
}

void hd_check_function(hd_call *c, int index, const char *argument, const char *expected) {
    bool given = index <= c->top;
    if (given && lua_type(c->L, index) == LUA_TFUNCTION) return;
    if (!given || luaL_getmetafield(c->L, index, "__call") == LUA_TNIL)
        hd_arg_expected(c, index, argument, expected);
    lua_settop(c->L, c->top);
}

/* ---- tensors and numbers ----------------------------------------------------------------- */

/* A tensor without numbers takes the call along, and has no business outside. One whose memory is lost is
 * refused. */
static hd_tensor *met(hd_call *c, hd_tensor *t, const char *argument) {
    if (t->storage->owner_kind == NULL) return t;
    if (hd_check_memory(c->cx, t)) hd_arg_error(c, argument, "%s", c->cx->error.message);
    if (!t->storage->meta) return t;
    if (!hd_mode_is_on(c->h, HD_MODE_SHAPES))
        hd_arg_error(c, argument,
                     "this tensor has a shape and no numbers: it was made while model:check ran");
    c->skipping = c->cx->skipping = true;
    return t;
}

/* t.sum() and a.add(b) where t:sum() and a:add(b) were meant: what stands before the dot is not among the arguments. */
static void no_tensor(hd_call *c, int index, const char *argument) {
    char text[HD_VALUE_TEXT];
    lua_State *L = c->L;
    bool first =
        index == 1 && argument && strcmp(argument, "t") == 0 && (c->top == 0 || lua_type(L, 1) != LUA_TTABLE);
    bool second = index == 2 && argument && strcmp(argument, "b") == 0 && c->top == 1;
    if (!first && !second) hd_arg_expected(c, index, argument, "a tensor");
    hd_push_uv(L, HD_UV_METHODS);
    if (lua_getfield(L, -1, c->name) != LUA_TFUNCTION) hd_arg_expected(c, index, argument, "a tensor");
    hd_arg_error(c, argument,
                 second ? "expected a tensor, got %s; it is called as a:%s(b) or heed.%s(a, b)"
                        : "expected a tensor, got %s; it is called as t:%s(...) or heed.%s(t, ...)",
                 index > c->top ? "nil" : hd_value_text(c, index, text), c->name, c->name);
}

hd_tensor *hd_tensor_of(hd_call *c, const hd_handle *handle, const char *argument) {
    if (!handle->t)
        hd_arg_error(c, argument,
                     "this tensor was dropped, by the end of its scope or by free(); scope:keep(t) lets it "
                     "out of a scope");
    return met(c, handle->t, argument);
}

hd_tensor *hd_arg_tensor(hd_call *c, int index, const char *argument) {
    hd_handle *handle = hd_given(c, index) ? hd_to_handle(c->L, c->h, index) : NULL;
    if (!handle) no_tensor(c, index, argument);
    return hd_tensor_of(c, handle, argument);
}

hd_tensor *hd_tensor_at(hd_call *c, int index, const char *argument) {
    hd_handle *handle = hd_to_handle(c->L, c->h, index);
    if (!handle) hd_arg_expected(c, index, argument, "a tensor");
    return hd_tensor_of(c, handle, argument);
}

hd_tensor *hd_weight_at(hd_call *c, int index, const char *argument) {
    const hd_handle *handle = hd_to_handle(c->L, c->h, index);
    return handle && handle->t && hd_quantized_of(handle->t) ? handle->t : hd_tensor_at(c, index, argument);
}

hd_tensor *hd_arg_weight(hd_call *c, int index, const char *argument) {
    return hd_given(c, index) ? hd_weight_at(c, index, argument) : hd_arg_tensor(c, index, argument);
}

hd_tensor *hd_opt_tensor(hd_call *c, int index, const char *argument) {
    return hd_given(c, index) ? hd_arg_tensor(c, index, argument) : NULL;
}

/* An integer, or a float that equals one; never a numeric string. */
static bool to_integer(lua_State *L, int index, int64_t *value) {
    if (lua_type(L, index) != LUA_TNUMBER) return false;
    int is_integer;
    *value = lua_tointegerx(L, index, &is_integer);
    return is_integer;
}

int64_t hd_integer_at(hd_call *c, int index, const char *argument) {
    int64_t value = 0;
    if (!to_integer(c->L, index, &value)) hd_arg_expected(c, index, argument, "an integer");
    return value;
}

static double number_at(hd_call *c, int index, const char *argument) {
    if (lua_type(c->L, index) != LUA_TNUMBER) hd_arg_expected(c, index, argument, "a number");
    return lua_tonumber(c->L, index);
}

int64_t hd_arg_integer(hd_call *c, int index, const char *argument) {
    if (!hd_given(c, index)) hd_arg_error(c, argument, "expected an integer, got nil");
    return hd_integer_at(c, index, argument);
}

int64_t hd_opt_integer(hd_call *c, int index, const char *argument, int64_t otherwise) {
    return hd_given(c, index) ? hd_integer_at(c, index, argument) : otherwise;
}

double hd_arg_number(hd_call *c, int index, const char *argument) {
    if (!hd_given(c, index)) hd_arg_error(c, argument, "expected a number, got nil");
    return number_at(c, index, argument);
}

double hd_opt_number(hd_call *c, int index, const char *argument, double otherwise) {
    return hd_given(c, index) ? number_at(c, index, argument) : otherwise;
}

bool hd_opt_boolean(hd_call *c, int index, const char *argument, bool otherwise) {
    if (!hd_given(c, index)) return otherwise;
    if (!lua_isboolean(c->L, index)) hd_arg_expected(c, index, argument, "a boolean");
    return lua_toboolean(c->L, index);
}

bool hd_is_number(hd_call *c, int index) {
    return hd_given(c, index) && lua_type(c->L, index) == LUA_TNUMBER;
}

hd_scalar hd_arg_scalar(hd_call *c, int index, const char *argument) {
    if (hd_given(c, index)) {
        if (lua_isinteger(c->L, index)) return hd_scalar_i(lua_tointeger(c->L, index));
        if (lua_type(c->L, index) == LUA_TNUMBER) return hd_scalar_f(lua_tonumber(c->L, index));
        if (lua_isboolean(c->L, index)) return hd_scalar_i(lua_toboolean(c->L, index));
    }
    hd_arg_expected(c, index, argument, "a number");
    return hd_scalar_i(0);
}

static hd_dtype dtype_at(hd_call *c, int index, const char *argument) {
    hd_dtype dtype = HD_F32;
    bool is_string = lua_type(c->L, index) == LUA_TSTRING;
    char text[HD_VALUE_TEXT];
    if (!is_string || !hd_dtype_parse(lua_tostring(c->L, index), &dtype))
        hd_arg_error(
            c, argument,
            "expected a dtype, \"f32\", \"f64\", \"i64\", \"i32\", \"i16\", \"i8\", \"u32\", \"u16\", "
            "\"u8\", \"bool\", \"f16\" or \"bf16\", got %s%s",
            hd_value_text(c, index, text),
            is_string ? hd_suggest(c, "dtype", lua_tostring(c->L, index), "") : "");
    return dtype;
}

hd_dtype hd_arg_dtype(hd_call *c, int index, const char *argument) {
    if (!hd_given(c, index)) hd_arg_error(c, argument, "expected a dtype such as \"f32\", got nil");
    return dtype_at(c, index, argument);
}

/* ---- dimensions, positions, sizes -------------------------------------------------------- */

int hd_dim_at(hd_call *c, int index, const char *argument, int ndim) {
    int64_t dim = hd_integer_at(c, index, argument);
    if (ndim == 0 && (dim == 1 || dim == -1)) return 0;
    if (ndim == 0)
        hd_arg_error(c, argument, "expected 1 or -1 for a tensor without dimensions, got %lld",
                     (long long)dim);
    if (dim == 0 || dim > ndim || dim < -ndim)
        hd_arg_error(c, argument, "expected a dimension 1..%d or -%d..-1, got %lld%s", ndim, ndim,
                     (long long)dim, dim == 0 ? "; dimensions count from 1" : "");
    return (int)(dim > 0 ? dim - 1 : dim + ndim);
}

int hd_arg_dim(hd_call *c, int index, const char *argument, int ndim) {
    if (!hd_given(c, index)) hd_arg_error(c, argument, "expected a dimension (-1 is the last), got nil");
    return hd_dim_at(c, index, argument, ndim);
}

int hd_opt_dim(hd_call *c, int index, const char *argument, int ndim, int otherwise) {
    return hd_given(c, index) ? hd_dim_at(c, index, argument, ndim) : otherwise;
}

uint32_t hd_opt_dims(hd_call *c, int index, const char *argument, int ndim) {
    lua_State *L = c->L;
    if (!hd_given(c, index)) return HD_ALL_DIMS;
    if (lua_type(L, index) != LUA_TTABLE) return 1u << hd_dim_at(c, index, argument, ndim);
    uint32_t dims = 0;
    lua_Integer count = (lua_Integer)lua_rawlen(L, index);
    for (lua_Integer i = 1; i <= count; i++) {
        lua_rawgeti(L, index, i);
        uint32_t bit = 1u << hd_dim_at(c, -1, argument, ndim);
        if (dims & bit)
            hd_arg_error(c, argument, "dimension %lld is named twice", (long long)lua_tointeger(L, -1));
        dims |= bit;
        lua_pop(L, 1);
    }
    return dims ? dims : HD_ALL_DIMS;
}

int64_t hd_arg_position(hd_call *c, int index, const char *argument, int64_t size) {
    int64_t i = hd_arg_integer(c, index, argument);
    if (i == 0 || i > size || i < -size)
        hd_arg_error(c, argument, "expected an index 1..%lld or -%lld..-1, got %lld%s", (long long)size,
                     (long long)size, (long long)i, i == 0 ? "; indices count from 1" : "");
    return i > 0 ? i - 1 : i + size;
}

/* What else it may be: a dtype, or options that do not stand last. */
static const char *hint_of_size(hd_call *c, int index) {
    hd_dtype dtype;
    if (lua_type(c->L, index) == LUA_TTABLE) return "; sizes are numbers, or one table";
    if (lua_type(c->L, index) != LUA_TSTRING) return "";
    const char *text = lua_tostring(c->L, index);
    if (hd_dtype_parse(text, &dtype)) return "; a dtype is an option, {dtype = ...}, and comes last";
    return hd_suggest(c, "dtype", text, "");
}

static void add_size(hd_call *c, int index, hd_shape *shape, bool inferred) {
    int64_t size = 0;
    index = lua_absindex(c->L, index);
    if (!to_integer(c->L, index, &size) || size < (inferred ? -1 : 0)) {
        char text[HD_VALUE_TEXT];
        hd_arg_error(c, "shape", "expected sizes that are integers, 0 or more%s, got %s at position %d%s",
                     inferred ? " (one may be -1)" : "", hd_value_text(c, index, text), shape->ndim + 1,
                     hint_of_size(c, index));
    }
    if (shape->ndim == HD_MAX_DIMS) hd_arg_error(c, "shape", "expected at most %d dimensions", HD_MAX_DIMS);
    shape->size[shape->ndim++] = size;
}

hd_shape hd_arg_shape(hd_call *c, int first, bool inferred) {
    lua_State *L = c->L;
    hd_shape shape = {0};
    if (first > c->top) hd_arg_error(c, "shape", "expected sizes as numbers or one table, got none");
    if (lua_type(L, first) == LUA_TTABLE) {
        if (hd_given(c, first + 1))
            hd_arg_expected(c, first + 1, "shape", "nothing after the table of sizes");
        lua_Integer count = (lua_Integer)lua_rawlen(L, first);
        for (lua_Integer i = 1; i <= count; i++) {
            lua_rawgeti(L, first, i);
            add_size(c, -1, &shape, inferred);
            lua_pop(L, 1);
        }
        return shape;
    }
    for (int i = first; i <= c->top; i++) add_size(c, i, &shape, inferred);
    return shape;
}

/* ---- index tensors, lists ---------------------------------------------------------------- */

bool hd_is_index_dtype(hd_dtype t) {
    return hd_dtype_is_integer(t) && t != HD_U8;
}

void hd_check_index_dtype(hd_call *c, int index, const char *argument, const hd_tensor *t) {
    char text[HD_VALUE_TEXT];
    if (hd_is_index_dtype((hd_dtype)t->dtype)) return;
    if (t->dtype == HD_U8)
        hd_arg_error(c, argument,
                     "expected integers, got %s; u8 may mean a mask or indices: t:to \"bool\" or t:to "
                     "\"i64\" says which",
                     hd_value_text(c, index, text));
    hd_arg_error(c, argument, "expected integers, got %s; heed.ids(...) makes them, t:to \"i64\" converts",
                 hd_value_text(c, index, text));
}

hd_tensor *hd_arg_ids(hd_call *c, int index, const char *argument) {
    lua_State *L = c->L;
    if (hd_given(c, index) && lua_type(L, index) == LUA_TTABLE) {
        hd_push_nested(c, index, argument, true, HD_I64);
        lua_replace(L, index);
        hd_set_modes(c);
    }
    hd_tensor *t = hd_arg_tensor(c, index, argument);
    hd_check_index_dtype(c, index, argument, t);
    if (t->dtype == HD_I64) return t;
    hd_handle *cast = hd_push_handle(c);
    cast->t = hd_cast(c->cx, hd_arg_tensor(c, index, argument), HD_I64);
    if (!cast->t) hd_raise(c);
    lua_replace(L, index);
    return cast->t;
}

int hd_count(hd_call *c, int index, const char *argument) {
    lua_Unsigned count = lua_rawlen(c->L, index);
    if (count > HD_MOST_LISTED)
        hd_arg_error(c, argument, "expected at most %d in a list, got %lld", HD_MOST_LISTED,
                     (long long)count);
    return (int)count;
}

int hd_arg_list(hd_call *c, int index, const char *argument) {
    if (!hd_given(c, index) || lua_type(c->L, index) != LUA_TTABLE) {
        char text[HD_VALUE_TEXT];
        hd_arg_error(c, argument, "expected a list of tensors, got %s%s",
                     index > c->top ? "nil" : hd_value_text(c, index, text),
                     hd_given(c, index) && hd_to_handle(c->L, c->h, index) ? "; put them in braces: {a, b}"
                                                                           : "");
    }
    return hd_count(c, index, argument);
}

hd_tensor *hd_list_tensor(hd_call *c, int index, const char *argument, int i) {
    lua_rawgeti(c->L, index, i);
    hd_handle *handle = hd_to_handle(c->L, c->h, -1);
    if (!handle || !handle->t) {
        char text[HD_VALUE_TEXT];
        hd_arg_error(c, argument, "expected tensors, got %s at position %d", hd_value_text(c, -1, text), i);
    }
    lua_pop(c->L, 1);
    return met(c, handle->t, argument);
}

hd_tensor **hd_arg_tensors(hd_call *c, int index, const char *argument, int *count) {
    *count = hd_arg_list(c, index, argument);
    hd_tensor **tensors = lua_newuserdatauv(c->L, sizeof *tensors * (size_t)(*count + 1), 0);
    for (int i = 0; i < *count; i++) tensors[i] = hd_list_tensor(c, index, argument, i + 1);
    hd_set_modes(c);
    return tensors;
}

/* ---- options ----------------------------------------------------------------------------- */

static bool is_options(lua_State *L, int index) {
    if (lua_type(L, index) != LUA_TTABLE || lua_rawlen(L, index) != 0) return false;
    if (lua_getmetatable(L, index)) {
        lua_pop(L, 1);
        return false;
    }
    lua_pushnil(L);
    if (!lua_next(L, index)) return false;
    bool named = lua_type(L, -2) == LUA_TSTRING;
    lua_pop(L, 2);
    return named;
}

static bool is_among(const char *name, const char *allowed) {
    size_t length = strlen(name);
    for (const char *at = allowed; (at = strstr(at, name)) != NULL; at += length) {
        bool starts = at == allowed || at[-1] == ' ', ends = at[length] == ' ' || at[length] == '\0';
        if (starts && ends && length > 0) return true;
        if (length == 0) return false;
    }
    return false;
}

static void unknown_option(hd_call *c, const char *name, const char *allowed) {
    const char *hint = hd_suggest(c, "near", name, allowed);
    if (*hint) hd_arg_error(c, "options", "there is no option \"%.60s\"%s", name, hint);
    hd_arg_error(c, "options", "there is no option \"%.60s\"; there are: %s", name, listed(c, allowed));
}

void hd_take_options(hd_call *c, const char *allowed) {
    lua_State *L = c->L;
    c->allowed = allowed;
    if (c->top == 0 || !is_options(L, c->top)) return;
    c->options = c->top--;
    lua_pushnil(L);
    while (lua_next(L, c->options)) {
        char text[HD_VALUE_TEXT];
        if (lua_type(L, -2) != LUA_TSTRING)
            hd_arg_error(c, "options", "expected names as keys, got %s", hd_value_text(c, -2, text));
        if (!is_among(lua_tostring(L, -2), allowed)) unknown_option(c, lua_tostring(L, -2), allowed);
        lua_pop(L, 1);
    }
}

void hd_take_any_options(hd_call *c, const char *allowed) {
    lua_State *L = c->L;
    hd_take_options(c, allowed);
    if (c->options || c->top < 2 || lua_type(L, c->top) != LUA_TTABLE || lua_getmetatable(L, c->top)) return;
    lua_pushnil(L);
    if (lua_next(L, c->top))
        lua_pop(L, 2);
    else
        c->top--;
}

int hd_option(hd_call *c, const char *name) {
    if (!c->options) return 0;
    lua_pushstring(c->L, name);
    if (lua_rawget(c->L, c->options) == LUA_TNIL) {
        lua_pop(c->L, 1);
        return 0;
    }
    int index = lua_gettop(c->L);
    if (index >= 64) hd_arg_error(c, "options", "too many arguments before them");
    c->pushed |= UINT64_C(1) << index;
    return index;
}

int hd_or_option(hd_call *c, int index, const char *name) {
    /* not hd_given: an option that was pushed before may lie at this index */
    return index <= c->top && !lua_isnil(c->L, index) ? index : hd_option(c, name);
}

bool hd_option_boolean(hd_call *c, const char *name, bool otherwise) {
    int index = hd_option(c, name);
    if (!index) return otherwise;
    if (!lua_isboolean(c->L, index)) hd_arg_expected(c, index, name, "a boolean");
    return lua_toboolean(c->L, index);
}

double hd_option_number(hd_call *c, const char *name, double otherwise) {
    int index = hd_option(c, name);
    return index ? number_at(c, index, name) : otherwise;
}

int64_t hd_option_integer(hd_call *c, const char *name, int64_t otherwise) {
    int index = hd_option(c, name);
    return index ? hd_integer_at(c, index, name) : otherwise;
}

hd_dtype hd_option_dtype(hd_call *c, hd_dtype otherwise) {
    int index = hd_option(c, "dtype");
    return index ? dtype_at(c, index, "dtype") : otherwise;
}

hd_rng *hd_option_generator(hd_call *c) {
    int index = hd_option(c, "generator");
    if (!index) return NULL;
    hd_rng *generator = hd_to_type(c->L, c->h->generator_type, index);
    if (!generator) hd_arg_expected(c, index, "generator", "a generator (heed.generator(seed))");
    return generator;
}
