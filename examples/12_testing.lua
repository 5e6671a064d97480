-- Lesson 12: testing a model.
--
--     heed examples/12_testing.lua               says what this is
--     busted examples/12_testing_spec.lua        runs the tests, with LUA_PATH and LUA_CPATH as in
--                                                README.md, "Five minutes"
--
-- A wrong model rarely crashes. It learns a little worse, and nobody knows why. So test what must
-- be true whatever was learned: shapes are right; nothing looks into the future; padding changes
-- nothing; gradients reach every parameter; the model can learn ten examples by heart. The tests of
-- the model below are in 12_testing_spec.lua: read it next.
--
-- A file that returns its model can be tested; one that trains as soon as it is loaded cannot.

local heed = require "heed"
local nn = heed.nn

---Guesses the next token at every place.
local Predictor = nn.Module:extend "Predictor"

function Predictor:init(vocabulary, d_model)
    self.tokens = nn.Embedding(vocabulary, d_model)
    self.positions = nn.SinusoidalPositions(64, d_model)
    self.layers = nn.TransformerEncoder(2, d_model, 4, 2 * d_model,
        { dropout = 0.1, norm_first = true })
    self.output = nn.Linear(d_model, vocabulary)
end

-- tokens [B, L], lengths [B] -> logits [B, L, V]
function Predictor:forward(tokens, lengths)
    local mask = heed.mask.causal() & heed.mask.padding(lengths)
    return self.output(self.layers(self.positions(self.tokens(tokens)), { mask = mask }))
end

-- Loaded by require, `...` is the module's name; run as a script it is what stands after the
-- script's name.
if ... ~= "12_testing" then
    print(Predictor(50, 32))
    print "\nIts tests are run by: busted examples/12_testing_spec.lua"
end

return Predictor
