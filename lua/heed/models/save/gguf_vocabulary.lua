--- A tokenizer as the metadata of a GGUF file.

local gguf = require "heed.gguf"
local patterns = require "heed.text.tokenizer.gguf_patterns"
local steps = require "heed.text.tokenizer.steps"
local tokenizer_files = require "heed.text.tokenizer.files"
local unknown = require "heed.unknown"

local NORMAL, CONTROL, USER_DEFINED, UNUSED = 1, 3, 4, 5
local SPACE = "▁"

local function refuse(what)
    unknown.refuse("tokenizer: %s cannot be written to a GGUF file; one that came from a GGUF "
        .. "file can, and a model without one", what)
end

-- ---- tokens -------------------------------------------------------------------------------------

-- All tokens in the order of their ids, and what each is; ids without one are unused.
local function list_tokens(description)
    local tokens, types, last = {}, {}, 0
    local function put(id, text, kind)
        tokens[id + 1], types[id + 1], last = text, kind, math.max(last, id + 1)
    end
    for key, value in pairs(description.vocabulary) do
        if math.type(key) then put(key - 1, value, NORMAL) else put(value, key, NORMAL) end
    end
    for _, token in ipairs(description.added) do
        put(token.id, token.text, token.special and CONTROL or USER_DEFINED)
    end
    for i = 1, last do
        if not tokens[i] then tokens[i], types[i] = ("[unused %d]"):format(i - 1), UNUSED end
    end
    return tokens, types
end

-- ---- byte pairs ---------------------------------------------------------------------------------

local function splitter_patterns(description)
    local list = {}
    for i, step in ipairs(description.splitters) do
        if step.kind == "class" and step.class == "number" and step.behavior == "isolated" then
            list[i] = [[\p{N}]]
        elseif step.kind == "pattern" and step.behavior == "isolated" and not step.inverted then
            list[i] = step.pattern
        else
            refuse("pre_tokenizer: " .. step.kind)
        end
    end
    return list
end

-- What is written in several ways.
local function plain(pattern)
    pattern = pattern:gsub("%(%?i:'s|'t|'re|'ve|'m|'ll|'d%)",
        "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])")
    return pattern == steps.gpt2_pattern and patterns["gpt-2"].patterns[1] or pattern
end

local FIRST_CHOICE = { "gpt-2", "smollm", "llama-bpe", "qwen2" }

-- The name that llama.cpp has for the patterns by which text is cut.
local function pre_of(description)
    local list, known = splitter_patterns(description), {}
    for i, pattern in ipairs(list) do list[i] = plain(pattern) end
    local wanted = table.concat(list, "\0")
    for name, pre in pairs(patterns) do
        if not pre.plain and pre.whole_first == description.model.whole_first
            and table.concat(pre.patterns, "\0") == wanted then
            known[#known + 1], known[name] = name, true
        end
    end
    for _, name in ipairs(FIRST_CHOICE) do
        if known[name] then return name end
    end
    table.sort(known)
    return known[1] or refuse "its way to cut text"
end

local function merges_of(model)
    local merges = {}
    for i, merge in ipairs(model.merges) do
        merges[i] = type(merge) == "table" and merge[1] .. " " .. merge[2] or merge
    end
    return merges
end

local models = {}

function models.bpe(description, tokens)
    if not description.model.byte_level then refuse "byte pairs that are not of bytes" end
    if #description.normalizers > 0 then
        refuse("normalizer: " .. description.normalizers[1].kind)
    end
    return { model = "gpt2", pre = pre_of(description), tokens = tokens,
        merges = merges_of(description.model) }
end

-- Files mark the beginnings of words, and not what continues them.
function models.wordpiece(description, tokens, types)
    local model, step = description.model, description.normalizers[1]
    if model.whole or model.prefix ~= "##" then refuse "this kind of WordPiece" end
    if #description.normalizers ~= 1 or step.kind ~= "bert" or not step.in_lowercase
        or not step.without_accents then
        refuse "a normalizer that keeps cases or accents"
    end
    local marked = {}
    for i, text in ipairs(tokens) do
        marked[i] = types[i] ~= NORMAL and text or text:sub(1, 2) == "##" and text:sub(3)
            or SPACE .. text
    end
    return { model = "bert", tokens = marked }
end

-- ---- special tokens -----------------------------------------------------------------------------

local IDS = { bos = "bos_token_id", eos = "eos_token_id", unk = "unknown_token_id",
    pad = "padding_token_id", mask = "mask_token_id", cls = "cls_token_id",
    sep = "seperator_token_id" } -- spelt so

local function add_specials(fields, tokenizer)
    for name, key in pairs(IDS) do
        if tokenizer[name] then fields[key] = tokenizer[name] - 1 end
    end
    local single = tokenizer.around.single
    if fields.model == "bert" then
        fields.bos_token_id, fields.eos_token_id = fields.cls_token_id, fields.seperator_token_id
        fields.token_type_count = 2
    else
        fields.add_bos_token = single[1] ~= "A" and single[1] == tokenizer.bos
        fields.add_eos_token = single[#single] ~= "A" and single[#single] == tokenizer.eos
    end
end

-- ---- all of it ----------------------------------------------------------------------------------

-- As the GGUF file that it came from has it.
local function of_gguf(path, metadata, kinds)
    local file, message = gguf.open(path)
    if not file then unknown.refuse("%s", message) end
    for name, value in pairs(file.metadata) do
        if name:find "^tokenizer%." then
            metadata[name], kinds[name] = value, file.kinds[name]
        end
    end
end

local function of_files(tokenizer, metadata)
    local description, message = tokenizer_files.read(tokenizer.path)
    if not description then unknown.refuse("%s", message) end
    local tokens, types = list_tokens(description)
    local write = models[description.model.kind] or refuse(description.model.kind)
    local fields = write(description, tokens, types)
    fields.token_type = types
    add_specials(fields, tokenizer)
    for name, value in pairs(fields) do metadata["tokenizer.ggml." .. name] = value end
    if type(tokenizer.template) == "string" then
        metadata["tokenizer.chat_template"] = tokenizer.template
    end
end

---@param tokenizer heed.Tokenizer
---@param metadata table<string, any> is added to
---@param kinds table<string, string> too
return function(tokenizer, metadata, kinds)
    if tokenizer.is_gguf then return of_gguf(tokenizer.path, metadata, kinds) end
    return of_files(tokenizer, metadata)
end
