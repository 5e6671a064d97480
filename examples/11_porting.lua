-- Lesson 11: porting a model from PyTorch.
--
--     heed examples/11_porting.lua
--
-- Somebody trained a model in PyTorch (porting/tagger.py beside this file) and saved its weights:
--
--     save_file(model.state_dict(), "tagger.safetensors")
--
-- A safetensors file holds only tensors and their names; loading it never runs code. (A pickle, .pt
-- or .pth, may run anything: convert it where it came from.) To use the weights here, build the
-- same parts under the same names, and mind the differences between the two libraries.

local heed = require "heed"
local nn = heed.nn

local here = (arg and arg[0] or ""):match "^(.*/)" or "./"

-- What is in the file? Names and shapes show how the model is built.
local weights = assert(heed.safetensors.load(here .. "porting/tagger.safetensors"))
local names = {}
for name in pairs(weights) do names[#names + 1] = name end
table.sort(names)
print(#names .. " tensors in the file, among them:")
for i = 1, #names, 5 do print(("  %-45s %s"):format(names[i], weights[names[i]].shape)) end

-- The same parts under the same names, in PyTorch and here. There,
--     layer = nn.TransformerEncoderLayer(16, 4, 32, activation="gelu", batch_first=True)
--     self.words      nn.Embedding(20, 16)                        nn.Embedding(20, 16)
--     self.positions  nn.Embedding(10, 16), added for 0, 1 ...    nn.LearnedPositions(10, 16)
--     self.encoder    nn.TransformerEncoder(layer, 2)             nn.TransformerEncoder(2, 16, 4, ..)
--     self.output     nn.Linear(16, 3)                            nn.Linear(16, 3)
-- The defaults are the same in both: dropout 0.1, norms after the parts, eps 1e-5.

local Tagger = nn.Module:extend "Tagger"

function Tagger:init()
    self.words = nn.Embedding(20, 16)
    self.positions = nn.LearnedPositions(10, 16)
    self.encoder = nn.TransformerEncoder(2, 16, 4, 32, { activation = "gelu" })
    self.output = nn.Linear(16, 3)
end

-- PyTorch's padding mask is true where a key is hidden. Here masks say what may be seen, and
-- padding takes lengths.
function Tagger:forward(tokens, lengths)
    local x = self.positions(self.words(tokens))
    return self.output(self.encoder(x, { mask = heed.mask.padding(lengths) }))
end

-- The same names. PyTorch counts lists from 0 (encoder.layers.0 is encoder.layers.1 here): names =
-- "torch" shifts them. All names and shapes must fit; the error lists those that do not.
local model = Tagger()
model:load_state_dict(weights, { names = "torch" })
model:eval() -- dropout off, as there
print("\n" .. tostring(model))

-- Proof: the other file holds a batch and PyTorch's results for it. Tokens count from 0 there and
-- from 1 here.
local theirs = assert(heed.safetensors.load(here .. "porting/tagger_computes.safetensors"))
local logits = model(theirs.tokens + 1, theirs.lengths)
local function furthest(a, b) return (a - b):abs():max():item() end
print(("\nlogits of the first sentence (PyTorch's in the file differ by at most %.1g):"):format(
    furthest(logits[1]:detach(), theirs.logits[1])))
print(logits[1]:detach():round(4))

-- The second sentence has 4 words; the rest is padding, which means nothing in either library.
print(("the 4 words of the second sentence differ by at most %.1g"):format(
    furthest(logits[2]:narrow(1, 1, 4):detach(), theirs.logits[2]:narrow(1, 1, 4))))

-- Training can continue here: the gradients are the same too.
heed.loss.cross_entropy(logits[1], { 1, 2, 3, 1, 2, 3, 1 }):backward()
print(("a gradient deep inside differs by at most %.1g"):format(
    furthest(model.encoder.layers[1].linear1.weight.grad, theirs.gradient)))

-- And back: model:state_dict { names = "torch" } gives PyTorch's names, for heed.safetensors.save.
local path = os.tmpname()
assert(heed.safetensors.save(path, model:state_dict { names = "torch" }))
local again = assert(heed.safetensors.load(path))
os.remove(path)
print("saved again under PyTorch's names: "
    .. tostring(again["encoder.layers.0.norm1.weight"] ~= nil))

-- A parameter that does not fit is named.
local misfit = select(2, pcall(model.load_state_dict, model,
    { ["words.weight"] = heed.zeros(3, 3) }))
print("\na mistake: " .. misfit)
