local bleu = require "heed.text.bleu"

describe("heed.text.bleu", function()
    it("tokenizes as 13a does", function()
        local got = table.concat(bleu.tokenize(
            "Hello, world! 1,000.5 (a/b) don't &quot;x&quot; 3-4."), "|")
        assert.equal("Hello|,|world|!|1,000.5|(|a|/|b|)|don't|\"|x|\"|3|-|4|.", got)
    end)

    it("splits at no-break spaces", function()
        assert.same({ "a", "b" }, bleu.tokenize("a\u{A0}b"))
    end)

    it("gives 100 to a perfect translation", function()
        local lines = { "the cat sat on the mat", "it rained all day long" }
        assert.near(100, (bleu.corpus(lines, lines)), 1e-9)
    end)

    -- Scores of sacreBLEU 2.6 on the same segments.
    it("gives sacreBLEU's scores", function()
        local references = { "The dog bit the man.", "It was not unexpected, was it?",
            "The man bit him first." }
        local hypotheses = { "The dog bit the man.", "It wasn't surprising, was it?",
            "The man had just bitten him." }
        local score, details = bleu.corpus(hypotheses, references)
        assert.near(49.87539, score, 1e-4)
        assert.equal(1, details.brevity_penalty)
        assert.near(0.00000, (bleu.corpus({ "The dog" }, { "The dog bit the man." })), 1e-4)
        assert.near(23.64354, (bleu.corpus({ "a b c d x" }, { "a b e f d" })), 1e-4)
    end)

    it("scores nothing in common, and nothing at all, with 0", function()
        assert.equal(0, (bleu.corpus({ "x y" }, { "a b" })))
        assert.equal(0, (bleu.corpus({ "" }, { "a b" })))
        assert.equal(0, (bleu.corpus({}, {})))
    end)

    it("refuses lists of different lengths", function()
        assert.error_matches(function() bleu.corpus({ "a" }, {}) end,
            "references: expected as many as hypotheses %(1%), got 0")
        assert.error_matches(function() bleu.corpus("a", "a") end,
            'hypotheses: expected a table, got "a"')
        assert.error_matches(function() bleu.corpus({ "a" }, { 5 }) end,
            "references: expected strings, got 5 at 1")
    end)
end)
