--- examples/translate_with.lua with tiny models, and with a trained one: HEED_MARIAN names a directory of
--- one that translates English into Portuguese.

local command = require "spec.support.command"
local heed = require "heed"
local shell = require "spec.support.shell"

local MARIAN = "spec/fixtures/families/marian"

local function run(arguments, input)
    local output, errors, status = command.run("examples/translate_with.lua " .. arguments, input)
    assert.are.equal(0, status, errors)
    local lines = {}
    for line in output:gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
    return lines
end

-- What heed.generate writes of a line alone.
local function translated(line, options)
    local model, tokenizer = assert(heed.models.load(MARIAN))
    local ids = tokenizer:encode(line)
    options.max_new_tokens = 29
    return tokenizer:decode((heed.generate(model, ids, options)))
end

describe("examples/translate_with.lua", function()
    it("writes a line for each, in their order", function()
        local input = { "the cat sat on the mat", "", "a dog ran to the cat", "   " }
        local lines = run(MARIAN, table.concat(input, "\n") .. "\n")
        assert.are.equal(4, #lines)
        assert.are.equal("", lines[2])
        assert.are.equal("", lines[4])
        for _, i in ipairs { 1, 3 } do
            assert.are.equal(translated(input[i], {}), lines[i])
            assert.is_true(#lines[i] > 0)
        end
    end)

    it("takes beams", function()
        local line = "a dog ran"
        assert.are.same({ translated(line, { beams = 3 }) }, run(MARIAN .. " --beam 3", line .. "\n"))
    end)

    it("prints where words came from", function()
        local lines = run(MARIAN .. " --align", "that hat sat\n")
        local words = {}
        for i = 2, #lines do
            local word, source = lines[i]:match "^\t([^\t]*)\t(.+)$"
            assert.is_truthy(word, lines[i])
            words[#words + 1] = word
            for each in source:gmatch "%S+" do
                assert.is_truthy(("that hat sat"):find(each, 1, true))
            end
        end
        assert.is_true(#words > 0)
        assert.are.equal(lines[1]:gsub(" ", ""), (table.concat(words):gsub(" ", "")))
    end)

    it("says what is wrong", function()
        local _, errors, status = command.run("examples/translate_with.lua nowhere", "")
        assert.are.equal(1, status)
        assert.matches("nowhere/config.json: No such file", errors, 1, true)
        _, errors, status = command.run("examples/translate_with.lua --to xx " .. MARIAN, "")
        assert.are.equal(1, status)
        assert.matches("there is no token for the language xx", errors, 1, true)
        _, errors, status = command.run("examples/translate_with.lua --to at " .. MARIAN, "")
        assert.are.equal(1, status)
        assert.matches("there is no token for the language at", errors, 1, true)
    end)

    it("goes from a language to another", function()
        local path = "spec/fixtures/families/m2m_100"
        local lines = run("--from en --to de " .. path, "a dog\n")
        local model, tokenizer = assert(heed.models.load(path))
        local ids = tokenizer:encode "__en__ a dog"
        local written = heed.generate(model, ids,
            { prefix = { 3, tokenizer:id "__de__" }, max_new_tokens = 3 * #ids + 8 })
        assert.are.same({ tokenizer:decode(written) }, lines)
    end)

    local trained = os.getenv "HEED_MARIAN"
    if not trained then return end

    it("translates and aligns with a trained model", function()
        assert.are.same({ "Choveu a noite toda." }, run(shell.quote(trained),
            "It rained all night.\n"))
        local lines = run(shell.quote(trained) .. " --align", "The book is on the table.\n")
        assert.are.same({ "O livro está na mesa.", "\tO\tThe", "\tlivro\tbook", "\testá\tis",
            "\tna\ton", "\tmesa.\ttable." }, lines)
    end)
end)
