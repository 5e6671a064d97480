--- The third job: translating the lines of standard input with a saved model.

local fail = require "translate.fail"
local heed = require "heed"
local score = require "translate.score"

local LINES = 64 -- translated together

local function load_model(Translator, path)
    local config, bpe = {}, heed.text.bpe.new()
    local ok, message = heed.checkpoint.load(path, { config = config, vocabulary = bpe })
    if not ok then fail("%s", message) end
    if config.src_vocab ~= #bpe or config.tgt_vocab ~= #bpe then
        fail("%s: its vocabulary has %d tokens, its model %s", path, #bpe, tostring(config.src_vocab))
    end
    local model = Translator(config)
    ok, message = heed.checkpoint.load(path, { model = model })
    if not ok then fail("%s", message) end
    return model:eval(), bpe
end

return function(Translator, o)
    if o.threads then heed.set_num_threads(o.threads) end
    local model, bpe = load_model(Translator, o.load)
    local waiting = {}
    local function flush()
        for _, text in ipairs(score.translate(model, bpe, waiting, o.beams)) do print(text) end
        io.stdout:flush()
        waiting = {}
    end
    for line in io.lines() do
        waiting[#waiting + 1] = { line }
        if #waiting == LINES then flush() end
    end
    if #waiting > 0 then flush() end
end
