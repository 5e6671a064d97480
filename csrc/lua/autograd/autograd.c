/* Backward, detach. */
#include "lua/runtime/check.h"

/* backward(gradient or nil, {retain = false}) */
static int backward(lua_State *L) {
    hd_call c = hd_begin(L, "backward");
    hd_take_options(&c, "retain");
    hd_no_more(&c, 2);
    hd_tensor *root = hd_arg_tensor(&c, 1, "t"), *gradient = hd_opt_tensor(&c, 2, "gradient");
    bool retain = hd_option_boolean(&c, "retain", false);
    lua_State *outer = c.h->backward_state;
    bool outer_retain = c.h->backward_retain;
    hd_retain(root); /* the run may call Lua, which may drop its handle */
    if (gradient) hd_retain(gradient);
    c.h->backward_state = L;
    c.h->backward_retain = retain;
    hd_status status = hd_backward_run(c.cx, root, gradient, retain);
    c.h->backward_state = outer;
    c.h->backward_retain = outer_retain;
    hd_release(gradient);
    hd_release(root);
    hd_try(&c, status);
    hd_check_losses(&c);
    if (!outer) hd_clock_collect(L, c.h, true);
    return 0;
}

static int detach(lua_State *L) {
    hd_call c = hd_enter(L, "detach");
    hd_no_more(&c, 1);
    return hd_return(&c, hd_tensor_alias(c.cx, hd_arg_tensor(&c, 1, "t")));
}

static const hd_function functions[] = {
    {"backward", backward, HD_BOTH},
    {"detach", detach, HD_BOTH},
    {NULL, NULL, 0},
};

void hd_register_autograd(hd_registrar *r) {
    hd_define(r, functions);
}
