-- Are ids, offsets and decoded texts those of the program that a tokenizer's file is made for?
--
--     heed spec/peers/tokenizers.lua PYTHON COUNT FILE...
--
-- compares so many random texts for each file: a tokenizer.json, or a SentencePiece model. PYTHON
-- needs the packages that spec/peers/read_tokens.py names. Prints what differs, and how many.

local heed = require "heed"

local here = arg[0]:match "^(.*/)" or "./"
local SHOWN = 3

local function differs(tokenizer, case)
    local ids, offsets = tokenizer:encode(case.text, { offsets = true })
    local plain = tokenizer:encode(case.text)
    if #ids ~= #case.ids or #plain ~= #ids then return "ids" end
    for i, id in ipairs(ids) do
        if id ~= case.ids[i] + 1 or plain[i] ~= id then return "ids" end
    end
    for i, pair in ipairs(offsets) do
        if pair[1] - 1 ~= case.ends[2 * i - 1] or pair[2] ~= case.ends[2 * i] then
            return "offsets"
        end
    end
    local whole = tokenizer:decode(ids, { specials = true })
    if tokenizer:decode(ids) ~= case.plain or whole ~= case.whole then return "decoded" end
    local stream, pieces = tokenizer:stream { specials = true }, {}
    for i, id in ipairs(ids) do pieces[i] = stream:push(id) end
    pieces[#pieces + 1] = stream:finish()
    if table.concat(pieces) ~= whole then return "streamed" end
end

local function compare(python, count, path)
    local tokenizer = assert(heed.text.tokenizer(path))
    local pipe = assert(io.popen(("exec '%s' '%sread_tokens.py' '%s' %d %d"):format(python, here, path,
        os.time(), count)))
    local texts, bad = 0, 0
    for line in pipe:lines() do
        local case = assert(heed.json.decode(line))
        local what = differs(tokenizer, case)
        texts = texts + 1
        if what then
            bad = bad + 1
            if bad <= SHOWN then print(what, heed.json.encode(case.text)) end
        end
    end
    assert(pipe:close(), "read_tokens.py failed")
    print(("%d of %d texts differ: %s"):format(bad, texts, path))
    return bad
end

local python, count = arg[1], math.tointeger(tonumber(arg[2]))
if not count then error("usage: heed spec/peers/tokenizers.lua PYTHON COUNT FILE...", 0) end
local bad = 0
for i = 3, #arg do bad = bad + compare(python, count, arg[i]) end
os.exit(bad == 0)
