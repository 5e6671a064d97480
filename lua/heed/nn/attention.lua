local caches = require "heed.nn.cache"
local capture = require "heed.capture"
local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local initial = require "heed.nn.initial"
local Linear = require "heed.nn.linear"
local module = require "heed.nn.module"
local norm = require "heed.nn.norm"
local program = require "heed.mask.program"
local Rotary = require "heed.nn.rotary"
local weights_of = require "heed.weights"

local WHERE = "heed.nn.MultiHeadAttention"
local CALL = check.set("mask", "weights", "cache")
local KNOWN = check.set("dropout", "bias", "qkv_bias", "num_kv_heads", "head_dim", "rotary",
    "qk_norm", "eps", "unit_offset", "softcap", "scale", "kdim", "vdim")

---Several attentions side by side, each in a part of the features (Vaswani et al. 2017, section
---3.2.2). MultiHead(Q, K, V) = Concat(head_1, ..., head_H) W^O, head_h = Attention(Q W_h^Q, K
---W_h^K, V W_h^V).
---
---Parameters are named as PyTorch's: the rows of W^Q, W^K and W^V in one in_proj_weight while
---query, key and value have one width, in q_proj_weight, k_proj_weight and v_proj_weight of their
---own when kdim or vdim is another than d_model; one in_proj_bias either way. It runs in C as a
---whole. When its output layer, a norm or its rotary was replaced by a module of one's own, and for
---the weights of some rows or heads alone, it is composed of its parts.
---
---```lua
---local mha = nn.MultiHeadAttention(8, 2)
---local x = heed.randn(1, 3, 8)
---local out, weights = mha(x, { mask = heed.mask.causal(), weights = true })
---print(out.shape, weights.shape, mha.in_proj_weight.shape) --> [1, 3, 8] [1, 2, 3, 3] [24, 8]
---print(nn.MultiHeadAttention(8, 4, { num_kv_heads = 2, rotary = true, qk_norm = true,
---    bias = false })(x).shape)
---```
---@class heed.nn.MultiHeadAttention: heed.nn.Module
---@field in_proj_weight heed.Tensor|nil [(H + 2 Hk) D, E], usually [3E, E]: the rows of W^Q, W^K
---and W^V
---@field q_proj_weight heed.Tensor|nil [H D, E]
---@field k_proj_weight heed.Tensor|nil [Hk D, kdim]
---@field v_proj_weight heed.Tensor|nil [Hk D, vdim]
---@field in_proj_bias heed.Tensor|nil [(H + 2 Hk) D]
---@field out_proj heed.nn.Linear W^O, [E, H D]
---@field q_norm heed.nn.Module|nil over the D features of each head's queries
---@field k_norm heed.nn.Module|nil
---@field rotary heed.nn.Rotary|nil
local MultiHeadAttention = module.Module:extend "MultiHeadAttention"

MultiHeadAttention.takes_quantized = true -- of its matrices

MultiHeadAttention.gives_attention = true
MultiHeadAttention.keeps_cache = true

-- What stands under a `rotary` option, as a module: true is Rotary(head_dim), a table its options.
function MultiHeadAttention.rotary_of(where, rotary, head_dim)
    if not rotary or module.is_module(rotary) then return rotary or nil end
    if rotary ~= true then check.type(where, "rotary", rotary, "table") end
    return Rotary(head_dim, rotary ~= true and rotary or nil)
end

local function norm_of(options, head_dim)
    if not options.qk_norm then return nil end
    local kind = options.qk_norm == true and "rms" or options.qk_norm
    if check.one_of(WHERE, "qk_norm", kind, { "rms", "layer" }) == "layer" then
        return norm.LayerNorm(head_dim, { eps = options.eps })
    end
    return norm.RMSNorm(head_dim, { eps = options.eps, unit_offset = options.unit_offset })
end

local function add_weights(self, kdim, vdim)
    local E, q_rows, k_rows = self.d_model, self.num_heads * self.head_dim,
        self.num_kv_heads * self.head_dim
    local function drawn(rows, columns)
        return module.parameter(initial.xavier_uniform_(core.empty(rows, columns)))
    end
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
---@param options? { dropout?: number, bias?: boolean, qkv_bias?: boolean, num_kv_heads?: integer, head_dim?: integer, rotary?: boolean|table|heed.nn.Rotary, qk_norm?: boolean|"rms"|"layer", eps?: number, unit_offset?: boolean, softcap?: number, scale?: number, kdim?: integer, vdim?: integer }
---dropout: of the weights, in training; bias: of all projections, default true; qkv_bias: of those
---to queries, keys and values, default bias; num_kv_heads: heads of keys and values, a divisor of
---num_heads, each used by a group (Ainslie et al. 2023, "GQA"); head_dim: D, default E / H; rotary:
---rotates queries and keys, true or the options of nn.Rotary or one that layers share, queries
---standing at the last of the keys' positions; qk_norm: norms queries and keys over each head's
---features before that, true is "rms" (Henry et al. 2020), with eps and unit_offset as of
---nn.RMSNorm; softcap: c, a scaled score s becomes c·tanh(s/c); scale: of the scores, default
---1/sqrt(D); kdim: features of key, default E; vdim: features of value, default E.
function MultiHeadAttention:init(d_model, num_heads, options)
    check.integer(WHERE, "d_model", d_model)
    check.integer(WHERE, "num_heads", num_heads)
    options = check.options(WHERE, options, KNOWN)
    local kv_heads = check.integer(WHERE, "num_kv_heads", options.num_kv_heads or num_heads)
    if not options.head_dim and d_model % num_heads ~= 0 then
        errors.raise("%s: d_model: expected a multiple of num_heads (%d), got %d", WHERE, num_heads,
            d_model)
    end
    if num_heads % kv_heads ~= 0 then
        errors.raise("%s: num_kv_heads: expected a divisor of num_heads (%d), got %d", WHERE,
            num_heads, kv_heads)
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
    local bias = check.flag(WHERE, "bias", options.bias, true)
    if check.flag(WHERE, "qkv_bias", options.qkv_bias, bias) then
        self.in_proj_bias = module.parameter(core.zeros(rows))
    end
    self.out_proj = Linear(num_heads * self.head_dim, d_model, { bias = bias })
    if self.out_proj.bias then initial.zeros_(self.out_proj.bias) end
    self.q_norm, self.k_norm = norm_of(options, self.head_dim), norm_of(options, self.head_dim)
    self.rotary = MultiHeadAttention.rotary_of(WHERE, options.rotary, self.head_dim)
end

-- ---- with a cache ----------------------------------------------------------------------------

-- Keys and values [B, S, Hk, D] of a memory, as they are kept.
local function memory_heads(self, key, value)
    local _, k, v = core.project_heads(self, nil, key, value)
    return self.k_norm and self.k_norm(k) or k, v
end

-- The keys and values of a memory as a step: made when it is a new one. It is known by what the
-- caller gave.
function MultiHeadAttention:memory_step(cache, query, key, value)
    if self.rotary then
        errors.raise("%s: cache: rotary has no positions for queries over a memory", WHERE)
    end
    -- A memory whose rows were reordered in the cache may come as it was.
    if not caches.knows(cache, self, key, value) then core.check_heads(self, query, key, value) end
    return caches.memory(cache, self, key, value, function()
        return memory_heads(self, key, value)
    end)
end

-- What the call is of its cache, with the mask of its queries. A key that is the query is of the
-- sequence itself, any other of a memory.
local function step_of(self, query, key, value, options)
    local cache, mask = caches.check(WHERE, options.cache), WHERE .. ": mask"
    core.check_heads(self, query)
    local given = caches.mask(mask, options.mask)
    local x = query:dim() == 2 and query:unsqueeze(1) or query
    if key == query and value == query then return caches.step(cache, self, x, given, "") end
    local step = self:memory_step(cache, query, key, value)
    step.mask = program.for_sizes(mask, given, x:size(1), self.num_heads, x:size(2), step.length,
        x.dtype)
    return step
end

-- ---- in C ------------------------------------------------------------------------------------

-- Are its norms, its positions and its output layer ours?
local function runs_in_c(self)
    local q_norm, rotary = self.q_norm, self.rotary
    return self.out_proj.forward == Linear.forward
        and (not q_norm or norm.is_stock(q_norm) and norm.is_stock(self.k_norm))
        and (not rotary or rotary.forward == Rotary.forward and rotary.head_dim == self.head_dim)
end

-- Can C run the whole of it?
function MultiHeadAttention:is_stock()
    return self.forward == MultiHeadAttention.forward and runs_in_c(self)
end

local ROTATES = check.set("f32", "f64")

-- For a call in C: cosines and sines of the step's tokens, or without one of the positions from 1
-- on, as many as queries or keys or more. Of what is no sequence there are none: C says why.
function MultiHeadAttention:rotary_tables(query, key, step)
    local rotary = self.rotary
    if not rotary or not check.is_live(query) or not check.is_live(key) then return nil, nil end
    local dtype = query.dtype
    if query:dim() < 2 or query:numel() == 0 or not ROTATES[dtype] then return nil, nil end
    if step then return caches.rotary_rows(step, rotary, dtype) end
    local L, S = query:size(-2), key:dim() > 1 and key:size(-2) or 0
    return rotary:rows_up_to(S > L and S or L, dtype)
end

-- ---- in its parts: for those of the user's own, and for some of the weights -------------------

-- Query i of L stands at key position S - L + i, as for masks: only the distance matters.
local function rotated(self, q, k, step)
    if step then
        local offset = { offset = step.offset }
        return self.rotary(q, offset), self.rotary(k, offset)
    end
    local ahead = k:size(3) - q:size(3)
    return self.rotary(q, { offset = math.max(ahead, 0) }),
        self.rotary(k, { offset = math.max(-ahead, 0) })
end

-- Queries [B, H, L, D], and all the keys and values [B, Hk, S, D] that they attend to.
local function heads_of(self, query, key, value, step)
    local of_memory = step and step.of_memory
    if of_memory then key, value = nil, nil end
    local q, k, v = core.project_heads(self, query, key, value)
    if self.q_norm then q, k = self.q_norm(q), k and self.k_norm(k) end
    q = q:transpose(2, 3)
    if of_memory then return q, caches.held(step, q.dtype) end
    k = k:transpose(2, 3)
    if self.rotary then q, k = rotated(self, q, k, step) end
    if step then return q, caches.append(step, k:transpose(2, 3), v) end
    return q, k, v:transpose(2, 3)
end

-- wish: which weights to give, false, true or { rows =, heads = }; listening: which to capture,
-- such a table or nil.
local function composed(self, query, key, value, step, mask, wish, listening)
    local q, k, v = heads_of(self, query, key, value, step)
    local dropout, scale, softcap = self.training and self.dropout or 0, self.scale, self.softcap
    local all = wish == true or listening ~= nil and not (listening.rows or listening.heads)
    local heads, weights = core.attention(q, k, v, scale, softcap, dropout, mask, all)
    local out = self.out_proj(heads:transpose(2, 3):flatten(3, 4))
    local function chosen(which)
        return weights_of("weights", q, k, scale, softcap, mask, which)
    end
    local function given(t) return query:dim() == 2 and t and t:squeeze(1) or t end
    if listening then capture.give(self, given(weights or chosen(listening)), not weights) end
    if wish and wish ~= true then weights = chosen(wish) end
    return given(out), given(weights)
end

-- ---- calls -----------------------------------------------------------------------------------

---@param query heed.Tensor [B, L, E] or [L, E]
---@param key? heed.Tensor [B, S, kdim]; default query
---@param value? heed.Tensor [B, S, vdim]; default key
---@param options? { mask?: heed.Mask|heed.Tensor, weights?: boolean|table, cache?: heed.Cache }
---mask: who may be seen; weights: give them too, all or only { rows = {...}, heads = {...} }, at
---the cost of these; cache: what came before query, which is appended; with a key that is another
---tensor than the query, the keys and values of a memory, made once
---@return heed.Tensor out [B, L, E]
---@return heed.Tensor weights [B, H, L, S] when asked for, before dropout
function MultiHeadAttention:forward(query, key, value, options)
    if type(key) == "table" then key, options = nil, key end
    if type(value) == "table" then value, options = nil, value end
    options = check.options(WHERE, options, CALL)
    key = key or query
    value = value or key
    local listening, wish = capture.is_open() and capture.wants(self) or nil, options.weights
    local step, mask, out, weights
    if options.cache then
        step = step_of(self, query, key, value, options)
        mask = step.mask
    else
        mask = program.argument(WHERE .. ": mask", options.mask, query, key, self.num_heads)
    end
    local some = type(wish) == "table" or listening and (listening.rows or listening.heads)
    if some or not runs_in_c(self) then
        out, weights = composed(self, query, key, value, step, mask, wish, listening)
    else
        local cos, sin = self:rotary_tables(query, key, step)
        out, weights = core.multi_head_attention(self, query, key, value, mask,
            wish or listening ~= nil, cos, sin, step)
        if listening then capture.give(self, weights) end
    end
    if step then caches.done(step) end
    if wish then return out, weights end
    return out
end

function MultiHeadAttention:extra()
    local parts = { ("%d, %d heads of %d"):format(self.d_model, self.num_heads, self.head_dim) }
    local function add(given, ...)
        if given then
            parts[#parts + 1] = select("#", ...) > 1 and (...):format(select(2, ...)) or (...)
        end
    end
    add(self.num_kv_heads ~= self.num_heads, "%d of keys", self.num_kv_heads)
    add(self.kdim ~= self.d_model, "kdim = %d", self.kdim)
    add(self.vdim ~= self.d_model, "vdim = %d", self.vdim)
    add(not self.out_proj.bias, "bias = false")
    add(self.in_proj_bias and not self.out_proj.bias, "qkv_bias = true")
    add(self.out_proj.bias and not self.in_proj_bias, "qkv_bias = false")
    add(self.softcap, "softcap = %g", self.softcap)
    add(self.scale, "scale = %g", self.scale)
    return table.concat(parts, ", ")
end

return MultiHeadAttention
