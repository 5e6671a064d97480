-- Are the vectors of texts those of sentence-transformers, and the ids before them?
--
--     heed spec/peers/sentences.lua PYTHON DIR FILE COUNT
--
-- compares the first COUNT lines of FILE (of several columns the first), and texts of 2, 4, 8 ...
-- of them. PYTHON needs the package that spec/peers/embed_sentences.py names.

local heed = require "heed"

local here = arg[0]:match "^(.*/)" or "./"
local python, directory, path, count = arg[1], arg[2], arg[3], math.tointeger(tonumber(arg[4]))
if not count then error("usage: heed spec/peers/sentences.lua PYTHON DIR FILE COUNT", 0) end

local function texts_of()
    local texts = {}
    for line in assert(io.lines(path)) do
        if #texts == count then break end
        texts[#texts + 1] = line:match "^[^\t]*"
    end
    local lines, together = #texts, 2
    while together <= lines do
        texts[#texts + 1] = table.concat(texts, " ", 1, together)
        together = together * 2
    end
    texts[#texts + 1] = ""
    return texts
end

local function answers_to(texts)
    local questions = os.tmpname()
    local file <close> = assert(io.open(questions, "w"))
    for _, text in ipairs(texts) do file:write(heed.json.encode(text), "\n") end
    file:flush()
    local pipe = assert(io.popen(("exec '%s' '%sembed_sentences.py' '%s' < %s"):format(python, here,
        directory, questions)))
    local answers = {}
    for line in pipe:lines() do answers[#answers + 1] = assert(heed.json.decode(line)) end
    assert(pipe:close(), "embed_sentences.py failed")
    os.remove(questions)
    return answers
end

local function ids_differ(model, tokenizer, text, theirs)
    local ids = tokenizer:encode(text, { truncate = model.pooling.max_tokens })
    if #ids ~= #theirs then return true end
    for i, id in ipairs(ids) do
        if id ~= theirs[i] + 1 then return true end
    end
end

local function cosine_of(a, b) return ((a * b):sum() / (a:norm() * b:norm())):item() end

local model, tokenizer = heed.models.load(directory)
if not model then error(tokenizer, 0) end
local texts = texts_of()
local answers, vectors = answers_to(texts), model:embed(texts)
local bad, worst, most = 0, 1, 0
for i, text in ipairs(texts) do
    local theirs = heed.tensor(answers[i].vector)
    local cosine = cosine_of(vectors[i]:to "f64", theirs:to "f64")
    worst = math.min(worst, cosine)
    most = math.max(most, (vectors[i] - theirs):abs():max():item())
    if ids_differ(model, tokenizer, text, answers[i].ids) or cosine < 0.999999 then
        bad = bad + 1
        print("differs", cosine, heed.json.encode(text:sub(1, 60)))
    end
end
print(("%d of %d texts differ; worst cosine %.9f, largest difference %.2g"):format(bad, #texts,
    worst, most))
os.exit(bad == 0)
