local heed = require "heed.core"

describe("indexing", function()
    local t
    before_each(function() t = heed.tensor({ { 1, 2, 3 }, { 4, 5, 6 } }) end)

    it("by a number gives a view, or a number from a vector", function()
        assert.same({ 4, 5, 6 }, t[2]:totable())
        assert.same({ 4, 5, 6 }, t[-1]:totable())
        assert.equal(6, t[2][3])
        assert.equal(1, t[-2][-3])
        local row = t[1]
        row[1] = 10
        assert.equal(10, t[1][1])
        assert.is_true(heed.tensor({ true })[1])
        assert.equal("integer", math.type(heed.ids({ 3 })[1]))
        assert.equal(6, t[2.0][3.0])
    end)

    it("ends ipairs with nil one past the end", function()
        local seen = {}
        for i, row in ipairs(t) do seen[i] = row:totable() end
        assert.same({ { 1, 2, 3 }, { 4, 5, 6 } }, seen)
        assert.is_nil(t[3])
        assert.is_nil(t[1][4])
    end)

    it("raises for everything else outside", function()
        assert.error_matches(function() return t[0] end,
            "t%[key%]: expected 1..2 or %-2..%-1 in dimension 1 of %[2, 3%], got 0; indices "
                .. "count from 1")
        assert.error_matches(function() return t[4] end, "got 4")
        assert.error_matches(function() return t[-3] end, "got %-3")
        assert.error_matches(function() return t[1.5] end,
            "expected an integer, a slice or a tensor for dimension 1, got 1.5")
        assert.error_matches(function() return t["1"] end,
            "t.1: a tensor has no field or method of this name")
        assert.error_matches(function() return t[{ 1, "x" }] end,
            'expected an integer, a slice or a tensor for dimension 2, got "x"')
        assert.error_matches(function() return t[{ 1, 1, 1 }] end,
            "expected entries for at most 2 dimensions of a tensor of shape %[2, 3%], got 3")
        assert.error_matches(function() return t[true] end,
            "t%[key%]: expected an index, a table of indices and slices")
        assert.error_matches(function() return heed.tensor(1)[1] end, "without dimensions")
        assert.error_matches(function() return t.colour end,
            "t.colour: a tensor has no field or method of this name")
    end)

    it("by a list names an element or slices", function()
        assert.equal(3, t[{ 1, 3 }])
        assert.same({ { 2, 3 }, { 5, 6 } }, t[{ {}, { 2, 3 } }]:totable())
        assert.same({ 3, 6 }, t[{ {}, -1 }]:totable())
        assert.same({ { 4, 6 } }, t[{ { 2 }, { 1, 3, 2 } }]:totable())
        assert.same({ 4, 5, 6 }, t[{ 2 }]:totable())
        assert.same({ { 2, 3 }, { 5, 6 } }, t[{ {}, { -2, -1 } }]:totable())
        assert.equal("[2, 0]", tostring(t[{ {}, { 1, 0 } }].shape))
        assert.same(t:totable(), t[{}]:totable())
    end)

    it("refuses slices outside", function()
        assert.error_matches(function() return t[{ { 1, 3 } }] end,
            "expected a slice within 1..2 of dimension 1, got {1, 3}")
        assert.error_matches(function() return t[{ { 0, 1 } }] end, "expected a slice within 1..2")
        assert.error_matches(function() return t[{ {}, { 1, 3, 0 } }] end,
            "expected a step of 1 or more in dimension 2, got 0")
        assert.error_matches(function() return t[{ { 1, 2, 1, 1 } }] end, "got 4 values")
        assert.error_matches(function() return t[{ { 1, 1.5 } }] end,
            "expected an integer as the last of a slice of dimension 1, got 1.5")
        assert.error_matches(function() return t[{ dim = 1 }] end,
            "t%[key%]: expected a list, got a table with the field 'dim'")
    end)

    it("by a bool tensor selects", function()
        assert.same({ 4, 5, 6 }, t[t:gt(3)]:totable())
        assert.equal("[0]", tostring(t[t:gt(9)].shape))
        assert.same({ { 4, 5, 6 } }, t[heed.tensor({ false, true })]:totable())
        assert.equal("[0, 3]", tostring(t[heed.tensor({ false, false })].shape))
        assert.error_matches(function() return t[heed.tensor({ true, true, true })] end,
            "t%[key%]: expected a mask of the first sizes of %[2, 3%], got %[3%]")
    end)

    it("by an index tensor selects rows, in its shape", function()
        assert.same({ { 4, 5, 6 }, { 1, 2, 3 }, { 4, 5, 6 } }, t[heed.ids({ 2, 1, 2 })]:totable())
        assert.same({ { { 4, 5, 6 } }, { { 1, 2, 3 } } }, t[heed.ids({ { 2 }, { 1 } })]:totable())
        assert.error_matches(function() return t[heed.tensor({ 1, 2 })] end,
            "expected booleans or integers, got f32 tensor %[2%]; t:gt%(0%) is a mask")
        assert.error_matches(function() return t[heed.ids({ 3 })] end,
            "expected values in 1..2 or %-2..%-1, got 3 at position 1")
        assert.error_matches(function() return t[heed.ids({ 0 })] end, "got 0 at position 1")
    end)

    it("by an index tensor counts from the end too", function()
        assert.same({ { 4, 5, 6 }, { 1, 2, 3 } }, t[heed.ids { -1, -2 }]:totable())
        assert.error_matches(function() return t[heed.ids { -3 }] end, "got %-3 at position 1")
    end)

    it("combines numbers, slices, index tensors and masks in one list", function()
        assert.same({ { 3, 1 }, { 6, 4 } }, t[{ {}, heed.ids { 3, 1 } }]:totable())
        assert.same({ 6, 4 }, t[{ -1, heed.ids { 3, 1 } }]:totable())
        assert.same({ 2, 6 }, t[{ heed.ids { 1, 2 }, heed.ids { 2, 3 } }]:totable())
        assert.same({ { 2, 3 }, { 5, 6 } },
            t[{ heed.ids { { 1 }, { 2 } }, heed.ids { 2, 3 } }]:totable())
        assert.same({ { 1, 3 }, { 4, 6 } }, t[{ {}, heed.tensor { true, false, true } }]:totable())
        assert.same({ { 4, 6 } }, t[{ heed.tensor { false, true }, { 1, 3, 2 } }]:totable())
        assert.same({ 2, 4 }, t[{ t:eq(2) | t:eq(4) }]:totable())
        -- Neighbours stay where they were; apart, the indexed dimensions come first.
        local u = heed.zeros(2, 3, 4, 5)
        assert.equal("[2, 7, 5]", tostring(u[{ {}, heed.ones(7):to "i64",
            heed.ones(7):to "i64" }].shape))
        assert.equal("[7, 3, 5]", tostring(u[{ heed.ones(7):to "i64", {},
            heed.ones(7):to "i64" }].shape))
        assert.equal("[7, 5]", tostring(u[{ heed.ones(7):to "i64", 2,
            heed.ones(7):to "i64" }].shape))
    end)

    it("assigns by lists with tensors", function()
        t[{ {}, heed.ids { 3, 1 } }] = heed.tensor { { 30, 10 }, { 60, 40 } }
        assert.same({ { 10, 2, 30 }, { 40, 5, 60 } }, t:totable())
        t[{ heed.ids { 1, 2 }, heed.ids { -2, -1 } }] = 0
        assert.same({ { 10, 0, 30 }, { 40, 5, 0 } }, t:totable())
        t[{ 2, heed.tensor { true, true, false } }] = { 7, 8 }
        assert.same({ 7, 8, 0 }, t[2]:totable())
        t[{ heed.ids { 1, 1 }, 1 }] = { 5, 6 } -- the last one counts
        assert.equal(6, t[1][1])
        local ids = heed.ids { 2, 1 }
        ids[ids] = heed.ids { 1, 1 } * 9 -- what it is told by is what it was
        assert.same({ 9, 9 }, ids:totable())
    end)

    it("says what is wrong with a list that has tensors", function()
        assert.error_matches(function() return t[{ heed.tensor { true, true, true } }] end,
            "expected a mask of the sizes of %[2, 3%] from dimension 1 on, got %[3%]")
        assert.error_matches(function() return t[{ {}, heed.ones(2) }] end,
            "expected booleans or integers, got f32 tensor %[2%]")
        assert.error_matches(function() return t[{ 1, t:gt(0) }] end,
            "expected entries for at most 2 dimensions")
        assert.error_matches(function() return t[{ {}, heed.ids { 4 } }] end,
            "expected values in 1..3 or %-3..%-1, got 4 at position 1")
        assert.error_matches(function() return t[{ heed.ids { 1, 2 }, heed.ids { 1, 2, 3 } }] end,
            "broadcast")
        assert.has_error(function() t[{ {}, heed.ids { 1, 2 } }] = { 1, 2, 3 } end)
    end)

    it("assigns numbers, tensors and tables", function()
        t[1] = 0
        t[2] = heed.tensor({ 7, 8, 9 })
        assert.same({ { 0, 0, 0 }, { 7, 8, 9 } }, t:totable())
        t[{ 1, 2 }] = 5
        t[{ {}, 3 }] = { 1, 2 }
        assert.same({ { 0, 5, 1 }, { 7, 8, 2 } }, t:totable())
        t[t:eq(5)] = -5
        assert.equal(-5, t[1][2])
        t[heed.tensor({ true, false })] = 3
        assert.same({ 3, 3, 3 }, t[1]:totable())
        t[heed.ids({ 2 })] = 1
        assert.same({ 1, 1, 1 }, t[2]:totable())
        local b = heed.zeros(2, { dtype = "bool" })
        b[1] = true
        assert.same({ true, false }, b:totable())
    end)

    it("copies correctly between overlapping regions", function()
        local a = heed.range(1, 9):view(3, 3) - 1
        a[{ {}, { 2, 3 } }] = a[{ {}, { 1, 2 } }]
        assert.same({ { 0, 0, 1 }, { 3, 3, 4 }, { 6, 6, 7 } }, a:totable())
    end)

    it("refuses assignments that cannot be", function()
        assert.error_matches(function() t[3] = 1 end, "expected 1..2")
        assert.error_matches(function() t[1] = "x" end,
            'value: expected a number, a tensor or a table of numbers, got "x"')
        assert.has_error(function() t[1] = { 1, 2 } end)
        assert.error_matches(function() heed.ids({ 1 })[1] = 1.5 end,
            "value: expected a number that i64 can hold, got 1.5")
        assert.error_matches(function() t.name = 1 end, "t.name: expected grad or requires_grad")
    end)

    it("goes into what is empty and expanded, recorded too", function()
        local w = heed.zeros(2, 0, { requires_grad = true })
        local y = heed.zeros(1, 0):expand(2, 0)
        y[{}] = w
        y:sum():backward()
        assert.same({ 2, 0 }, { table.unpack(w.grad.shape) })
        local z = heed.zeros(1, 0, 1):expand(2, 0, 3)
        z[{ 2 }] = heed.zeros(0, 3, { requires_grad = true })
        z[heed.ids { 1 }] = heed.zeros(0, 3, { requires_grad = true })
        z[heed.zeros(2, { dtype = "bool" })] = heed.zeros(0, 0, 3, { requires_grad = true })
        z:sum():backward()
    end)

    it("is recorded", function()
        local x = heed.tensor({ { 1, 2 }, { 3, 4 } }, { requires_grad = true })
        local y = x * 1
        y[1] = heed.tensor({ 5, 5 });
        (y[2]:sum() + y[{ {}, 1 }]:sum() + y[y:gt(3)]:sum()):backward()
        assert.same({ { 0, 0 }, { 2, 2 } }, x.grad:totable())
    end)
end)
