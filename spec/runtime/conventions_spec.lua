-- The tables of docs/conventions.md, line by line: the page says what the module does.

local check = require "heed.check"
local heed = require "heed"

local PAGE = "docs/conventions.md"
local COUNT = { [13] = 12, [7] = 13, [2] = 20 } -- lines of the tables, by the number of their columns

-- The tables as lists of rows, rows as lists of cells; the first row is the heading.
local function tables_of(path)
    local list, current = {}, nil
    for line in io.lines(path) do
        local cells = line:match "^|(.*)|$"
        if not cells then
            current = nil
        elseif not cells:match "^[ %-|]+$" or not current then
            if not current then
                current = {}
                list[#list + 1] = current
            end
            local row = {}
            for cell in (cells .. "|"):gmatch "([^|]*)|" do
                row[#row + 1] = cell:match "^%s*(.-)%s*$"
            end
            current[#current + 1] = row
        end
    end
    return list
end

-- What code gives: a dtype, or "error" and the message. Every piece of code in a cell must give the
-- same.
local function result_of(code, env)
    local f = assert(load("return " .. code, "=page", "t", setmetatable(env, { __index = _G })))
    local ok, value = pcall(f)
    if not ok then return "error", value end
    return value.dtype
end

local COMPUTED = check.set("bool", "u8", "i32", "i64", "f32", "f64")

local function dtypes_say(rows)
    for i = 2, #rows do
        for j = 2, #rows[1] do
            local a, b, said = rows[i][1], rows[1][j], rows[i][j]
            local x, y = heed.ones(2, { dtype = a }), heed.ones(2, { dtype = b })
            assert.equal(said, heed.cat({ x, y }).dtype, a .. " and " .. b)
            if COMPUTED[a] and COMPUTED[b] then
                assert.equal(said, (x * y).dtype, a .. " * " .. b)
            end
        end
    end
end

local function operations_say(rows)
    for i = 2, #rows do
        local pieces = 0
        for code in rows[i][1]:gmatch "`(.-)`" do
            pieces = pieces + 1
            for j = 2, #rows[1] do
                local t = heed.ones(2, { dtype = rows[1][j] })
                local got, message = result_of(code, { heed = heed, t = t })
                assert.equal(rows[i][j], got, ("%s of %s: %s"):format(code, rows[1][j],
                    tostring(message)))
                if got == "error" then
                    assert.matches("heed%.[%w_]+: %w+: .*" .. rows[1][j], message)
                end
            end
        end
        assert.is_true(pieces > 0, rows[i][1])
    end
end

local function writes_say(rows)
    for i = 2, #rows do
        local code, said = rows[i][1]:match "^`(.*)`$", rows[i][2]
        local got, message = result_of(code,
            { heed = heed, w = heed.ones(2, { requires_grad = true }) })
        local dtype, rest = said:match "^(%w+):? ?(.*)$"
        assert.equal(dtype, got, code .. ": " .. tostring(message))
        if got == "error" then
            assert(rest ~= "" and message:find(rest, 1, true), ("%s: %s"):format(code, message))
            assert.matches("heed%.[%w_]+: ", message)
        end
    end
end

describe("docs/conventions.md", function()
    local by_columns = {}
    for _, rows in ipairs(tables_of(PAGE)) do by_columns[#rows[1]] = rows end

    it("has all lines of its tables", function()
        for columns, count in pairs(COUNT) do assert.equal(count, #by_columns[columns] - 1) end
    end)
    it("says at which dtype two tensors meet", function() dtypes_say(by_columns[13]) end)
    it("says what operations give", function() operations_say(by_columns[7]) end)
    it("says what may be written in place", function() writes_say(by_columns[2]) end)

    it("says how dtypes are converted", function()
        local x = heed.tensor { -1.9, 1.9, 300, 0 / 0, math.huge, -math.huge }
        assert.same({ 0, 1, 255, 0, 255, 0 }, x:to("u8"):totable())
        assert.same({ -1, 1, 300, 0, 0x7fffffff, -0x80000000 }, x:to("i32"):totable())
        assert.same({ -1, 1, 127, 0, 127, -128 }, x:to("i8"):totable())
        assert.same({ 0, 1, 300, 0, 0xffff, 0 }, x:to("u16"):totable())
        assert.same({ 44, -1 }, heed.ids({ 300, 0xffff }):to("i8"):totable())
        assert.same({ true, true, true, true, true, true }, x:to("bool"):totable())
        assert.same({ 255, 44, 0 }, heed.ids({ -1, 300, 1 << 40 }):to("u8"):totable())
        assert.same({ -1, 0, -0x80000000 }, heed.ids({ -1, 1 << 32, 1 << 31 }):to("i32"):totable())
        assert.same({ 1, 1.0078125, 1.015625 },
            heed.tensor({ 1.00390625, 1.005, 1.01171875 }):to("bf16"):totable())
    end)

    it("says that integers have no quotient by 0 and no negative powers", function()
        for _, dtype in ipairs { "i64", "i32", "u8" } do
            local t, zeros = heed.ones(3, { dtype = dtype }), heed.zeros(3, { dtype = dtype })
            for _, f in ipairs {
                function() return t // 0 end, function() return t % zeros end, function()
                    return 1 // zeros
                end,
                function() return t:floordiv_(zeros) end, function() return t:mod_(0) end,
            } do assert.error_matches(f, "heed%.[%w_]+: division by zero") end
            assert.same({ 1, 1, 1 }, t:totable())
            if dtype ~= "u8" then
                assert.error_matches(function() return t ^ -t end,
                    "heed.pow: exponent: expected 0 or more for integers")
                assert.error_matches(function() return t ^ -1 end,
                    "heed.pow: exponent: expected 0 or more for integers, got %-1")
            end
        end
    end)

    it("says that gradients flow through bf16 in f32", function()
        local w = heed.tensor({ 1, 2 }, { requires_grad = true })
        local stored = (w * 1.001):to "bf16"
        local sum = stored:index_select(1, heed.ids { 1, 1, 2 }):to "f32" * heed.tensor { 1, 0.001,
            3 }
        sum:sum():backward()
        assert.is_true(heed.allclose(w.grad, heed.tensor { 1.001 * 1.001, 3 * 1.001 }))
        assert.error_matches(function() heed.ones(2, { dtype = "bf16", requires_grad = true }) end,
            "heed.ones: requires_grad: expected f32 or f64, which alone have gradients, got bf16")
    end)

    it("says which tensors are indices", function()
        local x, logits = heed.range(1, 4), heed.zeros(2, 3)
        local function ids(dtype) return heed.tensor({ 2, 1 }, { dtype = dtype }) end
        local takes = {
            function(i) return x[i] end,
            function(i) return x:index_select(1, i) end,
            function(i) return x:gather(1, i) end,
            function(i) return i:one_hot(3) end,
            function(i) return heed.embedding(logits, i) end,
            function(i) return heed.loss.cross_entropy(logits, i) end,
            function(i) return heed.pack_sequences(logits, i) end,
            function(i) x:clone()[i] = 0 end,
        }
        for n, f in ipairs(takes) do
            local want = f(ids "i64")
            for _, dtype in ipairs { "i32", "i16", "i8", "u32", "u16" } do
                local got = f(ids(dtype))
                assert.is_true(want == nil or heed.equal(want, got), n .. " " .. dtype)
            end
            assert.error_matches(function() f(ids "u8") end,
                'u8 may mean a mask or indices: t:to "bool" or t:to "i64"')
            assert.error(function() f(ids "f32") end)
        end
    end)

    it("says that masks which choose are bool", function()
        local x = heed.ones(2)
        for _, dtype in ipairs { "f32", "i64", "u8" } do
            local mask = heed.ones(2, { dtype = dtype })
            local expected = "expected bool, got " .. dtype
            assert.error_matches(function() x:masked_fill(mask, 0) end, "heed.masked_fill: mask: "
                .. expected)
            assert.error_matches(function() x:masked_fill_(mask, 0) end, "heed.masked_fill_: mask: "
                .. expected)
            assert.error_matches(function() heed.where(mask, x, 0) end, "heed.where: condition: "
                .. expected)
        end
    end)
end)
