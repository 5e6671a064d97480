-- One argument too many is an error, never passed over: for every function of tensors, by its
-- annotations.

local annotations = require "heed.help.annotations"
local core = require "heed.core"
local heed = require "heed"
local source = require "heed.sources"

local MODULES = { "heed.composed" }
for name in ([[core creation query shapes indexing elementwise arithmetic reductions products networks in_place random gradients
    machine]]):gmatch "[%w_]+" do
    MODULES[#MODULES + 1] = "heed.types." .. name
end

-- is_tensor answers for any values, clock only looks at the time, and a limit would end the search.
local LEFT_OUT = { is_tensor = true, clock = true, memory_limit = true, set_num_threads = true }

local VALUES = {
    function() return heed.rand(2, 2) end, function() return 1 end, function() return { 1, 2 } end,
    function() return heed.ids { 1, 2 } end, function() return function(x) return x end end,
    function() return heed.rand(2, 2):gt(0.5) end, function()
        return { heed.rand(2, 2), heed.rand(2, 2) }
    end,
    function() return heed.rand(2) end, function() return 0.5 end, function() return true end,
    function() return {} end, function() return "f32" end,
}

-- { name, function, how many arguments } of what takes a number of them that is known.
local function functions()
    local list, seen = {}, {}
    for _, module in ipairs(MODULES) do
        for _, entry in ipairs(annotations.read(source(module))) do
            local method = entry.name:match "^Tensor:([%w_]+)$"
            local name = entry.name:match "^both%.([%w_]+)$" or entry.name:match "^core%.([%w_]+)$"
                or method
            local params = entry.params
            local f = name and (heed[name] or core.methods[name])
            local open = #params > 0 and params[#params].name == "..."
            if f and not open and not seen[name] and not LEFT_OUT[name] and not entry.same_as then
                seen[name] = true
                list[#list + 1] = { name, f, #params + (method and 1 or 0) }
            end
        end
    end
    return list
end

-- Arguments that a function takes; nil where none of those tried will do.
local function arguments_of(f, count)
    local args, tries = {}, 0
    local function search(n)
        tries = tries + 1
        if tries > 3000 then return false end
        if n == count then return (pcall(f, table.unpack(args, 1, count))) end
        for _, value in ipairs(VALUES) do
            args[n + 1] = value()
            if search(n + 1) then return true end
        end
        return false
    end
    return search(0) and args or nil
end

describe("an argument too many", function()
    local tried = 0
    for _, case in ipairs(functions()) do
        local name, f, count = table.unpack(case)
        it("is refused by " .. name, function()
            local args = arguments_of(f, count)
            if not args then return end
            tried = tried + 1
            for _, extra in ipairs { 5, true, "f32", print, heed.ones(1) } do
                args[count + 1] = extra
                assert.error_matches(function() f(table.unpack(args, 1, count + 1)) end,
                    name .. ": ")
            end
        end)
    end

    it("was given to most of them", function() assert.is_true(tried > 110) end)

    it("is refused by every layer's constructor", function()
        local nn = heed.nn
        for key, class in pairs(nn) do
            if type(class) == "table" and class.class_name and class ~= nn.Sequential
                and class ~= nn.ModuleList then
                local ok, message = pcall(class, 1, 2, 3, 4, 5, 6, 7, 8)
                assert.is_false(ok, key)
                local told = message:find "expected at most %d, the first counted, got one more: %d"
                assert.is_truthy(told or message:find "expected no arguments"
                    or message:find "expected a table of named options", message)
            end
        end
        assert.error_matches(function() nn.ModuleList({ nn.ReLU() }, 5) end,
            "expected at most 1, .*: 5")
        assert.error_matches(function() nn.LearnedPositions(2, 3, 4) end,
            "expected at most 2, the first counted, got one more: 4")
        local Own = nn.Linear:extend "Own"
        function Own:init(width) self.super.init(self, width, width) end
        assert.are.equal("Own", Own(2, "mine").class_name)
        assert.is_truthy(nn.Linear(2, 2, {}, nil))
    end)

    it("is told by name where PyTorch has options by position", function()
        local nn = heed.nn
        for _, case in ipairs {
            { nn.Conv2d, "Conv2d", "stride = 1, padding = 1", "1, 1", 1, 16, 3, 1, 1 },
            { nn.Conv2d, "Conv2d", "stride = { 2, 1 }, bias = false", "{ 2, 1 }, false",
                1, 16, 3, { 2, 1 }, nil, nil, nil, false },
            { nn.Conv1d, "Conv1d", 'stride = 2, padding = "same"', '2, "same"', 1, 4, 3, 2, "same" },
            { nn.MaxPool2d, "MaxPool2d", "stride = 2", "2", 2, 2 },
            { nn.MaxPool1d, "MaxPool1d", "stride = 2, padding = 1, ceil_mode = true",
                "2, 1, false, true", 3, 2, 1, nil, false, true },
            { nn.AvgPool2d, "AvgPool2d", "stride = 2, padding = 1", "2, 1", 3, 2, 1 },
            { nn.AvgPool1d, "AvgPool1d", "stride = 2", "2", 3, 2 },
            { nn.LSTM, "LSTM", "num_layers = 2, bias = true, batch_first = true", "2, true, true",
                4, 8, 2, true, true },
            { nn.GRU, "GRU", "num_layers = 2", "2", 4, 8, 2 },
            { nn.GRUCell, "GRUCell", "bias = false", "false", 4, 8, false },
            { nn.BatchNorm2d, "BatchNorm2d", "eps = 0.001, momentum = 0.5", "0.001, 0.5",
                4, 0.001, 0.5 },
            { nn.GroupNorm, "GroupNorm", "eps = 0.001", "0.001", 2, 4, 0.001 },
            { nn.LayerNorm, "LayerNorm", "eps = 0.001", "0.001", 4, 0.001 },
            { nn.RMSNorm, "RMSNorm", "eps = 0.001", "0.001", 4, 0.001 },
            { nn.Embedding, "Embedding", "padding_idx = 1", "1", 10, 4, 1 },
            { nn.Linear, "Linear", "bias = false", "false", 4, 4, false },
            { nn.MultiHeadAttention, "MultiHeadAttention", "dropout = 0.1", "0.1", 8, 2, 0.1 },
            { nn.TransformerEncoderLayer, "TransformerEncoderLayer",
                'dropout = 0.1, activation = "relu"', '0.1, "relu"', 8, 2, 16, 0.1, "relu" },
            { nn.Transformer, "Transformer", "d_model = 8, num_heads = 2", "8, 2", 8, 2 },
        } do
            local class, name, options, got = table.unpack(case, 1, 4)
            local ok, message = pcall(class, table.unpack(case, 5, 14))
            assert.is_false(ok, name)
            assert.are.equal(("heed.nn.%s: options: expected a table of named options, { %s }, "
                .. "got %s"):format(name, options, got), message:match "^.-lua:%d+: (.*)$")
        end
        local Own = nn.Conv2d:extend "Own"
        assert.error_matches(function() Own(1, 2, 3, 1, 1) end,
            "heed.nn.Conv2d: options: .* { stride = 1, padding = 1 }, got 1, 1")
        for _, class in ipairs { nn.ReLU, nn.SiLU } do
            assert.error_matches(function() class(true) end,
                class.class_name .. ": arguments: there is no inplace, layers make new tensors; "
                .. "got true")
        end
        assert.error_matches(function() nn.Dropout(0.5, false) end,
            "Dropout: arguments: there is no inplace")
    end)

    it("has the most used of the options for its hint", function()
        assert.error_matches(function() heed.data.csv("x", 5) end, "{ header = ... }, got 5")
        assert.error_matches(function() heed.data.tokens("x", "u16") end,
            '{ dtype = ... }, got "u16"', 1, true)
    end)

    it("is none where options are empty or nil follows", function()
        assert.are.equal(1, heed.full({ 1 }, 1, {}):item())
        assert.are.equal(2, heed.eye(2, nil, {}):size(1))
        assert.are.equal(1, heed.ones(1):size(1, nil))
    end)
end)
