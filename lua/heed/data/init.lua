--- heed.data: examples from files, as batches of tensors.

return {
    pairs = require "heed.data.pairs",
    lines = require "heed.data.lines",
    batches = require "heed.data.batches",
    pad = require "heed.data.pad",
}
