--- Words that are looked for in names, in what others call these things, and in what is written
--- about them.

local index = require "heed.help.index"
local stem = require "heed.help.stem"
local synonyms = require "heed.help.synonyms"

local search = {}

local MOST = 12 -- shown

-- Words that say nothing of what is meant, and what PyTorch's names begin with.
local EMPTY = {}
for word in ([[a an and are as at be by do does for from how i in is it my of on or the to use using
    what with torch np functional f]]):gmatch "%S+" do
    EMPTY[word] = true
end

-- "heed.loss.linear_cross_entropy" and "crossEntropy" as words.
local function words_in(text)
    local list = {}
    for word in text:gsub("(%l)(%u)", "%1 %2"):gmatch "%w+" do list[#list + 1] = word:lower() end
    return list
end

-- The words that are asked for, without the empty ones.
local function words_of(asked)
    local list = {}
    for _, word in ipairs(words_in((asked:gsub("[Ww]arm up", "warmup")))) do
        if not EMPTY[word] then list[#list + 1] = word end
    end
    return list
end

-- All words of a text with blanks around them, their stems, and "dataloader" of DataLoader.
local function plain(text)
    local list = words_in(text)
    for i = 1, #list do list[#list + 1] = stem(list[i]) end
    for word in text:gmatch "%w*%l%u%w*" do list[#list + 1] = word:lower() end
    return " " .. table.concat(list, " ") .. " "
end

-- How well a text has a word: whole or by its stem, in its beginning, or (0) not.
local function found_in(text, word, whole, beginning)
    if text:find(" " .. word .. " ", 1, true) or text:find(" " .. stem(word) .. " ", 1, true) then
        return whole
    end
    return text:find(" " .. word, 1, true) and beginning or 0
end

-- In its name a word counts most, then in what others call it, and whole words more than their
-- beginnings; 0 where one of the words is nowhere.
local function score(words, text)
    local sum = 0
    for _, word in ipairs(words) do
        local points = math.max(found_in(text.name, word, 9, 5), found_in(text.others, word, 8, 4))
        if points == 0 then points = found_in(text.prose, word, 2, 1) end
        if points == 0 then return 0 end
        sum = sum + points
    end
    return sum
end

local function add_entry(parts, entry)
    table.move(entry.prose, 1, #entry.prose, #parts + 1, parts)
    for _, param in ipairs(entry.params) do parts[#parts + 1] = param.name .. " " .. param.text end
end

local function prose_of(doc)
    local parts = { table.concat(doc.prose or {}, " ") }
    if doc.entry then add_entry(parts, doc.entry) end
    if doc.made then add_entry(parts, doc.made.entry) end
    local methods = doc.path ~= "heed.nn.Module" and doc.methods or doc.made and doc.made.methods
    for _, method in ipairs(methods or {}) do
        parts[#parts + 1] = method.key
        add_entry(parts, method)
    end
    return plain(table.concat(parts, " "))
end

-- Of tensors and of models each method stands by itself.
local function each_method(doc, visit)
    for _, method in ipairs(doc.methods) do
        local own = doc.path ~= "heed.Tensor" or method.name:find "^Tensor:"
        if own and method.key ~= "init" and method.key ~= "forward" then
            visit { path = doc.path .. ":" .. method.key, kind = "function", entry = method }
        end
    end
end

---Calls visit(doc) for all there is, each path once.
---@param visit fun(doc: heed.help.Doc)
function search.each(visit)
    local function go(doc)
        visit(doc)
        if doc.path == "heed.nn.Module" then each_method(doc, visit) end
        for _, member in ipairs(doc.members or {}) do go(member) end
    end
    go(index.tree())
    each_method(index.lookup "Tensor", visit)
end

-- What is written about a path does not change: read once.
local texts = {}

local function texts_of(doc)
    local known = texts[doc.path]
    if not known then
        known = { name = plain(doc.path), others = plain(synonyms[doc.path] or ""),
            prose = prose_of(doc) }
        texts[doc.path] = known
    end
    return known
end

local function best_first(a, b)
    if a.points ~= b.points then return a.points > b.points end
    if #a.doc.path ~= #b.doc.path then return #a.doc.path < #b.doc.path end
    return a.doc.path < b.doc.path
end

local function find(asked)
    local words, found = words_of(asked), {}
    if #words == 0 then return found end
    search.each(function(doc)
        local points = score(words, texts_of(doc))
        if points > 0 then found[#found + 1] = { doc = doc, points = points } end
    end)
    table.sort(found, best_first)
    local docs = {}
    for i = 1, math.min(#found, MOST) do docs[i] = found[i].doc end
    return docs
end

---What the words of a text are found in, the best first. Of a name with dots, as torch.arange and
---x.unsqueeze, the last part counts.
---@param asked string
---@return heed.help.Doc[] # empty when some word is nowhere
function search.find(asked)
    local last = asked:match "^[%a_][%w_.]*[.:]([%a_][%w_]+)$"
    local docs = last and find(last) or {}
    return #docs > 0 and docs or find(asked)
end

---What else is called by a name elsewhere.
---@param name string
---@return string[] paths, sorted
function search.called(name)
    local paths, wanted = {}, stem(name:lower())
    for path, words in pairs(synonyms) do
        for word in words:lower():gmatch "[%w_]+" do
            if stem(word) == wanted then
                paths[#paths + 1] = path
                break
            end
        end
    end
    table.sort(paths)
    return paths
end

return search
