--- What encoder and decoder layers, and stacks of them, share: one table of options, the parts
--- these make, and the step from one part to the next.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local FeedForward = require "heed.nn.feed_forward"
local module = require "heed.nn.module"
local MultiHeadAttention = require "heed.nn.attention"
local norm = require "heed.nn.norm"

local LayerNorm, RMSNorm = norm.LayerNorm, norm.RMSNorm

local sublayers = {}

---@class heed.nn.LayerOptions
---@field dropout? number of what each part adds, and of the hidden features; default 0.1
---@field hidden_dropout? number of the hidden features of the feed-forward part; default: dropout
---@field attention_dropout? number of the attention weights; default: dropout
---@field activation? heed.Activation of the feed-forward part; default "relu"
---@field norm_first? boolean norms before the parts instead of after the residual connections;
---default false
---@field norm? "layer"|"rms" default "layer"
---@field eps? number of the norms; default 1e-5, of "rms" 1e-6
---@field unit_offset? boolean norms of "rms" multiply by 1 + weight; default false
---@field sandwich_norm? boolean a second norm over what each part gives, before it is added: x +
---post_norm(part(norm(x))) (Ding et al. 2021, "CogView"; Gemma 2); wants norm_first; default false
---@field bias? boolean of all linear maps and layer norms; default true
---@field attention_bias? boolean of attention's linear maps; default: bias
---@field qkv_bias? boolean of those to queries, keys and values; default: attention_bias
---@field num_kv_heads? integer heads of keys and values; default: num_heads
---@field head_dim? integer default d_model / num_heads
---@field rotary? boolean|table|heed.nn.Rotary turns queries and keys of self-attention (not of
---attention over the memory)
---@field qk_norm? boolean|"rms"|"layer" norms queries and keys
---@field softcap? number of the scores
---@field scale? number of the scores; default 1/sqrt(head_dim)

---@class heed.nn.StackOptions: heed.nn.LayerOptions
---@field final_norm? boolean a norm after the last layer; default: norm_first
---@field rotary? boolean|table|heed.nn.Rotary one for all layers, or a list of one for each, which
---may hold the same several times, and false

local OF_ATTENTION = { "qkv_bias", "num_kv_heads", "head_dim", "qk_norm", "eps", "unit_offset",
    "softcap", "scale" }

---The names of heed.nn.LayerOptions.
sublayers.KNOWN = check.set("dropout", "hidden_dropout", "attention_dropout", "activation",
    "norm_first", "norm", "sandwich_norm", "bias", "attention_bias", "rotary",
    table.unpack(OF_ATTENTION))

---@param where string
---@param d_model integer
---@param options heed.nn.LayerOptions
---@return heed.nn.Module
function sublayers.new_norm(where, d_model, options)
    local kind = check.one_of(where, "norm", options.norm or "layer", { "layer", "rms" })
    if kind == "rms" then
        return RMSNorm(d_model, { eps = options.eps, unit_offset = options.unit_offset })
    end
    return LayerNorm(d_model, { eps = options.eps, bias = options.bias })
end

local function new_attention(self, d_model, num_heads, options, rotary)
    local own = { dropout = check.default(options.attention_dropout, self.dropout),
        bias = check.default(options.attention_bias, options.bias), rotary = rotary }
    for _, name in ipairs(OF_ATTENTION) do own[name] = options[name] end
    return MultiHeadAttention(d_model, num_heads, own)
end

local function add_norms(self, where, d_model, options, count)
    local kinds = { "norm" }
    if check.flag(where, "sandwich_norm", options.sandwich_norm, false) then
        if not self.norm_first then
            errors.raise("%s: sandwich_norm: expected norm_first with it", where)
        end
        kinds[2] = "post_norm"
    end
    for _, kind in ipairs(kinds) do
        for i = 1, count do self[kind .. i] = sublayers.new_norm(where, d_model, options) end
    end
end

---Gives a layer its settings and parts, in PyTorch's order: self_attn, multihead_attn when it is
---crossed, linear1, linear2, norms.
---@param self heed.nn.Module
---@param where string
---@param crossed boolean
---@param options? heed.nn.LayerOptions
function sublayers.add_parts(self, where, crossed, d_model, num_heads, d_ff, options)
    options = check.options(where, options, sublayers.KNOWN)
    check.integer(where, "d_model", d_model)
    check.integer(where, "num_heads", num_heads)
    self.dropout = check.number(where, "dropout", check.default(options.dropout, 0.1), 0, 1)
    self.hidden_dropout = options.hidden_dropout
        and check.number(where, "hidden_dropout", options.hidden_dropout, 0, 1)
    self.norm_first = check.flag(where, "norm_first", options.norm_first, false)
    self.self_attn = new_attention(self, d_model, num_heads, options, options.rotary)
    if crossed then self.multihead_attn = new_attention(self, d_model, num_heads, options) end
    FeedForward.add_parts(self, where, d_model, check.default(d_ff, 2048), options)
    add_norms(self, where, d_model, options, crossed and 3 or 2)
end

---x + dropout(post_norm(part(norm(x)))), or norm(x + dropout(part(x))).
---@param self heed.nn.TransformerEncoderLayer|heed.nn.TransformerDecoderLayer
---@param x heed.Tensor
---@param number integer of the part: of its norms
---@param part fun(x: heed.Tensor): heed.Tensor
---@return heed.Tensor
function sublayers.step(self, x, number, part)
    local dropout = self.training and self.dropout or 0
    local norm_of_part, post_norm = self["norm" .. number], self["post_norm" .. number]
    if not self.norm_first then return norm_of_part(core.dropout_add(x, part(x), dropout)) end
    local y = part(norm_of_part(x))
    return core.dropout_add(x, post_norm and post_norm(y) or y, dropout)
end

---Can C run the norms of so many parts?
---@return boolean
function sublayers.has_stock_norms(self, count)
    for i = 1, count do
        local post_norm = self["post_norm" .. i]
        if not norm.is_stock(self["norm" .. i]) or post_norm and not norm.is_stock(post_norm) then
            return false
        end
    end
    return true
end

---Can C run attention as a part of a layer?
---@return boolean
function sublayers.is_stock_attention(attention)
    return attention.is_stock ~= nil and attention:is_stock()
end

---x as a batch, for a cache.
---@return heed.Tensor [B, L, E]
function sublayers.batched(x) return x:dim() == 2 and x:unsqueeze(1) or x end

---Are they [B, L, E] or [L, E], for a cache? memory may be nil.
---@return boolean
function sublayers.are_sequences(self, x, memory)
    local E = self.self_attn.d_model
    local function is_sequence(t)
        if not check.is_live(t) then return false end
        local dims = t:dim()
        return (dims == 3 or dims == 2) and t:size(-1) == E
    end
    return is_sequence(x) and (memory == nil or is_sequence(memory))
end

-- ---- stacks -------------------------------------------------------------------------------------

-- What each layer has as its `rotary`: the same one, or of a list its own. One set of tables for
-- all that share one.
local function rotaries_of(where, rotary, head_dim, layer_count)
    local is_list = type(rotary) == "table" and not module.is_module(rotary) and rotary[1] ~= nil
    if is_list and #rotary ~= layer_count then
        errors.raise("%s: rotary: expected one, or %d in a list, got %d", where, layer_count,
            #rotary)
    end
    local list, made = {}, {}
    for i = 1, layer_count do
        local given = rotary
        if is_list then given = rotary[i] end
        if given then
            made[given] = made[given] or MultiHeadAttention.rotary_of(where, given, head_dim)
        end
        list[i] = made[given or false] or false
    end
    return list
end

---Gives a stack its layers and the norm after the last.
---@param self heed.nn.Module
---@param where string
---@param Layer table the class of its layers
---@param options? heed.nn.StackOptions
function sublayers.add_layers(self, where, Layer, layer_count, d_model, num_heads, d_ff, options)
    if type(d_ff) == "table" then d_ff, options = nil, d_ff end
    check.integer(where, "layer_count", layer_count)
    check.integer(where, "d_model", d_model)
    check.integer(where, "num_heads", num_heads)
    local own = {}
    for name, value in pairs(check.type(where, "options", options or {}, "table")) do
        own[name] = value
    end
    own.final_norm = nil
    local final_norm = check.flag(where, "final_norm", options and options.final_norm,
        own.norm_first or false)
    local rotaries = rotaries_of(where, own.rotary, own.head_dim or d_model // num_heads,
        layer_count)
    self.layers = {}
    for i = 1, layer_count do
        own.rotary = rotaries[i]
        self.layers[i] = Layer(d_model, num_heads, d_ff, own)
    end
    if final_norm then self.norm = sublayers.new_norm(where, d_model, own) end
    self.num_heads = num_heads
end

---Takes the options of stacks out of a table that has others too.
---@param options table
---@return table
function sublayers.pick(options)
    local own = { final_norm = options.final_norm }
    for name in pairs(sublayers.KNOWN) do own[name] = options[name] end
    return own
end

return sublayers
