/* Elementwise arithmetic and functions, products, masks. Families are tables: name, name in place, kernel. */
#include <string.h>

#include "lua/runtime/check.h"

/* ---- one operand ------------------------------------------------------------------------- */

typedef struct unary_entry {
    const char *name, *in_place;
    hd_unary op;
} unary_entry;

static const unary_entry unaries[] = {
    {"neg", "neg_", HD_NEG},
    {"abs", "abs_", HD_ABS},
    {"sign", "sign_", HD_SIGN},
    {"square", "square_", HD_SQUARE},
    {"sqrt", "sqrt_", HD_SQRT},
    {"rsqrt", "rsqrt_", HD_RSQRT},
    {"exp", "exp_", HD_EXP},
    {"expm1", "expm1_", HD_EXPM1},
    {"log", "log_", HD_LOG},
    {"log1p", "log1p_", HD_LOG1P},
    {"sin", "sin_", HD_SIN},
    {"cos", "cos_", HD_COS},
    {"tanh", "tanh_", HD_TANH},
    {"sigmoid", "sigmoid_", HD_SIGMOID},
    {"erf", "erf_", HD_ERF},
    {"relu", "relu_", HD_RELU},
    {"silu", "silu_", HD_SILU},
    {"floor", "floor_", HD_FLOOR},
    {"ceil", "ceil_", HD_CEIL},
    {"trunc", "trunc_", HD_TRUNC},
    {"frac", "frac_", HD_FRAC},
    {"logical_not", NULL, HD_LOGICAL_NOT},
    {"softplus", "softplus_", HD_SOFTPLUS},
    {"isnan", NULL, HD_ISNAN},
    {"isinf", NULL, HD_ISINF},
    {"isfinite", NULL, HD_ISFINITE},
};

static int unary(lua_State *L) {
    const unary_entry *e = hd_entry(L);
    hd_call c = hd_enter(L, e->name);
    hd_no_more(&c, 1);
    return hd_return(&c, hd_unary_op(c.cx, e->op, hd_arg_tensor(&c, 1, "t")));
}

static int unary_in_place(lua_State *L) {
    const unary_entry *e = hd_entry(L);
    hd_call c = hd_begin(L, e->in_place);
    hd_no_more(&c, 1);
    return hd_return_self(&c, hd_unary_(c.cx, e->op, hd_arg_tensor(&c, 1, "t")));
}

/* gelu({approximate = "none" | "tanh" | "sigmoid"}) */
static hd_unary which_gelu(hd_call *c) {
    hd_take_any_options(c, "approximate");
    hd_no_more(c, 1);
    int index = hd_option(c, "approximate");
    const char *name = !index                                 ? "none"
                       : lua_type(c->L, index) == LUA_TSTRING ? lua_tostring(c->L, index)
                                                              : "";
    if (strcmp(name, "none") == 0) return HD_GELU;
    if (strcmp(name, "tanh") == 0) return HD_GELU_TANH;
    if (strcmp(name, "sigmoid") == 0) return HD_GELU_SIGMOID;
    hd_arg_expected(c, index, "approximate", "\"none\", \"tanh\" or \"sigmoid\"");
    return HD_GELU;
}

static int gelu(lua_State *L) {
    hd_call c = hd_enter(L, "gelu");
    hd_unary op = which_gelu(&c);
    return hd_return(&c, hd_unary_op(c.cx, op, hd_arg_tensor(&c, 1, "t")));
}

static int gelu_(lua_State *L) {
    hd_call c = hd_begin(L, "gelu_");
    hd_unary op = which_gelu(&c);
    return hd_return_self(&c, hd_unary_(c.cx, op, hd_arg_tensor(&c, 1, "t")));
}

/* round(decimals = 0): half to even. */
static int decimals_of(hd_call *c) {
    hd_take_any_options(c, "decimals");
    hd_no_more(c, 2);
    int64_t decimals = hd_opt_integer(c, hd_or_option(c, 2, "decimals"), "decimals", 0);
    if (decimals < -300 || decimals > 300)
        hd_arg_error(c, "decimals", "expected -300..300, got %lld", (long long)decimals);
    return (int)decimals;
}

static int round_(lua_State *L) {
    hd_call c = hd_enter(L, "round");
    int decimals = decimals_of(&c);
    return hd_return(&c, hd_round_decimals(c.cx, hd_arg_tensor(&c, 1, "t"), decimals));
}

static int round_in_place(lua_State *L) {
    hd_call c = hd_begin(L, "round_");
    int decimals = decimals_of(&c);
    return hd_return_self(&c, hd_round_decimals_(c.cx, hd_arg_tensor(&c, 1, "t"), decimals));
}

/* ~t: of booleans. */
static int bitwise_not(lua_State *L) {
    hd_call c = hd_enter(L, "logical_not");
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    if (t->dtype != HD_BOOL) hd_arg_expected(&c, 1, "t", "a bool tensor for ~");
    return hd_return(&c, hd_unary_op(c.cx, HD_LOGICAL_NOT, t));
}

/* ---- one operand and a number ------------------------------------------------------------ */

typedef struct shaped_entry {
    const char *name, *in_place, *parameter;
    hd_shaped op;
    double otherwise;
} shaped_entry;

static const shaped_entry shapeds[] = {
    {"leaky_relu", "leaky_relu_", "slope", HD_LEAKY_RELU, 0.01},
    {"elu", "elu_", "alpha", HD_ELU, 1},
};

static double parameter_of(hd_call *c, const shaped_entry *e) {
    hd_take_any_options(c, e->parameter);
    hd_no_more(c, 2);
    return hd_opt_number(c, hd_or_option(c, 2, e->parameter), e->parameter, e->otherwise);
}

static int shaped(lua_State *L) {
    const shaped_entry *e = hd_entry(L);
    hd_call c = hd_enter(L, e->name);
    double parameter = parameter_of(&c, e);
    return hd_return(&c, hd_shaped_op(c.cx, e->op, hd_arg_tensor(&c, 1, "t"), parameter));
}

static int shaped_in_place(lua_State *L) {
    const shaped_entry *e = hd_entry(L);
    hd_call c = hd_begin(L, e->in_place);
    double parameter = parameter_of(&c, e);
    return hd_return_self(&c, hd_shaped_(c.cx, e->op, hd_arg_tensor(&c, 1, "t"), parameter));
}

/* ---- two operands ------------------------------------------------------------------------ */

typedef struct binary_entry {
    const char *name, *in_place, *metamethod;
    hd_binary op;
} binary_entry;

static const binary_entry binaries[] = {
    {"add", "add_", "__add", HD_ADD},
    {"sub", "sub_", "__sub", HD_SUB},
    {"mul", "mul_", "__mul", HD_MUL},
    {"div", "div_", "__div", HD_DIV},
    {"pow", "pow_", "__pow", HD_POW},
    {"mod", "mod_", "__mod", HD_MOD},
    {"floordiv", "floordiv_", "__idiv", HD_FLOORDIV},
    {"maximum", "maximum_", NULL, HD_MAXIMUM},
    {"minimum", "minimum_", NULL, HD_MINIMUM},
    {"eq", NULL, NULL, HD_EQ},
    {"ne", NULL, NULL, HD_NE},
    {"lt", NULL, NULL, HD_LT},
    {"le", NULL, NULL, HD_LE},
    {"gt", NULL, NULL, HD_GT},
    {"ge", NULL, NULL, HD_GE},
    {"logical_and", NULL, "__band", HD_AND},
    {"logical_or", NULL, "__bor", HD_OR},
    {"logical_xor", NULL, "__bxor", HD_XOR},
};

/* Another type's operator gets its chance: mask & tensor also works as tensor & mask. */
static bool delegate(hd_call *c, const binary_entry *e) {
    lua_State *L = c->L;
    int type = c->top < 2 ? LUA_TNIL : lua_type(L, 2);
    if (!e->metamethod || (type != LUA_TTABLE && type != LUA_TUSERDATA) || hd_to_handle(L, c->h, 2))
        return false;
    if (luaL_getmetafield(L, 2, e->metamethod) == LUA_TNIL) return false;
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_call(L, 2, 1);
    return true;
}

static int binary(lua_State *L) {
    const binary_entry *e = hd_entry(L);
    hd_call c = hd_enter(L, e->name);
    hd_no_more(&c, 2);
    if (c.top < 2) hd_arg_tensor(&c, 2, "b");
    int first = lua_type(L, 1), second = c.top >= 2 ? lua_type(L, 2) : LUA_TNIL;
    if (second == LUA_TNUMBER || second == LUA_TBOOLEAN)
        return hd_return(
            &c, hd_binary_scalar(c.cx, e->op, hd_arg_tensor(&c, 1, "a"), hd_arg_scalar(&c, 2, "b"), false));
    if (first == LUA_TNUMBER || first == LUA_TBOOLEAN)
        return hd_return(
            &c, hd_binary_scalar(c.cx, e->op, hd_arg_tensor(&c, 2, "b"), hd_arg_scalar(&c, 1, "a"), true));
    if (delegate(&c, e)) return 1;
    if (second != LUA_TUSERDATA) hd_arg_expected(&c, 2, "b", "a tensor or a number");
    hd_tensor *a = hd_arg_tensor(&c, 1, "a"), *b = hd_arg_tensor(&c, 2, "b");
    return hd_return(&c, hd_binary_op(c.cx, e->op, a, b));
}

/* Lua's &, | and ~ are for the bits of integers: here they are of truth values, and take no others. */
static int of_truth_values(lua_State *L) {
    const binary_entry *e = hd_entry(L);
    hd_call c = hd_begin(L, e->name);
    bool delegated = lua_type(L, 2) == LUA_TTABLE;
    for (int i = 1; i <= 2 && !delegated; i++) {
        hd_handle *handle = hd_to_handle(L, c.h, i);
        if (lua_type(L, i) == LUA_TNUMBER || (handle && handle->t && handle->t->dtype != HD_BOOL))
            hd_arg_expected(&c, i, i == 1 ? "a" : "b",
                            "bool tensors for &, | and ~ (logical_and and its like take others)");
    }
    return binary(L);
}

static int binary_in_place(lua_State *L) {
    const binary_entry *e = hd_entry(L);
    hd_call c = hd_begin(L, e->in_place);
    hd_no_more(&c, 2);
    hd_tensor *a = hd_arg_tensor(&c, 1, "t");
    if (hd_is_number(&c, 2))
        return hd_return_self(&c, hd_binary_scalar_(c.cx, e->op, a, hd_arg_scalar(&c, 2, "b")));
    if (!hd_given(&c, 2) || lua_type(L, 2) != LUA_TUSERDATA)
        hd_arg_expected(&c, 2, "b", "a tensor or a number");
    return hd_return_self(&c, hd_binary_(c.cx, e->op, a, hd_arg_tensor(&c, 2, "b")));
}

static int unary_minus(lua_State *L) {
    hd_call c = hd_enter(L, "neg");
    return hd_return(&c, hd_unary_op(c.cx, HD_NEG, hd_arg_tensor(&c, 1, "t")));
}

static int matmul(lua_State *L) {
    hd_call c = hd_enter(L, "matmul");
    hd_no_more(&c, 2);
    hd_tensor *a = hd_arg_tensor(&c, 1, "a"), *b = hd_arg_tensor(&c, 2, "b");
    return hd_return(&c, hd_matmul(c.cx, a, b));
}

/* ---- choosing ---------------------------------------------------------------------------- */

/* A number beside a tensor is weak: it takes the tensor's dtype, or f32 when it is a float beside
 * integers. */
static hd_tensor *weak_tensor(hd_call *c, int index, const char *argument, const hd_tensor *beside) {
    lua_State *L = c->L;
    if (!hd_is_number(c, index) && !(hd_given(c, index) && lua_isboolean(L, index)))
        return hd_arg_tensor(c, index, argument);
    bool is_float = lua_type(L, index) == LUA_TNUMBER && !lua_isinteger(L, index);
    hd_dtype dtype = beside ? (hd_dtype)beside->dtype : lua_isboolean(L, index) ? HD_BOOL : HD_F32;
    if (beside && !hd_dtype_is_float(dtype) && is_float) dtype = HD_F32;
    if (beside && dtype == HD_BOOL && lua_type(L, index) == LUA_TNUMBER) dtype = is_float ? HD_F32 : HD_I64;
    hd_handle *made = hd_push_handle(c);
    made->t = hd_tensor_new(c->cx, dtype, 0, NULL);
    if (!made->t) hd_raise(c);
    hd_store_element(c, index, argument, dtype, made->t->storage->data, 0);
    lua_replace(L, index);
    return made->t;
}

/* where(condition, a, b) */
static int where(lua_State *L) {
    hd_call c = hd_enter(L, "where");
    hd_no_more(&c, 3);
    hd_arg_tensor(&c, 1, "condition");
    hd_handle *a = hd_to_handle(L, c.h, 2), *b = hd_to_handle(L, c.h, 3);
    weak_tensor(&c, 2, "a", b ? b->t : NULL);
    weak_tensor(&c, 3, "b", a ? a->t : NULL);
    return hd_return(&c, hd_where(c.cx, hd_arg_tensor(&c, 1, "condition"), hd_arg_tensor(&c, 2, "a"),
                                  hd_arg_tensor(&c, 3, "b")));
}

static int masked_fill(lua_State *L) {
    hd_call c = hd_enter(L, "masked_fill");
    hd_no_more(&c, 3);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t"), *mask = hd_arg_tensor(&c, 2, "mask");
    return hd_return(&c, hd_masked_fill(c.cx, t, mask, hd_arg_scalar(&c, 3, "value")));
}

static int masked_fill_(lua_State *L) {
    hd_call c = hd_begin(L, "masked_fill_");
    hd_no_more(&c, 3);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t"), *mask = hd_arg_tensor(&c, 2, "mask");
    return hd_return_self(&c, hd_masked_fill_(c.cx, t, mask, hd_arg_scalar(&c, 3, "value")));
}

/* clamp(low, high) or clamp{min = , max = }; either may be nil. */
typedef struct bounds {
    hd_scalar least, most;
    const hd_scalar *low, *high; /* NULL: open */
} bounds;

static void read_bounds(hd_call *c, bounds *b) {
    hd_take_any_options(c, "min max");
    hd_no_more(c, 3);
    int low = hd_or_option(c, 2, "min"), high = hd_or_option(c, 3, "max");
    if (low) b->least = hd_arg_scalar(c, low, "min");
    if (high) b->most = hd_arg_scalar(c, high, "max");
    if (!low && !high) hd_arg_error(c, "min, max", "expected at least one number");
    b->low = low ? &b->least : NULL;
    b->high = high ? &b->most : NULL;
}

static int clamp(lua_State *L) {
    hd_call c = hd_enter(L, "clamp");
    bounds b;
    read_bounds(&c, &b);
    return hd_return(&c, hd_clamp(c.cx, hd_arg_tensor(&c, 1, "t"), b.low, b.high));
}

static int clamp_(lua_State *L) {
    hd_call c = hd_begin(L, "clamp_");
    bounds b;
    read_bounds(&c, &b);
    return hd_return_self(&c, hd_clamp_(c.cx, hd_arg_tensor(&c, 1, "t"), b.low, b.high));
}

/* tril(diagonal = 0), triu alike */
static int64_t diagonal_of(hd_call *c) {
    hd_take_any_options(c, "diagonal");
    hd_no_more(c, 2);
    return hd_opt_integer(c, hd_or_option(c, 2, "diagonal"), "diagonal", 0);
}

static int tril(lua_State *L) {
    hd_call c = hd_enter(L, "tril");
    int64_t diagonal = diagonal_of(&c);
    return hd_return(&c, hd_tril(c.cx, hd_arg_tensor(&c, 1, "t"), diagonal));
}

static int triu(lua_State *L) {
    hd_call c = hd_enter(L, "triu");
    int64_t diagonal = diagonal_of(&c);
    return hd_return(&c, hd_triu(c.cx, hd_arg_tensor(&c, 1, "t"), diagonal));
}

static int tril_(lua_State *L) {
    hd_call c = hd_begin(L, "tril_");
    int64_t diagonal = diagonal_of(&c);
    return hd_return_self(&c, hd_tril_(c.cx, hd_arg_tensor(&c, 1, "t"), diagonal));
}

static int triu_(lua_State *L) {
    hd_call c = hd_begin(L, "triu_");
    int64_t diagonal = diagonal_of(&c);
    return hd_return_self(&c, hd_triu_(c.cx, hd_arg_tensor(&c, 1, "t"), diagonal));
}

/* ---- softmax ----------------------------------------------------------------------------- */

static int dim_of(hd_call *c, const hd_tensor *t) {
    hd_take_any_options(c, "dim");
    hd_no_more(c, 2);
    return hd_arg_dim(c, hd_or_option(c, 2, "dim"), "dim", t->ndim);
}

static int softmax(lua_State *L) {
    hd_call c = hd_enter(L, "softmax");
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    return hd_return(&c, hd_softmax(c.cx, t, dim_of(&c, t)));
}

static int log_softmax(lua_State *L) {
    hd_call c = hd_enter(L, "log_softmax");
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    return hd_return(&c, hd_log_softmax(c.cx, t, dim_of(&c, t)));
}

/* ---- writing ----------------------------------------------------------------------------- */

static int fill_(lua_State *L) {
    hd_call c = hd_begin(L, "fill_");
    hd_no_more(&c, 2);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t");
    return hd_return_self(&c, hd_fill_(c.cx, t, hd_arg_scalar(&c, 2, "value")));
}

static int zero_(lua_State *L) {
    hd_call c = hd_begin(L, "zero_");
    hd_no_more(&c, 1);
    return hd_return_self(&c, hd_fill_(c.cx, hd_arg_tensor(&c, 1, "t"), hd_scalar_i(0)));
}

static int copy_(lua_State *L) {
    hd_call c = hd_begin(L, "copy_");
    hd_no_more(&c, 2);
    hd_tensor *t = hd_arg_tensor(&c, 1, "t"), *source = hd_arg_tensor(&c, 2, "source");
    return hd_return_self(&c, hd_copy_(c.cx, t, source));
}

/* lerp(a, b, weight): the weight a number or a tensor. */
static int lerp(lua_State *L) {
    hd_call c = hd_enter(L, "lerp");
    hd_no_more(&c, 3);
    hd_tensor *a = hd_arg_tensor(&c, 1, "a"), *b = hd_arg_tensor(&c, 2, "b");
    if (hd_to_handle(L, c.h, 3)) return hd_return(&c, hd_lerp(c.cx, a, b, hd_arg_tensor(&c, 3, "weight")));
    double number = hd_arg_number(&c, 3, "weight");
    hd_handle *weight = hd_push_handle(&c);
    weight->t = hd_full(c.cx, HD_F64, 0, NULL, hd_scalar_f(number));
    return hd_return(&c, weight->t ? hd_lerp(c.cx, a, b, weight->t) : NULL);
}

static const hd_function functions[] = {
    {"lerp", lerp, HD_BOTH},
    {"gelu", gelu, HD_BOTH},
    {"gelu_", gelu_, HD_BOTH},
    {"round", round_, HD_BOTH},
    {"round_", round_in_place, HD_BOTH},
    {"matmul", matmul, HD_BOTH},
    {"where", where, HD_BOTH},
    {"masked_fill", masked_fill, HD_BOTH},
    {"masked_fill_", masked_fill_, HD_BOTH},
    {"clamp", clamp, HD_BOTH},
    {"clamp_", clamp_, HD_BOTH},
    {"tril", tril, HD_BOTH},
    {"triu", triu, HD_BOTH},
    {"tril_", tril_, HD_BOTH},
    {"triu_", triu_, HD_BOTH},
    {"softmax", softmax, HD_BOTH},
    {"log_softmax", log_softmax, HD_BOTH},
    {"fill_", fill_, HD_BOTH},
    {"zero_", zero_, HD_BOTH},
    {"copy_", copy_, HD_BOTH},
    {NULL, NULL, 0},
};

void hd_register_compute(hd_registrar *r) {
    hd_define(r, functions);
    for (size_t i = 0; i < sizeof unaries / sizeof *unaries; i++) {
        hd_define_entry(r, unaries[i].name, unary, HD_BOTH, &unaries[i]);
        if (unaries[i].in_place)
            hd_define_entry(r, unaries[i].in_place, unary_in_place, HD_BOTH, &unaries[i]);
    }
    for (size_t i = 0; i < sizeof shapeds / sizeof *shapeds; i++) {
        hd_define_entry(r, shapeds[i].name, shaped, HD_BOTH, &shapeds[i]);
        hd_define_entry(r, shapeds[i].in_place, shaped_in_place, HD_BOTH, &shapeds[i]);
    }
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++) {
        const binary_entry *e = &binaries[i];
        hd_define_entry(r, e->name, binary, HD_BOTH, e);
        if (e->in_place) hd_define_entry(r, e->in_place, binary_in_place, HD_BOTH, e);
        bool logical = e->op == HD_AND || e->op == HD_OR || e->op == HD_XOR;
        if (e->metamethod) hd_define_meta(r, r->tensor, e->metamethod, logical ? of_truth_values : binary, e);
    }
    hd_define_meta(r, r->tensor, "__unm", unary_minus, NULL);
    hd_define_meta(r, r->tensor, "__bnot", bitwise_not, NULL);
}
