--- From a model's parameters to the tensors of a file: heed.models.weights.fill the other way.

local core = require "heed.core"
local names = require "heed.models.weights.names"
local unknown = require "heed.unknown"
local walk = require "heed.nn.walk"

-- How many of ours' rows each of `count` has: queries of all heads, keys and values of theirs; or
-- equal parts.
local function rows_of(owner, rows, count)
    local list = {}
    local heads, kv_heads = owner.num_heads, owner.num_kv_heads
    if count == 3 and heads and kv_heads then
        local of_head = rows // (heads + 2 * kv_heads)
        list = { heads * of_head, kv_heads * of_head, kv_heads * of_head }
    else
        for i = 1, count do list[i] = rows // count end
    end
    return list
end

local function add_parts(list, tensor, owner, theirs, transposed)
    local function add(name, part)
        if name then
            list[name] = transposed and part:dim() == 2 and part:transpose(1, 2) or part
        end
    end
    if #theirs == 1 then return add(theirs[1], tensor) end
    local row = 1
    for i, rows in ipairs(rows_of(owner, tensor:size(1), #theirs)) do
        add(theirs[i], tensor:narrow(1, row, rows))
        row = row + rows
    end
end

local function numbers_of(tensor)
    return core.is_quantized(tensor) and tensor:to "f32" or tensor:detach()
end

-- Factors of single rates are a tensor in GGUF files, which no parameter is, and nothing elsewhere.
local function refuse_factors(config)
    local scaling = config.rope_scaling
    if scaling and type(scaling.factor) == "table" then
        unknown.kind("rope_scaling", "a list of factors")
    end
end

---A model's tensors under the names of the family's files; tied ones once.
---@param model heed.nn.Module
---@param family heed.models.Family
---@param config table
---@param prefix string
---@return table<string, heed.Tensor>
return function(model, family, config, prefix)
    refuse_factors(config)
    local entries, list, written, fused = names.entries(family, config), {}, {}, {}
    walk.each_tensor(model, 1, function(name, tensor, owner, _, kind)
        if kind == "temporary" or written[tensor] then return end
        written[tensor] = true
        local theirs, entry = names.theirs(entries, name, prefix)
        if not theirs then unknown.refuse("%s: the family's table does not name it", name) end
        if entry.part then
            fused[theirs[1]] = fused[theirs[1]] or {}
            fused[theirs[1]][entry.part] = numbers_of(tensor)
        else
            add_parts(list, numbers_of(tensor), owner, theirs, entry.transposed)
        end
    end)
    for their, parts in pairs(fused) do list[their] = core.cat(parts, 1) end
    return list
end
