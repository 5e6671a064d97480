--- GRU and LSTM: recurrent layers, each layer and direction one operation over whole sequences.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local initial = require "heed.nn.initial"
local module = require "heed.nn.module"

local OPTIONS = check.set("num_layers", "bidirectional", "dropout", "bias", "batch_first")
local CALL = check.set "lengths"

-- ---- parameters ---------------------------------------------------------------------------------

---What GRU, LSTM and their cells keep: parameters under PyTorch's names, with values from
---U(±1/sqrt(hidden_size)).
---@param self heed.nn.Module
---@param suffix string of the names: "_l0", "_l0_reverse"
---@param gates integer
---@param inputs integer
---@param bias boolean
local function add_parameters(self, suffix, gates, inputs, bias)
    local rows, bound = gates * self.hidden_size, 1 / math.sqrt(self.hidden_size)
    local function parameter(...)
        return module.parameter(initial.uniform_(core.empty(...), -bound, bound))
    end
    self["weight_ih" .. suffix] = parameter(rows, inputs)
    self["weight_hh" .. suffix] = parameter(rows, self.hidden_size)
    if not bias then return end
    self["bias_ih" .. suffix] = parameter(rows)
    self["bias_hh" .. suffix] = parameter(rows)
end

-- As PyTorch's names count layers.
local function suffix_of(layer, direction)
    return ("_l%d%s"):format(layer - 1, direction == 2 and "_reverse" or "")
end

local function init(self, where, gates, input_size, hidden_size, options)
    self.input_size = check.integer(where, "input_size", input_size)
    self.hidden_size = check.integer(where, "hidden_size", hidden_size)
    options = check.options(where, options, OPTIONS)
    self.num_layers = check.integer(where, "num_layers", check.default(options.num_layers, 1))
    self.bidirectional = check.flag(where, "bidirectional", options.bidirectional, false)
    self.dropout = check.number(where, "dropout", check.default(options.dropout, 0), 0, 1)
    self.batch_first = check.flag(where, "batch_first", options.batch_first, true)
    local bias = check.flag(where, "bias", options.bias, true)
    local directions = self.bidirectional and 2 or 1
    for layer = 1, self.num_layers do
        local inputs = layer == 1 and input_size or directions * hidden_size
        for direction = 1, directions do
            add_parameters(self, suffix_of(layer, direction), gates, inputs, bias)
        end
    end
end

local function extra(self)
    local words = { ("%d, %d"):format(self.input_size, self.hidden_size) }
    if self.num_layers > 1 then words[#words + 1] = "num_layers = " .. self.num_layers end
    if self.bidirectional then words[#words + 1] = "bidirectional = true" end
    if self.dropout > 0 then words[#words + 1] = ("dropout = %g"):format(self.dropout) end
    if not self.bias_ih_l0 then words[#words + 1] = "bias = false" end
    if not self.batch_first then words[#words + 1] = "batch_first = false" end
    return table.concat(words, ", ")
end

-- ---- a call ------------------------------------------------------------------------------------

local function is_options(value)
    return type(value) == "table" and not check.is_tensor(value) and value[1] == nil
end

-- The state may be left out before the options.
local function arguments(where, state, options)
    if options == nil and is_options(state) then state, options = nil, state end
    return state, check.options(where, options, CALL)
end

-- x as [B, L, E]; was it one sequence?
local function as_batch(self, x)
    local ndim = check.is_live(x) and x:dim()
    if ndim ~= 2 and ndim ~= 3 then
        errors.raise("x: expected [B, L, %d] or [L, %d], got %s", self.input_size,
            self.input_size, check.describe(x))
    end
    if ndim == 2 then return x:unsqueeze(1), true end
    return self.batch_first and x or x:transpose(1, 2), false
end

-- A state [layers * directions, B, H], or [layers * directions, H] of one sequence.
local function check_state(self, name, state, batch, single)
    if state == nil then return nil end
    local shape = { self.num_layers * (self.bidirectional and 2 or 1), batch, self.hidden_size }
    if single then table.remove(shape, 2) end
    local wanted = "[" .. table.concat(shape, ", ") .. "]"
    if not check.is_live(state) or tostring(state.shape) ~= wanted then
        errors.raise("%s: expected %s (layers times directions%s, hidden_size), got %s", name,
            wanted, single and "" or ", batch", check.describe(state))
    end
    return single and state:unsqueeze(2) or state
end

-- All layers. run(x, suffix, i): one layer in one direction, the i-th, gives its output.
local function each_layer(self, x, run)
    local directions, i = self.bidirectional and 2 or 1, 0
    for layer = 1, self.num_layers do
        local outputs = {}
        for direction = 1, directions do
            i = i + 1
            outputs[direction] = run(x, suffix_of(layer, direction), i, direction == 2)
        end
        x = directions == 2 and core.cat(outputs, -1) or outputs[1]
        if self.training and self.dropout > 0 and layer < self.num_layers then
            x = core.dropout(x, self.dropout)
        end
    end
    return x
end

local function as_given(self, y, single)
    if single then return y:select(1, 1) end
    return self.batch_first and y or y:transpose(1, 2)
end

-- The states of all layers together, as check_state takes them.
local function joined(states, single)
    local all = core.stack(states, 1)
    return single and all:select(2, 1) or all
end

-- ---- GRU ---------------------------------------------------------------------------------------

---Gated recurrent units (Cho et al. 2014), in PyTorch's form: r = sigmoid(W_ir x + b_ir + W_hr h +
---b_hr), z likewise, n = tanh(W_in x + b_in + r (W_hn h + b_hn)), h ← (1-z) n + z h. Parameters have
---PyTorch's names, which count layers from 0: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0,
---weight_ih_l0_reverse, ... Every layer and direction is one operation over all steps.
---
---With lengths, sequences of a padded batch are read as if each were alone: backwards from its own
---end; outputs behind it are 0, and h is the state at its end (PyTorch's packed sequences). A
---sequence of length 0 keeps its state.
---
---```lua
---local gru = nn.GRU(4, 6, { num_layers = 2, bidirectional = true })
---local out, h = gru(heed.randn(3, 5, 4), { lengths = { 5, 2, 3 } })
---print(out.shape, h.shape) --> [3, 5, 12] [4, 3, 6]
---print(out[2][3]:abs():max():item()) --> 0.0
---```
---@class heed.nn.GRU: heed.nn.Module
---@field weight_ih_l0 heed.Tensor [3 hidden_size, input_size]: r, z, n
---@field weight_hh_l0 heed.Tensor [3 hidden_size, hidden_size]
---@field bias_ih_l0 heed.Tensor|nil [3 hidden_size]
---@field bias_hh_l0 heed.Tensor|nil [3 hidden_size]
local GRU = module.Module:extend "GRU"

---Initial values U(±1/sqrt(hidden_size)), as PyTorch's.
---@param input_size integer
---@param hidden_size integer
---@param options? { num_layers?: integer, bidirectional?: boolean, dropout?: number, bias?: boolean, batch_first?: boolean }
---num_layers: default 1; bidirectional: default false; dropout: of what goes from one layer to the
---next, in training, default 0; bias: default true; batch_first: default true, [B, L, E]; false
---takes and gives [L, B, E], as PyTorch does by default
function GRU:init(input_size, hidden_size, options)
    init(self, "heed.nn.GRU", 3, input_size, hidden_size, options)
end

---@param x heed.Tensor [B, L, input_size], or [L, input_size] of one sequence
---@param h? heed.Tensor [layers · directions, B, hidden_size] the state before, default zeros;
---[layers · directions, hidden_size] of one sequence
---@param options? { lengths?: heed.Tensor|integer[] } lengths: [B], default L for all
---@return heed.Tensor out [B, L, directions · hidden_size] of the last layer
---@return heed.Tensor h [layers · directions, B, hidden_size] the state after
function GRU:forward(x, h, options)
    h, options = arguments("heed.nn.GRU", h, options)
    local batch, single = as_batch(self, x)
    h = check_state(self, "h", h, batch:size(1), single)
    local states = {}
    local out = each_layer(self, batch, function(input, suffix, i, reverse)
        local y
        y, states[i] = core.gru(input, h and h:select(1, i), options.lengths,
            self["weight_ih" .. suffix], self["weight_hh" .. suffix], self["bias_ih" .. suffix],
            self["bias_hh" .. suffix], reverse)
        return y
    end)
    return as_given(self, out, single), joined(states, single)
end

GRU.extra = extra

-- ---- LSTM --------------------------------------------------------------------------------------

---Long short-term memory (Hochreiter and Schmidhuber 1997; Gers et al. 2000), in PyTorch's form: i =
---sigmoid(W_ii x + b_ii + W_hi h + b_hi), f and o likewise, g = tanh(W_ig x + b_ig + W_hg h + b_hg),
---c ← f c + i g, h ← o tanh(c). Parameters and lengths are as those of nn.GRU.
---
---```lua
---local lstm = nn.LSTM(4, 6)
---local out, state = lstm(heed.randn(2, 5, 4))
---print(out.shape, state[1].shape, state[2].shape) --> [2, 5, 6] [1, 2, 6] [1, 2, 6]
---local next_out = lstm(heed.randn(2, 1, 4), state) -- goes on where the first call ended
---print(next_out.shape) --> [2, 1, 6]
---```
---@class heed.nn.LSTM: heed.nn.Module
---@field weight_ih_l0 heed.Tensor [4 hidden_size, input_size]: i, f, g, o
---@field weight_hh_l0 heed.Tensor [4 hidden_size, hidden_size]
---@field bias_ih_l0 heed.Tensor|nil [4 hidden_size]
---@field bias_hh_l0 heed.Tensor|nil [4 hidden_size]
local LSTM = module.Module:extend "LSTM"

---Initial values U(±1/sqrt(hidden_size)), as PyTorch's.
---@param input_size integer
---@param hidden_size integer
---@param options? { num_layers?: integer, bidirectional?: boolean, dropout?: number, bias?: boolean, batch_first?: boolean }
---as those of nn.GRU
function LSTM:init(input_size, hidden_size, options)
    init(self, "heed.nn.LSTM", 4, input_size, hidden_size, options)
end

---Refuses what is no list of two.
---@param state any
local function check_pair(state)
    if type(state) ~= "table" or check.is_tensor(state) or #state ~= 2 then
        errors.raise("state: expected { h, c }, got %s", check.describe(state))
    end
end

---@param x heed.Tensor [B, L, input_size], or [L, input_size] of one sequence
---@param state? heed.Tensor[] { h, c }, each [layers · directions, B, hidden_size], default zeros
---@param options? { lengths?: heed.Tensor|integer[] } lengths: [B], default L for all
---@return heed.Tensor out [B, L, directions · hidden_size] of the last layer
---@return heed.Tensor[] state { h, c } after
function LSTM:forward(x, state, options)
    state, options = arguments("heed.nn.LSTM", state, options)
    if state ~= nil then check_pair(state) end
    local batch, single = as_batch(self, x)
    local h = state and check_state(self, "h", state[1], batch:size(1), single)
    local c = state and check_state(self, "c", state[2], batch:size(1), single)
    local hs, cs = {}, {}
    local out = each_layer(self, batch, function(input, suffix, i, reverse)
        local y
        y, hs[i], cs[i] = core.lstm(input, h and h:select(1, i), c and c:select(1, i),
            options.lengths, self["weight_ih" .. suffix], self["weight_hh" .. suffix],
            self["bias_ih" .. suffix], self["bias_hh" .. suffix], reverse)
        return y
    end)
    return as_given(self, out, single), { joined(hs, single), joined(cs, single) }
end

LSTM.extra = extra

-- ---- cells -------------------------------------------------------------------------------------

local function init_cell(self, where, gates, input_size, hidden_size, options)
    self.input_size = check.integer(where, "input_size", input_size)
    self.hidden_size = check.integer(where, "hidden_size", hidden_size)
    options = check.options(where, options, check.set "bias")
    add_parameters(self, "", gates, input_size, check.flag(where, "bias", options.bias, true))
end

-- [B, E] or [E] as a batch of sequences of one token.
local function as_token(self, x)
    local ndim = check.is_live(x) and x:dim()
    if ndim ~= 1 and ndim ~= 2 then
        errors.raise("x: expected [B, %d] or [%d], got %s", self.input_size, self.input_size,
            check.describe(x))
    end
    return ndim == 1 and x:unsqueeze(1):unsqueeze(1) or x:unsqueeze(2), ndim == 1
end

local function as_row(self, name, state, single)
    if state == nil or not single then return state end
    if not check.is_live(state) or state:dim() ~= 1 then
        errors.raise("%s: expected [%d], got %s", name, self.hidden_size, check.describe(state))
    end
    return state:unsqueeze(1)
end

local function cell_extra(self)
    return ("%d, %d%s"):format(self.input_size, self.hidden_size,
        self.bias_ih and "" or ", bias = false")
end

---One step of a GRU.
---
---```lua
---local cell = nn.GRUCell(4, 6)
---local h = cell(heed.randn(2, 4))
---h = cell(heed.randn(2, 4), h)
---print(h.shape) --> [2, 6]
---```
---@class heed.nn.GRUCell: heed.nn.Module
---@field weight_ih heed.Tensor [3 hidden_size, input_size]
---@field weight_hh heed.Tensor [3 hidden_size, hidden_size]
---@field bias_ih heed.Tensor|nil [3 hidden_size]
---@field bias_hh heed.Tensor|nil [3 hidden_size]
local GRUCell = module.Module:extend "GRUCell"

---@param input_size integer
---@param hidden_size integer
---@param options? { bias?: boolean } default true
function GRUCell:init(input_size, hidden_size, options)
    init_cell(self, "heed.nn.GRUCell", 3, input_size, hidden_size, options)
end

---@param x heed.Tensor [B, input_size] or [input_size]
---@param h? heed.Tensor [B, hidden_size] or [hidden_size], default zeros
---@return heed.Tensor h after
function GRUCell:forward(x, h)
    local token, single = as_token(self, x)
    local _, after = core.gru(token, as_row(self, "h", h, single), nil, self.weight_ih,
        self.weight_hh, self.bias_ih, self.bias_hh)
    return single and after:select(1, 1) or after
end

GRUCell.extra = cell_extra

---One step of an LSTM.
---
---```lua
---local cell = nn.LSTMCell(4, 6)
---local h, c = cell(heed.randn(2, 4))
---h, c = cell(heed.randn(2, 4), { h, c })
---print(h.shape, c.shape) --> [2, 6] [2, 6]
---```
---@class heed.nn.LSTMCell: heed.nn.Module
---@field weight_ih heed.Tensor [4 hidden_size, input_size]
---@field weight_hh heed.Tensor [4 hidden_size, hidden_size]
---@field bias_ih heed.Tensor|nil [4 hidden_size]
---@field bias_hh heed.Tensor|nil [4 hidden_size]
local LSTMCell = module.Module:extend "LSTMCell"

---@param input_size integer
---@param hidden_size integer
---@param options? { bias?: boolean } default true
function LSTMCell:init(input_size, hidden_size, options)
    init_cell(self, "heed.nn.LSTMCell", 4, input_size, hidden_size, options)
end

---@param x heed.Tensor [B, input_size] or [input_size]
---@param state? heed.Tensor[] { h, c }, each [B, hidden_size] or [hidden_size], default zeros
---@return heed.Tensor h after
---@return heed.Tensor c after
function LSTMCell:forward(x, state)
    if state ~= nil then check_pair(state) end
    local token, single = as_token(self, x)
    local h = state and as_row(self, "h", state[1], single)
    local c = state and as_row(self, "c", state[2], single)
    local _, next_h, next_c = core.lstm(token, h, c, nil, self.weight_ih, self.weight_hh,
        self.bias_ih, self.bias_hh)
    if not single then return next_h, next_c end
    return next_h:select(1, 1), next_c:select(1, 1)
end

LSTMCell.extra = cell_extra

return { GRU = GRU, LSTM = LSTM, GRUCell = GRUCell, LSTMCell = LSTMCell }
