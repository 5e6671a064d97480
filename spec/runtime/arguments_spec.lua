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
                assert.is_truthy(told or message:find "expected no arguments", message)
            end
        end
        assert.error_matches(function() nn.ModuleList({ nn.ReLU() }, 5) end,
            "expected at most 1, .*: 5")
        local Own = nn.Linear:extend "Own"
        function Own:init(width) self.super.init(self, width, width) end
        assert.are.equal("Own", Own(2, "mine").class_name)
        assert.is_truthy(nn.Linear(2, 2, {}, nil))
    end)

    it("is none where options are empty or nil follows", function()
        assert.are.equal(1, heed.full({ 1 }, 1, {}):item())
        assert.are.equal(2, heed.eye(2, nil, {}):size(1))
        assert.are.equal(1, heed.ones(1):size(1, nil))
    end)
end)
