--- data.tokens: windows of a file of token ids, in order or drawn, resumed exactly, and what
--- becomes of them when the file changes.

local data = require "heed.data"
local files = require "spec.data.files"
local heed = require "heed"

-- A file of the ids 0, 1, ... count - 1.
local function file_of(count, dtype)
    return files.write(heed.range(0, count - 1, 1, { dtype = "i64" }):to(dtype or "u16"):bytes())
end

local function tokens_of(count, options, dtype)
    return assert(data.tokens(file_of(count, dtype), options))
end

local function listed(iterator)
    local list = {}
    for x, y in iterator do list[#list + 1] = { x:totable(), y:totable() } end
    return list
end

-- So many batches, the ends of passes as "end".
local function take(iterator, count)
    local list = {}
    for i = 1, count do
        local x, y = iterator()
        list[i] = x == nil and "end" or { x:totable(), y:totable() }
    end
    return list
end

describe("data.tokens", function()
    teardown(files.remove)

    it("gives windows in order, each begins at the last target of the one before", function()
        local tokens = tokens_of(10, { window = 3, batch = 2, shuffle = false })
        assert.are.equal(2, #tokens)
        assert.are.same({
            { { { 1, 2, 3 }, { 4, 5, 6 } }, { { 2, 3, 4 }, { 5, 6, 7 } } },
            { { { 7, 8, 9 } }, { { 8, 9, 10 } } },
        }, listed(tokens))
        assert.are.equal(2, tokens.epoch)
        assert.are.equal(4, #listed(tokens_of(9, { window = 2, batch = 1, shuffle = false })))
        assert.are.equal(3, #listed(tokens_of(8, { window = 2, batch = 1, shuffle = false })))
    end)

    it("gives tensors of i64 that lie contiguous, targets one further", function()
        for x, y in tokens_of(100, { window = 7, batch = 3 }) do
            assert.are.equal("i64", x.dtype)
            assert.are.equal("i64", y.dtype)
            assert.are.equal("[3, 7]", tostring(x.shape))
            assert.is_true(x:is_contiguous() and y:is_contiguous())
            assert.is_true(heed.equal(x + 1, y))
        end
    end)

    it("draws windows that begin anywhere, by the seed", function()
        local function beginnings(seed, passes)
            local tokens, counts = tokens_of(50, { window = 8, batch = 4, seed = seed }), {}
            for _ = 1, passes do
                assert.are.equal(1, #tokens)
                for x in tokens do
                    for b = 1, 4 do counts[#counts + 1] = x[b][1] end
                end
            end
            return counts
        end
        local seen, drawn = {}, beginnings(1, 400)
        for _, first in ipairs(drawn) do seen[first] = (seen[first] or 0) + 1 end
        -- 1600 draws of the 42 places at which a window fits: some 38 of each
        for first = 1, 42 do
            assert(seen[first] and seen[first] > 10 and seen[first] < 80, first)
        end
        assert.are.equal(42, #seen)
        assert.are.same(drawn, beginnings(1, 400))
        local other, shifted, same = beginnings(2, 400), 0, 0
        for i = 1, #drawn do
            same = same + (drawn[i] == other[i] and 1 or 0)
            shifted = shifted + (drawn[i + 1] == other[i] and 1 or 0)
        end
        assert.is_true(same < 120 and shifted < 120) -- of another seed nothing is the same
    end)

    it("does not draw from the training stream", function()
        local before = heed.rng_state():totable()
        listed(tokens_of(100, { window = 7, batch = 3 }))
        assert.are.same(before, heed.rng_state():totable())
    end)

    it("reads every dtype, and adds the offset", function()
        for _, dtype in ipairs { "u16", "u32", "i32", "i64", "i16", "u8", "i8" } do
            local options = { window = 4, batch = 1, shuffle = false, dtype = dtype }
            assert.are.same({ { 1, 2, 3, 4 } }, tokens_of(20, options, dtype)():totable())
            options.offset = 0
            assert.are.same({ { 0, 1, 2, 3 } }, tokens_of(20, options, dtype)():totable())
        end
        local path = files.write(heed.tensor({ 65535, 50256, 0 }, { dtype = "u16" }):bytes())
        local x, y = assert(data.tokens(path, { window = 2, batch = 1 }))()
        assert.are.same({ { 65536, 50257 } }, x:totable())
        assert.are.same({ { 50257, 1 } }, y:totable())
        path = files.write(heed.tensor({ 4294967295, 0 }, { dtype = "u32" }):bytes())
        x = assert(data.tokens(path, { window = 1, batch = 1, dtype = "u32" }))()
        assert.are.same({ { 4294967296 } }, x:totable())
    end)

    it("goes on where its state was taken", function()
        for _, shuffle in ipairs { true, false } do
            local options = { window = 5, batch = 4, shuffle = shuffle, seed = -3 }
            local path = file_of(213)
            local whole = take(assert(data.tokens(path, options)), 60)
            for _, done in ipairs { 0, 1, 9, 10, 11, 25 } do
                local tokens = assert(data.tokens(path, options))
                take(tokens, done)
                local saved = tokens:state_dict()
                options.seed = 99 -- the state has its own
                local other = assert(data.tokens(path, options))
                options.seed = -3
                assert(other:check_state_dict(saved))
                other:load_state_dict(saved)
                assert.are.same(table.move(whole, done + 1, 60, 1, {}), take(other, 60 - done))
            end
        end
    end)

    it("is saved in a checkpoint", function()
        local path, saved = file_of(213), os.tmpname()
        local options = { window = 5, batch = 4 }
        local tokens, other = assert(data.tokens(path, options)), assert(data.tokens(path, options))
        take(tokens, 7)
        assert(heed.checkpoint.save(saved, { data = tokens }))
        assert(heed.checkpoint.load(saved, { data = other }))
        os.remove(saved)
        assert.are.same(take(tokens, 5), take(other, 5))
    end)

    it("refuses the state of another file or of other windows", function()
        local path = file_of(100)
        local function state_with(options, count)
            options.window, options.batch = options.window or 5, options.batch or 2
            return assert(data.tokens(count and file_of(count) or path, options)):state_dict()
        end
        local tokens = assert(data.tokens(path, { window = 5, batch = 2 }))
        for name, saved in pairs {
            ["count = 101"] = state_with({}, 101), ["window = 6"] = state_with { window = 6 },
            ["batch = 3"] = state_with { batch = 3 },
            ["shuffle = false"] = state_with { shuffle = false },
            ["offset = 0"] = state_with { offset = 0 },
            ["dtype = i16"] = state_with { dtype = "i16" },
        } do
            local ok, message = tokens:check_state_dict(saved)
            assert.is_nil(ok)
            assert.matches("the state is of tokens with " .. name, message)
            assert.error_matches(function() tokens:load_state_dict(saved) end,
                "heed.data.Tokens:load_state_dict: the state is of tokens with " .. name)
        end
        assert.is_nil(tokens:check_state_dict "epoch 1")
        assert.is_nil(tokens:check_state_dict {})
        local beyond = tokens:state_dict()
        beyond.position = 1000
        assert.matches("batch 1000 of", select(2, tokens:check_state_dict(beyond)))
    end)

    it("goes on without end, and after break with the next pass", function()
        local tokens = tokens_of(41, { window = 10, batch = 1, shuffle = false })
        local count = 0
        for x in tokens:forever() do
            count = count + 1
            assert.are.equal((count - 1) % 4 * 10 + 1, x[1][1])
            if count == 10 then break end
        end
        assert.are.equal(3, tokens.epoch)
        local seen = {}
        for _ = 1, 2 do
            for x in tokens do
                seen[#seen + 1] = x[1][1]
                if #seen > 0 then break end
            end
        end
        assert.are.same({ 21, 1 }, seen) -- forever is no pass that a loop has left
        assert.are.equal(4, tokens.epoch)
    end)

    it("sees a file that became shorter, and not what it gained", function()
        local path = file_of(1000)
        for _, shuffle in ipairs { true, false } do
            local tokens = assert(data.tokens(path, { window = 9, batch = 2, shuffle = shuffle }))
            local grown <close> = assert(io.open(path, "ab"))
            grown:write(("x"):rep(2000))
            grown:flush()
            assert.are.equal(1000, tokens.count)
            for x in tokens do assert.is_true(x:max():item() <= 1000) end
            local short <close> = assert(io.open(path, "wb"))
            short:write "abcdefgh"
            short:flush()
            assert.error_matches(function() take(tokens, 10) end,
                "the file became shorter: expected 1000 tokens, it ends before token %d+")
            path = file_of(1000)
        end
    end)

    it("never holds the file", function()
        local size = 1 << 22
        local tokens = tokens_of(size, { window = 16, batch = 2, dtype = "u8" }, "u8")
        local lua, tensors = files.held(), heed.memory().live
        heed.memory_trim()
        take(tokens, 20)
        assert.is_true(files.held() - lua < size / 16)
        assert.is_true(heed.memory().live - tensors < size / 16)
    end)

    it("closes its file", function()
        local tokens <close> = tokens_of(100, { window = 4, batch = 2 })
        tokens:close()
        tokens:close()
        assert.error_matches(function() tokens() end, "the file was closed")
    end)

    it("gives nil and a message when the world fails", function()
        local options = { window = 4, batch = 2 }
        for path, said in pairs {
            ["/nowhere/at/all"] = "/nowhere/at/all: No such file", ["/tmp"] = "/tmp: .*directory",
            [files.write "odd"] = "expected whole tokens of 2 bytes %(u16%), the file has 3 bytes",
            [files.write ""] = "expected at least 5 tokens, .* the file has 0",
            [file_of(4)] = "expected at least 5 tokens, .* the file has 4",
        } do
            local tokens, message = data.tokens(path, options)
            assert.is_nil(tokens)
            assert.matches(said, message)
            assert.is_truthy(message:find(path, 1, true))
        end
        assert.are.equal(1, #tokens_of(5, options))
    end)

    it("raises when the caller is wrong", function()
        local path = file_of(100)
        for said, arguments in pairs {
            ["heed.data.tokens: path: expected a string, got nil"] = { nil, {} },
            ["window: expected an integer of at least 1, got nil"] = { path, { batch = 1 } },
            ["batch: expected an integer of at least 1, got 0"] = { path,
                { window = 1, batch = 0 } },
            ['there is no option "block_size"'] = { path, { block_size = 1 } },
            ['dtype: expected "u16", .*, got "f32"'] = { path,
                { window = 1, batch = 1, dtype = "f32" } },
            ["shuffle: expected a boolean"] = { path, { window = 1, batch = 1, shuffle = 1 } },
        } do
            local ok, message = pcall(data.tokens, arguments[1], arguments[2])
            assert.is_false(ok)
            assert.matches(said, message)
        end
    end)

    it("says what it is", function()
        local tokens = tokens_of(100, { window = 4, batch = 3 })
        tokens()
        assert.matches("^heed.data.tokens%(100 u16 of /.*, 8 batches of 3 x 4; epoch 1, 1 given%)$",
            tostring(tokens))
    end)
end)
