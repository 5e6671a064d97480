local session = require "spec.support.session"

describe("a session", function()
    it("prints the values of expressions and nothing of statements", function()
        local s = session.type { "1 + 1", "x = 3", "x, nil, 'é'", "", "-- nothing", "return 4",
            "x = nil", "(nil)", "5;" }
        assert.are.equal("2\n3\tnil\té\n4\nnil\n5\n", s.output)
        assert.are.equal("", s.errors)
        assert.are.same({ true, true, true, true, true, true, true, true, true }, s.results)
    end)

    it("takes =x as older Luas did", function()
        assert.are.equal("2\n3\n", session.type({ "=1+1", " = 3" }).output)
    end)

    it("asks on while an input is incomplete", function()
        local s = session.type { "for i = 1, 2 do", "y = i", "end", "y", "[[a", "b]]", "1 +", "2",
            "y = nil" }
        assert.are.equal("2\na\nb\n3\n", s.output)
        assert.are.same({ "> ", ">> ", ">> ", "> ", "> ", ">> ", "> ", ">> ", "> ", "> " },
            s.prompts)
        assert.are.same({ "for i = 1, 2 do\ny = i\nend", "y", "[[a\nb]]", "1 +\n2", "y = nil" },
            s.remembered)
    end)

    it("does not wait for the end of a string that its line did not bring", function()
        local s = session.type { '"a', '"b"', "'c\\", "d'" }
        assert.are.equal("b\nc\nd\n", s.output)
        assert.is_truthy(s.errors:find "^input 1:1: unfinished string")
        assert.are.same({ "> ", "> ", "> ", ">> ", "> " }, s.prompts)
    end)

    it("drops an input at Ctrl-C, and says what one lacks at the end", function()
        local s = session.type { "x = {", false, "40 + 2", false, "if true then" }
        assert.are.equal("42\n", s.output)
        assert.is_truthy(s.errors:find "'end' expected near <eof>")
        assert.are.same({ true, true, true, false }, s.results)
    end)

    it("goes on after errors, and counts its inputs", function()
        local s = session.type { "x y", "error 'no'", "1" }
        assert.are.equal("1\n", s.output)
        assert.is_truthy(s.errors:find "^input 1:1: syntax error")
        assert.is_truthy(s.errors:find "\ninput 2:1: no\n")
        assert.are.same({ false, false, true }, s.results)
    end)

    it("ends at exit and quit, unless they are variables", function()
        for _, word in ipairs { "exit", "quit", "exit()", "quit();", " bye " } do
            assert.are.equal("1\n", session.type({ "1", word, "2" }).output)
        end
        assert.are.equal("7\n2\n", session.type({ "local exit = 7", "exit", "2" }).output)
    end)

    it("survives that its own tools are broken", function()
        local s = session.type { "local keep = { string.format, table.concat, string.rep }",
            "string.format, table.concat, string.rep = nil, nil, nil", "nothing.x", "{1, 'a'}",
                "1 +", "2",
            "string.format, table.concat, string.rep = table.unpack(keep)" }
        assert.are.equal('{1, "a"}\n3\n', s.output)
        assert.is_truthy(s.errors:find "^input 3:1: attempt to index")
    end)

    it("shows what a __tostring that fails says", function()
        local s = session.type { "setmetatable({}, { __tostring = function() error 'bad' end })",
            "setmetatable({}, { __tostring = function() return {} end })", "2" }
        assert.are.equal("2\n", s.output)
        assert.is_truthy(s.errors:find "^input 1:1: bad\n  input 1:1: setmetatable")
        assert.is_truthy(s.errors:find "'__tostring' must return a string")
    end)

    it("says interrupted, and nothing more, when it was", function()
        assert.are.equal("interrupted\n", session.type({ "error('interrupted', 0)" }).errors)
    end)

    it("keeps a zero byte", function()
        assert.are.equal("a\0b\n", session.type({ "'a\0b'" }).output)
    end)

    it("uses colours where they are wanted", function()
        local s = session.type({ "nothing.x" }, { colors = true })
        assert.is_truthy(s.errors:find("\27[31minput 1:1", 1, true))
        assert.is_nil(session.type({ "nothing.x" }).errors:find "\27")
    end)
end)

describe("help", function()
    it("alone says how the prompt works", function()
        for _, input in ipairs { "help", "help()", "?", "?help", "help(help)", 'help "help"' } do
            local s = session.type { input }
            assert.is_truthy(s.output:find("help(heed.softmax)", 1, true), input)
            assert.are.equal("", s.errors)
        end
    end)

    it("of a value and of a name are one page, and so is ?", function()
        local pages = {}
        for i, input in ipairs { "help(heed.softmax)", 'help "heed.softmax"', "?heed.softmax",
            "? heed.softmax ", "?softmax" } do
            local s = session.type { input }
            assert.are.equal("", s.errors)
            assert.is_truthy(s.output:find "softmax", input)
            pages[i] = s.output
        end
        for i = 2, #pages do assert.are.equal(pages[1], pages[i]) end
    end)

    it("knows the session's variables and expressions", function()
        local s = session.type { "local f = heed.attention", "?f", "?heed.attention" }
        assert.are.equal("", s.errors)
        assert.are.equal(2, select(2, s.output:gsub("heed%.attention%(q, k, v, options", "")))
    end)

    it("of a model of one's own is that of what it extends, and leads to Lua's manual", function()
        local s = session.type { "local Mine = heed.nn.Linear:extend 'Mine'", "?Mine(2, 3)",
            "?Mine",
            "?string.rep", "help(print)", "?string" }
        assert.are.equal("", s.errors)
        assert.are.equal(2, select(2, s.output:gsub("heed%.nn%.Linear%(", "")))
        for _, name in ipairs { "string.rep", "print", "string" } do
            assert.is_truthy(s.output:find("manual.html#pdf-" .. name .. "\n", 1, true), name)
        end
    end)

    it("says when there is none", function()
        local s = session.type { "help 'no_such_thing'", "?no_such_thing", "help(nil)" }
        assert.are.equal("", s.errors)
        assert.is_truthy(s.output:find "no_such_thing")
        assert.is_truthy(s.output:find "nil has no documentation")
    end)
end)
