/* tostring(t): bounded (the edges of large tensors), columns aligned, dtype and shape below. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lua/runtime/check.h"
#include "lua/runtime/property.h"
#include "ops/product/quantized.h"

#define WHOLE 1000 /* tensors up to this many elements are shown whole */
#define MOST 1200  /* elements shown of larger ones */
#define LINE 96    /* columns */

typedef struct printer {
    const hd_tensor *t;
    luaL_Buffer *b;
    int edge;    /* elements shown at each end of a dimension that is cut; 0: nothing is cut */
    char format; /* 'b' boolean, 'd' integer, '0' whole floats, 'f' fixed, 'e' exponent */
    int width;
    int per_line;
} printer;

static bool is_cut(const printer *p, int dim) {
    return p->edge > 0 && p->t->shape[dim] > 2 * p->edge;
}

static int64_t shown(const hd_tensor *t, int edge) {
    int64_t count = 1;
    for (int i = 0; i < t->ndim; i++) count *= t->shape[i] > 2 * edge ? 2 * edge : t->shape[i];
    return count;
}

static int edge_of(const hd_tensor *t) {
    int edge = 3;
    if (hd_numel(t) <= WHOLE) return 0;
    while (edge > 1 && shown(t, edge) > MOST) edge--;
    return edge;
}

static int element_text(const printer *p, int64_t position, char text[HD_NUMBER_TEXT]) {
    double x = hd_element(p->t, position);
    if (p->format == 'b') return snprintf(text, HD_NUMBER_TEXT, "%s", x != 0 ? "true" : "false");
    if (p->format == 'd') {
        int64_t i = p->t->dtype == HD_I64 ? ((const int64_t *)p->t->storage->data)[position] : (int64_t)x;
        return snprintf(text, HD_NUMBER_TEXT, "%lld", (long long)i);
    }
    if (isnan(x)) return snprintf(text, HD_NUMBER_TEXT, "nan");
    if (isinf(x)) return snprintf(text, HD_NUMBER_TEXT, x > 0 ? "inf" : "-inf");
    if (p->format == '0') return snprintf(text, HD_NUMBER_TEXT, "%.0f.", x);
    snprintf(text, HD_NUMBER_TEXT, p->format == 'e' ? "%.4e" : "%.4f", x);
    hd_use_point(text);
    return (int)strlen(text);
}

typedef void (*visit)(printer *p, int64_t position, void *arg);

static void each_shown(printer *p, int dim, int64_t position, visit f, void *arg) {
    const hd_tensor *t = p->t;
    if (dim == t->ndim) {
        f(p, position, arg);
        return;
    }
    for (int64_t i = 0; i < t->shape[dim]; i++) {
        if (is_cut(p, dim) && i == p->edge) i = t->shape[dim] - p->edge;
        each_shown(p, dim + 1, position + i * t->stride[dim], f, arg);
    }
}

typedef struct extent {
    double smallest, largest;
    bool whole;
} extent;

static void measure_value(printer *p, int64_t position, void *arg) {
    extent *e = arg;
    double x = fabs(hd_element(p->t, position));
    if (!isfinite(x)) return;
    if (x != floor(x)) e->whole = false;
    if (x > e->largest) e->largest = x;
    if (x > 0 && x < e->smallest) e->smallest = x;
}

static void measure_width(printer *p, int64_t position, void *arg) {
    (void)arg;
    char text[HD_NUMBER_TEXT];
    int width = element_text(p, position, text);
    if (width > p->width) p->width = width;
}

static void choose_format(printer *p) {
    hd_dtype dtype = (hd_dtype)p->t->dtype;
    if (dtype == HD_BOOL) {
        p->format = 'b';
    } else if (!hd_dtype_is_float(dtype)) {
        p->format = 'd';
    } else {
        extent e = {INFINITY, 0, true};
        each_shown(p, 0, p->t->offset, measure_value, &e);
        bool wide = e.largest >= 1e6 || (e.largest > 0 && e.largest < 1e-3) || e.largest / e.smallest > 1e6;
        p->format = e.whole && e.largest < 1e9 ? '0' : wide ? 'e' : 'f';
    }
    each_shown(p, 0, p->t->offset, measure_width, NULL);
    p->per_line = (LINE - p->t->ndim) / (p->width + 2);
    if (p->per_line < 1) p->per_line = 1;
}

static void add_element(printer *p, int64_t position) {
    char text[HD_NUMBER_TEXT], padded[HD_NUMBER_TEXT + 16];
    element_text(p, position, text);
    snprintf(padded, sizeof padded, "%*s", p->width, text);
    luaL_addstring(p->b, padded);
}

static void add_indent(printer *p, int columns) {
    for (int i = 0; i < columns; i++) luaL_addchar(p->b, ' ');
}

static void add_row(printer *p, int64_t position) {
    int dim = p->t->ndim - 1, on_line = 0;
    luaL_addchar(p->b, '[');
    for (int64_t i = 0; i < p->t->shape[dim]; i++) {
        if (i > 0) luaL_addstring(p->b, ",");
        if (i > 0 && on_line == p->per_line) {
            luaL_addchar(p->b, '\n');
            add_indent(p, p->t->ndim);
            on_line = 0;
        } else if (i > 0) {
            luaL_addchar(p->b, ' ');
        }
        if (is_cut(p, dim) && i == p->edge) {
            luaL_addstring(p->b, "..., ");
            i = p->t->shape[dim] - p->edge;
        }
        add_element(p, position + i * p->t->stride[dim]);
        on_line++;
    }
    luaL_addchar(p->b, ']');
}

static void add_block(printer *p, int dim, int64_t position) {
    const hd_tensor *t = p->t;
    if (dim == t->ndim - 1) {
        add_row(p, position);
        return;
    }
    luaL_addchar(p->b, '[');
    for (int64_t i = 0; i < t->shape[dim]; i++) {
        if (i > 0) {
            luaL_addchar(p->b, ',');
            for (int n = dim; n < t->ndim - 1; n++) luaL_addchar(p->b, '\n');
            add_indent(p, dim + 1);
        }
        if (is_cut(p, dim) && i == p->edge) {
            luaL_addstring(p->b, "...,\n");
            add_indent(p, dim + 1);
            i = t->shape[dim] - p->edge;
        }
        add_block(p, dim + 1, position + i * t->stride[dim]);
    }
    luaL_addchar(p->b, ']');
}

static void add_description(printer *p) {
    char shape[HD_SHAPE_TEXT];
    luaL_addstring(p->b, hd_dtype_name((hd_dtype)p->t->dtype));
    luaL_addchar(p->b, ' ');
    luaL_addstring(p->b, hd_tensor_shape_text(p->t, shape));
    if (p->t->requires_grad) luaL_addstring(p->b, p->t->node ? ", recorded" : ", requires_grad");
}

static int quantized_tostring(lua_State *L, const hd_tensor *t) {
    char shape[HD_SHAPE_TEXT];
    hd_push_dtype(L, t);
    lua_pushfstring(L, "quantised weight, %s %s", lua_tostring(L, -1), hd_tensor_shape_text(t, shape));
    return 1;
}

static int tensor_tostring(lua_State *L) {
    hd_lua *h = lua_touserdata(L, lua_upvalueindex(1));
    lua_settop(L, 1);
    hd_handle *given = hd_to_handle(L, h, 1);
    if (!given || !given->t || !h->cx) {
        lua_pushliteral(L, "dropped tensor");
        return 1;
    }
    hd_call c = hd_enter(L, "tostring");
    hd_tensor *t = hd_arg_weight(&c, 1, "t");
    if (hd_quantized_of(t)) return quantized_tostring(L, t);
    c.out->t = hd_retain(t); /* the buffer's growth may run finalizers */
    luaL_Buffer buffer;
    luaL_buffinit(L, &buffer);
    printer p = {.t = t, .b = &buffer, .edge = edge_of(t)};
    if (hd_numel(t) > 0) {
        choose_format(&p);
        if (t->ndim == 0)
            add_element(&p, t->offset);
        else
            add_block(&p, 0, t->offset);
        luaL_addstring(&buffer, t->ndim == 0 ? " " : "\n");
    }
    add_description(&p);
    luaL_pushresult(&buffer);
    hd_check_losses(&c);
    return 1;
}

/* A tensor of one element reads as its number inside a string. */
static int tensor_concat(lua_State *L) {
    hd_call c = hd_begin(L, "a .. b");
    for (int i = 1; i <= 2; i++) {
        hd_handle *handle = hd_to_handle(L, c.h, i);
        char text[HD_NUMBER_TEXT];
        if (!handle) {
            if (lua_type(L, i) != LUA_TSTRING && lua_type(L, i) != LUA_TNUMBER &&
                !luaL_getmetafield(L, i, "__tostring"))
                hd_arg_expected(&c, i, i == 1 ? "a" : "b", "a string or a number");
            luaL_tolstring(L, i, NULL);
            lua_replace(L, i);
            continue;
        }
        hd_tensor *t = hd_arg_tensor(&c, i, i == 1 ? "a" : "b");
        if (hd_numel(t) != 1)
            hd_arg_error(&c, i == 1 ? "a" : "b",
                         "expected a tensor of one element, got shape %s; tostring(t) is the picture of all",
                         hd_tensor_shape_text(t, (char[HD_SHAPE_TEXT]){0}));
        if (t->dtype == HD_BOOL)
            lua_pushstring(L, hd_element(t, t->offset) != 0 ? "true" : "false");
        else if (t->dtype == HD_I64)
            lua_pushfstring(L, "%I", (lua_Integer)((const int64_t *)t->storage->data)[t->offset]);
        else
            lua_pushstring(L, hd_number_text((hd_dtype)t->dtype, hd_element(t, t->offset), text));
        lua_replace(L, i);
    }
    lua_settop(L, 2);
    lua_concat(L, 2);
    return 1;
}

void hd_register_print(hd_registrar *r) {
    hd_define_meta(r, r->tensor, "__tostring", tensor_tostring, NULL);
    hd_define_meta(r, r->tensor, "__concat", tensor_concat, NULL);
}
