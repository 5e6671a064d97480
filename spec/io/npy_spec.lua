--- heed.npy: what numpy wrote (spec/fixtures/record_npy.py) is read, what goes in comes out,
--- hostile headers are refused by name.

local core = require "heed.core"
local heed = require "heed"

local function message(f, ...)
    local ok, text = pcall(f, ...)
    assert.is_false(ok)
    return tostring(text)
end

local function fixture(name) return heed.npy.load("spec/fixtures/npy/" .. name .. ".npy") end

describe("heed.npy reads numpy's files:", function()
    local halves = { { -2.5, -1.5, -0.5 }, { 0.5, 1.5, 2.5 } }
    local whole = { { 0, 1, 2 }, { 3, 4, 5 } }
    local FILES = {
        f4 = { "f32", halves }, f8 = { "f64", halves }, f2 = { "f16", halves },
        i8 = { "i64", whole }, i4 = { "i32", whole }, u1 = { "u8", whole },
        i2 = { "i16", whole }, i1 = { "i8", { { -3, -2, -1 }, { 0, 1, 2 } } },
        u4 = { "u32", { { 4294967290, 4294967291, 4294967292 },
            { 4294967293, 4294967294, 4294967295 } } },
        u2 = { "u16", { { 65530, 65531, 65532 }, { 65533, 65534, 65535 } } },
        u2_big = { "u16", whole },
        b1 = { "bool", { { false, true, false }, { true, false, true } } },
        f4_big = { "f32", halves }, f8_big = { "f64", halves }, f2_big = { "f16", halves },
        i8_big = { "i64", whole }, i4_big = { "i32", whole },
        f4_fortran = { "f32", halves }, i4_fortran_big = { "i32", whole },
        vector = { "f32", { 0, 1, 2 } }, version2 = { "f32", halves }, version3 = { "f32", halves },
    }
    for name, want in pairs(FILES) do
        it(name, function()
            local t = assert(fixture(name))
            assert.are.equal(want[1], t.dtype)
            if t.dtype == "bool" then return assert.are.same(want[2], t:totable()) end
            assert.is_true(heed.equal(t:to "f64", heed.tensor(want[2], { dtype = "f64" })))
        end)
    end

    it("nothing, one number, three dimensions in Fortran's order", function()
        assert.are.equal("[0, 4]", tostring(assert(fixture "none").shape))
        local scalar = assert(fixture "scalar")
        assert.are.equal(0, scalar:dim())
        assert.are.equal(2.5, scalar:item())
        local cube = assert(fixture "cube_fortran")
        assert.is_true(heed.equal(heed.range(0, 23):view(2, 3, 4), cube))
        assert.is_false(cube:is_contiguous())
    end)

    it("and names the dtypes that no tensor has", function()
        for name, said in pairs {
            refused_text = 'descr: expected f4, .*got "<U2"', refused_complex = 'got "<c8"',
                refused_u8 = 'got "<u8"',
            refused_fields = "expected a string as descr",
            refused_objects = 'holds Python objects %("|O"%): a pickle, which is never run',
        } do
            local t, text = fixture(name)
            assert.is_nil(t)
            assert.matches(said, text)
            assert.matches("spec/fixtures/npy/" .. name, text)
        end
    end)
end)

describe("heed.npy", function()
    local path = os.tmpname()
    teardown(function() os.remove(path) end)

    it("gives back every dtype, shape and layout", function()
        local tensors = {
            heed.range(1, 6):view(2, 3), heed.range(1, 6):view(2, 3):t(),
                heed.range(1, 10)[{ { 2, 9, 3 } }],
            heed.ones(1):expand(3), heed.tensor(2.5, { dtype = "f64" }), heed.zeros(0, 4),
                heed.ids { 1, -2, math.maxinteger },
            heed.tensor { true, false }, heed.tensor { 0 / 0, 1 / 0, -1 / 0, -0.0 },
                heed.ones(1, 2, 1, 2, 1, 2, 1, 2),
        }
        for _, dtype in ipairs { "i32", "i16", "i8", "u32", "u16", "u8", "f16" } do
            tensors[#tensors + 1] = heed.ids({ 1, 2, 3 }):to(dtype)
        end
        for _, t in ipairs(tensors) do
            assert.is_true(heed.npy.save(path, t))
            local loaded = assert(heed.npy.load(path))
            assert.are.equal(t.dtype, loaded.dtype)
            assert.are.equal(t.shape, loaded.shape)
            assert.are.equal(t:bytes(), loaded:bytes())
        end
    end)

    it("writes what numpy writes, but for the room after the literal", function()
        local function text_of(name)
            local file <close> = assert(io.open(name, "rb"))
            return (file:read "a":gsub(" +\n", "\n", 1):gsub("^(.NUMPY..)..", "%1"))
        end
        for _, name in ipairs { "f4", "f8", "f2", "i8", "i4", "u1", "b1", "none", "scalar",
            "vector" } do
            assert(heed.npy.save(path, assert(fixture(name))))
            assert.are.equal(text_of("spec/fixtures/npy/" .. name .. ".npy"), text_of(path), name)
        end
    end)

    it("saves a parameter without its graph", function()
        local w = heed.randn(2, 2, { requires_grad = true })
        assert(heed.npy.save(path, w:t() * 2))
        local loaded = assert(heed.npy.load(path))
        assert.is_false(loaded.requires_grad)
        assert.is_true(heed.equal(w:detach():t() * 2, loaded))
    end)

    it("gives nil and a message when the world fails", function()
        local t, text = heed.npy.load "/nowhere/at/all"
        assert.is_nil(t)
        assert.matches("/nowhere/at/all: No such file", text)
        for _, odd in ipairs { "/", "/dev/zero" } do
            t, text = heed.npy.load(odd)
            assert.is_nil(t)
            assert.matches("expected a regular file", text)
        end
        local saved
        saved, text = heed.npy.save("/nowhere/at/all", heed.ones(1))
        assert.is_nil(saved)
        assert.matches("/nowhere/at/all: .*No such file", text)
    end)

    it("raises when the caller is wrong", function()
        local save, load, t = heed.npy.save, heed.npy.load, heed.ones(1)
        assert.matches("npy.load: path: expected a string, got nil", message(load))
        assert.matches("path: expected a string without zero bytes", message(load, "a\0b"))
        assert.matches("npy.save: path: expected a string, got 1", message(save, 1, t))
        assert.matches("npy.save: t: expected a tensor", message(save, path, { 1, 2 }))
        assert.matches("npy.save: t: bf16 has no name in this format .*to%(\"f32\"%)",
            message(save, path, t:to "bf16"))
    end)

    it("raises when memory fails, and then works", function()
        local t = heed.randn(3, 2):t()
        assert(heed.npy.save(path, t))
        local before = heed.memory().live
        for _, f in ipairs {
            function() return assert(heed.npy.load(path)) end,
            function() return assert(heed.npy.save(path, t)) end,
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
        assert.is_true(heed.equal(heed.npy.load(path), t))
    end)
end)

describe("heed.npy refuses", function()
    local path = os.tmpname()
    teardown(function() os.remove(path) end)

    -- A file of that header and as many bytes of data.
    local function load(header, bytes, version)
        local file = assert(io.open(path, "wb"))
        version = version or "\1\0"
        file:write("\x93NUMPY", version, string.pack(version:byte() == 1 and "<s2" or "<s4",
            header), ("\0"):rep(bytes))
        file:close()
        return heed.npy.load(path)
    end

    local GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"

    it("no way to write a good header", function()
        for _, header in ipairs {
            GOOD, GOOD .. (" "):rep(60) .. "\n",
                "{'shape':(2,3),'fortran_order':False,'descr':'<f4'}",
            '{"descr": "<f4", "fortran_order": True, "shape": (2L, 3L)}',
            " {\t'descr' : '<f4' ,'fortran_order': False,'shape': ( 2 , 3 , ) }",
        } do
            assert.are.equal("[2, 3]", tostring(assert(load(header, 24)).shape))
        end
        assert.is_truthy(load(GOOD, 24, "\2\0"))
        assert.is_truthy(load(GOOD, 24, "\3\0"))
        assert.are.equal(3, assert(load("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
            12)):size(1))
    end)

    local HEADERS = {
        { "", "expected {" }, { "[]", "expected {" }, { "{", "expected a name or }" },
            { "{}", "descr is missing" },
        { GOOD:gsub("descr", "dtype"), 'expected descr, fortran_order and shape, got "dtype"' },
        { GOOD:gsub("'<f4'", "'<f4"), "expected" },
            { GOOD:gsub("'<f4'", "<f4"), "expected a string as descr" },
        { GOOD:gsub("<f4", "<f4\\x00"), "expected a string as descr" },
            { GOOD:gsub("<f4", "|f4"), 'got "|f4"' },
        { GOOD:gsub("<f4", "=f4"), 'got "=f4"' }, { GOOD:gsub("<f4", "f4"), 'got "f4"' },
            { GOOD:gsub("<f4", ""), 'got ""' },
        { GOOD:gsub("<f4", "<f" .. ("4"):rep(300)), 'got "<f444' },
            { GOOD:gsub("<f4", "<\27[31m"), 'got "<%?%[31m"' },
        { GOOD:gsub("False", "None"), "expected True or False as fortran_order" },
            { GOOD:gsub("False", "0"), "True or False" },
        { GOOD:gsub("%(2, 3%)", "[2, 3]"), "expected a tuple as shape" },
            { GOOD:gsub("%(2, 3%)", "(2, 3"), "expected" },
        { GOOD:gsub("%(2, 3%)", "(6)"), "expected a comma" }, { GOOD:gsub("%(2, 3%)", "(-2, -3)"),
            "expected a size in shape" },
        { GOOD:gsub("%(2, 3%)", "(2.0, 3)"), "expected a comma" },
            { GOOD:gsub("%(2, 3%)", "(,)"), "expected a size in shape" },
        { GOOD:gsub("%(2, 3%)", "(99999999999999999999,)"), "a size is too large" },
        { GOOD:gsub("%(2, 3%)", "(4294967296, 4294967296)"), "too large" },
        { GOOD:gsub("%(2, 3%)", "(1, 1, 1, 1, 1, 1, 1, 1, 6)"), "more than 8 dimensions" },
        { GOOD:gsub("%(2, 3%)", "(2, 4)"), "f32 %[2, 4%] needs 32 bytes, the file has 24" },
        { GOOD:gsub("%(2, 3%)", "(2,)"), "needs 8 bytes, the file has 24" },
        { GOOD:gsub("%(2, 3%)", "(0, 9223372036854775807)"), "too large" },
        { GOOD:gsub("}", "'descr': '<f4'}"), "descr is given twice" },
            { GOOD:gsub("}", "'more': 1}"), "got \"more\"" },
        { GOOD .. "x", "expected nothing behind }" }, { GOOD .. "{}", "expected nothing behind }" },
        { GOOD .. "\0", "zero byte" }, { GOOD:gsub(" 'shape.*$", ""), "expected" },
            { GOOD:gsub(", 'shape.*$", "}"), "shape is missing" },
        { GOOD .. (" "):rep(70000), "expected at most 65536 bytes", "\2\0" },
        { GOOD, "npy version 4.0", "\4\0" }, { GOOD, "npy version 1.1", "\1\1" },
            { GOOD, "npy version 0.0", "\0\0" },
    }
    for i, case in ipairs(HEADERS) do
        it("header " .. i .. ", " .. case[2], function()
            local t, text = load(case[1], 24, case[#case]:byte() <= 4 and case[#case] or nil)
            assert.is_nil(t)
            assert.matches(case[2], text)
            assert.is_true(#text < 400)
        end)
    end

    it("what is no file of this form", function()
        for bytes, said in pairs {
            [""] = "does not begin as one", ["\x93NUMPY"] = "does not begin",
                ["\x93NUMPX\1\0\4\0{}  "] = "does not begin",
            ["\x93NUMPY\1\0\255\255{}"] = "claims 65535 bytes",
                ["\x93NUMPY\2\0\255\255\255\255{}"] = "claims 4294967295 bytes",
            ["\x93NUMPY\2\0\4\0"] = "cut short",
                ["PK\3\4 an archive of several"] = "does not begin",
        } do
            local file = assert(io.open(path, "wb"))
            file:write(bytes)
            file:close()
            local t, text = heed.npy.load(path)
            assert.is_nil(t)
            assert.matches(said, text)
        end
    end)
end)
