--- Layers run whole in C, whatever their options. A part of the user's own they call; they give the
--- same.

local core = require "heed.core"
local heed = require "heed"
local nn, mask = heed.nn, heed.mask
local in_parts = require "spec.support.in_parts"
require "heed.luassert"

local function normal(...) return heed.randn({ ... }, { dtype = "f64" }) end

-- What Llama, Gemma 2, T5 and others are made of.
local OPTIONS = {
    llama = { norm_first = true, norm = "rms", activation = "swiglu", num_kv_heads = 2,
        rotary = true, bias = false, qk_norm = true },
    gemma = { norm_first = true, norm = "rms", activation = "geglu_tanh", num_kv_heads = 1,
        head_dim = 6, rotary = { dim = 4, interleaved = true }, softcap = 3, scale = 0.4,
        unit_offset = true, sandwich_norm = true, qk_norm = true, eps = 1e-3, bias = false },
    qwen = { norm_first = true, norm = "rms", bias = false, qkv_bias = true },
    sandwich = { norm_first = true, sandwich_norm = true, attention_bias = false },
    post_norm = { activation = "geglu", qk_norm = "layer", num_kv_heads = 4 },
    reglu = { activation = "reglu", norm_first = true, hidden_dropout = 0.1 },
    tanh = { activation = "tanh", norm = "rms", scale = 1 },
    sigmoid = { activation = "sigmoid", head_dim = 2, norm_first = true },
    stretched = { head_dim = 4, rotary = {
        scaling = { type = "dynamic", factor = 2, original_max_position_embeddings = 3 } } },
}

-- The same parameters twice: whole, and in parts.
local function both(Layer, options, dropout)
    local own = { dropout = dropout }
    for name, value in pairs(options) do own[name] = value end
    local whole, parts = Layer(8, 4, 12, own):to "f64", Layer(8, 4, 12, own):to "f64"
    for _, p in ipairs(whole:parameters()) do nn.init.normal_(p, 0, 0.5) end
    parts:load_state_dict(whole:state_dict())
    return whole, in_parts(parts)
end

local function results(layer, x, memory, options)
    heed.manual_seed(5)
    layer:zero_grad()
    local function leaf(t) return t and t:detach():requires_grad_(true) end
    local inputs = { leaf(x), leaf(memory) }
    local y
    if memory then y = layer(inputs[1], inputs[2], options) else y = layer(inputs[1], options) end
    (y * y):sum():backward()
    local all = { out = y:detach(), x = inputs[1].grad, memory = memory and inputs[2].grad or nil }
    for name, p in layer:named_parameters() do all[name] = p.grad end
    return all
end

describe("whole in C and in parts of Lua", function()
    before_each(function() heed.manual_seed(31) end)

    for name, options in pairs(OPTIONS) do
        it(name .. " layers give the same, forward and backward, with dropout too", function()
            local x, memory = normal(2, 5, 8), normal(2, 3, 8)
            local own, over = mask.causal() & mask.padding { 5, 3 }, mask.padding { 3, 1 }
            for _, dropout in ipairs { 0, 0.3 } do
                for _, decoder in ipairs { false, true } do
                    local name_of = decoder and "TransformerDecoderLayer"
                        or "TransformerEncoderLayer"
                    local whole, parts = both(nn[name_of], options, dropout)
                    assert.is_true(whole:is_stock())
                    assert.is_false(parts:is_stock())
                    for _, single in ipairs { false, true } do
                        local a, b = single and x[1] or x, single and memory[1] or memory
                        if not decoder then b = nil end
                        local call = { mask = single and mask.causal() or own }
                        if decoder and not single then call.memory_mask = over end
                        local got, want = results(whole, a, b, call), results(parts, a, b, call)
                        for key, t in pairs(want) do assert.is_close(got[key], t, 1e-9) end
                        for key in pairs(got) do assert.is_truthy(want[key]) end
                    end
                end
            end
        end)
    end

    it("attentions over other widths give the same", function()
        for _, options in ipairs {
            { kdim = 5, vdim = 3 },
            { kdim = 5, vdim = 3, num_kv_heads = 2, qk_norm = true, rotary = true },
            { num_kv_heads = 2, head_dim = 6, qk_norm = "layer", softcap = 2,
                rotary = { interleaved = true } },
        } do
            local own = { dropout = 0.2 }
            for name, value in pairs(options) do own[name] = value end
            local function make() return nn.MultiHeadAttention(8, 4, own):to "f64" end
            local whole, parts = make(), make()
            parts:load_state_dict(whole:state_dict())
            in_parts(parts)
            local q, k = normal(2, 5, 8), normal(2, 3, options.kdim or 8)
            local v = normal(2, 3, options.vdim or 8)
            for _, given in ipairs { { q, k, v }, { q[1], k[1], v[1] } } do
                local function run(attention, weights)
                    heed.manual_seed(2)
                    return attention(given[1], given[2], given[3], { weights = weights })
                end
                local out, weights = run(whole, true)
                local out_of_parts, weights_of_parts = run(parts, true)
                assert.is_close(out, out_of_parts, 1e-10)
                assert.is_close(weights, weights_of_parts, 1e-10)
                local _, some = run(whole, { rows = { 1, -1 }, heads = { 3 } })
                assert.is_close(some, weights:index_select(-2, { 1, 5 }):index_select(-3, { 3 }),
                    1e-10)
            end
        end
    end)
end)

describe("a layer in C sees what was assigned last", function()
    local layer, x
    before_each(function()
        heed.manual_seed(8)
        layer = nn.TransformerEncoderLayer(8, 2, 12, { dropout = 0, qk_norm = true, rotary = true })
        x = heed.randn(2, 3, 8)
    end)

    local function changes(change)
        local before = layer(x)
        change()
        assert.is_false(heed.allclose(before, layer(x)))
    end

    it("in any field", function()
        changes(function() layer.linear1.weight = nn.parameter(heed.randn(12, 8)) end)
        changes(function() layer.self_attn.in_proj_bias = nn.parameter(heed.randn(24)) end)
        changes(function() layer.self_attn.scale = 3 end)
        changes(function() layer.self_attn.softcap = 0.1 end)
        changes(function()
            layer.self_attn.q_norm = nn.LayerNorm(4, { elementwise_affine = false })
        end)
        changes(function() layer.self_attn.rotary = nil end)
        changes(function()
            local attention = layer.self_attn
            attention.num_heads, attention.num_kv_heads, attention.q_norm = 1, 1, nil
        end)
        changes(function() layer.norm1 = nn.RMSNorm(8) end)
        changes(function() layer.norm2.eps = 4 end)
        changes(function() layer.norm_first = true end)
        changes(function() layer.activation = "gelu" end)
        changes(function() layer.linear2.bias = nil end)
        assert.is_true(layer:is_stock())
        assert.are.equal("f64", layer:to "f64"(x:to "f64").dtype)
    end)

    it("in a class, too", function()
        local Linear = nn.Linear:extend "Biased"
        Linear.bias = heed.randn(12)
        local own = Linear(8, 12, { bias = false })
        own.weight = layer.linear1.weight
        changes(function() layer.linear1 = own end)
        assert.is_close(layer(x), in_parts(layer)(x), 1e-5)
    end)

    it("and what is frozen gets no gradient", function()
        layer.linear1:requires_grad_(false)
        layer(x):sum():backward()
        assert.is_nil(layer.linear1.weight.grad)
        assert.is_truthy(layer.linear2.weight.grad)
    end)

    it("and keeps what its parameters are made of", function()
        local twice = heed.func(function(_, t) return t * 2 end, function(_, g) return g * 2 end)
        local raw = heed.randn(12, 8):requires_grad_(true)
        local y
        do
            layer.linear1.weight = twice(raw)
            y = layer(x)
            layer.linear1.weight = heed.randn(12, 8)
        end
        collectgarbage()
        collectgarbage()
        y:sum():backward()
        assert.has_shape(raw.grad, { 12, 8 })
    end)

    it("and names what it cannot read", function()
        local function says(text, change)
            change(layer)
            assert.error_matches(function() layer(x) end, text)
        end
        says("self_attn.out_proj.weight: expected a tensor, got nil",
            function(l) l.self_attn.out_proj.weight = nil end)
        layer.self_attn.out_proj = nn.Linear(8, 8)
        says("linear1.weight: expected a tensor, got 3", function(l) l.linear1.weight = 3 end)
        layer.linear1 = nn.Linear(8, 12)
        says("self_attn.num_kv_heads: expected an integer, got 1.5",
            function(l) l.self_attn.num_kv_heads = 1.5 end)
        says("num_kv_heads: expected a divisor of num_heads %(2%), got 3",
            function(l) l.self_attn.num_kv_heads = 3 end)
        layer.self_attn.num_kv_heads = 2
        says("linear3: expected a module, got nil", function(l) l.activation = "swiglu" end)
    end)
end)

describe("fields that are read by a function", function()
    -- Takes the tensors out of a module's fields; what reads them is called for each.
    local function read_through(module, held, read)
        local store, class = {}, getmetatable(module)
        for key, value in pairs(module) do
            if type(value) == "userdata" then store[key] = value end
        end
        local meta = {}
        for key, value in pairs(class) do meta[key] = value end
        function meta.__index(_, key)
            if store[key] then return read(store[key]) end
            return class[key]
        end
        for key, t in pairs(store) do
            rawset(module, key, nil)
            held[#held + 1] = t
        end
        setmetatable(module, meta)
    end

    it("may drop what was read before them: the call has it still", function()
        local options = { norm_first = true, norm = "rms", activation = "swiglu", num_kv_heads = 1 }
        for n = 1, 12 do
            local layer = nn.TransformerEncoderLayer(8, 2, 16, options):eval()
            local held, reads = {}, 0
            local function read(t)
                reads = reads + 1
                if reads ~= n then return t end
                local copy = t:clone()
                for _, other in ipairs(held) do other:free() end
                for _ = 1, 20 do heed.ones(64) end -- what is free is taken
                return copy
            end
            for _, module in ipairs(layer:modules()) do read_through(module, held, read) end
            pcall(core.encoder_layer, layer, heed.ones(1, 3, 8))
            assert.is_true(reads >= 1)
        end
    end)

    it("give the same as fields that are there", function()
        local layer, held = nn.TransformerEncoderLayer(8, 2, 16):eval(), {}
        local x = heed.randn(1, 3, 8)
        local want = core.encoder_layer(layer, x)
        for _, module in ipairs(layer:modules()) do
            read_through(module, held, function(t) return t end)
        end
        assert.is_true(core.encoder_layer(layer, x):equal(want))
    end)
end)
