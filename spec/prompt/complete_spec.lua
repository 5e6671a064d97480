local heed = require "heed"
local complete = require "heed.prompt.complete"
local session = require "spec.support.session"

local forbidden = setmetatable({ plain = 1 }, {
    __index = function() error "ran" end, __pairs = function() error "ran" end, __len = function()
        error "ran"
    end,
})

local variables = {
    heed = heed, t = heed.ones(2, 2), string = string, io = io, text = "abc", require = require,
        print = print, help = 1,
    model = heed.nn.TransformerEncoder(2, 8, 2, 16), mask = heed.mask.causal(),
        forbidden = forbidden,
    list = { { name = 1, number = 2 }, deep = { ["a b"] = { inner = 1 } } }, _hidden = 1, Class = 1,
    grown = heed.ones(2, { requires_grad = true }),
}
variables.grown:sum():backward()

local function candidates(text)
    local found = complete(text, session.scope(variables))
    return found.candidates, found.prefix, found.files
end

local function contains(text, ...)
    local list, set = candidates(text), {}
    for _, name in ipairs(list) do set[name] = true end
    for _, name in ipairs { ... } do assert.is_true(set[name], text .. ": no " .. name) end
    return set
end

describe("completion", function()
    it("of methods of tensors", function()
        local list, prefix = candidates "t:so"
        assert.are.same({ "softplus", "softplus_" }, (candidates "t:softp"))
        assert.are.equal("so", prefix)
        for _, name in ipairs(list) do assert.is_truthy(name:find "^so") end
        assert.are.same({ "shape" }, (candidates "t.shap"))
        assert.are.same({}, (candidates "t:shap"), "a colon is for methods")
        contains("grown.grad:", "sum", "add")
    end)

    it("of fields, through the tables of __index", function()
        contains("heed.nn.", "Linear", "Module", "TransformerEncoder")
        contains("model.layers[1].self_attn:", "forward", "parameters", "state_dict")
        contains("model.layers[1].", "self_attn", "norm1", "training")
        contains("mask:", "dense")
        contains("heed.nn.Linear:", "extend", "init")
        assert.are.same({ "name", "number" }, (candidates "list[1].n"))
        assert.are.same({ "inner" }, (candidates 'list.deep["a b"].i'))
    end)

    it("of strings' methods and of what require gave", function()
        contains("text:", "rep", "format")
        contains('("x"):', "rep")
        assert.are.same({ "Linear" }, (candidates 'require("heed.nn").Line'))
        assert.are.same({ "Linear" }, (candidates 'require "heed.nn".Line'))
        contains("io.stdout:", "write", "close")
    end)

    it("of variables, keywords and the words of the input", function()
        assert.are.same({ "text", "then", "true" }, (function()
            local list = {}
            for _, name in ipairs((candidates "t")) do
                if #name > 1 then list[#list + 1] = name end
            end
            return list
        end)())
        assert.are.same({ "function" }, (candidates "x = 1 func"))
        assert.are.same({ "parameter" }, (candidates "function f(parameter)\n  return para"))
        assert.are.same({ "print" }, (candidates "for i = 1, 2 do pri"))
        contains("x = ", "heed", "not", "model")
    end)

    it("of modules, and of names in help", function()
        contains('require "heed.', "heed.nn", "heed.mask")
        assert.are.same({ "heed.nn.module_list" }, (candidates "require('heed.nn.module_l"))
        assert.are.same({ "attention" }, (candidates 'help "heed.atten'))
        assert.are.same({ "Linear" }, (candidates 'help("heed.nn.Lin'))
        assert.are.same({ "attention" }, (candidates "?heed.atten"))
        assert.are.same({ "model" }, (candidates "? mode"))
    end)

    it("of files in other strings", function()
        local _, _, files = candidates 'io.open("spec/su'
        assert.is_true(files)
        _, _, files = candidates 't["a'
        assert.is_true(files)
    end)

    it("forgives the wrong case when nothing else fits", function()
        assert.are.same({ "Linear" }, (candidates "heed.nn.linea"))
        assert.are.same({ "Class" }, (candidates "class"))
    end)

    it("hides what begins with _ until it is asked for", function()
        assert.is_nil(contains("x = ")._hidden)
        assert.are.same({ "_hidden" }, (candidates "_hid"))
    end)

    it("offers nothing in comments, in numbers and after what is not known", function()
        for _, text in ipairs { "-- t:so", "--[[ t:so", "x = 12", "1.", "f().so", "nothing.so", "list[2].n", "list[i].n", "t:so:",
            "end.x" } do
            assert.are.same({}, (candidates(text)), text)
        end
    end)

    it("never runs anybody's code", function()
        assert.are.same({ "plain" }, (candidates "forbidden.pl"))
        assert.are.same({}, (candidates "forbidden.other."))
        local ran = false
        variables.strict = setmetatable({}, { __index = setmetatable({}, { __index = function() ran = true end }) })
        assert.are.same({}, (candidates "strict.a.b"))
        assert.is_false(ran)
    end)

    it("ends where __index goes in circles, and where a metatable is locked", function()
        local a, b = {}, { here = 1 }
        setmetatable(a, { __index = b })
        setmetatable(b, { __index = a, __metatable = "locked" })
        variables.circle = a
        assert.are.same({ "here" }, (candidates "circle."))
        variables.locked = setmetatable({}, { __index = { there = 1 }, __metatable = false })
        assert.are.same({ "there" }, (candidates "locked."))
    end)

    it("takes a dropped tensor and any text without an error", function()
        local gone = heed.ones(2)
        gone:free()
        variables.gone = gone
        candidates "gone.grad."
        candidates "gone.shape[1]."
        math.randomseed(3)
        local pieces = { "t", ".", ":", "[", "]", "1", '"', "(", ")", "heed", " ", "\n", "--", "[[", "help", "require", "?", "\xff" }
        for _ = 1, 2000 do
            local text = {}
            for i = 1, 8 do text[i] = pieces[math.random(#pieces)] end
            candidates(table.concat(text))
        end
    end)
end)

describe("the Tab key", function()
    local function press(before, lines, columns)
        local s = session.type(lines or {}, { columns = columns }).session
        return s:complete(before)
    end

    it("puts in what is sure, and lists what is not", function()
        _G.heed_spec_alpha, _G.heed_spec_alps = 1, 1
        local remove, insert, list = press "heed_spec_"
        assert.are.same({ 10, "heed_spec_alp" }, { remove, insert, list })
        remove, insert, list = press "x = heed_spec_alp"
        assert.are.same({ 0, "", "heed_spec_alpha  heed_spec_alps" }, { remove, insert, list })
        remove, insert, list = press "heed_spec_alph"
        assert.are.same({ 14, "heed_spec_alpha" }, { remove, insert, list })
        remove, insert, list = press "heed_spec_nothing"
        assert.are.same({ 0, "" }, { remove, insert, list })
        _G.heed_spec_alpha, _G.heed_spec_alps = nil, nil
    end)

    it("knows the session's locals, and indents an empty line", function()
        assert.are.same({ 10, "heed_local" }, { press("heed_local", { "local heed_local = 1" }) })
        assert.are.same({ 7, "variable" }, { press("variabl", { "local variable = 1" }) })
        assert.are.same({ 0, "    " }, { press "" })
        assert.are.same({ 0, "    " }, { press "  " })
    end)
end)

describe("the Tab key inside the braces of a call", function()
    local scope = session.scope { heed = heed, nn = heed.nn, x = heed.ones(2), model = heed.nn.MultiHeadAttention(4, 2), f = print }
    local function names(text) return table.concat(complete(text, scope).candidates, " ") end

    it("completes the names of options", function()
        for text, expected in pairs {
            ["nn.Linear(2, 3, {"] = "bias", ["nn.Linear(2, 3, { bi"] = "bias", ["x:sum { "] = "dim keepdim",
            ["x:sum { dim = 1, k"] = "keepdim", ["y = heed.zeros(2, { dtype = 'f64', req"] = "requires_grad",
            ["model(x, x, x, { m"] = "mask", ["model:state_dict {"] = "names", ["heed.tensor({ 1, 2 }, {"] = "dtype requires_grad",
            ["heed.attention(q, k, v, { mask = heed.mask.causal(), so"] = "softcap", ["nn.Linear(2, f(3), { bias = f { 1 }, b"] = "bias",
            ["for i = 1, 2 do x:sum(\n{ k"] = "keepdim",
        } do
            assert.are.equal(expected, names(text), text)
        end
    end)

    it("completes variables where no option fits", function()
        for _, text in ipairs { "heed.tensor({ mo", "f { mo", "{ mo", "y = { mo", "x[{ mo", "nn.Linear(2, 3, { bias = mo", "x:sum { mo",
            "nothing.here { mo", "nn.Linear(mo", "nn.Sequential { nn.ReLU(), mo" } do
            assert.are.equal("model", names(text), text)
        end
    end)
end)
