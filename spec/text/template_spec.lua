local heed = require "heed"
local shell = require "spec.support.shell"
local template = require "heed.text.template"

-- spec/fixtures/record_templates.py: what Jinja2 makes of small templates.
local recorded = assert(heed.json.decode(shell.read "spec/fixtures/templates.json"))

local function render(source, variables)
    local made, message = template.new(source)
    if not made then return nil, message end
    return made:render(variables or assert(template.json(recorded.variables)).map, recorded.now)
end

local function fails(source, message)
    local text, problem = render(source)
    assert.is_nil(text)
    assert.is_truthy(problem:find(message), problem)
end

describe("a template", function()
    for name, cases in pairs(recorded.cases) do
        it("does what Jinja2 does: " .. name, function()
            for _, case in ipairs(cases) do
                local text, problem = render(case.source)
                assert.are.equal(case.text, text, case.source .. ": " .. tostring(problem))
                if type(case.failed) == "string" then assert.are.equal(case.failed, problem) end
                if case.failed then assert.are.equal("string", type(problem)) end
            end
        end)
    end

    it("says what is wrong, and in which line", function()
        fails("a\n\n{{ n | nope }}", "^line 3: the filter 'nope' is not known$")
        fails("{{ n is nope }}", "^line 1: the test 'nope' is not known$")
        fails("{% nope %}", "^line 1: the tag 'nope' is not known$")
        fails("\n{{ missing.a }}", "^line 2: 'missing' is undefined$")
        fails("{{ tool.a.b }}", "^line 1: a dict has no 'a'$")
        fails("{% if n %}\n ", "^line 2: expected 'endif', got the end of the template$")
        fails("{{ list.append(1) }}", "'append' would change a list")
        fails("{{ 9223372036854775807 + 1 }}", "64 bits")
        fails("{{ 9223372036854775808 }}", "64 bits")
        fails("{{ 3037000500 * 3037000500 }}", "64 bits")
        fails("{{ list | map('upper') }}", "a generator cannot be printed")
    end)

    it("ends", function()
        fails("{% for i in range(99999) %}{% for i in range(99999) %}{% endfor %}{% endfor %}",
            "more than 5000000 steps")
        fails("{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(99) %}"
            .. "{% set ns.s = ns.s + ns.s %}{% endfor %}", "more than 268435456 bytes")
        fails("{{ 'a' * 9000000000000000000 }}", "bytes")
        fails("{{ [0] * 9000000000000000000 }}", "steps")
        fails("{{ 'a' | center(9000000000000000000) }}", "bytes")
        fails("{{ 'a' | indent(9000000000000000000) }}", "bytes")
        fails("{{ '%9000000000d' % 1 }}", "too much")
        fails("{{ '{:9000000000}'.format(1) }}", "too much")
        fails("{% set s = 'a' * 9000000 %}{{ s.replace('a', s) }}", "bytes")
        fails("{% set s = 'a' * 9000000 %}{{ ([s] * 100) | join }}", "bytes")
        fails("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "calls inside each other")
        fails("{{ " .. ("("):rep(100000) .. "1", "levels inside each other")
        fails("{{ " .. ("-"):rep(100000) .. "1 }}", "levels inside each other")
        fails("{{ " .. ("not "):rep(100000) .. "1 }}", "levels inside each other")
        fails(("{% if n %}"):rep(100000), "levels inside each other")
    end)

    it("keeps the order of names in JSON", function()
        local value = assert(template.json '{"b":1,"a":{"d":[],"c":null}}')
        local text = render("{{ v | tojson }}", { v = value })
        assert.are.equal('{"b": 1, "a": {"d": [], "c": null}}', text)
    end)

    it("refuses what is no JSON", function()
        for _, text in ipairs { "", "[", "[1,]", "{1:2}", "[01]", '"\n"', '"\\x"', '"\\ud800"',
            "tru", "[1] 2", "1.", "99999999999999999999", "\xff", ("["):rep(1000) } do
            local value, message = template.json(text)
            assert.is_nil(value)
            assert.is_truthy(message:find "JSON", message)
        end
    end)
end)

describe("tokenizer:chat", function()
    local tokenizer
    local MESSAGES = { { role = "user", content = "Hi" } }

    before_each(function()
        local path = os.tmpname() .. ".txt"
        local file <close> = assert(io.open(path, "w"))
        file:write "[UNK]\n[CLS]\nthe\n":close()
        tokenizer = assert(heed.text.tokenizer(path))
        os.remove(path)
    end)

    it("gives the text of the file's template", function()
        tokenizer.template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
            .. "{% if add_generation_prompt %}assistant:{% endif %}{{ tools }}{{ extra }}"
        assert.are.equal("user: Hi\nNone",
            tokenizer:chat(MESSAGES, { add_generation_prompt = false }))
        assert.are.equal("user: Hi\nassistant:None5",
            tokenizer:chat(MESSAGES, { extra = 5 }))
        assert.are.equal("user: Ho\nassistant:None",
            tokenizer:chat '[{"role": "user", "content": "Ho"}]')
        assert.are.equal("assistant:None", tokenizer:chat {})
    end)

    it("knows the special tokens", function()
        tokenizer.template = "{{ cls_token }}{{ bos_token is defined }}"
        tokenizer.names = { cls = "[CLS]" }
        assert.are.equal("[CLS]False", tokenizer:chat(MESSAGES))
    end)

    it("takes tools as text, with their order, and as tables", function()
        tokenizer.template = "{{ tools | tojson }}"
        assert.are.equal('[{"type": "function", "name": "f"}]',
            tokenizer:chat(MESSAGES, { tools = '[{"type": "function", "name": "f"}]' }))
        local tool = { type = "function", name = "f", list = heed.json.array {}, none = heed.json.null }
        assert.are.equal('[{"list": [], "name": "f", "none": null, "type": "function"}]',
            tokenizer:chat(MESSAGES, { tools = { tool } }))
        assert.are.equal("null", tokenizer:chat(MESSAGES, { tools = heed.json.null }))
    end)

    it("chooses among several templates", function()
        tokenizer.template = { { name = "default", template = "d" },
            { name = "tool_use", template = "t" }, { name = "rag", template = "r" } }
        assert.are.equal("d", tokenizer:chat(MESSAGES))
        assert.are.equal("t", tokenizer:chat(MESSAGES, { tools = "[]" }))
        assert.are.equal("r", tokenizer:chat(MESSAGES, { template = "rag" }))
        local text, message = tokenizer:chat(MESSAGES, { template = "other" })
        assert.is_nil(text)
        assert.is_truthy(message:find('no template "other" for chats', 1, true), message)
        tokenizer.template[2] = nil
        assert.are.equal("d", tokenizer:chat(MESSAGES, { tools = "[]" }))
    end)

    it("tells the time that it is given", function()
        tokenizer.template = "{{ strftime_now('%Y-%m-%d') }}"
        assert.are.equal(os.date("%Y-%m-%d", 86400 * 200), tokenizer:chat(MESSAGES,
            { now = 86400 * 200 }))
        assert.are.equal(os.date "%Y-%m-%d", tokenizer:chat(MESSAGES))
    end)

    it("gives nil and a message for what the file or the template refuses", function()
        for source, expected in pairs {
            ["{{ raise_exception('Roles!') }}"] = "^tokenizer:chat: template: Roles!$",
            ["{% nope %}"] = "^tokenizer:chat: template: line 1: the tag 'nope' is not known$",
        } do
            tokenizer.template = source
            local text, message = tokenizer:chat(MESSAGES)
            assert.is_nil(text)
            assert.is_truthy(message:find(expected), message)
        end
        tokenizer.template = nil
        local text, message = tokenizer:chat(MESSAGES)
        assert.is_nil(text)
        assert.are.equal("tokenizer:chat: the tokenizer's file has no template for chats", message)
    end)

    it("raises when it is misused", function()
        tokenizer.template = "x"
        local circle = {}
        circle[1] = circle
        for _, case in ipairs {
            { { 5 }, "messages: expected a table, got 5" },
            { { { role = "user" } }, "messages: expected a list" },
            { { "{}" }, "messages: expected a list" },
            { { "[" }, "messages: expected JSON" },
            { { { { content = print } } }, "messages%[1%]%.content: expected numbers" },
            { { circle }, "or a circle" },
            { { { { [2] = 1 } } }, "messages%[1%]: expected a list without holes" },
            { { MESSAGES, 5 }, "options: expected a table, got 5" },
            { { MESSAGES, { tools = 5 } }, "tools: expected a table, got 5" },
            { { MESSAGES, { add_generation_prompt = 1 } }, "add_generation_prompt: expected a boolean" },
            { { MESSAGES, { now = "x" } }, "now: expected an integer" },
            { { MESSAGES, { template = 1 } }, "template: expected a string" },
            { { MESSAGES, { 1 } }, "options: expected a string, got 1" },
        } do
            assert.error_matches(function() tokenizer:chat(table.unpack(case[1])) end, case[2])
        end
    end)
end)
