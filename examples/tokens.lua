-- A text as the tokens of a model, one a line: id, first and last byte, token. And back.
--
--     heed examples/tokens.lua PATH [FILE]             PATH: a tokenizer.json, vocab.txt, .model, .spm,
--                                                      a GGUF file, or a directory; FILE or lines in
--     heed examples/tokens.lua PATH --count [FILE]     how many ids, bytes and characters
--     heed examples/tokens.lua PATH --decode [FILE]    ids in, their text out
--
-- Ids count from 1, as everywhere in heed; --zero counts them as the file does.

local argparse = require "argparse"
local heed = require "heed"

local parser = argparse("tokens.lua", "A text as the tokens of a model.")
parser:argument("tokenizer", "a file or a directory")
parser:argument("file", "of the text; default: what comes in"):args "?"
parser:flag("--count", "only how many")
parser:flag("--decode", "ids to text")
parser:flag("--specials", "with the tokens that the model wants around a text")
parser:flag("--zero", "ids as the file counts them, from 0")
local args = parser:parse()

local function or_stop(value, message)
    if not value then
        io.stderr:write(message, "\n")
        os.exit(1)
    end
    return value
end

local tokenizer = or_stop(heed.text.tokenizer(args.tokenizer))
local shift = args.zero and tokenizer.offset or 0
local source = args.file and or_stop(io.open(args.file, "rb")) or io.stdin
local text = source:read "a"

local function decode()
    local ids = {}
    for word in text:gmatch "%S+" do
        local id = math.tointeger(tonumber(word))
        if not id or not tokenizer:token(id + shift) then
            or_stop(nil, ("expected an id %d..%d, got %s"):format(1 - shift, #tokenizer - shift,
                word))
        end
        ids[#ids + 1] = id + shift
    end
    print(tokenizer:decode(ids, { specials = true }))
end

local function count(ids)
    local characters = utf8.len(text)
    print(("%d ids, %d bytes%s"):format(#ids, #text,
        characters and (", %d characters, %.2f of them an id"):format(characters,
            characters / math.max(#ids, 1)) or ", no UTF-8"))
end

-- In one line: what moves a terminal's cursor is written as Lua would.
local function in_line(token)
    return (token:gsub("%c", { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" })
        :gsub("%c", function(c) return ("\\x%02X"):format(c:byte()) end))
end

local function list(ids, offsets)
    for i, id in ipairs(ids) do
        local first, last = table.unpack(offsets[i])
        print(("%d\t%d-%d\t%s"):format(id - shift, first, last,
            in_line(tokenizer:token(id))))
    end
end

if args.decode then return decode() end
local ids, offsets = tokenizer:encode(text, { offsets = true, specials = args.specials or false })
if args.count then return count(ids) end
list(ids, offsets)
