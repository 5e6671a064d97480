--- heed.optim: what moves the parameters.

return {
    AdamW = require "heed.optim.adamw",
    schedule = require "heed.optim.schedule",
    clip_grad_norm = require "heed.optim.clip",
}
