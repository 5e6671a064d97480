-- What is timed of single operations: those of pytorch/operations.py under the same names, on
-- tensors that no cache holds.
--
-- operations[name] = { make = f, work = bytes, unit = "read" | "byte" }: f() gives the function to
-- time; work is what one call must read at least (a reduction), or read and write. operations.names
-- is their order, operations.families the names of one process each.

local heed = require "heed"

local operations = { names = {}, families = {} }

local SIDE = 4096
local COUNT = SIDE * SIDE
local F32 = 4 * COUNT

local function square() return heed.randn(SIDE, SIDE) end
local function cube() return heed.randn(256, 256, 256) end

local function family(list)
    local names = {}
    for _, entry in ipairs(list) do
        local name, work, unit, f, inputs = table.unpack(entry)
        names[#names + 1] = name
        operations.names[#operations.names + 1] = name
        operations[name] = {
            work = work,
            unit = unit,
            make = function()
                local given = { (inputs or square)() }
                return function()
                    local _ <close> = heed.no_grad()
                    f(table.unpack(given))
                end
            end,
        }
    end
    operations.families[#operations.families + 1] = table.concat(names, " ")
end

local function two() return square(), square() end
local function positive() return heed.rand(SIDE, SIDE) + 0.1 end
local function and_row() return square(), heed.randn(SIDE) end
local function and_column() return square(), heed.randn(SIDE, 1) end
local function and_turned() return square(), square():t() end
local function turned() return square():t() end
local function masked() return square(), square():gt(0), square() end

local unary = {}
for _, name in ipairs { "abs", "square", "relu", "exp", "expm1", "tanh", "sigmoid", "gelu", "silu",
    "softplus", "erf", "sin", "atan", "sinh", "asinh", "exp2",
    "elu", "leaky_relu", "floor", "ceil", "trunc", "frac", "sign", "reciprocal" } do
    unary[#unary + 1] = { name, 2 * F32, "byte", function(x) return heed[name](x) end }
end
for _, name in ipairs { "sqrt", "rsqrt", "log", "log1p" } do
    unary[#unary + 1] = { name, 2 * F32, "byte", function(x) return heed[name](x) end, positive }
end
family(unary)

family {
    { "gelu_tanh", 2 * F32, "byte", function(x) return heed.gelu(x, { approximate = "tanh" }) end },
    { "exp_transposed", 2 * F32, "byte", function(x) return x:exp() end, turned },
    { "isnan", F32 + COUNT, "byte", function(x) return x:isnan() end },
    { "isinf", F32 + COUNT, "byte", function(x) return x:isinf() end },
    { "round_2", 2 * F32, "byte", function(x) return x:round(2) end },
    { "clamp", 2 * F32, "byte", function(x) return x:clamp(-1, 1) end },
    { "tril", 2 * F32, "byte", function(x) return x:tril() end },
    { "add_", 3 * F32, "byte", function(x, y) return x:add_(y) end, two },
    { "mul_scalar", 2 * F32, "byte", function(x) return x * 2 end },
    { "pow_2.5", 2 * F32, "byte", function(x) return x ^ 2.5 end, positive },
    { "pow_3", 2 * F32, "byte", function(x) return x ^ 3 end },
}

family {
    { "add", 3 * F32, "byte", function(x, y) return x + y end, two },
    { "div", 3 * F32, "byte", function(x, y) return x / y end, two },
    { "atan2", 3 * F32, "byte", heed.atan2, two },
    { "hypot", 3 * F32, "byte", heed.hypot, two },
    { "maximum", 3 * F32, "byte", heed.maximum, two },
    { "gt", 2 * F32 + COUNT, "byte", function(x, y) return x:gt(y) end, two },
    { "add_row", 2 * F32, "byte", function(x, y) return x + y end, and_row },
    { "add_column", 2 * F32, "byte", function(x, y) return x + y end, and_column },
    { "add_transposed", 3 * F32, "byte", function(x, y) return x + y end, and_turned },
    { "lerp", 3 * F32, "byte", function(x, y) return x:lerp(y, 0.3) end, two },
    { "lerp_tensor", 4 * F32, "byte", function(x, y) return x:lerp(y, x) end, two },
    { "mod", 3 * F32, "byte", function(x, y) return x % y end, two },
    { "where", 3 * F32 + COUNT, "byte", function(x, c, y) return heed.where(c, x, y) end, masked },
    { "masked_fill", 2 * F32 + COUNT, "byte", function(x, c) return x:masked_fill(c, 0) end,
        masked },
    { "add_i64", 24 * COUNT / 4, "byte", function(x, y) return x + y end,
        function()
            return heed.randint(1, 9, SIDE, SIDE // 4), heed.randint(1, 9, SIDE, SIDE // 4)
        end },
}

family {
    { "cast_f64", 12 * COUNT, "byte", function(x) return x:to "f64" end },
    { "cast_i64", 12 * COUNT, "byte", function(x) return x:to "i64" end },
    { "cast_bool", 5 * COUNT, "byte", function(x) return x:to "bool" end },
    { "cast_bf16", 6 * COUNT, "byte", function(x) return x:to "bf16" end },
    { "cast_from_bf16", 6 * COUNT, "byte", function(x) return x:to "f32" end, function()
        return square():to "bf16"
    end },
    { "cast_from_u8", 5 * COUNT, "byte", function(x) return x:to "f32" end,
        function() return heed.randint(1, 9, SIDE, SIDE):to "u8" end },
    { "zeros", F32, "byte", function() return heed.zeros(SIDE, SIDE) end },
    { "linspace", F32, "byte", function() return heed.linspace(0, 1, COUNT) end },
    { "rand", F32, "byte", function() return heed.rand(SIDE, SIDE) end },
    { "randn", F32, "byte", function() return heed.randn(SIDE, SIDE) end },
    { "transpose_contiguous", 2 * F32, "byte", function(x) return x:contiguous() end, turned },
    { "permute_contiguous", 2 * F32, "byte", function(x)
        return x:permute(1, 3, 2, 4):contiguous()
    end,
        function() return heed.randn(16, 256, 64, 64) end },
    { "cat_first", 4 * F32, "byte", function(x, y) return heed.cat({ x, y }, 1) end, two },
    { "cat_last", 4 * F32, "byte", function(x, y) return heed.cat({ x, y }, 2) end, two },
    { "flip", 2 * F32, "byte", function(x) return x:flip(2) end },
    { "unfold_contiguous", 3 * F32, "byte", function(x)
        return x:unfold(2, 64, 32):contiguous()
    end },
    { "repeat_interleave_first", 2 * F32, "byte", function(x) return x:repeat_interleave(4, 1) end,
        function() return heed.randn(SIDE // 4, SIDE) end },
    { "repeat_interleave_last", 2 * F32, "byte", function(x) return x:repeat_interleave(4, 2) end,
        function() return heed.randn(SIDE, SIDE // 4) end },
    { "repeat_interleave_counts", 2 * F32, "byte", function(x, n)
        return x:repeat_interleave(n, 1)
    end,
        function() return heed.randn(SIDE, SIDE // 4), heed.randint(0, 7, SIDE) end },
}

local function bools() return square():gt(0), square():gt(0) end
local function whole(dtype, rows)
    return function()
        local function one() return heed.randint(1, 9, rows or SIDE, SIDE):to(dtype) end
        return one(), one()
    end
end
local function doubles()
    return heed.randn(SIDE // 2, SIDE):to "f64", heed.randn(SIDE // 2, SIDE):to "f64"
end

family {
    { "minimum", 3 * F32, "byte", heed.minimum, two },
    { "floordiv", 3 * F32, "byte", function(x, y) return x // y end, two },
    { "pow_tensor", 3 * F32, "byte", function(x, y) return x ^ y end, function()
        return positive(), square()
    end },
    { "mod_scalar", 2 * F32, "byte", function(x) return x % 0.7 end },
    { "div_scalar", 2 * F32, "byte", function(x) return x / 3 end },
    { "gt_scalar", F32 + COUNT, "byte", function(x) return x:gt(0.5) end },
    { "eq", 2 * F32 + COUNT, "byte", function(x, y) return x:eq(y) end, two },
    { "logical_and", 3 * COUNT, "byte", function(x, y) return x & y end, bools },
    { "logical_xor", 3 * COUNT, "byte", function(x, y) return x:logical_xor(y) end, bools },
    { "logical_not_bool", 2 * COUNT, "byte", function(x) return ~x end, bools },
    { "where_scalar", 2 * F32 + COUNT, "byte", function(x, c) return heed.where(c, x, 0) end,
        masked },
    { "where_column", 3 * F32, "byte", function(x, y, c) return heed.where(c, x, y) end,
        function() return square(), square(), heed.randn(SIDE, 1):gt(0) end },
    { "where_row", 3 * F32, "byte", function(x, y, c) return heed.where(c, x, y) end,
        function() return square(), square(), heed.randn(SIDE):gt(0) end },
    { "add_columns_rows", F32, "byte", function(x, y) return x + y end,
        function() return heed.randn(SIDE, 1), heed.randn(SIDE) end },
    { "add_middle", 2 * F32, "byte", function(x, y) return x + y end, function()
        return cube(), heed.randn(256, 1, 256)
    end },
    { "clamp_low", 2 * F32, "byte", function(x) return x:clamp(0.1, nil) end },
}

family {
    { "mul_scalar_", 2 * F32, "byte", function(x) return x:mul_(0.999) end },
    { "exp_", 2 * F32, "byte", function(x) return x:zero_():exp_() end },
    { "fill_", F32, "byte", function(x) return x:fill_(2) end },
    { "copy_", 2 * F32, "byte", function(x, y) return x:copy_(y) end, two },
    { "copy_transposed_", 2 * F32, "byte", function(x, y) return x:copy_(y) end, and_turned },
    { "copy_row_", F32, "byte", function(x, y) return x:copy_(y) end, and_row },
    { "masked_fill_", F32 + COUNT, "byte", function(x, c) return x:masked_fill_(c, 0) end, masked },
    { "clamp_", 2 * F32, "byte", function(x) return x:clamp_(-1, 1) end },
    { "add_row_", 2 * F32, "byte", function(x, y) return x:add_(y) end, and_row },
    { "add_transposed_", 3 * F32, "byte", function(x, y) return x:add_(y) end, and_turned },
}

family {
    { "add_f64", 24 * COUNT / 2, "byte", function(x, y) return x + y end, doubles },
    { "mod_f64", 24 * COUNT / 2, "byte", function(x, y) return x % y end, doubles },
    { "exp_f64", 16 * COUNT / 2, "byte", function(x) return x:exp() end, doubles },
    { "tanh_f64", 16 * COUNT / 2, "byte", function(x) return x:tanh() end, doubles },
    { "add_i32", 3 * F32, "byte", function(x, y) return x + y end, whole "i32" },
    { "mul_i32", 3 * F32, "byte", function(x, y) return x * y end, whole "i32" },
    { "add_u8", 3 * COUNT, "byte", function(x, y) return x + y end, whole "u8" },
    { "mul_i64", 24 * COUNT / 4, "byte", function(x, y) return x * y end, whole("i64", SIDE // 4) },
    { "floordiv_i64", 24 * COUNT / 4, "byte", function(x, y) return x // y end,
        whole("i64", SIDE // 4) },
    { "mod_i64", 24 * COUNT / 4, "byte", function(x, y) return x % y end, whole("i64", SIDE // 4) },
    { "eq_i64_scalar", 9 * COUNT / 4, "byte", function(x) return x:eq(3) end,
        whole("i64", SIDE // 4) },
    { "clamp_i64", 16 * COUNT / 4, "byte", function(x) return x:clamp(2, 5) end,
        whole("i64", SIDE // 4) },
}

family {
    { "cast_i32", 2 * F32, "byte", function(x) return x:to "i32" end },
    { "cast_u8", 5 * COUNT, "byte", function(x) return x:abs():to "u8" end },
    { "cast_f16", 6 * COUNT, "byte", function(x) return x:to "f16" end },
    { "cast_from_f16", 6 * COUNT, "byte", function(x) return x:to "f32" end, function()
        return square():to "f16"
    end },
    { "cast_from_bool", 5 * COUNT, "byte", function(x) return x:to "f32" end, bools },
    { "cast_from_i64", 12 * COUNT / 4, "byte", function(x) return x:to "f32" end,
        whole("i64", SIDE // 4) },
    { "cast_i64_i32", 12 * COUNT / 4, "byte", function(x) return x:to "i32" end,
        whole("i64", SIDE // 4) },
    { "cast_f64_f32", 12 * COUNT / 2, "byte", function(x) return x:to "f32" end, doubles },
    { "cast_transposed", 6 * COUNT, "byte", function(x) return x:to "bf16" end, turned },
}

family {
    { "clone", 2 * F32, "byte", function(x) return x:clone() end },
    { "transpose_bool", 2 * COUNT, "byte", function(x) return x:t():contiguous() end, bools },
    { "transpose_i64", 16 * COUNT / 4, "byte", function(x) return x:t():contiguous() end,
        whole("i64", SIDE // 4) },
    { "transpose_middle", 2 * F32, "byte", function(x) return x:transpose(2, 3):contiguous() end,
        function() return heed.randn(64, 512, 512) end },
    { "permute_all", 2 * F32, "byte", function(x) return x:permute(3, 1, 2):contiguous() end,
        cube },
    { "expand_rows", F32, "byte", function(x) return x:expand(SIDE, SIDE):contiguous() end,
        function()
        return heed.randn(SIDE)
    end },
    { "expand_columns", F32, "byte", function(x) return x:expand(SIDE, SIDE):contiguous() end,
        function() return heed.randn(SIDE, 1) end },
    { "tile", 2 * F32, "byte", function(x) return x:tile(2, 2) end, function()
        return heed.randn(SIDE // 2, SIDE // 2)
    end },
    { "roll_first", 2 * F32, "byte", function(x) return x:roll(5, 1) end },
    { "roll_last", 2 * F32, "byte", function(x) return x:roll(5, 2) end },
    { "flip_first", 2 * F32, "byte", function(x) return x:flip(1) end },
    { "stack_first", 4 * F32, "byte", function(x, y) return heed.stack({ x, y }, 1) end, two },
    { "stack_last", 4 * F32, "byte", function(x, y) return heed.stack({ x, y }, 3) end, two },
    { "pad", 2 * F32, "byte", function(x) return x:pad { 1, 1 } end },
    { "pad_reflect", 2 * F32, "byte", function(x)
        return x:pad({ 3, 3 }, { mode = "reflect" })
    end },
    { "narrow_contiguous", F32, "byte", function(x)
        return x:narrow(2, 7, SIDE // 2):contiguous()
    end },
    { "every_other", 1.5 * F32, "byte", function(x)
        return x[{ {}, { 1, SIDE, 2 } }]:contiguous()
    end },
    { "every_other_row", F32, "byte", function(x) return x[{ { 1, SIDE, 2 } }]:contiguous() end },
    { "triu", 2 * F32, "byte", function(x) return x:triu() end },
    { "outer", F32, "byte", function(x, y) return x:outer(y) end, function()
        return heed.randn(SIDE), heed.randn(SIDE)
    end },
}

local function some_ids()
    return square(), heed.randint(1, SIDE, SIDE), heed.randint(1, SIDE, SIDE)
end
family {
    { "ids_first", 2 * F32, "byte", function(x, i) return x[i] end, some_ids },
    { "ids_last", 2 * F32, "byte", function(x, i) return x[{ {}, i }] end, some_ids },
    { "ids_both", 16 * COUNT, "byte", function(x, i, j) return x[{ i, j }] end,
        function()
            return square(), heed.randint(1, SIDE, SIDE, SIDE), heed.randint(1, SIDE, SIDE, SIDE)
        end },
    { "assign_slice", F32, "byte", function(x, _, _, v) x[{ {}, { 1, SIDE // 2 } }] = v end,
        function() return square(), 0, 0, heed.randn(SIDE, SIDE // 2) end },
    { "assign_mask", F32 + COUNT, "byte", function(x, c) x[c] = 1 end, masked },
    { "assign_ids", 2 * F32, "byte", function(x, i, _, v) x[i] = v end,
        function() return square(), heed.randint(1, SIDE, SIDE), 0, square() end },
}

local reductions = {}
for _, name in ipairs { "sum", "max", "prod", "var", "norm", "logsumexp", "argmax" } do
    local function along(dim)
        return function(x)
            if name == "norm" then return x:norm(2, dim) end
            return x[name](x, dim)
        end
    end
    reductions[#reductions + 1] = { name .. "_all", F32, "read", along(nil) }
    reductions[#reductions + 1] = { name .. "_first", F32, "read", along(1) }
    reductions[#reductions + 1] = { name .. "_middle", F32, "read", along(2), cube }
    reductions[#reductions + 1] = { name .. "_last", F32, "read", along(2) }
    reductions[#reductions + 1] = { name .. "_all_transposed", F32, "read", along(nil), turned }
    reductions[#reductions + 1] = { name .. "_first_transposed", F32, "read", along(1), turned }
    reductions[#reductions + 1] = { name .. "_last_transposed", F32, "read", along(2), turned }
end
family(reductions)

family {
    { "mean_last", F32, "read", function(x) return x:mean(2) end },
    { "sum_short_rows", F32, "read", function(x) return x:sum(2) end, function()
        return heed.randn(COUNT // 8, 8)
    end },
    { "sum_bool", COUNT, "read", function(x) return x:sum() end, function()
        return square():gt(0)
    end },
    { "all_bool", COUNT, "read", function(x) return x:all(2) end, function()
        return square():gt(-9)
    end },
    { "sum_i64", 2 * COUNT, "read", function(x) return x:sum(2) end, function()
        return heed.randint(1, 9, SIDE, SIDE // 4)
    end },
    { "amax_all", F32, "read", function(x) return x:amax() end },
    { "amax_first", F32, "read", function(x) return x:amax(1) end },
    { "amax_last", F32, "read", function(x) return x:amax(2) end },
    { "normalize", 2 * F32, "byte", function(x) return x:normalize() end },
    { "cosine_similarity", 2 * F32, "read", heed.cosine_similarity, two },
    { "cumsum_last", 2 * F32, "byte", function(x) return x:cumsum(2) end },
    { "cumsum_first", 2 * F32, "byte", function(x) return x:cumsum(1) end },
    { "cumprod_last", 2 * F32, "byte", function(x) return x:cumprod(2) end },
    { "cumprod_first", 2 * F32, "byte", function(x) return x:cumprod(1) end },
    { "cummax_last", 2 * F32 + 8 * COUNT, "byte", function(x) return x:cummax(2) end },
    { "median_last", F32, "read", function(x) return x:median(2) end },
    { "softmax_last", 2 * F32, "byte", function(x) return x:softmax(2) end },
    { "softmax_first", 2 * F32, "byte", function(x) return x:softmax(1) end },
    { "softmax_middle", 2 * F32, "byte", function(x) return x:softmax(2) end, cube },
    { "log_softmax_last", 2 * F32, "byte", function(x) return x:log_softmax(2) end },
    { "layer_norm", 2 * F32, "byte", function(x, w) return heed.layer_norm(x, w, w) end, and_row },
    { "layer_norm_512", 2 * F32, "byte", function(x, w) return heed.layer_norm(x, w, w) end,
        function() return heed.randn(COUNT // 512, 512), heed.randn(512) end },
}

local function places() return square(), heed.randint(1, SIDE, SIDE, SIDE) end
local function some_rows() return square(), heed.randint(1, SIDE, SIDE) end
family {
    { "gather_last", 16 * COUNT, "byte", function(x, i) return x:gather(2, i) end, places },
    { "gather_first", 16 * COUNT, "byte", function(x, i) return x:gather(1, i) end, places },
    { "index_select_first", 2 * F32, "byte", function(x, i) return x:index_select(1, i) end,
        some_rows },
    { "index_select_last", 2 * F32, "byte", function(x, i) return x:index_select(2, i) end,
        some_rows },
    { "scatter_add_last", 20 * COUNT, "byte", function(x, i, s) return x:scatter_add(2, i, s) end,
        function() return square(), heed.randint(1, SIDE, SIDE, SIDE), square() end },
    { "scatter_last", 20 * COUNT, "byte", function(x, i, s) return x:scatter(2, i, s) end,
        function() return square(), heed.randint(1, SIDE, SIDE, SIDE), square() end },
    { "scatter_reduce_amax_last", 20 * COUNT, "byte", function(x, i, s)
        return x:scatter_reduce(2, i, s, "amax")
    end,
        function() return square(), heed.randint(1, SIDE, SIDE, SIDE), square() end },
    { "scatter_reduce_mean_last", 20 * COUNT, "byte", function(x, i, s)
        return x:scatter_reduce(2, i, s, "mean")
    end,
        function() return square(), heed.randint(1, SIDE, SIDE, SIDE), square() end },
    { "index_add_first", 4 * F32, "byte", function(x, i, s) return x:index_add(1, i, s) end,
        function() return square(), heed.randint(1, SIDE, SIDE), square() end },
    { "masked_select", F32 + COUNT, "byte", function(x, m) return x[m] end, masked },
    { "nonzero", F32, "byte", function(x) return x:nonzero() end, function()
        return square():relu()
    end },
    { "one_hot", 8 * COUNT / 4, "byte", function(i) return i:one_hot(SIDE // 4) end,
        function() return heed.randint(1, SIDE // 4, SIDE) end },
    { "sort", 12e6, "byte", function(x) return x:sort() end, function()
        return heed.randn(10 ^ 6 // 1 | 0)
    end },
    { "sort_i64", 16e6, "byte", function(x) return x:sort() end,
        function() return heed.randint(-10 ^ 15 // 1 | 0, 10 ^ 15 // 1 | 0, 10 ^ 6 // 1 | 0) end },
    { "sort_last", 12e6, "byte", function(x) return x:sort(2) end, function()
        return heed.randn(1000, 1000)
    end },
    { "sort_first", 12e6, "byte", function(x) return x:sort(1) end, function()
        return heed.randn(1000, 1000)
    end },
    { "sort_ids", 16e6, "byte", function(x) return x:sort() end, function()
        return heed.randint(1, 1000, 10 ^ 6 // 1 | 0)
    end },
    { "argsort_rows", 12e6, "byte", function(x) return x:argsort(2) end, function()
        return heed.randn(1000, 1000)
    end },
    { "unique", 12e6, "byte", function(x) return x:unique() end, function()
        return heed.randn(10 ^ 6 // 1 | 0)
    end },
    { "unique_ids", 16e6, "byte", function(x) return x:unique() end, function()
        return heed.randint(1, 1000, 10 ^ 6 // 1 | 0)
    end },
    { "bincount", 8 * COUNT, "read", function(x) return x:bincount() end, function()
        return heed.randint(1, SIDE, COUNT)
    end },
    { "topk_50", F32, "read", function(x) return x:topk(50) end, function()
        return heed.randn(COUNT)
    end },
    { "topk_10_rows", F32, "read", function(x) return x:topk(10, 2) end },
    { "multinomial", F32, "read", function(x) return x:multinomial(1) end, positive },
}

family {
    { "matmul_i64", 3 * 8 * 512 ^ 2, "byte", function(x, y) return x:matmul(y) end,
        function() return heed.randint(1, 9, 512, 512), heed.randint(1, 9, 512, 512) end },
    { "einsum_outer", 2 * F32, "byte", function(x, y) return heed.einsum("bi,bj->bij", x, y) end,
        function() return heed.randn(64, 512), heed.randn(64, 512) end },
    { "einsum_heads", 4 * 3 * 8 * 12 * 512 * 64, "byte", function(q, k)
        return heed.einsum("bhid,bhjd->bhij", q, k)
    end,
        function() return heed.randn(8, 12, 512, 64), heed.randn(8, 12, 512, 64) end },
    { "einsum_trace", 2 * F32, "read", function(x, y) return heed.einsum("ij,ij->", x, y) end,
        two },
}

return operations
