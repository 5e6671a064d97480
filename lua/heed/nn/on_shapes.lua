--- Runs a model on shapes alone: Module:check.

local check = require "heed.check"
local core = require "heed.core"

-- The shapes of tensors, also of those in plain tables; anything else as it is. made: what has
-- become of tables that were met.
local function shapes_of(value, made)
    if check.is_tensor(value) then return value.shape end
    if type(value) ~= "table" or getmetatable(value) ~= nil then return value end
    if made[value] then return made[value] end
    local shapes = {}
    made[value] = shapes
    for key, item in pairs(value) do shapes[key] = shapes_of(item, made) end
    return shapes
end

-- A function that brings back what a run changes: the stream of random numbers, buffers.
local function snapshot(self)
    local stream, buffers = core.rng_state(), {}
    for i, t in ipairs(self:buffers()) do buffers[i] = { t, t:clone() } end
    return function()
        core.rng_state(stream)
        for _, buffer in ipairs(buffers) do buffer[1]:copy_(buffer[2]) end
    end
end

local function finish(restore, ok, ...)
    core.uninterrupted(core.no_grad, restore)
    if not ok then error((...), 0) end
    return ...
end

local function shapes_given(self, ...)
    local results, made = table.pack(core.no_grad(self, ...)), {}
    for i = 1, results.n do results[i] = shapes_of(results[i], made) end
    return table.unpack(results, 1, results.n)
end

---@param self heed.nn.Module
---@param ... any what the model would be called with
---@return any ... what it gives, with shapes in place of tensors
return function(self, ...)
    local restore = core.no_grad(snapshot, self)
    -- an error in a coroutine closes nothing
    return finish(restore, pcall(core.shapes_only, shapes_given, self, ...))
end
