/* The optimiser's pass over all parameters, the norm of their gradients, zeroing. */
#include "lua/check.h"

/* adamw(params, ms, vs, lr, beta1, beta2, eps, weight_decay, step, grad_scale): lists of one length;
 * parameters without a gradient are skipped. Never left half done. */
static int adamw(lua_State *L) {
    hd_call c = hd_begin(L, "adamw");
    int count = hd_arg_list(&c, 1, "params");
    if (hd_arg_list(&c, 2, "ms") != count || hd_arg_list(&c, 3, "vs") != count)
        hd_arg_error(&c, "ms, vs", "expected %d moments, one a parameter", count);
    hd_adamw_options o = {.lr = hd_arg_number(&c, 4, "lr"),
                          .beta1 = hd_arg_number(&c, 5, "beta1"),
                          .beta2 = hd_arg_number(&c, 6, "beta2"),
                          .eps = hd_arg_number(&c, 7, "eps"),
                          .weight_decay = hd_arg_number(&c, 8, "weight_decay"),
                          .step = hd_arg_integer(&c, 9, "step"),
                          .grad_scale = hd_opt_number(&c, 10, "grad_scale", 1)};
    hd_adamw_slot *slots = lua_newuserdatauv(L, sizeof *slots * (size_t)(count + 1), 0);
    int64_t used = 0;
    for (int i = 1; i <= count; i++) {
        hd_tensor *w = hd_list_tensor(&c, 1, "params", i);
        hd_tensor *m = hd_list_tensor(&c, 2, "ms", i), *v = hd_list_tensor(&c, 3, "vs", i);
        if (w->grad) slots[used++] = (hd_adamw_slot){w, w->grad, m, v};
    }
    c.cx->grad_enabled = false;
    c.cx->uninterruptible++;
    hd_status status = hd_adamw(c.cx, used, slots, &o);
    c.cx->uninterruptible--;
    hd_try(&c, status);
    return 0;
}

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
    hd_call c = hd_begin(L, "grad_norm");
    int64_t count;
    hd_tensor **grads = gradients(&c, &count);
    double norm = 0;
    hd_try(&c, hd_total_norm(c.cx, count, grads, &norm));
    lua_pushnumber(L, norm);
    return 1;
}

static int scale_grads(lua_State *L) {
    hd_call c = hd_begin(L, "scale_grads");
    int64_t count;
    double factor = hd_arg_number(&c, 2, "factor");
    hd_tensor **grads = gradients(&c, &count);
    hd_try(&c, hd_scale_all(c.cx, count, grads, factor));
    return 0;
}

/* zero_grads(params): none has a gradient any more. */
static int zero_grads(lua_State *L) {
    hd_call c = hd_begin(L, "zero_grads");
    int count = hd_arg_list(&c, 1, "params");
    for (int i = 1; i <= count; i++) {
        hd_tensor *t = hd_list_tensor(&c, 1, "params", i), *grad = t->grad;
        t->grad = NULL;
        hd_release(grad);
    }
    return 0;
}

static const hd_function functions[] = {
    {"adamw", adamw, HD_MODULE},
    {"grad_norm", grad_norm, HD_MODULE},
    {"scale_grads", scale_grads, HD_MODULE},
    {"zero_grads", zero_grads, HD_MODULE},
    {NULL, NULL, 0},
};

void hd_register_optim(hd_registrar *r) {
    hd_define(r, functions);
}
