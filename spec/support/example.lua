--- The examples of annotations, run as a reader would run them: each by itself, with `heed` and
--- `nn` there.
local heed = require "heed"

local example = {}

local NAME = "example"

-- White space counts as one space, so that what takes several lines can be said in one; positions
-- are left out.
local function plain(text)
    return (text:gsub(NAME .. ":%d+: ", ""):gsub("%s+", " "):match "^%s*(.-)%s*$")
end

--- What each line of it printed, as one text a line.
--- @param code string
--- @return table<integer, string>
function example.run(code)
    local printed = {}
    local env = setmetatable({ heed = heed, nn = heed.nn }, { __index = _G })
    function env.print(...)
        local texts = table.pack(...)
        for i = 1, texts.n do texts[i] = tostring(texts[i]) end
        local line = debug.getinfo(2, "l").currentline
        printed[line] = (printed[line] and printed[line] .. " " or "") .. table.concat(texts, " ")
    end
    local chunk = assert(load(code, "=" .. NAME, "t", env))
    chunk()
    for line, text in pairs(printed) do printed[line] = plain(text) end
    return printed
end

--- What does not print what its line says behind `--> `: a text for each. "..." at the end stands
--- for anything.
--- @param code string
--- @return string[]
function example.faults(code)
    local printed, faults, number = example.run(code), {}, 0
    for line in (code .. "\n"):gmatch "(.-)\n" do
        number = number + 1
        local wanted = line:match "%-%-> (.*)$"
        local got = wanted and (printed[number] or "nothing")
        local start = wanted and wanted:match "^(.*)%.%.%.$"
        if wanted and not (got == wanted or start and got:sub(1, #start) == start) then
            faults[#faults + 1] = ("%s\nprints %s"):format(line, got)
        end
    end
    return faults
end

return example
