-- Layers that are one function each, and ModuleDict.

local heed = require "heed"
local nn = heed.nn

describe("layers of one function", function()
    local x = heed.tensor { { -2, -0.5, 0 }, { 0.5, 1, 3 } }

    it("are the functions", function()
        for _, pair in ipairs {
            { nn.LeakyReLU(), x:leaky_relu(0.01) }, { nn.LeakyReLU(0.2), x:leaky_relu(0.2) },
                { nn.ELU(), x:elu(1) },
            { nn.ELU(0.5), x:elu(0.5) }, { nn.Softplus(), x:softplus() },
                { nn.Softmax(1), x:softmax(1) },
            { nn.Softmax(-1), x:softmax(2) }, { nn.LogSoftmax(1), x:log_softmax(1) },
                { nn.Flatten(1), x:view(6) },
        } do assert.equal(pair[2]:bytes(), pair[1](x):bytes(), tostring(pair[1])) end
    end)

    it("print what they were given", function()
        assert.equal("LeakyReLU(0.2)", tostring(nn.LeakyReLU(0.2)):match "^[^\n]*%)")
        assert.equal("Softmax(dim = -1)", tostring(nn.Softmax(-1)):match "^[^\n]*%)")
        assert.equal("Flatten(2, -1)", tostring(nn.Flatten()):match "^[^\n]*%)")
    end)

    it("keep shapes apart: Flatten", function()
        assert.equal("[2, 12]", tostring(nn.Flatten()(heed.zeros(2, 3, 4)).shape))
        assert.equal("[6, 4]", tostring(nn.Flatten(1, 2)(heed.zeros(2, 3, 4)).shape))
    end)

    it("say what they want", function()
        for pattern, f in pairs {
            ["heed.nn.Softmax: dim: expected a dimension, 1, 2, ... or %-1, %-2, ..., got nil"] =
                function()
                nn.Softmax()
            end,
            ["heed.nn.LogSoftmax: dim: expected a dimension.*got 0"] = function()
                nn.LogSoftmax(0)
            end,
            ["heed.nn.LeakyReLU: slope: expected a number, got \"x\""] = function()
                nn.LeakyReLU "x"
            end,
            ["heed.nn.ELU: alpha: expected a number"] = function() nn.ELU(true) end,
        } do
            local ok, message = pcall(f)
            assert.is_false(ok)
            assert.matches(pattern, message)
        end
    end)
end)

describe("ModuleDict", function()
    local function names(dict)
        local list = {}
        for name in dict:named_children() do list[#list + 1] = name end
        return table.concat(list, " ")
    end

    it("has its modules by name, in the order of names, then of coming", function()
        local dict = nn.ModuleDict { wte = nn.Embedding(3, 2),
            h = nn.ModuleList { nn.Linear(2, 2) }, drop = nn.Dropout(0.1) }
        dict.another = nn.Linear(2, 1)
        assert.equal("drop h wte another", names(dict))
        assert.equal("[3, 2]", tostring(dict.wte.weight.shape))
        assert.equal(dict.h, dict["h"])
    end)

    it("has PyTorch's names in a state", function()
        local Model = nn.Module:extend "Model"
        function Model:init()
            self.transformer = nn.ModuleDict { wte = nn.Embedding(3, 2),
                h = nn.ModuleList { nn.Linear(2, 2) } }
        end
        local model = Model()
        local state = model:state_dict { names = "torch" }
        assert.is_truthy(state["transformer.wte.weight"])
        assert.is_truthy(state["transformer.h.0.bias"])
        assert.equal(3, #model:parameters())
        assert.is_false(model:eval().transformer.h[1].training)
    end)

    it("says what it wants", function()
        for pattern, f in pairs {
            ["heed.nn.ModuleDict: modules: expected a table of modules by name, got a Linear at 1"] = function()
                nn.ModuleDict { nn.Linear(1, 1) }
            end,
            ["heed.nn.ModuleDict: modules: expected a table of modules by name, got 3 at a"] =
                function()
                nn.ModuleDict { a = 3 }
            end,
            ["heed.nn.ModuleDict: modules: train is a field of every module: choose another name"] =
                function()
                nn.ModuleDict { train = nn.Linear(1, 1) }
            end,
            ["it is a table of modules, not one to call"] = function()
                nn.ModuleDict {}(heed.ones(1))
            end,
        } do
            local ok, message = pcall(f)
            assert.is_false(ok)
            assert.matches(pattern, message)
        end
    end)
end)
