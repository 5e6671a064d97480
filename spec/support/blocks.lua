--- The fenced blocks of a Markdown file, run as one program.
local blocks = {}

--- @param path string
--- @return { language: string, note: string, text: string, first: integer, last: integer }[] note: the word after the language;
--- first and last: the lines of the fences
function blocks.read(path)
    local list, current, number = {}, nil, 0
    for line in io.lines(path) do
        number = number + 1
        local language, note = line:match "^%s*```%s*(%S*)%s*(%S*)"
        if language and current then
            current.text, current.last = table.concat(current, "\n") .. "\n", number
            list[#list + 1], current = current, nil
        elseif language then
            current = { language = language, note = note, first = number }
        elseif current then
            current[#current + 1] = line
        end
    end
    assert(not current, path .. ": a block is not closed")
    return list
end

-- All `lua` blocks at the lines where they stand in the file; after each, a call in the line of its
-- closing fence.
local function program(list)
    local lines, count = {}, 0
    for i, block in ipairs(list) do
        if block.language == "lua" then
            local raises = block.note == "raises"
            count = count + 1
            for j = #lines + 1, block.first do lines[j] = "" end
            if raises then lines[block.first] = "raises(function()" end
            table.move(block, 1, #block, block.first + 1, lines)
            lines[block.last] = ("%sblock_ends(%d)"):format(raises and "end) " or "", i)
        end
    end
    return table.concat(lines, "\n"), count
end

--- Runs the `lua` blocks of a file as one program: what one block makes, local or not, the next
--- ones see. A block of language `output` right after one is what it must print. A block `lua
--- raises` must raise; what it prints is the message, without the line that it begins with.
--- @param path string
--- @return integer count of blocks run
function blocks.run(path)
    local list = blocks.read(path)
    local source, count = program(list)
    local printed = {}
    local env = setmetatable({}, { __index = _G })
    function env.print(...)
        local texts = table.pack(...)
        for i = 1, texts.n do texts[i] = tostring(texts[i]) end
        printed[#printed + 1] = table.concat(texts, "\t") .. "\n"
    end
    function env.raises(fn)
        local ok, message = pcall(fn)
        assert(not ok, path .. ": a block that should raise does not")
        env.print((tostring(message):gsub("^[%w_./]+%.md:%d+: ", "")))
    end
    function env.block_ends(i)
        local wanted, got = list[i + 1], table.concat(printed)
        printed = {}
        if wanted and wanted.language == "output" and wanted.text ~= got then
            error(("%s:%d: expected\n%sgot\n%s"):format(path, wanted.first, wanted.text, got), 0)
        end
    end
    assert(load(source, "@" .. path, "t", env))()
    return count
end

return blocks
