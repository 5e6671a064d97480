-- Lesson 5: multi-head attention.
--
--     heed examples/05_multi_head.lua
--
-- Lesson 3 made queries, keys and values by hand. A layer learns them: it multiplies the words'
-- vectors by three matrices, W^Q, W^K and W^V. Then it cuts the features into heads, attends in
-- each of them, puts the results side by side again, and mixes them with a fourth matrix, W^O. Four
-- heads over 8 features cost as much as one head, and can look at four things.

local heed = require "heed"
local nn = heed.nn

heed.manual_seed(5)
local B, L, E, H = 2, 6, 8, 4 -- sentences, words, features, heads
local D = E // H              -- features of a head
local x = heed.randn(B, L, E)

-- A module is a table with `init`, which makes its parameters, and `forward`, which computes.
-- Parameters and modules that are assigned to self are found, named, trained and saved.
local MultiHead = nn.Module:extend "MultiHead"

function MultiHead:init()
    self.W_q = nn.Linear(E, E)
    self.W_k = nn.Linear(E, E)
    self.W_v = nn.Linear(E, E)
    self.W_o = nn.Linear(E, E)
end

-- [B, L, E] -> [B, H, L, D]: the features are cut into heads, and the heads come before the words.
-- Both are views and copy nothing.
local function cut(t) return t:view(t:size(1), t:size(2), H, D):transpose(2, 3) end

function MultiHead:forward(query, key, value, mask)
    local q, k, v = cut(self.W_q(query)), cut(self.W_k(key)), cut(self.W_v(value))
    -- all heads of all sentences at once
    local heads, weights = heed.attention(q, k, v, { mask = mask, weights = true })
    return self.W_o(heads:transpose(2, 3):reshape(query:size(1), query:size(2), E)), weights
end

local ours = MultiHead()
print(ours)
local out, weights = ours(x, x, x)
print("\nfrom " .. x.shape .. " to " .. out.shape .. ", with weights " .. weights.shape
    .. ": batch, head, query, key")

-- The library's layer is the same. It stacks W^Q, W^K and W^V in one matrix, because one large
-- product is faster than three small ones. With our weights it gives our numbers.
local stock = nn.MultiHeadAttention(E, H)
stock:load_state_dict {
    in_proj_weight = heed.cat({ ours.W_q.weight, ours.W_k.weight, ours.W_v.weight }, 1),
    in_proj_bias = heed.cat({ ours.W_q.bias, ours.W_k.bias, ours.W_v.bias }, 1),
    ["out_proj.weight"] = ours.W_o.weight, ["out_proj.bias"] = ours.W_o.bias,
}
local theirs, their_weights = stock(x, x, x, { weights = true })
print("nn.MultiHeadAttention gives the same: "
    .. tostring(theirs:allclose(out, { atol = 1e-5 }) and their_weights:allclose(weights,
        { atol = 1e-5 })))
for name, parameter in stock:named_parameters() do
    print(("  %-16s %s"):format(name, parameter.shape))
end

-- Three ways to use it. Self-attention: queries, keys and values all come from one sentence.
stock(x)
-- Masked self-attention: each word sees itself and those before it.
local _, causal = stock(x, x, x, { mask = heed.mask.causal(), weights = true })
print("\nself-attention with a causal mask, the heads of the first sentence (not trained: they "
    .. "look everywhere):\n")
print(heed.viz.attention(causal[1], { x = "ABCDEF", y = "ABCDEF" }))
-- Cross-attention: queries from one sentence, keys and values from another, of another length. This
-- is how a translation looks at its source.
local source = heed.randn(B, 9, E)
local _, cross = stock(x, source, source, { weights = true })
print("\ncross-attention from 6 words to 9: weights " .. cross.shape)

-- Gradients flow through it to everything that took part, and into every head.
out:pow(2):mean():backward()
print("\nthe gradient of W^Q has the shape of W^Q: " .. ours.W_q.weight.grad.shape)

-- If shapes do not fit, the layer's message says so.
print("\na mistake: " .. select(2, pcall(stock, x, heed.randn(2, 6, 9))))
print("and another: " .. select(2, pcall(nn.MultiHeadAttention, 10, 4)))
