--- Tensors, attention and Transformers.

-- Everything public, a line an export.

local core = require "heed.core"
local check = require "heed.check"

check.is_tensor = core.is_tensor
core.locate_errors(require("heed.errors").locate_core, require("heed.suggest").core)

---@class heed: heed.Functions, heed.Methods
local heed = {}
for name, value in pairs(core) do -- what is internal is for the modules of heed
    if not core.internal[name] then heed[name] = value end
end

-- Functions and methods that are made of those.
local composed = require "heed.composed"
for name, value in pairs(composed.both) do
    heed[name], core.methods[name] = value, value
end

local autograd = require "heed.autograd"

heed.attention = require "heed.attention"
heed.audio = require "heed.audio"
heed.autograd = autograd
heed.capture = require("heed.capture").new
heed.checkpoint = require "heed.checkpoint"
heed.data = require "heed.data"
heed.generate = require "heed.generate"
heed.gguf = require "heed.gguf"
heed.grad = autograd.grad
heed.gradcheck = autograd.gradcheck
heed.image = require "heed.image"
heed.info = require "heed.info"
heed.json = require "heed.json"
heed.loss = require "heed.loss"
heed.mask = require "heed.mask"
heed.metrics = require "heed.metrics"
heed.models = require "heed.models"
heed.nn = require "heed.nn"
heed.npy = require "heed.npy"
heed.npz = require "heed.npz"
heed.on_interrupt = require("heed.interrupts").on_interrupt
heed.optim = require "heed.optim"
heed.progress = require "heed.progress"
heed.safetensors = require "heed.safetensors"
heed.stft = require "heed.audio.stft"
heed.text = require "heed.text"
heed.value_and_grad = autograd.value_and_grad
heed.viz = require "heed.viz"

return heed
