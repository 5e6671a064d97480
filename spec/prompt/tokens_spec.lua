local tokens = require "heed.prompt.tokens"

local function kinds(text)
    local list = {}
    for i, token in ipairs(tokens.read(text)) do
        list[i] = token.kind .. " " .. token.text .. (token.open and " open" or "")
    end
    return list
end

describe("tokens", function()
    it("are names, keywords, numbers, strings, comments and symbols", function()
        assert.are.same({ "keyword local", "name x", "symbol =", "number 0x1p-3", "symbol ..",
            "string 'a\\'b'",
            "symbol ~=", "number 1e-5", "symbol //", "number .5", "comment -- end" },
            kinds "local x=0x1p-3 .. 'a\\'b'~=1e-5//.5-- end")
        assert.are.same({ "symbol ...", "symbol ::", "name a", "symbol ::", "symbol é" },
            kinds "... ::a:: é")
    end)

    it("know long brackets", function()
        assert.are.same({ "string [==[a]]\n]==]", "comment --[[x\n]]", "name y" },
            kinds "[==[a]]\n]==] --[[x\n]] y")
        assert.are.same({ "name t", "symbol [", "number 1", "symbol ]" }, kinds "t[1]")
    end)

    it("say what does not end", function()
        assert.are.same({ "name x", "symbol =", 'string "abc open' }, kinds 'x = "abc')
        assert.are.same({ 'string "abc open', "name y" }, kinds '"abc\ny')
        assert.are.same({ "string [[ab open" }, kinds "[[ab")
        assert.are.same({ "comment --[[ab open" }, kinds "--[[ab")
        assert.are.same({ "string 'a\\z\n  b'" }, kinds "'a\\z\n  b'")
        assert.are.same({ "string 'a\\\nb'" }, kinds "'a\\\nb'")
    end)

    it("cover whatever text, without a gap but blanks", function()
        math.randomseed(7)
        local pieces = { "a", "1", '"', "'", "\\", "\n", " ", "[[", "]]", "--", "[=[", ".", "é", "\xff", "0x", "z", "e+" }
        for _ = 1, 500 do
            local text = {}
            for i = 1, 12 do text[i] = pieces[math.random(#pieces)] end
            text = table.concat(text)
            local at = 1
            for _, token in ipairs(tokens.read(text)) do
                assert.is_truthy(text:sub(at, token.first - 1):find "^%s*$")
                assert.is_true(token.last >= token.first)
                assert.are.equal(token.text, text:sub(token.first, token.last))
                at = token.last + 1
            end
            assert.is_truthy(text:sub(at):find "^%s*$")
        end
    end)
end)
