--- Writing on: from a model that says what may come next to whole sequences.

local beam_search = require "heed.generate.beams"
local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"
local grow = require "heed.generate.sampling"
local Source = require "heed.generate.source"

local WHERE = "heed.generate"
local KNOWN = check.set("max_new_tokens", "temperature", "top_k", "top_p", "min_p",
    "repetition_penalty", "beams", "length_penalty",
    "samples", "stop", "suppress", "decode", "on_token", "scores", "generator", "cache", "context",
    "lengths", "prefix")
local MOST_ROWS = 1 << 20
local DRAWING = { "temperature", "top_k", "top_p", "min_p", "generator" }

-- ---- options ------------------------------------------------------------------------------------

local function above_zero(name, value)
    if value == nil then return nil end
    if check.number(WHERE, name, value, 0) == 0 then
        errors.raise("%s: %s: expected a number above 0, got 0", WHERE, name)
    end
    return value
end

-- Of one prompt: nobody asks for as many as MOST_ROWS, something else came by mistake.
local function rows_for_each(name, count)
    if check.integer(WHERE, name, count) <= MOST_ROWS then return count end
    return errors.raise("%s: %s: expected at most %d, got %d", WHERE, name, MOST_ROWS, count)
end

-- Without any option that says how to draw, the likeliest is taken.
local function add_drawing(o, options)
    local draws = (options.samples or 1) > 1 and not options.beams
    for _, name in ipairs(DRAWING) do draws = draws or options[name] ~= nil end
    o.temperature = check.number(WHERE, "temperature", options.temperature or draws and 1 or 0, 0)
    o.top_k = options.top_k and check.integer(WHERE, "top_k", options.top_k)
    o.top_p = options.top_p and check.number(WHERE, "top_p", options.top_p, 0, 1)
    o.min_p = options.min_p and check.number(WHERE, "min_p", options.min_p, 0, 1)
    o.generator = options.generator
    if o.generator ~= nil and (type(o.generator) ~= "userdata" or check.is_tensor(o.generator)) then
        errors.raise("%s: generator: expected a generator (heed.generator(seed)), got %s", WHERE,
            check.describe(o.generator))
    end
    if not options.beams then return end
    for _, name in ipairs { "temperature", "top_k", "top_p", "min_p", "generator", "on_token" } do
        if options[name] ~= nil then
            errors.raise("%s: %s: beams draw nothing and are known at their end only", WHERE, name)
        end
    end
end

-- Numbers and strings that end an answer.
local function add_stops(o, stop)
    o.stop_tokens, o.stop_texts = {}, {}
    if stop == nil then return end
    if check.is_tensor(stop) then stop = stop:totable() end
    for _, value in ipairs(type(stop) == "table" and stop or { stop }) do
        if type(value) == "string" and value ~= "" then
            o.stop_texts[#o.stop_texts + 1] = value
        else
            o.stop_tokens[check.integer(WHERE, "stop", value)] = true
        end
    end
    if o.stop_texts[1] and not o.decode then
        errors.raise("%s: stop: a string needs decode=, a function of tokens or a vocabulary",
            WHERE)
    end
end

-- Tokens that never come, as an index.
local function add_suppressed(o, suppress)
    if suppress == nil then return end
    local list = {}
    if check.is_tensor(suppress) then suppress = suppress:totable() end
    for _, token in ipairs(type(suppress) == "table" and suppress or { suppress }) do
        list[#list + 1] = check.integer(WHERE, "suppress", token)
    end
    o.suppress = list[1] and core.keep(core.tensor(list, { dtype = "i64" }))
end

-- What the model's files say where the options do not.
local function with_defaults(model, options)
    local of_model = type(model) == "table" and model.generation
    if type(of_model) ~= "table" then return options end
    local own = {}
    for name, value in pairs(options) do own[name] = value end
    for _, name in ipairs { "stop", "suppress", Source.check_model(model) and "prefix" } do
        if own[name] == nil then own[name] = of_model[name] end
    end
    return own
end

-- From tokens to text, and back.
local function coders_of(decode)
    if decode == nil then return nil end
    local function text_of(text)
        if type(text) == "string" then return text end
        return errors.raise("%s: decode: expected it to give a string, got %s", WHERE,
            check.describe(text))
    end
    if type(decode) == "function" then return function(ids) return text_of(decode(ids)) end end
    if type(decode) ~= "table" or type(decode.decode) ~= "function" then
        errors.raise("%s: decode: expected a function of tokens, or a vocabulary, got %s", WHERE,
            check.describe(decode))
    end
    local encode = decode.encode and function(text) return decode:encode(text) end
    return function(ids) return text_of(decode:decode(ids)) end, encode
end

local function read_options(model, options)
    options = with_defaults(model, check.options(WHERE, options, KNOWN))
    local o = { scores = check.flag(WHERE, "scores", options.scores, false),
        on_token = options.on_token }
    o.decode, o.encode = coders_of(options.decode)
    if o.on_token then check.type(WHERE, "on_token", o.on_token, "function") end
    o.max_new_tokens = check.integer(WHERE, "max_new_tokens", options.max_new_tokens or 100, 0)
    o.samples = options.samples and rows_for_each("samples", options.samples)
    o.beams = options.beams and rows_for_each("beams", options.beams)
    if o.beams and o.samples and o.samples > o.beams then
        errors.raise("%s: samples: expected at most %d, the beams, got %d", WHERE, o.beams,
            o.samples)
    end
    o.length_penalty = check.number(WHERE, "length_penalty", options.length_penalty or 1)
    o.repetition_penalty = above_zero("repetition_penalty", options.repetition_penalty)
    o.cache = options.cache
    if type(o.cache) == "string" then
        o.cache, o.cache_dtype = true, check.one_of(WHERE, "cache", o.cache, core.dtypes.floats)
    elseif o.cache ~= nil then
        check.type(WHERE, "cache", o.cache, "boolean")
    end
    o.context = options.context and check.integer(WHERE, "context", options.context)
    add_drawing(o, options)
    add_stops(o, options.stop)
    add_suppressed(o, options.suppress)
    return o, options
end

-- ---- prompts ------------------------------------------------------------------------------------

-- encode: what makes tokens of text, or nil.
local function list_of(name, value, encode)
    if check.is_tensor(value) then value = value:totable() end
    if type(value) == "string" and encode then value = encode(value) end
    if type(value) ~= "table" then
        errors.raise("%s: %s: expected tokens, a list or a tensor of integers, got %s%s", WHERE,
            name, check.describe(value),
            type(value) == "string" and "; decode= a vocabulary makes tokens of it" or "")
    end
    return value
end

-- Rows of tokens as lists of their own, cut to their lengths; and was it one row, not a list of
-- rows?
local function rows_of(name, value, lengths, encode)
    local single = type(value) == "string"
    local list = list_of(name, value, encode)
    single = single or type(list[1]) ~= "table" and not (encode and type(list[1]) == "string")
    local rows = {}
    for b, row in ipairs(single and { list } or list) do
        row = list_of(name, row, encode)
        rows[b] = table.move(row, 1, #row, 1, {})
        for i, token in ipairs(rows[b]) do rows[b][i] = check.integer(WHERE, name, token) end
    end
    if not lengths then return rows, single end
    lengths = list_of("lengths", lengths)
    if #lengths ~= #rows then
        errors.raise("%s: lengths: expected %d numbers, got %d", WHERE, #rows, #lengths)
    end
    for b, n in ipairs(lengths) do
        if check.integer(WHERE, "lengths", n, 0) > #rows[b] then
            errors.raise("%s: lengths: expected at most %d, the tokens of row %d, got %d", WHERE,
                #rows[b], b, n)
        end
        for i = #rows[b], n + 1, -1 do rows[b][i] = nil end
    end
    return rows, single
end

-- What each answer begins with, for `count` of them.
local function prefixes_of(prefix, count, encode)
    if type(prefix) == "number" then prefix = { prefix } end
    local rows, single = rows_of("prefix", prefix, nil, encode)
    if not single and #rows ~= count then
        errors.raise("%s: prefix: expected one, or %d, got %d", WHERE, count, #rows)
    end
    local list = {}
    for b = 1, count do
        list[b] = table.move(rows[single and 1 or b], 1, #rows[single and 1 or b], 1, {})
    end
    return list
end

local function padded(rows)
    local list, lengths, longest, ragged = {}, {}, 0, false
    for b, row in ipairs(rows) do
        ragged = ragged or #row ~= #rows[1]
        lengths[b], longest = #row, math.max(longest, #row)
    end
    for b, row in ipairs(rows) do
        list[b] = table.move(row, 1, #row, 1, {})
        for i = #row + 1, longest do list[b][i] = 1 end
    end
    return core.keep(core.tensor(list, { dtype = "i64" })),
        ragged and core.keep(core.tensor(lengths, { dtype = "i64" })) or nil
end

-- The rows that answers go on from: prompts and prefixes; or of an encoder-decoder the prefixes,
-- and the prompts as its source.
local function source_of(model, prompt, options, o)
    local crossed = Source.check_model(model)
    local rows, single = rows_of("prompt", prompt, options.lengths, o.encode)
    local settings = { new = o.max_new_tokens, cache = o.cache, cache_dtype = o.cache_dtype,
        context = o.context }
    if crossed then
        if options.prefix == nil then
            errors.raise("%s: prefix: expected the tokens that targets begin with, got nil", WHERE)
        end
        if o.context then errors.raise("%s: context: an encoder-decoder has none", WHERE) end
        settings.src, settings.src_lengths = padded(rows)
        rows = prefixes_of(options.prefix, #rows, o.encode)
    elseif options.prefix ~= nil then
        for b, prefix in ipairs(prefixes_of(options.prefix, #rows, o.encode)) do
            table.move(prefix, 1, #prefix, #rows[b] + 1, rows[b])
        end
    end
    for b, row in ipairs(rows) do
        if #row == 0 then
            errors.raise("%s: %s: expected at least one token, got none in row %d", WHERE,
                crossed and "prefix" or "prompt", b)
        end
    end
    return Source.new(model, rows, settings), single
end

-- ---- answers ------------------------------------------------------------------------------------

-- What is known of each answer, in the shape of the prompt: of one, of rows, with samples of each.
local function shaped(answers, single, samples)
    if not samples then return single and answers[1] or answers end
    local rows = {}
    for i, answer in ipairs(answers) do
        local b = (i - 1) // samples + 1
        rows[b] = rows[b] or {}
        if answer then table.insert(rows[b], answer) end
    end
    return single and rows[1] or rows
end

local function tokens_in(info)
    if info.reason then return info.tokens end
    local list = {}
    for i, part in ipairs(info) do list[i] = tokens_in(part) end
    return list
end

local function public(answer)
    return answer and { tokens = answer.tokens, text = answer.text, score = answer.score,
        log_probs = answer.log_probs,
        reason = answer.reason }
end

---What heed.generate says of an answer.
---@class heed.Answer
---@field tokens integer[] new ones, without the stop token
---@field text? string with decode=; without the stop string
---@field score? number the sum of log_probs, with scores=; of beams over length ^ length_penalty,
---always
---@field log_probs? number[] with scores=: what the model gave each token before temperature and
---the like, also the stop token
---@field reason "stop"|"length"|"callback" why it ended

---Writes on behind a prompt, token by token: greedily unless an option says how to draw
---(temperature, top_k, top_p, min_p, samples, in the order penalty, temperature, top_k, top_p,
---min_p), or with `beams` the most probable whole. The model runs in evaluation mode, without
---gradients, and is as it was whenever another function has the word.
---
---The model is
---
---- a decoder-only one, `model(tokens)` giving logits [B, L, V], each position from itself and
---  those before; when it has a field `takes_cache = true`, or with `cache = true`, it is called
---  `model(tokens, { cache = cache })` with what is new only;
---- an encoder-decoder as nn.Transformer, the prompt being its source:
---  `model:encode(src, { src_lengths = })`, `model:decode(tgt, memory, { src_lengths =, cache = })`,
---  and `model.output`, if there is one, from there to logits;
---- a function of tokens [B, L] and lengths [B] that gives logits [B, L, V], or [B, V] of each
---  row's last.
---
---A model's field `generation` has its own prefix, stop and suppress, for where the options say
---nothing: what heed.models.load found in the files.
---
---```lua
---local text = "the cat sat on the mat. "
---local letters = heed.text.chars(text, { specials = {} })
---local function bigrams(tokens) -- what follows the last letter, as often as in the text
---    local counts, ids = heed.zeros(#letters, #letters), letters:encode(text)
---    for i = 2, #ids do counts[{ ids[i - 1], ids[i] }] = counts[{ ids[i - 1], ids[i] }] + 1 end
---    return counts[tokens]:log()
---end
---local prompt = letters:encode "c"
---print(heed.generate(bigrams, prompt, { max_new_tokens = 3 }))
---local _, answer = heed.generate(bigrams, "c", { decode = letters, stop = " ", temperature = 0.8,
---    generator = heed.generator(1) })
---print(answer.text, answer.reason)
---```
---@param model heed.nn.Module|function
---@param prompt integer[]|integer[][]|heed.Tensor|string|string[] tokens of one prompt, or of
---several, [B, L] with lengths=; or text, when decode= is a vocabulary
---@param options? { max_new_tokens?: integer, temperature?: number, top_k?: integer, top_p?: number, min_p?: number, repetition_penalty?: number, beams?: integer, length_penalty?: number, samples?: integer, prefix?: integer|table, stop?: integer|string|table, suppress?: integer|heed.Ids, decode?: table|function, on_token?: function, scores?: boolean, generator?: heed.Generator, lengths?: heed.Ids, cache?: boolean|heed.dtype, context?: integer }
---max_new_tokens: default 100; temperature: logits are divided by it, 0 is greedy; top_k: of the k
---likeliest; top_p: of the likeliest that together have this probability; min_p: of those at least
---so probable, relative to the likeliest; repetition_penalty: logits of tokens that came before are
---divided by it, negative ones multiplied; beams: how many beginnings are gone on with;
---length_penalty: a beam's score is its log probability over length ^ length_penalty, default 1;
---samples: answers to each prompt, of beams the best ones; prefix: tokens that each answer begins
---with, which are not repeated in it (of an encoder-decoder at least its first); stop: tokens and
---strings that end an answer; suppress: tokens that never come; decode: a vocabulary, or a function from tokens to text; on_token:
---called with row, token, piece of text for each token, false ends that answer, it may yield (at
---the end there may come a last piece, without token); scores: log probabilities too; generator:
---what draws; lengths: of a padded prompt [B]; cache: whether the model is called with one, or what
---it is kept as ("bf16"); context: the most that the model may see, the last so many tokens
---@return integer[]|table tokens the new ones, without the stop token: a list; lists for several
---prompts; lists of lists with samples=
---@return heed.Answer|table info what is known of each, in the same shape
local function generate(_, model, prompt, options)
    local o, given = read_options(model, options)
    local source, single = source_of(model, prompt, given, o)
    local answers = (o.beams and beam_search or grow)(source, o)
    for i, answer in ipairs(answers) do answers[i] = public(answer) end
    local info = shaped(answers, single, o.samples)
    return tokens_in(info), info
end

---The same as an iterator of row, token, piece of text (with decode=). Leaving the loop ends it.
---
---```lua
---local function counting(tokens) return heed.nn.init.eye_(heed.empty(9, 9))[tokens % 9 + 1] end
---for row, token in heed.generate.stream(counting, { 3 }, { max_new_tokens = 3 }) do
---    print(row, token)
---end
---```
---@param model heed.nn.Module|function
---@param prompt integer[]|integer[][]|heed.Tensor|string|string[]
---@param options? table as of heed.generate, without on_token and beams
---@return fun(): integer?, integer?, string? # row, token, piece: at the end of an answer there may
---be a last piece without token
local function stream(model, prompt, options)
    local own = {}
    for name, value in pairs(check.options("heed.generate.stream", options, KNOWN)) do
        own[name] = value
    end
    if own.on_token or own.beams then
        errors.raise("heed.generate.stream: %s: a stream has none", own.on_token and "on_token"
            or "beams")
    end
    own.on_token = coroutine.yield
    local o, given = read_options(model, own)
    local source = source_of(model, prompt, given, o)
    return coroutine.wrap(function()
        grow(source, o)
        return nil
    end)
end

return setmetatable({ stream = stream }, { __call = generate })
