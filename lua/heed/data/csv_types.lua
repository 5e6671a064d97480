--- What the fields of a CSV file stand for: text, or numbers, which is told by the column.

local check = require "heed.check"

local csv_types = {}

local find, mathtype = string.find, math.type

local MISSING = { "", "NA", "N/A", "NaN", "nan", "null" }
local NAN = 0 / 0
local INFINITIES = { inf = math.huge, ["+inf"] = math.huge, ["-inf"] = -math.huge }

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

local function integer_of(text)
    local value = find(text, "^[+-]?%d+$") and tonumber(text)
    return value and mathtype(value) == "integer" and value or nil
end

local function number_of(text)
    if INFINITIES[text:lower()] then return INFINITIES[text:lower()] end
    if not text:find "^[+-]?[%d.]" or text:find "[^%d.eE+-]" then return nil end
    local value = tonumber(text)
    return value and value + 0.0
end

---What makes a value of a field's text, by type; nil for a text that is none.
---@param missing table<string, true>
---@return table<string, fun(text: string): string|number|nil>
function csv_types.readers(missing)
    return {
        string = function(text) return text end,
        integer = function(text) return integer_of(text) or integer_of(trimmed(text)) end,
        number = function(text)
            if find(text, "^-?%d+%.?%d*$") then return tonumber(text) + 0.0 end -- most are so
            text = trimmed(text)
            if missing[text] then return NAN end
            return number_of(text)
        end,
    }
end

---What kind of text a field is: nil of one that is missing. What has a zero before it is a code
---rather than a number.
local function kind_of(text, missing)
    text = trimmed(text)
    if missing[text] then return nil end
    if text:find "^[+-]?0%d" then return "string" end
    return integer_of(text) and "integer" or number_of(text) and "number" or "string"
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
