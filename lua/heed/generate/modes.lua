--- Evaluation mode and no gradients while a model is asked, and what was before in between: whoever is called back, or resumed
--- while generation rests, finds everything as it was.

local core = require "heed.core"
local walk = require "heed.nn.walk"

local Held = {}

function Held:__close()
    for _, module in ipairs(self.training) do module.training = true end
end

---The modules whose modes count: of a model, of anything else none.
---@return heed.nn.Module[]
local function modules_of(model)
    local list = {}
    if walk.is_module(model) then walk.each_module(model, 1, function(_, module) list[#list + 1] = module end) end
    return list
end

local modes = {}

---A function that calls f(...) in these modes.
---@param model any
---@return fun(f: function, ...): any
function modes.of(model)
    local modules = modules_of(model)
    return function(f, ...)
        local held <close> = setmetatable({ training = {} }, Held)
        for _, module in ipairs(modules) do
            if module.training then
                held.training[#held.training + 1] = module
                module.training = false
            end
        end
        local _ <close> = core.no_grad()
        return f(...)
    end
end

return modes
