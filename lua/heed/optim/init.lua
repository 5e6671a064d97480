--- What moves the parameters.

local adam = require "heed.optim.adam"
local gradients = require "heed.optim.gradients"

return {
    Adam = adam.Adam,
    AdamW = adam.AdamW,
    SGD = require "heed.optim.sgd",
    RMSprop = require "heed.optim.rmsprop",
    Lion = require "heed.optim.lion",
    schedule = require "heed.optim.schedule",
    clip_grad_norm = gradients.clip_grad_norm,
    clip_grad_value = gradients.clip_grad_value,
    scale_grads = gradients.scale_grads,
    EMA = require "heed.optim.ema",
    EarlyStopping = require "heed.optim.early_stopping",
}
