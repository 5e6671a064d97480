local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local initial = require "heed.nn.initial"
local module = require "heed.nn.module"

-- x + the table's rows for its L positions, or the rows alone when x is L.
local function add_rows(self, rows, x)
    local is_length = type(x) == "number"
    if not is_length and not check.is_tensor(x) then
        errors.raise("%s: x: expected a tensor [..., L, E] or a number of positions, got %s", self.class_name, check.describe(x))
    end
    local length = is_length and check.integer(self.class_name, "x", x, 0) or x:size(-2)
    if length > rows:size(1) then
        errors.raise("%s: x: expected at most %d positions (max_len), got %d", self.class_name, rows:size(1), length)
    end
    local first = rows:narrow(1, 1, length)
    return is_length and first or x + first
end

---Sines and cosines of the position at falling rates (Vaswani et al. 2017, section 3.5):
---PE(pos, 2i) = sin(pos · r_i), PE(pos, 2i+1) = cos(pos · r_i), r_i = 10000^(-2i/E).
---
---```lua
---local positions = nn.SinusoidalPositions(100, 8)
---print(positions(2), positions(heed.zeros(1, 3, 8)).shape)
---print(nn.SinusoidalPositions(100, 4, { layout = "halves", first_position = 1, rates = { 1, 0.01 } })(1))
---```
---@class heed.nn.SinusoidalPositions: heed.nn.Module
---@field table heed.Tensor [max_len, E]
local SinusoidalPositions = module.Module:extend "SinusoidalPositions"

---@param max_len integer
---@param d_model integer E
---@param options? { first_position?: integer, layout?: "interleaved"|"halves", rates?: number[] } first_position: what positions
---count from (default 0); layout: sines and cosines in turn, or all sines and then all cosines; rates: r_i, one for each pair
function SinusoidalPositions:init(max_len, d_model, options)
    local where = "heed.nn.SinusoidalPositions"
    check.integer(where, "max_len", max_len)
    check.integer(where, "d_model", d_model)
    options = check.options(where, options, check.set("first_position", "layout", "rates"))
    local first = check.integer(where, "first_position", options.first_position or 0, math.mininteger)
    local layout = check.one_of(where, "layout", options.layout or "interleaved", { "interleaved", "halves" })
    local rows = core.sinusoidal_positions(max_len, d_model, first, layout, options.rates)
    self:buffer("table", rows, { persistent = false })
end

---@param x heed.Tensor|integer [..., L, E], or L
---@return heed.Tensor # x plus the rows of its positions, or the rows [L, E]
function SinusoidalPositions:forward(x) return add_rows(self, self.table, x) end

function SinusoidalPositions:extra() return ("%d, %d"):format(self.table:size(1), self.table:size(2)) end

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
---@return heed.Tensor # x plus the rows of its positions, or the rows [L, E]
function LearnedPositions:forward(x) return add_rows(self, self.weight, x) end

function LearnedPositions:extra() return ("%d, %d"):format(self.weight:size(1), self.weight:size(2)) end

return { SinusoidalPositions = SinusoidalPositions, LearnedPositions = LearnedPositions }
