-- Talks with a chat model: a GGUF file, or a Hugging Face directory.
--
--     heed examples/chat.lua MODEL                       a line is a question; Ctrl-C stops
--     heed examples/chat.lua MODEL --prompt TEXT         answers once, and prints nothing else
--     heed examples/chat.lua MODEL --prompt TEXT --attention PAGE.html
--                                                        draws what each token looked at, too

local argparse = require "argparse"
local heed = require "heed"

local parser = argparse("chat.lua", "Talks with a chat model.")
parser:argument("model", "a GGUF file, or a Hugging Face directory")
parser:option("--prompt", "one question")
parser:option("--system", "what comes before the first question")
parser:option("--attention", "a page of the attention while the answer was written")
parser:option("--layer", "whose attention is drawn", "1"):convert(math.tointeger)
parser:option("--seed", "of the answers"):convert(math.tointeger)
parser:option("--temperature", "0: always the likeliest token", "0.7"):convert(tonumber)
parser:option("--top_p", "of the likeliest tokens that together have this probability", "0.9")
    :convert(tonumber)
parser:option("--max_tokens", "of an answer", "512"):convert(math.tointeger)
parser:option("--threads", "of this machine"):convert(math.tointeger)
local args = parser:parse()
if args.threads then heed.set_num_threads(args.threads) end
local model, tokenizer, config, problem = heed.models.load(args.model)
if not model or not tokenizer then error(problem or tokenizer, 0) end

local options = { max_new_tokens = args.max_tokens, decode = tokenizer,
    on_token = function(_, _, piece)
        io.write(piece)
        io.flush()
    end }
if args.temperature > 0 then
    options.temperature, options.top_p = args.temperature, args.top_p
    options.generator = heed.generator(args.seed or os.time())
end

-- The ids of a conversation, as the model's own template writes it.
local function ids_of(messages)
    local text, message = tokenizer:chat(messages)
    if not text then error(message, 0) end
    return tokenizer:encode(text, { specials = false })
end

-- The oldest questions and answers go until the rest leaves space for an answer.
local function fitting(messages)
    local space = (config.max_position_embeddings or math.huge) - args.max_tokens
    local ids = ids_of(messages)
    local first = args.system and 2 or 1
    while #ids > space and #messages > first do
        table.remove(messages, first)
        if messages[first].role == "assistant" then table.remove(messages, first) end
        ids = ids_of(messages)
    end
    return ids
end

-- What each token of the question and its answer looked at, in one layer.
local function draw(ids, path)
    local labels, capture = {}, heed.capture(model, { layers = { args.layer } })
    for i, id in ipairs(ids) do labels[i] = tokenizer:decode({ id }, { specials = true }) end
    heed.no_grad(function() model { ids } end)
    capture:close()
    assert(heed.viz.attention(capture, { x = labels, y = labels }):save(path))
end

-- A line of the user's; nil at the end of the input, and at Ctrl-C.
local function read()
    local ok, line = pcall(function()
        io.write "> "
        io.flush()
        return io.read "l"
    end)
    if ok and line then return line end
    print()
end

local messages = {}
if args.system then messages[1] = { role = "system", content = args.system } end

-- Asks, writes the answer as it comes, and keeps it.
local function ask(question)
    table.insert(messages, { role = "user", content = question })
    local ids = fitting(messages)
    local ok, tokens, answer = pcall(heed.generate, model, ids, options)
    print()
    if not ok then -- Ctrl-C: the question is forgotten
        table.remove(messages)
        if not tostring(tokens):find "interrupted" then error(tokens, 0) end
        return
    end
    table.insert(messages, { role = "assistant", content = answer.text })
    if args.attention then draw(table.move(tokens, 1, #tokens, #ids + 1, ids), args.attention) end
end

if args.prompt then return ask(args.prompt) end
for line in read do
    if line:find "%S" then ask(line) end
end
