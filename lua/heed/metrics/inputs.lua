--- The arguments of metrics: tensors or tables of Lua, checked and made plain.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

local inputs = {}

local INTEGERS, HALVES = core.dtypes.indices, core.dtypes.halves

-- A nested table as a tensor. What is wrong with it is said of the argument.
local function from_table(where, name, value, make)
    local ok, result = pcall(make, value)
    if ok then return result end
    return errors.raise("%s: %s: %s", where, name, tostring(result):match "values: (.*)$"
        or tostring(result))
end

local function float64(value) return core.tensor(value, { dtype = "f64" }) end

---Numbers as a tensor of f64, outside of any graph.
---@return heed.Tensor
function inputs.numbers(where, name, value)
    if check.is_live(value) and value.dtype ~= "bool" then return value:detach():to "f64" end
    if type(value) == "table" then return from_table(where, name, value, float64) end
    return errors.raise("%s: %s: expected numbers, a tensor or a table, got %s", where, name,
        check.describe(value))
end

-- How classes are made of a tensor that holds none.
local CONVERT = {
    u8 = '; u8 may mean a mask or classes: y:to "i64" says which, y:to "i64" + 1 where they count '
        .. "from 0",
    bool = '; y:to "i64" + 1 are classes 1 and 2',
}

---Whole numbers as a tensor of i64: classes, or what is ignored.
---@return heed.Tensor
function inputs.integers(where, name, value)
    if check.is_live(value) and INTEGERS[value.dtype] then return value:to "i64" end
    if type(value) == "table" then return from_table(where, name, value, core.ids) end
    return errors.raise("%s: %s: expected classes, a table or a tensor of integers, got %s%s",
        where, name, check.describe(value), check.is_live(value)
            and (CONVERT[value.dtype] or '; y:to "i64" converts') or "")
end

---Classes from 1 as a tensor of i64.
---@param classes? integer how many there are
---@return heed.Tensor
function inputs.classes(where, name, value, classes)
    local t = inputs.integers(where, name, value)
    if t:numel() == 0 then return t end
    local low, high = t:min():item(), t:max():item()
    if low < 1 then
        errors.raise("%s: %s: expected classes from 1, got %d%s", where, name, low,
            low == 0 and "; where they count from 0, y + 1" or "")
    end
    if classes and high > classes then
        errors.raise("%s: %s: expected classes in 1..%d, got %d", where, name, classes, high)
    end
    return t
end

---That two tensors have one shape.
function inputs.same_shape(where, a_name, a, b_name, b)
    if a.shape ~= b.shape then
        errors.raise("%s: %s: expected the shape of the %s, %s, got %s", where, a_name, b_name,
            tostring(b.shape), tostring(a.shape))
    end
end

-- How deep a table is nested.
local function depth(value)
    local levels = 0
    while type(value) == "table" do
        levels, value = levels + 1, value[1]
    end
    return levels
end

---Scores as [N, C], a row for each target.
---@param targets heed.Tensor [...]
---@return heed.Tensor
function inputs.scores(where, name, value, targets)
    local t = value
    if not (check.is_live(value) and value.dtype:find "f%d") then
        t = inputs.numbers(where, name, value)
    end
    local dims, shape = targets:dim(), t.shape
    local fits = t:dim() == dims + 1
    for d = 1, dims do fits = fits and shape[d] == targets.shape[d] end
    if not fits then
        errors.raise("%s: %s: expected scores of every class, a dimension more than the targets' "
            .. "%s, got %s",
            where, name, tostring(targets.shape), tostring(shape))
    end
    if t:size(-1) == 0 then
        errors.raise("%s: %s: expected at least one class, got %s", where, name, tostring(shape))
    end
    local rows = t:detach():reshape(targets:numel(), t:size(-1))
    if HALVES[rows.dtype] then rows = rows:to "f32" end
    if rows:isnan():any() then
        errors.raise("%s: %s: expected scores that can be ordered, got NaN", where, name)
    end
    return rows
end

---What was predicted, as classes: classes as they are, or of scores [..., C] the highest, the first
---of equals.
---@param targets heed.Tensor [...]
---@param classes? integer how many there are
---@return heed.Tensor [...]
function inputs.predictions(where, value, targets, classes)
    local are_scores
    if check.is_live(value) then
        are_scores = value.dtype:find "f%d" ~= nil
    else
        are_scores = type(value) == "table" and depth(value) > targets:dim()
    end
    if not are_scores then
        local predicted = inputs.classes(where, "predictions", value, classes)
        inputs.same_shape(where, "predictions", predicted, "targets", targets)
        return predicted
    end
    local scores = inputs.scores(where, "predictions", value, targets)
    if classes and scores:size(2) ~= classes then
        errors.raise("%s: predictions: expected scores of %d classes, got %s", where, classes,
            tostring(scores.shape))
    end
    return scores:argmax(2):view(targets.shape)
end

local function check_lines(where, name, lines)
    for i = 1, rawlen(check.type(where, name, lines, "table")) do
        if type(lines[i]) ~= "string" then
            errors.raise("%s: %s: expected strings, got %s at %d", where, name,
                check.describe(lines[i]), i)
        end
    end
end

---Two lists of lines, as many of each.
---@param a string[]
---@param b string[]
function inputs.lines(where, a_name, a, b_name, b)
    check_lines(where, a_name, a)
    check_lines(where, b_name, b)
    if #a ~= #b then
        errors.raise("%s: %s: expected as many as %s (%d), got %d", where, b_name, a_name, #a, #b)
    end
end

return inputs
