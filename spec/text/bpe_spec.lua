local bpe = require "heed.text.bpe"
local heed = require "heed"

local LINES = {
    "the cat sat on the mat", "the dog sat on the log", "a cat and a dog",
        "the mat, the log: 1984 and 1985",
    "Übermut tut selten gut", "über den Übermut", "the theory of the thing",
}

local function pieces(vocabulary, text)
    local list = {}
    for i, id in ipairs(vocabulary:encode(text)) do list[i] = vocabulary:token(id) end
    return table.concat(list, " ")
end

local function temporary(text)
    local path = os.tmpname()
    if text then
        local file = assert(io.open(path, "wb"))
        file:write(text)
        file:close()
    end
    return path
end

describe("text.bpe", function()
    local vocabulary = bpe.train(LINES, { vocab_size = 290 })

    it("counts special tokens, bytes and joined tokens", function()
        assert.are.equal(290, #vocabulary)
        assert.are.same({ pad = 1, bos = 2, eos = 3, unk = 4 }, vocabulary.special)
        assert.are.equal(3, vocabulary.eos)
    end)

    it("joins the most frequent pair first", function()
        -- "the" stands 7 times (and in "theory"): its pairs are the most frequent.
        assert.are.equal("▁t", vocabulary:token(261))
        assert.are.equal("▁the ▁cat", pieces(vocabulary, "the cat"))
    end)

    it("gives a word the same token at the start and inside", function()
        local ids = vocabulary:encode "the the"
        assert.are.same({ ids[1], ids[1] }, ids)
    end)

    it("never joins across the border of a word", function()
        for id = 261, #vocabulary do
            assert.is_nil(vocabulary:token(id):find("[^▁]▁"), vocabulary:token(id))
        end
    end)

    it("gives every text back", function()
        local texts = { "", " ", "  two  spaces ", "line\nline\r\n\n", "tab\tand\0zero",
            "\xff\xfe broken \xc3",
            "„Anführung“ – 12 °C", "日本語", "🙂🙂", " leading", "trailing ", ("x"):rep(5000),
                "\xC2\xA0nbsp\xC2" }
        for _, text in ipairs(texts) do
            assert.are.equal(text, vocabulary:decode(vocabulary:encode(text)))
        end
        local random = 12345
        for _ = 1, 500 do
            local bytes = {}
            for i = 1, 20 do
                random = (random * 1103515245 + 12345) % 2147483648
                bytes[i] = string.char(random // 65536 % 256)
            end
            local text = table.concat(bytes)
            assert.are.equal(text, vocabulary:decode(vocabulary:encode(text)))
        end
    end)

    it("adds and leaves out special tokens", function()
        local ids = vocabulary:encode("cat", { bos = true, eos = true })
        assert.are.equal(vocabulary.bos, ids[1])
        assert.are.equal(vocabulary.eos, ids[#ids])
        assert.are.equal("cat", vocabulary:decode(ids))
    end)

    it("is the same from run to run, and after save and load", function()
        local again, path = bpe.train(LINES, { vocab_size = 290 }), temporary()
        assert.is_true(vocabulary:save(path))
        local loaded = assert(bpe.load(path))
        os.remove(path)
        for id = 1, #vocabulary do
            assert.are.equal(vocabulary:token(id), again:token(id))
            assert.are.equal(vocabulary:token(id), loaded:token(id))
        end
        assert.are.same(vocabulary:encode "the Übermut of 1984",
            loaded:encode "the Übermut of 1984")
    end)

    it("becomes what state_dict was taken of", function()
        local other = bpe.new()
        other:load_state_dict(vocabulary:state_dict())
        assert.are.equal(290, #other)
        assert.are.same(vocabulary:encode "a dog", other:encode "a dog")
    end)

    it("stops when no pair stands twice", function()
        assert.are.equal(260, #bpe.train({ "abc" }, { vocab_size = 1000 }))
    end)

    it("takes an iterator", function()
        local i = 0
        local from_iterator = bpe.train(function()
            i = i + 1
            return LINES[i]
        end, { vocab_size = 290 })
        assert.are.equal(vocabulary:token(280), from_iterator:token(280))
    end)

    it("takes other special names, and refuses bad ones", function()
        assert.are.equal(2, bpe.new({ specials = { "pad", "mask" } }).mask)
        for _, names in ipairs { { "encode" }, { "a b" }, { "x", "x" }, { "cache" }, { 1 } } do
            assert.has_error(function() bpe.new { specials = names } end)
        end
    end)

    it("teaches on misuse", function()
        assert.error_matches(function() bpe.train("text", { vocab_size = 290 }) end,
            "lines: expected a list")
        assert.error_matches(function() bpe.train({ 5 }, { vocab_size = 290 }) end,
            "expected strings, got 5 at 1")
        assert.error_matches(function() bpe.train(LINES, { vocab_size = 100 }) end,
            "vocab_size: expected an integer of at least 260")
        assert.error_matches(function() bpe.train(LINES, { vocab_size = "290" }) end, "vocab_size")
        assert.error_matches(function() bpe.train(LINES, { size = 290 }) end,
            "there is no option \"size\"")
        assert.error_matches(function() vocabulary:decode { 291 } end,
            "tokens from 1 to 290, got 291 at 1")
        assert.error_matches(function() vocabulary:encode(5) end, "expected a string, got 5")
        assert.error_matches(function() vocabulary:encode("a", { bso = true }) end,
            'no option "bso"')
        assert.error_matches(function() vocabulary:encode("a", "bos") end,
            'options: expected a table of named options, { bos = ... }, got "bos"')
        assert.error_matches(function() vocabulary:decode(heed.ones(2)) end,
            "vector of integers .* got f32 tensor %[2%]")
        assert.error_matches(function() vocabulary:decode(heed.ids { { 5 } }) end,
            "vector of integers .* got i64 tensor %[1, 1%]")
    end)

    it("refuses files that are something else", function()
        local good = vocabulary:state_dict().text
        local cases = {
            ["not a vocabulary"] = "hello",
            ["line 2"] = "heed bpe 1\nnothing\n",
            ["is not a new name"] = "heed bpe 1\nspecials pad pad\nmerges 0\n",
            ["line 3"] = "heed bpe 1\nspecials pad\nmerges -1\n",
            ["cut off"] = good:sub(1, #good // 2):gsub("[^\n]*$", ""),
            ["does not join two tokens"] = "heed bpe 1\nspecials pad\nmerges 1\n2 300\n",
            ["joins what an earlier"] = "heed bpe 1\nspecials pad\nmerges 2\n2 3\n2 3\n",
            ["after the last merge"] = good .. "2 3\n",
        }
        for expected, text in pairs(cases) do
            local path = temporary(text)
            local loaded, message = bpe.load(path)
            os.remove(path)
            assert.is_nil(loaded)
            assert.is_truthy(message:find(expected, 1, true), message)
        end
        local doubling = { "heed bpe 1\nspecials pad\nmerges 60\n2 2" }
        for id = 258, 316 do doubling[#doubling + 1] = ("%d %d"):format(id, id) end
        local path = temporary(table.concat(doubling, "\n") .. "\n")
        assert.is_truthy(select(2, bpe.load(path)):find "more than 4096 bytes")
        os.remove(path)
        assert.is_nil((bpe.load "/nonexistent/vocabulary"))
        assert.is_nil((vocabulary:save "/nonexistent/vocabulary"))
    end)
end)
