-- docs/adding_an_operation.md shows changes to sources; they must be in those sources as they are
-- shown.

local blocks = require "spec.support.blocks"

-- One space for any white space: tables may be set in columns.
local function plain(text) return (text:gsub("%s+", " ")) end

local function contents(path)
    local file = assert(io.open(path))
    local text = file:read "a"
    file:close()
    return plain(text)
end

-- What a diff block shows, in order: each line of context, and each run of additions as one piece.
-- And the file it is of.
local function pieces_of(block)
    local path = block[1]:match "^%-%-%- (%S+)$"
    local pieces, added = {}, {}
    for i = 2, #block + 1 do
        local line = block[i] or "..."
        if line:sub(1, 1) == "+" then
            added[#added + 1] = line:sub(2)
        else
            if #added > 0 then pieces[#pieces + 1] = table.concat(added, "\n") end
            added = {}
            if line ~= "..." and line ~= "" then
                pieces[#pieces + 1] = assert(line:match "^ (.*)", line)
            end
        end
    end
    return path, pieces
end

describe("docs/adding_an_operation.md", function()
    local count = 0
    for _, block in ipairs(blocks.read "docs/adding_an_operation.md") do
        if block.language == "diff" then
            count = count + 1
            local path, pieces = pieces_of(block)
            it(("shows %s as it is (block %d)"):format(path, count), function()
                local text, from = contents(path), 1
                for _, piece in ipairs(pieces) do
                    local _, last = text:find(plain(piece):match "^%s*(.-)%s*$", from, true)
                    assert(last, ("%s does not have, or not in this order:\n%s"):format(path,
                        piece))
                    from = last + 1
                end
            end)
        end
    end

    it("goes through all the steps", function() assert.are.equal(6, count) end)
end)
