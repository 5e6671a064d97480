/* Random numbers: the training stream, generators of one's own, drawing in place. */
#include "lua/runtime/check.h"

/* A generator is a userdata that holds a hd_rng. */
static hd_rng *check_generator(hd_call *c) {
    hd_rng *rng = hd_to_type(c->L, c->h->generator_type, 1);
    if (!rng) hd_arg_expected(c, 1, "generator", "a generator; its methods are called with a colon");
    return rng;
}

/* generator(seed) */
static int generator(lua_State *L) {
    hd_call c = hd_begin(L, "generator");
    hd_no_more(&c, 1);
    uint64_t seed = (uint64_t)hd_arg_integer(&c, 1, "seed");
    hd_rng *rng = lua_newuserdatauv(L, sizeof *rng, 0);
    *rng = (hd_rng){seed, 0};
    hd_push_uv(L, HD_UV_GENERATOR);
    lua_setmetatable(L, -2);
    return 1;
}

/* The state of a stream: an i64 tensor of two elements, seed and the next draw's number. */
static int return_state(hd_call *c, const hd_rng *rng) {
    hd_rng state = *rng;
    c->out = hd_push_handle(c);
    c->slot = lua_gettop(c->L);
    hd_tensor *t = hd_tensor_new(c->cx, HD_I64, 1, (int64_t[]){2});
    if (t) {
        int64_t *data = hd_data(t);
        data[0] = (int64_t)state.seed;
        data[1] = (int64_t)state.draw;
    }
    return hd_return(c, t);
}

static void set_state(hd_call *c, hd_rng *rng, int index) {
    hd_tensor *t = hd_arg_ids(c, index, "state");
    if (t->ndim != 1 || t->shape[0] != 2) {
        char text[HD_VALUE_TEXT];
        hd_arg_error(c, "state", "expected an i64 tensor of 2 elements, as it was given, got %s",
                     hd_value_text(c, index, text));
    }
    const int64_t *data = hd_data(t);
    *rng = (hd_rng){(uint64_t)data[0], (uint64_t)data[t->stride[0]]};
}

/* state() gives it, state(saved) sets it. */
static int generator_state(lua_State *L) {
    hd_call c = hd_begin(L, "generator:state");
    hd_no_more(&c, 2);
    hd_rng *rng = check_generator(&c);
    if (!hd_given(&c, 2)) return return_state(&c, rng);
    set_state(&c, rng, 2);
    return 0;
}

static int generator_tostring(lua_State *L) {
    hd_call c = hd_begin(L, "generator");
    hd_rng *rng = check_generator(&c);
    lua_pushfstring(L, "generator(seed %I, draw %I)", (LUAI_UACINT)rng->seed, (LUAI_UACINT)rng->draw);
    return 1;
}

static int rng_state(lua_State *L) {
    hd_call c = hd_begin(L, "rng_state");
    hd_no_more(&c, 1);
    if (!hd_given(&c, 1)) return return_state(&c, &c.cx->rng);
    set_state(&c, &c.cx->rng, 1);
    return 0;
}

static int manual_seed(lua_State *L) {
    hd_call c = hd_begin(L, "manual_seed");
    hd_no_more(&c, 1);
    c.cx->rng = (hd_rng){(uint64_t)hd_arg_integer(&c, 1, "n"), 0};
    return 0;
}

/* uniform_(low = 0, high = 1, {generator = }) */
static int uniform_(lua_State *L) {
    hd_call c = hd_begin(L, "uniform_");
    hd_take_any_options(&c, "generator");
    hd_no_more(&c, 3);
    hd_rng *rng = hd_option_generator(&c);
    double low = hd_opt_number(&c, 2, "low", 0), high = hd_opt_number(&c, 3, "high", 1);
    if (!(low <= high)) hd_arg_error(&c, "high", "expected at least low = %g, got %g", low, high);
    return hd_return_self(&c, hd_uniform_(c.cx, rng, hd_arg_tensor(&c, 1, "t"), low, high));
}

/* normal_(mean = 0, std = 1, {generator = }) */
static int normal_(lua_State *L) {
    hd_call c = hd_begin(L, "normal_");
    hd_take_any_options(&c, "generator");
    hd_no_more(&c, 3);
    hd_rng *rng = hd_option_generator(&c);
    double mean = hd_opt_number(&c, 2, "mean", 0), std = hd_opt_number(&c, 3, "std", 1);
    if (!(std >= 0)) hd_arg_error(&c, "std", "expected 0 or more, got %g", std);
    return hd_return_self(&c, hd_normal_(c.cx, rng, hd_arg_tensor(&c, 1, "t"), mean, std));
}

/* multinomial(n = 1, {replacement = false, generator = }) */
static int multinomial(lua_State *L) {
    hd_call c = hd_enter(L, "multinomial");
    hd_take_any_options(&c, "replacement generator");
    hd_no_more(&c, 2);
    hd_rng *rng = hd_option_generator(&c);
    bool replacement = hd_option_boolean(&c, "replacement", false);
    int64_t n = hd_opt_integer(&c, 2, "n", 1);
    return hd_return(&c, hd_multinomial(c.cx, rng, hd_arg_tensor(&c, 1, "t"), n, replacement));
}

static const hd_function functions[] = {
    {"generator", generator, HD_MODULE},
    {"manual_seed", manual_seed, HD_MODULE},
    {"rng_state", rng_state, HD_MODULE},
    {"uniform_", uniform_, HD_BOTH},
    {"normal_", normal_, HD_BOTH},
    {"multinomial", multinomial, HD_BOTH},
    {NULL, NULL, 0},
};

void hd_register_random(hd_registrar *r) {
    lua_State *L = r->L;
    hd_define(r, functions);
    r->h->generator_type = hd_new_type(r, "heed.generator", HD_UV_GENERATOR);
    int type = lua_gettop(L);
    hd_define_meta(r, type, "__tostring", generator_tostring, NULL);
    lua_newtable(L);
    hd_define_meta(r, -1, "state", generator_state, NULL);
    lua_setfield(L, type, "__index");
    lua_settop(L, type - 1);
}
