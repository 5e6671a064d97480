-- Are tensors of GGUF files those of the Python package gguf, bit by bit, and does it read what heed
-- writes?
--
--     heed spec/peers/gguf.lua PYTHON COUNT [FILE...]
--
-- compares so many rows of random blocks of every type, what heed writes, and all tensors of each
-- file. PYTHON needs the packages that spec/peers/gguf_files.py names. Prints what differs.

local heed = require "heed"

local here = arg[0]:match "^(.*/)" or "./"
local python, count = arg[1], math.tointeger(tonumber(arg[2]))
if not count then error("usage: heed spec/peers/gguf.lua PYTHON COUNT [FILE...]", 0) end

local folder = os.tmpname()
os.remove(folder)
assert(os.execute("mkdir " .. folder))

local function run(...)
    return os.execute(("exec '%s' '%sgguf_files.py' '%s'"):format(python, here,
        table.concat({ ... }, "' '")))
end

-- NaN of any bits is NaN.
local function same(a, b)
    if a.dtype == "bf16" then a = a:to "f32" end
    if a.dtype ~= b.dtype or a.shape ~= b.shape then return false end
    if a:bytes() == b:bytes() then return true end
    local nan = a:ne(a)
    return nan:equal(b:ne(b))
        and heed.where(nan, 0, a):bytes() == heed.where(nan, 0, b):bytes()
end

local function compare(path)
    assert(run("dequantise", path, folder))
    local file, bad = assert(heed.gguf.open(path)), 0
    for i, entry in ipairs(file.tensors) do
        local theirs = folder .. "/" .. i .. ".npy"
        if not same(assert(file:tensor(entry.name)), assert(heed.npy.load(theirs))) then
            bad = bad + 1
            print("differs", entry.name, entry.type)
        end
        os.remove(theirs)
    end
    print(("%d of %d tensors differ: %s"):format(bad, #file.tensors, path))
    return bad
end

local METADATA = {
    ["general.architecture"] = "none", ["k.count"] = 7, ["k.below"] = -7, ["k.long"] = 1 << 40,
    ["k.float"] = 0.5, ["k.on"] = true, ["k.text"] = "h\u{e9} \u{2581}", ["k.whole"] = { 1, -2, 3 },
    ["k.floats"] = { 0.5, 1 }, ["k.texts"] = { "<s>", "", "a" }, ["k.truth"] = { true, false },
}

local function check_written()
    local tensors, types = {}, {}
    for _, kind in ipairs { "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "F16", "BF16", "F32" } do
        local sizes = heed.randn(count, 1):mul(5):clamp(-20, 9):exp()
        tensors[kind], types[kind] = heed.randn(count, 64) * sizes, kind
    end
    for _, dtype in ipairs { "i8", "i16", "i32", "i64" } do
        tensors[dtype] = (heed.randn(3, 2, 5) * 50):to(dtype)
    end
    for name, t in pairs(tensors) do assert(heed.npy.save(folder .. "/" .. name .. ".npy", t)) end
    local json <close> = assert(io.open(folder .. "/metadata.json", "wb"))
    json:write(heed.json.encode(METADATA)):close()
    assert(heed.gguf.save(folder .. "/heed.gguf", METADATA, tensors, { types = types }))
    return run("check", folder) and 0 or 1
end

heed.manual_seed(os.time())
assert(run("write", folder, os.time(), count))
local bad = compare(folder .. "/random.gguf") + check_written()
for i = 3, #arg do bad = bad + compare(arg[i]) end
os.execute("rm -r " .. folder)
os.exit(bad == 0)
