local check = require "heed.check"
local core = require "heed.core"
local program = require "heed.mask.program"
local weights_of = require "heed.weights"

local KNOWN = check.set("mask", "scale", "softcap", "dropout", "weights")

---softmax(scale · Q K^T + bias) V (Vaswani et al. 2017, "Attention is all you need", section
---3.2.1). docs/attention.md has the rules.
---
---A query that may see nothing gives zeros, with gradient 0, and what is hidden never leaks, be it
---NaN. Shapes of three or two dimensions are one head. Nothing of size L·S is kept for backward.
---All are f32 or f64; k and v may also be f16 or bf16 beside q of f32, which halves what is read,
---or all three, and then so are the results. Those are computed in f32.
---
---```lua
---local q, k, v = heed.randn(1, 2, 3, 8), heed.randn(1, 2, 5, 8), heed.randn(1, 2, 5, 8)
---local out, weights = heed.attention(q, k, v, { mask = heed.mask.causal(), weights = true })
---print(out.shape, weights.shape) --> [1, 2, 3, 8] [1, 2, 3, 5]
---print(weights[{ 1, 1 }]:gt(0)) -- the last query sees all five keys
---```
---@param q heed.Tensor [B, H, L, D], [B, L, D] or [L, D]
---@param k heed.Tensor [B, Hk, S, D], H a multiple of Hk: query head h uses key head ceil(h · Hk /
---H)
---@param v heed.Tensor [B, Hk, S, Dv], of k's dtype
---@param options? { mask?: heed.Mask|heed.Tensor, scale?: number, softcap?: number, dropout?: number, weights?: boolean|table }
---mask: a heed.mask or a tensor (booleans and integers: nonzero may be seen; floats are added);
---scale: default 1/sqrt(D); softcap: a scaled score s becomes c·tanh(s/c); dropout: of the weights,
---acts whenever given; weights: true, or { rows = {...}, heads = {...} }: only these queries and
---heads, at their cost alone
---@return heed.Tensor out [B, H, L, Dv], of q's dtype
---@return heed.Tensor weights [B, H, L, S], when asked for, before dropout
local function attention(q, k, v, options)
    if options == nil then return (core.attention(q, k, v)) end
    check.options("heed.attention", options, KNOWN)
    local mask = program.argument("heed.attention: mask", options.mask, q, k)
    local wish, scale, softcap, dropout = options.weights, options.scale, options.softcap,
        options.dropout
    if type(wish) ~= "table" then
        return core.attention(q, k, v, scale, softcap, dropout, mask, wish)
    end
    local out = core.attention(q, k, v, scale, softcap, dropout, mask)
    return out, weights_of("heed.attention: weights", q, k, scale, softcap, mask, wish)
end

return attention
