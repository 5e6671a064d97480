-- heed.safetensors from Lua: what goes in comes out, and what the world and the caller do wrong.
-- spec/c/io_test.c has the hostile files.

local core = require "heed.core"
local heed = require "heed"

local function message(f, ...)
    local ok, text = pcall(f, ...)
    assert.is_false(ok)
    return tostring(text)
end

describe("heed.safetensors", function()
    local path = os.tmpname()
    teardown(function() os.remove(path) end)

    it("gives back every dtype, shape and layout as contiguous tensors, and the metadata",
        function()
        local tensors = {
            matrix = heed.range(1, 6):view(2, 3),
            turned = heed.range(1, 6):view(2, 3):t(),
            part = heed.range(1, 10)[{ { 2, 9, 3 } }],
            repeated = heed.ones(1):expand(3),
            scalar = heed.tensor(2.5, { dtype = "f64" }),
            none = heed.zeros(0, 4),
            ids = heed.ids { 1, -2, math.maxinteger },
            mask = heed.tensor { true, false },
            ["a name of\nits own \u{e9}"] = heed.ones(1),
        }
        for _, dtype in ipairs { "i32", "i16", "i8", "u32", "u16", "u8", "f16", "bf16" } do
            tensors[dtype] = heed.ids({ 1, 2, 3 }):to(dtype)
        end
        assert(heed.safetensors.save(path, tensors,
            { metadata = { format = "pt", note = "\u{e9}\n\"" } }))
        local loaded, metadata = assert(heed.safetensors.load(path))
        assert.same({ format = "pt", note = "\u{e9}\n\"" }, metadata)
        for name, t in pairs(tensors) do
            assert.equal(t.dtype, loaded[name].dtype)
            assert.equal(t.shape, loaded[name].shape)
            assert.equal(t:bytes(), loaded[name]:bytes())
            loaded[name] = nil
        end
        assert.is_nil(next(loaded))
    end)

    it("writes the same bytes for the same tensors", function()
        local tensors, seen = {}, nil
        for i = 1, 20 do tensors["t" .. i] = heed.full({ 2 }, i) end
        for _ = 1, 2 do
            assert(heed.safetensors.save(path, tensors,
                { metadata = { a = "1", b = "2", c = "3" } }))
            local file = assert(io.open(path, "rb"))
            local bytes = file:read "a"
            file:close()
            assert.equal(seen or bytes, bytes)
            seen = bytes
        end
    end)

    it("saves parameters without their graph, and leaves them as they were", function()
        local w = heed.randn(2, 2, { requires_grad = true })
        local y = w:t() * 2
        assert(heed.safetensors.save(path, { w = w, y = y }))
        local loaded = assert(heed.safetensors.load(path))
        assert.is_false(loaded.w.requires_grad)
        assert.is_true(heed.equal(loaded.y, y))
        y:sum():backward()
        assert.is_truthy(w.grad)
    end)

    it("gives nil and a message when the world fails", function()
        local tensors, text = heed.safetensors.load "/nowhere/at/all"
        assert.is_nil(tensors)
        assert.matches("/nowhere/at/all: No such file", text)
        local saved
        saved, text = heed.safetensors.save("/nowhere/at/all", { a = heed.ones(1) })
        assert.is_nil(saved)
        assert.matches("/nowhere/at/all: .*No such file", text)
        saved, text = heed.safetensors.save("/", { a = heed.ones(1) })
        assert.is_nil(saved)
        assert.matches("regular file", text)
    end)

    it("raises when the caller is wrong", function()
        local save, load, t = heed.safetensors.save, heed.safetensors.load, heed.ones(1)
        assert.matches("path", message(load))
        assert.matches("path: expected a string without zero bytes", message(load, "a\0b"))
        assert.matches("path", message(save, 1, { a = t }))
        assert.matches("tensors", message(save, path, { t }))
        assert.matches("tensors", message(save, path, { a = 1 }))
        assert.matches("zero bytes", message(save, path, { ["a\0b"] = t }))
        assert.matches("__metadata__", message(save, path, { __metadata__ = t }))
        assert.matches("metadata", message(save, path, { a = t }, { metadata = { n = 1 } }))
        assert.matches("zero bytes", message(save, path, { a = t }, { metadata = { n = "a\0" } }))
        assert.matches("given twice", message(core.safetensors_save, path,
            { { "a", t }, { "a", t } }))
    end)

    it("refuses names and metadata that are no UTF-8, which nobody could read", function()
        local one = heed.ones(1)
        local function save(tensors, metadata)
            return heed.safetensors.save(path, tensors, { metadata = metadata })
        end
        for _, bytes in ipairs { "\xff", "a\x80", "\xc3", "\xc3a", "\xc0\x80", "\xe0\x80\x80",
            "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf0\x8f\xbf\xbf", "\xf8\x88\x80\x80\x80" } do
            assert.error_matches(function() save { [bytes] = one } end,
                "tensors: a name: expected UTF%-8, got the byte 0x%x+ at position %d")
            assert.error_matches(function() save({ x = one }, { [bytes] = "x" }) end,
                "metadata: a key: expected UTF%-8")
            assert.error_matches(function() save({ x = one }, { made = bytes }) end,
                "metadata: made: expected UTF%-8")
        end
        for _, text in ipairs { "é", "漢", "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{FFFF}",
            "\u{10000}", "\u{10FFFF}" } do
            assert.is_true(save({ [text] = one }, { [text] = text }))
            local tensors, metadata = heed.safetensors.load(path)
            assert.is_true(heed.equal(one, tensors[text]))
            assert.are.equal(text, metadata[text])
        end
    end)

    it("raises when memory fails, and then works", function()
        local tensors = { a = heed.randn(3, 2):t(), b = heed.ones(4) }
        assert(heed.safetensors.save(path, tensors))
        local before = heed.memory().live
        for _, f in ipairs {
            function() return assert(heed.safetensors.load(path)) end,
            function() return assert(heed.safetensors.save(path, tensors)) end,
        } do
            for n = 1, 1000 do
                core.fail_allocation(n)
                local ok, text = pcall(f)
                core.fail_allocation(0)
                if ok then break end
                assert.matches("bytes wanted", text)
                assert(n < 999)
            end
            collectgarbage()
            assert.is_true(heed.memory().live <= before)
        end
        assert.is_true(heed.equal(heed.safetensors.load(path).a, tensors.a))
    end)

    it("names what it refuses, be the name as long as it may", function()
        local dropped = heed.ones(1)
        dropped:free()
        local text = message(core.safetensors_save, path, { { ("n"):rep(5000), dropped } })
        assert.is_truthy(text:find("expected tensors, got a dropped tensor at position 2", 1, true))
        assert.is_true(#text < 1000)
    end)
end)
