--- The text of one answer while it grows: where a stop string begins, and what of it can no longer
--- change.

local Text = {}
Text.__index = Text

---@param decode fun(ids: integer[]): string
---@param stops string[]
function Text.new(decode, stops)
    return setmetatable({ decode = decode, stops = stops, whole = "", given = 0 }, Text)
end

local function first_stop(text, stops)
    local at
    for _, stop in ipairs(stops) do
        local found = text:find(stop, 1, true)
        if found and (not at or found < at) then at = found end
    end
    return at
end

---Takes all tokens so far. Is a stop string among their text, which then ends before it?
---@param tokens integer[]
---@return boolean
function Text:read(tokens)
    self.whole = self.decode(tokens)
    local at = first_stop(self.whole, self.stops)
    if at then self.whole = self.whole:sub(1, at - 1) end
    return at ~= nil
end

-- How many of the last bytes begin a stop string.
local function begun_stop(text, stops)
    local most = 0
    for _, stop in ipairs(stops) do
        for n = math.min(#stop - 1, #text), most + 1, -1 do
            if text:sub(-n) == stop:sub(1, n) then
                most = n
                break
            end
        end
    end
    return most
end

-- How many of the last bytes begin a character of UTF-8 that is not whole.
local function begun_character(text)
    for n = 1, math.min(3, #text) do
        local byte = text:byte(-n)
        if byte >= 0xC0 then
            local length = byte >= 0xF0 and 4 or byte >= 0xE0 and 3 or 2
            return n < length and n or 0
        elseif byte < 0x80 then
            return 0
        end
    end
    return 0
end

---What was not given before: whole characters, and nothing that may become a stop string.
---@param ended boolean nothing more comes
---@return string
function Text:piece(ended)
    local last = #self.whole
    if not ended then
        last = last - math.max(begun_stop(self.whole, self.stops), begun_character(self.whole))
    end
    if last <= self.given then return "" end
    local piece = self.whole:sub(self.given + 1, last)
    self.given = last
    return piece
end

return Text
