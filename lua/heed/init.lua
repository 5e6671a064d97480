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
heed.autograd = autograd
heed.capture = require("heed.capture").new
heed.generate = require "heed.generate"
heed.grad = autograd.grad
heed.gradcheck = autograd.gradcheck
heed.info = require "heed.info"
heed.loss = require "heed.loss"
heed.mask = require "heed.mask"
heed.nn = require "heed.nn"
heed.on_interrupt = require("heed.interrupts").on_interrupt
heed.optim = require "heed.optim"
heed.safetensors = require "heed.safetensors"
heed.value_and_grad = autograd.value_and_grad

-- Rooms that are read when they are first asked for, so that a program starts without those that it
-- does not use.
local LATE = {
    audio = "heed.audio", checkpoint = "heed.checkpoint", data = "heed.data", gguf = "heed.gguf",
    image = "heed.image", json = "heed.json", metrics = "heed.metrics", models = "heed.models",
    npy = "heed.npy", npz = "heed.npz", progress = "heed.progress", stft = "heed.audio.stft",
    text = "heed.text", viz = "heed.viz",
}

local late = {}

function late.__index(_, name)
    local path = LATE[name]
    if not path then return nil end
    heed[name] = require(path)
    return rawget(heed, name)
end

-- Whoever looks at all of heed sees them too.
function late.__pairs()
    for name in pairs(LATE) do late.__index(heed, name) end
    return next, heed, nil
end

return setmetatable(heed, late)
