local heed = require "heed"

local function examples(count)
    local list = {}
    for i = 1, count do
        local source, target = {}, {}
        for j = 1, i * 7 % 11 + 1 do source[j] = i end
        for j = 1, i * 5 % 13 + 1 do target[j] = i end
        list[i] = { source, target }
    end
    return list
end

local function one_pass(batches)
    local list = {}
    for batch in batches do list[#list + 1] = batch end
    return list
end

local function indices(batches)
    local list = {}
    for _, batch in ipairs(one_pass(batches)) do
        table.move(batch.indices, 1, #batch.indices, #list + 1, list)
    end
    return list
end

describe("data.batches", function()
    it("pads, and tells the lengths", function()
        local batch = heed.data.batches({ { { 5, 6 }, { 7 } }, { { 8 }, { 9, 9, 9 } } },
            { size = 2 })()
        assert.are.same({ { 5, 6 }, { 8, 1 } }, batch[1]:totable())
        assert.are.same({ { 7, 1, 1 }, { 9, 9, 9 } }, batch[2]:totable())
        assert.are.same({ 2, 1 }, batch.lengths[1]:totable())
        assert.are.same({ 1, 3 }, batch.lengths[2]:totable())
        assert.are.equal("i64", batch[1].dtype)
        assert.are.equal(2, batch.size)
    end)

    it("takes examples with names, and single lists", function()
        local batch = heed.data.batches({ { src = { 5 }, tgt = { 6, 7 } } },
            { size = 1, value = 0 })()
        assert.are.same({ { 6, 7 } }, batch.tgt:totable())
        assert.are.same({ 1 }, batch.src_lengths:totable())
        batch = heed.data.batches({ { 5 }, { 6, 7 } }, { size = 2, value = 0 })()
        assert.are.same({ { 5, 0 }, { 6, 7 } }, batch[1]:totable())
    end)

    it("gives every example once a pass, the last batch short", function()
        local batches = heed.data.batches(examples(25), { size = 10 })
        assert.are.equal(3, #batches)
        local seen = indices(batches)
        local want = {}
        for i = 1, 25 do want[i] = i end
        assert.are.same(want, seen)
        assert.are.equal(2, batches.epoch)
    end)

    it("shuffles by its seed, each pass anew, apart from the model's random numbers", function()
        heed.manual_seed(1)
        local a = heed.data.batches(examples(40), { size = 8, shuffle = true, seed = 3 })
        local first, second = indices(a), indices(a)
        heed.manual_seed(2)
        local b = heed.data.batches(examples(40), { size = 8, shuffle = true, seed = 3 })
        assert.are.same(first, indices(b))
        assert.are_not.same(first, second)
        local c = heed.data.batches(examples(40), { size = 8, shuffle = true, seed = 4 })
        assert.are_not.same(first, indices(c))
        table.sort(first)
        for i = 1, 40 do assert.are.equal(i, first[i]) end
    end)

    it("keeps to so many tokens, padding counted", function()
        local batches = heed.data.batches(examples(60), { tokens = 40, shuffle = true })
        local cells, real, count = 0, 0, 0
        for _, batch in ipairs(one_pass(batches)) do
            local longest = math.max(batch[1]:size(2), batch[2]:size(2))
            assert.is_true(longest * batch.size <= 40 or batch.size == 1)
            cells = cells + batch[2]:numel()
            real = real + batches:count(batch.lengths[2])
            count = count + batch.size
        end
        assert.are.equal(60, count)
        assert.is_true(real / cells > 0.6, "bucketing leaves little padding")
    end)

    it("an example longer than the tokens is a batch of its own", function()
        local batches = heed.data.batches({ { { 1, 1, 1, 1 } }, { { 1 } }, { { 1 } } },
            { tokens = 2, bucket = false })
        local sizes = {}
        for batch in batches do sizes[#sizes + 1] = batch.size end
        assert.are.same({ 1, 2 }, sizes)
    end)

    it("goes on in the middle of a pass", function()
        local options = { tokens = 50, shuffle = true, seed = 9 }
        local a, b = heed.data.batches(examples(80), options),
            heed.data.batches(examples(80), options)
        local forever = a:forever()
        for _ = 1, #a + 3 do forever() end
        b:load_state_dict(a:state_dict())
        assert.are.equal(2, b.epoch)
        for _ = 1, 2 * #a do
            local x, y = a(), b()
            assert.are.same(x and x.indices, y and y.indices)
        end
    end)

    it("after a break the next loop is the next pass, and calls by hand go on", function()
        local batches = heed.data.batches(examples(20), { size = 5, shuffle = true })
        local first
        for batch in batches do -- luacheck: ignore 512
            first = batch.indices
            break
        end
        local rest = one_pass(batches)
        assert.are.equal(4, #rest)
        assert.are.equal(3, batches.epoch)
        assert.are_not.same(first, rest[1].indices)
        batches()
        assert.are.equal(1, batches.position)
        assert.are.equal(3, #one_pass(batches), "what a call by hand began, a loop ends")
        for _ in batches do break end -- luacheck: ignore 512
        batches:load_state_dict(batches:state_dict())
        assert.are.equal(3, #one_pass(batches), "a state in the middle of a pass goes on there")
    end)

    it("takes an empty example wherever it stands", function()
        local batch = heed.data.batches({ {}, { 5, 6 } }, { size = 2, value = 0 })()
        assert.are.same({ { 0, 0 }, { 5, 6 } }, batch[1]:totable())
        assert.are.same({ 0, 2 }, batch.lengths[1]:totable())
        batch = heed.data.batches({ { {}, {} }, { { 5 }, { 6, 7 } } }, { size = 2, value = 0 })()
        assert.are.same({ 0, 1 }, batch.lengths[1]:totable())
        assert.are.equal("[2, 0]", tostring(heed.data.batches({ {}, {} }, { size = 2 })()[1].shape))
    end)

    it("gives numbers as [B], floats as f32 in every batch, texts as a list, tensors stacked",
        function()
        local list = {
            { text = { 5, 2 }, label = 3, weight = 1, name = "a", image = heed.ones(2),
                seen = true },
            { text = { 5 }, label = 4, weight = 0.5, name = "b", image = heed.zeros(2),
                seen = false },
        }
        local batches = heed.data.batches(list, { size = 1 })
        local batch = batches()
        assert.are.same({ "i64", "f32", "f32" }, { batch.label.dtype, batch.weight.dtype,
            batch.image.dtype })
        assert.are.same({ { 3 }, { 1 }, { "a" }, { true } },
            { batch.label:totable(), batch.weight:totable(), batch.name, batch.seen:totable() })
        assert.are.equal("[1, 2]", tostring(batch.image.shape))
        assert.is_nil(batch.label_lengths)
        batch = heed.data.batches({ { { 0.5, 1 } }, { { 2 } } }, { size = 2 })()
        assert.are.same({ { 0.5, 1 }, { 2, 0 } }, batch[1]:totable())
        assert.error_matches(function()
            heed.data.batches({ { a = 1, b = { 2 } }, { a = { 1 }, b = { 2 } } }, { size = 2 })()
        end, "examples%[2%]: expected field a: a number as the batch's others, got a table")
        assert.error_matches(function()
            heed.data.batches({ { a = 1 }, { b = 1 } }, { size = 2 })()
        end,
            "examples%[2%]: expected a list of numbers as a, got nil")
    end)

    it("takes tensors, whose rows are examples", function()
        local x, y = heed.range(1, 6):view(3, 2), heed.ids { 7, 8, 9 }
        local batches = heed.data.batches({ x = x, y = y }, { size = 2 })
        assert.are.equal(2, #batches)
        local batch = batches()
        assert.are.same({ { { 1, 2 }, { 3, 4 } }, { 7, 8 }, 2 },
            { batch.x:totable(), batch.y:totable(), batch.size })
        local seen = {}
        for part in heed.data.batches({ x, y }, { size = 2, shuffle = true }) do
            for i = 1, part.size do
                assert.are.equal(part[2][i], part[1][i][2] // 2 + 6)
                seen[#seen + 1] = part[2][i]
            end
        end
        table.sort(seen)
        assert.are.same({ 7, 8, 9 }, seen)
        assert.error_matches(function()
            heed.data.batches({ x = x, y = heed.ids { 1 } }, { size = 2 })
        end,
            "examples.y: expected 3 rows as examples.x has, got %[1%]")
        assert.error_matches(function() heed.data.batches({ heed.zeros(0, 2) }, { size = 2 }) end,
            "0 batches")
    end)

    it("refuses the state of other batches", function()
        local saved = heed.data.batches(examples(20), { size = 5 }):state_dict()
        local _, message = heed.data.batches(examples(20), { size = 4 }):check_state_dict(saved)
        assert.are.equal("the state is of batches with size = 5, these have 4", message)
        assert.is_nil(heed.data.batches(examples(20), { tokens = 5 }):check_state_dict(saved))
        assert.is_nil(heed.data.batches(examples(20),
            { size = 5, shuffle = true }):check_state_dict(saved))
        assert.is_true(heed.data.batches(examples(20), { size = 5 }):check_state_dict(saved))
        assert.is_true(heed.data.batches(examples(20), { size = 5 }):check_state_dict {
            seed = 1, epoch = 1, position = 0, examples = 20,
        })
    end)

    it("says when a split has 0 batches", function()
        assert.error_matches(function() heed.data.batches({}, { size = 4 }) end,
            "the split has 0 batches")
        assert.error_matches(function()
            heed.data.batches(examples(3), { size = 4, drop_last = true })
        end,
            "the split has 0 batches: its 3 examples are fewer than one batch of 4")
    end)

    it("teaches on misuse", function()
        assert.error_matches(function() heed.data.batches(examples(3), {}) end,
            "either size .* or tokens")
        assert.error_matches(function() heed.data.batches(examples(3), { size = 2.5 }) end,
            "size: expected an integer")
        assert.error_matches(function() heed.data.batches({ "a" }, { size = 1 }) end,
            "expected a table, got \"a\"")
        assert.error_matches(function() heed.data.batches({ { 1, "x" } }, { size = 1 })() end,
            "expected a number, got \"x\"")
        local batches = heed.data.batches(examples(3), { size = 1 })
        assert.error_matches(function()
            batches:load_state_dict { seed = 1, epoch = 1, position = 0, examples = 4 }
        end,
            "the state is of 4 examples, here are 3")
        assert.has_error(function() batches:load_state_dict {} end)
    end)
end)

describe("data.pad", function()
    it("makes one tensor and lengths", function()
        local padded, lengths = heed.data.pad({ { 3 }, {}, { 4, 5 } }, { value = 0 })
        assert.are.same({ { 3, 0 }, { 0, 0 }, { 4, 5 } }, padded:totable())
        assert.are.same({ 1, 0, 2 }, lengths:totable())
        local long = {}
        for i = 1, 300 do long[i] = i end
        assert.are.same({ long }, (heed.data.pad { long }):totable())
    end)
end)
