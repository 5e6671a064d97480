/* binary.h: the functions of two operands, a row each (tables/unary.h says how to read it).
 * Their gradients are in ops/elementwise/binary.c. mod is of floored quotients.
 *
 *   op          its hd_binary
 *   kernel      add: add_f32, add_f64, add_i64, add_i32 and add_u8 in isa/binary.c, where its sort
 *               has these
 *   name        in Lua and in messages
 *   metamethod  of Lua's operator, or NULL
 *   sort        HD_ARITHMETIC; HD_CHECKED (the same, but some integers have no result and are
 *               looked for first); HD_DIVISION (integers give f32); HD_COMPARISON (gives bool);
 *               HD_LOGIC (of truth values, gives bool)
 *   grain       how heavy an element is
 *   binding     what Lua has: HD_IN_PLACE (name and name_), HD_NEW_ONLY (name)
 */
/* clang-format off */
/*     op           kernel    name           metamethod  sort           grain           binding */
HD_ROW(HD_ADD,      add,      "add",         "__add",    HD_ARITHMETIC, HD_GRAIN_LIGHT, HD_IN_PLACE)
HD_ROW(HD_SUB,      sub,      "sub",         "__sub",    HD_ARITHMETIC, HD_GRAIN_LIGHT, HD_IN_PLACE)
HD_ROW(HD_MUL,      mul,      "mul",         "__mul",    HD_ARITHMETIC, HD_GRAIN_LIGHT, HD_IN_PLACE)
HD_ROW(HD_DIV,      div,      "div",         "__div",    HD_DIVISION,   HD_GRAIN_LIGHT, HD_IN_PLACE)
HD_ROW(HD_POW,      pow,      "pow",         "__pow",    HD_CHECKED,    HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_MOD,      mod,      "mod",         "__mod",    HD_CHECKED,    HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_FLOORDIV, floordiv, "floordiv",    "__idiv",   HD_CHECKED,    HD_GRAIN_LIGHT, HD_IN_PLACE)
HD_ROW(HD_ATAN2,    atan2,    "atan2",       NULL,       HD_DIVISION,   HD_GRAIN_HEAVY, HD_IN_PLACE)
HD_ROW(HD_HYPOT,    hypot,    "hypot",       NULL,       HD_DIVISION,   HD_GRAIN_LIGHT, HD_IN_PLACE)
HD_ROW(HD_MAXIMUM,  maximum,  "maximum",     NULL,       HD_ARITHMETIC, HD_GRAIN_LIGHT, HD_IN_PLACE)
HD_ROW(HD_MINIMUM,  minimum,  "minimum",     NULL,       HD_ARITHMETIC, HD_GRAIN_LIGHT, HD_IN_PLACE)
HD_ROW(HD_EQ,       eq,       "eq",          NULL,       HD_COMPARISON, HD_GRAIN_LIGHT, HD_NEW_ONLY)
HD_ROW(HD_NE,       ne,       "ne",          NULL,       HD_COMPARISON, HD_GRAIN_LIGHT, HD_NEW_ONLY)
HD_ROW(HD_LT,       lt,       "lt",          NULL,       HD_COMPARISON, HD_GRAIN_LIGHT, HD_NEW_ONLY)
HD_ROW(HD_LE,       le,       "le",          NULL,       HD_COMPARISON, HD_GRAIN_LIGHT, HD_NEW_ONLY)
HD_ROW(HD_GT,       gt,       "gt",          NULL,       HD_COMPARISON, HD_GRAIN_LIGHT, HD_NEW_ONLY)
HD_ROW(HD_GE,       ge,       "ge",          NULL,       HD_COMPARISON, HD_GRAIN_LIGHT, HD_NEW_ONLY)
HD_ROW(HD_AND,      and,      "logical_and", "__band",   HD_LOGIC,      HD_GRAIN_LIGHT, HD_NEW_ONLY)
HD_ROW(HD_OR,       or,       "logical_or",  "__bor",    HD_LOGIC,      HD_GRAIN_LIGHT, HD_NEW_ONLY)
HD_ROW(HD_XOR,      xor,      "logical_xor", "__bxor",   HD_LOGIC,      HD_GRAIN_LIGHT, HD_NEW_ONLY)
/* clang-format on */
#undef HD_ROW
