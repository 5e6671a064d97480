/* t[key] and t[key] = value. A key is a number, a bool tensor, an index tensor, or a list of numbers, slices, bool and
 * index tensors. */
#include <stdio.h>
#include <string.h>

#include "lua/runtime/check.h"
#include "lua/runtime/property.h"

typedef enum key_kind { KEY_NUMBER, KEY_LIST, KEY_MASK, KEY_IDS } key_kind;

/* A bool tensor or one of integers? */
static bool is_mask(hd_call *c, int index, const hd_tensor *t) {
    char text[HD_VALUE_TEXT];
    if (t->dtype == HD_BOOL) return true;
    if (hd_dtype_is_float((hd_dtype)t->dtype))
        hd_arg_error(c, NULL,
                     "expected booleans or integers, got %s; t:gt(0) is a mask, t:to \"i64\" indices",
                     hd_value_text(c, index, text));
    hd_check_index_dtype(c, index, NULL, t);
    return false;
}

static key_kind kind_of_key(hd_call *c) {
    lua_State *L = c->L;
    if (lua_type(L, 2) == LUA_TNUMBER) return KEY_NUMBER;
    if (lua_type(L, 2) == LUA_TTABLE) return KEY_LIST;
    if (!hd_to_handle(L, c->h, 2))
        hd_arg_expected(c, 2, NULL, "an index, a table of indices and slices, or a bool or i64 tensor");
    return is_mask(c, 2, hd_arg_tensor(c, 2, "key")) ? KEY_MASK : KEY_IDS;
}

/* ---- one dimension of a list ------------------------------------------------------------- */

typedef struct part {
    bool single; /* one index: the dimension goes away */
    int64_t first, count, step;
    hd_tensor *index; /* an index tensor for all of it, borrowed from the stack; NULL: none */
} part;

static int64_t bound(hd_call *c, const char *what, lua_Integer n, int dim, int64_t size) {
    lua_rawgeti(c->L, -1, n);
    int is_integer;
    int64_t i = lua_tointegerx(c->L, -1, &is_integer);
    if (lua_type(c->L, -1) != LUA_TNUMBER || !is_integer) {
        char text[HD_VALUE_TEXT];
        hd_arg_error(c, NULL, "expected an integer as the %s of a slice of dimension %d, got %s", what,
                     dim + 1, hd_value_text(c, -1, text));
    }
    lua_pop(c->L, 1);
    if (n < 3 && i < 0) i += size + 1;
    return i;
}

/* {}: all; {a}: a alone, kept; {first, last}; {first, last, step}. first = last + 1 is empty. */
static part slice_part(hd_call *c, int dim, int64_t size) {
    lua_Integer length = (lua_Integer)lua_rawlen(c->L, -1);
    if (length == 0) return (part){.count = size, .step = 1};
    if (length > 3)
        hd_arg_error(c, NULL,
                     "expected {first, last} or {first, last, step} for dimension %d, got %lld values",
                     dim + 1, (long long)length);
    int64_t first = bound(c, "first", 1, dim, size);
    int64_t last = length > 1 ? bound(c, "last", 2, dim, size) : first;
    int64_t step = length > 2 ? bound(c, "step", 3, dim, size) : 1;
    if (step < 1)
        hd_arg_error(c, NULL, "expected a step of 1 or more in dimension %d, got %lld", dim + 1,
                     (long long)step);
    if (first < 1 || last > size || first > last + 1)
        hd_arg_error(c, NULL, "expected a slice within 1..%lld of dimension %d, got {%lld, %lld}%s",
                     (long long)size, dim + 1, (long long)first, (long long)last,
                     first == 0 ? "; indices count from 1, and both ends are included" : "");
    return (part){.first = first - 1, .count = first > last ? 0 : (last - first) / step + 1, .step = step};
}

static part single_part(hd_call *c, int index, int dim, const hd_tensor *t) {
    int is_integer;
    char text[HD_VALUE_TEXT], shape[HD_SHAPE_TEXT];
    int64_t size = t->shape[dim], i = lua_tointegerx(c->L, index, &is_integer);
    if (lua_type(c->L, index) != LUA_TNUMBER || !is_integer)
        hd_arg_error(c, NULL, "expected an integer, a slice or a tensor for dimension %d, got %s", dim + 1,
                     hd_value_text(c, index, text));
    if (i == 0 || i > size || i < -size)
        hd_arg_error(c, NULL, "expected 1..%lld or -%lld..-1 in dimension %d of %s, got %lld%s",
                     (long long)size, (long long)size, dim + 1, hd_tensor_shape_text(t, shape), (long long)i,
                     i == 0 ? "; indices count from 1" : "");
    return (part){.single = true, .first = i > 0 ? i - 1 : i + size, .count = 1, .step = 1};
}

static void too_many(hd_call *c, const hd_tensor *t, int64_t count) {
    char shape[HD_SHAPE_TEXT];
    hd_arg_error(c, NULL, "expected entries for at most %d dimensions of a tensor of shape %s, got %lld",
                 t->ndim, hd_tensor_shape_text(t, shape), (long long)count);
}

/* A mask within a list stands for as many dimensions as it has: an index of each, as tensors on the stack. */
static int mask_parts(hd_call *c, const hd_tensor *t, hd_tensor *mask, int dim, part parts[HD_MAX_DIMS]) {
    char want[HD_SHAPE_TEXT], got[HD_SHAPE_TEXT];
    hd_handle *made[HD_MAX_DIMS];
    hd_tensor *places[HD_MAX_DIMS];
    if (mask->ndim > t->ndim - dim) too_many(c, t, dim + mask->ndim);
    bool fits = mask->ndim > 0;
    for (int i = 0; i < mask->ndim && fits; i++) fits = mask->shape[i] == t->shape[dim + i];
    if (!fits)
        hd_arg_error(c, NULL, "expected a mask of the sizes of %s from dimension %d on, got %s",
                     hd_tensor_shape_text(t, want), dim + 1, hd_tensor_shape_text(mask, got));
    luaL_checkstack(c->L, HD_MAX_DIMS, NULL);
    for (int i = 0; i < mask->ndim; i++) made[i] = hd_push_handle(c);
    if (hd_mask_places(c->cx, mask, places)) hd_raise(c);
    for (int i = 0; i < mask->ndim; i++) {
        made[i]->t = places[i];
        parts[dim + i] = (part){.count = t->shape[dim + i], .step = 1, .index = places[i]};
    }
    return mask->ndim;
}

/* The entry on top of the stack, for dimension dim on; returns how many dimensions it stands for. */
static int read_entry(hd_call *c, const hd_tensor *t, int dim, part parts[HD_MAX_DIMS]) {
    hd_handle *handle = hd_to_handle(c->L, c->h, -1);
    if (!handle) {
        parts[dim] =
            lua_type(c->L, -1) == LUA_TTABLE ? slice_part(c, dim, t->shape[dim]) : single_part(c, -1, dim, t);
        lua_pop(c->L, 1);
        return 1;
    }
    if (!handle->t) hd_arg_error(c, NULL, "the tensor for dimension %d was dropped", dim + 1);
    if (is_mask(c, -1, handle->t)) return mask_parts(c, t, handle->t, dim, parts);
    parts[dim] = (part){.count = t->shape[dim], .step = 1, .index = handle->t};
    return 1;
}

/* Reads the list at index 2 into parts, one a dimension of t from the first; returns their number. Tensors stay on
 * the stack, where nobody frees them. */
static int read_list(hd_call *c, const hd_tensor *t, part parts[HD_MAX_DIMS]) {
    lua_State *L = c->L;
    lua_Integer count = (lua_Integer)lua_rawlen(L, 2);
    int dim = 0;
    hd_check_list(c, 2, NULL);
    if (count > t->ndim) too_many(c, t, count);
    luaL_checkstack(L, HD_MAX_DIMS + 4, NULL);
    for (int i = 1; i <= count; i++) {
        if (dim == t->ndim) too_many(c, t, dim + count - i + 1);
        lua_rawgeti(L, 2, i);
        dim += read_entry(c, t, dim, parts);
    }
    return dim;
}

/* Of the parts that stay, the index tensors, by dimensions of the view; is there any? */
static bool indices_of_parts(const part *parts, int count, hd_tensor *index[HD_MAX_DIMS]) {
    bool any = false;
    int dim = 0;
    for (int d = 0; d < HD_MAX_DIMS; d++) index[d] = NULL;
    for (int i = 0; i < count; i++) {
        if (parts[i].single) continue;
        index[dim++] = parts[i].index;
        any = any || parts[i].index;
    }
    return any;
}

/* The view that parts name, by narrow and select; a new reference. */
static hd_tensor *view_of_parts(hd_call *c, hd_tensor *t, const part *parts, int count) {
    hd_tensor *view = hd_retain(t);
    int dim = 0;
    for (int i = 0; i < count && view; i++) {
        const part *p = &parts[i];
        hd_tensor *next = NULL;
        if (p->single)
            next = hd_select(c->cx, view, dim, p->first);
        else if (p->count != t->shape[i] || p->step != 1)
            next = hd_narrow(c->cx, view, dim, p->first, p->count, p->step);
        else
            next = hd_retain(view);
        if (!p->single) dim++;
        hd_release(view);
        view = next;
    }
    return view;
}

static int64_t position_of_parts(const hd_tensor *t, const part *parts) {
    int64_t position = t->offset;
    for (int i = 0; i < t->ndim; i++) position += parts[i].first * t->stride[i];
    return position;
}

static bool names_an_element(const hd_tensor *t, const part *parts, int count) {
    for (int i = 0; i < count; i++)
        if (!parts[i].single) return false;
    return count == t->ndim;
}

/* ---- reading ----------------------------------------------------------------------------- */

static int read_number(hd_call *c) {
    lua_State *L = c->L;
    hd_tensor *t = hd_arg_tensor(c, 1, "t");
    if (t->ndim == 0)
        hd_arg_error(c, NULL, "a tensor without dimensions has no elements to index; use t:item()");
    int is_integer;
    if (lua_tointegerx(L, 2, &is_integer) == t->shape[0] + 1 && is_integer) {
        lua_pushnil(L); /* ends ipairs */
        return 1;
    }
    part p = single_part(c, 2, 0, t);
    if (t->ndim == 1) {
        hd_push_element(L, t, t->offset + p.first * t->stride[0]);
        hd_check_losses(c);
        return 1;
    }
    c->out = hd_push_handle(c);
    c->slot = lua_gettop(L);
    return hd_return(c, hd_select(c->cx, hd_arg_tensor(c, 1, "t"), 0, p.first));
}

static int read_list_key(hd_call *c) {
    part parts[HD_MAX_DIMS];
    hd_tensor *index[HD_MAX_DIMS];
    c->out = hd_push_handle(c);
    c->slot = lua_gettop(c->L);
    hd_tensor *t = hd_arg_tensor(c, 1, "t");
    int count = read_list(c, t, parts);
    if (count > 0 && names_an_element(t, parts, count)) {
        hd_push_element(c->L, t, position_of_parts(t, parts));
        hd_check_losses(c);
        return 1;
    }
    hd_tensor *view = view_of_parts(c, t, parts, count);
    if (!view || !indices_of_parts(parts, count, index)) return hd_return(c, view);
    hd_tensor *chosen = hd_index(c->cx, view, index);
    hd_release(view);
    return hd_return(c, chosen);
}

/* A mask covers the dimensions of t from the first: as a view of t's shape. NULL with the error. */
static hd_tensor *mask_over(hd_call *c, const hd_tensor *t, hd_tensor *mask) {
    char want[HD_SHAPE_TEXT], got[HD_SHAPE_TEXT];
    bool fits = mask->ndim > 0 && mask->ndim <= t->ndim;
    for (int i = 0; i < mask->ndim && fits; i++) fits = mask->shape[i] == t->shape[i];
    if (!fits)
        return hd_fail_null(c->cx, HD_EARG, "expected a mask of the first sizes of %s, got %s",
                            hd_tensor_shape_text(t, want), hd_tensor_shape_text(mask, got));
    int64_t stride[HD_MAX_DIMS] = {0};
    for (int i = 0; i < mask->ndim; i++) stride[i] = mask->stride[i];
    return hd_tensor_view(c->cx, mask, t->ndim, t->shape, stride, mask->offset);
}

/* [count, ...]: the elements where a mask of all dimensions holds, or the rows where one of fewer does. */
static hd_tensor *select_where(hd_call *c, hd_tensor *t, hd_tensor *mask) {
    hd_tensor *wide = mask_over(c, t, mask);
    hd_tensor *flat = wide ? hd_masked_select(c->cx, t, wide) : NULL;
    hd_release(wide);
    if (!flat || mask->ndim == t->ndim) return flat;
    hd_shape shape = {.ndim = 1};
    int64_t row = 1;
    for (int i = mask->ndim; i < t->ndim; i++) row *= shape.size[shape.ndim++] = t->shape[i];
    shape.size[0] = row > 0 ? hd_numel(flat) / row : 0;
    hd_tensor *rows = hd_reshape(c->cx, flat, shape.ndim, shape.size);
    hd_release(flat);
    return rows;
}

static int read_tensor(hd_call *c, key_kind kind) {
    c->out = hd_push_handle(c);
    c->slot = lua_gettop(c->L);
    hd_tensor *t = hd_arg_tensor(c, 1, "t"), *key = hd_arg_tensor(c, 2, "key");
    if (t->ndim == 0) hd_arg_error(c, NULL, "a tensor without dimensions has no elements to index");
    return hd_return(c, kind == KEY_MASK ? select_where(c, t, key)
                                         : hd_index(c->cx, t, (hd_tensor *[HD_MAX_DIMS]){key}));
}

static void no_member(lua_State *L) {
    char name[64];
    const char *key = lua_tostring(L, 2);
    snprintf(name, sizeof name, "t.%.60s", key);
    hd_call c = hd_begin(L, name);
    hd_arg_error(&c, NULL, "a tensor has no field or method of this name%s",
                 hd_suggest(&c, "member", key, NULL));
}

/* Upvalue 3: methods and properties by name. */
static int read_field(lua_State *L) {
    lua_pushvalue(L, 2);
    int type = lua_rawget(L, lua_upvalueindex(3));
    hd_lua *h = lua_touserdata(L, lua_upvalueindex(1));
    if (type == LUA_TNUMBER)
        hd_push_property(L, h, (int)lua_tointeger(L, -1));
    else if (type == LUA_TNIL) {
        no_member(L);
    }
    return 1;
}

static int read(lua_State *L) {
    if (lua_type(L, 2) == LUA_TSTRING) return read_field(L);
    hd_call c = hd_begin(L, "t[key]");
    switch (kind_of_key(&c)) {
    case KEY_NUMBER: return read_number(&c);
    case KEY_LIST: return read_list_key(&c);
    case KEY_MASK: return read_tensor(&c, KEY_MASK);
    default: return read_tensor(&c, KEY_IDS);
    }
}

/* ---- assigning --------------------------------------------------------------------------- */

/* The value at index 3 as a tensor: numbers become one of t's dtype, without dimensions. */
static hd_tensor *value_tensor(hd_call *c) {
    lua_State *L = c->L;
    if (hd_to_handle(L, c->h, 3)) return hd_arg_tensor(c, 3, "value");
    hd_dtype dtype = (hd_dtype)hd_arg_tensor(c, 1, "t")->dtype;
    int type = lua_type(L, 3);
    if (type != LUA_TNUMBER && type != LUA_TBOOLEAN && type != LUA_TTABLE)
        hd_arg_expected(c, 3, "value", "a number, a tensor or a table of numbers");
    if (type == LUA_TTABLE) {
        hd_push_nested(c, 3, "value", true, dtype);
    } else {
        hd_handle *made = hd_push_handle(c);
        made->t = hd_tensor_new(c->cx, dtype, 0, NULL);
        if (!made->t) hd_raise(c);
        hd_store_element(c, 3, "value", dtype, made->t->storage->data, 0);
    }
    lua_replace(L, 3);
    hd_set_modes(c);
    return hd_arg_tensor(c, 3, "value");
}

static bool is_plain(const hd_call *c, const hd_tensor *t) {
    return !c->cx->grad_enabled || (!t->node && !t->requires_grad && !t->is_view);
}

/* A single number into a tensor that nobody records: no temporaries. */
static int assign_element(hd_call *c, hd_tensor *t, int64_t position) {
    hd_try(c, hd_check_inplace(c->cx, t));
    hd_store_element(c, 3, "value", (hd_dtype)t->dtype, t->storage->data, position);
    hd_wrote(t);
    return 0;
}

static int finish_assignment(hd_call *c, hd_status status) {
    hd_try(c, status);
    if (c->h->live_functions) hd_anchor_result(c, 1);
    return 0;
}

static int assign_parts(hd_call *c, const part *parts, int count) {
    hd_tensor *t = hd_arg_tensor(c, 1, "t");
    int type = lua_type(c->L, 3);
    if ((type == LUA_TNUMBER || type == LUA_TBOOLEAN) && count == t->ndim &&
        names_an_element(t, parts, count) && is_plain(c, t))
        return assign_element(c, t, position_of_parts(t, parts));
    hd_tensor *value = value_tensor(c);
    t = hd_arg_tensor(c, 1, "t");
    bool recording = c->cx->grad_enabled;
    c->cx->grad_enabled = false; /* the region is a place to write to, not a value in the graph */
    hd_tensor *region = view_of_parts(c, t, parts, count);
    c->cx->grad_enabled = recording;
    if (!region) hd_raise(c);
    hd_tensor *index[HD_MAX_DIMS];
    hd_status status = indices_of_parts(parts, count, index)
                           ? hd_assign_index_(c->cx, t, region, index, value)
                           : hd_assign_(c->cx, t, region, value);
    hd_release(region);
    return finish_assignment(c, status);
}

static int assign_by_key(hd_call *c, key_kind kind) {
    part parts[HD_MAX_DIMS];
    hd_tensor *t = hd_arg_tensor(c, 1, "t");
    if (kind == KEY_NUMBER) {
        if (t->ndim == 0)
            hd_arg_error(c, NULL, "a tensor without dimensions has no elements to index; use t:fill_(v)");
        parts[0] = single_part(c, 2, 0, t);
        return assign_parts(c, parts, 1);
    }
    if (kind == KEY_LIST) return assign_parts(c, parts, read_list(c, t, parts));
    hd_tensor *value = value_tensor(c);
    t = hd_arg_tensor(c, 1, "t");
    hd_tensor *key = hd_arg_tensor(c, 2, "key");
    if (t->ndim == 0)
        hd_arg_error(c, NULL, "a tensor without dimensions has no elements to index; use t:fill_(v)");
    return finish_assignment(c, kind == KEY_MASK
                                    ? hd_assign_mask_(c->cx, t, key, value)
                                    : hd_assign_index_(c->cx, t, t, (hd_tensor *[HD_MAX_DIMS]){key}, value));
}

static int assign(lua_State *L) {
    if (lua_type(L, 2) == LUA_TSTRING) {
        char name[64];
        snprintf(name, sizeof name, "t.%.60s", lua_tostring(L, 2));
        hd_call c = hd_begin(L, name);
        hd_set_property(&c, lua_tostring(L, 2));
        return 0;
    }
    hd_call c = hd_begin(L, "t[key]");
    return assign_by_key(&c, kind_of_key(&c));
}

void hd_register_index(hd_registrar *r) {
    lua_State *L = r->L;
    lua_pushvalue(L, r->record);
    lua_pushvalue(L, r->tensor);
    lua_pushvalue(L, r->methods);
    lua_pushcclosure(L, read, 3);
    lua_setfield(L, r->tensor, "__index");
    hd_define_meta(r, r->tensor, "__newindex", assign, NULL);
}
