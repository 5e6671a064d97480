-- Sentences as vectors, by an encoder of Hugging Face (all-MiniLM-L6-v2, all-mpnet-base-v2).
--
--     heed examples/embed.lua DIR                        lines in, how alike each is to the one before
--     heed examples/embed.lua DIR --vectors              lines, also empty ones, in, numbers out
--     heed examples/embed.lua DIR --search QUERY FILE    the lines of FILE nearest to QUERY, with
--                                                        their cosines; FILE.vectors keeps the index
--     heed examples/embed.lua DIR --cluster 5            lines in, in five groups of like ones

local argparse = require "argparse"
local heed = require "heed"

local function positive(text)
    return math.tointeger(text:match "^0*[1-9]%d*$")
end

local parser = argparse("embed.lua", "Sentences as vectors.")
parser:argument("model", "a Hugging Face directory")
parser:option("--search", "a query, and a file of lines"):args(2)
parser:option("--cluster", "how many groups"):convert(positive)
parser:option("--top", "so many lines are shown", "5"):convert(positive)
parser:flag("--vectors", "a line of numbers for each line")
local args = parser:parse()
local model, message = heed.models.load(args.model)
if not model then error(message, 0) end
assert(model.embed, "the model is no encoder of sentences")

local function lines_of(file, all)
    local lines = {}
    for line in file:lines() do
        if all or line:find "%S" then lines[#lines + 1] = line end
    end
    if #lines == 0 then error("expected lines of text", 0) end
    return lines
end

-- Other text gives another number, nearly always.
local function checksum(text)
    local bytes = heed.frombytes(text, "u8", #text):to "i64"
    return ("%x"):format((bytes * (heed.range(1, #text, { dtype = "i64" }) * 1000003)):sum():item())
end

-- The vectors of a file's lines, from the index beside it when that is of the same text.
local function indexed(path, lines)
    local sum, index = checksum(table.concat(lines, "\n")), path .. ".vectors"
    local kept, metadata = heed.safetensors.load(index)
    local fits = kept and metadata.checksum == sum and metadata.model == args.model
    if fits then return kept.vectors end
    local vectors = model:embed(lines)
    local ok, problem = heed.safetensors.save(index, { vectors = vectors },
        { metadata = { checksum = sum, model = args.model } })
    if not ok then io.stderr:write("the index is not kept: ", problem, "\n") end
    return vectors
end

local function search(query, path)
    local lines = lines_of(assert(io.open(path)))
    local cosines = indexed(path, lines):matmul(model:embed({ query })[1])
    local values, places = cosines:topk(math.min(args.top, #lines))
    for i = 1, #values do print(("%.4f  %s"):format(values[i], lines[places[i]])) end
end

-- k-means on the sphere, beginning with lines far from each other.
local function groups_of(vectors, count)
    local nearest, centres = vectors:matmul(vectors[1]), { vectors[1] }
    for k = 2, count do
        centres[k] = vectors[nearest:argmin():item()]
        nearest = heed.maximum(nearest, vectors:matmul(centres[k]))
    end
    local group
    for _ = 1, 20 do
        group = vectors:matmul(heed.stack(centres, 1):t()):argmax(2)
        for k = 1, count do
            local mean = (vectors * group:eq(k):to "f32":unsqueeze(2)):sum(1)
            if mean:norm():item() > 0 then centres[k] = mean / mean:norm() end
        end
    end
    return group
end

if args.search then return search(args.search[1], args.search[2]) end
local lines = lines_of(io.stdin, args.vectors)
local vectors = model:embed(lines)
if args.cluster then
    local count = math.min(args.cluster, #lines)
    local group = groups_of(vectors, count)
    for k = 1, count do
        print(("group %d"):format(k))
        for i, line in ipairs(lines) do if group[i] == k then print("  " .. line) end end
    end
elseif args.vectors then
    for i = 1, #lines do -- nine digits: an f32, exactly
        local numbers = vectors[i]:totable()
        print((("%.9g "):rep(#numbers - 1) .. "%.9g"):format(table.unpack(numbers)))
    end
else
    for i, line in ipairs(lines) do
        print(("%.4f  %s"):format(i > 1 and (vectors[i] * vectors[i - 1]):sum():item() or 1, line))
    end
end
