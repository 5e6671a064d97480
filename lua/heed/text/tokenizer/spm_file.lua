--- SentencePiece's models (.model, .spm) as a description of a tokenizer.

local decoders = require "heed.text.tokenizer.decoders"
local protobuf = require "heed.text.tokenizer.protobuf"
local unknown = require "heed.unknown"

-- Kinds of pieces, and of models.
local NORMAL, UNKNOWN, CONTROL, USER_DEFINED = 1, 2, 3, 4
local UNIGRAM, BPE = 1, 2
local SPACE, NAN = "▁", 0 / 0

local function text(value, where) return unknown.check(value, "string", where) end

local function float(value)
    if #text(value, "score") ~= 4 then unknown.refuse("score: expected 4 bytes, got %d", #value) end
    return (string.unpack("<f", value))
end

local function integer(value, where)
    if type(value) ~= "number" then unknown.check(value, "integer", where) end
    return value
end

local function read_piece(bytes)
    local piece = { text = "", score = 0.0, kind = NORMAL }
    for number, value in protobuf.fields(bytes) do
        if number == 1 then piece.text = text(value, "piece") end
        if number == 2 then piece.score = float(value) end
        if number == 3 then piece.kind = integer(value, "piece: type") end
    end
    return piece
end

-- Numbers of fields to their names.
local TRAINER = { [3] = "model_type", [24] = "suffix", [35] = "byte_fallback", [40] = "unk",
    [41] = "bos", [42] = "eos", [43] = "pad" }
local NORMALIZER = { [2] = "map", [3] = "first_space", [4] = "one_space", [5] = "escape" }

local function settings(bytes, names, values)
    for number, value in protobuf.fields(bytes) do
        local name = names[number]
        if name then values[name] = unknown.check(value, type(values[name]), name) end
    end
    return values
end

local function read_model(bytes)
    local model = { pieces = {},
        trainer = { model_type = UNIGRAM, suffix = 0, byte_fallback = 0, unk = 0, bos = 1, eos = 2,
            pad = -1 },
        normalizer = { map = "", first_space = 1, one_space = 1, escape = 1 } }
    for number, value in protobuf.fields(bytes) do
        if number == 1 then
            table.insert(model.pieces, read_piece(text(value, "piece")))
        elseif number == 2 then
            settings(text(value, "trainer_spec"), TRAINER, model.trainer)
        elseif number == 3 then
            settings(text(value, "normalizer_spec"), NORMALIZER, model.normalizer)
        end
    end
    if #model.pieces == 0 then unknown.refuse "expected a SentencePiece model" end
    if model.trainer.suffix == 1 then unknown.kind("trainer_spec", "treat_whitespace_as_suffix") end
    if model.normalizer.escape == 0 then
        unknown.kind("normalizer_spec", "escape_whitespaces = false")
    end
    return model
end

-- What the pieces are to the model: their strings, scores, and those that are looked for first.
local function read_pieces(model)
    local vocabulary, scores, added, kept, unk = {}, {}, {}, {}, nil
    for i, piece in ipairs(model.pieces) do
        vocabulary[i] = piece.text
        scores[i] = (piece.kind == NORMAL or piece.kind == USER_DEFINED) and piece.score or NAN
        if piece.kind == UNKNOWN then unk = i - 1 end
        if piece.kind == USER_DEFINED then
            kept[#kept + 1] = piece.text
            added[#added + 1] = { text = piece.text, id = i - 1, as_it_is = true }
        end
    end
    if not unk then unknown.refuse "pieces: expected one of the type unknown, got none" end
    return vocabulary, scores, added, kept, unk
end

local UNKNOWN_SURFACE = " \u{2047} "

-- Control pieces are silent. Of the spaces that a text begins with, the first was put there by the
-- model; or none is the text's, when it takes them away.
local function decoder(model)
    local one_space = model.normalizer.one_space == 1
    local strips = one_space or model.normalizer.first_space == 1
    local silent, byte = {}, decoders.read { type = "ByteFallback" }
    for _, piece in ipairs(model.pieces) do
        if piece.kind == CONTROL then silent[piece.text] = "" end
        if piece.kind == UNKNOWN then silent[piece.text] = UNKNOWN_SURFACE end
    end
    return function(tokens)
        local list, stripping = {}, strips
        for _, token in ipairs(tokens) do
            local shown = silent[token]
            if not shown then
                if #list == 0 and stripping and token:sub(1, #SPACE) == SPACE then
                    token, stripping = token:sub(#SPACE + 1), one_space
                end
                shown = token:gsub(SPACE, " ")
            end
            if shown ~= "" or #list > 0 then list[#list + 1] = shown end
        end
        return byte(list)
    end
end

local spm_file = {}

---@param bytes string the file
---@return heed.text.tokenizer.Description
function spm_file.read(bytes)
    local model = read_model(bytes)
    local vocabulary, scores, added, kept, unk = read_pieces(model)
    local kind = model.trainer.model_type
    local first = model.normalizer.first_space == 1
    local byte_fallback = model.trainer.byte_fallback == 1
    if kind ~= UNIGRAM and kind ~= BPE then unknown.kind("trainer_spec: model_type", kind) end
    local names = {}
    for _, name in ipairs { "unk", "bos", "eos", "pad" } do
        local piece = model.pieces[(model.trainer[name] & 0xFFFFFFFF) + 1]
        names[name] = piece and piece.text
    end
    return {
        vocabulary = vocabulary, splitters = {}, added = added, names = names,
        model = kind == BPE
            and { kind = "bpe", scores = scores, unknown = unk, byte_fallback = byte_fallback,
                fuse_unknown = true }
            or { kind = "unigram", scores = scores, unknown = unk, byte_fallback = byte_fallback,
                in_floats = true },
        normalizers = { { kind = "sentencepiece", map = text(model.normalizer.map, "charsmap"),
            kept = kept, first_space = first, one_space = model.normalizer.one_space == 1 } },
        decode = decoder(model),
        around = { single = { "A" }, pair = { "A", "B" } },
    }
end

return spm_file
