-- Caches of modules that are called several times in a forward.

local heed = require "heed"
local nn = heed.nn
require "heed.luassert"

local causal = heed.mask.causal()

before_each(function() heed.manual_seed(4) end)

describe("a module that is called several times in a forward", function()
    local function albert(forward)
        local model = nn.Module:extend "Albert"()
        model.first = nn.TransformerEncoderLayer(16, 4, 24, { rotary = true })
        model.shared = nn.TransformerEncoderLayer(16, 4, 24, { dropout = 0 })
        model.forward = forward
        return model:eval():requires_grad_(false)
    end

    local function is_whole(model, x)
        local whole, cache = model(x), model:new_cache { batch = 2, max_len = 9 }
        local function call(first, L) return model(x:narrow(2, first, L), cache) end
        assert.is_close(call(1, 4), whole:narrow(2, 1, 4), 1e-5)
        assert.is_close(call(5, 1), whole:narrow(2, 5, 1), 1e-5)
        assert.same({ 5, 5 }, cache:lengths():totable())
        cache:crop { 5, 3 }
        assert.is_close(call(6, 1)[{ { 1 } }], whole[{ { 1 }, { 6 } }], 1e-5)
        cache:crop(3):reorder { 2, 1 }
        x, whole = x:flip(1), whole:flip(1)
        assert.is_close(call(4, 6), whole:narrow(2, 4, 6), 1e-5)
    end

    local function options(cache) return { mask = causal, cache = cache } end

    it("keeps what each call read", function()
        heed.manual_seed(8)
        local x = heed.randn(2, 9, 16)
        is_whole(albert(function(self, y, cache)
            for _ = 1, 3 do
                y = self.shared(y, options(cache))
            end -- the first attention of all, again and again
            return y
        end), x)
        is_whole(albert(function(self, y, cache)
            y = self.first(y, options(cache))
            for _ = 1, 3 do y = self.shared(self.shared(y, options(cache)), options(cache)) end
            return y
        end), x)
        local stack = nn.TransformerEncoder(3, 16, 4, 24):eval():requires_grad_(false)
        stack.layers = { stack.layers[1], stack.layers[2], stack.layers[1] }
        local model = albert(function(self, y, cache) return self.stack(y, options(cache)) end)
        model.stack = stack
        is_whole(model, x)
        local cache, whole = stack:new_cache { batch = 2, max_len = 9 }, stack(x, options())
        for i = 1, 9 do
            assert.is_close(stack(x:narrow(2, i, 1), options(cache)), whole:narrow(2, i, 1), 1e-5)
        end
    end)

    it("has one forward after the other also inside another's", function()
        local inner = nn.TransformerEncoder(2, 16, 4, 24):eval():requires_grad_(false)
        local outer = nn.Module:extend "Outer"()
        outer.inner = inner
        function outer:forward(y)
            local cache, out = self:new_cache { batch = 2, max_len = 5 }, {}
            for i = 1, 5 do out[i] = self.inner(y:narrow(2, i, 1), options(cache)) end
            return heed.cat(out, 2)
        end
        local x = heed.randn(2, 5, 16)
        assert.is_close(outer(x), inner(x, options()), 1e-5)
        assert.is_close(outer(x), inner(x, options()), 1e-5)
    end)

    it("is called as often in each, or it says so", function()
        local times = 2
        local model = albert(function(self, y, cache)
            for _ = 1, times do y = self.shared(y, options(cache)) end
            return y
        end)
        local cache = model:new_cache { batch = 2, max_len = 9 }
        model(heed.randn(2, 2, 16), cache)
        times = 3
        local ok, message = pcall(model, heed.randn(2, 1, 16), cache)
        assert.is_false(ok)
        assert.is_truthy(tostring(message):find(
            "cache: expected as many calls of shared.self_attn in each forward, got call 3", 1,
            true),
            tostring(message))
    end)

    it("can fail and go on", function()
        local model = albert(function(self, y, cache)
            y = self.shared(self.shared(y, options(cache)), options(cache))
            if self.breaks then error "broken" end
            return y
        end)
        local x = heed.randn(2, 6, 16)
        local whole, cache = model(x), model:new_cache { batch = 2, max_len = 6 }
        model(x:narrow(2, 1, 3), cache)
        model.breaks = true
        assert.is_false(pcall(model, x:narrow(2, 4, 1), cache))
        model.breaks = false
        cache:crop(3)
        assert.is_close(model(x:narrow(2, 4, 3), cache), whole:narrow(2, 4, 3), 1e-5)
    end)
end)
