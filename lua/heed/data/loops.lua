--- Where a `for` loop over an iterator begins: after a `break` the next loop is the next pass.

local loops = {}

---A generic `for` calls its iterator with two arguments, of which the second is nil when the loop
---begins; a call by hand has none. True when a loop begins and the one before it was left in the
---middle of a pass.
---@param iterator table its field `in_loop` is set here, and reset by loops.done
---@return boolean
function loops.restarts(iterator, ...)
    if select("#", ...) ~= 2 then return false end
    local was_in_loop = iterator.in_loop
    iterator.in_loop = true
    return was_in_loop and select(2, ...) == nil
end

---The pass is over, or another place was gone to.
function loops.done(iterator) iterator.in_loop = false end

return loops
