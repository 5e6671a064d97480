local heed = require "heed"
local huggingface = require "heed.models.files.huggingface"
local parts = require "heed.models.save.tensors"
local weights = require "heed.models.weights.fill"
require "heed.luassert"

local Joined = heed.nn.Module:extend "Joined"
function Joined:init()
    self.attention = heed.nn.MultiHeadAttention(4, 2, { num_kv_heads = 1 })
    self.map = heed.nn.Linear(3, 2, { bias = false })
end

local family = setmetatable({ names = {
    { "attention.in_proj_weight", "q.weight", "k.weight", "v.weight", transposed = true },
    { "attention.in_proj_bias", "q.bias", false, "v.bias" },
    { "attention.out_proj.*", "o.*" },
    { "map.weight", "map.weight", outside = true },
} }, { __call = function() return Joined() end })

local function given()
    return { ["m.q.weight"] = heed.randn(4, 4), ["m.k.weight"] = heed.randn(4, 2),
        ["m.v.weight"] = heed.randn(4, 2), ["m.q.bias"] = heed.randn(4), ["m.v.bias"] = heed.randn(2),
        ["m.o.weight"] = heed.randn(4, 4), ["m.o.bias"] = heed.randn(4),
        ["map.weight"] = heed.randn(2, 3) }
end

local function filled(file, dtype)
    local model, shapes = weights.bare(family, {})
    family.prefixes = { "m." }
    weights.fill(model, shapes, file, family, {}, dtype)
    return model
end

describe("the parts of a parameter", function()
    it("lie one behind the other, transposed where they must be, with zeros for what is left out",
        function()
            local tensors = given()
            local model = filled(huggingface.of_tensors(tensors))
            local weight, bias = model.attention.in_proj_weight, model.attention.in_proj_bias
            assert.is_true(weight:narrow(1, 5, 2):equal(tensors["m.k.weight"]:t()))
            assert.is_true(bias:narrow(1, 1, 4):equal(tensors["m.q.bias"]))
            assert.are.same({ 0, 0 }, bias:narrow(1, 5, 2):totable())
            assert.is_true(bias:narrow(1, 7, 2):equal(tensors["m.v.bias"]))
        end)

    it("go back where they came from", function()
        local tensors = given()
        local back = parts(filled(huggingface.of_tensors(tensors)), family, {}, "m.")
        for name, t in pairs(tensors) do assert.is_true(back[name]:equal(t), name) end
        for name in pairs(back) do assert.is_not_nil(tensors[name], name) end
    end)

    it("may come from a file that gives tensors alone, in another dtype", function()
        local tensors, names = given(), {}
        for name in pairs(tensors) do names[#names + 1] = name end
        local model = filled({ names = names, has = function(name) return tensors[name] ~= nil end,
            tensor = function(name) return tensors[name] end }, "f64")
        assert.are.equal("f64", model.attention.in_proj_weight.dtype)
        assert.is_true(model.map.weight:equal(tensors["map.weight"]:to "f64"))
    end)

    local function refused(name, tensor)
        local tensors = given()
        tensors[name] = tensor
        local ok, refusal = pcall(filled, huggingface.of_tensors(tensors))
        assert.is_false(ok)
        return tostring(refusal)
    end

    it("must go together", function()
        assert.matches("in_proj_bias: expected parts of %[8%]",
            refused("m.q.bias", heed.randn(9)))
        assert.matches("m.v.bias: expected rows of %[8%], got %[2, 1%]",
            refused("m.v.bias", heed.randn(2, 1)))
        assert.matches("in_proj_weight: expected %[8, 4%], got parts that do not go together",
            refused("m.k.weight", heed.randn(3, 2)))
        for _, name in ipairs { "m.q.weight", "m.k.weight" } do
            assert.matches("got parts that do not go together",
                refused(name, heed.tensor(1.0)), nil, name)
        end
        assert.matches("m.v.bias: expected rows of %[8%], got %[%]",
            refused("m.v.bias", heed.tensor(1.0)))
    end)
end)
