--- Attention weights as a picture: of a tensor, or of all that a model has been seen to attend to.

local capture = require "heed.capture"
local check = require "heed.check"
local matrices = require "heed.viz.matrices"
local model = require "heed.viz.model"

local OF_TENSOR = check.set("x", "y", "title", "caption", "panels", "width", "max")
local OF_MODEL = check.set("x", "y", "src", "tgt", "batch", "title", "caption", "width", "max")

---A picture of attention weights: print it, or write it with `:save "it.svg"`, `"it.html"` or
---`"it.png"`. Cells show their numbers under the pointer, on a page also by Tab and the arrow keys.
---
---```lua
---local x = heed.randn(2, 6, 4) -- two heads over six words
---local _, weights = heed.attention(x, x, x, { weights = true, mask = heed.mask.causal() })
---local words = { "The", "cat", "sat", "on", "the", "mat" }
---print(heed.viz.attention(weights, { x = words, y = words }))
---```
---
---Of a heed.capture it is the whole model on one page: under each module's path its heads side by
---side. src and tgt name the words once for all: those of the encoder and the keys of
---cross-attention are src, all others of a decoder tgt. The terminal shows what fits in 60 lines,
---and names the rest.
---
---```lua
---local model = nn.Transformer { src_vocab = 10, tgt_vocab = 10, d_model = 8, num_heads = 2,
---    num_layers = 1, d_ff = 16 }:eval()
---local seen <close> = heed.capture(model)
---model({ { 3, 4, 5 } }, { { 2, 6 } })
---local picture = heed.viz.attention(seen,
---    { src = { "a", "red", "cat" }, tgt = { "<s>", "eine" } })
---print(picture)
---print(#picture:html() > 1000) -- :html "model.html" writes it
---```
---@param weights heed.Tensor|heed.Capture [L, S], [H, L, S] or [B, H, L, S], from 0 to 1: a panel a
---head; or a whole model's
---@param options? { x?: string[]|string|table, y?: string[]|string|table, src?: string[]|string, tgt?: string[]|string, batch?: integer, title?: string, caption?: string, panels?: string[], width?: integer, max?: number }
---x, y: labels of the keys (columns) and queries (rows), a list, or a string whose characters they
---are (default their numbers); of a capture also a table of such by module paths, and of rows that
---were captured alone y still names all queries; src, tgt: of a capture, the words that its model
---read and wrote; batch: of a capture, which sequence is shown (default 1); title: above all;
---caption: below, in place of what the sides are; panels: of a tensor, the panels' titles (default
---"head 1" ...); width: columns of the terminal for panels side by side (default 80); max: the
---weight that is drawn darkest (default 1)
---@return heed.viz.Attention
local function attention(weights, options)
    local seen = capture.description(weights)
    options = check.options(matrices.WHERE, options, seen and OF_MODEL or OF_TENSOR)
    if seen then return model(weights, seen, options) end
    return matrices.new(weights, options)
end

return attention
