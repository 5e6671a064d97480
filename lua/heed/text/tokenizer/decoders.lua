--- From tokens back to text: the decoders of tokenizer.json. Each takes a list of strings and gives
--- one; what is left in the end is joined.

local core = require "heed.core"
local steps = require "heed.text.tokenizer.steps"
local unknown = require "heed.unknown"
local valid = require "heed.text.tokenizer.valid"

local decoders = {}

local concat = table.concat

-- Plain text for a pattern of gsub, and for its replacement.
local function literally(text) return (text:gsub("%W", "%%%0")) end
local function replacement(text) return (text:gsub("%%", "%%%%")) end

local function each(f)
    return function(tokens)
        local list = {}
        for i, token in ipairs(tokens) do list[i] = f(token, i, #tokens) end
        return list
    end
end

local function bytes_of_all(tokens)
    local list = {}
    for i, token in ipairs(tokens) do list[i] = core.tokenizer_bytes(token) end
    return { valid.text(concat(list)) }
end

-- Runs of "<0x0A>" are the bytes of characters, or U+FFFD each.
local function byte_fallback(tokens)
    local list, run = {}, {}
    local function flush()
        if #run == 0 then return end
        local bytes = concat(run)
        list[#list + 1] = utf8.len(bytes) and bytes or ("\u{FFFD}"):rep(#run)
        run = {}
    end
    for _, token in ipairs(tokens) do
        local byte = #token == 6 and token:match "^<0x(%x%x)>$"
        if byte then
            run[#run + 1] = string.char(tonumber(byte, 16))
        else
            flush()
            list[#list + 1] = token
        end
    end
    flush()
    return list
end

local function stripped(text, mark, first, last)
    local from, to = 1, #text
    for _ = 1, first do
        if text:sub(from, from + #mark - 1) ~= mark then break end
        from = from + #mark
    end
    for _ = 1, last do
        if to - #mark + 1 < from or text:sub(to - #mark + 1, to) ~= mark then break end
        to = to - #mark
    end
    return text:sub(from, to)
end

local CLEANED = { { " .", "." }, { " ?", "?" }, { " !", "!" }, { " ,", "," }, { " ' ", "'" },
    { " n't", "n't" }, { " 'm", "'m" }, { " do not", " don't" }, { " 's", "'s" }, { " 've", "'ve" },
    { " 're", "'re" } }

-- English as it is written, where words stood apart.
local function cleaned(text)
    for _, pair in ipairs(CLEANED) do text = text:gsub(literally(pair[1]), pair[2]) end
    return text
end

local makers
makers = {
    ByteLevel = function() return bytes_of_all end,
    ByteFallback = function() return byte_fallback end,
    Fuse = function() return function(tokens) return { concat(tokens) } end end,
    Metaspace = function(d)
        local step = steps.metaspace(d)
        local mark, prepends = literally(step.literal), step.always or step.first
        return each(function(token, i)
            return (token:gsub(mark, i == 1 and prepends and "" or " "))
        end)
    end,
    WordPiece = function(d)
        local prefix = unknown.optional(d, "prefix", "string", "decoder: WordPiece") or "##"
        local clean = unknown.flag(d.cleanup, true)
        return each(function(token, i)
            if i > 1 then
                token = token:sub(1, #prefix) == prefix and token:sub(#prefix + 1) or " " .. token
            end
            return clean and cleaned(token) or token
        end)
    end,
    BPEDecoder = function(d)
        local suffix = literally(unknown.optional(d, "suffix", "string", "decoder: BPEDecoder")
            or "</w>")
        return each(function(token, i, count)
            return (token:gsub(suffix, i == count and "" or " "))
        end)
    end,
    Strip = function(d)
        local where = "decoder: Strip"
        local content = unknown.field(d, "content", "string", where)
        local first, last = unknown.field(d, "start", "integer", where),
            unknown.field(d, "stop", "integer", where)
        if content == "" then unknown.refuse("%s: content: expected text, got none", where) end
        return each(function(token) return stripped(token, content, first, last) end)
    end,
    Replace = function(d)
        local where = "decoder: Replace"
        local pattern = unknown.field(d, "pattern", "table", where)
        if not pattern.String then unknown.kind(where, "a regular expression") end
        local from = literally(unknown.field(pattern, "String", "string", where))
        local to = replacement(unknown.field(d, "content", "string", where))
        return each(function(token) return (token:gsub(from, to)) end)
    end,
    Sequence = function(d)
        local list = {}
        local inner = unknown.field(d, "decoders", "table", "decoder: Sequence")
        for i, one in ipairs(inner) do list[i] = decoders.read(one) end
        return function(tokens)
            for _, decode in ipairs(list) do tokens = decode(tokens) end
            return tokens
        end
    end,
}

---@param described table|nil as in the file; without one tokens stand apart
---@return fun(tokens: string[]): string[]
function decoders.read(described)
    if unknown.absent(described) then
        return function(tokens) return { concat(tokens, " ") } end
    end
    local make = makers[unknown.check(described, "table", "decoder").type]
    if not make then unknown.kind("decoder", described.type) end
    return make(described)
end

return decoders
