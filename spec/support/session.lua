--- A session of the prompt without a terminal: lines go in, texts come out.
local prompt = require "heed.prompt"

local session = {}

local function collector()
    local parts = {}
    return { write = function(_, ...)
        for _, part in ipairs { ... } do parts[#parts + 1] = part end return true
    end,
        flush = function() return true end }, function() return table.concat(parts) end
end

--- @class spec.Session
--- @field output string
--- @field errors string
--- @field remembered string[]
--- @field prompts string[] with which lines were asked for
--- @field session heed.prompt.Session

--- @param lines (string|false)[] what is typed; false is Ctrl-C
--- @param options? { terminal?: boolean, columns?: integer, colors?: boolean }
--- @return spec.Session
function session.type(lines, options)
    options = options or {}
    local output, output_text = collector()
    local errors, errors_text = collector()
    local remembered, prompts, at = {}, {}, 0
    local help, heed = rawget(_G, "help"), rawget(_G, "heed")
    rawset(_G, "heed", require "heed") -- as the command has it
    local made = prompt.new {
        read = function(text)
            at = at + 1
            prompts[#prompts + 1] = text
            return lines[at]
        end,
        remember = function(text) remembered[#remembered + 1] = text end,
        run = function(f, handler) -- on a stack of its own, as in the command
            return coroutine.wrap(xpcall)(f, handler)
        end,
        guard = pcall,
        columns = function() return options.columns or 80 end,
        output = output, errors = errors, colors = options.colors or false,
        terminal = options.terminal or false, edits = false,
    }
    local results = {} -- true, false or nothing for each step
    repeat
        local result = made:step()
        results[#results + 1] = result
    until result == nil
    rawset(_G, "help", help)
    rawset(_G, "heed", heed)
    return { output = output_text(), errors = errors_text(), remembered = remembered,
        prompts = prompts, results = results,
        session = made }
end

--- A scope for completion and hints.
--- @param variables table<string, any>
--- @return heed.prompt.Scope
function session.scope(variables)
    local inspect = require "heed.prompt.inspect"
    return {
        names = function() return inspect.names(variables) end,
        get = function(name) return inspect.get(variables, name) end,
    }
end

return session
