local heed = require "heed"
local annotations = require "heed.help.annotations"
local help = require "heed.help"

local function text(what, options) return assert(help.text(what, options)) end

local function has(what, ...)
    local all = text(what)
    for _, words in ipairs { ... } do
        assert(all:find(words, 1, true), ("%q is not in\n%s"):format(words, all))
    end
end

describe("help", function()
    it("says the signature, shapes and results of a function in C, and in Lua", function()
        has(heed.softmax, "heed.softmax(t, dim", "->  Tensor")
        has(heed.attention, "heed.attention(q, k, v, options?)", "[B, H, L, D]", "softcap?",
            "number", "before dropout")
    end)

    it("finds things by name, short or long, and methods", function()
        assert.equal(text(heed.softmax), text "softmax")
        assert.equal(text(heed.softmax), text "heed.softmax")
        assert.equal(text(heed.softmax), text "Tensor.softmax")
        assert.equal(text(heed.nn.Linear), text "nn.Linear")
        has("nn.Linear.state_dict", "state_dict(options?)", "PyTorch")
    end)

    it("knows classes, their instances, and what constructors make", function()
        has(heed.nn.RMSNorm, "heed.nn.RMSNorm(dim, options?)", "eps?", "rmsnorm(x)")
        assert.equal(text(heed.nn.RMSNorm), text(heed.nn.RMSNorm(4)))
        has(heed.mask.causal(), "heed.Mask", ":dense(L, S?")
        has(heed.optim.AdamW, ":state_dict()")
        has(heed.ones(2), "heed.Tensor", "requires_grad", "softmax")
    end)

    it("says an option once, as the class itself has it", function()
        local page = text(heed.nn.TransformerEncoder)
        assert.equal(1, select(2, page:gsub("rotary%?", "")))
        has(heed.nn.TransformerEncoder, "rotary?             boolean|table|heed.nn.Rotary one for all layers")
        has(heed.nn.TransformerEncoderLayer, "rotary?             boolean|table|heed.nn.Rotary turns queries")
    end)

    it("says in a list what each is in a sentence", function()
        local page = text(heed.models):gsub("%s+", " ")
        for _, want in ipairs { "Albert ALBERT: BERT with an embedding of fewer features than the "
            .. "layers have, and one layer's parameters in all layers of a group. Bart",
            "Llama Llama: logits of the next token. Marian" } do
            assert.is_truthy(page:find(want, 1, true), page)
        end
    end)

    it("says of a tokenizer how one opens it, and what it does", function()
        has(heed.text.tokenizer, "heed.text.tokenizer(path)", "->  Tokenizer|nil",
            ":encode(text, options?)")
        assert.equal(text(heed.text.tokenizer), text "text.tokenizer")
    end)

    it("says of forms in place what they are in place of", function()
        has(heed.exp_, "heed.exp_(t)", "In place", "y = e^x")
        has("Tensor.add_", "In place: writes into a")
    end)

    it("puts what an example prints below it where there is no room beside it", function()
        assert.is_truthy(text(heed.softmax, { width = 110 }):find("softmax(1)) --> [0.0900", 1,
            true))
        assert.is_truthy(text(heed.softmax, { width = 60 }):find("softmax(1))\n   --> [0.0900", 1,
            true))
    end)

    it("shows options once, with the argument that takes them", function()
        local options = text(heed.var):match "\n  keepdim%?.-\n\n"
        assert.is_truthy(options:find("correction?", 1, true))
        assert.is_nil(options:find("{", 1, true))
        has(heed.nn.TransformerEncoder, "final_norm?", "softcap?", "of the scores")
        has(heed.zeros, "dtype?", "requires_grad?")
    end)

    it("lists what stands in a table", function()
        has(heed, "nn", "attention", "help(heed.NAME)")
        has(heed.optim.schedule, "noam", "cosine")
    end)

    it("searches words in names and descriptions", function()
        local found = help.text "cross entropy"
        assert.is_truthy(found:find '^"cross entropy" is in\n\n  heed.loss.cross_entropy ')
        assert.is_truthy(found:find("heed.loss.linear_cross_entropy", 1, true))
        assert.is_truthy(help.text("label smoothing"):find("heed.loss.cross_entropy", 1, true))
        assert.is_truthy(help.text("Multi head"):find("heed.nn.MultiHeadAttention", 1, true))
        assert.is_nil((help.text "entropy of quokkas"))
        assert.is_truthy(help.text("softmax"):find "^heed.softmax%(")
    end)

    it("knows the options of what is called", function()
        local nn = heed.nn
        for names, value in pairs { ["bias"] = nn.Linear,
            ["bias elementwise_affine eps"] = nn.LayerNorm, ["dim keepdim"] = heed.sum,
            ["dtype requires_grad"] = heed.zeros, ["betas eps lr weight_decay"] = heed.optim.AdamW,
                ["names"] = nn.Module.state_dict,
            [""] = heed.matmul } do
            assert.are.equal(names, table.concat(help.options(value), " "))
        end
        assert.is_truthy(table.concat(help.options(nn.MultiHeadAttention(4, 2)),
            " "):find "mask.*weights")
        for _, nobodys in ipairs { 5, "x", {}, print, function() end } do
            assert.are.same({}, help.options(nobodys))
        end
        assert.are.same({}, help.options(nil))
        assert.are.same({}, help.options(heed.tensor, true))
        assert.are.same({ "dtype", "requires_grad" }, help.options(heed.tensor))
    end)

    it("says when there is nothing", function()
        local nothing, message = help.text "no_such_thing"
        assert.is_nil(nothing)
        assert.equal('heed has nothing called "no_such_thing"', message)
        assert.is_nil((help.text(print)))
        assert.has_error(function() help.text(nil) end)
    end)

    it("fits the width, and colours only when told", function()
        for line in text(heed.attention, { width = 50 }):gmatch "[^\n]+" do
            assert(utf8.len(line) <= 50 or line:find "^  > ", line) -- code is not broken
        end
        assert.is_nil(text(heed.attention):find("\27", 1, true))
        assert.is_truthy(text(heed.attention, { color = true }):find("\27[1m", 1, true))
    end)
end)

describe("annotations", function()
    local entries = annotations.read [[
---@class shop.Till: shop.Thing
---@field coins integer[] what it holds
local Till = thing:extend "Till"

-- ---- using it ------

---Opens it. Twice is fine.
---
---Second paragraph.
---
---```lua
---print(1)
---```
---@param key string|fun(x: integer): boolean what opens
---goes on here
---@param options? { loud?: boolean, to: table<string, integer> } loud: rings; to: where
---@return boolean ok
function Till:open(key, options)
end
Till.unlock = Till.open
local plain = 1
]]

    it("are read with their definitions", function()
        assert.equal(3, #entries)
        local class, open, unlock = table.unpack(entries)
        assert.same({ "shop.Till", "class", "shop.Thing" },
            { class.name, class.kind, class.parent })
        assert.same({ name = "coins", optional = false, type = "integer[]",
            text = "what it holds" }, class.fields[1])
        assert.same({ "Opens it. Twice is fine.", "Second paragraph." }, open.prose)
        assert.same({ "print(1)" }, open.examples)
        assert.same({ "key", "options" }, open.arguments)
        assert.same("string|fun(x: integer): boolean", open.params[1].type)
        assert.same("what opens goes on here", open.params[1].text)
        assert.same("{ loud?: boolean, to: table<string, integer> }", open.params[2].type)
        assert.same({ true, "ok" }, { open.params[2].optional, open.returns[1].text })
        assert.same({ "using it", "Till.open" }, { open.section, unlock.same_as })
    end)

    it("keep lists and the indentation of examples, leave out private fields, and know forms in "
        .. "place", function()
        local class, draw, in_place = table.unpack(annotations.read [[
---@class shop.Sign
---@field private paint string
---@field size integer
local Sign = {}

---Kinds:
---
---- plain, which
---  is cheap;
---- neon.
---
--- ```lua
--- for i = 1, 2 do
---     print(i)
--- end
--- ```
---@return integer # how many
---@return any ... the rest
function Sign:draw() end
Sign.draw_ = Sign.draw
]])
        assert.same({ "size" }, { class.fields[1].name, class.fields[2] })
        assert.equal("Sign", class.owner)
        assert.same({ "Kinds:", "- plain, which is cheap;", "- neon." }, draw.prose)
        assert.same({ "for i = 1, 2 do\n    print(i)\nend" }, draw.examples)
        assert.same({ "how many", "any ...", "the rest" },
            { draw.returns[1].text, draw.returns[2].type, draw.returns[2].text })
        assert.equal("Sign.draw", in_place.same_as)
    end)

    it("go on in a line that begins with a minus", function()
        local entry = annotations.read("---A row of nothing but\n----inf gives 0.\n-----------\n"
            .. "---Of NaN\n----inf is none.\nlocal function f() end\n")[1]
        assert.same({ "Of NaN -inf is none." }, entry.prose)
        has(heed.softmax, "e^x / Σ e^x along a dimension", "but -inf gives 0s")
    end)

    it("have a header, in paragraphs, and short names of types", function()
        local source = '---@meta _\n--- Signs.\n---\n--- Of all\n--- kinds.\n\n---@alias '
            .. 'shop.Color "red"|"blue" of paint\nlocal x\n'
        assert.same({ "Signs.", "Of all kinds." }, annotations.header(source))
        local alias = annotations.aliases(source)[1]
        assert.same({ "shop.Color", '"red"|"blue"', "of paint" },
            { alias.name, alias.type, alias.text })
    end)
end)
