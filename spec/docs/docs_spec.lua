local blocks = require "spec.support.blocks"

-- Every page, found rather than listed, so that none is left out.
local function pages()
    local list = { "README.md" }
    local listing = assert(io.popen "ls docs/*.md")
    for path in listing:lines() do list[#list + 1] = path end
    listing:close()
    return list
end

describe("the code in the documentation", function()
    for _, path in ipairs(pages()) do
        it("runs: " .. path, function() blocks.run(path) end)
    end

    it("is there in README", function()
        assert.is_true(blocks.run "README.md" >= 7)
    end)
end)
