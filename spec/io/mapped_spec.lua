local heed = require "heed"
local shell = require "spec.support.shell"
require "heed.luassert"

-- A safetensors file of so many f32, without their numbers: a hole, which reads as zeros.
local function hole(path, count)
    local header = ('{"w":{"dtype":"F32","shape":[%d],"data_offsets":[0,%d]}}'):format(count,
        4 * count)
    header = header .. (" "):rep(-#header % 8)
    local file = assert(io.open(path, "wb"))
    file:write(string.pack("<I8", #header), header)
    file:close()
    shell.run(("truncate -s %d %s"):format(8 + #header + 4 * count, path))
end

describe("a mapped file", function()
    local path

    before_each(function() path = os.tmpname() end)
    after_each(function() os.remove(path) end)

    it("opens without being read, and takes none of heed's memory", function()
        hole(path, 1 << 28)
        local before, start = heed.memory().live, os.clock()
        local tensors = assert(heed.safetensors.load(path, { map = true }))
        assert.is_true(os.clock() - start < 0.5)
        assert.is_true(heed.memory().live - before < 4096)
        assert.are.equal(0, tensors.w[-1])
    end)

    it("has the same tensors as when it is read", function()
        local given = { a = heed.randn(3, 5), b = heed.randn(7):to "bf16", c = heed.ids { 1, 2 },
            d = heed.tensor { true, false, true }, e = heed.zeros(0, 3), f = heed.randn(2):to "f16" }
        assert(heed.safetensors.save(path, given))
        local mapped = assert(heed.safetensors.load(path, { map = true }))
        for name, t in pairs(given) do
            assert.are.equal(t.dtype, mapped[name].dtype)
            assert.is_true(mapped[name]:equal(t))
        end
    end)

    it("copies what does not lie at a multiple of its size", function()
        local header = '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}} '
        assert.are.equal(1, #header % 2)
        local file = assert(io.open(path, "wb"))
        file:write(string.pack("<I8", #header), header, string.pack("<ff", 1.5, 2.5))
        file:close()
        assert.are.same({ 1.5, 2.5 }, heed.safetensors.load(path, { map = true }).a:totable())
    end)

    it("whose quantised weight was cut short is refused, also the second time", function()
        local core = require "heed.core"
        assert(heed.gguf.save(path, {}, { w = heed.randn(4096, 64) }, { types = { w = "Q8_0" } }))
        local products, look_ups = heed.gguf.open(path), heed.gguf.open(path)
        local w, table = core.gguf_quantized(products.core, 1), core.gguf_quantized(look_ups.core, 1)
        shell.run("truncate -s 4096 " .. path)
        for _ = 1, 2 do
            for _, use in ipairs { function() return heed.linear(heed.ones(1, 64), w) end,
                function() return heed.embedding(table, { 4096 }) end,
                function() return table:to "f32" end } do
                local ok, message = pcall(use)
                assert.is_false(ok)
                assert.matches("was cut short", message, 1, true)
            end
        end
    end)

    it("is not written to", function()
        assert(heed.safetensors.save(path, { w = heed.zeros(3) }))
        local w = heed.nn.parameter(heed.safetensors.load(path, { map = true }).w)
        local optimizer = heed.optim.SGD({ w }, { lr = 1 })
        w:sum():backward()
        optimizer:step()
        assert.are.same({ -1, -1, -1 }, w:totable())
        assert.are.same({ 0, 0, 0 }, heed.safetensors.load(path).w:totable())
    end)

    it("may be replaced as a whole, also by itself", function()
        assert(heed.safetensors.save(path, { w = heed.ones(2000) }))
        local w = heed.safetensors.load(path, { map = true }).w
        assert(heed.safetensors.save(path, { w = w * 3 }))
        assert.are.equal(2000, w:sum():item())
        assert.are.equal(6000, heed.safetensors.load(path).w:sum():item())
    end)
end)

describe("a mapped file that becomes shorter", function()
    local path, w

    before_each(function()
        path = os.tmpname()
        hole(path, 1 << 20)
        w = heed.safetensors.load(path, { map = true }).w
        shell.run("truncate -s 4096 " .. path)
    end)
    after_each(function() os.remove(path) end)

    local function refused(what)
        local ok, message = pcall(what)
        assert.is_false(ok)
        assert.matches(path, message, 1, true)
        assert.matches("cut short", message, 1, true)
    end

    it("is an error of what reads it, whatever that gives", function()
        refused(function() return w:sum() end)
    end)
    it("is an error of numbers", function() refused(function() return w[-1] end) end)
    it("is an error of tables", function() refused(function() return w:totable() end) end)
    it("is an error of comparisons", function()
        refused(function() return w:equal(heed.zeros(1 << 20)) end)
    end)
    it("is an error of text", function() refused(function() return tostring(w) end) end)
    it("is an error of what writes to it", function() refused(function() return w:add_(1) end) end)
    it("is an error of layers", function()
        local layer = heed.nn.Linear(1024, 1024)
        layer.weight = heed.nn.parameter(w:view(1024, 1024))
        refused(function() return layer(heed.ones(1, 1024)) end)
    end)
    it("is an error of gradients", function()
        local x = heed.ones(1 << 20, { requires_grad = true })
        local ok, y = pcall(function() return x * w end)
        refused(function() return ok and y:sum():backward() or w:sum() end)
    end)
    it("is an error of files, and what stood there stands", function()
        local target = os.tmpname()
        assert(heed.safetensors.save(target, { old = heed.ones(2) }))
        local ok, message = heed.safetensors.save(target, { w = w })
        assert.is_nil(ok)
        assert.matches(path, message, 1, true)
        assert.is_truthy(heed.safetensors.load(target).old)
        os.remove(target)
    end)
    it("stays one", function()
        pcall(function() return w:sum() end)
        refused(function() return w:narrow(1, 1, 5):sum() end)
    end)
    it("does no harm to other tensors", function()
        pcall(function() return w:sum() end)
        assert.are.equal(3, heed.ones(3):sum():item())
    end)
end)

describe("a child that cuts a mapped file short", function()
    it("while products read it makes one of them fail", function()
        local path = os.tmpname()
        hole(path, 1 << 22)
        local w = heed.safetensors.load(path, { map = true }).w:view(2048, 2048)
        local x = heed.ones(64, 2048)
        os.execute(("(sleep 0.2; truncate -s 100 %s) &"):format(path))
        local start, ok, message = os.time(), true, nil
        while ok and os.time() - start < 20 do
            ok, message = pcall(heed.matmul, x, w)
        end
        assert.is_false(ok)
        assert.matches("heed.matmul: .*cut short", message)
        os.remove(path)
    end)
end)
