--- Where logits come from: rows of tokens that grow, and a model that is asked what may follow
--- each.
---
--- With a cache it is given only what is new, without one the whole rows, padded behind.

local calls = require "heed.nn.calls"
local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local modes = require "heed.generate.modes"
local walk = require "heed.nn.walk"

local WHERE = "heed.generate"

local Source = {}
Source.__index = Source

-- ---- three kinds of models: each gives run(tokens, lengths, cache), and head(hidden) where logits

local function is_callable(value)
    local meta = type(value) == "table" and getmetatable(value)
    return type(value) == "function" or type(meta) == "table" and meta.__call ~= nil
end

local function is_encoder_decoder(model)
    return type(model) == "table" and model.encode ~= nil and model.decode ~= nil
end

local function head_of(model)
    local output = model.output
    if type(output) == "function" then return function(hidden) return model:output(hidden) end end
    return output
end

local function bind_encoder_decoder(self, model, src, lengths)
    self.memory = self.guarded(function() return model:encode(src, { src_lengths = lengths }) end)
    core.keep(self.memory)
    self.memory_lengths = lengths
    self.head = head_of(model)
    function self.run(tokens, _, cache)
        local options = { src_lengths = self.memory_lengths, cache = cache }
        if not cache then return model:decode(tokens, self.memory, options) end
        -- one step of the cache
        return calls.run(model, "decode", model.decode, tokens, self.memory, options)
    end
end

-- Does it make logits of those hidden states alone that a function `last` gives?
local function takes_last(model) return type(model) == "table" and model.takes_last end

local function bind(self, model)
    if type(model) == "function" then
        self.run = model
    elseif self.cache or takes_last(model) then
        local last = takes_last(model) and function(hidden) return self:last(hidden) end or nil
        function self.run(tokens, _, cache) return model(tokens, { cache = cache, last = last }) end
    else
        function self.run(tokens) return model(tokens) end
    end
end

local function wants_cache(model, wish)
    local able = walk.is_module(model) and (is_encoder_decoder(model) or model.takes_cache)
    if wish == nil then return able or false end
    if wish and not walk.is_module(model) then
        errors.raise("%s: cache: expected a model (heed.nn.Module) for it", WHERE)
    end
    return wish
end

---@param model any
---@return boolean is it an encoder-decoder?
function Source.check_model(model)
    if is_encoder_decoder(model) then return true end
    if not is_callable(model) then
        errors.raise("%s: model: expected a model, or a function of tokens that gives logits, "
            .. "got %s", WHERE, check.describe(model))
    end
    return false
end

---@param model any
---@param rows integer[][] what each row begins with
---@param options { new: integer, context?: integer, cache?: boolean, cache_dtype?: string, src?: heed.Tensor, src_lengths?: heed.Tensor }
function Source.new(model, rows, options)
    local self = setmetatable({ rows = rows, context = options.context, guarded = modes.of(model),
        step = 0 }, Source)
    if wants_cache(model, options.cache) then
        local longest = 0
        for _, row in ipairs(rows) do longest = math.max(longest, #row) end
        longest = math.min(longest + options.new, options.context or math.huge)
        self.cache = model:new_cache { batch = #rows, max_len = longest,
            dtype = options.cache_dtype }
    end
    local of_model = type(model) == "table" and model.generation
    self.changes_at = type(of_model) == "table" and of_model.changes_at or nil
    self.fed = {}
    for b = 1, #rows do self.fed[b] = 0 end
    if options.src then
        bind_encoder_decoder(self, model, options.src, options.src_lengths)
    else
        bind(self, model)
    end
    return self
end

-- ---- asking -------------------------------------------------------------------------------------

-- Tokens first[b] + 1 .. of each row, padded with 1, and how many they are.
local function batch_of(rows, first)
    local list, lengths, longest = {}, {}, 0
    for b, row in ipairs(rows) do
        lengths[b] = #row - first[b]
        longest = math.max(longest, lengths[b])
    end
    for b, row in ipairs(rows) do
        list[b] = table.move(row, first[b] + 1, #row, 1, {})
        for i = #list[b] + 1, longest do list[b][i] = 1 end
    end
    return core.tensor(list, { dtype = "i64" }), lengths, longest
end

-- The row of each length, of [B, L, ...]: [B, ...].
local function last_of(t, lengths, longest)
    local ragged = false
    for _, n in ipairs(lengths) do ragged = ragged or n ~= longest end
    if not ragged then return t:select(2, longest) end
    local index = {}
    for b, n in ipairs(lengths) do index[b] = (b - 1) * longest + n end
    return t:reshape(#lengths * longest, t:size(3)):index_select(1, index)
end

---Of hidden states [B, L, E] those of the last token of each row: [B, E].
---@param hidden heed.Tensor
---@return heed.Tensor
function Source:last(hidden) return last_of(hidden, self.lengths, self.longest) end

local function check_output(t, count, longest)
    if type(t) == "table" then t = core.tensor(t) end
    local fits = check.is_live(t) and (t:dim() == 2 or t:dim() == 3 and t:size(2) == longest)
        and t:size(1) == count
    if fits and t:size(-1) > 0 then return t end
    return errors.raise("%s: model: expected logits [%d, %d, V] or [%d, V], got %s", WHERE, count,
        longest, count, check.describe(t))
end

-- The windows that the model may see have outgrown the cache: from now on it sees them whole.
local function outgrow(self)
    if not self.context then return end
    for _, row in ipairs(self.rows) do
        if self.cache and #row > self.context then self.cache = nil end
    end
end

local function first_seen(self)
    if self.cache then return self.fed end
    local first = {}
    for b, row in ipairs(self.rows) do
        first[b] = math.max(#row - (self.context or math.huge), 0)
    end
    return first
end

-- Behind changes_at tokens all positions turn by other angles: what was read before that is read
-- again.
local function restart(self)
    if not self.cache or not self.changes_at then return end
    local longest = 0
    for _, row in ipairs(self.rows) do longest = math.max(longest, #row) end
    local changed = longest > self.changes_at
    if self.changed ~= nil and self.changed ~= changed then
        self.cache:crop(0)
        for b = 1, #self.rows do self.fed[b] = 0 end
    end
    self.changed = changed
end

local function ask(self)
    outgrow(self)
    restart(self)
    local tokens, lengths, longest = batch_of(self.rows, first_seen(self))
    self.lengths, self.longest = lengths, longest
    local out = self.run(tokens, core.tensor(lengths, { dtype = "i64" }), self.cache)
    if self.cache then
        local ends = {}
        for b, row in ipairs(self.rows) do ends[b] = #row end
        self.cache:crop(ends)
        self.fed = ends
    end
    out = check_output(out, #self.rows, longest)
    if out:dim() == 3 then out = last_of(out, lengths, longest) end
    return self.head and self.head(out) or out
end

local FLOATS = check.set("f32", "f64")

-- Names the first token whose logit is none: -inf is one, that of a token that cannot come.
local function check_numbers(self, logits)
    local bad, name = logits:isnan(), "NaN"
    if not bad:any() then bad, name = logits:eq(math.huge), "inf" end
    if not bad:any() then return logits end
    local where = bad:nonzero():totable()[1]
    return errors.raise("%s: the model's logits: expected numbers, got %s for token %d in row %d "
        .. "at step %d", WHERE, name, where[2],
        where[1], self.step)
end

---What may follow each row: logits [rows, V].
---@return heed.Tensor
function Source:logits()
    self.step = self.step + 1
    local logits = self.guarded(ask, self)
    if not FLOATS[logits.dtype] then logits = logits:to("f32") end
    return check_numbers(self, logits:detach())
end

-- ---- rows ---------------------------------------------------------------------------------------

---Row i goes on from what row from[i] was.
---@param from integer[]
function Source:reorder(from)
    local rows, fed, same = {}, {}, #from == #self.rows
    for i, b in ipairs(from) do
        rows[i] = table.move(self.rows[b], 1, #self.rows[b], 1, {})
        fed[i] = self.fed[b]
        same = same and i == b
    end
    self.rows, self.fed = rows, fed
    if same then return end
    if self.cache then self.cache:reorder(from) end
    if not self.memory then return end
    -- A cache knows the memory by the tensor that it first came as.
    if not self.cache then self.memory = core.keep(self.memory:index_select(1, from)) end
    if self.memory_lengths then
        self.memory_lengths = core.keep(self.memory_lengths:index_select(1, from))
    end
end

---Complains when there is no way on from some row: all its logits are -inf.
---@param logits heed.Tensor
function Source:check_ways(logits)
    local none = logits:max(2):eq(-math.huge)
    if not none:any() then return end
    errors.raise("%s: the model's logits: expected a token that can come in row %d at step %d, "
        .. "got -inf for all", WHERE,
        none:nonzero():totable()[1][1], self.step)
end

---Appends one token to each row.
---@param tokens integer[]
function Source:append(tokens)
    for b, token in ipairs(tokens) do
        local row = self.rows[b]
        row[#row + 1] = token
    end
end

return Source
