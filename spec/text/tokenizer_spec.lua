local heed = require "heed"
require "heed.luassert"
local shell = require "spec.support.shell"

-- spec/fixtures/record_tokenizers.py: tokenizers of every kind, and what `tokenizers` makes of texts.
local recorded = assert(heed.json.decode(shell.read "spec/fixtures/tokenizers.json"))

local function with_file(text, run, ending)
    local path = os.tmpname() .. (ending or "")
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
    local ok, message = pcall(run, path)
    os.remove(path)
    if not ok then error(message, 0) end
end

local function open(name)
    local tokenizer
    with_file(recorded[name].file, function(path) tokenizer = assert(heed.text.tokenizer(path)) end)
    return tokenizer
end

local function shifted(ids)
    local list = {}
    for i, id in ipairs(ids) do list[i] = id + 1 end
    return list
end

local function pairs_of(ends)
    local list = {}
    for i = 1, #ends, 2 do
        -- What is not in the text stands at { 1, 0 }.
        list[#list + 1] = { ends[i] + 1, ends[i + 1] }
    end
    return list
end

describe("a tokenizer of tokenizer.json", function()
    for name, kind in pairs(recorded) do
        it("gives the ids, offsets and texts of the reference: " .. name, function()
            local tokenizer = open(name)
            for _, case in ipairs(kind.cases) do
                local options = { pair = case.pair, offsets = true }
                local ids, offsets = tokenizer:encode(case.text, options)
                assert.are.same(shifted(case.ids), ids)
                assert.are.same(pairs_of(case.ends), offsets)
                assert.are.same(ids, tokenizer:encode(case.text, { pair = case.pair }))
                assert.are.equal(case.plain, tokenizer:decode(ids))
                assert.are.equal(case.whole, tokenizer:decode(ids, { specials = true }))
            end
        end)

        it("gives whole characters one id after the other: " .. name, function()
            local tokenizer = open(name)
            for _, case in ipairs(kind.cases) do
                local stream, parts = tokenizer:stream { specials = true }, {}
                for i, id in ipairs(case.ids) do
                    parts[i] = stream:push(id + 1)
                    assert.is_truthy(utf8.len(parts[i]))
                end
                parts[#parts + 1] = stream:finish()
                -- Where bytes do not fit together, what was given already stays as it was.
                if not case.whole:find "\u{FFFD}" then
                    assert.are.equal(case.whole, table.concat(parts))
                end
            end
        end)
    end

    it("knows its tokens by name and number", function()
        local tokenizer = open "bert"
        assert.are.equal(3, tokenizer:id "[CLS]")
        assert.are.equal("[CLS]", tokenizer:token(3))
        assert.is_nil(tokenizer:id "no such token")
        assert.is_nil(tokenizer:token(#tokenizer + 1))
        assert.is_nil(tokenizer:token(0))
        assert.are.equal(("tokenizer of %d tokens"):format(#tokenizer), tostring(tokenizer))
    end)

    it("leaves out what it puts around, and reads specials in a text as text, when asked", function()
        local tokenizer = open "bert"
        local around = tokenizer:encode "the fox"
        local bare = tokenizer:encode("the fox", { specials = false })
        assert.are.same(around, { 3, bare[1], bare[2], 4 })
        local special = tokenizer:encode("[SEP]", { specials = false })
        assert.are.same({ 4 }, special)
        local plain = tokenizer:encode("[SEP]", { specials = false, specials_in_text = false })
        for _, id in ipairs(plain) do assert.are_not.equal(4, id) end
    end)

    it("cuts to a length, from the longer of two texts", function()
        local tokenizer = open "bert"
        local ids = tokenizer:encode("the quick brown fox", { truncate = 4 })
        assert.are.equal(4, #ids)
        assert.are.same({ 3, 4 }, { ids[1], ids[4] })
        local both = tokenizer:encode("the", { pair = "the quick brown fox", truncate = 6 })
        assert.are.equal(6, #both)
        assert.are.same({ 3, 4, 4 }, { both[1], both[3], both[6] })
        assert.are.same({ 3, 4 }, tokenizer:encode("the fox", { truncate = 0 }))
    end)

    it("makes batches", function()
        local tokenizer = open "bert"
        local ids, lengths = tokenizer:encode_batch { "the fox", "the quick brown fox" }
        assert.are.same({ 4, 6 }, lengths)
        assert.has_shape(ids, { 2, 6 })
        assert.are.equal("i64", ids.dtype)
        assert.are.same({ 1, 1 }, { ids[{ 1, 5 }], ids[{ 1, 6 }] })
    end)

    it("reads bytes that are no UTF-8 as U+FFFD", function()
        local tokenizer = open "gpt2"
        local ids, offsets = tokenizer:encode("a\xFFb\xE2\x82", { offsets = true })
        assert.are.same(tokenizer:encode "a\u{FFFD}b\u{FFFD}", ids)
        assert.are.same({ 1, 1 }, offsets[1])
        assert.are.same({ 4, 5 }, offsets[#offsets])
    end)

    it("reads a long text without a space in time that grows with its length", function()
        local tokenizer = open "llama"
        local text = ("thequickbrown"):rep(20000)
        assert.are.equal(text, tokenizer:decode(tokenizer:encode(text)))
        local unigram = open "unigram_always"
        assert.is_true(#unigram:encode(text) > 20000)
    end)

    it("survives a finalizer that encodes with it", function()
        local tokenizer = open "gpt2"
        local want = tokenizer:encode(("the quick brown fox "):rep(50))
        collectgarbage "generational"
        for _ = 1, 200 do
            setmetatable({}, { __gc = function() tokenizer:encode "a dog" end })
            assert.are.same(want, tokenizer:encode(("the quick brown fox "):rep(50)))
        end
        collectgarbage "incremental"
    end)
end)

describe("a tokenizer's file", function()
    local function refused(change, message, name)
        local file = assert(heed.json.decode(recorded[name or "gpt2"].file))
        change(file)
        with_file(heed.json.encode(file), function(path)
            local tokenizer, problem = heed.text.tokenizer(path)
            assert.is_nil(tokenizer)
            assert.matches(message, problem)
            assert.are.equal(path, problem:sub(1, #path))
        end)
    end

    it("that says what is not known is refused with the name of it", function()
        refused(function(f) f.normalizer = { type = "Rot13" } end, "normalizer: unknown: Rot13")
        refused(function(f) f.pre_tokenizer = { type = "Guess" } end, "pre_tokenizer: unknown: Guess")
        refused(function(f) f.model.type = "Magic" end, "model: unknown: Magic")
        refused(function(f) f.decoder = { type = "CTC2" } end, "decoder: unknown: CTC2")
        refused(function(f) f.post_processor = { type = "Wrap" } end, "post_processor: unknown: Wrap")
        refused(function(f)
            f.pre_tokenizer = { type = "Split", pattern = { Regex = "(?<=" }, behavior = "Isolated" }
        end, "regular expression")
        refused(function(f)
            f.pre_tokenizer = { type = "Split", pattern = { Regex = "a" }, behavior = "Doubled" }
        end, "behavior: unknown: Doubled")
    end)

    it("that is wrong is refused", function()
        refused(function(f) f.model.merges[1] = "nothing" end, "merges: merge 1: expected two tokens")
        refused(function(f) f.model.merges = 5 end, "merges: expected a table, got a number")
        refused(function(f) f.model.vocab["x y z"] = -1 end, "expected ids from 0, got %-1")
        refused(function(f) f.model = 1 end, "model: expected a table, got a number")
        refused(function(f) f.model.vocab[1][1] = 5 end, "vocabulary", "unigram_always")
        with_file("{", function(path)
            assert.matches("line 1", select(2, heed.text.tokenizer(path)))
        end)
        assert.matches("No such file", select(2, heed.text.tokenizer "/nowhere/at/all"))
    end)

    it("beside which others stand gives special tokens their names", function()
        local directory = os.tmpname()
        os.remove(directory)
        assert(os.execute("mkdir " .. directory))
        local function put(name, text)
            local file = assert(io.open(directory .. "/" .. name, "w"))
            file:write(text)
            file:close()
        end
        assert.matches("expected one of tokenizer.json", select(2, heed.text.tokenizer(directory)))
        put("tokenizer.json", recorded.bert.file)
        put("special_tokens_map.json", '{"cls_token": "[CLS]", "sep_token": {"content": "[SEP]"}}')
        local tokenizer = assert(heed.text.tokenizer(directory))
        assert.are.same({ 3, 4 }, { tokenizer.cls, tokenizer.sep })
        put("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nfox\nthe\n##s\n")
        os.remove(directory .. "/tokenizer.json")
        local plain = assert(heed.text.tokenizer(directory))
        assert.are.same({ 3, 6, 5, 7, 2, 4 }, plain:encode "The FOXs ran")
        os.execute("rm -r " .. directory)
    end)

    it("may be a vocabulary of what a pattern finds", function()
        local vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nC\nCl\n[O-]\nc\n%12\n"
        with_file(vocabulary, function(path)
            local pattern = [=[(\[[^\]]+]|Cl?|c|N|\%[0-9]{2})]=]
            local tokenizer = assert(heed.text.tokenizer(path, { pattern = pattern }))
            assert.are.same({ 3, 6, 5, 7, 8, 9, 2, 4 }, tokenizer:encode "ClC [O-]c%12 N")
            assert.are.equal("ClC[O-]", tokenizer:decode { 3, 6, 5, 7, 4 })
            local none, message = heed.text.tokenizer(path, { pattern = "(" })
            assert.is_nil(none)
            assert.matches("regular expression that is not understood", message)
            assert.has_error(function() heed.text.tokenizer(path, { pattern = 5 }) end)
        end, ".txt")
    end)

    it("takes a pattern only where a vocab.txt leaves it open", function()
        with_file(recorded.bert.file, function(path)
            local none, message = heed.text.tokenizer(path, { pattern = "." })
            assert.is_nil(none)
            assert.matches("expected a vocab.txt, which a pattern is for", message)
        end)
    end)

    it("is only taken as a string", function()
        assert.has_error(function() heed.text.tokenizer(5) end,
            "heed.text.tokenizer: path: expected a string, got 5")
        local tokenizer = open "bert"
        assert.has_error(function() tokenizer:encode(5) end,
            "heed.Tokenizer:encode: text: expected a string, got 5")
        assert.has_error(function() tokenizer:encode("a", { size = 1 }) end)
        assert.has_error(function() tokenizer:decode { 0 } end)
        assert.has_error(function() tokenizer:decode { 1 << 40 } end)
        local uniform = function(ids) return heed.zeros(ids:size(1), #tokenizer) end
        local ok, problem = pcall(function()
            return tokenizer:decode(heed.generate(uniform, { 1 }, { max_new_tokens = 2, scores = true }))
        end)
        assert.is_false(ok)
        assert.matches("; heed.generate gives two results, and in parentheses only the first: "
            .. "tokenizer:decode((heed.generate(model, ids)))", problem, 1, true)
        assert.has_error(function() tokenizer.encode "a" end)
    end)
end)
