--- data.batches of examples that stay in their files.

local data = require "heed.data"
local files = require "spec.data.files"
local heed = require "heed"

-- A line's number, and as many others as it has words.
local function encode(line)
    local list = { tonumber(line:match "%d+") }
    for _ in line:gmatch "word" do list[#list + 1] = 7 end
    return list
end

local function encode_pair(pair) return { src = encode(pair[1]), tgt = encode(pair[2]) } end

local function numbers(batch)
    local list = {}
    for i, row in ipairs(batch[1]) do list[i] = row[1] end
    return list
end

local function all_numbers(batches)
    local list = {}
    for batch in batches do table.move(numbers(batch), 1, batch.size, #list + 1, list) end
    return list
end

local function same_batch(a, b)
    if a == "end" or b == "end" then return a == b end
    for key, value in pairs(a) do
        if heed.is_tensor(value) and not heed.equal(value, b[key]) then return false end
    end
    return a.size == b.size
end

local function assert_same_batches(a, b, count)
    local from_a, from_b = files.take(a, count), files.take(b, count)
    for i = 1, count do assert.is_true(same_batch(from_a[i], from_b[i]), "batch " .. i) end
end

local COUNT = 137
local path = files.write(files.text(files.lines(COUNT)))
local pair_path = files.write((files.text(files.lines(COUNT)):gsub("(%C+)\n", "%1\t%1 word\n")))

local SOURCES = {
    index = { function() return assert(data.line_index(path)) end, encode },
    passes = { function() return assert(data.line_index(path)):passes { shuffle = true } end,
        encode },
    stream = { function() return assert(data.line_stream(path, { shuffle = 25 })) end, encode },
    pair_index = { function() return assert(data.pair_index(pair_path)) end, encode_pair },
    pair_stream = { function() return assert(data.pair_stream(pair_path, { shuffle = 25 })) end,
        encode_pair },
}

for name, entry in pairs(SOURCES) do
    describe("data.batches of a " .. name, function()
        local function batches(options)
            options.encode = entry[2]
            return data.batches(entry[1](), options)
        end
        local OPTIONS = {
            { size = 8 }, { size = 8, shuffle = true, seed = 5 },
                { size = 8, bucket = true, pool = 20, shuffle = true },
            { tokens = 60, shuffle = true, pool = 30 }, { tokens = 60, pool = 1 },
            { size = 8, drop_last = true, shuffle = true, bucket = true },
        }

        it("gives every example once a pass", function()
            for _, options in ipairs(OPTIONS) do
                local made = batches(options)
                for _ = 1, 2 do
                    local count, short = 0, 0
                    for batch in made do
                        count = count + batch.size
                        local longest = math.max((batch[1] or batch.src):size(2),
                            batch.tgt and batch.tgt:size(2) or 0)
                        if options.tokens then
                            assert.is_true(longest * batch.size <= 60 or batch.size == 1)
                        end
                        if options.size and batch.size < 8 then short = short + 1 end
                    end
                    assert.are.equal(options.drop_last and 136 or COUNT, count)
                    assert.are.equal(options.size and not options.drop_last and 1 or 0, short)
                end
                assert.are.equal(3, made.epoch)
            end
        end)

        it("goes on in the middle of a pass, to the bit", function()
            for _, options in ipairs(OPTIONS) do
                for _, given in ipairs { 0, 5, 17, 18 } do
                    local a, b = batches(options), batches(options)
                    files.take(a, given)
                    files.take(b, 3)
                    b:load_state_dict(a:state_dict())
                    assert.are.equal(a.epoch, b.epoch)
                    assert_same_batches(a, b, 40)
                end
            end
        end)

        it("goes on from a checkpoint", function()
            local file = os.tmpname()
            local a, b = batches { tokens = 60, shuffle = true, pool = 30 },
                batches { tokens = 60, shuffle = true, pool = 30 }
            files.take(a, 13)
            assert(heed.checkpoint.save(file, { batches = a }))
            assert(heed.checkpoint.load(file, { batches = b }))
            os.remove(file)
            assert_same_batches(a, b, 60)
        end)
    end)
end

describe("data.batches of files", function()
    teardown(files.remove)

    it("shuffles an index as a whole, by its seed", function()
        local index = assert(data.line_index(path))
        local function run(seed)
            return data.batches(index, { size = 8, shuffle = true, seed = seed, encode = encode,
                pool = 16 })
        end
        local first = run(1)
        local a, b = all_numbers(first), all_numbers(first)
        assert.are_not.same(a, b)
        assert.are.same(a, all_numbers(run(1)))
        assert.are_not.same(a, all_numbers(run(2)))
        local far = 0
        for i = 1, 16 do far = math.max(far, a[i]) end
        assert.is_true(far > 60, "the first pool is drawn from all of the file")
        table.sort(a)
        for i = 1, COUNT do assert.are.equal(i, a[i]) end
    end)

    it("buckets within a pool", function()
        local cells, real = 0, 0
        local made = data.batches(assert(data.line_index(path)),
            { tokens = 60, shuffle = true, encode = encode })
        for batch in made do
            cells = cells + batch[1]:numel()
            real = real + made:count(batch.lengths[1])
        end
        assert.is_true(real / cells > 0.9, "little padding: " .. real / cells)
    end)

    it("leaves out what encode gives nil for", function()
        local function odd(line)
            return tonumber(line:match "%d+") % 2 == 1 and encode(line) or nil
        end
        assert.are.equal(69, #all_numbers(data.batches(assert(data.line_stream(path)),
            { size = 8, encode = odd })))
        assert.are.equal(69, #all_numbers(data.batches(assert(data.lines(path)),
            { size = 8, encode = odd })))
    end)

    it("pads with the value", function()
        local batch = data.batches(assert(data.line_index(files.write "1\n2 word\n")),
            { size = 2, value = 0, encode = encode })()
        assert.are.same({ { 1, 0 }, { 2, 7 } }, batch[1]:totable())
        assert.are.same({ 1, 2 }, batch.lengths[1]:totable())
    end)

    it("takes an iterator of the user's that can go on", function()
        local Count = {}
        Count.__index = Count
        function Count:__call()
            self.n = self.n % 6 + 1
            if self.n < 6 then return { self.n } end
        end
        function Count:state_dict() return { n = self.n } end
        function Count:load_state_dict(state) self.n = state.n end
        local function new()
            return data.batches(setmetatable({ n = 0 }, Count), { size = 2, pool = 2 })
        end
        local a, b = new(), new()
        assert.are.same({ { 1, 2 }, { 3, 4 }, { 5 } }, { numbers(a()), numbers(a()), numbers(a()) })
        b:load_state_dict(a:state_dict())
        assert_same_batches(a, b, 12)
    end)

    it("after a break the next loop is the next pass, of every kind of source", function()
        local Count = { __call = function(self)
            self.n = self.n % 6 + 1
            if self.n < 6 then return { self.n } end
        end }
        Count.__index = { state_dict = function() return {} end, load_state_dict = function() end }
        local text = files.write "1\n2\n3\n4\n5\n"
        for _, source in ipairs {
            setmetatable({ n = 0 }, Count), assert(data.line_index(text)),
                assert(data.line_stream(text)),
        } do
            local batches = data.batches(source, { size = 2, pool = 2, encode = function(example)
                return type(example) == "table" and example or { math.tointeger(example) }
            end })
            for batch in batches do -- luacheck: ignore 512
                assert.are.same({ 1, 2 }, numbers(batch))
                break
            end
            local pass = {}
            for batch in batches do pass[#pass + 1] = numbers(batch) end
            assert.are.same({ { 1, 2 }, { 3, 4 }, { 5 } }, pass)
            assert.are.equal(3, batches.epoch)
        end
    end)

    it("takes an empty example wherever it stands", function()
        local batches = data.batches(assert(data.line_index(files.write "\n5 6\n")), {
            size = 1, value = 0, encode = function(line)
                local list = {}
                for number in line:gmatch "%d+" do list[#list + 1] = math.tointeger(number) end
                return list
            end,
        })
        assert.are.same({ 0 }, batches().lengths[1]:totable())
        assert.are.same({ { 5, 6 } }, batches()[1]:totable())
    end)

    it("keeps no more than a pool", function()
        local list = {}
        for i = 1, 20000 do list[i] = ("%d%s"):format(i, (" word"):rep(18)) end
        local long = files.write(files.text(list))
        list = nil -- luacheck: ignore
        local index = assert(data.line_index(long))
        local before, most, count = files.held(), 0, 0
        for _ in data.batches(index, { size = 20, encode = encode, pool = 200 }) do
            count = count + 1
            if count % 100 == 0 then most = math.max(most, files.held() - before) end
        end
        assert.are.equal(1000, count)
        -- a list of 19 integers has some 500
        assert.is_true(most < 200 * 1000, most .. " bytes held")
    end)

    it("teaches on misuse", function()
        local index = assert(data.line_index(path))
        local function made(options) return data.batches(index, options) end
        assert.error_matches(function() made { size = 2 }() end,
            'expected a table, got "1 word.*encode = ')
        assert.error_matches(function() made { size = 2, encode = 3 } end,
            "encode: expected a function, got 3")
        assert.error_matches(function() made { size = 2, encode = function() return 3 end }() end,
            "expected a table, got 3")
        assert.error_matches(function() made { size = 2, pool = 0 } end,
            "pool: expected an integer")
        assert.error_matches(function() return #made { size = 2, encode = encode } end,
            "number is not known")
        assert.error_matches(function() made { size = 2, encode = function() end }() end,
            "the split has 0 batches")
        local empty = data.batches(assert(data.line_index(files.write "")),
            { size = 2, encode = encode })
        assert.error_matches(function() empty() end, "the split has 0 batches")
        local state = made({ size = 2, encode = encode }):state_dict()
        assert.error_matches(function() made({ size = 3,
            encode = encode }):load_state_dict(state) end, "pools of 200 examples")
        state.source.bytes = 3
        assert.error_matches(function() made({ size = 2,
            encode = encode }):load_state_dict(state) end, "examples in 3 bytes")
        assert.error_matches(function() made({ size = 2, encode = encode }):load_state_dict {} end,
            "not the state of batches")
    end)
end)
