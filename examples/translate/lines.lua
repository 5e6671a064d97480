--- The third job: translating the lines of standard input with a saved model.

local heed = require "heed"
local load_model = require "translate.saved"
local score = require "translate.score"

local LINES = 64 -- translated together

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
