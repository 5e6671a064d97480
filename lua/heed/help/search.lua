--- Words that are looked for in names, and in what is written about them.

local index = require "heed.help.index"

local search = {}

local MOST = 12 -- shown

-- "heed.loss.linear_cross_entropy" and "crossEntropy" as words with blanks around them.
local function plain(text)
    return " " .. text:gsub("(%l)(%u)", "%1 %2"):gsub("[%W_]+", " "):lower() .. " "
end

local function words_of(asked)
    local list = {}
    for word in plain(asked):gmatch "%w+" do list[#list + 1] = word end
    return list
end

-- In its name a word counts most, and whole words more than their beginnings; 0 where one of the
-- words is nowhere.
local function score(words, name, prose)
    local sum = 0
    for _, word in ipairs(words) do
        local points = name:find(" " .. word .. " ", 1, true) and 8 or name:find(" " .. word, 1,
            true) and 4
            or prose:find(" " .. word .. " ", 1, true) and 2 or prose:find(" " .. word, 1, true)
                and 1
        if not points then return 0 end
        sum = sum + points
    end
    return sum
end

local function prose_of(doc)
    local parts = { table.concat(doc.prose or {}, " ") }
    local entry = doc.entry
    if entry then
        parts[#parts + 1] = table.concat(entry.prose, " ")
        for _, param in ipairs(entry.params) do
            parts[#parts + 1] = param.name .. " " .. param.text
        end
    end
    return plain(table.concat(parts, " "))
end

-- Calls visit(doc) for all there is, each path once.
local function each(visit)
    local function go(doc)
        visit(doc)
        for _, member in ipairs(doc.members or {}) do go(member) end
    end
    go(index.tree())
end

---What the words of a text are found in, the best first.
---@param asked string
---@return heed.help.Doc[] # empty when some word is nowhere
function search.find(asked)
    local words, found = words_of(asked), {}
    if #words == 0 then return found end
    each(function(doc)
        local points = score(words, plain(doc.path), prose_of(doc))
        if points > 0 then found[#found + 1] = { doc = doc, points = points } end
    end)
    table.sort(found, function(a, b)
        if a.points ~= b.points then return a.points > b.points end
        if #a.doc.path ~= #b.doc.path then return #a.doc.path < #b.doc.path end
        return a.doc.path < b.doc.path
    end)
    local docs = {}
    for i = 1, math.min(#found, MOST) do docs[i] = found[i].doc end
    return docs
end

return search
