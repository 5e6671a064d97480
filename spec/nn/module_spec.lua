local heed = require "heed"
require "heed.luassert"
local nn = heed.nn

local function names(iterator)
    local list = {}
    for name in iterator do list[#list + 1] = name end
    return list
end

local Block = nn.Module:extend "Block"

function Block:init(width)
    self.second = nn.Linear(width, width)
    self.scale = nn.parameter(heed.ones(width))
    self.first = nn.Linear(width, width, { bias = false })
    self:buffer("offset", heed.zeros(width))
    self.layers = { nn.LayerNorm(width), nn.LayerNorm(width) }
end

function Block:forward(x) return self.second(self.first(x)) * self.scale + self.offset end

describe("nn.Module", function()
    it("registers in the order of assignment, its own tensors first", function()
        assert.are.same({ "scale", "second.weight", "second.bias", "first.weight",
            "layers.1.weight", "layers.1.bias",
            "layers.2.weight", "layers.2.bias" }, names(Block(2):named_parameters()))
        assert.are.equal(8, #Block(2):parameters())
    end)

    it("registers what comes into a list, or replaces a field, later", function()
        local Stack = nn.Module:extend "Stack"
        function Stack:init()
            self.layers = {}
            self.last = false
            self.head = nn.Linear(1, 1, { bias = false })
            for i = 1, 2 do self.layers[i] = nn.Linear(1, 1, { bias = false }) end
            self.last = nn.Linear(1, 1, { bias = false })
        end
        local stack = Stack()
        assert.are.same({ "layers.1.weight", "layers.2.weight", "last.weight", "head.weight" },
            names(stack:named_parameters()))
        stack.head = nn.LayerNorm(1)
        assert.are.same({ "layers.1.weight", "layers.2.weight", "last.weight", "head.weight",
            "head.bias" },
            names(stack:named_parameters()))
        stack.head = nil
        assert.are.equal(3, #stack:parameters())
    end)

    it("walks tables with names", function()
        local Pair = nn.Module:extend "Pair"
        function Pair:init()
            self.parts = { b = nn.Linear(1, 1, { bias = false }),
                a = nn.Linear(1, 1, { bias = false }) }
        end
        assert.are.same({ "parts.a.weight", "parts.b.weight" }, names(Pair():named_parameters()))
    end)

    it("runs forward when called", function()
        heed.manual_seed(1)
        local block = Block(2)
        local x = heed.randn(3, 2)
        assert.is_true(heed.allclose(block(x), block:forward(x)))
        assert.error_matches(function() nn.Module:extend("Empty")()(x) end,
            "Empty: it has no forward")
    end)

    it("inherits", function()
        local Wide = Block:extend "Wide"
        function Wide:init() Block.init(self, 4) end
        local wide = Wide()
        assert.are.same({ 4 }, wide.scale.shape and { wide.scale:size() })
        assert.are.equal(1, wide.scale:dim())
        assert.is_truthy(tostring(wide):find "^Wide%(")
    end)

    it("names its modules, each once", function()
        local block = Block(2)
        block.again = block.first
        assert.are.same({ "", "second", "first", "layers.1", "layers.2" },
            names(block:named_modules()))
        assert.are.equal(5, #block:modules())
        block.itself = block
        assert.are.equal(5, #block:modules())
    end)

    it("train, eval and apply reach every module", function()
        local block = Block(2)
        assert.are.equal(block, block:eval())
        for _, module in ipairs(block:modules()) do assert.is_false(module.training) end
        block:train()
        for _, module in ipairs(block:modules()) do assert.is_true(module.training) end
        local last
        block:apply(function(module) last = module end)
        assert.are.equal(block, last)
    end)

    it("names its children and buffers", function()
        local block = Block(2)
        block.again = block.first
        assert.are.same({ "second", "first", "layers.1", "layers.2" },
            names(block:named_children()))
        assert.are.equal(block.second, block:children()[1])
        assert.are.same({ "offset" }, names(block:named_buffers()))
        local nested = nn.Sequential(block, nn.SinusoidalPositions(3, 2))
        assert.are.same({ "1.offset", "2.table" }, names(nested:named_buffers()))
        assert.are.equal(block.offset, nested:buffers()[1])
        assert.are.equal(8, #nested:parameters())
    end)

    it("drops gradients, and stops wanting them", function()
        local block = Block(2)
        block(heed.ones(1, 2)):sum():backward()
        assert.is_truthy(block.scale.grad)
        assert.are.equal(block, block:zero_grad())
        for _, p in ipairs(block:parameters()) do assert.is_nil(p.grad) end
        assert.are.equal(block, block:requires_grad_(false))
        assert.is_false(block(heed.ones(1, 2)).requires_grad)
        block.first:requires_grad_()
        block(heed.ones(1, 2)):sum():backward()
        assert.is_truthy(block.first.weight.grad)
        assert.is_nil(block.scale.grad)
        assert.error_matches(function() block:requires_grad_ "no" end,
            'wanted: expected a boolean, got "no"')
    end)

    it("prints its parts and parameters", function()
        local text = tostring(Block(2))
        assert.is_truthy(text:find "%(second%): Linear%(2, 2%)  6")
        assert.is_truthy(text:find "%(first%): Linear%(2, 2, bias = false%)  4")
        assert.is_truthy(text:find "\n20 parameters$")
        assert.is_truthy(tostring(nn.Linear(1000, 1234)):find "\n1,235,234 parameters$")
    end)

    it("prints neighbours of a list that read the same once", function()
        local model = nn.Sequential(nn.ReLU(), nn.ReLU(), nn.Linear(2, 2), nn.Linear(2, 2),
            nn.Linear(2, 2, { bias = false }), nn.ReLU())
        assert.are.equal([[
Sequential() {
  (1-2): 2 x ReLU()
  (3-4): 2 x Linear(2, 2)  6
  (5): Linear(2, 2, bias = false)  4
  (6): ReLU()
}
16 parameters]], tostring(model))
        model[4].weight = model[3].weight -- one parameter is counted once, so the two differ
        assert.is_truthy(tostring(model):find("(3): Linear(2, 2)  6\n  (4): Linear(2, 2)  2\n", 1, true))
        local text = tostring(nn.TransformerEncoder(3, 4, 2, 4))
        assert.is_truthy(text:find("(layers.1-3): 3 x TransformerEncoderLayer() {", 1, true))
        assert.is_truthy(text:find("(norm1): LayerNorm(4)  8\n    (norm2)", 1, true))
        local shared = nn.Linear(2, 2)
        assert.is_truthy(tostring(nn.Sequential(shared, shared, shared)):find(
            "(1): Linear(2, 2)  6\n  (2-3): 2 x Linear (shown above)\n", 1, true))
    end)

    it("parameters are leaves of floats", function()
        local p = nn.parameter(heed.ones(2) * 3)
        assert.is_true(p.requires_grad)
        assert.error_matches(function() nn.parameter(heed.ids { 1 }) end,
            "expected a tensor of floats, got i64 tensor %[1%]")
        assert.error_matches(function() nn.parameter { 1 } end, "got a table")
    end)
end)

describe("a module's state", function()
    it("has parameters and buffers by name", function()
        local state = Block(2):state_dict()
        local list = {}
        for name in pairs(state) do list[#list + 1] = name end
        table.sort(list)
        assert.are.same({ "first.weight", "layers.1.bias", "layers.1.weight", "layers.2.bias",
            "layers.2.weight", "offset",
            "scale", "second.bias", "second.weight" }, list)
        state = Block(2):state_dict { names = "torch" }
        assert.is_truthy(state["layers.0.weight"])
        assert.is_nil(state["layers.2.weight"])
    end)

    it("loads, under either names", function()
        heed.manual_seed(1)
        local a, b, c = Block(2), Block(2), Block(2)
        a.offset:fill_(3)
        b:load_state_dict(a:state_dict())
        c:load_state_dict(a:state_dict { names = "torch" }, { names = "torch" })
        local x = heed.randn(1, 2)
        assert.is_true(heed.equal(a(x), b(x)))
        assert.is_true(heed.equal(a(x), c(x)))
        assert.is_true(b.scale.requires_grad)
    end)

    it("casts to the module's dtype", function()
        local a, b = Block(2):to("f64"), Block(2)
        b:load_state_dict(a:state_dict())
        assert.are.equal("f32", b.scale.dtype)
        assert.are.equal("f64", a.offset.dtype)
    end)

    it("loads nothing when something does not fit, and lists it", function()
        local block = Block(2)
        local state = Block(2):state_dict()
        local before = block.scale:clone()
        state.scale = heed.zeros(2)
        state["first.weight"], state.extra = nil, heed.zeros(1)
        state["second.bias"] = heed.zeros(3)
        local ok, message = pcall(block.load_state_dict, block, state)
        assert.is_false(ok)
        for _, part in ipairs { "missing: first.weight", "unexpected: extra",
            "second.bias: expected [2], got [3]" } do
            assert.is_truthy(message:find(part, 1, true), message)
        end
        assert.is_true(heed.equal(before, block.scale))
        assert.is_nil((block:check_state_dict(state)))
        state["second.bias"] = nil
        local loaded, names_of = block:load_state_dict(state, { strict = false })
        assert.are.equal(block, loaded)
        assert.are.same({ missing = { "second.bias", "first.weight" }, unexpected = { "extra" } },
            names_of)
        assert.are.same({ 0.0, 0.0 }, block.scale:totable())
    end)

    it("keeps a shared tensor one, over state and to", function()
        local Tied = nn.Module:extend "Tied"
        function Tied:init()
            self.embedding = nn.Embedding(3, 2)
            self.output = nn.Linear(2, 3, { bias = false })
            self.output.weight = self.embedding.weight
        end
        function Tied:forward(tokens) return self.output(self.embedding(tokens)) end
        local a, b = Tied(), Tied()
        assert.are.equal(1, #a:parameters())
        local state = a:state_dict()
        assert.are.equal(state["embedding.weight"], state["output.weight"])
        b:load_state_dict(state)
        assert.are.equal(b.embedding.weight, b.output.weight)
        b:to "f64"
        assert.are.equal(b.embedding.weight, b.output.weight)
        assert.is_true(b.output.weight.requires_grad)
        assert.error_matches(function()
            b:load_state_dict { ["embedding.weight"] = heed.zeros(3, 2),
                ["output.weight"] = heed.ones(3, 2) }
        end, "one tensor here")
        -- as files have it that hold it once
        b:to("f32"):load_state_dict { ["embedding.weight"] = heed.ones(3, 2) }
        assert.are.same({ 1.0, 1.0 }, b.output.weight[1]:totable())
        assert.error_matches(function() b:load_state_dict {} end,
            "missing: embedding.weight, output.weight")
    end)

    it("outlives the scope that the model was made in, buffers too", function()
        local model, buffer
        do
            local _ <close> = heed.scope()
            model = nn.SinusoidalPositions(4, 2)
            model:to "f64"
            buffer = model:buffer("count", heed.ids { 7 })
        end
        assert.are.equal("f64", model(heed.zeros(3, 2, { dtype = "f64" })).dtype)
        assert.are.equal(7, buffer:item())
    end)

    it("tables that stand in themselves are walked once", function()
        local Config, config = nn.Module:extend "Config", { layer = nn.Linear(1, 1) }
        config.again = { config }
        local model = Config()
        model.config = config
        assert.are.equal(2, #model:parameters())
        assert.is_truthy(tostring(model):find "config%.layer")
    end)

    it("a temporary buffer is not part of it", function()
        assert.is_nil(next(nn.SinusoidalPositions(4, 2):state_dict()))
    end)
end)

describe("errors inside a model", function()
    local function message_of(fn, ...)
        local ok, message = pcall(fn, ...)
        assert.is_false(ok)
        return message
    end

    it("name the path of the module, and the line outside heed", function()
        local decoder = nn.TransformerDecoder(2, 8, 2, 16)
        local message = message_of(function() decoder(heed.zeros(1, 3, 8), heed.zeros(1, 3, 6)) end)
        local expected = "layers.1.multihead_attn: key: expected 8 features (d_model), got [1, "
            .. "3, 6]"
        assert.are.equal(expected, message:match "module_spec.lua:%d+: (.*)$")
    end)

    it("say that a method wants a colon", function()
        local layer = nn.Linear(1, 1)
        for _, name in ipairs { "parameters", "train", "eval", "state_dict", "zero_grad", "modules",
            "to", "requires_grad_" } do
            assert.error_matches(function() layer[name]() end,
                ("heed.nn.Module:%s: expected a colon, model:%s(...), got nil for model"):format(
                    name, name), 1, true)
        end
        local opt = heed.optim.SGD(layer:parameters())
        assert.error_matches(function() opt.step() end,
            "heed.optim.Optimizer:step: expected a colon, opt:step(...)", 1, true)
        assert.error_matches(function() opt.zero_grad() end, "opt:zero_grad(...), got nil for opt",
            1, true)
    end)

    it("but not of a model that a function was given", function()
        local message = message_of(heed.optim.AdamW, nn.Linear(1, 1))
        assert.are.equal("heed.optim.AdamW: params: expected a list of tensors, got a Linear; "
            .. "model:parameters() gives it",
            message:match "(heed%.optim.*)$")
        assert.is_nil(message:find("Linear: ", 1, true))
    end)

    it("refuse arguments that no init takes", function()
        assert.error_matches(function() nn.ReLU(5) end,
            "ReLU: expected no arguments %(it has no init%), got 5")
        assert.error_matches(function() nn.Module:extend "Own" (5) end,
            "Own: expected no arguments .* got 5")
    end)

    it("in modules of one's own too", function()
        local Model = nn.Module:extend "Model"
        function Model:init() self.body = nn.Sequential(nn.Linear(2, 3), nn.Linear(4, 1)) end
        function Model:forward(x) return self.body(x) end
        local message = message_of(Model(), heed.zeros(5, 2))
        assert.is_truthy(message:find "body%.2: ", message)
        message = message_of(Model().body, heed.zeros(5, 2))
        assert.is_truthy(message:find "Sequential%.2: ", message)
        message = message_of(nn.Linear(2, 3), heed.zeros(5, 4))
        assert.is_truthy(message:find "Linear: ", message)
    end)
end)

describe("a name in a module", function()
    local function linear() return nn.Linear(1, 1, { bias = false }) end

    it("is refused when another one has it, or could not be told from it", function()
        for expected, make in pairs {
            ['ModuleDict: "a.b": expected a name without dots'] = function()
                nn.ModuleDict { ["a.b"] = linear(), a = nn.ModuleDict { b = linear() } }
            end,
            ['ModuleDict: "": expected a name'] = function() nn.ModuleDict { [""] = linear() } end,
            ['Sequential: "1": expected another name: %[1%] is called so'] = function()
                nn.Sequential(linear())["1"] = linear()
            end,
            ['Sequential: "0": expected another name: %[1%] is called so'] = function()
                nn.Sequential(linear())["0"] = linear()
            end,
            ['ModuleDict: 1: expected another number: %["1"%]'] = function()
                nn.ModuleDict { ["1"] = linear() }[1] = linear()
            end,
            ['ModuleDict: 2: expected another number: %["1"%]'] = function()
                nn.ModuleDict { ["1"] = linear() }[2] = linear()
            end,
            ["ModuleList: 0: expected a name or a number from 1"] = function()
                nn.ModuleList { linear() }[0] = linear()
            end,
            ["ModuleList: 1.5: expected a name or a number from 1"] = function()
                nn.ModuleList { linear() }[1.5] = linear()
            end,
            ['Linear: "a.b": expected a name without dots'] = function()
                linear()["a.b"] = nn.parameter(heed.ones(1))
            end,
            ['Linear: "in.out": expected a name without dots'] = function()
                linear():buffer("in.out", heed.ones(1))
            end,
            ['Sequential: "1": expected another name'] = function()
                nn.Sequential(linear()):buffer("1", heed.ones(1))
            end,
        } do
            assert.error_matches(make, expected)
        end
    end)

    it("may be a number in a dictionary, and have a dot when it names no part", function()
        local dict = nn.ModuleDict { ["1"] = linear(), ["2"] = linear(), ["01"] = linear() }
        assert.are.same({ "01.weight", "1.weight", "2.weight" }, names(dict:named_parameters()))
        dict["a.b"] = 5
        assert.are.equal(5, dict["a.b"])
    end)

    it("that two have in plain tables is refused by all that walk", function()
        local Tables = nn.Module:extend "Tables"
        function Tables:init(parts) self.parts = parts end
        for _, parts in ipairs { { ["a.b"] = linear(), a = { b = linear() } },
            { linear(), ["1"] = linear() },
            { ["a.b"] = nn.parameter(heed.ones(1)), a = { b = nn.parameter(heed.ones(1)) } } } do
            local model = Tables(parts)
            for _, name in ipairs { "state_dict", "parameters", "named_parameters" } do
                assert.error_matches(function() model[name](model) end,
                    "Tables: names: two %l+ are called \"parts[.%w]+\"")
            end
        end
        local counted = Tables { linear(), ["0"] = linear() }
        assert.are.equal(2, #counted:parameters())
        assert.error_matches(function() counted:state_dict { names = "torch" } end,
            'two modules are called "parts.0"')
        local buffered = Tables { x = nn.parameter(heed.ones(1)) }
        rawset(buffered, "parts.x", heed.ones(1))
        buffered._buffers["parts.x"] = "persistent"
        assert.error_matches(function() buffered:state_dict() end,
            'two tensors are called "parts.x"')
    end)

    it("shared by one tensor or module under two is fine", function()
        local part = linear()
        local model = nn.Sequential(part, part)
        assert.are.equal(1, #model:parameters())
    end)
end)

describe("tied weights", function()
    local function tied()
        local embedding, head = nn.Embedding(5, 3), nn.Linear(3, 5, { bias = false })
        head.weight = embedding.weight
        return nn.Sequential(embedding, head)
    end

    local function is_one(model)
        assert.is_true(model[1].weight == model[2].weight)
        assert.are.equal(1, #model:parameters())
    end

    it("are one parameter, with the sum of both gradients", function()
        local model, apart = tied(), tied()
        apart[2].weight = nn.parameter(apart[1].weight:detach():clone())
        for _, layer in ipairs { apart[1], apart[2] } do
            layer.weight:detach():copy_(model[1].weight:detach())
        end
        for _, m in ipairs { model, apart } do m(heed.ids { 1, 4 }):square():sum():backward() end
        is_one(model)
        assert.are.equal(2, #apart:parameters())
        assert.is_close(model[1].weight.grad, apart[1].weight.grad + apart[2].weight.grad)
    end)

    it("stay one through to, states and files", function()
        local model, path = tied(), os.tmpname()
        is_one(model:to "f64":to "f32")
        assert(heed.checkpoint.save(path, { model = model }))
        local other = tied()
        assert(heed.checkpoint.load(path, { model = other }))
        is_one(other)
        assert.is_close(other[1].weight, model[2].weight)
        assert(heed.safetensors.save(path, model:state_dict()))
        other = tied()
        other:load_state_dict(assert(heed.safetensors.load(path)))
        is_one(other)
        assert.is_close(other[2].weight, model[1].weight)
        os.remove(path)
    end)
end)

describe("load_state_dict of tensors that share the model's memory", function()
    it("reads all before it writes", function()
        heed.manual_seed(3)
        local model = nn.Sequential(nn.Linear(2, 2, { bias = false }),
            nn.Linear(2, 2, { bias = false }))
        local first, second = model[1].weight:clone(), model[2].weight:clone()
        local state = model:state_dict()
        state["1.weight"], state["2.weight"] = state["2.weight"], state["1.weight"]
        model:load_state_dict(state)
        assert.is_true(heed.equal(model[1].weight, second))
        assert.is_true(heed.equal(model[2].weight, first))
        model:load_state_dict { ["1.weight"] = model[2].weight:t(),
            ["2.weight"] = model[2].weight:t() }
        assert.is_true(heed.equal(model[1].weight, first:t()))
        assert.is_true(heed.equal(model[2].weight, first:t()))
    end)

    it("also of buffers, and of parts of one memory", function()
        local Halves = nn.Module:extend "Halves"
        function Halves:init(whole)
            self.a, self.b = nn.parameter(whole:narrow(1, 1, 2)),
                nn.parameter(whole:narrow(1, 3, 2))
            self:buffer("c", heed.zeros(2))
        end
        local whole = heed.range(1, 4)
        local model = Halves(whole)
        model:load_state_dict { a = whole:narrow(1, 2, 2), b = model.c, c = whole:narrow(1, 1, 2) }
        assert.are.same({ 2, 3 }, model.a:totable())
        assert.are.same({ 0, 0 }, model.b:totable())
        assert.are.same({ 1, 2 }, model.c:totable())
    end)
end)

describe("a model that is used as PyTorch's", function()
    it("is told the names of lists", function()
        local model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
        local torch, own = model:state_dict { names = "torch" }, model:state_dict()
        assert.error_matches(function() model:load_state_dict(torch) end,
            "its names count lists from 0, as PyTorch's do: give { names = \"torch\" }")
        assert.error_matches(function() model:load_state_dict(own, { names = "torch" }) end,
            "its names count lists from 1: leave out { names = \"torch\" }")
        assert.is_truthy(select(2, model:check_state_dict(torch)):find("from 0", 1, true))
        torch["0.bias"] = nil
        assert.is_nil(select(2, model:check_state_dict(torch)):find("from 0", 1, true))
    end)

    it("is called with a colon", function()
        for _, model in ipairs { nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2)), Block(2) } do
            assert.error_matches(function() model.forward(heed.ones(1, 2)) end,
                "heed.nn.Module:forward: expected a colon, model:forward%(...%), got f32 tensor "
                    .. "%[1, 2%] for model")
            assert.are.equal(2, model:forward(heed.ones(1, 2)):size(2))
        end
    end)
end)
