local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local module = require "heed.nn.module"

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

-- ---- rates --------------------------------------------------------------------------------------

local function rates_of(base, dim)
    local rates = {}
    for i = 0, dim // 2 - 1 do rates[i + 1] = base ^ (-2 * i / dim) end
    return rates
end

local function divided(rates, factor)
    local result = {}
    for i, rate in ipairs(rates) do result[i] = rate / factor end
    return result
end

-- Long waves are divided by the factor, short ones stay, and between the two bounds one goes over
-- into the other.
local function llama3(rates, s)
    local result = {}
    for i, rate in ipairs(rates) do
        local turns = s.original_max_position_embeddings * rate / (2 * math.pi)
        local kept = (turns - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor)
        kept = math.min(math.max(kept, 0), 1)
        result[i] = kept * rate + (1 - kept) * rate / s.factor
    end
    return result
end

-- Rates at a length by kind of scaling, and what they depend on: nil, or the length from which on
-- they change.
local scaled = {}

function scaled.linear(self) return divided(rates_of(self.base, self.dim), self.scaling.factor) end

function scaled.ntk(self)
    return rates_of(self.base * self.scaling.factor ^ (self.dim / (self.dim - 2)), self.dim)
end

function scaled.dynamic(self, length)
    local s = self.scaling
    local stretch = s.factor * math.max(length / s.original_max_position_embeddings,
        1) - (s.factor - 1)
    return rates_of(self.base * stretch ^ (self.dim / (self.dim - 2)), self.dim)
end

function scaled.llama3(self) return llama3(rates_of(self.base, self.dim), self.scaling) end

local FIELDS = {
    linear = { "factor" },
    ntk = { "factor" },
    dynamic = { "factor", "original_max_position_embeddings" },
    llama3 = { "factor", "low_freq_factor", "high_freq_factor",
        "original_max_position_embeddings" },
}

local function check_scaling(scaling, dim)
    if scaling == nil then return nil end
    check.type(WHERE, "scaling", scaling, "table")
    local kind = check.one_of(WHERE, "scaling.type", scaling.type,
        { "linear", "ntk", "dynamic", "llama3" })
    local fields = FIELDS[kind]
    check.options(WHERE .. ": scaling", scaling, check.set("type", table.unpack(fields)))
    for _, name in ipairs(fields) do
        local least = name == "factor" and kind ~= "linear" and 1 or 0
        if check.number(WHERE, "scaling." .. name, scaling[name], least) == 0 then
            errors.raise("%s: scaling.%s: expected a number above 0, got 0", WHERE, name)
        end
    end
    if kind == "llama3" and scaling.high_freq_factor <= scaling.low_freq_factor then
        errors.raise(
            "%s: scaling.high_freq_factor: expected more than low_freq_factor (%g), got %g", WHERE,
            scaling.low_freq_factor, scaling.high_freq_factor)
    end
    if (kind == "ntk" or kind == "dynamic") and dim <= 2 then
        errors.raise("%s: scaling: %q wants more than 2 features to turn, got %d", WHERE, kind, dim)
    end
    return scaling
end

---scaling, for longer sequences than were trained on, with the names of Hugging Face's
---rope_parameters and n = original_max_position_embeddings; s is the factor:
---
---- `{ type = "linear", factor = s }`: r_i / s (Chen et al. 2023, "Extending Context Window"); `{
---- type = "ntk", factor = s }`: base · s^(dim / (dim - 2)) for base; `{ type = "dynamic", factor =
---- s, original_max_position_embeddings = n }`: from a length L > n on, base ·
---  (s L / n - (s - 1))^(dim / (dim - 2)), L the last position in the call: what was turned in an earlier, shorter call had
---  other angles;
---- `{ type = "llama3", factor = s, low_freq_factor = l, high_freq_factor = h,
---- original_max_position_embeddings = n }`: with
---  k = (n r_i / 2π - l) / (h - l), clamped to 0..1: k r_i + (1 - k) r_i / s.
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
    self.scaling = check_scaling(options.scaling, self.dim)
end

-- ---- tables -------------------------------------------------------------------------------------

---The rates r_i, in radians a position, for a sequence of a length (which "dynamic" scaling looks
---at).
---@param length? integer default 1
---@return number[]
function Rotary:rates(length)
    if not self.scaling then return rates_of(self.base, self.dim) end
    return scaled[self.scaling.type](self, check.integer("Rotary:rates", "length", length or 1, 0))
end

local function make_tables(self, count, length, dtype)
    local rates = core.tensor(self:rates(length), { dtype = "f64" })
    local angles = core.range(0, count - 1, { dtype = "f64" }):view(-1, 1) * rates
    return core.keep(angles:cos():to(dtype)), core.keep(angles:sin():to(dtype))
end

-- Cosines and sines [count, dim/2] of positions 1..count, count at least `length`. Kept by dtype,
-- for all calls to come.
local function tables_of(self, length, dtype)
    local kept = rawget(self, "tables")
    if not kept then
        kept = {}
        rawset(self, "tables", kept)
    end
    local s = self.scaling
    local stretched = s and s.type == "dynamic" and length > s.original_max_position_embeddings
        and length or nil
    local entry = kept[dtype]
    if not entry or entry.count < length or entry.stretched ~= stretched then
        local count = stretched and length or math.max(length, 64, entry and not entry.stretched
            and 2 * entry.count or 0)
        local cos, sin = make_tables(self, count, stretched, dtype)
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
