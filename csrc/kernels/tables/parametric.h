/* parametric.h: the functions of one operand with a number as their parameter, a row each
 * (tables/unary.h says how to read it). Integers and bool become f32, backward saves the input, Lua
 * has name and name_.
 *
 *   op         its hd_parametric
 *   kernel     elu: elu_f32, elu_f64, elu_grad_f32 and elu_grad_f64 in isa/parametric.c
 *   name       in Lua and in messages
 *   parameter  what it is called in Lua
 *   otherwise  and what it is when left out
 *   grain      how heavy an element is
 */
/* clang-format off */
/*     op             kernel      name          parameter  otherwise  grain */
HD_ROW(HD_LEAKY_RELU, leaky_relu, "leaky_relu", "slope",   0.01,      HD_GRAIN_LIGHT)
HD_ROW(HD_ELU,        elu,        "elu",        "alpha",   1,         HD_GRAIN_HEAVY)
/* clang-format on */
#undef HD_ROW
