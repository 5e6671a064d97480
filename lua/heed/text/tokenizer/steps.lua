--- The normalizers and pre-tokenizers of tokenizer.json, each as the steps that the core has for
--- it.

local unknown = require "heed.unknown"

local steps = {}

local GPT2 = [['(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+]]

local absent, flag = unknown.absent, unknown.flag

-- The pattern of GPT-2's pre-tokenizer.
steps.gpt2_pattern = GPT2

-- ---- normalizers --------------------------------------------------------------------------------

-- Base64, for the charsmap.
local function decoded(text)
    local alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    local value_of = {}
    for i = 1, #alphabet do value_of[alphabet:byte(i)] = i - 1 end
    local out, bits, count = {}, 0, 0
    for i = 1, #text do
        local value = value_of[text:byte(i)]
        if value then
            bits, count = (bits << 6 | value) & 0xFFFFFF, count + 6
            if count >= 8 then
                count = count - 8
                out[#out + 1] = string.char(bits >> count & 0xFF)
            end
        elseif text:sub(i, i) ~= "=" then
            unknown.refuse "normalizer: Precompiled: expected base64"
        end
    end
    return table.concat(out)
end

local function form(composed, compatible)
    return function() return { kind = "form", composed = composed, compatible = compatible } end
end

-- { String = ... } or { Regex = ... } as a step's field.
local function put_pattern(step, pattern, where, literal)
    unknown.check(pattern, "table", where .. ": pattern")
    step[literal] = unknown.optional(pattern, "String", "string", where)
    if not step[literal] then step.pattern = unknown.field(pattern, "Regex", "string", where) end
    return step
end

local normalizers
normalizers = {
    NFC = form(true, false),
    NFD = form(false, false),
    NFKC = form(true, true),
    NFKD = form(false, true),
    Lowercase = function() return { kind = "lowercase" } end,
    StripAccents = function() return { kind = "strip_accents" } end,
    Nmt = function() return { kind = "nmt" } end,
    BertNormalizer = function(n)
        local lowercase = flag(n.lowercase, true)
        return { kind = "bert", clean = flag(n.clean_text, true),
            spaced_han = flag(n.handle_chinese_chars, true), in_lowercase = lowercase,
            without_accents = flag(n.strip_accents, lowercase) }
    end,
    Strip = function(n)
        return { kind = "strip", left = flag(n.strip_left, true),
            right = flag(n.strip_right, true) }
    end,
    Prepend = function(n)
        return { kind = "prepend", to = unknown.field(n, "prepend", "string", "Prepend") }
    end,
    Replace = function(n)
        local step = { kind = "replace", to = unknown.field(n, "content", "string", "Replace") }
        return put_pattern(step, n.pattern, "Replace", "from")
    end,
    Precompiled = function(n)
        local map = unknown.optional(n, "precompiled_charsmap", "string", "Precompiled")
        if map then return { kind = "charsmap", map = decoded(map) } end
    end,
    Sequence = function(n, add)
        local list = unknown.field(n, "normalizers", "table", "normalizer: Sequence")
        for _, each in ipairs(list) do add(each) end
    end,
}

---@param described table|nil as in the file
---@return table[]
function steps.normalizers(described)
    local list = {}
    local function add(n)
        local make = normalizers[unknown.check(n, "table", "normalizer").type]
        if not make then unknown.kind("normalizer", n.type) end
        local step = make(n, add) -- a sequence adds its own
        if step then list[#list + 1] = step end
    end
    if not absent(described) then add(described) end
    return list
end

-- ---- pre-tokenizers -----------------------------------------------------------------------------

local BEHAVIORS = { Removed = "removed", Isolated = "isolated", Contiguous = "contiguous",
    MergedWithPrevious = "merged_with_previous", MergedWithNext = "merged_with_next" }

local function behavior(name, otherwise)
    if absent(name) then return otherwise end
    return BEHAVIORS[name] or unknown.kind("pre_tokenizer: behavior", name)
end

-- \w as Rust has it.
local WORD = [[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}]]

---The mark of spaces, and how it is put in front.
function steps.metaspace(p)
    local scheme = p.prepend_scheme
    if absent(scheme) then scheme = flag(p.add_prefix_space, true) and "always" or "never" end
    if scheme ~= "always" and scheme ~= "first" and scheme ~= "never" then
        unknown.kind("Metaspace: prepend_scheme", scheme)
    end
    local mark = unknown.optional(p, "replacement", "string", "Metaspace") or "▁"
    return { kind = "metaspace", literal = mark,
        always = scheme == "always", first = scheme == "first", cuts = flag(p.split, true) }
end

local pre_tokenizers = {
    ByteLevel = function(p, _, put, model)
        model.byte_level = true
        if flag(p.add_prefix_space, true) then put { kind = "prefix_space" } end
        if flag(p.use_regex, true) then
            put { kind = "pattern", pattern = GPT2, behavior = "isolated" }
        end
    end,
    Metaspace = function(p, _, put) put(steps.metaspace(p)) end,
    Split = function(p, _, put)
        local step = put_pattern({ kind = "pattern", behavior = behavior(p.behavior),
            inverted = flag(p.invert, false) }, p.pattern, "Split", "literal")
        if step.literal then step.kind = "literal" end
        put(step)
    end,
    Digits = function(p, _, put)
        put { kind = "class", class = "number",
            behavior = flag(p.individual_digits, false) and "isolated" or "contiguous" }
    end,
    Punctuation = function(p, _, put)
        put { kind = "class", class = "punctuation", behavior = behavior(p.behavior, "isolated") }
    end,
    WhitespaceSplit = function(_, _, put)
        put { kind = "class", class = "space", behavior = "removed" }
    end,
    Whitespace = function(_, _, put)
        put { kind = "pattern", pattern = ("[%s]+|[^%s\\s]+"):format(WORD, WORD),
            behavior = "removed", inverted = true }
    end,
    BertPreTokenizer = function(_, _, put)
        put { kind = "class", class = "space", behavior = "removed" }
        put { kind = "class", class = "punctuation", behavior = "isolated" }
    end,
    CharDelimiterSplit = function(p, _, put)
        local literal = unknown.field(p, "delimiter", "string", "CharDelimiterSplit")
        put { kind = "literal", literal = literal, behavior = "removed" }
    end,
    FixedLength = function(p, _, put)
        put { kind = "length", length = unknown.field(p, "length", "integer", "FixedLength") }
    end,
    Sequence = function(p, add)
        local list = unknown.field(p, "pretokenizers", "table", "pre_tokenizer: Sequence")
        for _, each in ipairs(list) do add(each) end
    end,
}

---@param described table|nil as in the file
---@param model table the model's description, which a byte-level step changes
---@return table[]
function steps.splitters(described, model)
    local list = {}
    local function put(step)
        if model.byte_level and step.kind ~= "prefix_space" and step.pattern ~= GPT2 then
            unknown.refuse "pre_tokenizer: a step behind ByteLevel"
        end
        list[#list + 1] = step
    end
    local function add(p)
        local make = pre_tokenizers[unknown.check(p, "table", "pre_tokenizer").type]
        if not make then unknown.kind("pre_tokenizer", p.type) end
        make(p, add, put, model)
    end
    if not absent(described) then add(described) end
    return list
end

steps.GPT2 = GPT2

return steps
