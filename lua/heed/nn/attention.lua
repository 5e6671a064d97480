local caches = require "heed.nn.cache"
local capture = require "heed.capture"
local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local initial = require "heed.nn.initial"
local Linear = require "heed.nn.linear"
local program = require "heed.mask.program"
local module = require "heed.nn.module"
local norm = require "heed.nn.norm"
local Rotary = require "heed.nn.rotary"
local weights_of = require "heed.weights"

local WHERE = "heed.nn.MultiHeadAttention"
local CALL = check.set("mask", "weights", "cache")
local KNOWN = check.set("dropout", "bias", "num_kv_heads", "head_dim", "rotary", "qk_norm", "softcap", "scale", "kdim", "vdim")

---Several attentions side by side, each in a part of the features (Vaswani et al. 2017, section 3.2.2).
---MultiHead(Q, K, V) = Concat(head_1, ..., head_H) W^O, head_h = Attention(Q W_h^Q, K W_h^K, V W_h^V).
---
---Parameters are named as PyTorch's: the rows of W^Q, W^K and W^V in one in_proj_weight while query, key and value have one
---width, in q_proj_weight, k_proj_weight and v_proj_weight of their own when kdim or vdim is another than d_model; one
---in_proj_bias either way. The plain form runs in C as a whole; with any of num_kv_heads, head_dim, rotary, qk_norm, softcap,
---scale, kdim, vdim it is composed of its parts.
---
---```lua
---local mha = nn.MultiHeadAttention(8, 2)
---local x = heed.randn(1, 3, 8)
---local out, weights = mha(x, { mask = heed.mask.causal(), weights = true })
---print(out.shape, weights.shape, mha.in_proj_weight.shape) --> [1, 3, 8] [1, 2, 3, 3] [24, 8]
---print(nn.MultiHeadAttention(8, 4, { num_kv_heads = 2, rotary = true, qk_norm = true, bias = false })(x).shape)
---```
---@class heed.nn.MultiHeadAttention: heed.nn.Module
---@field in_proj_weight heed.Tensor|nil [(H + 2 Hk) D, E], usually [3E, E]: the rows of W^Q, W^K and W^V
---@field q_proj_weight heed.Tensor|nil [H D, E]
---@field k_proj_weight heed.Tensor|nil [Hk D, kdim]
---@field v_proj_weight heed.Tensor|nil [Hk D, vdim]
---@field in_proj_bias heed.Tensor|nil [(H + 2 Hk) D]
---@field out_proj heed.nn.Linear W^O, [E, H D]
---@field q_norm heed.nn.Module|nil over the D features of each head's queries
---@field k_norm heed.nn.Module|nil
---@field rotary heed.nn.Rotary|nil
local MultiHeadAttention = module.Module:extend "MultiHeadAttention"

MultiHeadAttention.gives_attention = true
MultiHeadAttention.keeps_cache = true

-- What stands under a `rotary` option, as a module: true is Rotary(head_dim), a table its options.
function MultiHeadAttention.rotary_of(where, rotary, head_dim)
    if not rotary or module.is_module(rotary) then return rotary or nil end
    if rotary ~= true then check.type(where, "rotary", rotary, "table") end
    return Rotary(head_dim, rotary ~= true and rotary or nil)
end

local function norm_of(qk_norm, head_dim)
    if not qk_norm then return nil end
    if qk_norm == true then qk_norm = "rms" end
    local kind = check.one_of(WHERE, "qk_norm", qk_norm, { "rms", "layer" })
    return kind == "rms" and norm.RMSNorm(head_dim) or norm.LayerNorm(head_dim)
end

local function add_weights(self, kdim, vdim)
    local E, q_rows, k_rows = self.d_model, self.num_heads * self.head_dim, self.num_kv_heads * self.head_dim
    local function drawn(rows, columns) return module.parameter(initial.xavier_uniform_(core.empty(rows, columns))) end
    if kdim == E and vdim == E then
        self.in_proj_weight = drawn(q_rows + 2 * k_rows, E)
    else
        self.q_proj_weight = drawn(q_rows, E)
        self.k_proj_weight = drawn(k_rows, kdim)
        self.v_proj_weight = drawn(k_rows, vdim)
    end
end

---Initial values as PyTorch's: Xavier over the weights of the projections, zero biases.
---@param d_model integer E
---@param num_heads integer H
---@param options? { dropout?: number, bias?: boolean, num_kv_heads?: integer, head_dim?: integer, rotary?: boolean|table|heed.nn.Rotary, qk_norm?: boolean|"rms"|"layer", softcap?: number, scale?: number, kdim?: integer, vdim?: integer }
---dropout: of the weights, in training; bias: of all projections, default true; num_kv_heads: heads of keys and values, a divisor
---of num_heads, each used by a group (Ainslie et al. 2023, "GQA"); head_dim: D, default E / H; rotary: turns queries and keys, true or the
---options of nn.Rotary or one that layers share, queries standing at the last of the keys' positions; qk_norm: norms queries and
---keys over each head's features before that, true is "rms" (Henry et al. 2020); softcap: c, a scaled score s becomes c·tanh(s/c); scale: of the
---scores, default 1/sqrt(D); kdim: features of key, default E; vdim: features of value, default E.
function MultiHeadAttention:init(d_model, num_heads, options)
    check.integer(WHERE, "d_model", d_model)
    check.integer(WHERE, "num_heads", num_heads)
    options = check.options(WHERE, options, KNOWN)
    local kv_heads = check.integer(WHERE, "num_kv_heads", options.num_kv_heads or num_heads)
    if not options.head_dim and d_model % num_heads ~= 0 then
        errors.raise("%s: d_model: expected a multiple of num_heads (%d), got %d", WHERE, num_heads, d_model)
    end
    if num_heads % kv_heads ~= 0 then
        errors.raise("%s: num_kv_heads: expected a divisor of num_heads (%d), got %d", WHERE, num_heads, kv_heads)
    end
    self.d_model, self.num_heads, self.num_kv_heads = d_model, num_heads, kv_heads
    self.head_dim = check.integer(WHERE, "head_dim", options.head_dim or d_model // num_heads)
    self.kdim = check.integer(WHERE, "kdim", options.kdim or d_model)
    self.vdim = check.integer(WHERE, "vdim", options.vdim or d_model)
    self.dropout = check.number(WHERE, "dropout", check.default(options.dropout, 0), 0, 1)
    self.softcap = options.softcap and check.number(WHERE, "softcap", options.softcap, 0)
    self.scale = options.scale and check.number(WHERE, "scale", options.scale)

    add_weights(self, self.kdim, self.vdim)
    local rows = (num_heads + 2 * kv_heads) * self.head_dim
    if check.flag(WHERE, "bias", options.bias, true) then self.in_proj_bias = module.parameter(core.zeros(rows)) end
    self.out_proj = Linear(num_heads * self.head_dim, d_model, { bias = options.bias })
    if self.out_proj.bias then initial.zeros_(self.out_proj.bias) end
    self.q_norm = norm_of(options.qk_norm, self.head_dim)
    self.k_norm = norm_of(options.qk_norm, self.head_dim)
    self.rotary = MultiHeadAttention.rotary_of(WHERE, options.rotary, self.head_dim)
end

-- ---- in its parts --------------------------------------------------------------------------------------------------

local function check_input(name, x, width, width_name, ndim)
    if not check.is_live(x) then errors.raise("%s: expected a tensor, got %s", name, check.describe(x)) end
    if ndim == nil and x:dim() ~= 2 and x:dim() ~= 3 then
        errors.raise("%s: expected [B, L, %d] or [L, %d], got %s", name, width, width, tostring(x.shape))
    elseif ndim and x:dim() ~= ndim then
        errors.raise("%s: expected %d dimensions as the query has, got %s", name, ndim, tostring(x.shape))
    elseif x:size(-1) ~= width then
        errors.raise("%s: expected %d features (%s), got %s", name, width, width_name, tostring(x.shape))
    end
end

local function check_inputs(self, query, key, value)
    check_input("query", query, self.d_model, "d_model")
    check_input("key", key, self.kdim, self.kdim == self.d_model and "d_model" or "kdim", query:dim())
    check_input("value", value, self.vdim, self.vdim == self.d_model and "d_model" or "vdim", query:dim())
    if query:dim() == 3 and key:size(1) ~= query:size(1) then
        errors.raise("key: expected a batch of %d as the query's, got %s", query:size(1), tostring(key.shape))
    end
    if value:size(-2) ~= key:size(-2) or value:size(1) ~= key:size(1) then
        errors.raise("value: expected %d positions as the key has, got %s", key:size(-2), tostring(value.shape))
    end
end

-- Columns of [B, L, ...] that belong to `count` heads after `before` others: [B, L, count, D], a view.
local function heads_of(self, y, before, count)
    local D = self.head_dim
    return y:narrow(3, before * D + 1, count * D):view(y:size(1), y:size(2), count, D)
end

-- x W^T + b by rows of a weight and a bias that belong to `count` heads.
local function project(self, x, weight, first_of_weight, first_of_bias, count)
    local D, bias = self.head_dim, self.in_proj_bias
    if weight:size(1) ~= count * D then weight = weight:narrow(1, first_of_weight * D + 1, count * D) end
    return core.linear(x, weight, bias and bias:narrow(1, first_of_bias * D + 1, count * D))
end

local function project_queries(self, query)
    local H = self.num_heads
    return heads_of(self, project(self, query, self.in_proj_weight or self.q_proj_weight, 0, 0, H), 0, H)
end

local function project_memory(self, key, value)
    local H, Hk, weight = self.num_heads, self.num_kv_heads, self.in_proj_weight
    if not weight then
        return heads_of(self, project(self, key, self.k_proj_weight, 0, H, Hk), 0, Hk),
            heads_of(self, project(self, value, self.v_proj_weight, 0, H + Hk, Hk), 0, Hk)
    end
    if key == value then
        local both = project(self, key, weight, H, H, 2 * Hk)
        return heads_of(self, both, 0, Hk), heads_of(self, both, Hk, Hk)
    end
    return heads_of(self, project(self, key, weight, H, H, Hk), 0, Hk),
        heads_of(self, project(self, value, weight, H + Hk, H + Hk, Hk), 0, Hk)
end

-- Queries, keys and values [B, L, H or Hk, D]; where one tensor is projected several times, in one product.
local function projections(self, query, key, value)
    local H, Hk, weight = self.num_heads, self.num_kv_heads, self.in_proj_weight
    if weight and query == key and key == value then
        local all = core.linear(query, weight, self.in_proj_bias)
        return heads_of(self, all, 0, H), heads_of(self, all, H, Hk), heads_of(self, all, H + Hk, Hk)
    end
    return project_queries(self, query), project_memory(self, key, value)
end

-- Query i of L stands at key position S - L + i, as for masks: only the distance matters.
local function rotated(self, q, k)
    local ahead = k:size(3) - q:size(3)
    return self.rotary(q, { offset = math.max(ahead, 0) }), self.rotary(k, { offset = math.max(-ahead, 0) })
end

-- From queries [B, H, L, D], keys and values to the output. wish: which weights to give, false, true or { rows =, heads = };
-- listening: which to capture, such a table or nil; single: the batch of one is none.
local function attend(self, q, k, v, mask, wish, listening, single)
    local dropout = self.training and self.dropout or 0
    local all = wish == true or listening ~= nil and not (listening.rows or listening.heads)
    local heads, weights = core.attention(q, k, v, self.scale, self.softcap, dropout, mask, all)
    local out = self.out_proj(heads:transpose(2, 3):reshape(q:size(1), q:size(3), self.num_heads * self.head_dim))
    local function chosen(which) return weights_of("weights", q, k, self.scale, self.softcap, mask, which) end
    local function given(t) return single and t and t:squeeze(1) or t end
    if listening then capture.give(self, given(weights or chosen(listening)), not weights) end
    if wish and wish ~= true then weights = chosen(wish) end
    return given(out), given(weights)
end

-- What is one tensor stays one.
local function batches_of_one(query, key, value)
    local q = query:unsqueeze(1)
    local k = key == query and q or key:unsqueeze(1)
    return q, k, value == key and k or value == query and q or value:unsqueeze(1)
end

local function composed(self, query, key, value, mask, wish, listening)
    check_inputs(self, query, key, value)
    local single = query:dim() == 2
    if single then query, key, value = batches_of_one(query, key, value) end
    local q, k, v = projections(self, query, key, value)
    if self.q_norm then q, k = self.q_norm(q), self.k_norm(k) end
    q, k, v = q:transpose(2, 3), k:transpose(2, 3), v:transpose(2, 3)
    if self.rotary then q, k = rotated(self, q, k) end
    return attend(self, q, k, v, mask, wish, listening, single)
end

-- Can C attend to what is kept?
local function runs_cached(self)
    return self.in_proj_weight ~= nil and not self.q_norm and self.out_proj.forward == Linear.forward
        and (not self.rotary or self.rotary.forward == Rotary.forward)
end

-- In C, over kept keys and values of a turn (heed.nn.cache).
local function attend_in_c(self, query, turn, wish)
    local out_proj, rotary, cos, sin = self.out_proj, self.rotary, nil, nil
    if rotary and query:numel() > 0 then cos, sin = caches.rotary_rows(turn, rotary, query.dtype) end
    return core.cached_attention(self.in_proj_weight, self.in_proj_bias, out_proj.weight, out_proj.bias, self.num_heads,
        self.num_kv_heads, self.scale, self.softcap, query, turn.mask, wish, cos, sin, rotary and rotary.interleaved,
        turn.of_memory, turn.k, turn.v, turn.places, turn.before, turn.length)
end

-- In its parts: queries, and all keys and values.
local function with_past(self, query, turn)
    local q, k, v = projections(self, query, query, query)
    if self.q_norm then q, k = self.q_norm(q), self.k_norm(k) end
    q = q:transpose(2, 3)
    if self.rotary then
        local turned = { offset = turn.offset }
        q, k = self.rotary(q, turned), self.rotary(k:transpose(2, 3), turned):transpose(2, 3)
    end
    return q, caches.append(turn, k, v)
end

local function with_memory(self, query, turn)
    local q = project_queries(self, query)
    if self.q_norm then q = self.q_norm(q) end
    return q:transpose(2, 3), caches.held(turn, q.dtype)
end

-- The keys and values of a memory as a turn: made when it is a new one. It is known by what the caller gave.
function MultiHeadAttention:memory_turn(cache, query, key, value)
    if self.rotary then errors.raise("%s: cache: rotary has no positions for queries over a memory", WHERE) end
    -- A memory whose rows were reordered in the cache may come as it was.
    if not caches.knows(cache, self, key, value) then check_inputs(self, query, key, value) end
    return caches.memory(cache, self, key, value, function()
        local k_in, v_in = key, value
        if query:dim() == 2 then k_in, v_in = select(2, batches_of_one(query, key, value)) end
        local k, v = project_memory(self, k_in, v_in)
        return self.k_norm and self.k_norm(k) or k, v
    end)
end

-- With a cache. A key that is the query is of the sequence itself, any other of a memory.
local function cached(self, query, key, value, options, listening)
    local cache = caches.check(WHERE, options.cache)
    check_input("query", query, self.d_model, "d_model")
    local given, single = caches.mask(WHERE .. ": mask", options.mask), query:dim() == 2
    local x = single and query:unsqueeze(1) or query
    local turn
    if key == query and value == query then
        turn = caches.step(cache, self, x, given, "")
    else
        turn = self:memory_turn(cache, query, key, value)
        turn.mask = program.for_sizes(WHERE .. ": mask", given, x:size(1), self.num_heads,
            x:size(2), turn.length, x.dtype)
    end
    local wish, out, weights = options.weights
    if runs_cached(self) and type(wish) ~= "table" and not listening then
        out, weights = attend_in_c(self, x, turn, wish)
        if single then out, weights = out:squeeze(1), weights and weights:squeeze(1) end
    else
        local q, k, v
        if turn.of_memory then q, k, v = with_memory(self, x, turn) else q, k, v = with_past(self, x, turn) end
        out, weights = attend(self, q, k, v, turn.mask, wish, listening, single)
    end
    caches.done(turn)
    return out, weights
end

-- ---- calls ---------------------------------------------------------------------------------------------------------

-- The paper's form, with an output layer that is ours.
local function is_plain(self)
    return self.in_proj_weight ~= nil and self.num_kv_heads == self.num_heads and self.head_dim * self.num_heads == self.d_model
        and not (self.softcap or self.scale or self.rotary or self.q_norm) and self.out_proj.forward == Linear.forward
end

-- Can C run the whole of it?
function MultiHeadAttention:is_stock() return is_plain(self) and self.forward == MultiHeadAttention.forward end

---@param query heed.Tensor [B, L, E] or [L, E]
---@param key? heed.Tensor [B, S, kdim]; default query
---@param value? heed.Tensor [B, S, vdim]; default key
---@param options? { mask?: heed.Mask|heed.Tensor, weights?: boolean|table, cache?: heed.Cache } mask: who may be seen; weights: give them too,
---all or only { rows = {...}, heads = {...} }, at the cost of these; cache: what came before query, which is appended; with a key
---that is another tensor than the query, the keys and values of a memory, made once
---@return heed.Tensor out [B, L, E]
---@return heed.Tensor weights [B, H, L, S] when asked for, before dropout
function MultiHeadAttention:forward(query, key, value, options)
    if type(key) == "table" then key, options = nil, key end
    if type(value) == "table" then value, options = nil, value end
    options = check.options(WHERE, options, CALL)
    local listening, wish = capture.is_open() and capture.wants(self) or nil, options.weights
    local in_part = type(wish) == "table" or listening and (listening.rows or listening.heads)
    local out, weights
    if options.cache then
        key = key or query
        out, weights = cached(self, query, key, value or key, options, listening)
        if wish then return out, weights end
        return out
    end
    local mask = program.argument(WHERE .. ": mask", options.mask, query, key or query, self.num_heads)
    if is_plain(self) and not in_part then
        local out_proj = self.out_proj
        out, weights = core.multi_head_attention(self.in_proj_weight, self.in_proj_bias, out_proj.weight, out_proj.bias,
            self.num_heads, self.dropout, self.training, query, key, value, mask, wish or listening ~= nil)
        if listening then capture.give(self, weights) end
    else
        key = key or query
        out, weights = composed(self, query, key, value or key, mask, wish, listening)
    end
    if wish then return out, weights end
    return out
end

function MultiHeadAttention:extra()
    local parts = { ("%d, %d heads of %d"):format(self.d_model, self.num_heads, self.head_dim) }
    local function add(given, ...)
        if given then parts[#parts + 1] = select("#", ...) > 1 and (...):format(select(2, ...)) or (...) end
    end
    add(self.num_kv_heads ~= self.num_heads, "%d of keys", self.num_kv_heads)
    add(self.kdim ~= self.d_model, "kdim = %d", self.kdim)
    add(self.vdim ~= self.d_model, "vdim = %d", self.vdim)
    add(not self.in_proj_bias, "bias = false")
    add(self.softcap, "softcap = %g", self.softcap)
    add(self.scale, "scale = %g", self.scale)
    return table.concat(parts, ", ")
end

return MultiHeadAttention
