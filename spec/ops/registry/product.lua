--- Products of matrices, and what is fused to them.

local core = require "heed.core"
local naive = require "spec.support.naive"
local layer = require "spec.support.naive_layers"

local entries = {}
local function add(entry) entries[#entries + 1] = entry end

add {
    name = "matmul",
    cases = {
        { { 5, 7 }, { 7, 3 } }, { { 17, 33 }, { 33, 35 } }, { { 3, 4, 5 }, { 3, 5, 6 } }, { { 3, 4, 5 }, { 5, 6 } },
        { { 4, 5 }, { 3, 5, 6 } },
        { { 2, 1, 4, 5 }, { 3, 5, 6 } }, { { 7 }, { 7 } }, { { 4, 7 }, { 7 } }, { { 7 }, { 7, 4 } }, { { 2, 4, 7 }, { 7 } },
        { { 7 }, { 2, 7, 4 } }, { { 1, 9 }, { 9, 1 } }, { { 2, 0 }, { 0, 3 } }, { { 0, 2 }, { 2, 3 } },
        { { 1, 1 }, { 1, 1 } },
        { { 0, 2, 3 }, { 0, 3, 2 } },
    },
    large = { { 150, 200 }, { 200, 170 } },
    naive = function(_, a, b) return naive.matmul(a, b) end,
    gradient = true,
    mixed = true,
}

local LINEAR = {
    { { 5, 7 }, { 3, 7 }, { 3 } }, { { 5, 7 }, { 3, 7 } }, { { 2, 3, 17 }, { 37, 17 }, { 37 }, act = "relu" },
        { { 7 }, { 3, 7 }, { 3 } },
    { { 5, 7 }, { 3, 7 }, { 3 }, act = "gelu" }, { { 5, 7 }, { 3, 7 }, act = "silu" }, { { 1, 1 }, { 1, 1 }, { 1 } },
    { { 0, 7 }, { 3, 7 }, { 3 } },
    { { 2, 0 }, { 3, 0 }, { 3 }, act = "relu" },
    { { 1, 133 }, { 35, 133 } },
    { { 3, 133 }, { 35, 133 } },
}
add {
    name = "linear",
    cases = LINEAR,
    dtypes = { "f32", "f64" },
    large = { { 150, 200 }, { 170, 200 }, { 170 }, act = "gelu" },
    call = function(case, x, w, b) return core.linear(x, w, b, case.act) end,
    naive = function(case, x, w, b) return layer.activation(case.act, layer.linear(x, w, b)) end,
    gradient = true,
}

return entries
