"""Single operations for reference.py (--set operations): what spec/bench/operations.lua times, under the same names."""

WORKLOADS = {}
SIDE = 4096
COUNT = SIDE * SIDE


def add(name, f, inputs=None):
    def make(torch, o):
        given = (inputs or square)(torch)
        given = given if isinstance(given, tuple) else (given,)

        def run():
            with torch.inference_mode():
                f(torch, *given)
        return run
    WORKLOADS[name] = (make, ())


def square(t):
    return t.randn(SIDE, SIDE)


def cube(t):
    return t.randn(256, 256, 256)


def two(t):
    return square(t), square(t)


def positive(t):
    return t.rand(SIDE, SIDE) + 0.1


def turned(t):
    return square(t).t()


def masked(t):
    return square(t), square(t) > 0, square(t)


F = {"relu", "gelu", "silu", "softplus", "elu", "leaky_relu"}
for name in ("abs", "square", "relu", "exp", "expm1", "tanh", "sigmoid", "gelu", "silu", "softplus", "erf", "sin",
             "atan", "sinh", "asinh", "exp2", "elu", "leaky_relu", "floor", "ceil", "trunc", "frac", "sign", "reciprocal"):
    add(name, lambda t, x, n=name: getattr(t.nn.functional if n in F else t, n)(x))
for name in ("sqrt", "rsqrt", "log", "log1p"):
    add(name, lambda t, x, n=name: getattr(t, n)(x), positive)

add("gelu_tanh", lambda t, x: t.nn.functional.gelu(x, approximate="tanh"))
add("exp_transposed", lambda t, x: x.exp(), turned)
add("isnan", lambda t, x: x.isnan())
add("isinf", lambda t, x: x.isinf())
add("round_2", lambda t, x: x.round(decimals=2))
add("clamp", lambda t, x: x.clamp(-1, 1))
add("tril", lambda t, x: x.tril())
add("add_", lambda t, x, y: x.add_(y), two)
add("mul_scalar", lambda t, x: x * 2)
add("pow_2.5", lambda t, x: x ** 2.5, positive)
add("pow_3", lambda t, x: x ** 3)

add("add", lambda t, x, y: x + y, two)
add("div", lambda t, x, y: x / y, two)
add("atan2", lambda t, x, y: t.atan2(x, y), two)
add("hypot", lambda t, x, y: t.hypot(x, y), two)
add("maximum", lambda t, x, y: t.maximum(x, y), two)
add("gt", lambda t, x, y: x > y, two)
add("add_row", lambda t, x, y: x + y, lambda t: (square(t), t.randn(SIDE)))
add("add_column", lambda t, x, y: x + y, lambda t: (square(t), t.randn(SIDE, 1)))
add("add_transposed", lambda t, x, y: x + y, lambda t: (square(t), square(t).t()))
add("lerp", lambda t, x, y: t.lerp(x, y, 0.3), two)
add("lerp_tensor", lambda t, x, y: t.lerp(x, y, x), two)
add("mod", lambda t, x, y: x % y, two)
add("where", lambda t, x, c, y: t.where(c, x, y), masked)
add("masked_fill", lambda t, x, c, y: x.masked_fill(c, 0), masked)
add("add_i64", lambda t, x, y: x + y, lambda t: tuple(t.randint(1, 10, (SIDE, SIDE // 4)) for _ in range(2)))

add("cast_f64", lambda t, x: x.to(t.float64))
add("cast_i64", lambda t, x: x.to(t.int64))
add("cast_bool", lambda t, x: x.to(t.bool))
add("cast_bf16", lambda t, x: x.to(t.bfloat16))
add("cast_from_bf16", lambda t, x: x.to(t.float32), lambda t: square(t).to(t.bfloat16))
add("cast_from_u8", lambda t, x: x.to(t.float32), lambda t: t.randint(1, 10, (SIDE, SIDE)).to(t.uint8))
add("zeros", lambda t, x: t.zeros(SIDE, SIDE))
add("linspace", lambda t, x: t.linspace(0, 1, COUNT))
add("rand", lambda t, x: t.rand(SIDE, SIDE))
add("randn", lambda t, x: t.randn(SIDE, SIDE))
add("transpose_contiguous", lambda t, x: x.contiguous(), turned)
add("permute_contiguous", lambda t, x: x.permute(0, 2, 1, 3).contiguous(), lambda t: t.randn(16, 256, 64, 64))
add("cat_first", lambda t, x, y: t.cat([x, y], 0), two)
add("cat_last", lambda t, x, y: t.cat([x, y], 1), two)
add("flip", lambda t, x: x.flip(1))
add("unfold_contiguous", lambda t, x: x.unfold(1, 64, 32).contiguous())
add("repeat_interleave_first", lambda t, x: x.repeat_interleave(4, 0), lambda t: t.randn(SIDE // 4, SIDE))
add("repeat_interleave_last", lambda t, x: x.repeat_interleave(4, 1), lambda t: t.randn(SIDE, SIDE // 4))
add("repeat_interleave_counts", lambda t, x, n: x.repeat_interleave(n, 0), lambda t: (t.randn(SIDE, SIDE // 4), t.randint(0, 8, (SIDE,))))


def bools(t):
    return square(t) > 0, square(t) > 0


def whole(dtype, rows=SIDE):
    return lambda t: tuple(t.randint(1, 10, (rows, SIDE)).to(getattr(t, dtype)) for _ in range(2))


def doubles(t):
    return tuple(t.randn(SIDE // 2, SIDE, dtype=t.float64) for _ in range(2))


def and_row(t):
    return square(t), t.randn(SIDE)


def and_turned(t):
    return square(t), square(t).t()


add("minimum", lambda t, x, y: t.minimum(x, y), two)
add("floordiv", lambda t, x, y: x // y, two)
add("pow_tensor", lambda t, x, y: x ** y, lambda t: (positive(t), square(t)))
add("mod_scalar", lambda t, x: x % 0.7)
add("div_scalar", lambda t, x: x / 3)
add("gt_scalar", lambda t, x: x > 0.5)
add("eq", lambda t, x, y: x == y, two)
add("logical_and", lambda t, x, y: x & y, bools)
add("logical_xor", lambda t, x, y: t.logical_xor(x, y), bools)
add("logical_not_bool", lambda t, x, y: ~x, bools)
add("where_scalar", lambda t, x, c, y: t.where(c, x, 0), masked)
add("where_column", lambda t, x, y, c: t.where(c, x, y), lambda t: two(t) + (t.randn(SIDE, 1) > 0,))
add("where_row", lambda t, x, y, c: t.where(c, x, y), lambda t: two(t) + (t.randn(SIDE) > 0,))
add("add_columns_rows", lambda t, x, y: x + y, lambda t: (t.randn(SIDE, 1), t.randn(SIDE)))
add("add_middle", lambda t, x, y: x + y, lambda t: (cube(t), t.randn(256, 1, 256)))
add("clamp_low", lambda t, x: x.clamp(min=0.1))

add("mul_scalar_", lambda t, x: x.mul_(0.999))
add("exp_", lambda t, x: x.zero_().exp_())
add("fill_", lambda t, x: x.fill_(2))
add("copy_", lambda t, x, y: x.copy_(y), two)
add("copy_transposed_", lambda t, x, y: x.copy_(y), and_turned)
add("copy_row_", lambda t, x, y: x.copy_(y), and_row)
add("masked_fill_", lambda t, x, c, y: x.masked_fill_(c, 0), masked)
add("clamp_", lambda t, x: x.clamp_(-1, 1))
add("add_row_", lambda t, x, y: x.add_(y), and_row)
add("add_transposed_", lambda t, x, y: x.add_(y), and_turned)

add("add_f64", lambda t, x, y: x + y, doubles)
add("mod_f64", lambda t, x, y: x % y, doubles)
add("exp_f64", lambda t, x, y: x.exp(), doubles)
add("tanh_f64", lambda t, x, y: x.tanh(), doubles)
add("add_i32", lambda t, x, y: x + y, whole("int32"))
add("mul_i32", lambda t, x, y: x * y, whole("int32"))
add("add_u8", lambda t, x, y: x + y, whole("uint8"))
add("mul_i64", lambda t, x, y: x * y, whole("int64", SIDE // 4))
add("floordiv_i64", lambda t, x, y: x // y, whole("int64", SIDE // 4))
add("mod_i64", lambda t, x, y: x % y, whole("int64", SIDE // 4))
add("eq_i64_scalar", lambda t, x, y: x == 3, whole("int64", SIDE // 4))
add("clamp_i64", lambda t, x, y: x.clamp(2, 5), whole("int64", SIDE // 4))

add("cast_i32", lambda t, x: x.to(t.int32))
add("cast_u8", lambda t, x: x.abs().to(t.uint8))
add("cast_f16", lambda t, x: x.to(t.float16))
add("cast_from_f16", lambda t, x: x.to(t.float32), lambda t: square(t).to(t.float16))
add("cast_from_bool", lambda t, x, y: x.to(t.float32), bools)
add("cast_from_i64", lambda t, x, y: x.to(t.float32), whole("int64", SIDE // 4))
add("cast_i64_i32", lambda t, x, y: x.to(t.int32), whole("int64", SIDE // 4))
add("cast_f64_f32", lambda t, x, y: x.to(t.float32), doubles)
add("cast_transposed", lambda t, x: x.to(t.bfloat16).contiguous(), turned)

add("clone", lambda t, x: x.clone())
add("transpose_bool", lambda t, x, y: x.t().contiguous(), bools)
add("transpose_i64", lambda t, x, y: x.t().contiguous(), whole("int64", SIDE // 4))
add("transpose_middle", lambda t, x: x.transpose(1, 2).contiguous(), lambda t: t.randn(64, 512, 512))
add("permute_all", lambda t, x: x.permute(2, 0, 1).contiguous(), cube)
add("expand_rows", lambda t, x: x.expand(SIDE, SIDE).contiguous(), lambda t: t.randn(SIDE))
add("expand_columns", lambda t, x: x.expand(SIDE, SIDE).contiguous(), lambda t: t.randn(SIDE, 1))
add("tile", lambda t, x: x.tile(2, 2), lambda t: t.randn(SIDE // 2, SIDE // 2))
add("roll_first", lambda t, x: x.roll(5, 0))
add("roll_last", lambda t, x: x.roll(5, 1))
add("flip_first", lambda t, x: x.flip(0))
add("stack_first", lambda t, x, y: t.stack([x, y], 0), two)
add("stack_last", lambda t, x, y: t.stack([x, y], 2), two)
add("pad", lambda t, x: t.nn.functional.pad(x, (1, 1)))
add("pad_reflect", lambda t, x: t.nn.functional.pad(x, (3, 3), mode="reflect"))
add("narrow_contiguous", lambda t, x: x.narrow(1, 6, SIDE // 2).contiguous())
add("every_other", lambda t, x: x[:, ::2].contiguous())
add("every_other_row", lambda t, x: x[::2].contiguous())
add("triu", lambda t, x: x.triu())
add("outer", lambda t, x, y: x.outer(y), lambda t: (t.randn(SIDE), t.randn(SIDE)))


def assign(t, x, key, value):
    x[key] = value


add("ids_first", lambda t, x, i: x[i], lambda t: some_rows(t))
add("ids_last", lambda t, x, i: x[:, i], lambda t: some_rows(t))
add("ids_both", lambda t, x, i, j: x[i, j], lambda t: places(t) + places(t)[1:])
add("assign_slice", lambda t, x, v: assign(t, x, (slice(None), slice(0, SIDE // 2)), v),
    lambda t: (square(t), t.randn(SIDE, SIDE // 2)))
add("assign_mask", lambda t, x, c, y: assign(t, x, c, 1), masked)
add("assign_ids", lambda t, x, i, v: assign(t, x, i, v), lambda t: some_rows(t) + (square(t),))

REDUCTIONS = {
    "sum": lambda x, d: x.sum(d) if d is not None else x.sum(),
    "max": lambda x, d: x.max(d) if d is not None else x.max(),
    "prod": lambda x, d: x.prod(d) if d is not None else x.prod(),
    "var": lambda x, d: x.var(d),
    "norm": lambda x, d: x.norm(dim=d),
    "logsumexp": lambda x, d: x.logsumexp((0, 1) if d is None else d),
    "argmax": lambda x, d: x.argmax(d),
}
for name, f in REDUCTIONS.items():
    for where, d, inputs in (("all", None, square), ("first", 0, square), ("middle", 1, cube), ("last", 1, square),
                             ("all_transposed", None, turned), ("first_transposed", 0, turned), ("last_transposed", 1, turned)):
        add(f"{name}_{where}", lambda t, x, f=f, d=d: f(x, d), inputs)

add("mean_last", lambda t, x: x.mean(1))
add("sum_short_rows", lambda t, x: x.sum(1), lambda t: t.randn(COUNT // 8, 8))
add("sum_bool", lambda t, x: x.sum(), lambda t: square(t) > 0)
add("all_bool", lambda t, x: x.all(1), lambda t: square(t) > -9)
add("sum_i64", lambda t, x: x.sum(1), lambda t: t.randint(1, 10, (SIDE, SIDE // 4)))
add("amax_all", lambda t, x: x.amax())
add("amax_first", lambda t, x: x.amax(0))
add("amax_last", lambda t, x: x.amax(1))
add("normalize", lambda t, x: t.nn.functional.normalize(x))
add("cosine_similarity", lambda t, x, y: t.cosine_similarity(x, y), two)
add("cumsum_last", lambda t, x: x.cumsum(1))
add("cumsum_first", lambda t, x: x.cumsum(0))
add("cumprod_last", lambda t, x: x.cumprod(1))
add("cumprod_first", lambda t, x: x.cumprod(0))
add("cummax_last", lambda t, x: x.cummax(1))
add("median_last", lambda t, x: x.median(1))
add("softmax_last", lambda t, x: x.softmax(1))
add("softmax_first", lambda t, x: x.softmax(0))
add("softmax_middle", lambda t, x: x.softmax(1), cube)
add("log_softmax_last", lambda t, x: x.log_softmax(1))
add("layer_norm", lambda t, x, w: t.nn.functional.layer_norm(x, (SIDE,), w, w), lambda t: (square(t), t.randn(SIDE)))
add("layer_norm_512", lambda t, x, w: t.nn.functional.layer_norm(x, (512,), w, w),
    lambda t: (t.randn(COUNT // 512, 512), t.randn(512)))


def places(t):
    return square(t), t.randint(0, SIDE, (SIDE, SIDE))


def some_rows(t):
    return square(t), t.randint(0, SIDE, (SIDE,))


add("gather_last", lambda t, x, i: x.gather(1, i), places)
add("gather_first", lambda t, x, i: x.gather(0, i), places)
add("index_select_first", lambda t, x, i: x.index_select(0, i), some_rows)
add("index_select_last", lambda t, x, i: x.index_select(1, i), some_rows)
add("scatter_add_last", lambda t, x, i, s: x.scatter_add(1, i, s), lambda t: places(t) + (square(t),))
add("scatter_last", lambda t, x, i, s: x.scatter(1, i, s), lambda t: places(t) + (square(t),))
add("scatter_reduce_amax_last", lambda t, x, i, s: x.scatter_reduce(1, i, s, "amax"), lambda t: places(t) + (square(t),))
add("scatter_reduce_mean_last", lambda t, x, i, s: x.scatter_reduce(1, i, s, "mean"), lambda t: places(t) + (square(t),))
add("index_add_first", lambda t, x, i, s: x.index_add(0, i, s), lambda t: some_rows(t) + (square(t),))
add("masked_select", lambda t, x, m, y: x[m], masked)
add("nonzero", lambda t, x: x.nonzero(), lambda t: square(t).relu())
add("one_hot", lambda t, i: t.nn.functional.one_hot(i, SIDE // 4), lambda t: t.randint(0, SIDE // 4, (SIDE,)))
add("sort", lambda t, x: x.sort(stable=True), lambda t: t.randn(10 ** 6))
add("sort_i64", lambda t, x: x.sort(stable=True), lambda t: t.randint(-10 ** 15, 10 ** 15, (10 ** 6,)))
add("sort_last", lambda t, x: x.sort(dim=1, stable=True), lambda t: t.randn(1000, 1000))
add("sort_first", lambda t, x: x.sort(dim=0, stable=True), lambda t: t.randn(1000, 1000))
add("sort_ids", lambda t, x: x.sort(stable=True), lambda t: t.randint(1, 1001, (10 ** 6,)))
add("argsort_rows", lambda t, x: t.argsort(x, dim=1, stable=True), lambda t: t.randn(1000, 1000))
add("unique", lambda t, x: t.unique(x, return_inverse=True, return_counts=True), lambda t: t.randn(10 ** 6))
add("unique_ids", lambda t, x: t.unique(x, return_inverse=True, return_counts=True), lambda t: t.randint(1, 1001, (10 ** 6,)))
add("bincount", lambda t, x: t.bincount(x), lambda t: t.randint(1, SIDE + 1, (COUNT,)))
add("topk_50", lambda t, x: x.topk(50), lambda t: t.randn(COUNT))
add("topk_10_rows", lambda t, x: x.topk(10, 1))
add("multinomial", lambda t, x: x.multinomial(1), positive)

add("matmul_i64", lambda t, x, y: x @ y, lambda t: tuple(t.randint(1, 10, (512, 512)) for _ in range(2)))
add("einsum_outer", lambda t, x, y: t.einsum("bi,bj->bij", x, y), lambda t: (t.randn(64, 512), t.randn(64, 512)))
add("einsum_heads", lambda t, q, k: t.einsum("bhid,bhjd->bhij", q, k),
    lambda t: (t.randn(8, 12, 512, 64), t.randn(8, 12, 512, 64)))
add("einsum_trace", lambda t, x, y: t.einsum("ij,ij->", x, y), two)
