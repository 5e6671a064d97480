local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local module = require "heed.nn.module"
local scaling = require "heed.nn.rotary_scaling"

local WHERE = "heed.nn.Rotary"
local KNOWN = check.set("base", "dim", "interleaved", "scaling")
local CALL = check.set("positions", "offset")

---Rotary position embedding (Su et al. 2021, "RoFormer"): pairs of the features of queries and keys
---are turned by an angle that grows with the position, so that their products depend on the
---distance alone. At position p (from 1) pair i (from 0) turns by (p - 1) · r_i, r_i =
---base^(-2i/dim):
---
---y_a = x_a cos - x_b sin, y_b = x_b cos + x_a sin, (a, b) being features (i, i + dim/2), or
---neighbours when interleaved.
---
---Angles are computed in double precision. The gradient turns back.
---
---```lua
---local rotary = nn.Rotary(4)
---local q = heed.ones(1, 1, 3, 4)                                -- [B, H, L, D]
---print(rotary(q))
---print(heed.equal(rotary(q, { offset = 2 }), rotary(q, { positions = { 3, 4, 5 } }))) --> true
---```
---@class heed.nn.Rotary: heed.nn.Module
---@field head_dim integer
---@field dim integer how many of the features are turned
---@field interleaved boolean
local Rotary = module.Module:extend "Rotary"

---scaling, for longer sequences than were trained on, with the names of Hugging Face's
---rope_parameters; s is its factor, n its original_max_position_embeddings, L the last position in
---the call:
---
---- `{ type = "linear", factor = s }`: r_i / s (Chen et al. 2023, "Extending Context Window"); s
---  may be a list, one for each pair
---- `{ type = "ntk", factor = s }`: base · s^(dim / (dim - 2)) for base
---- `{ type = "dynamic", factor = s, original_max_position_embeddings = n }`: from L > n on, base ·
---  (s L / n - (s - 1))^(dim / (dim - 2)): what was turned in an earlier, shorter call had other
---  angles
---- `{ type = "llama3", factor = s, low_freq_factor = l, high_freq_factor = h,
---  original_max_position_embeddings = n }`: with k = (n r_i / 2π - l) / (h - l), clamped to 0..1:
---  k r_i + (1 - k) r_i / s
---- `{ type = "yarn", factor = s, original_max_position_embeddings = n }` (Peng et al. 2023,
---  "YaRN"): the same with k falling from 1 to 0 between the pairs that turn beta_fast (32) and
---  beta_slow (1) times in n, which are rounded outwards unless truncate is false
---- `{ type = "longrope", short_factor = f, long_factor = g, original_max_position_embeddings = n,
---  factor = s }` (Ding et al. 2024, "LongRoPE"): r_i / f_i, from L > n on r_i / g_i, as with
---  "dynamic"
---
---The last two multiply cosines and sines by attention_factor, by default 0.1 ln s + 1 and sqrt(1 +
---ln s / ln n).
---@param head_dim integer D, the features of a head
---@param options? { base?: number, dim?: integer, interleaved?: boolean, scaling?: table } base:
---default 10000; dim: how many features are turned, the first ones (even, default head_dim; fewer
---is "partial rotary"); interleaved: pairs are neighbours (GPT-J), by default one is of each half
---(GPT-NeoX, Llama)
function Rotary:init(head_dim, options)
    self.head_dim = check.integer(WHERE, "head_dim", head_dim)
    options = check.options(WHERE, options, KNOWN)
    self.dim = check.integer(WHERE, "dim", options.dim or head_dim)
    if self.dim % 2 ~= 0 or self.dim > head_dim then
        errors.raise("%s: %s: expected an even number of features%s, got %d", WHERE,
            options.dim and "dim" or "head_dim",
            options.dim and (", at most head_dim (%d)"):format(head_dim) or "", self.dim)
    end
    self.base = check.number(WHERE, "base", options.base or 10000, 1)
    self.interleaved = check.flag(WHERE, "interleaved", options.interleaved, false)
    self.scaling = scaling.check(WHERE, options.scaling, self.base, self.dim)
end

-- ---- tables -------------------------------------------------------------------------------------

---The rates r_i, in radians a position, for a sequence of a length (which "dynamic" and "longrope"
---scaling look at).
---@param length? integer default 1
---@return number[]
function Rotary:rates(length)
    return scaling.rates(self.scaling, self.base, self.dim,
        check.integer("Rotary:rates", "length", length or 1, 0))
end

local function make_tables(self, count, length, dtype)
    local rates = core.tensor(self:rates(length), { dtype = "f64" })
    local angles = core.range(0, count - 1, { dtype = "f64" }):view(-1, 1) * rates
    local factor = scaling.attention_factor(self.scaling)
    local function scaled(t) return core.keep((factor == 1 and t or t * factor):to(dtype)) end
    return scaled(angles:cos()), scaled(angles:sin())
end

-- Cosines and sines [count, dim/2] of positions 1..count, count at least `length`. Kept by dtype,
-- for all calls to come.
local function tables_of(self, length, dtype)
    local kept = rawget(self, "tables")
    if not kept then
        kept = {}
        rawset(self, "tables", kept)
    end
    local stretched = scaling.stretched(self.scaling, length)
    local entry = kept[dtype]
    if entry and entry.stretched ~= stretched then entry = nil end
    if not entry or entry.count < length then
        local count = stretched == length and length
            or math.max(length, 64, entry and 2 * entry.count or 0)
        local cos, sin = make_tables(self, count, length, dtype)
        entry = { count = count, cos = cos, sin = sin, stretched = stretched }
        if not core.shapes_only() then kept[dtype] = entry end
    end
    return entry.cos, entry.sin
end

-- Cosines and sines of positions, or of L behind `before`.
local function rows_of(self, positions, before, L, dtype)
    if not positions then
        local cos, sin = tables_of(self, before + L, dtype)
        return cos:narrow(1, before + 1, L), sin:narrow(1, before + 1, L)
    end
    local cos, sin = tables_of(self, positions:max():item(), dtype)
    return core.embedding(cos, positions), core.embedding(sin, positions)
end

-- ---- calls --------------------------------------------------------------------------------------

local function ids(value) return check.is_tensor(value) and value or core.ids(value) end

local function check_positions(positions, x)
    local L, ndim = x:size(-2), positions:dim()
    if (ndim ~= 1 and ndim ~= 2) or positions:size(-1) ~= L
        or (ndim == 2 and (x:dim() < 3 or positions:size(1) ~= x:size(1))) then
        errors.raise("positions: expected [%d], or that for each of the batch, got %s", L,
            tostring(positions.shape))
    end
    return positions
end

-- The positions of x's rows as a tensor; or nil and the number of positions before it.
local function positions_of(x, options)
    if not options then return nil, 0 end
    check.options(WHERE, options, CALL)
    if options.positions ~= nil then
        if options.offset ~= nil then
            errors.raise("positions, offset: expected one of them, got both")
        end
        return check_positions(ids(options.positions), x)
    end
    local offset = options.offset or 0
    if type(offset) == "number" then return nil, check.integer(WHERE, "offset", offset, 0) end
    local before = ids(offset)
    if before:dim() ~= 1 then
        errors.raise("offset: expected a number, or [B], got %s", tostring(before.shape))
    end
    return check_positions(before:view(-1, 1) + core.range(1, x:size(-2), { dtype = "i64" }):view(1,
        -1), x)
end

---@param x heed.Tensor [..., L, D]: queries or keys
---@param options? { positions?: heed.Ids, offset?: integer|heed.Ids } positions: of the rows, from
---1, [L] or [B, L] with B the first size of x (default 1..L); offset: how many positions come
---before x, or of each batch entry [B] (default 0)
---@return heed.Tensor # of the shape of x
function Rotary:forward(x, options)
    if not check.is_live(x) then
        errors.raise("x: expected a tensor [..., L, %d], got %s", self.head_dim, check.describe(x))
    end
    if x:dim() < 2 or x:size(-1) ~= self.head_dim then
        errors.raise("x: expected [..., L, %d] (head_dim), got %s", self.head_dim,
            tostring(x.shape))
    end
    local positions, before = positions_of(x, options)
    local L = x:size(-2)
    if L == 0 or x:numel() == 0 then return x end
    local cos, sin = rows_of(self, positions, before, L, x.dtype)
    return core.rotary(x, cos, sin, self.interleaved)
end

-- For layers that run in C: cosines and sines of positions 1..length, or more of them.
function Rotary:rows_up_to(length, dtype)
    local cos, sin = tables_of(self, length, dtype)
    return cos, sin
end

-- For layers that run in C: cosines and sines of L positions behind others, a number of them or one
-- of each row [B].
function Rotary:rows_behind(before, L, dtype)
    if type(before) == "number" then return rows_of(self, nil, before, L, dtype) end
    return rows_of(self, before:view(-1, 1) + core.range(1, L, { dtype = "i64" }):view(1, -1), 0, L,
        dtype)
end

function Rotary:extra()
    return ("%d%s, base = %g%s%s"):format(self.head_dim, self.dim < self.head_dim
        and (", dim = %d"):format(self.dim) or "",
        self.base, self.interleaved and ", interleaved" or "",
            self.scaling and ", " .. self.scaling.type or "")
end

return Rotary
