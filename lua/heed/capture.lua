--- Attention weights of a whole model, collected while it runs.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local module = require "heed.nn.module"

local capture = {}

-- The open captures, with what each listens to: { paths = { [module] = path }, wish = { heads =,
-- rows = } }. While there is any the layers run in parts (see heed.nn.encoder_layer). A capture
-- that its user has lost is collected, which closes it, however long its model lives.
local listening = setmetatable({}, { __mode = "k" })

-- What each capture is of, for those who show it: kept apart, as a capture's own fields are its
-- weights.
local descriptions = setmetatable({}, { __mode = "k" })

---Attention weights by module path. `for path, weights in pairs(c)`; it prints the paths with their
---shapes.
---@class heed.Capture
local Capture = {}

local function positions_of(where, name, value)
    if value == nil then return nil end
    for i, at in ipairs(check.type(where, name, value, "table")) do
        if not math.tointeger(at) or at == 0 then
            errors.raise("%s: %s: expected integers other than 0, got %s at %d", where, name,
                check.describe(at), i)
        end
    end
    return core.tensor(value, { dtype = "i64" })
end

-- layers: a list of path patterns or of layer numbers; nil is every one.
local function wanted(path, layers)
    if layers == nil then return true end
    for _, layer in ipairs(layers) do
        if math.type(layer) == "integer"
            and ("." .. path .. "."):find(("%%.layers%%.%d%%."):format(layer)) then
            return true
        end
        if type(layer) == "string" and path:find(layer, 1, true) then return true end
    end
    return false
end

local function nothing_meant(model, layers)
    local paths = {}
    for path, part in model:named_modules() do
        if part.gives_attention then paths[#paths + 1] = path == "" and "the model" or path end
    end
    if #paths == 0 then
        errors.raise("heed.capture: model: expected attention modules in it, got %s",
            check.describe(model))
    end
    local shown = {}
    for i, layer in ipairs(layers) do shown[i] = check.describe(layer) end
    errors.raise("heed.capture: layers: expected numbers of layers or parts of module paths, "
        .. "got { %s }; attention is in %s%s", table.concat(shown, ", "), paths[1],
        #paths > 1 and " ... " .. paths[#paths] or "")
end

---Is anybody collecting from this state's models?
---@return boolean
function capture.is_open() return next(listening) ~= nil end

-- The capture that collects from a module, the module's path, and what is wanted of it; nil: none
-- does.
local function listener(attention)
    for into, to in pairs(listening) do
        if to.paths[attention] then return into, to.paths[attention], to.wish end
    end
end

---Which of this module's weights does somebody want? nil: none.
---@return { heads?: heed.Tensor, rows?: heed.Tensor }|nil
function capture.wants(attention)
    local _, _, wish = listener(attention)
    return wish
end

---Hands weights to whoever collects from this module.
---@param weights heed.Tensor [..., H, L, S]
---@param chosen boolean? they are those that are wanted, and not all
function capture.give(attention, weights, chosen)
    local into, path, wish = listener(attention)
    if not into or core.shapes_only() then return end -- nobody will read it, or it has no numbers
    if wish.heads and not chosen then weights = weights:index_select(-3, wish.heads) end
    if wish.rows and not chosen then weights = weights:index_select(-2, wish.rows) end
    into[path] = core.keep(weights:detach())
end

---What a capture is of: module paths in the model's order, and the heads and rows that were chosen.
---nil: no capture.
---@param value any
---@return { paths: string[], heads?: integer[], rows?: integer[] }|nil
function capture.description(value) return descriptions[value] end

---Collects the attention weights of a model from now until it is closed (`local c <close> =
---heed.capture(model)`): c["decoder.layers.1.multihead_attn"] is [B, H, L, S], of the last run.
---While it is open the layers run in parts, which takes longer; the outputs are the same, to the
---bit. Of some heads and rows only those weights are computed, at their cost.
---
---Under heed.generate the last run is the last step: with a cache the row of one token, which
---`on_token` may gather; with `cache = false` everything up to it.
---
---To switch a head off (ablation), zero its columns of the output projection, and copy them back:
---`attention.out_proj.weight:narrow(2, (head - 1) * D + 1, D):zero_()` with D = attention.head_dim
---(weights of a GGUF file are loaded with `dtype = "f32"` for it).
---
---```lua
---local model = nn.TransformerEncoder(2, 8, 2, 16)
---model:eval()
---local weights <close> = heed.capture(model)
---model(heed.randn(1, 5, 8))
---for path, w in pairs(weights) do print(path, w.shape) end
---print(weights["layers.2.self_attn"]:sum(-1):allclose(heed.ones(1, 2, 5))) --> true
---```
---@param model heed.nn.Module
---@param options? { layers?: (integer|string)[], heads?: integer[], rows?: integer[] } layers:
---numbers of layers, or parts of module paths; heads: only these; rows: only these queries
---@return heed.Capture
local function new(model, options)
    if not module.is_module(model) then
        errors.raise("heed.capture: model: expected a module, got %s", check.describe(model))
    end
    options = check.options("heed.capture", options, check.set("layers", "heads", "rows"))
    if options.layers ~= nil then check.type("heed.capture", "layers", options.layers, "table") end
    local wish = {
        heads = positions_of("heed.capture", "heads", options.heads),
        rows = positions_of("heed.capture", "rows", options.rows),
    }
    local self, of, paths = setmetatable({}, Capture), {}, {}
    for path, part in model:named_modules() do
        if part.gives_attention and wanted(path, options.layers) then
            if listener(part) then
                errors.raise("heed.capture: model: somebody already collects from %s", path)
            end
            of[part], paths[#paths + 1] = path, path
        end
    end
    if #paths == 0 then nothing_meant(model, options.layers) end
    descriptions[self] = { paths = paths, heads = options.heads, rows = options.rows }
    listening[self] = { paths = of, wish = wish }
    return self
end

function Capture.__close(self) listening[self] = nil end

Capture.__index = { close = Capture.__close }

function Capture:__tostring()
    local lines = {}
    for path, weights in pairs(self) do
        lines[#lines + 1] = ("  %s  %s"):format(path, tostring(weights.shape))
    end
    table.sort(lines)
    return "heed.capture(\n" .. table.concat(lines, "\n") .. "\n)"
end

capture.new = new

return capture
