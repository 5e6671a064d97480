--- Examples from files, as batches of tensors.

local index = require "heed.data.index"
local stream = require "heed.data.stream"

return {
    lines = require "heed.data.lines",
    pairs = require "heed.data.pairs",
    line_index = index.lines,
    pair_index = index.pairs,
    line_stream = stream.lines,
    pair_stream = stream.pairs,
    csv = require "heed.data.csv",
    jsonl = require "heed.data.jsonl",
    batches = require "heed.data.batches",
    pad = require "heed.data.pad",
    tokens = require "heed.data.tokens",
}
