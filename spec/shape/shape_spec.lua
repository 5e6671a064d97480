-- What the registry cannot say of operations on shapes: views, memory, arguments and messages.

local heed = require "heed"

describe("shapes", function()
    local t
    before_each(function() t = heed.range(1, 6):view(2, 3) end)

    it("are views where the documentation says so", function()
        local views = {
            t:diagonal(), t:narrow(2, 2, 1), t:select(1, 2), t:split(2, 2)[2], t:chunk(2, 2)[1],
                t:unbind(2)[3], t:unsqueeze(1),
            t:unsqueeze(1):squeeze({ 1 }), t:t(), t:permute(2, 1), t:expand(2, 2, 3), t:flatten(),
                t:reshape(3, 2), t[{ {}, { 2, 3 } }],
        }
        for i, view in ipairs(views) do assert.equal(t:data_id(), view:data_id(), i) end
    end)

    it("are copies where it says so", function()
        local copies = {
            t:flip(1), t:roll(1), t:roll(0, 1), t:tile(1), t:tile(2), t:pad(0, 0), t:pad(1, 1),
                t:pad({ 0, 0 }, { mode = "reflect" }),
            t:scatter_add(1, { { 1 } }, heed.ones(1, 1)), t:index_add(1, { 1 }, heed.ones(1, 3)),
                t:masked_select(t:gt(0)), t:clone(),
            t[heed.ids { 1, 2 }], t[{ {}, heed.ids { 1 } }],
        }
        for i, copy in ipairs(copies) do
            assert.not_equal(t:data_id(), copy:data_id(), i)
            assert.is_true(copy:is_contiguous(), i)
        end
    end)

    it("are copies when one element is repeated too", function()
        for _, case in ipairs { { { 1 }, { 3 } }, { { 1, 3 }, { 2, 1 } }, { { 1, 3 }, { 2, 2 } },
            { {}, { 4 } }, { { 2, 1 }, { 1, 3 } } } do
            local x = heed.ones(case[1], { requires_grad = true })
            local y = x:tile(case[2])
            assert.is_true(y:is_contiguous())
            assert.not_equal(x:data_id(), y:data_id())
            y:mul_(2):sum():backward()
            assert.equal(2.0 * y:numel() / x:numel(), x.grad:mean():item())
        end
    end)

    it("computed in several steps can be written to like any result", function()
        local x = heed.ones(2, 3, { requires_grad = true })
        for _, y in ipairs { x:tile(2), x:roll(1), heed.einsum("ij,kj->ki", x, x),
            x[{ {}, heed.ids { 1 } }] } do
            y:mul_(2)
        end
    end)

    it("writes 0 for parts that nobody used, whatever the memory held", function()
        local function dirty() heed.full({ 6, 512 }, 0 / 0):free() end
        for _, parts in ipairs { "split", "unbind", "chunk" } do
            local x = heed.ones(6, 512, { requires_grad = true })
            local list = x[parts](x, parts ~= "unbind" and 2 or 1)
            local total = list[2]:sum()
            dirty()
            total:backward()
            assert.equal(list[2]:numel(), x.grad:sum():item())
        end
    end)

    it("adds up what several uses of one part give", function()
        local x = heed.ones(4, { requires_grad = true })
        local a, b = table.unpack(x:split(2));
        (a * 2 + a * 3 + b[{ { 1 } }]:expand(2)):sum():backward()
        assert.same({ 5, 5, 2, 0 }, x.grad:totable())
    end)

    it("makes parts of parts, and goes twice when asked to", function()
        local x = heed.range(1, 8, { requires_grad = true })
        local y = (x:chunk(2)[2]:chunk(2)[1] * x:chunk(2)[1]:chunk(2)[2]):sum()
        y:backward(nil, { retain = true })
        y:backward()
        assert.same({ 0, 0, 10, 12, 6, 8, 0, 0 }, x.grad:totable())
    end)

    it("sums repeated indices in place of what is read at the same time", function()
        local x = heed.tensor { 1, 2, 3 }
        x:index_add_(1, { 1, 1, 2 }, x)
        assert.same({ 4, 5, 3 }, x:totable())
        local ids = heed.ids { 2, 1, 2 }
        ids:scatter_add_(1, ids, ids)
        assert.same({ 3, 5, 2 }, ids:totable())
        local columns = heed.zeros(3, 2):t()
        columns:index_add_(2, { 3, 3 }, heed.ones(2, 2))
        assert.same({ { 0, 0, 2 }, { 0, 0, 2 } }, columns:totable())
    end)

    it("keeps the graph when it adds in place", function()
        local x, src = heed.ones(3, { requires_grad = true }),
            heed.ones(2, { requires_grad = true })
        local y = x * 2
        y:index_add_(1, { 1, 1 }, src * 3)
        y:scatter_add_(1, { 2 }, src)
        assert.same({ 8, 3, 2 }, y:totable());
        (y * heed.tensor { 1, 10, 100 }):sum():backward()
        assert.same({ 2, 20, 200 }, x.grad:totable())
        assert.same({ 13, 3 }, src.grad:totable())
        assert.error_matches(function() x:index_add_(1, { 1 }, heed.ones(1)) end,
            "heed.index_add_: .*leaf")
    end)
end)

describe("arguments that would be passed over", function()
    local t, ids = heed.zeros(2, 3), heed.ids { { 1, 1, 1 } }
    local calls = {
        view = { t, { 3, 2 } }, reshape = { t, { 3, 2 } }, expand = { t, { 2, 3 } },
            flatten = { t, 1, 2 }, squeeze = { t, 1 },
        unsqueeze = { t, 1 }, transpose = { t, 1, 2 }, t = { t }, permute = { t, { 1, 2 } },
            flip = { t, { 1 } }, roll = { t, 1, 1 },
        tile = { t, { 2, 2 } }, pad = { t, { 1, 1 } }, diagonal = { t, 0, 1, 2 },
            narrow = { t, 1, 1, 1 }, select = { t, 1, 1 },
        split = { t, 1, 1 }, chunk = { t, 2, 1 }, unbind = { t, 1 }, cat = { { t, t }, 1 },
            stack = { { t, t }, 1 }, gather = { t, 1, ids },
        scatter_add = { t, 1, ids, heed.zeros(1, 3) },
            scatter_add_ = { t, 1, ids, heed.zeros(1, 3) }, index_select = { t, 1, { 1 } },
        index_add = { t, 1, { 1 }, heed.zeros(1, 3) },
            index_add_ = { t, 1, { 1 }, heed.zeros(1, 3) }, masked_select = { t, t:eq(0) },
        one_hot = { heed.ids { 1 }, 2 }, contiguous = { t }, clone = { t }, to = { t, "f64" },
            einsum = { "ij->i", { t } },
        outer = { heed.zeros(2), heed.zeros(2) }, nonzero = { t },
    }
    for name, arguments in pairs(calls) do
        it("are an error of heed." .. name, function()
            local n = #arguments
            assert.has_no_error(function() heed[name](table.unpack(arguments)) end)
            assert.has_no_error(function()
                heed[name](table.unpack(arguments, 1, n + 1))
            end) -- nil is none
            local ok, message = pcall(heed[name], table.unpack(arguments, 1, n), 7)
            if n > 1 then
                arguments[n + 1] = 7
                ok, message = pcall(heed[name], table.unpack(arguments))
                arguments[n + 1] = nil
            end
            assert.is_false(ok)
            assert.matches("heed%." .. name .. ": .*7", message)
        end)
    end
end)

describe("misuse of shapes says what was expected:", function()
    local t = heed.range(1, 12):view(3, 4)
    local cases = {
        { "roll: dims: expected a dimension for each of 2 shifts, got nil", function()
            t:roll { 1, 2 }
        end },
        { "roll: dims: expected a dimension for each of 2 shifts, got 1", function()
            t:roll({ 1, 2 }, 1)
        end },
        { "roll: dims: expected a dimension 1..2 or -2..-1, got 3", function() t:roll(1, 3) end },
        { "roll: shifts: expected an integer, got 1.5", function() t:roll(1.5) end },
        { "tile: counts: expected numbers or one table, got nil", function() t:tile() end },
        { "tile: counts: expected 0 or more, got -1 at position 2", function() t:tile(1, -1) end },
        { "tile: counts: the result would be too large", function() t:tile(1 << 62, 1) end },
        { "pad: amounts: expected numbers", function() t:pad() end,
            "amounts as numbers or one table, got nil" },
        { "pad: amounts: expected two amounts a dimension (before and after), got 3", function()
            t:pad(1, 1, 1)
        end },
        { "pad: amounts: expected at most 4, got 6", function() t:pad(1, 1, 1, 1, 1, 1) end },
        { "pad: amounts: expected at most 3 at an end of dimension 2 of size 4, got 4",
            function() t:pad({ 4, 0 }, { mode = "reflect" }) end },
        { "pad: amounts: expected at most 4 at an end of dimension 2 of size 4, got 5",
            function() t:pad({ 0, 5 }, { mode = "circular" }) end },
        { "pad: amounts: dimension 1 is empty: there is nothing to repeat",
            function() heed.zeros(0):pad({ 1, 0 }, { mode = "replicate" }) end },
        { "pad: amounts: dimension 2 of size 4 cannot become longer by -3 and -2", function()
            t:pad(-3, -2)
        end },
        { 'pad: mode: expected "constant", "reflect", "replicate" or "circular", got "wrap"',
            function() t:pad({ 1, 1 }, { mode = "wrap" }) end },
        { 'pad: value: only the mode "constant" takes one', function()
            t:pad({ 1, 1 }, { mode = "reflect", value = 1 })
        end },
        { "pad: value: expected a number that i64 can hold, got 0.5", function()
            t:to "i64":pad({ 1, 1 }, { value = 0.5 })
        end },
        { "diagonal: t: expected 2 dimensions or more, got shape [3]", function()
            heed.zeros(3):diagonal()
        end },
        { "diagonal: dim2: expected another dimension than dim1, got 2 twice", function()
            t:diagonal(0, 2, 2)
        end },
        { "scatter_add: index: expected values in 1..3, got 4 at position 2",
            function() t:scatter_add(1, { { 1, 4 } }, heed.zeros(1, 2)) end },
        { "scatter_add: index: expected a shape that fits into [3, 4] in all dimensions but 1, "
            .. "got [1, 5]",
            function() t:scatter_add(1, heed.ones(1, 5):to "i64", heed.zeros(1, 5)) end },
        { "scatter_add: src: expected at least the index' shape [1, 2], got [1, 1]",
            function() t:scatter_add(1, { { 1, 1 } }, heed.zeros(1, 1)) end },
        { "scatter_add: src: expected f32 as the tensor it is added to, got f64",
            function() t:scatter_add(1, { { 1 } }, heed.zeros(1, 1, { dtype = "f64" })) end },
        { "index_add: index: expected a vector, got [1, 1]", function()
            t:index_add(1, { { 1 } }, heed.zeros(1, 4))
        end },
        { "index_add: src: expected the shape [3, 4] with 2 in dimension 1, got [1, 4]",
            function() t:index_add(1, { 1, 1 }, heed.zeros(1, 4)) end },
        { "index_add: src: expected a tensor, got nil", function() t:index_add(1, { 1 }) end },
        { "outer: b: expected a vector, got shape [3, 4]", function() heed.zeros(2):outer(t) end },
        { "split: sizes: expected sizes that add up to 4, they give 3", function()
            t:split({ 1, 2 }, 2)
        end },
        { "einsum: equation: expected a string such as", function() heed.einsum(t) end },
        { 'einsum: equation: expected a letter, "...", \',\' or "->", got \'1\' at position 2 of '
            .. '"i1,jk"',
            function() heed.einsum("i1,jk", t, t) end },
        { 'einsum: equation: expected one "...", got \'.\' at position 3 of "i..j"', function()
            heed.einsum("i..j", t)
        end,
            'expected one "..."' },
        { "einsum: equation: expected '>' after '-', got 'i' at position 4 of \"ij-i\"", function()
            heed.einsum("ij-i", t)
        end },
        { 'einsum: equation: expected letters of the operands behind "->", got \'k\' at position '
            .. '5 of "ij->k"',
            function() heed.einsum("ij->k", t) end },
        { 'einsum: equation: expected each letter once behind "->", got \'i\' at position 6 of '
            .. '"ij->ii"',
            function() heed.einsum("ij->ii", t) end },
        { "einsum: equation: \"ij\" has letters for 1 operands, got 2 tensors", function()
            heed.einsum("ij", t, t)
        end },
        { "einsum: equation: \"ij,jk\" has letters for more operands than the 1 tensors", function()
            heed.einsum("ij,jk", t)
        end },
        { "einsum: operand 2: expected 1 dimensions as the equation says, got [3, 4]", function()
            heed.einsum("ij,j", t, t)
        end },
        { "einsum: 'j' is 4 in operand 1, [3, 4], and 3 in operand 2, [3, 4]", function()
            heed.einsum("ij,jk->ik", t, t)
        end },
        { "einsum: operand 1: letter 'i' names dimensions 1 and 2 of different sizes, 3 and 4",
            function()
            heed.einsum("ii", t)
        end },
        { 'einsum: "..." is 4 in operand 1, [3, 4], and 3 in operand 2, [3]',
            function() heed.einsum("...,...", t, heed.zeros(3)) end },
        { "einsum: equation: a product on the way would have 10 dimensions, at most 8 are possible",
            function()
                heed.einsum("abcde,fghij", heed.zeros(1, 1, 1, 1, 1), heed.zeros(1, 1, 1, 1, 1))
            end },
    }
    for _, case in ipairs(cases) do
        it(case[1], function()
            local ok, message = pcall(case[2])
            assert.is_false(ok)
            local at = message:find("heed." .. (case[3] and case[1]:match "^[^:]*: [^:]*: "
                or case[1]), 1, true)
            assert(at and (not case[3] or message:find(case[3], 1, true)), message)
        end)
    end
end)
