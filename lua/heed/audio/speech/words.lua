--- Tokens as words with times.

local words = {}

-- Languages that are written without spaces: each character, and what belongs to it, is a word.
local WITHOUT_SPACES = { zh = true, ja = true, th = true, lo = true, my = true, yue = true }

local BEFORE = "\"'“¿([{-"
local BEHIND = "\"'.。,，!！?？:：”)]}、"

local function holds(marks, text) return text ~= "" and marks:find(text, 1, true) ~= nil end

-- Tokens that are whole characters together: { text =, first =, last = } by their places.
local function pieces_of(tokens, tokenizer)
    local list, stream, first = {}, tokenizer:stream(), 1
    for i, token in ipairs(tokens) do
        local text = stream:push(token)
        if text ~= "" or i == #tokens then
            list[#list + 1] = { text = text, first = first, last = i }
            first = i + 1
        end
    end
    return list
end

-- Pieces that begin with a space, or are a mark alone, begin a word.
local function joined(pieces)
    local list = {}
    for _, piece in ipairs(pieces) do
        local last = list[#list]
        local begins = piece.text:sub(1, 1) == " " or piece.text:match "^%s*%p%s*$"
        if last and not begins then
            last.text, last.last = last.text .. piece.text, piece.last
        else
            list[#list + 1] = piece
        end
    end
    return list
end

-- Marks go to the word that they stand before, or behind, whose times stay its own.
local function with_marks(list)
    local following = {}
    for i = #list, 1, -1 do -- from the end on: a mark before a word joins what it found there
        local word, next_word = list[i], following[1]
        local mark = word.text:match "^ %s*(.-)%s*$"
        if next_word and mark and holds(BEFORE, mark) then
            next_word.text = word.text .. next_word.text
        else
            table.insert(following, 1, word)
        end
    end
    local result = {}
    for _, word in ipairs(following) do
        local last = result[#result]
        if last and last.text:sub(-1) ~= " " and holds(BEHIND, word.text) then
            last.text = last.text .. word.text
        else
            result[#result + 1] = word
        end
    end
    return result
end

---The words of tokens, by the places of their first and last token, marks left out.
---@param tokens integer[]
---@param tokenizer heed.Tokenizer
---@param language? string
---@return { text: string, first: integer, last: integer }[]
function words.of(tokens, tokenizer, language)
    local pieces = pieces_of(tokens, tokenizer)
    return with_marks(WITHOUT_SPACES[language] and pieces or joined(pieces))
end

return words
