--- GPT-2 (Radford et al. 2019).

local activations = require "heed.models.settings.activations"
local check = require "heed.check"
local config = require "heed.models.settings.config"
local generation = require "heed.models.settings.generation"
local nn = require "heed.nn"
local causal = require("heed.mask").causal
local unknown = require "heed.unknown"

---GPT-2: logits of the next token. heed.models.load makes it of files; of a config alone it has
---initial values.
---
---```lua
---local model = heed.models.GPT2 { vocab_size = 20, n_embd = 8, n_layer = 1, n_head = 2,
---    n_positions = 10 }
---print(model(heed.ids { { 3, 5, 4 } }).shape) --> [1, 3, 20]
---```
---@class heed.models.GPT2: heed.nn.Module
---@field tokens heed.nn.Embedding
---@field positions heed.nn.LearnedPositions
---@field dropout heed.nn.Dropout
---@field decoder heed.nn.TransformerEncoder layers, and a norm behind them
---@field output heed.nn.Linear
---@field generation heed.models.Generation
local GPT2 = nn.Module:extend "GPT2"

---@param given table config.json
function GPT2:init(given)
    local c = config.of(self, given)
    local E, V = c.n_embd, c.vocab_size
    for _, name in ipairs { "scale_attn_by_inverse_layer_idx", "add_cross_attention" } do
        if c[name] then unknown.kind("config.json: attention", name) end
    end
    self.tokens = nn.Embedding(V, E)
    self.positions = nn.LearnedPositions(c.n_positions, E)
    self.dropout = nn.Dropout(c.embd_pdrop)
    self.decoder = nn.TransformerEncoder(c.n_layer, E, c.n_head, c.n_inner or 4 * E, {
        norm_first = true, eps = c.layer_norm_epsilon,
        activation = activations.of(c, "activation_function"), dropout = c.resid_pdrop,
        attention_dropout = c.attn_pdrop, hidden_dropout = 0,
        scale = not c.scale_attn_weights and 1 or nil,
    })
    self.output = nn.Linear(E, V, { bias = false })
    if c.tie_word_embeddings then self.output.weight = self.tokens.weight end
    self.generation = generation.of(c)
end

GPT2.takes_cache, GPT2.takes_last = true, true

local OPTIONS = check.set("cache", "last")

---@param ids heed.Ids [B, L]
---@param options? { cache?: heed.Cache, last?: fun(hidden: heed.Tensor): heed.Tensor } last: which
---of the hidden states [B, L, E] get logits; default: all
---@return heed.Tensor logits [B, L, V]
function GPT2:forward(ids, options)
    options = check.options(self.class_name, options, OPTIONS)
    local cache, last = options.cache, options.last
    local x = self.dropout(self.positions(self.tokens(ids), { cache = cache }))
    x = self.decoder(x, { mask = causal(), cache = cache })
    return self.output(last and last(x) or x)
end

GPT2.needs = { "vocab_size", "n_embd", "n_layer", "n_head" }
GPT2.config = { n_positions = 1024, layer_norm_epsilon = 1e-5, activation_function = "gelu_new",
    resid_pdrop = 0.1, embd_pdrop = 0.1, attn_pdrop = 0.1, scale_attn_weights = true,
    tie_word_embeddings = true }

-- Theirs multiply from the left: their matrices are transposed.
GPT2.names = {
    { "tokens.weight", "wte.weight" },
    { "positions.weight", "wpe.weight" },
    { "decoder.layers.#.norm1.*", "h.#.ln_1.*" },
    { "decoder.layers.#.self_attn.in_proj_*", "h.#.attn.c_attn.*", transposed = true },
    { "decoder.layers.#.self_attn.out_proj.*", "h.#.attn.c_proj.*", transposed = true },
    { "decoder.layers.#.norm2.*", "h.#.ln_2.*" },
    { "decoder.layers.#.linear1.*", "h.#.mlp.c_fc.*", transposed = true },
    { "decoder.layers.#.linear2.*", "h.#.mlp.c_proj.*", transposed = true },
    { "decoder.norm.*", "ln_f.*" },
    { "output.weight", "lm_head.weight", outside = true },
}
GPT2.prefixes = { "", "transformer." }
GPT2.passed_over = { "%.attn%.bias$", "%.attn%.masked_bias$", "^lm_head%.weight$" }

return GPT2
