-- docs/adding_an_operation.md shows changes to sources; they must be in those sources as they are shown.

local blocks = require "spec.support.blocks"

local function lines_of(path)
    local lines = {}
    for line in io.lines(path) do lines[#lines + 1] = line end
    return lines
end

-- The runs of neighbouring lines of a diff block, cut at "..."; and the file it is of.
local function runs_of(block)
    local path = block[1]:match "^%-%-%- (%S+)$"
    local runs = { {} }
    for i = 2, #block do
        local line = block[i]
        if line == "..." then
            runs[#runs + 1] = {}
        else
            assert(line:find "^[ +]" or line == "", "neither context nor an addition: " .. line)
            table.insert(runs[#runs], line:sub(2))
        end
    end
    return path, runs
end

-- The first line after `from` at which all lines of the run stand, or nil.
local function position(lines, run, from)
    for start = from, #lines - #run + 1 do
        local same = true
        for i, line in ipairs(run) do same = same and lines[start + i - 1] == line end
        if same then return start end
    end
end

describe("docs/adding_an_operation.md", function()
    local count = 0
    for _, block in ipairs(blocks.read "docs/adding_an_operation.md") do
        if block.language == "diff" then
            count = count + 1
            local path, runs = runs_of(block)
            it(("shows %s as it is (block %d)"):format(path, count), function()
                local lines, from = lines_of(path), 1
                for _, run in ipairs(runs) do
                    local at = position(lines, run, from)
                    assert(at, ("%s does not have, after line %d:\n%s"):format(path, from, table.concat(run, "\n")))
                    from = at + #run
                end
            end)
        end
    end

    it("goes through all the steps", function() assert.is_true(count >= 9) end)
end)
