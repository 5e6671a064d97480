--- What the fields of a CSV file stand for: text, or numbers, which is told by the column.

local check = require "heed.check"
local core = require "heed.core"

local csv_types = {}

local MISSING = { "", "NA", "N/A", "NaN", "nan", "null" }

---The texts that stand for nothing in columns of numbers, as a set.
---@param list? string[]
---@return table<string, true>
function csv_types.missing(where, list)
    if list == nil then return check.set(table.unpack(MISSING)) end
    check.type(where, "missing", list, "table")
    for i, text in ipairs(list) do
        check.type(where, ("missing[%d]"):format(i), text, "string")
    end
    return check.set(table.unpack(list))
end

local function trimmed(text) return text:match "^%s*(.-)%s*$" end

---What kind of text a field is: nil of one that is missing. What has a zero before it is a code
---rather than a number.
local function kind_of(text, missing)
    text = trimmed(text)
    if missing[text] then return nil end
    if text:find "^[+-]?0%d" then return "string" end
    return core.csv_kind(text)
end

local WIDER = { integer = 1, number = 2, string = 3 }

---The narrowest type that takes all texts of a column; integers of which some are missing are
---numbers, for NaN is one.
---@param texts string[]
---@param missing table<string, true>
---@return "integer"|"number"|"string"
function csv_types.guess(texts, missing)
    local guess, is_missing
    for _, text in ipairs(texts) do
        local kind = kind_of(text, missing)
        if not kind then
            is_missing = true
        elseif not guess or WIDER[kind] > WIDER[guess] then
            guess = kind
        end
    end
    if guess == "integer" and is_missing then return "number" end
    return guess or "string"
end

return csv_types
