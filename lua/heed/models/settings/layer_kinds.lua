--- Layers of a decoder that are not alike: some see all that came before, others a window of it,
--- and they may turn queries and keys by other angles.

local check = require "heed.check"
local masks = require "heed.mask"
local rope = require "heed.models.settings.rope"
local unknown = require "heed.unknown"

local layer_kinds = {}

local KNOWN = { full_attention = true, sliding_attention = true }

local function check_kinds(kinds, count)
    if #unknown.check(kinds, "table", "config.json: layer_types") ~= count then
        unknown.refuse("config.json: layer_types: expected %d (num_hidden_layers), got %d", count,
            #kinds)
    end
    for _, kind in ipairs(kinds) do
        if not KNOWN[kind] then unknown.kind("config.json: layer_types", kind) end
    end
    return kinds
end

---The kind of each layer, as configs call them: "full_attention", "sliding_attention".
---@param c table config
---@param slides fun(layer: integer): boolean where the config does not list them
---@return string[]
function layer_kinds.of(c, slides)
    local count = check.integer("heed.models", "config: num_hidden_layers", c.num_hidden_layers)
    if c.layer_types then return check_kinds(c.layer_types, count) end
    local kinds = {}
    for i = 1, count do kinds[i] = slides(i) and "sliding_attention" or "full_attention" end
    return kinds
end

---The masks of layers of these kinds: one, when all have the same. A window holds sliding_window
---tokens, the query's own among them.
---@param c table config
---@param kinds string[]
---@return heed.Mask|heed.Mask[]
function layer_kinds.masks(c, kinds)
    local by_kind, list, alike = { full_attention = masks.causal() }, {}, true
    for i, kind in ipairs(kinds) do
        if not by_kind[kind] then
            local width = unknown.check(c.sliding_window, "number", "config.json: sliding_window")
            by_kind[kind] = masks.causal() & masks.window(width - 1)
        end
        list[i], alike = by_kind[kind], alike and kind == kinds[1]
    end
    return alike and list[1] or list
end

-- rope_parameters may have some for each kind; before, layers that slide had rope_local_base_freq.
local function rotary_of(c, kind)
    local slides = kind == "sliding_attention"
    local base = slides and c.rope_local_base_freq or c.rope_theta
    local own = c.rope_parameters and c.rope_parameters[kind]
    if own and not unknown.absent(own) then return rope(c, own, base) end
    return rope(c, slides and c.rope_local_base_freq and {} or nil, base)
end

---Options of heed.nn.Rotary for layers of these kinds, which share those of their kind.
---@param c table config
---@param kinds string[]
---@return table[]
function layer_kinds.rotaries(c, kinds)
    local by_kind, list = {}, {}
    for i, kind in ipairs(kinds) do
        by_kind[kind] = by_kind[kind] or rotary_of(c, kind)
        list[i] = by_kind[kind]
    end
    return list
end

return layer_kinds
