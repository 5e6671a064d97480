local heed = require "heed"
local nn, mask = heed.nn, heed.mask
local in_parts = require "spec.support.in_parts"
require "heed.luassert"

local function all(t, low, high) return (t:ge(low)):all() and (t:le(high)):all() end

describe("initial values", function()
    before_each(function() heed.manual_seed(7) end)

    it("of Linear are U(±1/sqrt(in))", function()
        local layer = nn.Linear(16, 400)
        assert.is_true(all(layer.weight, -0.25, 0.25) and all(layer.bias, -0.25, 0.25))
        assert.is_true(math.abs(layer.weight:std():item() - 0.5 / math.sqrt(12)) < 0.005)
        assert.is_nil(nn.Linear(2, 2, { bias = false }).bias)
    end)

    it("of Embedding are N(0, 1), the padding row 0", function()
        local layer = nn.Embedding(300, 20, { padding_idx = 2 })
        assert.is_true(math.abs(layer.weight:std():item() - 1) < 0.05)
        assert.are.equal(0, layer.weight[2]:abs():sum():item())
    end)

    it("of MultiHeadAttention are Xavier over [3E, E], biases 0", function()
        local layer = nn.MultiHeadAttention(16, 4)
        local bound = math.sqrt(6 / (48 + 16))
        assert.has_shape(layer.in_proj_weight, { 48, 16 })
        assert.is_true(all(layer.in_proj_weight, -bound, bound))
        assert.is_true(layer.in_proj_weight:max():item() > 0.9 * bound)
        assert.are.equal(0, layer.in_proj_bias:abs():sum():item() +
            layer.out_proj.bias:abs():sum():item())
    end)

    it("differ between layers of a list", function()
        local encoder = nn.TransformerEncoder(2, 8, 2, 16)
        assert.is_false(heed.equal(encoder.layers[1].linear1.weight,
            encoder.layers[2].linear1.weight))
    end)

    it("follow the seed", function()
        heed.manual_seed(5)
        local a = nn.Linear(3, 3)
        heed.manual_seed(5)
        assert.is_true(heed.equal(a.weight, nn.Linear(3, 3).weight))
    end)

    it("nn.init fills in place", function()
        local t = heed.empty(200, 100)
        assert.are.equal(t, nn.init.xavier_uniform_(t))
        assert.is_true(all(t, -math.sqrt(6 / 300), math.sqrt(6 / 300)))
        assert.is_true(math.abs(nn.init.xavier_normal_(t):std():item() - math.sqrt(
            2 / 300)) < 0.002)
        assert.is_true(math.abs(nn.init.kaiming_normal_(t):std():item() - math.sqrt(
            2 / 100)) < 0.005)
        assert.is_true(all(nn.init.kaiming_uniform_(t), -math.sqrt(6 / 100), math.sqrt(6 / 100)))
        assert.are.equal(20000, nn.init.ones_(t):sum():item())
        assert.error_matches(function() nn.init.xavier_uniform_(heed.empty(3)) end,
            "at least 2 dimensions")
        assert.error_matches(function() nn.init.kaiming_uniform_(3) end,
            "kaiming_uniform_: t: expected a tensor, got 3")
        assert.error_matches(function() nn.init.zeros_ "x" end,
            "nn.init.zeros_: t: expected a tensor, got \"x\"")
    end)
end)

describe("layers", function()
    before_each(function() heed.manual_seed(3) end)

    it("Linear is x W^T + b", function()
        local layer, x = nn.Linear(3, 2), heed.randn(4, 3)
        assert.is_close(layer(x), x:matmul(layer.weight:t()) + layer.bias, 1e-6)
    end)

    it("Embedding looks up, and gives the padding row no gradient", function()
        local layer = nn.Embedding(4, 2, { padding_idx = 1 })
        local out = layer { 1, 3, 3 }
        assert.has_shape(out, { 3, 2 })
        out:sum():backward()
        assert.are.same({ { 0.0, 0.0 }, { 0.0, 0.0 }, { 2.0, 2.0 }, { 0.0, 0.0 } },
            layer.weight.grad:totable())
        assert.error_matches(function() layer { 0 } end, "1%.%.4")
        assert.error_matches(function() layer { 5 } end, "5")
        assert.error_matches(function() layer(heed.tensor { 1.0 }) end, "ids")
    end)

    it("LayerNorm and RMSNorm", function()
        local x = heed.randn(2, 5)
        local centred = x - x:mean(-1, true)
        assert.is_close(nn.LayerNorm(5)(x),
            centred / ((centred * centred):mean(-1, true) + 1e-5):sqrt(), 1e-5)
        assert.is_close(nn.RMSNorm(5)(x), x / ((x * x):mean(-1, true) + 1e-6):sqrt(), 1e-5)
    end)

    it("Dropout acts in training only; p = 1 gives zeros", function()
        local layer, x = nn.Dropout(0.5), heed.ones(1000)
        local y = layer(x)
        assert.is_true(math.abs(y:mean():item() - 1) < 0.2)
        assert.are.same({ 0.0, 2.0 }, { y:min():item(), y:max():item() })
        assert.is_true(heed.equal(x, layer:eval()(x)))
        assert.are.equal(0, nn.Dropout(1)(x):sum():item())
    end)

    it("Sequential, ModuleList and activations", function()
        local x = heed.randn(4, 2)
        local net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
        assert.is_close(net(x), net[3](net[1](x):relu()), 1e-6)
        assert.are.equal(4, #nn.Sequential({ nn.Linear(1, 1), nn.Linear(1, 1) }):parameters())
        local list = nn.ModuleList { nn.GELU(), nn.SiLU() }
        assert.are.equal(2, #list)
        for i, layer in ipairs(list) do
            assert.is_close(layer(x), i == 1 and x:gelu() or x:silu(), 1e-6)
        end
        assert.has_error(function() list(x) end)
        assert.are.equal(list, list:append(nn.Linear(2, 1)))
        assert.are.same({ 3, 2 }, { #list, #list:parameters() })
        assert.has_shape(nn.Sequential():append(nn.Linear(2, 5)):append(nn.Identity())(x), { 4, 5 })
        assert.error_matches(function() net:append(heed.relu) end,
            "nn.Sequential:append: expected a module, got a function")
        assert.is_close(nn.Tanh()(x), x:tanh(), 0)
        assert.is_close(nn.Sigmoid()(x), x:sigmoid(), 0)
        assert.are.same({ x, 2 }, { nn.Identity()(x, 2) })
        assert.error_matches(function() nn.Sequential(5) end, "nn.Sequential")
    end)

    it("GELU by tanh is PyTorch's", function()
        local x = heed.tensor { -3.0, -1.0, 0.0, 0.5, 2.0 }
        local tanh = nn.GELU { approximate = "tanh" }
        assert.is_close(tanh(x), { -0.00363739, -0.15880802, 0.0, 0.34571401, 1.95459771 }, 1e-6)
        assert.is_close(nn.GELU()(x), x:gelu(), 0)
        assert.is_true(heed.gradcheck(function(y) return tanh(y) end, { x:to "f64" }))
        assert.error_matches(function() nn.GELU "tanh" end,
            'options: expected a table of named options, { approximate = "tanh" }, got "tanh"')
        assert.error_matches(function() nn.GELU { approximate = "erf" } end,
            '"none", "tanh" or "sigmoid", got "erf"')
    end)

    it("lists leave no module out", function()
        local layer = nn.Linear(1, 1)
        assert.error_matches(function() nn.ModuleList(layer, layer) end,
            "list of modules, {module, ...}, got a module, Linear")
        assert.error_matches(function() nn.ModuleList { layer, last = layer } end,
            "other keys than 1, 2, ...")
        assert.error_matches(function() nn.Sequential { first = layer } end,
            "nn.Sequential: .*other keys than 1, 2, ...")
        assert.error_matches(function() nn.Sequential(layer, 5) end, "expected modules, got 5 at 2")
    end)

    it("positions: the paper's, the other layout, other rates", function()
        assert.is_close(nn.SinusoidalPositions(2, 5)(2)[2], { .841471, .540302, .025116, .999685,
            .000631 }, 1e-5)
        local rates = {}
        for i = 0, 1 do rates[i + 1] = 10000.0 ^ -i end
        local halves = nn.SinusoidalPositions(3, 4, { first_position = 1, layout = "halves",
            rates = rates })(1)
        assert.is_close(halves, { { math.sin(1), math.sin(1e-4), math.cos(1), math.cos(1e-4) } },
            1e-6)
        local x = heed.zeros(2, 3, 4)
        assert.is_close(nn.SinusoidalPositions(9, 4)(x)[2], nn.SinusoidalPositions(9, 4)(3), 0)
        assert.has_shape(nn.LearnedPositions(9, 4)(x), { 2, 3, 4 })
        -- Of shapes alone its table is not written: 64 GB.
        local before = os.clock()
        local table_of_shapes = require("heed.core").shapes_only(function()
            return nn.SinusoidalPositions(1 << 28, 64).table
        end)
        assert.is_true(os.clock() - before < 1)
        assert.is_truthy(table_of_shapes)
        assert.error_matches(function() nn.SinusoidalPositions(2, 4)(x) end,
            "at most 2 positions %(max_len%), got 3")
        assert.has_shape(nn.LearnedPositions(9, 4)(3.0), { 3, 4 })
        assert.error_matches(function() nn.LearnedPositions(9, 4)("x") end,
            'x: expected a tensor .* got "x"')
        assert.error_matches(function() nn.LearnedPositions(9, 4)(-1) end, "at least 0, got %-1")
    end)

    it("refuse sizes that are none, and options that are not theirs", function()
        assert.error_matches(function() nn.Linear("3", 2) end,
            "nn.Linear: in: expected an integer of at least 1, got \"3\"")
        assert.error_matches(function() nn.Linear(2.5, 2) end, "got 2.5")
        assert.error_matches(function() nn.Linear(2, 0) end, "out")
        assert.error_matches(function() nn.Linear(2, 2, { bais = true }) end, 'no option "bais"')
        assert.error_matches(function() nn.MultiHeadAttention(10, 3) end,
            "multiple of num_heads %(3%), got 10")
        assert.error_matches(function() nn.Dropout(1.5) end, "from 0 to 1, got 1.5")
        assert.error_matches(function() nn.FeedForward(2, 2, { activation = "rely" }) end,
            '"relu", "gelu", .*"swiglu".*, got "rely"; did you mean "relu"%?')
        assert.error_matches(function() nn.Linear(2, 2, { bias = "false" }) end,
            'bias: expected a boolean, got "false"')
        assert.error_matches(function() nn.MultiHeadAttention(4, 2, { bias = 0 }) end,
            "bias: expected a boolean, got 0")
        assert.error_matches(function() nn.MultiHeadAttention(4, 2, { softcap = -1 }) end,
            "softcap: expected a number of at least 0")
        assert.error_matches(function() nn.Embedding(3, 2, { padding_idx = 4 }) end,
            "padding_idx: expected a token from 1 to 3, got 4")
        for _, Layer in ipairs { nn.TransformerEncoderLayer, nn.TransformerDecoderLayer } do
            assert.error_matches(function() Layer(4, 2, 4, { norm_first = "false" }) end,
                'norm_first: expected a boolean, got "false"')
            assert.error_matches(function() Layer(4, 2, 4, { dropout = false }) end,
                "dropout: expected a number .* got false")
        end
        for _, Stack in ipairs { nn.TransformerEncoder, nn.TransformerDecoder } do
            assert.error_matches(function() Stack(1, 4, 2, 4, { final_norm = 1 }) end,
                "final_norm: expected a boolean, got 1")
            assert.error_matches(function() Stack(1, 4, 2, 4, "x") end,
                'options: expected a table, got "x"')
        end
        local small = { src_vocab = 4, tgt_vocab = 4, d_model = 4, num_heads = 2, num_layers = 1,
            d_ff = 4, tie_weights = "source" }
        assert.error_matches(function() nn.Transformer(small) end,
            'tie_weights: expected a boolean, got "source"')
        local x = heed.zeros(1, 2, 4)
        assert.error_matches(function() nn.MultiHeadAttention(4, 2)(x, heed.mask.causal()) end,
            "options: expected a table of named options, { mask = ... }, got a mask")
    end)
end)

-- The formulas written out with plain tensor operations.
local function reference_attention(layer, query, key, value, seen)
    local E, H = layer.d_model, layer.num_heads
    local function project(x, part)
        local first = (part - 1) * E + 1
        local w, b = layer.in_proj_weight:narrow(1, first, E), layer.in_proj_bias:narrow(1, first,
            E)
        return (x:matmul(w:t()) + b):view(x:size(1), x:size(2), H, E // H):transpose(2, 3)
    end
    local q, k, v = project(query, 1), project(key, 2), project(value, 3)
    local scores = q:matmul(k:transpose(-2, -1)) / math.sqrt(E // H)
    if seen then scores = scores:masked_fill(heed.logical_not(seen), -math.huge) end
    local weights = scores:softmax(-1)
    local heads = weights:matmul(v):transpose(2, 3):reshape(query:size(1), query:size(2), E)
    return heads:matmul(layer.out_proj.weight:t()) + layer.out_proj.bias, weights
end

local function randomised(module)
    for _, p in ipairs(module:parameters()) do nn.init.normal_(p, 0, 0.5) end
    return module
end

-- A layer's parameters as inputs of a function, for gradcheck.
local function gradcheck_layer(layer, call, ...)
    local owners, inputs = {}, { ... }
    local extra = #inputs
    for _, part in ipairs(layer:modules()) do
        for _, key in ipairs { "weight", "bias", "in_proj_weight", "in_proj_bias", "q_proj_weight",
            "k_proj_weight", "v_proj_weight" } do
            if part[key] then
                owners[#owners + 1] = { part, key }
                inputs[#inputs + 1] = part[key]:detach()
            end
        end
    end
    return heed.gradcheck(function(...)
        local given = { ... }
        for i, owner in ipairs(owners) do owner[1][owner[2]] = given[extra + i] end
        return call(layer, table.unpack(given, 1, extra))
    end, inputs)
end

describe("MultiHeadAttention", function()
    local layer = randomised(nn.MultiHeadAttention(8, 2)):to "f64"
    local x, y = heed.randn({ 2, 3, 8 }, { dtype = "f64" }),
        heed.randn({ 2, 5, 8 }, { dtype = "f64" })

    it("is the paper's formula", function()
        local want, weights = reference_attention(layer, x, y, y)
        local out, given = layer(x, y, { weights = true })
        assert.is_close(out, want, 1e-10)
        assert.is_close(given, weights, 1e-10)
        assert.is_close(layer(x), (reference_attention(layer, x, x, x)), 1e-10)
        local z = heed.randn({ 2, 5, 8 }, { dtype = "f64" })
        assert.is_close(layer(x, y, z), (reference_attention(layer, x, y, z)), 1e-10)
        assert.are.equal(1, select("#", layer(x)))
    end)

    it("takes masks and tensors, and one sequence without a batch", function()
        local seen = mask.causal():dense(3)
        assert.is_close(layer(x, { mask = mask.causal() }),
            (reference_attention(layer, x, x, x, seen)), 1e-10)
        assert.is_close(layer(x, { mask = seen }), layer(x, { mask = mask.causal() }), 1e-10)
        assert.is_close(layer(x[1]), layer(x)[1], 1e-10)
        local out, weights = layer(x[1], { weights = true })
        assert.has_shape(out, { 3, 8 })
        assert.has_shape(weights, { 2, 3, 3 })
    end)

    it("composes when its output layer was replaced", function()
        local Doubled = nn.Linear:extend "Doubled"
        function Doubled:forward(input) return nn.Linear.forward(self, input) * 2 end
        local replaced = randomised(nn.MultiHeadAttention(8, 2)):to "f64"
        replaced:load_state_dict(layer:state_dict())
        local doubled = Doubled(8, 8):to "f64"
        doubled:load_state_dict(layer.out_proj:state_dict())
        replaced.out_proj = doubled
        assert.is_close(replaced(x, y), layer(x, y) * 2, 1e-10)
        assert.is_close(replaced(x[1]), layer(x[1]) * 2, 1e-10)
    end)

    it("with fewer key heads each is used by its group", function()
        local grouped = nn.MultiHeadAttention(8, 4, { num_kv_heads = 2 }):to "f64"
        assert.has_shape(grouped.in_proj_weight, { 16, 8 })
        local full = nn.MultiHeadAttention(8, 4):to "f64"
        local rows = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 9, 10, 11, 12, 11, 12, 13, 14, 13, 14, 15, 16,
            15, 16 }
        local state = grouped:state_dict()
        state.in_proj_weight, state.in_proj_bias = state.in_proj_weight:index_select(1, rows),
            full.in_proj_bias
        full:load_state_dict(state)
        assert.is_close(grouped(x), full(x), 1e-10)
    end)

    it("gives in parts what it gives whole", function()
        heed.manual_seed(21)
        local whole = randomised(nn.MultiHeadAttention(8, 2, { dropout = 0.3 })):to "f64"
        local parts = nn.MultiHeadAttention(8, 2, { dropout = 0.3 }):to "f64"
        in_parts(parts):load_state_dict(whole:state_dict())
        local long, short = heed.randn({ 2, 5, 8 }, { dtype = "f64" }),
            heed.randn({ 2, 3, 8 }, { dtype = "f64" })
        local calls = {
            { long }, { short, long }, { short, long, long * 2 }, { long[1] },
                { short[1], long[1] }, { short[1], long[1], long[2] },
            { long, { mask = mask.causal() & mask.padding { 5, 2 } } },
                { short, long, { mask = mask.causal() & mask.alibi(2) } },
            { short, long, { mask = heed.randn(3, 5):gt(0) } },
                { long, { mask = mask.bias(heed.randn(2, 2, 5, 5)) & mask.window(2) } },
            { long:view(10, 8), { mask = mask.causal() & mask.packed(heed.ids { 7, 3 }) } },
        }
        for i, given in ipairs(calls) do
            for _, training in ipairs { false, true } do
                for _, each in ipairs { whole, parts } do each:train(training):zero_grad() end
                local arguments = table.move(given, 1, #given, 1, {})
                local options = type(given[#given]) == "table" and given[#given] or {}
                arguments[type(given[#given]) == "table" and #given
                    or #given + 1] = { mask = options.mask, weights = true }
                local function run(each)
                    heed.manual_seed(i)
                    local out, weights = each(table.unpack(arguments))
                    out:sum():backward()
                    return out, weights
                end
                local out, weights = run(whole)
                local out_of_parts, weights_of_parts = run(parts)
                assert.is_close(out_of_parts, out, 1e-10)
                assert.is_close(weights_of_parts, weights, 1e-10)
                for name, p in whole:named_parameters() do
                    local q = name == "in_proj_weight" and parts.in_proj_weight
                        or name == "in_proj_bias" and parts.in_proj_bias
                        or parts.out_proj[name:match "%.(.*)$"]
                    assert.is_close(q.grad, p.grad, 1e-9)
                end
            end
        end
    end)

    it("turns queries as if they were the last of the keys", function()
        local turning = randomised(nn.MultiHeadAttention(8, 2, { rotary = true })):to "f64"
        local whole = turning(y, { mask = mask.causal() })
        assert.is_close(turning(y:narrow(2, 4, 2), y, { mask = mask.causal() }),
            whole:narrow(2, 4, 2), 1e-10)
        -- More queries than keys: distances count on in the other direction.
        assert.is_close(turning(y, y:narrow(2, 4, 2)),
            turning(y, y, { mask = heed.tensor { { false, false, false, true, true } } }),
            1e-10)
        assert.is_false(heed.allclose(turning(y), turning(heed.flip(y, 2)):flip(2)))
    end)

    it("has correct gradients with everything together", function()
        local function make()
            return nn.MultiHeadAttention(6, 4, { num_kv_heads = 2, head_dim = 4,
                rotary = { dim = 2, interleaved = true },
                qk_norm = true, softcap = 2, kdim = 5, vdim = 3 }):to "f64"
        end
        local full = randomised(make())
        assert.is_true(gradcheck_layer(full, function(own, query, key, value)
            return own(query, key, value, { mask = mask.causal() & mask.alibi(4) })
        end, heed.randn({ 2, 3, 6 }, { dtype = "f64" }), heed.randn({ 2, 4, 5 }, { dtype = "f64" }),
            heed.randn({ 2, 4, 3 }, { dtype = "f64" })))
    end)

    it("has correct gradients", function()
        local inputs = { x, y }
        for _, p in ipairs(layer:parameters()) do inputs[#inputs + 1] = p:detach() end
        local functional = nn.MultiHeadAttention(8, 2):to "f64"
        assert.is_true(heed.gradcheck(function(query, key, in_w, in_b, out_w, out_b)
            functional.in_proj_weight, functional.in_proj_bias = in_w, in_b
            functional.out_proj.weight, functional.out_proj.bias = out_w, out_b
            return functional(query, key, { mask = mask.padding { 3, 5 } })
        end, inputs))
    end)
end)

local function normal(...) return heed.randn({ ... }, { dtype = "f64" }) end

describe("encoder and decoder layers", function()
    for _, norm_first in ipairs { false, true } do
        for _, activation in ipairs { "relu", "gelu", "silu" } do
            local name = ("%s, %s"):format(norm_first and "norm first" or "post-norm", activation)
            local options = { norm_first = norm_first, activation = activation, dropout = 0 }

            it("are the paper's formula: " .. name, function()
                heed.manual_seed(11)
                local layer = randomised(nn.TransformerEncoderLayer(8, 2, 12, options)):to "f64"
                local x, act = normal(2, 4, 8), heed[activation]
                local function attend(h) return (layer.self_attn(h, { mask = mask.causal() })) end
                local function feed(h) return layer.linear2(act(layer.linear1(h))) end
                local want
                if norm_first then
                    want = x + attend(layer.norm1(x))
                    want = want + feed(layer.norm2(want))
                else
                    want = layer.norm1(x + attend(x))
                    want = layer.norm2(want + feed(want))
                end
                assert.is_close(layer(x, { mask = mask.causal() }), want, 1e-9)
            end)

            it("have correct gradients: " .. name, function()
                heed.manual_seed(12)
                local encoder = randomised(nn.TransformerEncoderLayer(4, 2, 6, options)):to "f64"
                assert.is_true(gradcheck_layer(encoder, function(layer, x)
                    return layer(x, { mask = mask.padding { 2, 3 } })
                end, normal(2, 3, 4)))
                local decoder = randomised(nn.TransformerDecoderLayer(4, 2, 6, options)):to "f64"
                assert.is_true(gradcheck_layer(decoder, function(layer, x, memory)
                    return layer(x, memory, { mask = mask.causal(), memory_mask = mask.padding { 2,
                        3 } })
                end, normal(2, 2, 4), normal(2, 3, 4)))
            end)
        end
    end

    it("run in parts when one was replaced by a module of one's own", function()
        heed.manual_seed(13)
        local Own = nn.Module:extend "Own"
        function Own:init(inner) self.inner = inner end
        function Own:forward(...) return self.inner(...) end
        for _, norm_first in ipairs { false, true } do
            local options = { norm_first = norm_first, dropout = 0 }
            local memory = normal(2, 3, 8)
            local x = normal(2, 4, 8)
            for _, part in ipairs { "self_attn", "linear1", "linear2", "norm1", "norm2" } do
                local encoder = randomised(nn.TransformerEncoderLayer(8, 2, 12, options)):to "f64"
                local want = encoder(x, { mask = mask.causal() })
                encoder[part] = Own(encoder[part])
                assert.is_close(encoder(x, { mask = mask.causal() }), want, 1e-9)
            end
            for _, part in ipairs { "self_attn", "multihead_attn", "linear1", "linear2", "norm1",
                "norm2", "norm3" } do
                local decoder = randomised(nn.TransformerDecoderLayer(8, 2, 12, options)):to "f64"
                local call = { mask = mask.causal(), memory_mask = mask.padding { 1, 3 } }
                local want = decoder(x, memory, call)
                decoder[part] = Own(decoder[part])
                assert.is_close(decoder(x, memory, call), want, 1e-9)
            end
        end
    end)

    it("follow parts whose settings were changed one by one", function()
        heed.manual_seed(17)
        local memory, x = normal(2, 3, 8), normal(2, 4, 8)
        local encoder = randomised(nn.TransformerEncoderLayer(8, 2, 12, { dropout = 0 })):to "f64"
        local decoder = randomised(nn.TransformerDecoderLayer(8, 2, 12, { dropout = 0 })):to "f64"
        local function call(layer) return layer == encoder and layer(x) or layer(x, memory) end
        for _, layer in ipairs { encoder, decoder } do
            local before = call(layer)
            layer.norm2.eps = 0.5
            local after = call(layer)
            assert.is_false(heed.allclose(before, after))
            layer.norm2.eps = 1e-5
            layer.self_attn.dropout = 0.9
            assert.is_false(heed.allclose(before, call(layer)))
            layer.self_attn:eval()
            assert.is_close(call(layer), before, 1e-9)
        end
    end)

    it("take an activation that is a function", function()
        heed.manual_seed(14)
        local a = randomised(nn.TransformerEncoderLayer(8, 2, 12, { dropout = 0 }))
        local b = nn.TransformerEncoderLayer(8, 2, 12, { dropout = 0, activation = function(x)
            return x:relu()
        end })
        b:load_state_dict(a:state_dict())
        local x = heed.randn(2, 3, 8)
        assert.is_close(a(x), b(x), 1e-5)
    end)

    it("drop in training only, by the seed", function()
        local layer, x = nn.TransformerEncoderLayer(8, 2, 12, { dropout = 0.5 }),
            heed.randn(2, 3, 8)
        heed.manual_seed(1)
        local first = layer(x)
        assert.is_false(heed.equal(first, layer(x)))
        heed.manual_seed(1)
        assert.is_true(heed.equal(first, layer(x)))
        layer:eval()
        assert.is_true(heed.equal(layer(x), layer(x)))
    end)

    it("keep what is hidden out, NaN too, forward and backward", function()
        heed.manual_seed(15)
        local layer = nn.TransformerDecoderLayer(8, 2, 12, { dropout = 0 })
        local x, memory = heed.randn(2, 3, 8), heed.randn(2, 4, 8)
        local clean = layer(x, memory, { memory_mask = mask.padding { 2, 3 } })
        local dirty = memory:clone()
        dirty[{ 1, { 3, 4 } }] = 0 / 0
        dirty[{ 2, 4 }] = math.huge
        local out = layer(x, dirty, { memory_mask = mask.padding { 2, 3 } })
        assert.is_true(heed.isfinite(out):all())
        assert.is_close(out, clean, 1e-5)
        local own = x:clone()
        own[{ 2, 3 }] = 0 / 0
        local attended = layer.self_attn(own, { mask = mask.padding { 3, 2 } })
        assert.is_true(heed.isfinite(attended[{ 2, { 1, 2 } }]):all())
    end)
end)

describe("stacks", function()
    it("have a rotary and a mask for each layer when given lists", function()
        heed.manual_seed(4)
        local near, far = nn.Rotary(4), nn.Rotary(4, { base = 100 })
        local options = { dropout = 0, norm_first = true, rotary = { near, far, false } }
        local encoder = nn.TransformerEncoder(3, 8, 2, 12, options)
        local layers, x = encoder.layers, heed.randn(2, 5, 8)
        assert.are.equal(near, layers[1].self_attn.rotary)
        assert.are.equal(far, layers[2].self_attn.rotary)
        assert.is_nil(layers[3].self_attn.rotary)
        local causal = heed.mask.causal()
        local window = causal & heed.mask.window(1)
        local masks = { window, causal, window }
        local want = x
        for i, layer in ipairs(layers) do want = layer(want, { mask = masks[i] }) end
        local out = encoder(x, { mask = masks })
        assert.is_close(out, encoder.norm(want), 0)
        heed.no_grad(function()
            local cache = encoder:new_cache { batch = 2, max_len = 5 }
            for i = 1, 5 do
                local y = encoder(x:narrow(2, i, 1), { mask = masks, cache = cache })
                assert.is_close(y, out:narrow(2, i, 1), 1e-6)
            end
        end)
        local same = nn.TransformerEncoder(2, 8, 2, 12, { rotary = { true, true } })
        assert.are.equal(same.layers[1].self_attn.rotary, same.layers[2].self_attn.rotary)
    end)

    it("refuse lists of other lengths, and a sandwich without norm_first", function()
        local encoder = nn.TransformerEncoder(2, 8, 2, 12)
        assert.error_matches(function()
            encoder(heed.randn(1, 3, 8), { mask = { heed.mask.causal() } })
        end, "mask: expected one, or 2 in a list, got 1")
        assert.error_matches(function()
            nn.TransformerEncoder(2, 8, 2, 12, { rotary = { true } })
        end, "rotary: expected one, or 2 in a list, got 1")
        assert.error_matches(function()
            nn.TransformerEncoderLayer(8, 2, 12, { sandwich_norm = true })
        end, "sandwich_norm: expected norm_first with it")
    end)

    it("share one set of rotary tables, and end with the norm of their layers", function()
        local encoder = nn.TransformerEncoder(2, 8, 2, 12, { rotary = { base = 100 }, norm = "rms",
            final_norm = true, eps = 1e-3 })
        assert.are.equal(encoder.layers[1].self_attn.rotary, encoder.layers[2].self_attn.rotary)
        assert.are.same({ "RMSNorm", 1e-3 }, { encoder.norm.class_name, encoder.norm.eps })
        local decoder = nn.TransformerDecoder(1, 8, 2, 12, { rotary = true, bias = false })
        assert.is_truthy(decoder.layers[1].self_attn.rotary)
        assert.is_nil(decoder.layers[1].multihead_attn.rotary)
        for name in decoder:named_parameters() do assert.is_nil(name:find "bias", name) end
        assert.error_matches(function() nn.TransformerEncoder(1, 8, 2, 12, { norm = "batch" }) end,
            'norm: expected "layer" or "rms"')
        assert.error_matches(function() nn.TransformerEncoder(1, 8, 2, 12, { qk_norm = "l2" }) end,
            'qk_norm: expected "rms" or "layer"')
    end)


    it("run their layers in turn, with a final norm when norms come first", function()
        heed.manual_seed(16)
        local encoder = nn.TransformerEncoder(2, 8, 2, 12, { dropout = 0, norm_first = true })
        local x = heed.randn(2, 3, 8)
        assert.is_close(encoder(x), encoder.norm(encoder.layers[2](encoder.layers[1](x))), 1e-6)
        assert.is_nil(nn.TransformerEncoder(1, 8, 2, 12).norm)
        assert.is_truthy(nn.TransformerEncoder(1, 8, 2, 12, { final_norm = true }).norm)
        local decoder = nn.TransformerDecoder(2, 8, 2, 12, { dropout = 0 })
        assert.has_shape(decoder(x, heed.randn(2, 5, 8), { mask = mask.causal() }), { 2, 3, 8 })
        local windowed = { mask = mask.window(1) & mask.padding { 3, 2 } }
        assert.is_close(encoder(x, windowed),
            encoder.norm(encoder.layers[2](encoder.layers[1](x, windowed), windowed)), 1e-6)
    end)
end)

describe("data of another dtype than a layer's parameters", function()
    it("is what is to be converted", function()
        local x = heed.ones({ 1, 2, 8 }, { dtype = "f64" })
        for _, layer in ipairs { nn.Linear(8, 2), nn.LayerNorm(8), nn.RMSNorm(8),
            nn.MultiHeadAttention(8, 2),
            nn.TransformerEncoderLayer(8, 2, 16), nn.TransformerEncoderLayer(8, 2, 16,
                { norm_first = true }), nn.FeedForward(8, 16),
            nn.Sequential(nn.Linear(8, 8), nn.ReLU()) } do
            assert.error_matches(function() layer(x) end,
                'x: expected f32 as weight has, got f64; x:to "f32" converts')
            layer:to "f64"
            assert.are.equal("f64", layer(x).dtype)
            assert.error_matches(function() layer(x:to "f32") end,
                'x: expected f64 as weight has, got f32; x:to "f64" converts')
        end
        assert.error_matches(function()
            heed.loss.linear_cross_entropy(x, heed.ones(3, 8), { { 1, 2 } })
        end,
            'hidden: expected f32 as weight has, got f64; hidden:to "f32" converts')
        local half = heed.ones(2, 8):to "bf16"
        assert.error_matches(function() heed.linear(x, half) end,
            'weight: expected f64, got bf16; t:to "f64" converts')
        assert.error_matches(function() nn.Linear(8, 2)(x:to "i64") end,
            'x: expected f32 or f64, got i64; t:to "f32" converts')
    end)
end)
