local session = require "spec.support.session"

-- What an input says on the way of errors, after others.
local function errors_of(...) return session.type({ ... }).errors end

local function hint_of(...) return errors_of(...):match "hint: ([^\n]*)\n$" end

describe("an error at the prompt", function()
    it("shows its line, and where in it", function()
        assert.are.equal("input 1:1: attempt to call a nil value (global 'prnt')\n  input 1:1: x "
            .. "= 1; prnt(x)\n"
            .. "                    ^^^^\nhint: did you mean print?\n", errors_of "x = 1; prnt(x)")
        assert.are.equal("input 1:2: ')' expected (to close '(' at line 1) near 'b'\n  input "
            .. "1:2:   a b\n"
            .. "                 ^\n", errors_of("f(", "  a b"))
    end)

    it("points below wide characters", function()
        local errors = errors_of "x = 'é漢' .. nothing.here"
        local line, caret = errors:match "\n(  input[^\n]*)\n([^\n]*)\n"
        assert.is_truthy(line:find "nothing")
        assert.are.equal(#"  input 1:1: x = 'é漢' .. " - 1 - 1, caret:find "%^" - 1)
    end)

    it("points nowhere when the name stands twice", function()
        assert.is_nil(errors_of("nothing.x = nothing.y"):find("^", 1, true))
    end)

    it("shows each of the person's lines once", function()
        local errors = errors_of("function heed_spec_f(n) return n == 0 and nothing.x or 1 + "
            .. "heed_spec_f(n - 1) end", "heed_spec_f(3)")
        assert.are.equal(1, select(2, errors:gsub("function heed_spec_f", "")))
        assert.is_truthy(errors:find "... 4 times\n  input 2:1: heed_spec_f%(3%)\n")
    end)

    it("says what became of the stack, and stays short", function()
        local errors = errors_of "local function f() return 1 + f() end f()"
        assert.is_truthy(errors:find "stack overflow: a function calls itself without end")
        assert.is_true(#errors < 600)
    end)

    it("that is no text is named, that has one says it", function()
        assert.is_truthy(errors_of("error {}"):find "^%(error object is a table value%)")
        assert.is_truthy(errors_of("error()"):find "^%(error object is a nil value%)")
        assert.is_truthy(errors_of("error(setmetatable({}, { __tostring = function() return "
            .. "'told' end }))"):find "^told\n")
        assert.is_truthy(errors_of("error(setmetatable({}, { __tostring = function() return {} "
            .. "end }))"):find "cannot be shown")
    end)

    it("that is very long is cut", function()
        assert.is_true(#errors_of "error(('x'):rep(1e6))" < 5000)
    end)

    it("comes without paths that nobody asked for", function()
        assert.is_truthy(errors_of("require 'no.such.module'"):find("^input 1:1: module "
            .. "'no.such.module' not found\n  input"))
    end)
end)

describe("a hint", function()
    it("names what was meant", function()
        for input, hint in pairs {
            ["prnt(1)"] = "did you mean print?",
            ["softmax(1)"] = "did you mean heed.softmax?",
            ["Linear(2, 3)"] = "did you mean heed.nn.Linear?",
            ["nn.Linear(2, 3)"] = "did you mean heed.nn?",
            ["heed.matmull(1)"] = "did you mean heed.matmul?",
            ["heed.arange(3)"] = "heed.range(first, last), which includes both",
            ["heed.nn.functional.relu(1)"] =
                "functions stand in heed itself, heed.relu(x), and losses in heed.loss",
            ["heed.optim.lr_scheduler.StepLR(1)"] = "opt.lr = rate(step), of heed.optim.schedule",
            ["heed.nn.Linearr(1)"] = "did you mean heed.nn.Linear?",
            ["heed.nn.linear(1)"] = "did you mean heed.nn.Linear?",
            ["string.formt('x')"] = "did you mean string.format?",
            ["require 'heed.optimm'"] = "did you mean heed.optim?",
            ["nothing_at_all()"] = "nothing is called nothing_at_all yet",
            ["nothing_at_all.x"] = "nothing is called nothing_at_all yet",
            ["1 + nothing_at_all"] = "nothing is called nothing_at_all yet",
        } do
            assert.are.equal(hint, hint_of(input), input)
        end
        assert.are.equal("did you mean counter?", hint_of("local counter = 1", "countr + 1"))
    end)

    it("knows what losses, layers and models have not", function()
        for input, hint in pairs {
            ["heed.loss.mse(1)"] = "did you mean heed.loss.mse_loss?",
            ["heed.loss.huber(1)"] = "did you mean heed.loss.huber_loss?",
            ["heed.loss.bce(1)"] = "heed.loss.bce_with_logits(input, target)",
            ["heed.loss.MSELoss()"] = "losses are functions: heed.loss.cross_entropy(logits, "
                .. "targets)",
            ["heed.nn.Quokka2d(1)"] = "heed.nn has no Quokka2d; help(heed.nn) lists its layers, "
                .. "nn.Module:extend makes one's own",
        } do
            assert.are.equal(hint, hint_of(input), input)
        end
        for input, hint in pairs {
            ["m:cuda()"] = "there are no devices: everything is on the processor",
                ["m:double()"] = 'model:to "f64"',
            ["m:save 'x'"] = "heed.safetensors.save(path, model:state_dict())",
                ["m:evall()"] = "did you mean m:eval?",
        } do
            assert.are.equal(hint, hint_of("m = heed.nn.Linear(2, 2)", input), input)
        end
        rawset(_G, "m", nil)
    end)

    it("knows a load whose message nobody read", function()
        local load = "local t = heed.npy.load 'nowhere.npy'"
        for _, use in ipairs { "t + 1", "heed.ones(2) + t", "heed.matmul(t, heed.ones(2))",
            "t:sum()", "t[1]", "#t", "t.shape" } do
            assert.are.equal("heed.npy.load gave nil and a message; t = "
                .. "assert(heed.npy.load(...)) raises it", hint_of(load, use), use)
        end
        local state = "local state, message = heed.safetensors.load('nowhere')"
        assert.is_truthy(hint_of(state,
            "heed.nn.Linear(1, 1):load_state_dict(state)"):find "^heed.safetensors.load gave nil")
        assert.is_nil((hint_of("local t = nil", "heed.ones(2) + t")))
    end)

    it("knows every call that gives nil and a message, by what is written about it", function()
        local gave = "%s gave nil and a message; %s = assert(%s(...)) raises it"
        for call, arguments in pairs {
            ["heed.data.tokens"] = "('nowhere', { window = 4, batch = 2 })",
            ["heed.data.csv"] = " 'nowhere'", ["heed.data.jsonl"] = " 'nowhere'",
            ["heed.data.lines"] = " 'nowhere'", ["heed.data.pairs"] = " 'nowhere'",
            ["heed.data.line_stream"] = " 'nowhere'", ["heed.data.line_index"] = " 'nowhere'",
            ["heed.npz.load"] = " 'nowhere'", ["heed.text.bpe.load"] = "('nowhere')",
            ["heed.image.load"] = [==[ [[nowhere]]]==], ["io.open"] = "[[nowhere]]",
        } do
            local hint = gave:format(call, "t", call)
            for _, use in ipairs { "for x, y in t do end", "print(t.names)", "t:columns()",
                "print(#t)" } do
                assert.are.equal(hint, hint_of("local t = " .. call .. arguments, use), call .. use)
                assert.are.equal(hint, hint_of("local t = " .. call .. arguments .. "; " .. use))
            end
        end
        assert.are.equal(gave:format("d.csv", "t", "d.csv"),
            hint_of("local d = heed.data", "local t = d.csv 'nowhere'", "for x in t do end"))
    end)

    it("knows such a call whose result the line goes on with", function()
        local gave = "%s gave nil and a message; assert(%s(...)) raises it"
        for input, call in pairs {
            ["for row in heed.data.csv 'nowhere' do end"] = "heed.data.csv",
            ["local c = heed.data.csv('nowhere'):columns()"] = "heed.data.csv",
            ["print(heed.data.csv('nowhere').names)"] = "heed.data.csv",
            ["for _, line in ipairs(heed.data.lines 'nowhere') do end"] = "heed.data.lines",
            ["print(heed.data.lines('nowhere')[1])"] = "heed.data.lines",
            ["heed.data.batches(heed.data.jsonl 'nowhere', { size = 2 })"] = "heed.data.jsonl",
            ["io.open('nowhere'):read 'a'"] = "io.open",
        } do
            assert.are.equal(gave:format(call, call), hint_of(input), input)
        end
        assert.is_nil(hint_of "print(heed.npy.save('nowhere', nil))")
        assert.are.equal("what stands behind in has no value", hint_of "for x in nil do end")
    end)

    it("knows that an element of a vector is a number", function()
        for input, hint in pairs {
            ["local t = heed.ones(3); for i = 1, 3 do print(t[i]:item()) end"] =
                "t[i] is a number already, without :item()",
            ["local t = { b = heed.ones(3, 2) }; local i = 1; print(1, t.b[i][i+1]:item())"] =
                "t.b[i][i+1] is a number already, without :item()",
            ["local x = heed.ones(3)[1]; print(x:item())"] =
                "x is a number already, without :item()",
            ["print(heed.ones(3):sum():item():item())"] = "it is a number already, without :item()",
            ["local t = heed.ones(3); print(t[1]:exp())"] =
                "t[1] is a number; t:select(1, i) gives a tensor without dimensions",
            ["local x = 5; print(x.y)"] = "numbers have no fields",
        } do
            assert.are.equal(hint, hint_of(input), input)
        end
    end)

    it("knows such a method, of what a call gave too", function()
        local path = os.tmpname()
        local file <close> = assert(io.open(path, "w"))
        file:write "a,b\n1,2\nx,4\n"
        file:flush()
        local open = ("assert(heed.data.csv(%q, { types = 'integer' }))"):format(path)
        local gave = "%s gave nil and a message; c = assert(%s(...)) raises it"
        assert.are.equal(gave:format("rows:columns", "rows:columns"),
            hint_of("local rows = " .. open, "local c = rows:columns()", "print(c.a)"))
        local method = "assert(...):tensor"
        assert.are.equal(gave:format(method, method),
            hint_of("local c = " .. open .. ":tensor()", "print(c.shape)"))
        os.remove(path)
    end)

    it("explains keys of tensors", function()
        assert.is_truthy(hint_of("x = heed.ones(3)",
            "x[{ 1, 2 }]"):find("t[{ {1, 2} }] is from 1 to 2", 1, true))
        assert.is_truthy(hint_of("x[1, 2]"):find("x[{ 1, 2 }]", 1, true))
        assert.is_truthy(hint_of("x = y.z[i, j] + 1"):find("x[{ 1, 2 }]", 1, true))
        local typed = session.type({ "x = heed.ones(3, 3)", "x[{ 1, 2 }]", "x[{1,2}]" },
            { terminal = true })
        assert.are.equal(1, select(2, typed.errors:gsub("is row 1, column 2", "")))
        typed = session.type({ "x = { [1] = 2 }", "x[{ 1, 2 }]", "x = heed.ones(3, 3)",
            "x[{ 1 }]" }, { terminal = true })
        assert.are.equal("", typed.errors)
        rawset(_G, "x", nil)
    end)

    it("knows what it is called elsewhere", function()
        for input, hint in pairs {
            ["len({})"] = "the length of t is #t", ["x = np.zeros(3)"] = "the table is called heed",
            ["unpack {}"] = "it is table.unpack",
        } do
            assert.is_truthy((hint_of(input) or ""):find(hint, 1, true), input)
        end
    end)

    it("says what a wrong call wanted", function()
        for input, hint in pairs {
            ["for i in { 1 } do end"] = "ipairs",
            ["for i in pairs(nil) do end"] = "no value", ["'a' + 1"] = "joined by ..",
                ["1 < nil"] = "no value",
            ["'a' .. nil"] = "tostring", ["('x')()"] = "operator",
                ["heed.ones.shape.x"] = "it is a function",
            ["1 < '2'"] = "tonumber",
        } do
            assert.is_truthy((hint_of(input) or ""):find(hint, 1, true),
                input .. ": " .. tostring(hint_of(input)))
        end
    end)

    it("translates what other languages write", function()
        for input, hint in pairs {
            ["x != 1"] = "~=", ["x += 1"] = "no +=", ["x++"] = "++", ["a && b"] = "and",
                ["a || b"] = "or", ["!x"] = "not",
            ["x = 2 ** 3"] = "^", ["a @ b"] = "matmul", ["if x = 1 then end"] = "==",
                ["import torch"] = "require",
            ["from heed import nn"] = "require", ["def f(x):"] = "function",
                ["x = lambda y: y"] = "function(x)",
            ["for i in range(3):"] = "ipairs", ["for (i = 0; i < 3; i++) {"] = "for i = 1",
                ["x[1:2]"] = "both ends",
            ["x = {a: 1}"] = "name = value", ["let x = 1"] = "local", ["x = a ? b : c"] = "and a or b", ['x = "abc'] = "[[",
            ["heed.tensor([1, 2])"] = "{1, 2}", ["x = [1, 2]"] = "{1, 2}",
            ["help softmax"] = "help(heed.softmax)", ["heed.softmax?"] = "?heed.softmax",
            ["# comment here"] = "--", ["function f() { }"] = "braces", ["2x = 1"] = "digit",
            ["if x then else if y then end end)"] = "elseif",
        } do
            assert.is_truthy((hint_of(input) or ""):find(hint, 1, true), input .. ": " .. tostring(hint_of(input)))
        end
    end)

    it("is not made of what stands in strings and comments", function()
        for _, input in ipairs { "error 'a != b'", "x y -- a != b", "x y '!='", "error 'just so'" } do
            assert.is_nil(hint_of(input), input)
        end
    end)

    it("follows a name that has no value, at a terminal", function()
        local function ask(input, terminal) return session.type({ input }, { terminal = terminal }).errors end
        assert.are.equal("hint: did you mean heed.matmul?\n", ask("heed.matmull", true))
        assert.are.equal("hint: did you mean heed.softmax?\n", ask("softmax", true))
        assert.are.equal("", ask("heed.matmull", false))
        assert.is_truthy(ask("local scope <close> = heed.scope()", true):find "^hint: scope is closed already")
        for _, input in ipairs { "nil", "heed.ones(2).grad", "_G.x_y_z", "1", "'x'" } do assert.are.equal("", ask(input, true), input) end
    end)
end)
