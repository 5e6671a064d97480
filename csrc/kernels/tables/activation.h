/* activation.h: the functions that may follow a linear map in the same pass (bias_act), a
 * row each (tables/unary.h says how to read it).
 *
 *   act     its hd_activation
 *   kernel  silu: bias_silu_f32, bias_silu_f64, bias_silu_grad_f32 and bias_silu_grad_f64, made in
 *           isa/dropout_body.h of vf_silu, vf_silu_grad and their twins in f64 (vec_math.h)
 *   name    in Lua
 *   op      the same alone
 */
/* clang-format off */
/*     act                  kernel        name            op */
HD_ROW(HD_ACT_RELU,         relu,         "relu",         HD_RELU)
HD_ROW(HD_ACT_GELU,         gelu,         "gelu",         HD_GELU)
HD_ROW(HD_ACT_GELU_TANH,    gelu_tanh,    "gelu_tanh",    HD_GELU_TANH)
HD_ROW(HD_ACT_GELU_SIGMOID, gelu_sigmoid, "gelu_sigmoid", HD_GELU_SIGMOID)
HD_ROW(HD_ACT_SILU,         silu,         "silu",         HD_SILU)
HD_ROW(HD_ACT_TANH,         tanh,         "tanh",         HD_TANH)
HD_ROW(HD_ACT_SIGMOID,      sigmoid,      "sigmoid",      HD_SIGMOID)
/* clang-format on */
#undef HD_ROW
