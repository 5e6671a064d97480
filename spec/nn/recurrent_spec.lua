-- GRU, LSTM and their cells: how they are called, padding, states, what a graph holds, messages.
-- recurrent_torch_spec.lua has their numbers.

local heed = require "heed"
require "heed.luassert"
local nn = heed.nn

local KINDS = { "GRU", "LSTM" }
local NAN = 0 / 0

-- The tensors of a state.
local function parts(state) return heed.is_tensor(state) and { state } or state end

local function same(a, b)
    a, b = parts(a), parts(b)
    for i, t in ipairs(a) do assert.equal(t:bytes(), b[i]:bytes()) end
    assert.equal(#a, #b)
end

local function message(f, ...)
    local ok, text = pcall(f, ...)
    assert.is_false(ok)
    return text
end

-- Gradients of all parameters, and of x, under the sum of squares of all results.
local function gradients(layer, x, ...)
    x = x:detach():clone()
    x.requires_grad = true
    for _, p in ipairs(layer:parameters()) do p.grad = nil end
    local out, state = layer(x, ...)
    local loss = out:square():sum()
    for _, t in ipairs(parts(state)) do loss = loss + t:square():sum() end
    loss:backward()
    local list = { x.grad }
    for _, p in ipairs(layer:parameters()) do list[#list + 1] = p.grad:clone() end
    return list
end

for _, kind in ipairs(KINDS) do
    local make = nn[kind]

    describe("nn." .. kind, function()
        before_each(function() heed.manual_seed(7) end)

        it("goes on from the state that it gave", function()
            local layer, x = make(3, 5, { num_layers = 2 }), heed.randn(2, 6, 3)
            local whole, last = layer(x)
            local first, state = layer(x:narrow(2, 1, 4))
            local second, after = layer(x:narrow(2, 5, 2), state)
            assert.is_close(heed.cat({ first, second }, 2), whole, 1e-6)
            for i, t in ipairs(parts(after)) do assert.is_close(t, parts(last)[i], 1e-6) end
        end)

        it("is its cell, step by step", function()
            local layer, cell = make(3, 5), nn[kind .. "Cell"](3, 5)
            local state = {}
            for name, t in pairs(layer:state_dict()) do state[name:gsub("_l0$", "")] = t end
            cell:load_state_dict(state)
            local x = heed.randn(2, 4, 3)
            local out, h, c = layer(x), nil, nil
            for i = 1, 4 do
                h, c = cell(x:select(2, i), c and { h, c } or h)
                assert.is_close(out:select(2, i), h, 1e-6)
            end
        end)

        it("reads each sequence as if it were alone", function()
            local layer = make(3, 5, { num_layers = 2, bidirectional = true })
            local x, lengths = heed.randn(4, 6, 3), { 2, 6, 0, 5 }
            local out, state = layer(x, { lengths = lengths })
            for b, n in ipairs(lengths) do
                if n > 0 then
                    local alone, own = layer(x:select(1, b):narrow(1, 1, n))
                    assert.is_close(out[b]:narrow(1, 1, n), alone, 1e-6)
                    for i, t in ipairs(parts(state)) do
                        assert.is_close(t:select(2, b), parts(own)[i], 1e-6)
                    end
                end
                assert.equal(0, out[b]:narrow(1, n + 1, 6 - n):abs():sum():item())
            end
            same(state, (select(2, layer(x, { lengths = heed.ids(lengths):to "i32" }))))
        end)

        it("does so in batches of more tokens than one product is made for", function()
            local layer, lengths = make(3, 5, { bidirectional = true }), {}
            for b = 1, 40 do lengths[b] = b * 7 % 31 end
            local x = heed.randn(40, 30, 3)
            local out = layer(x, { lengths = lengths })
            local unrecorded = heed.no_grad(layer, x, { lengths = lengths })
            assert.equal(out:bytes(), unrecorded:bytes())
            for b, n in ipairs(lengths) do
                local alone = n > 0 and layer(x[b]:narrow(1, 1, n)) or heed.zeros(0, 10)
                assert.is_close(out[b]:narrow(1, 1, n), alone, 1e-6)
            end
        end)

        it("keeps the state of a sequence of length 0, and passes its gradient", function()
            local layer, h = make(3, 5), heed.randn({ 1, 2, 5 }, { requires_grad = true })
            local state = kind == "LSTM" and { h, h:detach() } or h
            local _, after = layer(heed.randn(2, 4, 3), state, { lengths = { 0, 4 } })
            assert.is_true(heed.equal(parts(after)[1][1][1], h[1][1]))
            parts(after)[1]:select(2, 1):sum():backward()
            assert.is_close(h.grad, { { { 1, 1, 1, 1, 1 }, { 0, 0, 0, 0, 0 } } }, 0)
        end)

        it("never reads padding, nor gives it a gradient", function()
            local layer, x = make(3, 5, { num_layers = 2, bidirectional = true }),
                heed.randn(3, 6, 3)
            local lengths = { 2, 6, 4 }
            local want = gradients(layer, x, { lengths = lengths })
            local out = layer(x, { lengths = lengths })
            x[{ 1, { 3, 6 } }], x[{ 3, { 5, 6 } }] = NAN, math.huge
            assert.is_true(heed.equal(out, (layer(x, { lengths = lengths }))))
            for i, g in ipairs(gradients(layer, x, { lengths = lengths })) do
                assert.equal(want[i]:bytes(), g:bytes())
            end
            assert.equal(0, want[1][{ 1, { 3, 6 } }]:abs():sum():item())
        end)

        it("gives a gradient of 0 to what was not chosen, whatever stands there", function()
            local layer = make(3, 5)
            local x = heed.randn(2, 4, 3)
            x[2] = NAN
            x[{ 1, 4 }] = math.huge
            x.requires_grad = true
            layer(x)[{ 1, { 1, 3 } }]:sum():backward()
            assert.equal(0, x.grad[2]:abs():sum():item())
            assert.equal(0, x.grad[1][4]:abs():sum():item())
            assert.is_true(x.grad:isfinite():all() and x.grad[1][3]:abs():sum():item() > 0)
        end)

        it("takes any number of rows and steps", function()
            local layer = make(3, 5, { bidirectional = true })
            for _, shape in ipairs { { 0, 4 }, { 2, 0 }, { 0, 0 }, { 1, 1 }, { 1, 9 }, { 9, 1 } } do
                local x = heed.randn({ shape[1], shape[2], 3 })
                local out, state = layer(x)
                assert.same({ shape[1], shape[2], 10 }, { out:size() })
                for _, t in ipairs(parts(state)) do
                    assert.same({ 2, shape[1], 5 }, { t:size() })
                end
                for _, g in ipairs(gradients(layer, x)) do assert.is_true(g:isfinite():all()) end
            end
            local out, state = layer(heed.randn(2, 3, 3), { lengths = { 0, 0 } })
            assert.equal(0, out:abs():sum():item() + parts(state)[1]:abs():sum():item())
        end)

        it("has the gradient of its formula: layers, directions, lengths", function()
            local layer = make(2, 3, { num_layers = 2, bidirectional = true }):to "f64"
            local names, params = {}, {}
            for name, p in layer:named_parameters() do
                names[#names + 1], params[#params + 1] = name, p:detach()
            end
            heed.gradcheck(function(x, ...)
                for i, p in ipairs { ... } do layer[names[i]] = p end
                local out, state = layer(x, { lengths = { 2, 3 } })
                return out, table.unpack(parts(state))
            end, { heed.randn({ 2, 3, 2 }, { dtype = "f64" }), table.unpack(params) })
        end)

        it("takes the batch second when asked to", function()
            local first = make(3, 5, { num_layers = 2, bidirectional = true })
            local second = make(3, 5, { num_layers = 2, bidirectional = true, batch_first = false })
            second:load_state_dict(first:state_dict())
            local x = heed.randn(2, 4, 3)
            local out, state = first(x)
            local turned, other = second(x:transpose(1, 2))
            assert.is_true(heed.equal(out, turned:transpose(1, 2)))
            same(state, other)
        end)

        it("drops between its layers, in training alone", function()
            local layer, x = make(3, 5, { num_layers = 2, dropout = 0.5 }), heed.randn(2, 4, 3)
            assert.is_false(heed.equal((layer(x)), (layer(x))))
            local plain = make(3, 5, { num_layers = 2 })
            plain:load_state_dict(layer:state_dict())
            local before = heed.rng_state()
            assert.is_true(heed.equal((layer:eval()(x)), (plain(x))))
            assert.equal(before:bytes(), heed.rng_state():bytes())
        end)

        it("has PyTorch's names under either way to count", function()
            local layer = make(3, 5, { bidirectional = true })
            local heeds, torches = layer:state_dict(), layer:state_dict { names = "torch" }
            for name in pairs(heeds) do assert.is_not_nil(torches[name], name) end
            assert.is_not_nil(heeds.weight_ih_l0 and heeds.bias_hh_l0_reverse)
            assert.equal(5 ^ -0.5, math.max(5 ^ -0.5, heeds.weight_ih_l0:abs():max():item()))
        end)

        it("gives the same bits recorded, unrecorded and recomputed", function()
            local layer = make(3, 5, { num_layers = 2 })
            local x = heed.randn(3, 7, 3)
            local want = gradients(layer, x, { lengths = { 7, 3, 5 } })
            local recorded = layer(x)
            assert.is_true(heed.equal(recorded, (heed.no_grad(function() return layer(x) end))))
            local leaf = x:clone()
            leaf.requires_grad = true
            for _, p in ipairs(layer:parameters()) do p.grad = nil end
            local out, h, c = heed.recompute(function(t)
                local y, state = layer(t, { lengths = { 7, 3, 5 } })
                return y, table.unpack(parts(state))
            end, leaf)
            local loss = out:square():sum() + h:square():sum()
            if c then loss = loss + c:square():sum() end
            loss:backward()
            assert.equal(want[1]:bytes(), leaf.grad:bytes())
            for i, p in ipairs(layer:parameters()) do
                assert.equal(want[i + 1]:bytes(), p.grad:bytes())
            end
        end)

        it("holds nothing beside its results where nothing is recorded", function()
            local layer, x = make(16, 32), heed.randn(4, 64, 16)
            local function held(f)
                collectgarbage()
                local before = heed.memory().live
                local results = table.pack(f())
                collectgarbage()
                return heed.memory().live - before, results
            end
            local recorded = held(function() return layer(x) end)
            local alone = held(function() return heed.no_grad(layer, x) end)
            local outputs = 4 * (4 * 64 * 32 + 2 * 4 * 32)
            assert.is_true(alone < 2 * outputs, tostring(alone))
            assert.is_true(recorded > 4 * outputs, tostring(recorded))
        end)

        it("goes back twice, and sees what was overwritten", function()
            local layer, x = make(3, 5), heed.randn(2, 4, 3)
            local out = layer(x)
            out:sum():backward(nil, { retain = true })
            local once = layer.weight_hh_l0.grad:clone()
            out:sum():backward(nil, { retain = true })
            assert.is_close(layer.weight_hh_l0.grad, once * 2, 1e-5)
            x:add_(1)
            assert.matches("gradient of " .. kind:lower() .. " needs was overwritten",
                message(function() out:sum():backward() end))
        end)

        it("runs on shapes alone", function()
            local layer = make(300, 500, { num_layers = 2, bidirectional = true })
            local out, state = layer:check(heed.zeros(64, 100, 300), { lengths = heed.full({ 64 },
                7, { dtype = "i64" }) })
            assert.equal("[64, 100, 1000]", tostring(out))
            assert.equal("[4, 64, 500]", tostring(kind == "LSTM" and state[2] or state))
            assert.matches("x: expected 300 features, got %[2, 3, 4%]",
                message(layer.check, layer, heed.zeros(2, 3, 4)))
        end)

        it("is equal however its inputs lie in memory", function()
            local layer, x = make(3, 5, { bidirectional = true }), heed.randn(3, 4, 2, 3)
            local part = x:select(3, 2)
            assert.is_true(heed.equal((layer(part)), (layer(part:contiguous()))))
        end)

        it("prints what it is", function()
            assert.equal(kind .. "(3, 5, num_layers = 2, bidirectional = true, dropout = 0.1)",
                tostring(make(3, 5, { num_layers = 2, bidirectional = true,
                    dropout = 0.1 })):match "^[^\n]*%)")
            assert.equal(kind .. "(3, 5, bias = false, batch_first = false)",
                tostring(make(3, 5, { bias = false, batch_first = false })):match "^[^\n]*%)")
            assert.equal(kind .. "Cell(3, 5)",
                tostring(nn[kind .. "Cell"](3, 5)):match "^[^\n]*%)")
        end)

        it("says what it wants", function()
            local layer = make(3, 5, { num_layers = 2 })
            local x, lstm = heed.zeros(2, 4, 3), kind == "LSTM"
            local function state(t) return lstm and { t, t } or t end
            for pattern, f in pairs {
                [kind .. ": x: expected %[B, L, 3%] or %[L, 3%], got f32 tensor %[3%]"] = function()
                    layer(heed.zeros(3))
                end,
                ["x: expected %[B, L, 3%] or %[L, 3%], got nil"] = function() layer() end,
                ["x: expected 3 features, got %[2, 4, 7%]"] = function()
                    layer(heed.zeros(2, 4, 7))
                end,
                ["x: expected f32 as weight_ih has, got f64; x:to \"f32\" converts"] = function()
                    layer(x:to "f64")
                end,
                ["h: expected %[2, 2, 5%] %(layers times directions, batch, hidden_size%), got f32 "
                    .. "tensor %[2, 5%]"] = function()
                    layer(x, state(heed.zeros(2, 5)))
                end,
                ["lengths: expected 0..4, got 5 at %[2%]"] = function()
                    layer(x, { lengths = { 4, 5 } })
                end,
                ["lengths: expected shape %[2%], got %[3%]"] = function()
                    layer(x, { lengths = { 4, 3, 2 } })
                end,
                ["there is no option \"length\"; did you mean lengths"] = function()
                    layer(x, { length = { 4, 3 } })
                end,
                ["heed.nn." .. kind .. ": hidden_size: expected an integer of at least 1, got 0"] =
                    function()
                        make(3, 0)
                    end,
                ["heed.nn." .. kind .. ": options: there is no option \"layers\""] = function()
                    make(3, 5, { layers = 2 })
                end,
                ["x: expected %[B, 3%] or %[3%], got f32 tensor %[2, 4, 3%]"] = function()
                    nn[kind .. "Cell"](3, 5)(x)
                end,
            } do assert.matches(pattern, message(f)) end
        end)

        it("names its place in a model", function()
            local Model = nn.Module:extend "Model"
            function Model:init() self.encoder = nn.ModuleList { make(3, 5) } end
            function Model:forward(x) return self.encoder[1](x) end
            assert.matches("encoder.1: x: expected 3 features, got %[2, 4, 2%]",
                message(Model(), heed.zeros(2, 4, 2)))
        end)
    end)
end

describe("nn.LSTM", function()
    it("wants its state as a list of two", function()
        local lstm, h = nn.LSTM(3, 5), heed.zeros(1, 2, 5)
        for _, wrong in ipairs { h, { h }, { h, h, h }, 5 } do
            assert.matches("state: expected { h, c }, got",
                message(lstm, heed.zeros(2, 4, 3), wrong))
        end
        assert.matches("c: expected %[1, 2, 5%]",
            message(lstm, heed.zeros(2, 4, 3), { h, heed.zeros(1, 2, 4) }))
        assert.matches("state: expected { h, c }, got",
            message(nn.LSTMCell(3, 5), heed.zeros(2, 3), heed.zeros(2, 5)))
    end)
end)
