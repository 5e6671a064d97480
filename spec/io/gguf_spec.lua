--- heed.gguf: what the Python package gguf wrote (spec/fixtures/record_gguf.py) is read with its
--- bits, what is written is what it would write. spec/c/gguf_test.c damages files.

local core = require "heed.core"
local heed = require "heed"

local FOLDER = "spec/fixtures/gguf/"

local function message(f, ...)
    local ok, text = pcall(f, ...)
    assert.is_false(ok)
    return tostring(text)
end

local function bytes_of(path)
    local file <close> = assert(io.open(path, "rb"))
    return file:read "a"
end

local function put(path, bytes)
    local file <close> = assert(io.open(path, "wb"))
    assert(file:write(bytes))
end

-- ---- files made by hand -------------------------------------------------------------------------

local STRING, ARRAY, U32 = 8, 9, 4
local function text(value) return string.pack("<s8", value) end
local function metadata(name, kind, value)
    return text(name) .. string.pack("<I4", kind) .. value
end

-- The innermost dimension first.
local function described(name, dims, kind, offset)
    local parts = { text(name), string.pack("<I4", #dims) }
    for _, size in ipairs(dims) do parts[#parts + 1] = string.pack("<I8", size) end
    return table.concat(parts) .. string.pack("<I4 I8", kind, offset)
end

local function composed(items, tensors, data, version, alignment)
    local head = "GGUF" .. string.pack("<I4 I8 I8", version or 3, #tensors, #items)
        .. table.concat(items) .. table.concat(tensors)
    alignment = alignment or 32
    return head .. ("\0"):rep(-#head % alignment) .. data
end

local F32, Q4_K = 0, 12
local SMALL = composed({ metadata("general.name", STRING, text "small") },
    { described("a", { 3, 2 }, F32, 0) }, string.pack("<ffffff", 1, 2, 3, 4, 5, 6))

describe("heed.gguf.open", function()
    local path = os.tmpname()
    teardown(function() os.remove(path) end)

    local function refused(bytes)
        put(path, bytes)
        local file, said = heed.gguf.open(path)
        assert.is_nil(file)
        assert.are.equal(path .. ": ", said:sub(1, #path + 2))
        return said:sub(#path + 3)
    end

    it("gives tensors of every type with the package's bits", function()
        local file = assert(heed.gguf.open(FOLDER .. "types.gguf"))
        local expected = assert(heed.safetensors.load(FOLDER .. "types.safetensors"))
        local count = 0
        for _, entry in ipairs(file.tensors) do
            local want, got = expected[entry.name], assert(file:tensor(entry.name))
            assert.are.equal(entry.name, entry.type)
            if entry.name == "BF16" then want = want:to "bf16" end
            assert.are.equal(want.dtype, got.dtype)
            assert.are.equal(want.shape, got.shape)
            assert.are.same({ table.unpack(want.shape) }, entry.shape)
            assert.is_true(want:bytes() == got:bytes(), entry.name)
            count = count + 1
        end
        assert.are.equal(24, count)
    end)

    it("gives metadata of every kind", function()
        local file = assert(heed.gguf.open(FOLDER .. "types.gguf"))
        local want = {
            ["general.architecture"] = "none", ["k.u8"] = 255, ["k.i8"] = -128, ["k.u16"] = 65535,
            ["k.i16"] = -32768, ["k.u32"] = 2 ^ 32 // 1 - 1 | 0, ["k.i32"] = -(1 << 31),
            ["k.u64"] = 2.0 ^ 64 - 2 ^ 11, ["k.i64"] = math.mininteger, ["k.f32"] = 0.5,
            ["k.f64"] = 0.1, ["k.bool"] = true, ["k.string"] = "h\u{e9}\0d",
            ["k.strings"] = { "<s>", "", "\u{2581}a" }, ["k.whole"] = { 1, -2, 3 },
            ["k.floats"] = { 0.5, -1.5 }, ["k.truth"] = { true, false }, ["k.bytes"] = { 1, 255 },
            ["k.lists"] = { { 1, 2 }, { 3 } },
        }
        assert.are.same(want, file.metadata)
        local kinds = { ["general.architecture"] = "string", ["k.strings"] = "string",
            ["k.whole"] = "i32", ["k.floats"] = "f32", ["k.truth"] = "bool", ["k.bytes"] = "u8",
            ["k.lists"] = "i32" }
        for name in pairs(want) do
            assert.are.equal(kinds[name] or name:match "%.(%w+)$", file.kinds[name])
        end
        assert.are.equal(3, file.version)
        assert.are.equal("GGUF file of 24 tensors: " .. FOLDER .. "types.gguf", tostring(file))
    end)

    it("says where tensors lie", function()
        put(path, SMALL)
        local file = assert(heed.gguf.open(path))
        assert.are.same({ { name = "a", shape = { 2, 3 }, type = "F32", offset = #SMALL - 24,
            bytes = 24 } }, file.tensors)
        assert.is_true(heed.range(1, 6):view(2, 3):equal(assert(file:tensor "a")))
    end)

    it("reads version 2, other alignments, no dimensions, no elements", function()
        put(path, composed({ metadata("general.alignment", U32, string.pack("<I4", 64)) },
            { described("a", {}, F32, 0), described("b", { 0, 3 }, F32, 64),
                described("c", { 0, 3 }, Q4_K, 0) }, string.pack("<f", 2.5) .. ("\0"):rep(60), 2,
            64))
        local file = assert(heed.gguf.open(path))
        assert.are.equal(2, file.version)
        assert.are.equal(2.5, file:tensor("a"):item())
        assert.are.same({ 3, 0 }, { table.unpack(file:tensor("b").shape) })
        assert.are.same({ 3, 0 }, { table.unpack(file:tensor("c").shape) })
    end)

    it("gives the same bits on any number of threads, and in pieces", function()
        local threads, rows = heed.get_num_threads(), 5000
        local block = {}
        for i = 1, 210 do block[i] = string.char(i * 91 % 97) end
        put(path, composed({}, { described("x", { 2560, rows }, 14, 0) },
            table.concat(block):rep(10 * rows)))
        local file = assert(heed.gguf.open(path))
        local one = assert(file:tensor "x")[1][{ { 1, 256 } }]
        for count = 1, 3 do
            heed.set_num_threads(count)
            assert.is_true(file:tensor("x"):view(-1, 256):eq(one):all())
        end
        heed.set_num_threads(threads)
    end)

    it("names types that are not read", function()
        put(path, composed({}, { described("a", { 256 }, 16, 0), described("b", { 5 }, 99, 0) },
            ""))
        local file = assert(heed.gguf.open(path))
        assert.are.equal("IQ2_XXS", file.tensors[1].type)
        assert.is_nil(file.tensors[1].bytes)
        assert.are.equal("number 99", file.tensors[2].type)
        local t, said = file:tensor "a"
        assert.is_nil(t)
        assert.are.equal(path .. ': tensor "a": its type IQ2_XXS cannot be read here', said)
        t, said = file:tensor "b"
        assert.is_nil(t)
        assert.are.equal(path .. ': tensor "b": its type is not known: number 99', said)
    end)

    it("refuses what is no such file, and says why", function()
        assert.are.equal("expected a GGUF file", refused "")
        assert.are.equal("expected a GGUF file", refused(("x"):rep(100)))
        assert.are.equal("GGUF: the file ended early", refused(SMALL:sub(1, 60)))
        assert.are.equal("GGUF: expected version 2 or 3, got 1", refused(composed({}, {}, "", 1)))
        assert.are.equal("GGUF: expected little-endian numbers, got big-endian",
            refused(composed({}, {}, "", 3 << 24)))
        assert.are.equal("GGUF: expected fewer tensors, got " .. (1 << 40),
            refused("GGUF" .. string.pack("<I4 I8 I8", 3, 1 << 40, 0)))
        assert.are.equal("GGUF: expected a kind of metadata 0..12, got 13",
            refused(composed({ metadata("a", 13, "\0") }, {}, "")))
        assert.are.equal("GGUF: expected at most 4 dimensions, got 5",
            refused(composed({}, { described("a", { 1, 1, 1, 1, 1 }, F32, 0) }, "\0\0\0\0")))
        assert.are.equal("GGUF: expected an alignment, got 24", refused(composed(
            { metadata("general.alignment", U32, string.pack("<I4", 24)) }, {}, "")))
        assert.are.equal("GGUF: expected general.alignment of kind 4 (u32), got 0",
            refused(composed({ metadata("general.alignment", 0, "\32") }, {}, "")))
        local deep = string.pack("<I4 I8", U32, 0)
        for _ = 1, 4 do deep = string.pack("<I4 I8", ARRAY, 1) .. deep end
        assert.are.equal("GGUF: expected arrays in arrays at most 4 deep, got more",
            refused(composed({ metadata("a", ARRAY, deep) }, {}, "")))
    end)

    it("refuses names that are there twice", function()
        local one = metadata("a\1", 0, "\0")
        assert.are.equal('GGUF: metadata "a?" is given twice',
            refused(composed({ one, one }, {}, "")))
        assert.are.equal('GGUF: tensor "a" is given twice', refused(composed({},
            { described("a", { 0 }, F32, 0), described("ab", { 0 }, F32, 0),
                described("a", { 0 }, F32, 0) }, "")))
    end)

    it("refuses tensors that do not fit, by name", function()
        assert.are.equal(('tensor "a": F32 [2, 3]: expected 24 bytes at %d, got a file of %d: '
            .. "was it cut short?"):format(#SMALL - 24, #SMALL - 1), refused(SMALL:sub(1, -2)))
        assert.are.equal('tensor "a": Q4_K: expected rows of a multiple of 256 elements, got [100]',
            refused(composed({}, { described("a", { 100 }, Q4_K, 0) }, ("\0"):rep(144))))
        assert.matches('^tensor "a": Q4_K %[1, 256%]: expected 144 bytes', refused(composed({},
            { described("a", { 256, 1 }, Q4_K, 0) }, ("\0"):rep(143))))
        assert.matches("^GGUF: expected an offset in the file, got 4294967296", refused(composed({},
            { described("a", { 1 }, F32, 1 << 32) }, "\0\0\0\0")))
        assert.matches("^GGUF: expected fewer elements, got ", refused(composed({},
            { described("a", { 1 << 40, 1 << 40 }, F32, 0) }, "\0\0\0\0")))
        assert.matches('^tensor "a": shape %[4611686018427387904, 0%] is too large',
            refused(composed({}, { described("a", { 0, 1 << 62 }, F32, 0) }, "\0\0\0\0")))
    end)

    it("does not give what has changed since", function()
        put(path, SMALL)
        local file = assert(heed.gguf.open(path))
        assert(file:tensor "a")
        put(path, SMALL:sub(1, -5))
        local t, said = file:tensor "a"
        assert.is_nil(t)
        assert.are.equal(path .. ": the file was replaced or changed since it was opened; "
            .. "open it again", said)
        put(path, SMALL)
        file = assert(heed.gguf.open(path))
        assert(heed.gguf.save(path, {}, { a = heed.ones(2, 3) }))
        assert.is_nil((file:tensor "a"))
        file = assert(heed.gguf.open(path))
        os.remove(path)
        t, said = file:tensor "a"
        assert.is_nil(t)
        assert.are.equal(path .. ": No such file or directory", said)
    end)

    it("raises when the caller is wrong, and names what there is", function()
        put(path, SMALL)
        local file = assert(heed.gguf.open(path))
        assert.matches("heed.gguf.open: path: expected a string, got nil", message(heed.gguf.open))
        assert.matches("heed.gguf.open: path: expected a string without zero bytes",
            message(heed.gguf.open, "a\0b"))
        assert.matches("heed.gguf.File:tensor: name: expected a string, got 1",
            message(file.tensor, file, 1))
        assert.matches('heed.gguf.File:tensor: expected a colon, file:tensor%(...%), got "a"',
            message(file.tensor, "a"))
        assert.matches("expected a file of heed.gguf.open, got a table",
            message(file.tensor, {}, "a"))
        local t, said = file:tensor "b"
        assert.is_nil(t)
        assert.are.equal(path .. ': tensor: there is none called "b"', said)
    end)

    it("keeps to the limit of memory, and works again", function()
        put(path, composed({}, { described("x", { 256, 4000 }, Q4_K, 0) }, ("\1"):rep(144 * 4000)))
        local file = assert(heed.gguf.open(path))
        collectgarbage()
        local limit = heed.memory_limit(heed.memory().live + 1000000)
        local said = message(file.tensor, file, "x")
        heed.memory_limit(limit)
        assert.matches("bytes wanted", said)
        assert.are.same({ 4000, 256 }, { table.unpack(assert(file:tensor "x").shape) })
    end)

    it("raises when memory fails, and then works", function()
        local before
        for n = 1, 100 do
            collectgarbage()
            before = before or heed.memory().live
            core.fail_allocation(n)
            local ok, said = pcall(function()
                local file = assert(heed.gguf.open(FOLDER .. "types.gguf"))
                return assert(file:tensor "Q4_K")
            end)
            core.fail_allocation(0)
            if not ok then assert.matches("bytes wanted", said) end
            said = nil -- luacheck: ignore
            collectgarbage()
            if ok then break end
            assert(n < 99)
        end
        assert.is_true(heed.memory().live <= before)
    end)

    it("reads nothing where shapes are enough", function()
        put(path, SMALL)
        local file = assert(heed.gguf.open(path))
        local model = heed.nn.Module()
        function model.forward(_, x) return x:matmul(assert(file:tensor "a")) end
        assert.are.same({ 4, 3 }, { table.unpack(model:check(heed.ones(4, 2))) })
    end)
end)

describe("heed.gguf.save", function()
    local path = os.tmpname()
    teardown(function() os.remove(path) end)

    it("writes what the format says", function()
        local items = { ["general.alignment"] = 64, ["a.list"] = { 1, -2 }, ["a.on"] = true }
        assert.is_true(heed.gguf.save(path, items, { b = heed.ids { 7 }:to "i16",
            a = heed.range(1, 6):view(3, 2):t() }))
        local want = composed({ metadata("a.list", ARRAY, string.pack("<I4 I8 i4 i4", 5, 2, 1, -2)),
            metadata("a.on", 7, "\1"), metadata("general.alignment", U32, string.pack("<I4", 64)) },
            { described("a", { 3, 2 }, F32, 0), described("b", { 1 }, 25, 64) },
            string.pack("<ffffff", 1, 3, 5, 2, 4, 6) .. ("\0"):rep(40) .. "\7\0"
            .. ("\0"):rep(62), 3, 64)
        assert.is_true(want == bytes_of(path))
    end)

    it("gives back every dtype, shape and layout", function()
        local tensors = {
            matrix = heed.range(1, 6):view(2, 3), turned = heed.range(1, 6):view(2, 3):t(),
            part = heed.range(1, 10)[{ { 2, 9, 3 } }], repeated = heed.ones(1):expand(3),
            scalar = heed.tensor(2.5, { dtype = "f64" }), none = heed.zeros(0, 4),
            [""] = heed.tensor { 0 / 0, -0.0 }, ["\u{e9}"] = heed.ids { 1, math.mininteger },
            wants = heed.ones(2):requires_grad_(), deep = heed.ones(1, 2, 1, 3),
            [("n"):rep(63)] = heed.ones(1),
        }
        for _, dtype in ipairs { "i32", "i16", "i8", "f16", "bf16" } do
            tensors[dtype] = heed.ids({ 1, 2, 3 }):to(dtype)
        end
        assert.is_true(heed.gguf.save(path, {}, tensors))
        local file = assert(heed.gguf.open(path))
        for name, t in pairs(tensors) do
            local got = assert(file:tensor(name))
            assert.are.equal(t.dtype, got.dtype)
            assert.are.equal(t.shape, got.shape)
            assert.are.equal(t:bytes(), got:bytes())
        end
        assert.is_true(heed.gguf.save(path, {}, {}))
        assert.are.same({}, assert(heed.gguf.open(path)).tensors)
    end)

    it("quantises with the package's bits", function()
        local x = assert(heed.safetensors.load(FOLDER .. "written.safetensors")).x
        local types, tensors = {}, {}
        for _, name in ipairs { "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0" } do
            types[name], tensors[name] = name, x
        end
        assert(heed.gguf.save(path, {}, tensors, { types = types }))
        local want, got = bytes_of(FOLDER .. "written.gguf"), bytes_of(path)
        local wanted = assert(heed.gguf.open(FOLDER .. "written.gguf"))
        local mine = assert(heed.gguf.open(path))
        for i, entry in ipairs(wanted.tensors) do
            local own = mine.tensors[i]
            assert.are.same({ entry.name, entry.type, entry.bytes, entry.shape },
                { own.name, own.type, own.bytes, own.shape })
            assert.is_true(want:sub(entry.offset + 1, entry.offset + entry.bytes)
                == got:sub(own.offset + 1, own.offset + own.bytes), entry.name)
        end
    end)

    it("quantises the same on any number of threads, and in pieces", function()
        local threads, x, first = heed.get_num_threads(), heed.randn(20000, 512), nil
        for count = 1, 3 do
            heed.set_num_threads(count)
            assert(heed.gguf.save(path, {}, { x = x }, { types = { x = "Q8_0" } }))
            local bytes = bytes_of(path)
            first = first or bytes
            assert.is_true(first == bytes)
        end
        heed.set_num_threads(threads)
        local back = assert(heed.gguf.open(path)):tensor "x"
        assert.is_true((back - x):abs():max():item() < 0.03)
    end)

    it("converts floats to other floats", function()
        local x = heed.randn(3, 5)
        assert(heed.gguf.save(path, {}, { a = x, b = x:to "bf16", c = x },
            { types = { a = "F16", b = "F32", c = "F64" } }))
        local file = assert(heed.gguf.open(path))
        assert.is_true(x:to("f16"):equal(file:tensor "a"))
        assert.is_true(x:to("bf16"):to("f32"):equal(file:tensor "b"))
        assert.is_true(x:to("f64"):equal(file:tensor "c"))
    end)

    it("chooses kinds as readers expect, and takes others", function()
        local items, kinds = {}, {}
        for name, case in pairs {
            small = { 7, "u32" }, large = { 2 ^ 32 // 1 | 0, "i64" }, less = { -1, "i32" },
            float = { 0.5, "f32" }, text = { "a\0\255", "string" }, off = { false, "bool" },
            list = { { 1, 2 }, "i32" }, unsigned = { { 1, 4294967295 }, "u32" },
            long = { { -1, 1 << 40 }, "i64" }, mixed = { { 1, 0.5 }, "f32" },
            none = { {}, "i32" }, deep = { { { { { "a" } } } }, "string" },
            empties = { { {}, { 1 } }, "i32" },
        } do
            items[name], kinds[name] = case[1], case[2]
        end
        assert(heed.gguf.save(path, items, {}))
        local file = assert(heed.gguf.open(path))
        assert.are.same(items, file.metadata)
        assert.are.same(kinds, file.kinds)

        assert(heed.gguf.save(path, { a = { kind = "u8", value = 3.0 }, b = 1,
            c = { kind = "f64", value = { 0.1 } }, d = { kind = "u64", value = 2.0 ^ 63 } }, {},
            { kinds = { b = "i16", unused = "u8" } }))
        file = assert(heed.gguf.open(path))
        assert.are.same({ a = 3, b = 1, c = { 0.1 }, d = 2.0 ^ 63 }, file.metadata)
        assert.are.same({ a = "u8", b = "i16", c = "f64", d = "u64" }, file.kinds)
    end)

    it("writes again what it read, of the same kinds", function()
        local source = FOLDER .. "types.gguf"
        local file, items = assert(heed.gguf.open(source)), 0
        assert(heed.gguf.save(path, file.metadata, {}, { kinds = file.kinds }))
        local again = assert(heed.gguf.open(path))
        assert.are.same(file.metadata, again.metadata)
        assert.are.same(file.kinds, again.kinds)
        local original, copy = bytes_of(source), bytes_of(path)
        for name in pairs(file.metadata) do
            local key = text(name)
            local at, other = original:find(key, 1, true), copy:find(key, 1, true)
            assert.are.equal(original:sub(at, at + #key + 3), copy:sub(other, other + #key + 3))
            items = items + 1
        end
        assert.are.equal(19, items)
    end)

    it("leaves the old file when it cannot write", function()
        assert(heed.gguf.save(path, { old = 1 }, {}))
        local tensors = { a = heed.ones(1), b = heed.full({ 32 }, 0 / 0) }
        local said = message(heed.gguf.save, path, {}, tensors, { types = { b = "Q8_0" } })
        assert.matches('heed.gguf.save: tensors: "b": expected finite numbers that Q8_0 can hold',
            said)
        assert.are.same({ old = 1 }, assert(heed.gguf.open(path)).metadata)
        local ok
        ok, said = heed.gguf.save("/nowhere/at/all", {}, {})
        assert.is_nil(ok)
        assert.matches("^/nowhere/at/all: .*No such file", said)
    end)

    it("raises when the caller is wrong", function()
        local t = heed.ones(2, 32)
        local function said(...)
            return (message(heed.gguf.save, ...):gsub("^.-heed%.gguf%.save: ", ""))
        end
        local function of_tensor(x, kind, name)
            name = name or "x"
            return said(path, {}, { [name] = x }, { types = { [name] = kind } })
        end
        local function of_metadata(value, kind)
            return said(path, { a = value }, {}, { kinds = { a = kind } })
        end

        assert.are.equal("path: expected a string, got nil", said())
        assert.are.equal("metadata: expected a table, got nil", said(path))
        assert.are.equal("tensors: expected a table, got nil", said(path, {}))
        assert.matches('options: there is no option "typs"; did you mean types', said(path, {}, {},
            { typs = {} }))
        assert.matches('types: there is no tensor "y"', said(path, {}, { x = t },
            { types = { y = "F16" } }))
        assert.matches("types: expected a table, got 1", said(path, {}, {}, { types = 1 }))

        assert.are.equal('tensors: "x": the format has no u8; t:to "i32" can be saved',
            of_tensor(t:to "u8"))
        assert.matches('types: "x": expected a type that is written, got "Q4_K"',
            of_tensor(t, "Q4_K"))
        assert.are.equal('types: "x": expected a tensor of floats for F16, got i64 tensor [1]',
            of_tensor(heed.ids { 1 }, "F16"))
        local rows = 'types: "x": Q8_0: expected rows of a multiple of 32 elements, got '
        assert.are.equal(rows .. "[2, 33]", of_tensor(heed.ones(2, 33), "Q8_0"))
        assert.are.equal(rows .. "[]", of_tensor(heed.tensor(1.0), "Q8_0"))
        assert.are.equal('tensors: "x": expected at most 4 dimensions, got 5',
            of_tensor(heed.ones(1, 1, 1, 1, 1)))
        for _, value in ipairs { math.huge, 0 / 0, 1e30 } do
            for _, kind in ipairs { "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0" } do
                local x = heed.ones(2, 32)
                x[2][32] = value
                assert.matches("expected finite numbers that " .. kind .. " can hold",
                    of_tensor(x, kind))
            end
        end
        assert.matches("tensors: a name: expected UTF%-8, got the byte 0xff at position 2",
            of_tensor(t, nil, "a\xff"))
        assert.matches("tensors: expected names of at most 63 bytes",
            of_tensor(t, nil, ("n"):rep(64)))

        for wanted, given in pairs {
            ["a string, a boolean, a number or a list of them, got f32 tensor [2, 32]"] = { t },
            ["a list, or { kind = ..., value = ... }, got a table of length 0"] = { { b = 1 } },
            ["a list, or { kind = ..., value = ... }, got a table of length 1"] = { { 1, b = 1 } },
            ["a value of kind u8, got 256"] = { 256, "u8" },
            ["a value of kind i32, got 2.5"] = { 2.5, "i32" },
            ["a value of kind u64, got -1"] = { -1, "u64" },
            ["a value of kind string, got 1"] = { 1, "string" },
            ["a value of kind string, got 2"] = { { "a", 2 } },
            ['a value of kind bool, got "a"'] = { { true, "a" } },
            ['a value of kind f32, got 1e+300; { kind = "f64", value = ... } holds it'] = { 1e300 },
            ["a list of one kind, got 2 at 2"] = { { { 1 }, 2 } },
            ["a list of one kind, got a table of length 1 at 2"] = { { 1, { 2 } } },
        } do
            assert.are.equal('metadata: "a": expected ' .. wanted, of_metadata(given[1], given[2]))
        end
        assert.matches('there is no kind "int32"; did you mean i32%?', of_metadata(1, "int32"))
        assert.matches('there is no kind "text"; there are: bool, f32, ', of_metadata(1, "text"))
        local endless = {}
        endless[1] = endless
        assert.matches("expected lists in lists at most 4 deep", of_metadata(endless))
        assert.matches("metadata: expected names in UTF%-8 of 1 to 65535 bytes, got 1",
            said(path, { 1 }, {}))
        assert.matches("metadata: expected names in UTF%-8", said(path, { ["\xff"] = 1 }, {}))
        for _, value in ipairs { 24, 0, 4, "32", { kind = "u8", value = 32 } } do
            assert.matches('general.alignment": expected a power of 2 from 8 to 2%^20, of kind u32',
                said(path, { ["general.alignment"] = value }, {}))
        end
    end)
end)
