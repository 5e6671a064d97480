local heed = require "heed"
local mask = heed.mask
require "heed.luassert"

local function rows(text)
    local list = {}
    for line in text:gmatch "[^\n]+" do
        local row = {}
        for cell in line:gmatch "%S" do row[#row + 1] = cell == "1" end
        list[#list + 1] = row
    end
    return list
end

local function dense(m, ...) return m:dense(...):totable() end

-- Uniform attention: a query averages the values that it may see.
local function average(values, L, options)
    local S = #values
    local v = heed.tensor(values):view(S, 1)
    return heed.attention(heed.zeros(L, 1), heed.zeros(S, 1), v, options):flatten():totable()
end

describe("masks", function()
    it("causal is aligned to the end", function()
        assert.are.same(rows "100\n110\n111", dense(mask.causal(), 3))
        assert.are.same(rows "1110\n1111", dense(mask.causal(), 2, 4))
        assert.are.same(rows "00\n00\n10\n11", dense(mask.causal(), 4, 2))
    end)

    it("window, prefix, segments", function()
        assert.are.same(rows "1000\n1100\n0110\n0011", dense(mask.window(1), 4))
        assert.are.same(rows "110\n111\n011", dense(mask.window(1, 1), 3))
        assert.are.same(rows "1100\n1100\n1110\n1111", dense(mask.causal() | mask.prefix(2), 4))
        assert.are.same({ rows "11\n11", rows "10\n10" }, dense(mask.prefix { 2, 1 }, 2))
        assert.are.same(rows "100\n011\n011", dense(mask.segments { 1, 2, 2 }, 3))
        assert.are.same(rows "011", dense(mask.segments { 1, 2, 2 }, 1, 3))
    end)

    it("dilated counts from each query, both ways", function()
        assert.are.same(rows "1010\n0101\n1010\n0101", dense(mask.dilated(2), 4))
        assert.are.same(rows "10010\n01001", dense(mask.dilated(3), 2, 5))
        assert.are.same(rows "10\n01", dense(mask.dilated(math.maxinteger), 2))
        assert.are.same(rows "11\n11", dense(mask.dilated(1), 2))
    end)

    it("padding hides keys of each row", function()
        assert.are.same({ rows "10\n10", rows "11\n11" }, dense(mask.padding { 1, 2 }, 2))
        assert.are.same({ rows "10\n10", rows "10\n11" },
            dense(mask.padding { 1, 2 } & mask.causal(), 2))
        assert.are.same({ rows "10", rows "10" },
            dense(mask.padding { 1, 2 } & mask.padding { 2, 1 }, 1, 2))
    end)

    it("packed keeps sequences apart, and causality within them", function()
        assert.are.same(rows "110\n110\n001", dense(mask.packed { 2, 1 }, 3))
        assert.are.same(rows "100\n110\n001", dense(mask.packed { 2, 1 } & mask.causal(), 3))
        assert.are.same(rows "1000\n1100\n0010\n0011",
            dense(mask.packed({ 2, 0, 2 }, { 2, 0, 2 }) & mask.causal(), 4))
        assert.are.same(rows "11000\n11100\n00011",
            dense(mask.packed({ 2, 1 }, { 3, 2 }) & mask.causal(), 3, 5))
        assert.error_matches(function() return mask.packed { 1 } & mask.padding { 1 } end,
            "beside packed%(...%), which says all about lengths")
        assert.error_matches(function() mask.packed({ 1 }, { 1, 2 }) end, "one number a sequence")
        assert.error_matches(function() dense(mask.packed { 2, 1 }, 4) end,
            "add up to 4, the queries, got 3")
    end)

    it("compose with & | ~", function()
        assert.are.same(rows "011\n001\n000", dense(~mask.causal(), 3))
        assert.are.same(rows "111\n111\n111", dense(mask.causal() | ~mask.causal(), 3))
        assert.are.same(rows "000\n000\n000", dense(mask.causal() & ~mask.causal(), 3))
        assert.are.same(rows "10\n01",
            dense(mask.bool(heed.tensor { { 1, 0 }, { 1, 1 } }) & mask.window(0), 2))
        assert.are.same(rows "10\n01",
            dense(heed.tensor({ { true, false }, { true, true } }) & mask.window(0), 2))
    end)

    it("of a function", function()
        assert.are.same(rows "101\n010\n101", dense(mask.fn(function(p, j)
            return (p + j) % 2 == 0
        end), 3))
        local by_head = mask.fn(function(_, h, p, j) return h == 1 and p == j end,
            { over = "bhij" })
        assert.are.same({ rows "10\n01", rows "00\n00" }, dense(by_head, 2, 2, { heads = 2 })[1])
    end)

    it("biases add", function()
        local bias = mask.bias(heed.tensor { { 1.0, 2.0 }, { 3.0, 4.0 } })
        assert.are.same({ { 2.0, 4.0 }, { 6.0, 8.0 } }, dense(bias & bias, 2))
        assert.are.same({ { 1.0, -math.huge }, { 3.0, 4.0 } }, dense(bias & mask.causal(), 2))
    end)

    it("alibi falls with the distance", function()
        local by_head = { { { 0.0, -0.0625 }, { -0.0625, 0.0 } },
            { { 0.0, -0.00390625 }, { -0.00390625, 0.0 } } }
        assert.are.same({ by_head }, mask.alibi(2):dense(2):totable())
    end)

    it("alibi adds to alibi, and to a bias, of any shape", function()
        local one = mask.alibi(2):dense(3)
        assert.is_close((mask.alibi(2) & mask.alibi(2)):dense(3), one * 2, 0)
        assert.is_close((mask.alibi(2) & mask.bias(heed.ones(3, 3))):dense(3), one + 1, 0)
        local both = mask.bias(heed.ones(4, 1, 3)) & mask.bias(heed.ones(3, 3))
        assert.has_shape(both:dense(3), { 4, 3, 3 })
        local q = heed.randn({ 4, 2, 3, 5 }, { dtype = "f64" })
        assert.is_close(heed.attention(q, q, q, { mask = both & mask.alibi(2) }),
            heed.attention(q, q, q, { mask = mask.bias(one) }), 1e-7)
    end)

    it("| and ~ refuse a bias", function()
        local alibi = mask.alibi(2)
        assert.error_matches(function() return alibi | mask.causal() end,
            "heed.Mask: |: expected masks of booleans, got alibi%(2%), which adds a bias; & "
                .. "takes both")
        assert.error_matches(function() return ~alibi end,
            "heed.Mask: ~: expected masks of booleans")
        assert.error_matches(function() return mask.causal() & 5 end, "expected a mask")
        assert.error_matches(function() return mask.causal() & nil end,
            "^heed.Mask: expected two masks")
    end)

    it("reach as far as one says, and to the ends", function()
        local all = { { true, true }, { true, true } }
        assert.are.same(all, dense(mask.window(math.maxinteger, math.maxinteger), 2))
        assert.are.same({ { true, false }, { true, true } }, dense(mask.window(math.maxinteger), 2))
        assert.are.same({ { true, false }, { true, false } }, dense(mask.prefix(1.0), 2))
    end)

    it("are dense in the size that was asked for", function()
        assert.has_shape(mask.fn(function() return true end):dense(0, 3), { 0, 3 })
        assert.are.same({ { 1.0, 2.0 }, { 1.0, 2.0 } }, dense(mask.bias { { 1, 2 } }, 2))
        assert.error_matches(function() mask.bool({ { true, false } }):dense(5) end,
            "heed.Mask:dense: heed.mask.bool: t: expected 5 keys or 1 (axis 2), got [1, 2]", nil,
                true)
        assert.error_matches(function() mask.causal():dense(2, 2, { batch = "x" }) end,
            'batch: expected an integer .* got "x"')
    end)

    it("print", function()
        assert.are.equal("window(1, 0) & padding[2] & causal()",
            tostring(mask.window(1) & mask.padding { 1, 2 } & mask.causal()))
        assert.are.equal("causal() & dilated(2)", tostring(mask.causal() & mask.dilated(2)))
        assert.are.equal("(causal() | prefix(2)) & ~window(0, 0)",
            tostring((mask.causal() | mask.prefix(2)) & ~mask.window(0)))
        assert.are.equal("causal() & window(1, 0) | ~(prefix[2] & fn)",
            tostring(mask.causal() & mask.window(1) | ~(mask.prefix { 1, 2 } & mask.fn(print))))
        assert.are.equal("packed(2 sequences) & alibi(4) & bias[2, 2] & bool[1, 2, 2]",
            tostring(mask.packed { 1, 2 } & mask.alibi(4)
            & mask.bias(heed.zeros(2, 2)) & mask.bool(heed.ids { { { 1, 0 }, { 0, 1 } } })))
        assert.are.equal("segments[2] to [3] & fn(bhij)",
            tostring(mask.segments({ 1, 2 }, { 1, 1, 2 }) & mask.fn(print, { over = "bhij" })))
        assert.are.equal("■ ·\n■ ■", mask.causal():grid(2))
        assert.are.equal("row 1\n■ ■\nrow 2\n■ ·", mask.padding({ 2, 1 }):grid(1, 2))
        assert.are.equal("row 1, head 1\n■ ·\nrow 1, head 2\n· ■",
            mask.fn(function(_, h, _, j) return h == j end, { over = "bhij" }):grid(1, 2,
                { heads = 2 }))
        assert.are.equal("[[ true, false],\n [ true,  true]]\nbool [2, 2]",
            tostring(mask.causal():dense(2)))
    end)

    it("name the queries that see nothing", function()
        assert.are.same({}, mask.causal():empty_rows(3))
        assert.are.same({ 1, 2 }, mask.causal():empty_rows(4, 2))
        assert.are.same({ { 2, 1 }, { 2, 2 } }, mask.padding({ 1, 0 }):empty_rows(2))
        local one_head = mask.fn(function(_, h) return h == 1 end, { over = "bhij" })
        assert.are.same({ { 1, 2, 1 } }, one_head:empty_rows(1, 3, { heads = 2 }))
        assert.are.same({ 2 }, mask.bias({ { 0, 0 }, { -math.huge, -math.huge } }):empty_rows(2))
    end)

    it("keep what they made of tables, whatever scope that was in", function()
        local masks = {}
        do
            local _ <close> = heed.scope()
            masks[1] = mask.padding { 2 } & mask.alibi(1) & mask.alibi(1) & mask.segments { 1, 1,
                2 } & mask.prefix { 3 }
            masks[2] = mask.packed { 2, 1 } & mask.bool { { 1.0, 0, 1 } } & mask.bias { { 0.5, 1,
                2 } }
        end
        for _, m in ipairs(masks) do assert.has_shape(m:dense(3), { 3, 3 }) end
        local seen = heed.ones(3, 3):gt(0)
        local given = mask.bool(seen) & mask.causal()
        seen:free()
        assert.error_matches(function() given:dense(3) end,
            "heed.mask.bool: expected a tensor that is alive")
    end)

    it("of more steps than C takes are dense for as many heads as they tell apart", function()
        local many, seen = mask.fn(function(p, j) return (p + j) % 3 > 0 end, { over = "ij" }),
            heed.ones(3, 3):gt(0)
        for _ = 1, 40 do many = (many | mask.bool(~seen)) & mask.bool(seen) end
        local right = ~(~many | ~many)
        assert.is_true(right:dense(3, 3, { batch = 2, heads = 2 }):equal(many:dense(3)))
    end)

    it("teach on misuse", function()
        assert.error_matches(function() mask.window(-1) end,
            "left: expected an integer of at least 0, got %-1")
        assert.error_matches(function() mask.dilated(0) end,
            "heed.mask.dilated: step: expected an integer of at least 1, got 0")
        assert.error_matches(function() mask.padding { 1.5 } end,
            "mask.padding: lengths: expected a number that i64 can hold, got 1.5")
        assert.error_matches(function() mask.segments { "a" } end,
            'heed.mask.segments: ids: expected numbers at %[1%], got "a"')
        assert.error_matches(function() mask.bool { { 1 }, {} } end, "heed.mask.bool: t: ")
        assert.error_matches(function() mask.bias { { "a" } } end, "heed.mask.bias: t: ")
        assert.error_matches(function() mask.packed { math.maxinteger, 1 } end,
            "heed.mask.packed: query_lengths: their sum")
        assert.error_matches(function() mask.padding(heed.tensor { 1.0 }) end, "heed.ids")
        assert.error_matches(function() mask.bias(heed.ids { { 1 } }) end,
            "expected a tensor of floats")
        assert.error_matches(function() mask.bool(heed.ids { 1 }) end, "expected %[L, S%]")
        assert.error_matches(function() mask.fn(5) end, "f: expected a function")
    end)
end)

describe("masks in attention", function()
    it("causal", function()
        assert.are.same({ 1.0, 1.5, 2.0 }, average({ 1, 2, 3 }, 3, { mask = mask.causal() }))
        assert.are.same({ 2.5, 3.0 }, average({ 1, 2, 3, 4, 5 }, 2, { mask = mask.causal() }))
        assert.are.same({ 0.0, 0.0, 0.0, 1.0, 1.5 }, average({ 1, 2 }, 5, { mask = mask.causal() }))
        assert.are.same({ 4.5 }, average({ 1, 2, 3, 4, 5, 6, 7, 8 }, 1, { mask = mask.causal() }))
        local q, v = heed.zeros(3, 1), heed.tensor { { 1.0 }, { 2.0 }, { 3.0 } }
        local out, weights = heed.attention(q, q, v, { mask = mask.causal(), weights = true })
        assert.are.same({ 1.0, 1.5, 2.0 }, out:flatten():totable())
        assert.are.same({ 0.5, 0.5, 0.0 }, weights[2]:totable())
    end)

    it("tensors as masks: booleans and integers hide, floats are added", function()
        assert.are.same({ 1.0, 3.0 },
            average({ 1, 3 }, 2, { mask = heed.ids { { 1, 0 }, { 0, 1 } } }))
        local hidden = average({ 1, 3 }, 1, { mask = heed.tensor { { 0.0, -math.huge } } })
        assert.are.same({ 1.0 }, hidden)
        local added = average({ 0, 1 }, 1, { mask = heed.tensor { { 0.0, 1.0 } } })[1]
        assert.is_true(math.abs(added - 1 / (1 + math.exp(-1))) < 1e-6)
    end)

    it("a query that sees nothing gives zeros, with finite gradients", function()
        local q = heed.zeros({ 2, 1 }, { requires_grad = true })
        local v = heed.tensor({ { 1, 2 }, { 3, 4 } }, { dtype = "f32", requires_grad = true })
        local out = heed.attention(q, q, v, { mask = heed.ids { { 1, 0 }, { 0, 0 } } })
        assert.are.same({ { 1.0, 2.0 }, { 0.0, 0.0 } }, out:totable())
        out:sum():backward()
        assert.are.same({ { 1.0, 1.0 }, { 0.0, 0.0 } }, v.grad:totable())
        assert.is_true(heed.isfinite(q.grad):all())
    end)

    it("booleans and biases together never make NaN", function()
        local both = mask.padding { 1 } & mask.bias(heed.full({ 2, 2 }, -math.huge))
        local out = heed.attention(heed.zeros(1, 2, 1), heed.zeros(1, 2, 1), heed.ones(1, 2, 1),
            { mask = both })
        assert.are.same({ 0.0, 0.0 }, out:flatten():totable())
        local huge = mask.bias(heed.full({ 2, 2 }, -1e38)) & mask.bias(heed.full({ 2, 2 }, -3e38))
        out = heed.attention(heed.zeros(2, 1), heed.zeros(2, 1), heed.ones(2, 1), { mask = huge })
        assert.is_true(heed.isfinite(out):all())
    end)

    it("what is hidden does not leak, NaN least", function()
        local nan = 0 / 0
        local k = heed.tensor { { 0.0 }, { nan } }
        local v, seen = heed.tensor { { 5.0 }, { nan } }, heed.ids { { 1, 0 }, { 1, 0 } }
        local out = heed.attention(heed.zeros(2, 1), k, v, { mask = seen })
        assert.are.same({ 5.0, 5.0 }, out:flatten():totable())
    end)

    it("windows, segments and prefixes", function()
        assert.are.same({ 1.0, 1.5, 2.5, 3.5 },
            average({ 1, 2, 3, 4 }, 4, { mask = mask.window(1) }))
        assert.are.same({ 1.0, 2.5, 2.5 },
            average({ 1, 2, 3 }, 3, { mask = mask.segments { 7, 8, 8 } }))
        assert.are.same({ 1.5, 1.5, 2.0 },
            average({ 1, 2, 3 }, 3, { mask = mask.causal() | mask.prefix(2) }))
    end)

    it("packed sequences are as each alone, and as their dense mask", function()
        local m = mask.packed({ 2, 1 }, { 3, 2 }) & mask.causal()
        local values = { 1.0, 2.0, 3.0, 4.0, 5.0 }
        assert.are.same({ 1.5, 2.0, 4.5 }, average(values, 3, { mask = m }))
        assert.are.same({ 1.5, 2.0, 4.5 }, average(values, 3, { mask = m:dense(3, 5) }))
        assert.are.same({ 1.5, 2.5, 4.5 }, average(values, 3, { mask = m & mask.window(1) }))
        assert.error_matches(function() average(values, 3, { mask = mask.packed { 3 } }) end,
            "expected lengths that add up to 5, the keys, got 3")
    end)

    it("heads may differ", function()
        local by_head = mask.fn(function(_, h, _, j) return h == j end, { over = "bhij" })
        local v = heed.tensor { { { { 1.0 }, { 2.0 } }, { { 1.0 }, { 2.0 } } } }
        local out = heed.attention(heed.zeros(1, 2, 1, 1), heed.zeros(1, 2, 2, 1), v,
            { mask = by_head })
        assert.are.same({ 1.0, 2.0 }, out:flatten():totable())
    end)
end)

describe("a mask of two dimensions that may be padding", function()
    local function padding(lengths, S)
        return heed.range(1, S or #lengths):view(1, -1):le(heed.ids(lengths):view(-1, 1))
    end
    local function attend(given, B, L, S)
        local q, k = heed.ones(B or 3, 1, L or 3, 2), heed.ones(B or 3, 1, S or 3, 2)
        return heed.attention(q, k, k, { mask = given })
    end
    local REFUSED = "got %[3, 3%], in whose rows padding seems to end sentences; padding is "
        .. "heed.mask.padding"

    it("is refused when its rows are those of sentences", function()
        local hidden = heed.zeros(3, 3):masked_fill(padding({ 3, 1, 2 }):logical_not(), -math.huge)
        for _, given in ipairs { padding { 3, 1, 2 }, padding { 3, 2, 1 },
            padding({ 3, 1, 2 }):to "i64", hidden,
            hidden:to "bf16", padding({ 1, 2, 3 }):flip(2), padding({ 1, 3, 2 }):flip(2) } do
            assert.error_matches(function() attend(given) end, REFUSED)
        end
        assert.error_matches(function() attend(mask.bool(padding { 3, 1, 2 }) & mask.causal()) end,
            REFUSED)
        assert.error_matches(function()
            local x = heed.ones(3, 3, 4)
            heed.nn.MultiHeadAttention(4, 2)(x, x, x, { mask = padding { 3, 1, 2 } })
        end, REFUSED)
        assert.error_matches(function() attend(padding({ 3, 1, 2 }, 5), 3, 4, 5) end,
            "expected 4 queries or 1 %(axis 1%), got %[3, 5%]; padding is "
                .. "heed.mask.padding%(lengths%)")
    end)

    it("is taken when it is by queries, and where it says so", function()
        for _, given in ipairs { heed.ones(3, 3):tril():gt(0), heed.ones(3, 3):triu():gt(0),
            heed.ones(3, 3):gt(0),
            heed.zeros(3, 3):gt(0), heed.eye(3):gt(0), padding { 2, 2, 2 }, padding { 1, 1, 3 },
                padding { 2, 2, 0 }, heed.randn(3, 3),
            mask.window(1):dense(3), (mask.causal() | mask.prefix(2)):dense(3),
                padding({ 3, 1, 2 }):unsqueeze(1),
            padding({ 3, 1, 2 }):view(3, 1, 1, 3), mask.padding { 3, 1, 2 } } do
            assert.are.equal(3, attend(given):size(3))
        end
        assert.are.equal(3, attend(padding({ 3, 1, 2 }), 1):size(3))
        assert.are.equal(3, attend(padding({ 3, 1, 2 }), 2):size(3))
    end)

    it("grow by what is said, and not without end", function()
        local m = heed.mask.causal()
        for _ = 1, 60 do m = m | m end
        assert.is_true(m:dense(4, 4):equal(heed.mask.causal():dense(4, 4)))
        assert.has_error(function()
            for _ = 1, 60 do m = (m | heed.mask.window(1, 0)) & m end
        end, "heed.Mask: expected a mask of at most 10000 parts; "
            .. "heed.mask.bool(m:dense(L, S)) makes one of it")
    end)
end)
