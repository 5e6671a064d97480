local heed = require "heed"

describe("making tensors", function()
    it("takes nested tables, f32 by default", function()
        local t = heed.tensor({ { 1, 2 }, { 3, 4.5 } })
        assert.equal("f32", t.dtype)
        assert.same({ { 1, 2 }, { 3, 4.5 } }, t:totable())
        assert.equal("bool", heed.tensor({ true, false }).dtype)
        assert.equal("f64", heed.tensor({ 1 }, { dtype = "f64" }).dtype)
        assert.equal(7, heed.tensor(7):item())
        assert.equal(0, heed.tensor(7):dim())
        assert.equal("[0]", tostring(heed.tensor({}).shape))
        assert.equal("[2, 0]", tostring(heed.tensor({ {}, {} }).shape))
    end)

    it("copies a tensor", function()
        local a = heed.tensor({ 1, 2 })
        local b = heed.tensor(a)
        b[1] = 9
        assert.equal(1, a[1])
        assert.equal("i64", heed.ids(a).dtype)
    end)

    it("makes integers", function()
        local t = heed.ids({ { 1, 2 }, { 3, 4 } })
        assert.equal("i64", t.dtype)
        assert.equal("integer", math.type(t[1][1]))
        assert.error_matches(function() heed.ids({ 1.5 }) end,
            "heed.ids: values: expected a number that i64 can hold, got 1.5")
        assert.same({ 1, -2 }, heed.tensor({ 1, -2 }, { dtype = "i32" }):totable())
        assert.error_matches(function() heed.tensor({ 256 }, { dtype = "u8" }) end,
            "expected a number that u8 can hold, got 256")
        assert.error_matches(function() heed.tensor({ -1 }, { dtype = "u8" }) end,
            "expected a number that u8 can hold, got %-1")
    end)

    it("says where nested tables have different lengths or hold something else", function()
        assert.error_matches(function() heed.tensor({ { 1, 2 }, { 3 } }) end,
            "expected 2 values at %[2%], as many as before, got 1; heed.data.pad fills rows up")
        assert.error_matches(function() heed.tensor({ { 1, 2 }, 3 }) end,
            "expected a table of 2 values at %[2%], as long as the one before, got 3")
        assert.error_matches(function() heed.tensor({ 1, "2" }) end,
            'expected numbers at %[2%], got "2"')
        assert.error_matches(function() heed.tensor({ 1, {} }) end,
            "expected numbers at %[2%], got a table of length 0")
        assert.error_matches(function() heed.tensor({ true, 1, "x" }) end,
            "expected booleans at %[3%]")
        assert.error_matches(function() heed.tensor("1") end,
            "heed.tensor: values: expected nested tables")
        assert.error_matches(function() heed.tensor() end,
            "heed.tensor: values: expected nested tables .* got nil")
        local loop = {}
        loop[1] = loop
        assert.error_matches(function() heed.tensor(loop) end, "nested at most 8 deep")
    end)

    it("fills shapes given as numbers or one table", function()
        assert.same({ { 0, 0 } }, heed.zeros(1, 2):totable())
        assert.same({ 1, 1, 1 }, heed.ones({ 3 }):totable())
        assert.same({ 1, 1, 1 }, heed.ones(heed.zeros(3).shape):totable())
        assert.same({ { 2.5 } }, heed.full({ 1, 1 }, 2.5):totable())
        assert.equal("bool", heed.full({ 2 }, true).dtype)
        assert.equal("i64", heed.zeros(2, { dtype = "i64" }).dtype)
        assert.equal(0, heed.zeros({}):item())
        assert.same({ { 1, 0, 0 }, { 0, 1, 0 } }, heed.eye(2, 3):totable())
        assert.equal("[3, 0]", tostring(heed.empty(3, 0).shape))
    end)

    it("refuses what is no size", function()
        assert.error_matches(function() heed.zeros("3") end,
            'heed.zeros: shape: expected sizes.*got "3" at position 1')
        assert.error_matches(function() heed.zeros(2, 2.5) end, "got 2.5 at position 2")
        assert.error_matches(function() heed.zeros(-1) end, "got %-1 at position 1")
        assert.error_matches(function() heed.zeros() end,
            "heed.zeros: shape: expected sizes as numbers or one table")
        assert.error_matches(function() heed.zeros(1, 1, 1, 1, 1, 1, 1, 1, 1) end,
            "at most 8 dimensions")
        assert.has_error(function() heed.zeros(2 ^ 40 | 0, 2 ^ 40 | 0) end)
        assert.equal("[0, 1099511627776]", tostring(heed.zeros(0, 2 ^ 40 | 0).shape))
    end)

    it("refuses options that do not exist", function()
        assert.error_matches(function() heed.zeros(2, { dtyp = "f64" }) end,
            'there is no option "dtyp"; did you mean dtype%?')
        assert.error_matches(function() heed.zeros(2, { dtype = "float" }) end,
            'dtype: expected a dtype.*got "float"')
    end)

    it("refuses options where none are read", function()
        local t = heed.ones(2)
        assert.error_matches(function() heed.tensor { 1, 2, dtype = "f64" } end,
            "expected a list, got a table with the field 'dtype'")
        assert.error_matches(function() heed.tensor { dtype = "f64" } end,
            "got a table with the field 'dtype'")
        assert.error_matches(function() heed.tensor({ 1 }, "f64") end,
            'options: expected {dtype = .*}, got "f64"')
        assert.error_matches(function() heed.tensor({ 1 }, { "f64" }) end,
            "got a table of length 1")
        assert.error_matches(function() heed.ids({ 1 }, { dtype = "i32" }) end,
            "heed.ids: options: expected nothing")
        assert.error_matches(function() heed.zeros_like(t, "f64") end,
            'heed.zeros_like: options: expected .* got "f64"')
        assert.error_matches(function() heed.full_like(t, 1, "f64") end,
            'heed.full_like: options: expected .* got "f64"')
        assert.error_matches(function() heed.allclose(t, t, 1e-3) end,
            "heed.allclose: options: expected {rtol = .*, got 0.001")
        assert.same({ 1, 2, 3 }, heed.tensor(table.pack(1, 2, 3)):totable())
        assert.same({ 1 }, heed.tensor({ 1 }, {}):totable())
        assert.equal("[0]", tostring(heed.tensor({}).shape))
    end)

    it("counts with both ends", function()
        assert.same({ 1, 2, 3 }, heed.range(1, 3):totable())
        assert.equal("f32", heed.range(1, 3).dtype)
        assert.same({ 3, 1 }, heed.range(3, 1, -2, { dtype = "i64" }):totable())
        assert.error_matches(function() heed.range(1, 3, 0) end,
            "step: expected a step that is not 0")
    end)

    it("draws within bounds, the same from the same seed", function()
        heed.manual_seed(5)
        local a, b = heed.rand(100), heed.randint(2, 4, 200)
        heed.manual_seed(5)
        assert.is_true(heed.equal(a, heed.rand(100)))
        assert.is_true(a:ge(0):all() and a:lt(1):all())
        assert.equal(2, b:min():item())
        assert.equal(4, b:max():item())
        assert.equal("i64", b.dtype)
        local p = heed.randperm(50)
        local seen = {}
        for i = 1, 50 do seen[p[i]] = true end
        assert.equal(50, #seen)
        assert.error_matches(function() heed.randint(3, 2, 1) end,
            "high: expected at least low = 3, got 2")
    end)

    it("draws from a generator without touching the training stream", function()
        heed.manual_seed(1)
        local before = heed.rng_state()
        local g = heed.generator(7)
        local a = heed.randn(10, { generator = g })
        assert.is_true(heed.equal(before, heed.rng_state()))
        local saved = g:state()
        local b = heed.randn(10, { generator = g })
        assert.is_false(heed.equal(a, b))
        g:state(saved)
        assert.is_true(heed.equal(b, heed.randn(10, { generator = g })))
        assert.is_true(heed.equal(a, heed.randn(10, { generator = heed.generator(7) })))
        assert.error_matches(function() heed.rand(1, { generator = 7 }) end,
            "generator: expected a generator")
    end)

    it("makes tensors like another", function()
        local t = heed.zeros(2, 3, { dtype = "f64" })
        for _, name in ipairs { "zeros_like", "ones_like", "empty_like", "rand_like",
            "randn_like" } do
            local u = t[name](t)
            assert.equal("f64", u.dtype)
            assert.is_true(u.shape == t.shape)
        end
        assert.equal(3, t:full_like(3):max():item())
    end)

    it("goes to bytes and back", function()
        local t = heed.tensor({ { 1, 2, 3 }, { 4, 5, 6 } })
        local back = heed.frombytes(t:t():bytes(), "f32", { 3, 2 })
        assert.is_true(heed.equal(back, t:t()))
        assert.equal(string.pack("<i8i8", 1, -1), heed.ids({ 1, -1 }):bytes())
        assert.error_matches(function() heed.frombytes("abc", "f32", { 1 }) end,
            "expected 4 bytes for f32, got 3")
        assert.equal("[2]", tostring(heed.frombytes("abcd", "bf16").shape))
    end)

    it("leaves wanting a gradient are floats", function()
        assert.is_true(heed.zeros(2, { requires_grad = true }).requires_grad)
        assert.error_matches(function() heed.ids({ 1 }).requires_grad = true end,
            "expected f32 or f64, which alone have gradients, got i64")
    end)
end)
