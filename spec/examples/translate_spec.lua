local command = require "spec.support.command"
local heed = require "heed"
local shell = require "spec.support.shell"
local xml = require "spec.support.xml"

local folder

-- A language whose words are those of another, each spelled backwards.
local function write_corpus(name, first, last)
    local words = { "time", "stone", "river", "paper", "light", "under", "seven", "moon", "grain",
        "storm" }
    local file = assert(io.open(folder .. "/" .. name, "w"))
    for i = first, last do
        local source, target = {}, {}
        for j = 1, 1 + i % 4 do
            source[j] = words[(i * 7 + j * j) % #words + 1]
            target[j] = source[j]:reverse()
        end
        file:write(table.concat(source, " "), "\t", table.concat(target, " "), "\n")
    end
    file:close()
end

local function train_command(save, more)
    return ("examples/translate.lua --train %s/train.tsv --valid %s/valid.tsv --vocab 300 "
        .. "--d-model 32 --layers 1 --heads 2 "
        .. "--tokens 256 --warmup 20 --dropout 0.1 --save %s/%s %s"):format(folder, folder, folder,
            save, more)
end

local function tensors_of(path)
    local tensors, message = heed.safetensors.load(folder .. "/" .. path)
    assert(tensors, message)
    return tensors
end

describe("examples/translate.lua", function()
    setup(function()
        folder = os.tmpname()
        os.remove(folder)
        assert(os.execute("mkdir " .. folder))
        write_corpus("train.tsv", 1, 300)
        write_corpus("valid.tsv", 301, 330)
        write_corpus("test.tsv", 331, 350)
    end)

    teardown(function() os.execute("rm -r " .. folder) end)

    it("says what every option is when it is not given", function()
        local help, _, status = command.run "examples/translate.lua --help"
        assert.equal(0, status)
        local options = "minutes steps tokens d-model layers heads d-ff vocab dropout smoothing "
            .. "lr warmup validate seed threads"
        for option in options:gmatch "%S+" do
            local text = help:match("\n   %-%-" .. option:gsub("%-", "%%-") .. " <(.-)\n   %-")
                or help:match("\n   %-%-" .. option:gsub("%-", "%%-") .. " <(.*)")
            assert.is_truthy(text and text:find "%(.+%)%s*$", option)
        end
    end)

    it("reads dates", function()
        local output, errors, status =
            command.run "examples/translate.lua --steps 3 --seed 5 --d-model 16 --d-ff 32"
        assert.equal(0, status, errors)
        assert.truthy(output:find "Dates that it has never seen")
        assert.truthy(output:find "\nexact match %d+ of 1000\n$")
    end)

    it("trains on pairs, scores, and translates lines", function()
        local output, errors, status = command.run(train_command("one",
            ("--steps 150 --validate 75 --test %s/test.tsv --output %s/out")
            :format(folder, folder)))
        assert.equal(0, status, errors)
        assert.truthy(output:find "BLEU %d+%.%d%d on 20 pairs")
        assert.truthy(errors:find "validation loss [%d.]+  perplexity [%d.]+  %(best%)")
        local translations = shell.read(folder .. "/out")
        assert.equal(20, select(2, translations:gsub("\n", "")))
        local lines, message, ok = command.run(("examples/translate.lua --load %s/one"):format(
            folder), "river moon\n\nstone")
        assert.equal(0, ok, message)
        assert.equal(3, select(2, lines:gsub("\n", "")))
    end)

    it("draws what it looks at to translate a line", function()
        assert.equal(0, (select(3, command.run(train_command("seen", "--steps 20")))))
        local function texts_of(file, more)
            local load = ("examples/translate.lua --load %s/seen --attention %s/%s %s"):format(
                folder, folder, file, more or "")
            local output, errors, status = command.run(load, "river moon")
            assert.equal(0, status, errors)
            local count = {}
            for _, element in ipairs(xml.elements(shell.read(folder .. "/" .. file), { "meta" })) do
                if element.name == "text" or element.name == "h2" then
                    count[element.text] = (count[element.text] or 0) + 1
                end
            end
            return count, output
        end
        local _, plain = texts_of "page.html"
        assert.equal(1, (texts_of "page.html")["decoder.layers.1.multihead_attn"])
        local layer, output = texts_of("layer.svg", "--head 1")
        assert.equal(plain, output)
        assert.equal(1, layer["head 2"])
        assert.truthy(layer["</s>"] >= 2)
        local head = texts_of("head.svg", "--head 1.2")
        assert.is_nil(head["head 2"])
        assert.truthy(head["</s>"] >= 1)
        local load = ("examples/translate.lua --load %s/seen --attention %s"):format(folder, folder)
        for more, message in pairs { ["/a.svg --head 1.3"] = "there are 1 layers of 2 heads",
            ["/a.svg --head 2"] = "there are 1 layers",
            ["/none/a.html"] = "/none/a.html: " } do
            local _, errors, status = command.run(load .. more, "river")
            assert.equal(1, status)
            assert.truthy(errors:find(message, 1, true), errors)
        end
        local _, errors = command.run(load .. "/a.svg", "")
        assert.truthy(errors:find("expected a line", 1, true), errors)
    end)

    it("goes on after Ctrl-C with the same bits", function()
        local options = "--steps 300 --validate 50"
        assert.equal(0, (select(3, command.run(train_command("whole", options)))))
        local errors_path = folder .. "/errors"
        local script = (": > %s; env --default-signal=INT %s %s 2>>%s & p=$!; "
            .. "while ! grep -q validation %s; do sleep 0.02; done; kill -INT $p; wait $p")
            :format(errors_path, shell.quote(command.path), train_command("parts", options),
                errors_path, errors_path)
        local _, status = shell.run(script)
        assert.equal(130, status)
        assert.truthy(shell.read(errors_path):find "saved; the same command with %-%-resume goes on")
        local _, errors, resumed = command.run(train_command("parts", options .. " --resume"))
        assert.equal(0, resumed, errors)
        assert.equal(shell.read(folder .. "/whole"), shell.read(folder .. "/parts"))
        local whole, parts = tensors_of "whole.resume", tensors_of "parts.resume"
        for name, t in pairs(whole) do assert.is_true(t:equal(parts[name]), name) end
    end)

    it("says what is wrong with files and options", function()
        local cases = {
            { "--train missing.tsv --valid missing.tsv", "missing.tsv: No such file" },
            { ("--train %s/train.tsv"):format(folder), "--train needs --valid" },
            { "--steps 0", "expected a whole number of at least 1, got '0'" },
            { "--heads 3", "--heads: expected a divisor of the 64 features of --d-model, got 3" },
            { "--vocab 10", "--vocab: expected at least 260" },
            { "--load missing", "missing: No such file" },
            { "--load README.md", "README.md: not a safetensors file" },
            { "--resume", "--resume needs the --save FILE" },
            { "--dropout 2", "expected a number from 0 to 1, got '2'" },
            { "--test README.md", "--test needs --train" },
            { "--output out", "--output needs --test" },
            { "--attention a.svg", "--attention needs --load" },
            { "--load README.md --head 2.1", "--head needs --attention" },
            { "--load README.md --attention a.svg --head 2.",
                "expected a layer, or its head such as 2.8, got '2.'" },
            { "--load README.md --attention a.svg --head 0.1", "expected a layer, or its head" },
            { (train_command("none", "--steps 1 --test missing.tsv"):gsub("^%S+ ", "")),
                "missing.tsv: No such file" },
            { (train_command("none", ("--steps 1 --test %s/test.tsv --output %s"):format(folder,
                folder)):gsub("^%S+ ", "")),
                "Is a directory" },
        }
        for _, case in ipairs(cases) do
            local _, errors, status = command.run("examples/translate.lua " .. case[1])
            assert.not_equal(0, status)
            assert.truthy(errors:find(case[2], 1, true), errors)
            assert.falsy(errors:find("stack traceback", 1, true), errors)
        end
    end)

    it("refuses to go on with another model or other pairs", function()
        assert.equal(0, (select(3, command.run(train_command("first", "--steps 3")))))
        local _, errors = command.run(train_command("first", "--steps 3 --resume --d-ff 64"))
        assert.truthy(errors:find("its d_ff is 128, the options say 64", 1, true), errors)
        _, errors = command.run((train_command("first", "--steps 3 --resume"):gsub("train%.tsv",
            "test.tsv")))
        assert.truthy(errors:find "the options say" or errors:find "examples"
            or errors:find "learned from other pairs", errors)
    end)
end)
