--- The tokenizer inside a GGUF file, as a description of a tokenizer.

local core = require "heed.core"
local decoders = require "heed.text.tokenizer.decoders"
local patterns = require "heed.text.tokenizer.gguf_patterns"
local unknown = require "heed.unknown"

local NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = 1, 2, 3, 4, 5
local SPACE = "▁"
local NAN = 0 / 0

-- "tokenizer.ggml.NAME", of the type that it must have.
local function field(metadata, name, kind)
    return unknown.optional(metadata, "tokenizer.ggml." .. name, kind, "metadata")
end

local function needed(metadata, name, kind)
    return unknown.field(metadata, "tokenizer.ggml." .. name, kind, "metadata")
end

-- Of unused tokens none are found, nor of those that mean something else than their text.
local function scores_of(metadata, tokens, types, dropped)
    local given, scores = needed(metadata, "scores", "table"), {}
    for i = 1, #tokens do scores[i] = dropped[types[i]] and NAN or given[i] or NAN end
    return scores
end

local function added_of(tokens, types)
    local added = {}
    for i, text in ipairs(tokens) do
        local kind = types[i]
        if kind == CONTROL or kind == USER_DEFINED or kind == UNKNOWN then
            added[#added + 1] = { text = text, id = i - 1, special = kind ~= USER_DEFINED }
        end
    end
    return added
end

local MARKS = { kind = "replace", from = " ", to = SPACE }
local FIRST_MARK = { kind = "prepend", to = " " }

-- What undoes marks, and the first space that was put there.
local function decode_marks(first)
    local list = { { type = "Replace", pattern = { String = SPACE }, content = " " },
        { type = "ByteFallback" }, { type = "Fuse" } }
    if first then list[#list + 1] = { type = "Strip", content = " ", start = 1, stop = 0 } end
    return decoders.read { type = "Sequence", decoders = list }
end

local models = {}

-- Byte pairs, with GPT-2's bytes or in plain text.
function models.gpt2(metadata, tokens)
    local name = field(metadata, "pre", "string") or "default"
    local pre = patterns[name]
    if not pre then unknown.kind("tokenizer.ggml.pre", name) end
    local splitters = {}
    for i, pattern in ipairs(pre.patterns) do
        splitters[i] = { kind = "pattern", pattern = pattern, behavior = "isolated" }
    end
    return {
        vocabulary = tokens, splitters = splitters, normalizers = pre.plain and { MARKS } or {},
        model = { kind = "bpe", merges = needed(metadata, "merges", "table"),
            byte_level = not pre.plain, whole_first = pre.whole_first, byte_fallback = pre.plain },
        decode = pre.plain and decode_marks(false) or decoders.read { type = "ByteLevel" },
    }
end

function models.gemma4(metadata, tokens)
    metadata["tokenizer.ggml.pre"] = "gemma4"
    return models.gpt2(metadata, tokens)
end

-- SentencePiece's byte pairs, by scores.
function models.llama(metadata, tokens, types)
    local first = field(metadata, "add_space_prefix", "boolean")
    if first == nil then first = true end
    return {
        vocabulary = tokens, splitters = {}, normalizers = first and { FIRST_MARK, MARKS }
            or { MARKS },
        model = { kind = "bpe", byte_fallback = true, fuse_unknown = true,
            unknown = field(metadata, "unknown_token_id", "integer"),
            scores = scores_of(metadata, tokens, types, { [UNUSED] = true }) },
        decode = decode_marks(first),
    }
end

-- WordPiece, whose files mark the beginnings of words and not what continues them.
function models.bert(metadata, tokens, types)
    local vocabulary = {}
    for i, text in ipairs(tokens) do
        if types[i] ~= NORMAL then
            vocabulary[i] = text
        else
            vocabulary[i] = text:sub(1, #SPACE) == SPACE and text:sub(#SPACE + 1) or "##" .. text
        end
    end
    return {
        vocabulary = vocabulary,
        normalizers = { { kind = "bert", clean = true, spaced_han = true, without_accents = true,
            in_lowercase = true } },
        splitters = { { kind = "class", class = "space", behavior = "removed" },
            { kind = "class", class = "punctuation", behavior = "isolated" } },
        model = { kind = "wordpiece", prefix = "##", most_chars = 1 << 40,
            unknown = field(metadata, "unknown_token_id", "integer") },
        decode = decoders.read { type = "WordPiece", prefix = "##", cleanup = true },
    }
end

-- SentencePiece's Unigram.
function models.t5(metadata, tokens, types)
    local map = {}
    for _, byte in ipairs(field(metadata, "precompiled_charsmap", "table") or {}) do
        if math.type(byte) ~= "integer" then
            unknown.check(byte, "integer", "metadata: tokenizer.ggml.precompiled_charsmap")
        end
        map[#map + 1] = string.char(byte & 0xFF)
    end
    local first = field(metadata, "add_space_prefix", "boolean")
    if first == nil then first = true end
    local kept = {}
    for i, text in ipairs(tokens) do
        if types[i] == USER_DEFINED then kept[#kept + 1] = text end
    end
    local step = { kind = "sentencepiece", map = table.concat(map), kept = kept,
        first_space = first,
        one_space = field(metadata, "remove_extra_whitespaces", "boolean") or false }
    return {
        vocabulary = tokens, splitters = {}, normalizers = { step },
        model = { kind = "unigram", in_floats = true,
            unknown = field(metadata, "unknown_token_id", "integer"),
            scores = scores_of(metadata, tokens, types,
                { [UNUSED] = true, [CONTROL] = true, [UNKNOWN] = true }) },
        decode = decode_marks(first),
    }
end

-- ---- around -------------------------------------------------------------------------------------

local IDS = { bos = "bos_token_id", eos = "eos_token_id", unk = "unknown_token_id",
    pad = "padding_token_id", mask = "mask_token_id", cls = "cls_token_id",
    sep = "seperator_token_id" } -- spelt so

local DEFAULT_BOS = { llama = true, bert = true }

local function around_of(metadata, model, names, ids)
    local pre = field(metadata, "pre", "string")
    local bos = field(metadata, "add_bos_token", "boolean")
    if bos == nil then bos = DEFAULT_BOS[model] or pre and patterns[pre] ~= nil
        and (patterns[pre].whole_first and pre ~= "glm4" and pre ~= "glm5") or false end
    local eos = field(metadata, "add_eos_token", "boolean")
    local sep = model == "bert"
    local single, pair = { "A" }, { "A", "B" }
    if sep and ids.cls and ids.sep then
        return { single = { ids.cls, "A", ids.sep }, pair = { ids.cls, "A", ids.sep, "B",
            ids.sep } }
    end
    if bos and names.bos then
        table.insert(single, 1, ids.bos)
        table.insert(pair, 1, ids.bos)
    end
    if eos and names.eos then
        single[#single + 1] = ids.eos
        pair[#pair + 1] = ids.eos
    end
    return { single = single, pair = pair }
end

local gguf_file = {}

---@param metadata table<string, any>
---@return heed.text.tokenizer.Description
function gguf_file.describe(metadata)
    local model = metadata["tokenizer.ggml.model"]
    if model == nil then unknown.refuse "expected a file with a tokenizer" end
    local read = models[model]
    if not read then unknown.kind("tokenizer.ggml.model", model) end
    local tokens = needed(metadata, "tokens", "table")
    local types = field(metadata, "token_type", "table") or {}
    local description = read(metadata, tokens, types)
    description.added = added_of(tokens, types)
    local names, ids = {}, {}
    for name, key in pairs(IDS) do
        local id = field(metadata, key, "integer")
        names[name] = id and tokens[id + 1]
        ids[name] = id and id + 1
    end
    if model == "bert" then
        names.cls, ids.cls = names.cls or names.bos, ids.cls or ids.bos
        names.sep, ids.sep = names.sep or names.eos, ids.sep or ids.eos
    end
    description.names, description.is_gguf = names, true
    description.around = around_of(metadata, model, names, ids)
    description.template = metadata["tokenizer.chat_template"]
    return description
end

---@param path string
---@return heed.text.tokenizer.Description|nil
---@return string? message
function gguf_file.read(path)
    local metadata, message = core.gguf_open(path)
    if not metadata then return nil, message end
    return unknown.attempt(path, gguf_file.describe, metadata)
end

return gguf_file
