local nearest = require "heed.nearest"
local suggest = require "heed.suggest"

describe("what is said of a name that there is not", function()
    local heed = require "heed"

    local function message(f, ...) return (select(2, pcall(f, ...)):gsub("^[^:]+:%d+: ", "")) end

    it("is the nearest there are, or nothing", function()
        assert.equal("; did you mean dropout?",
            suggest.near("dropuot", { dropout = true, bias = true }))
        assert.equal("; did you mean size?", suggest.near("sise", "size sizes shape"))
        assert.equal("; did you mean num_layers?",
            suggest.near("layers", { "num_layers", "num_heads" }))
        assert.equal("", suggest.near("qqqq", { "dropout" }))
    end)

    it("knows the types by the names they have elsewhere", function()
        for name, dtype in pairs {
            float32 = "f32", float = "f32", ["torch.float32"] = "f32", ["np.float64"] = "f64",
                double = "f64", long = "i64",
            int64 = "i64", int = "i32", uint8 = "u8", bfloat16 = "bf16", half = "f16",
                Float16 = "f16", boolean = "bool",
        } do
            assert.equal(('; did you mean "%s"?'):format(dtype), suggest.dtype(name), name)
            assert.matches(('got "%s"; did you mean "%s"?'):format(name, dtype),
                message(heed.zeros, 2, { dtype = name }), 1, true)
            assert.matches(('; did you mean "%s"?'):format(dtype), message(heed.zeros, 2, name), 1,
                true)
        end
        for _, name in ipairs { "cuda", "cpu", "cuda:0" } do
            assert.matches("there are no devices", message(heed.ones(1).to, heed.ones(1), name))
        end
        assert.equal("", suggest.dtype "f8")
        assert.matches("a dtype is an option, {dtype = ...}", message(heed.zeros, 2, "f64"), 1,
            true)
    end)

    it("knows members by the names they have elsewhere", function()
        local t = heed.ones(2, 2)
        for name, said in pairs {
            numpy = "t:totable()", cuda = "no devices", T = "t:t()", mm = "t:matmul(u)",
                sumn = "did you mean sum?",
            view_as = "t:view(u.shape)", scater_ = "did you mean scatter or scatter_?",
            shap = "did you mean shape?", item_ = "did you mean item?", float = 't:to "f32"',
        } do
            assert.matches(said, message(function() return t[name] end), 1, true)
        end
        assert.equal("t.qqqqqq: a tensor has no field or method of this name", message(function()
            return t.qqqqqq
        end))
    end)

    it("knows choices", function()
        local function made(options) return message(heed.nn.FeedForward, 2, 4, options) end
        assert.matches('got "swish"; did you mean "silu"?', made { activation = "swish" }, 1, true)
        assert.matches('got "rellu"; did you mean "relu"?', made { activation = "rellu" }, 1, true)
        assert.matches('options: there is no option "droput"; did you mean dropout?',
            made { droput = 0 }, 1, true)
        assert.matches('there is no option "qqqq"; there are: activation, bias, dropout',
            made { qqqq = 0 }, 1, true)
        assert.matches("options: expected a table of named options, { activation = ... }, got 0.1",
            made(0.1), 1, true)
    end)
end)

describe("nearest", function()
    it("finds slips of the keys", function()
        for _, slip in ipairs { "sofmax", "sotfmax", "softmaxx", "SoftMax", "soft_max" } do
            assert.are.same({ "softmax" }, nearest(slip, { "softmax", "matmul", "sum" }), slip)
        end
    end)

    it("finds nothing where nothing is near", function()
        assert.are.same({}, nearest("xyz", { "softmax", "xabc", "sum" }))
        assert.are.same({}, nearest("t", { "x", "y" }))
        assert.are.same({}, nearest("", { "a", "" }))
    end)

    it("gives the best first, and no more than asked for", function()
        assert.are.same({ "prime", "print" }, nearest("prine", { "print", "prime", "pines", "zzz" },
            2))
        assert.are.same({ "sum" }, nearest("summ", { "sum", "sums", "sumo" }, 1))
    end)
end)
