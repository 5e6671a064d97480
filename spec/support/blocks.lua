--- The fenced blocks of a Markdown file, to be run.
local blocks = {}

--- @param path string
--- @return { language: string, text: string, line: integer }[]
function blocks.read(path)
    local list, current, number = {}, nil, 0
    for line in io.lines(path) do
        number = number + 1
        local language = line:match "^%s*```%s*(%S*)"
        if language and current then
            list[#list + 1], current = current, nil
            list[#list].text = table.concat(list[#list], "\n") .. "\n"
        elseif language then
            current = { language = language, line = number }
        elseif current then
            current[#current + 1] = line
        end
    end
    assert(not current, path .. ": a block is not closed")
    return list
end

--- Runs the `lua` blocks of a file one after another in one environment. A block of language `output` right after one is
--- what it must print.
--- @param path string
--- @return integer count of blocks run
function blocks.run(path)
    local printed
    local env = setmetatable({
        print = function(...)
            local texts = table.pack(...)
            for i = 1, texts.n do texts[i] = tostring(texts[i]) end
            printed[#printed + 1] = table.concat(texts, "\t")
        end,
    }, { __index = _G })
    local count = 0
    for _, block in ipairs(blocks.read(path)) do
        if block.language == "lua" then
            printed, count = {}, count + 1
            local source = ("\n"):rep(block.line) .. block.text
            assert(load(source, "@" .. path, "t", env))()
        elseif block.language == "output" then
            local got = table.concat(printed, "\n") .. "\n"
            assert(got == block.text, ("%s:%d: expected\n%sgot\n%s"):format(path, block.line, block.text, got))
        end
    end
    return count
end

return blocks
