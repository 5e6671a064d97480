local blocks = require "spec.support.blocks"
local session = require "spec.support.session"
local shell = require "spec.support.shell"

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

describe("README", function()
    it("names every page, by links that lead somewhere", function()
        local text = shell.read "README.md"
        for _, path in ipairs(pages()) do
            assert.is_truthy(path == "README.md" or text:find("](" .. path .. ")", 1, true),
                path .. " is not in README.md")
        end
        for path in text:gmatch "%]%(([%w_./]+)%)" do assert(io.open(path)):close() end
    end)
end)

describe("the session in docs/prompt.md", function()
    it("is what the prompt answers", function()
        local shown = assert(shell.read("docs/prompt.md"):match "```text\n%$ heed\n[^\n]*\n(.-)```")
        local inputs, answers = {}, {}
        for line in shown:gmatch "[^\n]+" do
            local input = line:match "^> (.*)"
            table.insert(input and inputs or answers, input or line)
        end
        local typed = session.type(inputs)
        assert.equal(table.concat(answers, "\n") .. "\n", typed.output .. typed.errors)
    end)
end)
