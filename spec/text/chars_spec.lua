local chars = require "heed.text.chars"

describe("text.chars", function()
    it("has the characters sorted after the special tokens", function()
        local vocabulary = chars "banana"
        assert.are.equal(7, #vocabulary)
        assert.are.same({ 6, 5, 7, 5 }, vocabulary:encode "bana")
        assert.are.equal("<eos>", vocabulary:token(vocabulary.eos))
    end)

    it("knows characters, not bytes", function()
        local vocabulary = chars({ "né", "日本" }, { specials = {} })
        assert.are.equal(4, #vocabulary)
        assert.are.equal(2, #vocabulary:encode "né")
        assert.are.equal("日né", vocabulary:decode(vocabulary:encode "日né"))
    end)

    it("takes bytes that are no characters", function()
        local text = "a\xffb\xc3"
        local vocabulary = chars(text)
        assert.are.equal(text, vocabulary:decode(vocabulary:encode(text)))
    end)

    it("gives unk for what it lacks, or an error without unk", function()
        assert.are.same({ 4 }, chars("ab"):encode "z")
        assert.error_matches(function() chars("ab", { specials = { "pad" } }):encode "z" end,
            '"z" is not in the vocabulary')
    end)

    it("adds special tokens, and leaves them out of texts", function()
        local vocabulary = chars "ab"
        local ids = vocabulary:encode("ab", { bos = true, eos = true })
        assert.are.same({ 2, 5, 6, 3 }, ids)
        assert.are.equal("ab", vocabulary:decode(ids))
        assert.error_matches(function() vocabulary:encode("a", { bso = true }) end,
            'no option "bso"')
        assert.error_matches(function()
            chars("ab", { specials = { "unk" } }):encode("a", { eos = true })
        end,
            "Chars:encode: eos: this vocabulary has no special token of that name %(it has: unk%)")
    end)

    it("becomes what state_dict was taken of, and nothing else", function()
        local vocabulary, other = chars "hello", chars ""
        other:load_state_dict(vocabulary:state_dict())
        assert.are.same(vocabulary:encode "hello", other:encode "hello")
        assert.has_error(function() other:load_state_dict {} end)
        assert.has_error(function()
            other:load_state_dict { specials = { "encode" }, characters = {} }
        end)
    end)
end)
