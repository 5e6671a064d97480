--- Whisper's special tokens by what they are for, as a tokenizer has them. Behind the last of them
--- come the times: one token for every 20 ms of a window.

local errors = require "heed.errors"

local specials = {}

---@class heed.audio.Specials
---@field start integer begins what is said
---@field stop integer ends it
---@field no_times integer no times follow
---@field first_time integer the token of 0.00 s
---@field previous integer|nil begins what was said before
---@field no_speech integer|nil nobody speaks
---@field translate integer
---@field transcribe integer

local NAMES = { start = "<|startoftranscript|>", stop = "<|endoftext|>",
    no_times = "<|notimestamps|>", translate = "<|translate|>", transcribe = "<|transcribe|>" }

-- An id, or nil; those that are unknown are not asked for by their number.
local function id_of(tokenizer, text)
    local id = tokenizer:id(text)
    return id and tokenizer:token(id) == text and id or nil
end

---@param where string
---@param tokenizer heed.Tokenizer
---@return heed.audio.Specials
function specials.of(where, tokenizer)
    local found = {}
    for name, text in pairs(NAMES) do
        found[name] = id_of(tokenizer, text) or errors.raise(
            "%s: tokenizer: expected one of Whisper, got one without %s", where, text)
    end
    found.first_time = found.no_times + 1
    found.previous = id_of(tokenizer, "<|startofprev|>")
    found.no_speech = id_of(tokenizer, "<|nospeech|>") or id_of(tokenizer, "<|nocaptions|>")
    found.start_of_model = id_of(tokenizer, "<|startoflm|>")
    return found
end

---The token of a language ("en"), or an error.
---@param where string
---@param tokenizer heed.Tokenizer
---@param language string
---@return integer
function specials.language(where, tokenizer, language)
    return id_of(tokenizer, ("<|%s|>"):format(language)) or errors.raise(
        '%s: language: expected one that the model knows, as "en", got %q', where, language)
end

---The tokens of languages, by name: those between the start and the tasks.
---@param tokenizer heed.Tokenizer
---@param found heed.audio.Specials
---@return table<string, integer>
function specials.languages(tokenizer, found)
    local list = {}
    for id = found.start + 1, math.min(found.translate, found.transcribe) - 1 do
        local name = tokenizer:token(id):match "^<|(%l+)|>$"
        if name then list[name] = id end
    end
    return list
end

return specials
