-- Integers that are not i64, f16 and bf16, and what dtypes results have, against PyTorch 2.13:
-- recorded by spec/fixtures/record_dtypes.py.

local heed = require "heed"
local plain = require "heed.plain"

local FIXTURE = "spec/fixtures/dtypes.safetensors"

-- Bit by bit, but that every NaN is one; so the sign of 0 counts.
local function same_bits(got, want)
    local format = ({ f16 = "<I2", bf16 = "<I2", f32 = "<I4", f64 = "<I8", i64 = "<i8", i32 = "<i4",
        u8 = "B", bool = "B", i8 = "b", i16 = "<i2", u16 = "<I2", u32 = "<I4" })[want.dtype]
    assert.equal(want.dtype, got.dtype)
    assert.equal(want.shape, got.shape)
    local a, b, numbers = got:bytes(), want:bytes(), want:flatten():totable()
    if a == b then return end
    local size = format:packsize()
    for i, number in ipairs(numbers) do
        local x, y = format:unpack(a, (i - 1) * size + 1), format:unpack(b, (i - 1) * size + 1)
        local both_nan = number ~= number and got:flatten()[i] ~= got:flatten()[i]
        if x ~= y and not both_nan then
            error(("element %d is %s (bits %x), not %s (%x)"):format(i, got:flatten()[i], x, number,
                y))
        end
    end
end

local whole = {}
for _, name in ipairs { "add", "sub", "mul", "floordiv", "mod", "maximum", "minimum", "eq", "ne",
    "lt", "le", "gt", "ge" } do
    whole[name] = function(t) return heed[name](t.a, t.b) end
end
for _, name in ipairs { "neg", "square", "abs", "sign", "logical_not", "tril" } do
    whole[name] = function(t) return heed[name](t.a) end
end
for _, name in ipairs { "sum", "prod", "cumsum", "max", "min", "argmax", "argmin" } do
    whole[name] = function(t) return (heed[name](t.a, 2)) end
end
function whole.pow(t) return t.a ^ t.small end
function whole.any(t) return (t.a * t.a:gt(t.b)):any(2) end
function whole.matmul(t) return t.a:matmul(t.b:t()) end
function whole.where(t) return heed.where(t.a:gt(t.b), t.a, t.b) end
function whole.clamp(t) return t.a:clamp(3, 100) end
function whole.f32(t) return t.a:to "f32" end
function whole.f64(t) return t.a:to "f64" end
function whole.with_i64(t) return t.a + t.b:to "i64" * 2 end
function whole.with_bool(t) return t.a + t.b:gt(5) end

describe("dtypes as in PyTorch", function()
    local tensors, metadata = assert(heed.safetensors.load(FIXTURE))
    local promotion, results = assert(plain.decode(metadata.promotion)),
        assert(plain.decode(metadata.results))
    local in_place, scalars = assert(plain.decode(metadata.in_place)),
        assert(plain.decode(metadata.scalars))
    local computed = { "bool", "u8", "i32", "i64", "f32", "f64" }
    local function ones(dtype) return heed.ones(2, { dtype = dtype }) end

    for _, dtype in ipairs { "u8", "i32" } do
        it("whole numbers of " .. dtype, function()
            local given, count = {}, 0
            for _, name in ipairs { "a", "b", "small" } do
                given[name] = tensors["whole/" .. dtype .. "/" .. name]
            end
            for key, want in pairs(tensors) do
                local name = key:match("^whole/" .. dtype .. "/([%w_]+)$")
                if name and not given[name] then
                    local ok, message = pcall(same_bits, whole[name](given), want)
                    assert(ok, name .. ": " .. tostring(message))
                    count = count + 1
                end
            end
            assert.equal(35, count)
        end)
    end

    for _, from in ipairs { "f32", "f64", "i64" } do
        it("f16 and bf16 from " .. from .. " and back", function()
            for _, half in ipairs { "f16", "bf16" } do
                local prefix = "half/" .. from .. "/"
                local small = tensors[prefix .. "from"]:to(half)
                same_bits(small, tensors[prefix .. half])
                if from ~= "i64" then
                    same_bits(small:to(from), tensors[prefix .. half .. "_back"])
                else -- infinity has no whole number
                    local finite = small:to("f32"):isfinite()
                    same_bits(small:to("i64")[finite], tensors[prefix .. half .. "_back"][finite])
                end
                for i, x in ipairs(small:totable()) do -- and as Lua numbers
                    local y = small:to("f64")[i]
                    assert(x == y or (x ~= x and y ~= y))
                end
            end
        end)
    end

    it("promotion of two tensors", function()
        for _, a in ipairs(computed) do
            for _, b in ipairs(computed) do
                assert.equal(promotion[a][b], (ones(a) * ones(b)).dtype, a .. " and " .. b)
            end
        end
        -- What meets in cat is not computed with. PyTorch has no common dtype of u16 or u32 and
        -- other integers.
        local refused = 0
        for a, of in pairs(promotion) do
            for b, want in pairs(of) do
                local got = heed.cat({ ones(a), ones(b) }).dtype
                if want == "refused" then
                    refused = refused + 1
                else
                    assert.equal(want, got, a .. " and " .. b)
                end
                assert.equal(got, heed.cat({ ones(b), ones(a) }).dtype)
            end
        end
        assert.equal(26, refused)
        local more = { "bool u16 u16", "u8 u16 u16", "u16 u32 u32", "bool u32 u32", "u8 u32 u32",
            "i8 u16 i32", "i16 u16 i32", "i32 u16 i32", "i8 u32 i64", "i16 u32 i64", "i32 u32 i64",
            "i64 u32 i64", "i64 u16 i64" }
        for _, row in ipairs(more) do
            local a, b, want = row:match "(%w+) (%w+) (%w+)"
            assert.equal(want, heed.cat({ ones(a), ones(b) }).dtype, row)
        end
    end)

    it("integers that are only stored, from and to every dtype, in line and strided", function()
        local count = 0
        for key, x in pairs(tensors) do
            local to = key:match "^stored/%w+_(%w+)/x$"
            if to then
                local want = tensors[key:gsub("x$", "y")]
                local ok, message = pcall(same_bits, x:to(to), want)
                assert(ok, key .. ": " .. tostring(message))
                local pairs_of = heed.stack({ x, x }, 2):select(2, 1)
                assert(not pairs_of:is_contiguous())
                same_bits(pairs_of:to(to), want)
                same_bits(heed.frombytes(x:bytes(), x.dtype), x)
                local back = want:totable()
                for i, value in ipairs(heed.tensor(back, { dtype = to }):totable()) do
                    assert(value == back[i] or (value ~= value and back[i] ~= back[i]))
                end
                count = count + 1
            end
        end
        assert.equal(76, count)
    end)

    it("integers that are only stored, compared", function()
        for _, dtype in ipairs { "i8", "i16", "u16", "u32" } do
            local prefix = "compared/" .. dtype .. "/"
            local a, b = tensors[prefix .. "a"], tensors[prefix .. "b"]
            same_bits(a:eq(b), tensors[prefix .. "eq"])
            same_bits(a:lt(b), tensors[prefix .. "lt"])
            same_bits(a:to("i64"):eq(b), tensors[prefix .. "eq"])
            same_bits(b:gt(a:to "f64"), tensors[prefix .. "lt"])
            same_bits(a:le(2 ^ 40), heed.ones(64):to "bool")
            assert(a:equal(a:to "i64") and a:allclose(a:to "f64") and not a:equal(b))
        end
    end)

    local of = {
        integer = function(t) return t + 1 end,
        float = function(t) return t + 0.5 end,
        div = function(t) return t / t end,
        lt = function(t) return t:lt(t) end,
        floordiv = function(t) return t // t end,
        matmul = function(t) return t:matmul(t) end,
        cumsum = function(t) return t:cumsum(1) end,
        logsumexp = function(t) return t:logsumexp(1) end,
    }
    for _, name in ipairs { "sum", "prod", "mean", "max", "argmax", "square", "exp" } do
        of[name] = heed[name]
    end
    for name, wanted in pairs(results) do
        it("the dtype of " .. name, function()
            for _, dtype in ipairs(computed) do
                -- Where PyTorch has no result heed may have one: mean of integers, matmul of bool.
                if wanted[dtype] ~= "refused" then
                    assert.equal(wanted[dtype], of[name](ones(dtype)).dtype, dtype)
                end
            end
        end)
    end

    it("which dtype may be written to in place", function()
        for _, a in ipairs(computed) do
            for _, b in ipairs(computed) do
                local t = ones(a)
                local ok, message = pcall(t.add_, t, ones(b))
                assert.equal(in_place[a][b], ok, a .. " and " .. b)
                if ok then assert.equal(a, t.dtype) end
                assert(ok or (message:find(a, 1, true) and message:find(b, 1, true)), message)
            end
        end
    end)

    it("dimension 1 and -1 of a tensor without dimensions", function()
        local more = {
            flip = function(d) return heed.flip(heed.tensor(3), { d }) end,
            transpose = function(d) return heed.tensor(3):transpose(d, d) end,
            select = function(d) return heed.tensor(3):select(d, 1) end,
            narrow = function(d) return heed.tensor(3):narrow(d, 1, 1) end,
            split = function(d) return heed.tensor(3):split(1, d) end,
            sort = function(d) return heed.tensor(3):sort { dim = d } end,
            size = function(d) return heed.tensor(3):size(d) end,
        }
        for name, takes in pairs(scalars) do
            local f = more[name] or function(d) return heed[name](heed.tensor(3), d) end
            for _, dim in ipairs { 1, -1 } do
                local ok, message = pcall(f, dim)
                assert(ok == takes, ("%s(%d): %s"):format(name, dim, tostring(message)))
            end
            local beyond, message = pcall(f, 2)
            assert(not beyond and message:find "heed%.[%w_]+: %w+: ", message)
        end
    end)
end)
