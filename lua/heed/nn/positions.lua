local caches = require "heed.nn.cache"
local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local initial = require "heed.nn.initial"
local module = require "heed.nn.module"

local CALL = check.set("offset", "cache")

-- How many positions come before x: a number, or a tensor [B].
local function offset_of(self, x, options)
    if options == nil then return 0 end
    local where = self.class_name
    check.options(where, options, CALL)
    local offset = options.offset or 0
    if options.cache then
        if options.offset then
            errors.raise("%s: offset, cache: expected one of them, got both", where)
        end
        offset = caches.check(where, options.cache):offset()
    end
    if type(offset) == "number" then return check.integer(where, "offset", offset, 0) end
    if type(offset) == "table" then offset = core.tensor(offset, { dtype = "i64" }) end
    if not check.is_live(x) or x:dim() ~= 3 or not check.is_live(offset) or offset:dim() ~= 1
        or offset:size(1) ~= x:size(1) then
        errors.raise("%s: offset: expected a number, or one for each of the batch of x, got %s",
            where, check.describe(offset))
    end
    return offset
end

local function check_length(self, rows, length)
    if length <= rows:size(1) then return end
    errors.raise("%s: x: expected at most %d positions (max_len), got %d", self.class_name,
        rows:size(1), length)
end

-- Rows that differ over the batch: [B, L, E].
local function rows_behind(self, rows, offset, L)
    if offset:numel() == 0 then return rows:narrow(1, 1, L) end
    check_length(self, rows, offset:max():item() + L)
    return core.embedding(rows, offset:view(-1, 1) + core.range(1, L, { dtype = "i64" }):view(1,
        -1))
end

-- x + the table's rows for its L positions, or the rows alone when x is L.
local function add_rows(self, rows, x, options)
    local is_length = type(x) == "number"
    if not is_length and not check.is_live(x) then
        errors.raise("%s: x: expected a tensor [..., L, E] or a number of positions, got %s",
            self.class_name, check.describe(x))
    end
    local length = is_length and check.integer(self.class_name, "x", x, 0) or x:size(-2)
    local offset = offset_of(self, x, options)
    if type(offset) ~= "number" then return x + rows_behind(self, rows, offset, length) end
    check_length(self, rows, offset + length)
    local own = rows:narrow(1, offset + 1, length)
    return is_length and own or x + own
end

---Sines and cosines of the position at falling rates (Vaswani et al. 2017, section 3.5).
---PE(pos, 2i) = sin(pos · r_i), PE(pos, 2i+1) = cos(pos · r_i), r_i = 10000^(-2i/E).
---
---```lua
---local positions = nn.SinusoidalPositions(100, 8)
---print(positions(2), positions(heed.zeros(1, 3, 8)).shape)
---print(nn.SinusoidalPositions(100, 4, { layout = "halves", first_position = 1,
---    rates = { 1, 0.01 } })(1))
---```
---@class heed.nn.SinusoidalPositions: heed.nn.Module
---@field table heed.Tensor [max_len, E]
local SinusoidalPositions = module.Module:extend "SinusoidalPositions"

---@param max_len integer
---@param d_model integer E
---@param options? { first_position?: integer, layout?: "interleaved"|"halves", rates?: number[] }
---first_position: what positions count from (default 0); layout: sines and cosines in turn, or all
---sines and then all cosines; rates: r_i, one for each pair
function SinusoidalPositions:init(max_len, d_model, options)
    local where = "heed.nn.SinusoidalPositions"
    check.integer(where, "max_len", max_len)
    check.integer(where, "d_model", d_model)
    options = check.options(where, options, check.set("first_position", "layout", "rates"))
    local first = check.integer(where, "first_position", options.first_position or 0,
        math.mininteger)
    local layout = check.one_of(where, "layout", options.layout or "interleaved",
        { "interleaved", "halves" })
    self.settings = { max_len, d_model, first, layout, options.rates }
    self:reset_buffers()
end

---Computes the table again: for a module that was made on shapes alone.
function SinusoidalPositions:reset_buffers()
    self:buffer("table", core.sinusoidal_positions(table.unpack(self.settings, 1, 5)),
        { persistent = false })
end

---@param x heed.Tensor|integer [..., L, E], or L
---@param options? { offset?: integer|heed.Ids, cache?: heed.Cache } offset: how many positions come
---before x, or of each of the batch [B] (default 0); cache: they are what it holds
---@return heed.Tensor # x plus the rows of its positions, or the rows [L, E]
function SinusoidalPositions:forward(x, options) return add_rows(self, self.table, x, options) end

function SinusoidalPositions:extra()
    return ("%d, %d"):format(self.table:size(1), self.table:size(2))
end

---A trained row for each position.
---
---```lua
---print(nn.LearnedPositions(100, 8)(heed.zeros(1, 3, 8)).shape) --> [1, 3, 8]
---```
---@class heed.nn.LearnedPositions: heed.nn.Module
---@field weight heed.Tensor [max_len, E]
local LearnedPositions = module.Module:extend "LearnedPositions"

---Initial values N(0, 0.02²).
---@param max_len integer
---@param d_model integer E
function LearnedPositions:init(max_len, d_model)
    check.integer("heed.nn.LearnedPositions", "max_len", max_len)
    check.integer("heed.nn.LearnedPositions", "d_model", d_model)
    self.weight = module.parameter(initial.normal_(core.empty(max_len, d_model), 0, 0.02))
end

---@param x heed.Tensor|integer [..., L, E], or L
---@param options? { offset?: integer|heed.Ids, cache?: heed.Cache } offset: how many positions come
---before x, or of each of the batch [B] (default 0); cache: they are what it holds
---@return heed.Tensor # x plus the rows of its positions, or the rows [L, E]
function LearnedPositions:forward(x, options) return add_rows(self, self.weight, x, options) end

function LearnedPositions:extra()
    return ("%d, %d"):format(self.weight:size(1), self.weight:size(2))
end

return { SinusoidalPositions = SinusoidalPositions, LearnedPositions = LearnedPositions }
