/* Optimisers' passes over all parameters, the norm of their gradients, zeroing, averages. */
#include "lua/runtime/check.h"

#include <string.h>

/* ---- a step ------------------------------------------------------------------------------ */

/* A group of parameters as a step sees it; `params`, `m`, `v`, `a` and `steps` are indices of the stack. */
typedef struct group {
    hd_optim_options o;
    int params, m, v, a, steps;
    int count;
} group;

/* Which lists a step of a kind cannot do without. */
static const struct {
    const char *name;
    hd_optimizer kind;
    bool wants_m, wants_v;
} kinds[] = {{"sgd", HD_SGD, false, false},
             {"adam", HD_ADAM, true, true},
             {"adamw", HD_ADAMW, true, true},
             {"rmsprop", HD_RMSPROP, false, true},
             {"lion", HD_LION, true, false}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* The place in `kinds` of the name at index. */
static int kind_at(hd_call *c, int index) {
    const char *name = lua_type(c->L, index) == LUA_TSTRING ? lua_tostring(c->L, index) : "";
    for (int i = 0; i < KINDS; i++)
        if (strcmp(name, kinds[i].name) == 0) return i;
    return hd_arg_expected(c, index, "kind", "\"sgd\", \"adam\", \"adamw\", \"rmsprop\" or \"lion\"");
}

/* Field `name` of the table on top, left below it. Its index; nil stays there. */
static int pull(hd_call *c, const char *name) {
    lua_getfield(c->L, -1, name);
    lua_insert(c->L, -2);
    c->top = lua_gettop(c->L);
    return c->top - 1;
}

static double number_field(hd_call *c, const char *name) {
    lua_getfield(c->L, -1, name);
    c->top = lua_gettop(c->L);
    double value = hd_opt_number(c, c->top, name, 0);
    lua_pop(c->L, 1);
    return value;
}

static bool flag_field(hd_call *c, const char *name) {
    lua_getfield(c->L, -1, name);
    bool value = lua_toboolean(c->L, -1);
    lua_pop(c->L, 1);
    return value;
}

/* The settings in the table on top. */
static hd_optim_options read_options(hd_call *c, hd_optimizer kind) {
    hd_optim_options o = {.kind = kind, .grad_scale = 1};
    o.lr = number_field(c, "lr");
    o.weight_decay = number_field(c, "weight_decay");
    o.beta1 = number_field(c, "beta1");
    o.beta2 = number_field(c, "beta2");
    o.eps = number_field(c, "eps");
    o.alpha = number_field(c, "alpha");
    o.momentum = number_field(c, "momentum");
    o.dampening = number_field(c, "dampening");
    o.nesterov = flag_field(c, "nesterov");
    return o;
}

/* The table of a group is on top, and goes; its lists stay on the stack. */
static group read_group(hd_call *c, hd_optimizer kind) {
    group g;
    luaL_checkstack(c->L, 16, "too many groups");
    if (lua_type(c->L, -1) != LUA_TTABLE) hd_arg_error(c, "groups", "expected a list of tables");
    g.params = pull(c, "params");
    g.m = pull(c, "m");
    g.v = pull(c, "v");
    g.a = pull(c, "a");
    g.steps = pull(c, "steps");
    g.o = read_options(c, kind);
    lua_pop(c->L, 1);
    g.count = hd_arg_list(c, g.params, "params");
    if (lua_type(c->L, g.steps) != LUA_TTABLE) hd_arg_expected(c, g.steps, "steps", "a list of counts");
    if (!lua_isnil(c->L, g.m)) hd_arg_list(c, g.m, "m");
    if (!lua_isnil(c->L, g.v)) hd_arg_list(c, g.v, "v");
    if (!lua_isnil(c->L, g.a)) hd_arg_list(c, g.a, "a");
    return g;
}

static int64_t steps_of(hd_call *c, const group *g, int i) {
    lua_rawgeti(c->L, g->steps, i);
    int64_t steps = hd_integer_at(c, -1, "steps");
    if (steps < 0 || steps == INT64_MAX)
        hd_arg_error(c, "steps", "expected counts of 0 or more, got %lld at %d", (long long)steps, i);
    lua_pop(c->L, 1);
    return steps;
}

/* The parameters of a group that have a gradient. */
static hd_optim_slot *fill(hd_call *c, const group *g, int kind, hd_optim_slot *next) {
    for (int i = 1; i <= g->count; i++) {
        hd_tensor *w = hd_list_tensor(c, g->params, "params", i);
        if (!w->grad) continue;
        hd_optim_slot slot = {.w = w, .g = w->grad, .step = steps_of(c, g, i) + 1, .o = &g->o};
        if (!lua_isnil(c->L, g->m)) slot.m = hd_list_tensor(c, g->m, "m", i);
        if (!lua_isnil(c->L, g->v)) slot.v = hd_list_tensor(c, g->v, "v", i);
        if (!lua_isnil(c->L, g->a)) slot.a = hd_list_tensor(c, g->a, "a", i);
        if ((kinds[kind].wants_m && !slot.m) || (kinds[kind].wants_v && !slot.v))
            hd_arg_error(c, "m, v", "expected the lists of moments that %s has", kinds[kind].name);
        *next++ = slot;
    }
    return next;
}

static void count_steps(hd_call *c, const group *g) {
    for (int i = 1; i <= g->count; i++) {
        if (!hd_list_tensor(c, g->params, "params", i)->grad) continue;
        lua_pushinteger(c->L, steps_of(c, g, i) + 1);
        lua_rawseti(c->L, g->steps, i);
    }
}

/* optim_step(kind, groups): groups are tables { params, m, v, a, steps, lr, ... }; parameters without a
 * gradient are passed over. All of them move, or none; steps counts up for those that did. */
static int optim_step(lua_State *L) {
    hd_call c = hd_begin(L, "heed.optim.Optimizer:step");
    const int kind = kind_at(&c, 1);
    if (c.top < 2 || lua_type(L, 2) != LUA_TTABLE) hd_arg_expected(&c, 2, "groups", "a list of groups");
    int group_count = hd_count(&c, 2, "groups");
    int64_t params = 0; /* a list of many may be in many groups */
    group *groups = lua_newuserdatauv(L, sizeof *groups * (size_t)(group_count + 1), 0);
    for (int i = 0; i < group_count; i++) {
        lua_rawgeti(L, 2, i + 1);
        groups[i] = read_group(&c, kinds[kind].kind);
        params += groups[i].count;
    }
    hd_optim_slot *slots = lua_newuserdatauv(L, sizeof *slots * (size_t)(params + 1), 0), *end = slots;
    for (int i = 0; i < group_count; i++) end = fill(&c, &groups[i], kind, end);
    c.cx->grad_enabled = false;
    hd_try(&c, hd_optim_step(c.cx, end - slots, slots));
    for (int i = 0; i < group_count; i++) count_steps(&c, &groups[i]);
    hd_check_losses(&c);
    return 0;
}

/* ---- gradients --------------------------------------------------------------------------- */

/* The gradients of a list of parameters, those that have one, in memory that the collector owns (pushed). */
static hd_tensor **gradients(hd_call *c, int64_t *count) {
    int all = hd_arg_list(c, 1, "params");
    hd_tensor **grads = lua_newuserdatauv(c->L, sizeof *grads * (size_t)(all + 1), 0);
    *count = 0;
    for (int i = 1; i <= all; i++) {
        hd_tensor *grad = hd_list_tensor(c, 1, "params", i)->grad;
        if (grad) grads[(*count)++] = grad;
    }
    return grads;
}

/* grad_norm(params): the 2-norm of all gradients together, as a number. */
static int grad_norm(lua_State *L) {
    hd_call c = hd_begin(L, "optim.clip_grad_norm");
    int64_t count;
    hd_tensor **grads = gradients(&c, &count);
    double norm = 0;
    hd_try(&c, hd_total_norm(c.cx, count, grads, &norm));
    lua_pushnumber(L, norm);
    return 1;
}

static int scale_grads(lua_State *L) {
    hd_call c = hd_begin(L, "optim.scale_grads");
    int64_t count;
    double factor = hd_arg_number(&c, 2, "factor");
    hd_tensor **grads = gradients(&c, &count);
    hd_try(&c, hd_scale_all(c.cx, count, grads, factor));
    return 0;
}

/* zero_grads(params): none has a gradient any more. */
static int zero_grads(lua_State *L) {
    hd_call c = hd_begin(L, "heed.optim.Optimizer:zero_grad");
    int count = hd_arg_list(&c, 1, "params");
    for (int i = 1; i <= count; i++) {
        hd_tensor *t = hd_list_tensor(&c, 1, "params", i), *grad = t->grad;
        t->grad = NULL;
        hd_release(grad);
    }
    return 0;
}

/* ---- averages ---------------------------------------------------------------------------- */

/* Two lists of as many tensors. Read when memory for both is there: what makes it may run finalizers. */
typedef struct lists {
    hd_tensor **first, **second;
    int count;
} lists;

static lists read_lists(hd_call *c, const char *first, const char *second) {
    lists l = {.count = hd_arg_list(c, 1, first)};
    int others = hd_arg_list(c, 2, second);
    if (l.count != others)
        hd_arg_error(c, second, "expected %d tensors, as many as %s, got %d", l.count, first, others);
    l.first = lua_newuserdatauv(c->L, sizeof *l.first * 2 * (size_t)(l.count + 1), 0);
    l.second = l.first + l.count;
    for (int i = 0; i < l.count; i++) {
        l.first[i] = hd_list_tensor(c, 1, first, i + 1);
        l.second[i] = hd_list_tensor(c, 2, second, i + 1);
    }
    hd_set_modes(c);
    return l;
}

/* average_all(averages, tensors, decay): averages = decay averages + (1 - decay) tensors */
static int average_all(lua_State *L) {
    hd_call c = hd_begin(L, "optim.EMA");
    double decay = hd_arg_number(&c, 3, "decay");
    lists l = read_lists(&c, "averages", "tensors");
    hd_try(&c, hd_average_all(c.cx, l.count, l.first, l.second, decay));
    return 0;
}

/* swap_all(a, b): the contents of two lists of tensors change places */
static int swap_all(lua_State *L) {
    hd_call c = hd_begin(L, "optim.EMA");
    lists l = read_lists(&c, "a", "b");
    hd_try(&c, hd_swap_all(c.cx, l.count, l.first, l.second));
    return 0;
}

static const hd_function functions[] = {
    {"average_all", average_all, HD_INTERNAL},
    {"optim_step", optim_step, HD_INTERNAL},
    {"swap_all", swap_all, HD_INTERNAL},
    {"grad_norm", grad_norm, HD_INTERNAL},
    {"scale_grads", scale_grads, HD_INTERNAL},
    {"zero_grads", zero_grads, HD_INTERNAL},
    {NULL, NULL, 0},
};

void hd_register_optim(hd_registrar *r) {
    hd_define(r, functions);
}
