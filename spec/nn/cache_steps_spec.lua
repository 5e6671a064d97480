-- What one step of a cache is, however the model is called, and what is left of one that does not
-- end well.

local heed = require "heed"
local nn = heed.nn
require "heed.luassert"

local causal = heed.mask.causal()

local function options(cache) return { mask = causal, cache = cache } end

-- Two layers, of which the second is used twice (ALBERT's way), and a hook between them.
local Model = nn.Module:extend "Model"

function Model:init()
    self.first = nn.TransformerEncoderLayer(16, 4, 24, { rotary = true })
    self.shared = nn.TransformerEncoderLayer(16, 4, 24)
    self.plain = nn.TransformerEncoder(2, 16, 4, 24)
end

function Model:forward(x, cache)
    x = self.first(x, options(cache))
    if self.between then self.between() end
    return self.shared(self.shared(x, options(cache)), options(cache))
end

function Model:decode(x, cache) -- calls parts, not the model
    x = self.first(x, options(cache))
    return self.shared(self.shared(x, options(cache)), options(cache))
end

function Model:again(x, cache)
    return self.shared(self.shared(x, options(cache)), options(cache))
end

local model, x, whole
before_each(function()
    heed.manual_seed(3)
    model, x = Model():eval():requires_grad_(false), heed.randn(2, 6, 16)
    whole = model(x)
end)

local function new_cache() return model:new_cache { batch = 2, max_len = 6 } end
local function at(t, i) return t:narrow(2, i, 1) end

local function reads_on(cache, from)
    for i = from, 6 do assert.is_close(model(at(x, i), cache), at(whole, i), 1e-5) end
    assert.same({ 6, 6 }, cache:lengths():totable())
end

local function message_of(f, ...)
    local ok, message = pcall(f, ...)
    assert.is_false(ok)
    return tostring(message)
end

describe("a step of a cache is", function()
    it("a call of the model, or of its forward by name", function()
        local cache = new_cache()
        assert.is_close(model:forward(at(x, 1), cache), at(whole, 1), 1e-5)
        assert.is_close(model:forward(at(x, 2), cache), at(whole, 2), 1e-5)
        reads_on(cache, 3)
    end)

    it("a decode, which may loop over its parts", function()
        local cache = new_cache()
        for i = 1, 3 do assert.is_close(model:decode(at(x, i), cache), at(whole, i), 1e-5) end
        reads_on(cache, 4)
    end)

    it("a decode that was defined anew", function()
        local Newer = Model:extend "Newer"
        function Newer:decode() return self end
        function Newer:decode(y, cache) -- luacheck: ignore 122
            for _ = 1, 3 do y = self.shared(y, options(cache)) end
            return y
        end
        local newer = Newer():eval():requires_grad_(false)
        local want, cache = newer:decode(x), newer:new_cache { batch = 2, max_len = 6 }
        for i = 1, 6 do assert.is_close(newer:decode(at(x, i), cache), at(want, i), 1e-5) end
    end)

    it("a call of a part by itself", function()
        local want, cache = model.plain(x, { mask = causal }), new_cache()
        for i = 1, 6 do
            assert.is_close(model.plain(at(x, i), options(cache)), at(want, i), 1e-5)
        end
        local layer = model.plain.layers[1]
        want, cache = layer(x, { mask = causal }), layer:new_cache { batch = 2, max_len = 6 }
        for i = 1, 6 do assert.is_close(layer(at(x, i), options(cache)), at(want, i), 1e-5) end
        local attention = layer.self_attn
        want, cache = attention(x, { mask = causal }), new_cache()
        for i = 1, 6 do assert.is_close(attention(at(x, i), options(cache)), at(want, i), 1e-5) end
    end)

    it("each call of the model in a method that makes several, whoever made the cache", function()
        function model:write(cache)
            cache = cache or self:new_cache { batch = 2, max_len = 6 }
            local out = {}
            for i = 1, 6 do out[i] = self(at(x, i), cache) end
            return heed.cat(out, 2)
        end
        assert.is_close(model:write(new_cache()), whole, 1e-5)
        assert.is_close(model:write(), whole, 1e-5)
        function model:translate(cache)
            local out = {}
            for i = 1, 6 do out[i] = self:decode(at(x, i), cache) end
            return heed.cat(out, 2)
        end
        assert.is_close(model:translate(new_cache()), whole, 1e-5)
    end)

    it("each call inside another model's forward", function()
        local Outer = nn.Module:extend "Outer"
        function Outer:init() self.lm = model end
        function Outer:forward(cache)
            local out = {}
            for i = 1, 6 do out[i] = self.lm(at(x, i), cache) end
            return heed.cat(out, 2)
        end
        assert.is_close(Outer()(new_cache()), whole, 1e-5)
    end)

    it("of each of two caches its own", function()
        local both = nn.Module:extend "Both"()
        both.model = model
        function both:forward(t, a, b) return self.model(t, a), self.model(t:flip(1), b) end
        both:eval()
        local a, b = new_cache(), new_cache()
        for i = 1, 3 do
            local y, z = both(at(x, i), a, b)
            assert.is_close(y, at(whole, i), 1e-5)
            assert.is_close(z, at(whole, i):flip(1), 1e-5)
        end
        local wrong = both.forward
        both.forward = function(self, ...)
            wrong(self, ...)
            error "broken"
        end
        local whole_cache = both:new_cache { batch = 2, max_len = 6 }
        assert.is_false(pcall(both, at(x, 4), a, whole_cache))
        assert.same({ 4, 4 }, a:lengths():totable()) -- the model's own step had ended
        assert.same({ 0, 0 }, whole_cache:lengths():totable())
    end)

    it("heed.generate's, token by token", function()
        local shared = nn.TransformerEncoderLayer(16, 4, 24):eval()
        local lm = nn.Module:extend "Lm"()
        lm.words, lm.shared, lm.output = nn.Embedding(9, 16), shared, nn.Linear(16, 9)
        lm.takes_cache = true
        function lm:forward(tokens, given)
            local y, o = self.words(tokens), options(given and given.cache)
            for _ = 1, 3 do y = self.shared(y, o) end
            return self.output(y)
        end
        local prompts = { { 1, 2, 3 }, { 4 } }
        assert.same(heed.generate(lm, prompts, { max_new_tokens = 6, cache = false }),
            heed.generate(lm, prompts, { max_new_tokens = 6, cache = true }))
    end)
end)

describe("a method that calls a part of its model several times", function()
    it("raises: it may be one step or two", function()
        assert.matches("cache: expected shared.self_attn once in a method that calls parts of "
            .. "its model, got it again: one step or two%? cache:step%(function%) says where",
            message_of(model.again, model, at(x, 1), new_cache()))
    end)

    it("says so by cache:step, as does a function that is no method", function()
        local want, cache = model:again(x), new_cache()
        local function read(t) return model:again(t, cache) end
        for i = 1, 3 do assert.is_close(cache:step(read, at(x, i)), at(want, i), 1e-5) end
        for i = 4, 6 do
            local y = cache:step(function()
                return model.shared(model.shared(at(x, i), options(cache)), options(cache))
            end)
            assert.is_close(y, at(want, i), 1e-5)
        end
        assert.same({ 6, 6 }, cache:lengths():totable())
        function model:write(own)
            local out = {}
            for i = 1, 6 do out[i] = own:step(self.again, self, at(x, i), own) end
            return heed.cat(out, 2)
        end
        assert.is_close(model:write(new_cache()), want, 1e-5)
    end)

    it("gives what the function gives, and names it", function()
        local results = table.pack(new_cache():step(function(...) return ... end, 1, nil, 3, nil))
        assert.same({ n = 4, 1, nil, 3 }, results)
        assert.matches("heed.Cache:step: fn: expected a function, got 3",
            message_of(function() new_cache():step(3) end))
    end)
end)

describe("a step that does not end well leaves nothing:", function()
    it("an error that goes through the model", function()
        local cache = new_cache()
        model(at(x, 1), cache)
        model.between = function() error "broken" end
        for _ = 1, 2 do assert.is_false(pcall(model, at(x, 2), cache)) end
        assert.is_false(pcall(function() cache:step(model.forward, model, at(x, 2), cache) end))
        model.between = nil
        assert.same({ 1, 1 }, cache:lengths():totable())
        reads_on(cache, 2)
    end)

    it("an error that the forward catches, and calls again", function()
        local attempts = 0
        local norm = model.shared.norm1
        model.shared.norm1 = nn.Module:extend "Breaks"()
        function model.shared.norm1:forward(t) -- luacheck: ignore self
            attempts = attempts + 1
            if attempts % 2 == 1 then error "broken" end
            return norm(t)
        end
        local forward = model.shared.forward
        function model.shared:forward(...)
            local ok, y = pcall(forward, self, ...)
            return ok and y or forward(self, ...)
        end
        local cache = new_cache()
        reads_on(cache, 1)
        assert.are.equal(24, attempts)
    end)

    it("a coroutine that is abandoned inside it, closed or not", function()
        for _, close in ipairs { true, false } do
            local cache = new_cache()
            model(at(x, 1), cache)
            model.between = coroutine.yield
            local thread = coroutine.create(function() model(at(x, 2), cache) end)
            assert.is_true(coroutine.resume(thread))
            if close then assert.is_true(coroutine.close(thread)) end
            model.between = nil
            if close then assert.same({ 1, 1 }, cache:lengths():totable()) end
            reads_on(cache, 2)
            if not close then
                local ok, message = coroutine.resume(thread)
                assert.is_false(ok)
                assert.matches("cache: another step of it began before this one had ended", message)
                assert.same({ 6, 6 }, cache:lengths():totable())
            end
        end
    end)

    it("an error in a coroutine that nobody closes", function()
        local cache = new_cache()
        model(at(x, 1), cache)
        model.between = function() error "broken" end
        assert.is_false(coroutine.resume(coroutine.create(function() model(at(x, 2), cache) end)))
        model.between = nil
        assert.same({ 1, 1 }, cache:lengths():totable())
        reads_on(cache, 2)
    end)

    it("also when the cache is cropped or reordered meanwhile", function()
        local cache = new_cache()
        model(at(x, 1), cache)
        model(at(x, 2), cache)
        model.between = coroutine.yield
        local thread = coroutine.create(function() model(at(x, 3), cache) end)
        coroutine.resume(thread)
        model.between = nil
        cache:crop(2):reorder { 2, 1 }
        x, whole = x:flip(1), whole:flip(1)
        reads_on(cache, 3)
        assert.is_false(coroutine.resume(thread))
    end)

    it("an interrupt, at any instruction", function()
        local cache, k = new_cache(), 0
        local done
        model(at(x, 1), cache)
        repeat
            k = k + 1
            done = pcall(function()
                debug.sethook(function()
                    debug.sethook()
                    error "interrupted"
                end, "", k)
                local ok = pcall(model, at(x, 2), cache)
                debug.sethook()
                assert(ok)
            end)
            debug.sethook()
            local held = cache:lengths():totable()[1] -- 2 when it came behind the call
            assert.is_close(model(at(x, held + 1), cache), at(whole, held + 1), 1e-5)
            cache:crop(1)
        until done
        assert.is_true(k > 300)
        reads_on(cache, 2)
    end)

    it("a run on shapes alone", function()
        local cache = new_cache()
        assert.same({ 2, 3, 16 }, { table.unpack(model:check(x:narrow(2, 1, 3), cache)) })
        assert.same({ 0, 0 }, cache:lengths():totable())
        model(at(x, 1), cache)
        model:check(at(x, 2), cache)
        assert.same({ 1, 1 }, cache:lengths():totable())
        reads_on(cache, 2)
    end)

    it("a run on shapes alone over a memory", function()
        local decoder = nn.TransformerDecoder(2, 16, 4, 24):eval():requires_grad_(false)
        local memory, bias = heed.randn(2, 3, 16), heed.randn(6, 6)
        local mask = causal & bias
        local want = decoder(x, memory, { mask = mask })
        local cache = decoder:new_cache { batch = 2, max_len = 6 }
        decoder:check(x, memory, { mask = mask, cache = cache })
        assert.is_close(decoder(x, memory, { mask = mask, cache = cache }), want, 1e-5)
    end)
end)

describe("coroutines", function()
    it("may read by one model in turn, each into its cache", function()
        local function reader(order)
            return coroutine.wrap(function()
                local cache = new_cache()
                local t, want = x:index_select(1, order), whole:index_select(1, order)
                for i = 1, 6 do assert.is_close(model(at(t, i), cache), at(want, i), 1e-5) end
                return "done"
            end)
        end
        model.between = coroutine.yield
        local readers, finished = { reader { 1, 2 }, reader { 2, 1 }, reader { 1, 1 } }, 0
        for _ = 1, 7 do
            for _, read in ipairs(readers) do
                if read() == "done" then finished = finished + 1 end
            end
        end
        assert.are.equal(3, finished)
    end)

    it("that a forward resumes are a part of its step", function()
        local shared = model.shared
        function model:forward(y, cache)
            y = self.first(y, options(cache))
            for _ = 1, 2 do
                y = coroutine.wrap(function() return shared(y, options(cache)) end)()
            end
            return y
        end
        reads_on(new_cache(), 1)
    end)
end)

describe("rows that change places", function()
    local core = require "heed.core"

    -- A decoder layer's cache of two rows, read up to a token, and what reading one more gives.
    local function started(layer, memory, prompt)
        local cache = layer:new_cache { batch = 2, max_len = 6 }
        layer(prompt, memory, { mask = causal, cache = cache })
        return cache
    end

    it("all do or none, when memory runs out on the way", function()
        heed.no_grad(function()
            local layer = nn.TransformerDecoderLayer(16, 4, 24):eval()
            local memory, prompt, more = heed.randn(2, 3, 16), heed.randn(2, 2, 16), heed.randn(2, 1, 16)
            for _, rows in ipairs { { 2, 1 }, { 2, 2, 1 }, { 2 } } do
                local failed, n = true, 0
                while failed do
                    n = n + 1
                    local cache = started(layer, memory, prompt)
                    core.fail_allocation(n)
                    failed = not pcall(cache.reorder, cache, rows)
                    core.fail_allocation(0)
                    if failed then
                        local fresh = started(layer, memory, prompt)
                        local settings = function(of) return { mask = causal, cache = of } end
                        assert.are.equal(2, cache.batch)
                        assert.is_close(layer(more, memory, settings(cache)),
                            layer(more, memory, settings(fresh)), 1e-6)
                    end
                end
                assert.is_true(n > 2)
            end
        end)
    end)
end)
