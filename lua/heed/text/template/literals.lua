--- Strings and numbers as a template writes them.

local failure = require "heed.text.template.failure"

local literals = {}

local SIMPLE = { n = "\n", t = "\t", r = "\r", a = "\a", b = "\b", f = "\f", v = "\v",
    ["\\"] = "\\", ["'"] = "'", ['"'] = '"', ["\n"] = "" }
local DIGITS = { x = 2, u = 4, U = 8 }

-- The character of \xXX, \uXXXX or \UXXXXXXXX, and the position behind.
local function by_code(text, at, letter, line)
    local digits = text:match("^" .. ("%x"):rep(DIGITS[letter]), at)
    local code = digits and tonumber(digits, 16)
    if not code or code > 0x10FFFF or code >= 0xD800 and code <= 0xDFFF then
        failure.raise("line %d: a string has a wrong \\%s", line, letter)
    end
    return utf8.char(code), at + #digits
end

-- What follows a backslash, and the position behind.
local function escape(text, at, line)
    local letter = text:sub(at, at)
    if SIMPLE[letter] then return SIMPLE[letter], at + 1 end
    if DIGITS[letter] then return by_code(text, at + 1, letter, line) end
    local octal = text:match("^[0-7][0-7]?[0-7]?", at)
    if octal then return utf8.char(tonumber(octal, 8)), at + #octal end
    if letter == "N" then failure.raise("line %d: a string has a \\N, which is not known", line) end
    return "\\" .. letter, at + 1
end

---@param text string what is between the quotes
---@param line integer
---@return string
function literals.string(text, line)
    if not text:find("\\", 1, true) then return text end
    local parts, at = {}, 1
    while true do
        local slash = text:find("\\", at, true)
        if not slash then break end
        parts[#parts + 1] = text:sub(at, slash - 1)
        parts[#parts + 1], at = escape(text, slash + 1, line)
    end
    parts[#parts + 1] = text:sub(at)
    return table.concat(parts)
end

-- Digits with single underlines between them, as many as there are.
local function digits_at(text, at)
    local digits = text:match("^%d+", at)
    if not digits then return nil end
    while true do
        local more = text:match("^_%d+", at + #digits)
        if not more then return digits end
        digits = digits .. more
    end
end

local function float_at(text, at)
    if text:sub(at - 1, at - 1) == "." then return nil end
    local whole = digits_at(text, at)
    if not whole then return nil end
    local fraction = digits_at(text, at + #whole + 1)
    fraction = fraction and text:sub(at + #whole, at + #whole) == "." and "." .. fraction or ""
    local behind = at + #whole + #fraction
    local sign = text:match("^[eE][+-]?", behind)
    local power = sign and digits_at(text, behind + #sign)
    if not power and fraction == "" then return nil end
    return whole .. fraction .. (power and sign .. power or "")
end

local BASES = { { "^0[xX]_?%x[%x_]*", 16 }, { "^0[oO]_?[0-7][0-7_]*", 8 },
    { "^0[bB]_?[01][01_]*", 2 } }

---The number at a position.
---@return number|nil value
---@return integer|nil size
function literals.number(text, at, line)
    local float = float_at(text, at)
    if float then return tonumber((float:gsub("_", ""))) + 0.0, #float end
    for _, base in ipairs(BASES) do
        local found = text:match(base[1], at)
        if found then
            found = found:match "^(.-)_*$"
            return tonumber((found:gsub("_", ""):sub(3)), base[2]), #found
        end
    end
    local whole = text:match("^[1-9]", at) and digits_at(text, at) or text:match("^0[0_]*", at)
    if not whole then return nil end
    local value = math.tointeger(tonumber((whole:gsub("_", ""))))
    if not value or math.type(tonumber((whole:gsub("_", "")))) ~= "integer" then
        failure.raise("line %d: %s needs more than 64 bits", line, whole)
    end
    return value, #whole
end

return literals
