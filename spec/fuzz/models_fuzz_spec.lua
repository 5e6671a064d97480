-- Damaged files of models: nil and a message that says what is wrong with which file, or a model that works. Never an
-- error of Lua's own, never a crash, endless time or gigabytes. A failure names its seed; HEED_FUZZ_SEED=seed
-- HEED_FUZZ_COUNT=1 reads that damage alone.

local damage = require "spec.support.damage"
local heed = require "heed"
local models = require "spec.support.models_on_disk"
local shell = require "spec.support.shell"

local COUNT = tonumber(os.getenv "HEED_FUZZ_COUNT") or os.getenv "HEED_SANITIZED" and 100 or 300
local SEED = tonumber(os.getenv "HEED_FUZZ_SEED") or 1
local SLOW = os.getenv "HEED_SANITIZED" and 60 or 5 -- seconds of a processor
local MOST = 1 << 28 -- bytes

local function constant(value) return function() return value end end

-- What numbers of configs may be, beside damage's own.
local NUMBERS = { constant(1000000000), constant(math.maxinteger), constant(-1e308), constant(1e308), constant "16",
    constant(2), constant(3), constant(17), constant(1e-30), constant(false), constant(heed.json.array {}),
    constant { 1, 2 }, constant { ["0"] = {} }, constant(16.0), constant(4), constant(1) }

-- ---- what is damaged ----------------------------------------------------------------------------

local function write(path, bytes)
    local file <close> = assert(io.open(path, "wb"))
    file:write(bytes)
end

local function pick(list) return #list > 0 and list[math.random(#list)] or nil end

local function names_of(set, pattern)
    local names = {}
    for name in pairs(set) do if name:find(pattern) then names[#names + 1] = name end end
    table.sort(names)
    return names
end

local tensor_damage = {
    function(tensors, name) tensors[name] = nil end,
    function(tensors, name) tensors[name] = tensors[name]:reshape(-1) end,
    function(tensors, name) tensors[name] = tensors[name]:unsqueeze(1) end,
    function(tensors, name) tensors[name] = tensors[name]:sum() end,
    function(tensors, name) tensors[name] = tensors[name]:reshape(1, -1) end,
    function(tensors, name) tensors[name] = heed.zeros(0) end,
    function(tensors, name) tensors[name] = heed.zeros(0, 4) end,
    function(tensors, name) tensors[name] = heed.full_like(tensors[name]:to "f32", 0 / 0) end,
    function(tensors, name) tensors[name] = heed.cat({ tensors[name], tensors[name] }, 1) end,
    function(tensors, name) tensors[name] = tensors[name]:transpose(1, -1):contiguous() end,
    function(tensors, name) tensors[name .. "2"] = heed.ones(2) end,
    function(tensors, name)
        local other = pick(names_of(tensors, ""))
        tensors[name], tensors[other] = tensors[other], tensors[name]
    end,
}
for _, dtype in ipairs { "f64", "f16", "bf16", "i64", "i32", "i8", "u8", "bool" } do
    tensor_damage[#tensor_damage + 1] = function(tensors, name) tensors[name] = tensors[name]:to(dtype) end
end

-- One of the tensors; not all kinds of damage are possible to all.
local function damage_tensors(tensors)
    local name = pick(names_of(tensors, ""))
    pcall(pick(tensor_damage), tensors, name)
    return name
end

local function damage_safetensors(files, name, folder)
    local path = folder .. "/damaged.safetensors"
    write(path, files[name])
    local tensors, metadata = heed.safetensors.load(path)
    if not tensors then return end -- damaged before
    damage_tensors(tensors)
    assert(heed.safetensors.save(path, tensors, { metadata = metadata }))
    files[name] = shell.read(path)
    os.remove(path)
end

local function damage_json(files, name)
    local tree = heed.json.decode(files[name])
    if type(tree) ~= "table" then return nil end -- damaged before
    local key = damage.tree(tree, NUMBERS)
    files[name] = heed.json.encode(tree)
    return key
end

-- Shards and an index of them.
local function in_shards(files, folder)
    local path, map = folder .. "/shard.safetensors", {}
    write(path, files["model.safetensors"])
    local tensors = assert(heed.safetensors.load(path))
    local shards = { {}, {} }
    for i, name in ipairs(names_of(tensors, "")) do
        shards[i % 2 + 1][name], map[name] = tensors[name], ("model-%d.safetensors"):format(i % 2 + 1)
    end
    for i, shard in ipairs(shards) do
        assert(heed.safetensors.save(path, shard))
        files[("model-%d.safetensors"):format(i)] = shell.read(path)
    end
    os.remove(path)
    files["model.safetensors"] = nil
    files["model.safetensors.index.json"] = heed.json.encode { weight_map = map }
end

local function damage_gguf(files, name, folder)
    local path = folder .. "/damaged.gguf"
    write(path, files[name])
    local file, tensors = heed.gguf.open(path), {}
    if not file then return end
    for _, entry in ipairs(file.tensors) do tensors[entry.name] = assert(file:tensor(entry.name)) end
    local metadata = file.metadata
    if math.random(2) == 1 then damage.tree(metadata, NUMBERS) else damage_tensors(tensors) end
    if pcall(heed.gguf.save, path, metadata, tensors) then files[name] = shell.read(path) end
    os.remove(path)
end

-- One damage more; the key of config.json that it is of.
local function damage_files(files, folder)
    local way = math.random(20)
    local json, all = names_of(files, "%.json$"), names_of(files, "")
    if way <= 11 and files["config.json"] then return damage_json(files, "config.json") end
    if way <= 14 and json[1] then
        damage_json(files, pick(json))
        return nil
    end
    local tensors, gguf = names_of(files, "%.safetensors$"), names_of(files, "%.gguf$")
    if way <= 17 and tensors[1] then return damage_safetensors(files, pick(tensors), folder) end
    if way <= 17 and gguf[1] then return damage_gguf(files, gguf[1], folder) end
    local name = pick(all)
    if not name then return nil end
    if way == 20 then files[name] = nil else files[name] = damage.bytes(files[name]) end
    return nil
end

-- ---- what is tried ------------------------------------------------------------------------------

local IDS = { { 3, 5, 4, 2 }, { 7, 2, 1, 3 } }

-- Works as its family does.
local function try(model, path)
    if model.embed then
        model(IDS, { lengths = { 4, 2 } })
        model:embed(IDS, { 4, 2 })
        if model.tokenizer then model:embed { "a b", "" } end
    elseif model.image_features then
        model(IDS, heed.zeros(1, 3, model.vision.image_size, model.vision.image_size))
    elseif model.image_size then
        model(heed.zeros(1, 3, model.image_size, model.image_size))
    elseif model.conv1 then
        model(heed.zeros(1, model.conv1.weight:size(2), 2 * model.encoder_positions.weight:size(1)), { { 3, 5 } })
    else
        heed.generate(model, { 3, 5, 4 }, { max_new_tokens = 4 })
    end
    for _, image in ipairs { model.images and heed.zeros(30, 20, 3, { dtype = "u8" }) } do model.images(image) end
    heed.models.save(path .. ".saved", model)
end

-- Is it said by heed, and not what Lua or another function met because nothing was checked?
local function is_said(message)
    for _, pattern in ipairs { "attempt to ", "bad argument", "%.lua:%d", "stack overflow", "not enough memory" } do
        if message:find(pattern) then return false end
    end
    return true
end

-- A refusal names what is wrong: the key, or that weights and config differ.
local function names_key(message, key)
    return message:find(key, 1, true) or message:find "more tensors" or message:find "do config and weights"
        or message:find "none of this family's"
end

local function load_and_try(path, key)
    local ok, model, message = pcall(heed.models.load, path)
    if not ok then return "raised: " .. tostring(model) end
    if not model then
        if type(message) ~= "string" then return "nil without a message" end
        if not is_said(message) then return message end
        if message:sub(1, #path) ~= path then return "no path: " .. message end
        return key and not names_key(message, key) and ("does not name %s: %s"):format(key, message) or nil
    end
    ok, message = pcall(try, model, path)
    if not ok and not is_said(tostring(message):gsub("^spec/fuzz/[%w_.]+:%d+: ", "")) then
        return "in use: " .. tostring(message)
    end
end

local function write_all(folder, files)
    for name, bytes in pairs(files) do
        local inner = name:match "^(.*)/"
        if inner then os.execute("mkdir -p " .. shell.quote(folder .. "/" .. inner)) end
        write(folder .. "/" .. name, bytes)
    end
end

local function check(seed, name, files, folder, key)
    write_all(folder, files)
    local clock, before = os.clock(), heed.memory_limit(heed.memory().live + MOST)
    local problem = load_and_try(models.path(folder, files), key)
    heed.memory_limit(before)
    if not problem and os.clock() - clock > SLOW then problem = "slow" end
    if problem then
        error(("HEED_FUZZ_SEED=%d: %s: %s (%s)"):format(seed, name, problem, folder), 0)
    end
end

local all, names

local function run(seed)
    math.randomseed(seed)
    local name, folder = pick(names), shell.lines "mktemp -d"[1]
    local files = {}
    for file, bytes in pairs(all[name]) do files[file] = bytes end
    if files["model.safetensors"] and files["config.json"] and math.random(8) == 1 then in_shards(files, folder) end
    local count, key = math.random(8) == 1 and 2 or 1, nil
    for _ = 1, count do key = damage_files(files, folder) end
    check(seed, name, files, folder, count == 1 and key or nil)
    os.execute("rm -r " .. folder .. "*")
end

describe("a damaged model", function()
    setup(function()
        all = models.all()
        names = names_of(all, "")
    end)

    it("is refused or works", function()
        for seed = SEED, SEED + COUNT - 1 do run(seed) end
    end)
end)
