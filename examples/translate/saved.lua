--- A model and its vocabulary from a file that --save wrote.

local fail = require "translate.fail"
local heed = require "heed"

--- @param Translator table the model's class
--- @param path string
--- @return table model for evaluation
--- @return heed.text.Bpe vocabulary
--- @return table config what the model was made of
return function(Translator, path)
    local config, bpe = {}, heed.text.bpe.new()
    local ok, message = heed.checkpoint.load(path, { config = config, vocabulary = bpe })
    if not ok then fail("%s", message) end
    if config.src_vocab ~= #bpe or config.tgt_vocab ~= #bpe then
        fail("%s: its vocabulary has %d tokens, its model %s", path, #bpe,
            tostring(config.src_vocab))
    end
    local model = Translator(config)
    ok, message = heed.checkpoint.load(path, { model = model })
    if not ok then fail("%s", message) end
    return model:eval(), bpe, config
end
