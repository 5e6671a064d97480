local heed = require "heed"
local words = require "heed.text.words"

local function cut(text)
    local vocabulary, list = words(text, { specials = {} }), {}
    for i, id in ipairs(vocabulary:encode(text)) do list[i] = vocabulary:token(id) end
    return table.concat(list, "|")
end

describe("text.words", function()
    it("has the most frequent words first, after the special tokens", function()
        local vocabulary = words { "b a b", "c b a" }
        assert.are.equal(7, #vocabulary)
        assert.are.same({ 6, 5, 7 }, vocabulary:encode "a b c")
        assert.are.equal("<pad>", vocabulary:token(vocabulary.pad))
        assert.are.same(words { "z y x" }:encode "x y z", { 5, 6, 7 }) -- equals by their bytes
    end)

    it("cuts at spaces and marks, but not inside words and numbers", function()
        assert.are.equal("It|cost|3.50|,|didn't|it|?|!", cut "It cost 3.50, didn't it?!")
        assert.are.equal("well-known|-|don’t|'|quoted|'|end|.", cut "well-known - don’t 'quoted' end.")
        assert.are.equal("Übung|“|né|”|日本|。", cut "Übung\u{A0}“né” 日本。")
        assert.are.equal("1,000|.|a|.|b|snake_case", cut "1,000. a.b\nsnake_case")
        assert.are.equal("", cut " \t\n")
        assert.are.equal("a\xFF|b", cut "a\xFF b")
    end)

    it("leaves out rare words, and keeps to a size", function()
        local text = "a a a b b c"
        assert.are.equal(6, #words(text, { min_count = 2 }))
        assert.are.equal(5, #words(text, { max_size = 5 }))
        assert.are.equal(4, #words(text, { max_size = 4 }))
        assert.are.same({ 5, 4, 4 }, words(text, { max_size = 5 }):encode "a b c")
        assert.are.equal(3, #words(text, { specials = {} }))
        assert.are.equal(4, #words {})
    end)

    it("takes words that somebody else has cut", function()
        local vocabulary = words { { "New York", "is" }, "is big" }
        assert.are.same({ 6, 5, 7 }, vocabulary:encode { "New York", "is", "big" })
        assert.are.equal("New York is big", vocabulary:decode { 6, 5, 7 })
    end)

    it("gives unk for what it lacks, or an error without unk", function()
        local vocabulary = words "a b"
        assert.are.same({ 5, 4 }, vocabulary:encode "a z")
        assert.are.equal("a <unk>", vocabulary:decode { 2, 5, 4, 3, 1 })
        assert.error_matches(function() words("ab", { specials = { "pad" } }):encode "z" end,
            'heed.text.Words:encode: text: "z" is not in the vocabulary')
    end)

    it("adds special tokens, and decodes vectors", function()
        local vocabulary = words "a b"
        local ids = vocabulary:encode("a b", { bos = true, eos = true })
        assert.are.same({ 2, 5, 6, 3 }, ids)
        assert.are.equal("a b", vocabulary:decode(heed.ids(ids)))
        assert.error_matches(function() vocabulary:decode { 9 } end,
            "ids: expected tokens from 1 to 6, got 9 at 1")
    end)

    it("says what is wrong with its arguments", function()
        for message, call in pairs {
            ["source: expected a table, got 5"] = function() words(5) end,
            ["source%[2%]: expected a string or a list of words, got 5"] = function()
                words { "a", 5 }
            end,
            ["source%[1%]: expected words, got \"\" at 1"] = function() words { { "" } } end,
            ["min_count: expected an integer of at least 1, got 0"] = function()
                words("a", { min_count = 0 })
            end,
            ["max_size: expected an integer of at least 4, got 3"] = function()
                words("a", { max_size = 3 })
            end,
            ["specials: .*encode.* is not a new name"] = function()
                words("a", { specials = { "encode" } })
            end,
            ["text: expected a string or a list of words, got nil"] = function()
                words("a"):encode(nil)
            end,
            ["id: expected a token from 1 to 5, got 6"] = function() words("a"):token(6) end,
        } do
            assert.error_matches(call, message)
        end
    end)

    it("becomes what state_dict was taken of, and nothing else", function()
        local vocabulary, other = words "hello there", words ""
        other:load_state_dict(vocabulary:state_dict())
        assert.are.same(vocabulary:encode "there hello", other:encode "there hello")
        assert.are.equal(tostring(vocabulary), tostring(other))
        for _, state in ipairs { {}, { specials = { "encode" }, words = {} },
            { specials = {}, words = { 5 } }, { specials = {}, words = { "" } } } do
            assert.is_nil((other:check_state_dict(state)))
            assert.has_error(function() other:load_state_dict(state) end)
        end
    end)

    it("is kept in a checkpoint", function()
        local path, vocabulary, other = os.tmpname(), words "a b c", words ""
        assert(heed.checkpoint.save(path, { words = vocabulary }))
        assert(heed.checkpoint.load(path, { words = other }))
        os.remove(path)
        assert.are.same({ 5, 6, 7 }, other:encode "a b c")
    end)
end)
