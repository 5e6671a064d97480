local command = require "spec.support.command"
local shell = require "spec.support.shell"

-- HEED_DATA names a folder with aren/: the trained model, its vocabularies and golden.tsv.
local data = os.getenv "HEED_DATA"

describe("examples/transliterate.lua", function()
    it("says what is wrong", function()
        local _, errors, status = command.run "examples/transliterate.lua"
        assert.equal(2, status)
        assert.truthy(errors:find "^usage: ")
        _, errors, status = command.run "examples/transliterate.lua nowhere x"
        assert.equal(1, status)
        assert.truthy(errors:find("nowhere/config.json: No such file", 1, true), errors)
    end)

    if not data then return end

    it("gives the golden transliterations and their log probabilities", function()
        local golden, words = {}, {}
        for word, text, log_probability in shell.read(data
            .. "/aren/golden.tsv"):gmatch "([^\t\n]+)\t([^\t\n]+)\t([^\t\n]+)\n" do
            golden[#golden + 1] = { word, text, tonumber(log_probability) }
            words[#words + 1] = shell.quote(word)
        end
        assert.is_true(#golden > 0)
        local output, errors = command.run(("examples/transliterate.lua %s/aren %s"):format(data,
            table.concat(words, " ")))
        local i = 0
        for word, text, log_probability in output:gmatch "([^\t\n]+)\t([^\t\n]+)\t([^\t\n]+)\n" do
            i = i + 1
            assert.same({ golden[i][1], golden[i][2] }, { word, text })
            assert.near(golden[i][3], tonumber(log_probability), 1e-4)
        end
        assert.equal(#golden, i, errors)
    end)
end)
