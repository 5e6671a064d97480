--- heed.npz: what numpy wrote (spec/fixtures/record_npz.py) is read, what goes in comes out, in
--- numpy's form. spec/c/npz_test.c damages archives.

local core = require "heed.core"
local heed = require "heed"

if heed.info().zlib == "none" then
    describe("heed.npz without zlib", function()
        it("says so", function()
            local t, message = heed.npz.load "spec/fixtures/npz/stored.npz"
            assert.is_nil(t)
            assert.matches("heed was built without zlib", message)
            t, message = heed.npz.save(os.tmpname(), {})
            assert.is_nil(t)
            assert.matches("heed was built without zlib", message)
        end)
    end)
    return
end

local function fixture(name) return heed.npz.load("spec/fixtures/npz/" .. name .. ".npz") end

local function message(f, ...)
    local ok, text = pcall(f, ...)
    assert.is_false(ok)
    return tostring(text)
end

describe("heed.npz reads numpy's archives:", function()
    local X = heed.range(0, 299):view(3, 100)

    for _, name in ipairs { "stored", "deflated" } do
        it(name, function()
            local found = assert(fixture(name))
            local want = {
                x = X, ids = heed.ids { -2, -1, 0, 1, 2 },
                scalar = heed.tensor(2.5, { dtype = "f64" }), none = heed.zeros(0, 4),
                truth = heed.tensor { true, false },
                tokens = heed.tensor({ 0, 65535 }, { dtype = "u16" }),
                cube = heed.range(0, 23, 1, { dtype = "f64" }):view(2, 3, 4),
                ["a/b c"] = heed.ones(2, { dtype = "u8" }),
                ["\u{e9}"] = heed.ones(1, { dtype = "i8" }),
            }
            for key, t in pairs(want) do
                assert.are.equal(t.dtype, found[key].dtype)
                assert.are.equal(t.shape, found[key].shape)
                assert.is_true(heed.equal(t, found[key]), key)
                found[key] = nil
            end
            assert.is_nil(next(found))
        end)
    end

    it("without names, without members, with a comment", function()
        assert.is_true(heed.equal(X, assert(fixture "positional").arr_0))
        assert.is_nil(next(assert(fixture "empty")))
        assert.is_true(heed.equal(X, assert(fixture "commented").x))
    end)

    it("and names what it does not take", function()
        for name, said in pairs {
            refused_objects = 'x: holds Python objects %("|O"%): a pickle, which is never run',
            refused_text = 'expected members that are npy files, got "readme.txt"',
            refused_bzip2 = "x.npy: expected a member that is stored or deflated, got method 12",
        } do
            local t, text = fixture(name)
            assert.is_nil(t)
            assert.matches("^spec/fixtures/npz/" .. name .. "%.npz: " .. said .. "$", text)
        end
    end)
end)

describe("heed.npz", function()
    local path = os.tmpname()
    teardown(function() os.remove(path) end)

    it("gives back every dtype, shape and layout", function()
        local tensors = {
            matrix = heed.range(1, 6):view(2, 3), turned = heed.range(1, 6):view(2, 3):t(),
            part = heed.range(1, 10)[{ { 2, 9, 3 } }], repeated = heed.ones(1):expand(3),
            scalar = heed.tensor(2.5, { dtype = "f64" }), none = heed.zeros(0, 4),
            [""] = heed.tensor { true, false }, ["a/b.npy"] = heed.tensor { 0 / 0, -0.0 },
            ["\u{e9}"] = heed.ids { 1, math.mininteger },
        }
        for _, dtype in ipairs { "i32", "i16", "i8", "u32", "u16", "u8", "f16" } do
            tensors[dtype] = heed.ids({ 1, 2, 3 }):to(dtype)
        end
        assert.is_true(heed.npz.save(path, tensors))
        local loaded = assert(heed.npz.load(path))
        for name, t in pairs(tensors) do
            assert.are.equal(t.dtype, loaded[name].dtype)
            assert.are.equal(t.shape, loaded[name].shape)
            assert.are.equal(t:bytes(), loaded[name]:bytes())
            loaded[name] = nil
        end
        assert.is_nil(next(loaded))
    end)

    it("writes what the format says: header, member, directory, end", function()
        local literal = "{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }"
        local npy = "\x93NUMPY\1\0" .. string.pack("<I2", 118) .. literal
            .. (" "):rep(117 - #literal) .. "\n\5\0\6\0"
        -- The checksum of these 132 bytes, as Python's zlib.crc32 has it.
        local crc = 0x7633dfdd
        local common = string.pack("<I2 I2 I2 I2 I2 I4 I4 I4 I2 I2", 20, 0x800, 0, 0, 0x21, crc,
            #npy, #npy, 5, 0)
        local member = "PK\3\4" .. common .. "x.npy" .. npy
        local entry = "PK\1\2" .. string.pack("<I2", 3 << 8 | 20) .. common
            .. string.pack("<I2 I2 I2 I4 I4", 0, 0, 0, 0x8180 << 16, 0) .. "x.npy"
        local ending = "PK\5\6" .. string.pack("<I2 I2 I2 I2 I4 I4 I2", 0, 0, 1, 1, #entry, #member,
            0)
        assert(heed.npz.save(path, { x = heed.tensor({ 5, 6 }, { dtype = "u16" }) }))
        local file <close> = assert(io.open(path, "rb"))
        assert.are.equal(member .. entry .. ending, file:read "a")
    end)

    it("holds more members than 16 bits count", function()
        local tensors, count = {}, 65600
        for i = 1, count do tensors["t" .. i] = heed.tensor(i, { dtype = "i32" }) end
        assert(heed.npz.save(path, tensors))
        local file <close> = assert(io.open(path, "rb"))
        file:seek("end", -22 - 20)
        assert.are.equal("PK\6\7", file:read(4))
        local loaded = assert(heed.npz.load(path))
        for i = 1, count, 97 do assert.are.equal(i, loaded["t" .. i]:item()) end
        loaded.t1 = nil
        local left = 0
        for _ in pairs(loaded) do left = left + 1 end
        assert.are.equal(count - 1, left)
    end)

    it("saves parameters without their graph", function()
        local w = heed.randn(2, 2, { requires_grad = true })
        assert(heed.npz.save(path, { w = w:t() * 2 }))
        local loaded = assert(heed.npz.load(path)).w
        assert.is_false(loaded.requires_grad)
        assert.is_true(heed.equal(w:detach():t() * 2, loaded))
    end)

    it("gives nil and a message when the world fails", function()
        local t, text = heed.npz.load "/nowhere/at/all"
        assert.is_nil(t)
        assert.matches("/nowhere/at/all: No such file", text)
        for odd, said in pairs { ["/"] = "expected a regular file",
            ["/dev/zero"] = "expected a regular file",
            ["spec/fixtures/npy/f4.npy"] = "not a zip archive, or cut short" } do
            t, text = heed.npz.load(odd)
            assert.is_nil(t)
            assert.matches(said, text)
        end
        local saved
        saved, text = heed.npz.save("/nowhere/at/all", { x = heed.ones(1) })
        assert.is_nil(saved)
        assert.matches("/nowhere/at/all: .*No such file", text)
    end)

    it("raises when the caller is wrong", function()
        local save, load, t = heed.npz.save, heed.npz.load, heed.ones(1)
        assert.matches("npz.load: path: expected a string, got nil", message(load))
        assert.matches("path: expected a string without zero bytes", message(load, "a\0b"))
        assert.matches("npz.save: path: expected a string, got 1", message(save, 1, {}))
        assert.matches("npz.save: tensors: expected a table", message(save, path, "x"))
        assert.matches("npz.save: tensors: expected names and tensors, got 1 = f32 tensor %[1%]",
            message(save, path, { t }))
        assert.matches("tensors: expected names and tensors, .*model:state_dict%(%) gives them",
            message(save, path, heed.nn.Linear(1, 1)))
        assert.matches("npz.save: x: bf16 has no name in this format .*to%(\"f32\"%)",
            message(save, path, { x = t:to "bf16" }))
        assert.matches("tensors: a name: expected UTF%-8, got the byte 0xff at position 2",
            message(save, path, { ["a\xff"] = t }))
        assert.matches("a string without zero bytes", message(save, path, { ["a\0b"] = t }))
        assert.matches("names of at most 65531 bytes", message(save, path,
            { [("n"):rep(65532)] = t }))
        assert.matches("npz.save: ", message(save, path, { x = t }, 3))
        assert(save(path, { [("n"):rep(65531)] = t }))
        assert.is_true(heed.equal(t, assert(load(path))[("n"):rep(65531)]))
    end)

    it("raises when memory fails, and then works", function()
        local tensors = { a = heed.randn(3, 2):t(), b = heed.ones(5) }
        assert(heed.npz.save(path, tensors))
        collectgarbage()
        local before = heed.memory().live
        for _, f in ipairs {
            function() return assert(heed.npz.load(path)) end,
            function() return assert(heed.npz.save(path, tensors)) end,
        } do
            for n = 1, 100 do
                core.fail_allocation(n)
                local ok, text = pcall(f)
                core.fail_allocation(0)
                if ok then break end
                assert.matches("bytes wanted", text)
                assert(n < 99)
            end
            collectgarbage()
            assert.is_true(heed.memory().live <= before)
        end
        assert.is_true(heed.equal(assert(heed.npz.load(path)).a, tensors.a))
    end)
end)
