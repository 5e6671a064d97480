--- The third job with --attention: one sentence, and a picture of what the model looks at while it
--- translates it.

local fail = require "translate.fail"
local heed = require "heed"
local load_model = require "translate.saved"

-- Without a cache each step reads the beginning from its first token on, so that the last step has
-- the whole matrices.
local function translate(model, bpe, source)
    local seen <close> = heed.capture(model)
    local tokens, answers = heed.generate(model, { source }, { prefix = bpe.bos, stop = bpe.eos,
        decode = bpe,
        max_new_tokens = 2 * #source + 10, cache = false })
    return seen, tokens[1], answers[1]
end

-- Tokens as they are read, the last one of a whole sentence as its end.
local function pieces(bpe, tokens)
    local texts = {}
    for i, token in ipairs(tokens) do
        texts[i] = token == bpe.eos and "</s>" or bpe:token(token):gsub("^▁", "")
    end
    return texts
end

-- Cross-attention of a layer [H, L, S], or of one of its heads [L, S].
local function chosen(seen, wish, config)
    if wish.layer > config.layers or (wish.head or 1) > config.heads then
        fail("--head: there are %d layers of %d heads", config.layers, config.heads)
    end
    local heads = seen[("decoder.layers.%d.multihead_attn"):format(wish.layer)][1]
    return wish.head and heads[wish.head] or heads
end

local function draw(seen, read, written, config, o)
    if o.head then
        return heed.viz.attention(chosen(seen, o.head, config), { x = read, y = written })
    end
    -- What the decoder reads is one behind what it writes.
    return heed.viz.attention(seen,
        { src = read, tgt = table.move(written, 1, #written - 1, 2, { "<s>" }) })
end

return function(Translator, o)
    if o.threads then heed.set_num_threads(o.threads) end
    local model, bpe, config = load_model(Translator, o.load)
    local line = io.read() or fail "--attention: expected a line on standard input"
    local source = bpe:encode(line, { eos = true })
    local seen, target, answer = translate(model, bpe, source)
    print(answer.text)
    if answer.reason == "stop" then target[#target + 1] = bpe.eos end
    local picture = draw(seen, pieces(bpe, source), pieces(bpe, target), config, o)
    local ok, message
    if o.attention:find "%.svg$" then ok, message = picture:svg(o.attention) else ok,
        message = picture:html(o.attention) end
    if not ok then fail("%s", message) end
end
