--- The recorded tokenizers as files: what is in them, and a path while a function runs.

local heed = require "heed"
local shell = require "spec.support.shell"

local files = {}

--- name → { file = text of tokenizer.json, cases } (spec/fixtures/record_tokenizers.py).
files.json = assert(heed.json.decode(shell.read "spec/fixtures/tokenizers.json"))

--- name → { model = hex digits, size, cases } (spec/fixtures/record_sentencepiece.py).
files.sentencepiece = assert(heed.json.decode(shell.read "spec/fixtures/sentencepiece.json"))

function files.bytes(hex)
    return (hex:gsub("%x%x", function(digits) return string.char(tonumber(digits, 16)) end))
end

--- run(path of a file with this text), which goes afterwards.
function files.with(text, run, ending)
    local base = os.tmpname()
    local path = base .. (ending or "")
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
    local ok, message = pcall(run, path)
    os.remove(path)
    os.remove(base)
    if not ok then error(message, 0) end
end

--- A file's ids as heed's.
function files.shifted(ids)
    local list = {}
    for i, id in ipairs(ids) do list[i] = id + 1 end
    return list
end

return files
