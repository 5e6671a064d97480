--- Greedy translation: at each step the most probable token.

local heed = require "heed"

--- @param model table encode, decode and logits as in translate.lua
--- @param src heed.Tensor i64 [B, S]
--- @param src_lengths heed.Tensor i64 [B]
--- @param special { bos: integer, eos: integer, pad: integer }
--- @param limit integer most tokens of a translation
--- @return heed.Tensor tokens i64 [B, up to limit + 1], bos first; behind its eos a row holds padding
return function(model, src, src_lengths, special, limit)
    local _ <close> = heed.no_grad()
    local padding = heed.mask.padding(src_lengths)
    local memory = model:encode(src, padding)
    local tokens = heed.full({ src:size(1), 1 }, special.bos, { dtype = "i64" })
    local finished = heed.zeros(src:size(1), { dtype = "bool" })
    for _ = 1, limit do
        local scope <close> = heed.scope()
        local hidden = model:decode(tokens, memory, padding)
        local best = model:logits(hidden:select(2, -1)):argmax(-1):masked_fill(finished, special.pad)
        tokens = scope:keep(heed.cat({ tokens, best:unsqueeze(2) }, 2))
        finished = scope:keep(finished | best:eq(special.eos))
        if finished:all() then break end
    end
    return tokens
end
