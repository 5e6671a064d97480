--- For the scripts beside it: reads lines of JSON, { source, variables, now }, and writes for each
--- one of { text }, { error }, or { fault } when it raised. With files as arguments, writes the chat templates that they hold.

local core = require "heed.core"
local json = require "heed.json"
local template = require "heed.text.template"

local sources = {}

local function source_of(text)
    if not sources[text] then sources[text] = { template.new(text) } end
    return table.unpack(sources[text], 1, 2)
end

local function render(line)
    local case = assert(template.json(line)).map
    local made, message = source_of(case.source)
    local text
    if made then text, message = made:render(case.variables.map, case.now) end
    return { text = text, error = message }
end

local function guarded(line)
    local ok, result = pcall(render, line)
    return ok and result or { fault = tostring(result) }
end

local function held_by(path)
    local metadata = assert(core.gguf_open(path))
    return { path = path, template = metadata["tokenizer.chat_template"] }
end

if arg[1] then
    for _, path in ipairs(arg) do print(json.encode(held_by(path))) end
else
    for line in io.lines() do print(json.encode(guarded(line))) end
end
