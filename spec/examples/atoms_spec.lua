local command = require "spec.support.command"
local heed = require "heed"
local shell = require "spec.support.shell"
local xml = require "spec.support.xml"

-- spec/fixtures/record_atoms.py: a tiny model, and what RXNMapper maps by its attention.
local FOLDER = "spec/fixtures/atoms"
local recorded = assert(heed.json.decode(shell.read(FOLDER .. "/maps.json")))

local function run(...)
    local words = {}
    for i, word in ipairs { ... } do words[i] = shell.quote(word) end
    return command.run("examples/atoms.lua " .. table.concat(words, " "))
end

describe("examples/atoms.lua", function()
    it("maps atoms as RXNMapper does", function()
        for _, case in ipairs(recorded) do
            local output, errors, status = run(FOLDER, case.reaction)
            assert.are.equal("", errors)
            assert.are.equal(0, status)
            local i, product = 0, 1
            for of, share in output:gmatch "%d+\t[^\t]+\t(%S+)\t[^\t]+\t(%S+)\n" do
                i = i + 1
                if of == "nil" then
                    assert.are.equal(-1, case.atoms[i])
                else
                    assert.are.equal(case.atoms[i] + 1, tonumber(of))
                    assert.is_near(case.shares[i], tonumber(share), 1e-4)
                end
                product = product * case.shares[i]
            end
            assert.are.equal(#case.atoms, i)
            assert.is_near(product, tonumber(output:match "confidence\t(%S+)"), 1e-4)
        end
    end)

    it("draws both sides and the map", function()
        local path, case = os.tmpname(), recorded[1]
        run(FOLDER, case.reaction, path)
        local lines, texts = 0, {}
        for _, element in ipairs(xml.elements(shell.read(path))) do
            if element.attributes.stroke == "blue" then lines = lines + 1 end
            if element.name == "text" then texts[#texts + 1] = element.text end
        end
        assert.are.equal(#case.atoms, lines)
        assert.are.equal("C C O C C O O C C O O C C", table.concat(texts, " "))
        os.remove(path)
    end)

    it("says what is wrong", function()
        assert.matches("no >> in the reaction", select(2, run(FOLDER, "CCO")))
        assert.matches("nowhere/config.json", select(2, run("nowhere", "C>>C")))
        for _, reaction in ipairs { "hello>>C", "C>>C?!", "C C>>C" } do
            local output, errors, status = run(FOLDER, reaction)
            assert.are.equal("", output)
            assert.are.equal(1, status)
            assert.matches("a part of the reaction is no SMILES", errors)
        end
        assert.matches("no atoms on a side of >>", select(2, run(FOLDER, "C>>=")))
        assert.matches("Usage: atoms.lua", select(2, run()))
    end)
end)
