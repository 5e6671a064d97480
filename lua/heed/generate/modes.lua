--- Evaluation mode and no gradients while a model is asked, and what was before in between: whoever
--- is called back, or resumed while generation rests, finds everything as it was.

local core = require "heed.core"
local walk = require "heed.nn.walk"

-- The modules that were in training. A model that yields and is never resumed gives its list to the
-- collector.
local Held = {}

function Held:__gc()
    for _, module in ipairs(self) do module.training = true end
    self[1] = nil
end

---The modules whose modes count: of a model, of anything else none.
---@return heed.nn.Module[]
local function modules_of(model)
    local list = {}
    if walk.is_module(model) then
        walk.each_module(model, 1, function(_, module) list[#list + 1] = module end)
    end
    return list
end

local function leave(held, ok, ...)
    Held.__gc(held)
    if not ok then error((...), 0) end
    return ...
end

local modes = {}

---A function that calls f(...) in these modes.
---@param model any
---@return fun(f: function, ...): any
function modes.of(model)
    local modules = modules_of(model)
    return function(f, ...)
        local held = setmetatable({}, Held)
        for _, module in ipairs(modules) do
            if module.training then held[#held + 1] = module end
        end
        for _, module in ipairs(held) do module.training = false end
        return leave(held, pcall(core.no_grad, f, ...)) -- an error in a coroutine closes nothing
    end
end

return modes
