local heed = require "heed"

describe("viz.attention", function()
    it("draws a row a query and a column a key", function()
        local weights = heed.tensor { { 1.0, 0.0, 0.0 }, { 0.5, 0.5, 0.0 }, { 0.25, 0.25, 0.5 } }
        assert.are.equal(table.concat({
            "  d",
            "  e a c",
            "a ██",
            "b ▒▒▒▒",
            "c ░░░░▒▒" }, "\n"), tostring(heed.viz.attention(weights, { x = { "de", "a", "c" }, y = "abc" })))
    end)

    it("draws every head, numbers by default", function()
        local text = tostring(heed.viz.attention(heed.full({ 2, 1, 2 }, 0.5)))
        assert.are.equal("head 1\n  1 2\n1 ▒▒▒▒\n\nhead 2\n  1 2\n1 ▒▒▒▒", text)
        assert.are.equal(text, tostring(heed.viz.attention(heed.full({ 1, 2, 1, 2 }, 0.5))))
    end)

    it("keeps its columns with wide characters and long labels", function()
        local text = tostring(heed.viz.attention(heed.ones(2, 2), { x = { "日本", "ab" }, y = { ("x"):rep(40), "日" } }))
        local rows = {}
        for line in text:gmatch "[^\n]+" do rows[#rows + 1] = line end
        assert.are.equal(4, #rows)
        assert.are.equal(("x"):rep(17) .. "… ████", rows[3])
        assert.are.equal((" "):rep(16) .. "日 ████", rows[4])
        assert.are.equal((" "):rep(19) .. "日a", rows[1])
    end)

    it("teaches on misuse", function()
        assert.error_matches(function() heed.viz.attention(heed.ones(2, 2), { x = { "a" } }) end, "x: expected 2 labels, got 1")
        assert.error_matches(function() heed.viz.attention(5) end, "expected a tensor, got 5")
        assert.error_matches(function() heed.viz.attention(heed.ones(2)) end, "expected %[L, S%]")
    end)
end)
