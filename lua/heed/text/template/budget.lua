--- How much a template may do: the nodes it evaluates and the bytes it makes or reads through. A
--- template that would run for ever, or build gigabytes, ends with an error.

local failure = require "heed.text.template.failure"

---@class heed.text.template.Budget
local Budget = {}
Budget.__index = Budget

local STEPS = 5000000
local BYTES = 1 << 28
local DEPTH = 150 -- calls inside each other

function Budget:step(count)
    self.steps = self.steps - (count or 1)
    if self.steps < 0 then failure.raise("more than %d steps: does it end?", STEPS) end
end

---Takes bytes that are about to be made, and gives their number.
function Budget:bytes_of(count)
    self.bytes = self.bytes - count
    if self.bytes < 0 then failure.raise("more than %d bytes of text", BYTES) end
    return count
end

---A text that was made.
function Budget:text(text)
    self:bytes_of(#text)
    return text
end

function Budget:enter()
    self.depth = self.depth + 1
    if self.depth > DEPTH then failure.raise("more than %d calls inside each other", DEPTH) end
end

function Budget:leave() self.depth = self.depth - 1 end

return {
    ---@return heed.text.template.Budget
    new = function() return setmetatable({ steps = STEPS, bytes = BYTES, depth = 0 }, Budget) end,
}
