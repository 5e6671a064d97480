--- What is to happen at Ctrl-C, for the host that hears of it.

local check = require "heed.check"

local interrupts = {}

local WHERE = "heed.on_interrupt"

local waiting = {} -- functions in the order in which they came
local notify -- of the host: whether anything waits; nil where nobody hears of interrupts

local function tell() notify(#waiting > 0) end

---For a host that hears of interrupts: from now on it is told whether any function waits for one.
---@param listener? fun(any: boolean) nil: no longer
function interrupts.attach(listener)
    notify = listener
    if notify then tell() end
end

---For a host, after an interrupt has ended the script: every function that waits, once, in order.
---What one raises is given to `report`, and the others run all the same.
---@param report fun(message: any)
function interrupts.run(report)
    local list = waiting
    waiting = {}
    tell()
    for _, fn in ipairs(list) do
        local ok, message = pcall(fn)
        if not ok then report(message) end
    end
end

---Runs a function when Ctrl-C ends the script, so that a run is saved: once, after everything that
---ran has been left, never within a step of the optimiser or of heed.uninterrupted. No pcall keeps
---the script then. A second Ctrl-C ends the function too. It works in scripts of the heed command;
---elsewhere (plain lua5.4, the prompt, another host) it gives nil and a message.
---
---```lua
---local parts = { model = nn.Linear(2, 2) }
---local forget = heed.on_interrupt(function()
---    assert(heed.checkpoint.save("run.safetensors", parts))
---end)
---if forget then forget() end -- when the run is over, Ctrl-C is Ctrl-C again
---```
---@param fn fun()
---@return fun()|nil forget takes it back; nil where nobody hears of Ctrl-C
---@return string? message
function interrupts.on_interrupt(fn)
    check.type(WHERE, "fn", fn, "function")
    if not notify then return nil, WHERE .. ": only scripts of the heed command hear of Ctrl-C" end
    local function once() return fn() end -- the same function may be given twice
    waiting[#waiting + 1] = once
    tell()
    return function()
        for i, one in ipairs(waiting) do
            if one == once then
                table.remove(waiting, i)
                if notify then tell() end
                return
            end
        end
    end
end

return interrupts
