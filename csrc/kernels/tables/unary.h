/* unary.h: the functions of one operand, a row each. To read it, define HD_ROW and include
 * it (operations.c has all columns).
 *
 *   op       its hd_unary
 *   kernel   what its kernels in isa/unary.c are called: softplus_f32 and softplus_f64; where
 *            integers stay integers, or all become bool, softplus_i64, softplus_i32 and softplus_u8
 *            as well; and softplus_grad_f32 and softplus_grad_f64 where backward saves something
 *   name     in Lua and in messages
 *   result   what integers and bool become: HD_TO_F32; HD_WHOLE (bool becomes i64); HD_TO_BOOL (as
 *            do floats)
 *   slope    what backward saves: HD_SAVES_INPUT, HD_SAVES_OUTPUT; or, where nothing has to be,
 *            what f' is: HD_SLOPE_0, HD_SLOPE_1, HD_SLOPE_NEG_1, HD_NO_SLOPE
 *   grain    how heavy an element is: HD_GRAIN_LIGHT, HD_GRAIN_HEAVY
 *   binding  what Lua has: HD_IN_PLACE (name and name_), HD_NEW_ONLY (name), HD_BY_HAND (functions
 *            in lua/elementwise/unary.c)
 */
/* clang-format off */
/*     op               kernel        name           result      slope            grain           binding */
HD_ROW(HD_NEG,          neg,          "neg",         HD_WHOLE,   HD_SLOPE_NEG_1,  HD_GRAIN_LIGHT, HD_IN_PLACE)
HD_ROW(HD_ABS,          abs,          "abs",         HD_WHOLE,   HD_SAVES_INPUT,  HD_GRAIN_LIGHT, HD_IN_PLACE)
HD_ROW(HD_SIGN,         sign,         "sign",        HD_WHOLE,   HD_SLOPE_0,      HD_GRAIN_LIGHT, HD_IN_PLACE)
HD_ROW(HD_SQUARE,       square,       "square",      HD_WHOLE,   HD_SAVES_INPUT,  HD_GRAIN_LIGHT, HD_IN_PLACE)
HD_ROW(HD_SQRT,         sqrt,         "sqrt",        HD_TO_F32,  HD_SAVES_OUTPUT, HD_GRAIN_LIGHT, HD_IN_PLACE)
HD_ROW(HD_RSQRT,        rsqrt,        "rsqrt",       HD_TO_F32,  HD_SAVES_OUTPUT, HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_EXP,          exp,          "exp",         HD_TO_F32,  HD_SAVES_OUTPUT, HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_EXPM1,        expm1,        "expm1",       HD_TO_F32,  HD_SAVES_OUTPUT, HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_EXP2,         exp2,         "exp2",        HD_TO_F32,   HD_SAVES_OUTPUT, HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_LOG,          log,          "log",         HD_TO_F32,  HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_LOG1P,        log1p,        "log1p",       HD_TO_F32,  HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_LOG2,         log2,         "log2",        HD_TO_F32,   HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_LOG10,        log10,        "log10",       HD_TO_F32,   HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_SIN,          sin,          "sin",         HD_TO_F32,  HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_COS,          cos,          "cos",         HD_TO_F32,  HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_TAN,          tan,          "tan",         HD_TO_F32,  HD_SAVES_OUTPUT, HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_ASIN,         asin,         "asin",        HD_TO_F32,   HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_ACOS,         acos,         "acos",        HD_TO_F32,   HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_ATAN,         atan,         "atan",        HD_TO_F32,   HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_SINH,         sinh,         "sinh",        HD_TO_F32,   HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_COSH,         cosh,         "cosh",        HD_TO_F32,   HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_TANH,         tanh,         "tanh",        HD_TO_F32,  HD_SAVES_OUTPUT, HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_ASINH,        asinh,        "asinh",       HD_TO_F32,   HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_ACOSH,        acosh,        "acosh",       HD_TO_F32,   HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_ATANH,        atanh,        "atanh",       HD_TO_F32,   HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_SIGMOID,      sigmoid,      "sigmoid",     HD_TO_F32,  HD_SAVES_OUTPUT, HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_ERF,          erf,          "erf",         HD_TO_F32,  HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_RELU,         relu,         "relu",        HD_WHOLE,   HD_SAVES_OUTPUT, HD_GRAIN_LIGHT, HD_IN_PLACE)
HD_ROW(HD_GELU,         gelu,         "gelu",        HD_TO_F32,  HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_BY_HAND)
HD_ROW(HD_GELU_TANH,    gelu_tanh,    "gelu",        HD_TO_F32,  HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_BY_HAND)
HD_ROW(HD_GELU_SIGMOID, gelu_sigmoid, "gelu",        HD_TO_F32,  HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_BY_HAND)
HD_ROW(HD_SILU,         silu,         "silu",        HD_TO_F32,  HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_SOFTPLUS,     softplus,     "softplus",    HD_TO_F32,  HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_SOFTSIGN,     softsign,     "softsign",    HD_TO_F32,  HD_SAVES_INPUT,  HD_GRAIN_LIGHT, HD_IN_PLACE)
HD_ROW(HD_LOG_SIGMOID,  log_sigmoid,  "log_sigmoid", HD_TO_F32,  HD_SAVES_INPUT,  HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_FLOOR,        floor,        "floor",       HD_WHOLE,   HD_SLOPE_0,      HD_GRAIN_LIGHT, HD_IN_PLACE)
HD_ROW(HD_CEIL,         ceil,         "ceil",        HD_WHOLE,   HD_SLOPE_0,      HD_GRAIN_LIGHT, HD_IN_PLACE)
HD_ROW(HD_TRUNC,        trunc,        "trunc",       HD_WHOLE,   HD_SLOPE_0,      HD_GRAIN_LIGHT, HD_IN_PLACE)
HD_ROW(HD_FRAC,         frac,         "frac",        HD_WHOLE,   HD_SLOPE_1,      HD_GRAIN_LIGHT, HD_IN_PLACE)
HD_ROW(HD_ROUND,        round,        "round",       HD_WHOLE,   HD_SLOPE_0,      HD_GRAIN_LIGHT, HD_BY_HAND)
HD_ROW(HD_LOGICAL_NOT,  logical_not,  "logical_not", HD_TO_BOOL, HD_NO_SLOPE,     HD_GRAIN_LIGHT, HD_NEW_ONLY)
HD_ROW(HD_ISNAN,        isnan,        "isnan",       HD_TO_BOOL, HD_NO_SLOPE,     HD_GRAIN_LIGHT, HD_NEW_ONLY)
HD_ROW(HD_ISINF,        isinf,        "isinf",       HD_TO_BOOL, HD_NO_SLOPE,     HD_GRAIN_LIGHT, HD_NEW_ONLY)
HD_ROW(HD_ISFINITE,     isfinite,     "isfinite",    HD_TO_BOOL, HD_NO_SLOPE,     HD_GRAIN_LIGHT, HD_NEW_ONLY)
/* clang-format on */
#undef HD_ROW
