--- The worst difference between two tensors: one number to hold against a tolerance, and words for
--- the message.

local compare = {}

local function floats(t) return t:detach():to("f64"):contiguous():view(-1) end

local function off(a, b, scale)
    if a == b or (a ~= a and b ~= b) then return 0 end
    if a ~= a or b ~= b or math.abs(a) == math.huge or math.abs(b) == math.huge then
        return math.huge
    end
    return math.abs(a - b) / math.max(scale, math.abs(b))
end

---|got - want| / max(scale, |want|) at its largest; NaN equals NaN, an infinity only itself.
---@return number worst
---@return string message
function compare.worst(got, want, scale)
    scale = scale or 1
    if got.shape ~= want.shape then
        return math.huge, ("shape %s, want %s"):format(got.shape, want.shape)
    end
    local g, w, worst, at = floats(got), floats(want), 0, 0
    for i = 1, #g do
        local here = off(g[i], w[i], scale)
        if here > worst then worst, at = here, i end
    end
    if at == 0 then return 0, "equal" end
    return worst, ("element %d: got %.9g, want %.9g (off by %.2g)"):format(at, g[at], w[at], worst)
end

return compare
