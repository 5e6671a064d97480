--- Tensors by name against a module's own: what is missing, unexpected or of another shape.

local check = require "heed.check"
local core = require "heed.core"
local walk = require "heed.nn.walk"

local states = {}

states.OPTIONS = { names = true, strict = true }

---What lists are counted from.
---@param where string
---@param options { names?: "heed"|"torch" }
---@return integer
function states.list_base(where, options)
    local names = options.names or "heed"
    check.one_of(where, "names", names, { "heed", "torch" })
    return names == "torch" and 0 or 1
end

-- What does not fit: lists of names; and the copies to make when all does. A tensor with several
-- names may be given under one: files often hold it once.
local function compare(self, tensors, base)
    local missing, unexpected, misfits, copies, known, lacking, found = {}, {}, {}, {}, {}, {}, {}
    walk.each_tensor(self, base, function(name, t, _, _, kind)
        if kind == "temporary" then return end
        known[name] = true
        local given = tensors[name]
        found[t] = found[t] or given ~= nil
        if given == nil then
            lacking[#lacking + 1] = { t, name }
        elseif not check.is_tensor(given) then
            misfits[#misfits + 1] = ("%s: expected a tensor, got %s"):format(name,
                check.describe(given))
        elseif tostring(given.shape) ~= tostring(t.shape) then
            misfits[#misfits + 1] = ("%s: expected %s, got %s"):format(name, tostring(t.shape),
                tostring(given.shape))
        else
            copies[#copies + 1] = { t, given, name }
        end
    end)
    for _, lack in ipairs(lacking) do
        if not found[lack[1]] then missing[#missing + 1] = lack[2] end
    end
    for name in pairs(tensors) do
        if not known[name] then unexpected[#unexpected + 1] = tostring(name) end
    end
    table.sort(unexpected)
    return missing, unexpected, misfits, copies
end

-- A tensor with several names is one in whoever saved it; under names that disagree half of it
-- would be lost.
local function disagreements(copies)
    local first, found = {}, {}
    for _, copy in ipairs(copies) do
        local t, given, name = table.unpack(copy)
        local earlier = first[t]
        if not earlier then
            first[t] = copy
        elseif not core.equal(earlier[2], given) then
            found[#found + 1] = ("%s and %s are one tensor here, and differ in the state"):format(
                earlier[3], name)
        end
    end
    return found
end

local function report(heading, names, lines)
    if #names == 0 then return end
    local shown = table.concat(names, heading == "wrong" and "; " or ", ", 1, math.min(#names, 8))
    lines[#lines + 1] = ("%s: %s%s"):format(heading, shown,
        #names > 8 and (", and %d more"):format(#names - 8) or "")
end

-- Of a state that would fit if lists were counted from 0, or were not.
local function add_base_hint(self, tensors, options, lines)
    local torch = options.names == "torch"
    local known, missing, unexpected, misfits = pcall(compare, self, tensors, torch and 1 or 0)
    if not known or #missing + #unexpected + #misfits > 0 then return end
    lines[#lines + 1] = torch and "its names count lists from 1: leave out { names = \"torch\" }"
        or "its names count lists from 0, as PyTorch's do: give { names = \"torch\" }"
end

---What of a state does not fit a module.
---@param self heed.nn.Module
---@param given table<string, heed.Tensor>
---@param options? { names?: "heed"|"torch", strict?: boolean }
---@return string|nil message nil when all fits
---@return table copies for states.copy
---@return { missing: string[], unexpected: string[] } found
function states.differences(self, given, options)
    local where = "heed.nn.Module:load_state_dict"
    check.type(where, "state", given, "table")
    options = check.options(where, options, states.OPTIONS)
    local base, lines = states.list_base(where, options), {}
    local missing, unexpected, misfits, copies = compare(self, given, base)
    if options.strict ~= false then
        report("missing", missing, lines)
        report("unexpected", unexpected, lines)
    end
    report("wrong", misfits, lines)
    if #lines == 0 then
        report("wrong", disagreements(copies), lines)
    else
        add_base_hint(self, given, options, lines)
    end
    return #lines > 0 and table.concat(lines, "\n  ") or nil, copies,
        { missing = missing, unexpected = unexpected }
end

---Copies what fits. A state may share the memory of the module: its own, with two layers exchanged.
---What is still to be read is set aside before the first is written.
---@param copies table of states.differences
function states.copy(copies)
    local written = {}
    for _, copy in ipairs(copies) do written[copy[1]:data_id()] = true end
    for _, copy in ipairs(copies) do
        if written[copy[2]:data_id()] then copy[2] = copy[2]:clone() end
    end
    for _, copy in ipairs(copies) do copy[1]:copy_(copy[2]) end
end

return states
