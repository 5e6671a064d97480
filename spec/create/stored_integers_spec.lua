--- Integers that are only stored: made, read, written, printed. Casts and comparisons are in
--- spec/ops/torch_dtypes_spec.lua, movement in the registry.

local heed = require "heed"

local ENDS = {
    i8 = { -128, 127 }, i16 = { -32768, 32767 }, u16 = { 0, 65535 }, u32 = { 0, 4294967295 },
}

for dtype, ends in pairs(ENDS) do
    describe(dtype .. " is stored:", function()
        local low, high = table.unpack(ends)
        local of = { dtype = dtype }
        local function cannot_hold(value, f)
            assert.error_matches(f, ("expected a number that %s can hold, got %s"):format(dtype,
                (tostring(value):gsub("%-", "%%-"))))
        end

        it("made from values, at its ends and not beyond", function()
            local t = heed.tensor({ { low, high }, { 0, 7 } }, of)
            assert.are.same({ { low, high }, { 0, 7 } }, t:totable())
            assert.are.same({ high, high }, heed.full({ 2 }, high, of):totable())
            assert.are.same({ low, low }, heed.full({ 2 }, low, of):totable())
            assert.are.same({ 5, 6, 7 }, heed.range(5, 7, 1, of):totable())
            assert.are.same({ { 1, 0 }, { 0, 1 } }, heed.eye(2, of):totable())
            assert.are.same({ 1, 3, 5 }, heed.linspace(1, 5, 3, of):totable())
            assert.are.same({ 0, 1 },
                { heed.zeros(1, of):item(), heed.ones_like(heed.empty(1, of)):item() })
            for _, value in ipairs { low - 1, high + 1, 2.5, 1 << 40 } do
                cannot_hold(value, function() heed.tensor({ value }, of) end)
                cannot_hold(value, function() heed.full({ 1 }, value, of) end)
                cannot_hold(value, function() t[1] = value end)
                cannot_hold(value, function() t:fill_(value) end)
            end
            assert.are.same({ { low, high }, { 0, 7 } }, t:totable())
        end)

        it("from bytes and back, as its width says", function()
            local t = heed.tensor({ low, high, 1 }, of)
            local format = ({ i8 = "b", i16 = "<i2", u16 = "<I2", u32 = "<I4" })[dtype]
            assert.are.equal(string.pack(format:rep(3, ""), low, high, 1), t:bytes())
            assert.are.same({ low, high, 1 }, heed.frombytes(t:bytes(), dtype):totable())
        end)

        it("read and written by index", function()
            local t = heed.zeros(3, 4, of)
            t[2][3] = high
            t[{ {}, 1 }] = { 1, 2, low }
            t[heed.ids { 1, 3 }] = heed.tensor({ 9, 8, 7, 6 }, of)
            t[{ 2, heed.tensor { false, true, false, false } }] = 5
            assert.are.same({ { 9, 8, 7, 6 }, { 2, 5, high, 0 }, { 9, 8, 7, 6 } }, t:totable())
            assert.are.same({ math.tointeger(high), "integer" }, { t[2][3], math.type(t[2][3]) })
            t:copy_(heed.full({ 3, 4 }, 2.9))
            assert.are.equal(2, t[1][1])
        end)

        it("printed as integers", function()
            local width = math.max(#tostring(low), #tostring(high))
            local number = "%" .. width .. "d"
            assert.are.equal(("[" .. number .. ", " .. number .. "]\n%s [2]"):format(low, high,
                dtype), tostring(heed.tensor({ low, high }, of)))
            assert.are.equal("x" .. high, "x" .. heed.tensor(high, of))
        end)

        it("refused by arithmetic, which names what converts", function()
            local t, more = heed.ones(2, 2, of), heed.ones(2, 2)
            for _, f in ipairs {
                function() return t + 1 end, function() return more * t end,
                function() return t:sum() end, function() return t:matmul(t) end,
                function() return t:add_(1) end, function() return t:sort() end,
                function() return heed.where(t:eq(1), t, t) end, function() return -t end,
                function() return t:max() end, function() return t:exp() end,
            } do
                assert.error_matches(f, "heed%.[%w_]+: dtype: " .. dtype
                    .. ' is for storing, not for computing; convert it: t:to "i64" or t:to "f32"')
            end
        end)

        it("shown to attention as a mask", function()
            local q = heed.randn(1, 1, 4, 3)
            local seen = heed.tensor({ { 1, 0, 3, 0 }, { 0, 2, 0, 0 }, { 1, 1, 1, 1 },
                { 0, 0, 0, 9 } }, of)
            assert.is_true(heed.equal(heed.attention(q, q, q, { mask = seen:ne(0) }),
                heed.attention(q, q, q, { mask = seen })))
            assert.is_true(heed.equal(heed.mask.bool(seen):dense(4, 4), seen:ne(0)))
        end)
    end)
end
