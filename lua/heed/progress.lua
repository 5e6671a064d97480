--- A line that tells how far a loop is: share, loss, tokens a second, time left. On a terminal it
--- is one line that changes; into a file or pipe it is a plain line now and then.

local check = require "heed.check"
local core = require "heed.core"
local errors = require "heed.errors"

---A progress line: an iterator, and what it is told. `local bar <close> = heed.progress(...)` ends
---it after a break too.
---@class heed.Progress
---@field private done integer
---@field private iterator function?
---@field private names string[]
---@field private started number
---@field private stream file*
---@field private terminal boolean
---@field private total integer?
---@field private unit string
---@field private values table<string, number>
---@field private units number
---@field private drawn number
---@field private finished boolean?
local Progress = {}
Progress.__index = Progress

local KNOWN = check.set("label", "total", "done", "unit", "stream", "terminal", "every")
local EIGHTHS = { [0] = "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" }
local SMOOTHING = 0.9

-- Lua does not tell where other streams lead.
local function is_terminal(stream) return stream == io.stderr and core.isatty(2) end

local function duration(seconds)
    seconds = math.floor(seconds + 0.5)
    if seconds >= 3600 then
        return ("%d:%02d:%02d"):format(seconds // 3600, seconds // 60 % 60, seconds % 60)
    end
    return ("%d:%02d"):format(seconds // 60, seconds % 60)
end

local function amount(n)
    if n >= 1e6 then return ("%.1fM"):format(n / 1e6) end
    if n >= 1e4 then return ("%.1fk"):format(n / 1e3) end
    return ("%d"):format(math.floor(n + 0.5))
end

local function shown(value)
    return math.type(value) == "integer" and tostring(value) or ("%.4g"):format(value)
end

-- ---- drawing ------------------------------------------------------------------------------------

local function bar(share, cells)
    local eighths = math.floor(share * cells * 8 + 0.5)
    local full = eighths // 8
    local text = ("█"):rep(full) .. EIGHTHS[eighths % 8]
    return text .. (" "):rep(cells - full - (eighths % 8 > 0 and 1 or 0))
end

-- "loss 1.234", ... in the order in which the names came; then the rate of what is counted.
local function facts(self, elapsed)
    local parts = {}
    for _, name in ipairs(self.names) do
        parts[#parts + 1] = name .. " " .. shown(self.values[name])
    end
    if self.units > 0 and elapsed > 0 then
        parts[#parts + 1] = ("%s %s/s"):format(amount(self.units / elapsed), self.unit)
    end
    return parts
end

local function line(self, elapsed, picture)
    local parts = {}
    if self.label then parts[1] = self.label end
    if self.total then
        local share = self.total > 0 and math.min(1, self.done / self.total) or 1
        if picture then parts[#parts + 1] = "▕" .. bar(share, 20) .. "▏" end
        parts[#parts + 1] = ("%3d%% %d/%d"):format(math.floor(share * 100), self.done, self.total)
    else
        parts[#parts + 1] = tostring(self.done)
    end
    table.move(facts(self, elapsed), 1, 16, #parts + 1, parts)
    parts[#parts + 1] = duration(elapsed)
    if self.total and self.done > self.first and self.done < self.total then
        parts[#parts + 1] = ("%s left"):format(
            duration(elapsed / (self.done - self.first) * (self.total - self.done)))
    end
    return table.concat(parts, "  ")
end

local function draw(self, last)
    local now = core.clock()
    local due = now - self.drawn >= (self.terminal and 0.1 or self.every)
    if not (due or last) or (last and self.finished) then return end
    self.drawn = now
    local text = line(self, now - self.started, self.terminal)
    if self.terminal then
        local color = self.color and { "\27[36m", "\27[0m" } or { "", "" }
        self.stream:write("\r", color[1], text, color[2], "\27[K", last and "\n" or "")
    else
        self.stream:write(text, "\n")
    end
    self.stream:flush()
end

-- ---- use ----------------------------------------------------------------------------------------

local function is_callable(value)
    if type(value) == "function" then return true end
    local meta = getmetatable(value)
    return type(meta) == "table" and meta.__call ~= nil
end

---A loop with a line that tells how far it is, on standard error: `for step in heed.progress(1000)
---do`, or kept in a variable to tell it more.
---
---```lua
---local bar = heed.progress(1000, { label = "train", stream = io.tmpfile() }) -- io.stderr when left out
---for step in bar do
---    bar:update { loss = 3 / step, tokens = 512 }
---    if step == 500 then bar:print("half of it: step %d", step) end
---end
---print((tostring(bar):gsub("%s+[%d:]+$", "")))
---```
---@param over integer|function|table a count, or an iterator (a function, or anything called like
---one) whose values pass through
---@param options? { label?: string, total?: integer, done?: integer, unit?: string, stream?: file*, terminal?: boolean, every?: number }
---label: before all; total: of an iterator, default its #; done: how much of it an earlier run did,
---default 0; unit: the name in update that is a count to be shown as a rate, default "tokens";
---stream: default io.stderr; terminal: is the stream one, default found out; every: seconds between
---plain lines, default 10
---@return heed.Progress
local function progress(over, options)
    options = check.options("heed.progress", options, KNOWN)
    if type(over) ~= "number" and not is_callable(over) then
        errors.raise("heed.progress: over: expected a count or an iterator, got %s",
            check.describe(over))
    end
    local self = setmetatable({
        label = options.label, unit = options.unit or "tokens", stream = options.stream
            or io.stderr,
        every = options.every or 10, done = options.done or 0, first = options.done or 0, units = 0,
            names = {},
        values = {}, started = core.clock(),
    }, Progress)
    if type(over) == "number" then
        self.total = check.integer("heed.progress", "n", over, 0)
    else
        self.iterator = over
        self.total = options.total
        if not self.total and type(over) == "table" then self.total = #over end
    end
    self.drawn = self.started
    if options.terminal ~= nil then self.terminal = options.terminal else self.terminal =
        is_terminal(self.stream) end
    local no_color = os.getenv and os.getenv "NO_COLOR"
    self.color = self.terminal and (no_color == nil or no_color == "")
    return self
end

-- What the iterator gave, passed on; nil ends the loop and the line.
local function passed(self, first, ...)
    if first == nil then
        self:close()
    else
        self.done = self.done + 1
        draw(self)
    end
    return first, ...
end

function Progress:__call()
    if self.iterator then return passed(self, self.iterator()) end
    if self.done >= self.total then return passed(self, nil) end
    return passed(self, self.done + 1)
end

---Numbers to show. Those named like the unit are added up and shown as a rate; "loss" is smoothed;
---others as they are.
---@param values table<string, number>
function Progress:update(values)
    local fresh = {}
    for name, value in pairs(check.type("heed.Progress:update", "values", values, "table")) do
        if check.is_tensor(value) then value = value:item() end
        if type(value) ~= "number" then
            errors.raise("heed.Progress:update: %s: expected a number, got %s", tostring(name),
                check.describe(value))
        end
        if name == self.unit then
            self.units = self.units + value
        else
            if self.values[name] == nil then fresh[#fresh + 1] = name end
            local before = self.values[name]
            if name == "loss" and before and before == before then
                value = SMOOTHING * before + (1 - SMOOTHING) * value
            end
            self.values[name] = value
        end
    end
    table.sort(fresh, function(a, b)
        return (a == "loss" and "" or a) < (b == "loss" and "" or b)
    end)
    for _, name in ipairs(fresh) do self.names[#self.names + 1] = name end
    draw(self)
end

---Writes a line of text above the progress line.
---@param format string
---@param ... any for the format
function Progress:print(format, ...)
    local text = select("#", ...) > 0 and format:format(...) or format
    self.stream:write(self.terminal and "\r\27[K" or "", text, "\n")
    self.stream:flush()
    if not self.terminal then return end
    self.drawn = 0 -- the line was written over
    draw(self)
end

---Ends the line. A loop that runs to its end does it; after a break call it, or hold the bar in a
---<close> variable.
function Progress:close()
    if self.finished then return end
    draw(self, true)
    self.finished = true
end

Progress.__close = Progress.close

function Progress:__tostring() return line(self, core.clock() - self.started, false) end

return progress
