-- How fast tokenizers are read and read texts, beside the package `tokenizers` on one thread.
--
--     heed spec/bench/tokenizers.lua PYTHON TEXT FILE... [rounds = 5]
--
-- Both take the lines of TEXT one by one, in turns. Prints for each tokenizer.json the best times: loading in
-- seconds, encoding in MB/s, and how many ids both made of TEXT.

local heed = require "heed"

local python, path, files, rounds = arg[1], arg[2], { table.unpack(arg, 3) }, 5
if math.tointeger(tonumber(files[#files])) then rounds = math.tointeger(tonumber(table.remove(files))) end
if not files[1] then error("usage: heed spec/bench/tokenizers.lua PYTHON TEXT FILE... [ROUNDS]", 0) end

local here = arg[0]:match "^(.*/)" or "./"
local lines, bytes = {}, 0
for line in io.lines(path) do
    lines[#lines + 1] = line
    bytes = bytes + #line
end

-- Seconds to load and to encode, and ids.
local function ours(file)
    local start = heed.clock()
    local tokenizer, count = assert(heed.text.tokenizer(file)), 0
    local loaded = heed.clock()
    for _, line in ipairs(lines) do count = count + #tokenizer:encode(line) end
    return loaded - start, heed.clock() - loaded, count
end

local function theirs(file)
    local pipe = assert(io.popen(("TOKENIZERS_PARALLELISM=false exec '%s' '%spytorch/tokenizers_speed.py' '%s' '%s'")
        :format(python, here, file, path)))
    local load, encode, count = pipe:read("n", "n", "n")
    assert(pipe:close(), "tokenizers_speed.py failed")
    return load, encode, math.tointeger(count)
end

local function best(run, file)
    local load, encode, count = math.huge, math.huge, nil
    for _ = 1, rounds do
        local l, e, n = run(file)
        load, encode, count = math.min(load, l), math.min(encode, e), n
    end
    return load, encode, count
end

print("file\tload s\ttheirs\tMB/s\ttheirs\tids\ttheirs")
for _, file in ipairs(files) do
    local load, encode, count = best(ours, file)
    local their_load, their_encode, their_count = best(theirs, file)
    print(("%s\t%.3f\t%.3f\t%.2f\t%.2f\t%d\t%d"):format(file, load, their_load, bytes / encode / 1e6,
        bytes / their_encode / 1e6, count, their_count))
end
