-- Does a chat model in a GGUF file answer as with transformers, which dequantises the same file?
--
--     heed spec/peers/answers.lua MODEL.gguf PYTHON
--
-- Asks ten questions through the model's own chat template. Prints, of each, its tokens, the worst
-- difference of the prompt's logits, with weights as the file has them and dequantised, and how many
-- of 64 greedy tokens (with weights as the file has them) are the same. PYTHON needs the packages
-- that spec/peers/answers.py names.

local heed = require "heed"

local here = arg[0]:match "^(.*/)" or "./"
local path, python = arg[1], arg[2]
if not python then error("usage: heed spec/peers/answers.lua MODEL.gguf PYTHON", 0) end

local COUNT = 64
local TOLERANCE = 2e-3 -- of logits; weights that stay quantised meet x in two bytes an element
local QUESTIONS = {
    "What is the capital of France?",
    "Write a short poem about the sea.",
    "Explain to a child why the sky is blue.",
    "What is 17 + 25?",
    "Name three animals that live in the desert.",
    "Translate \"good morning\" into German, Spanish and Italian.",
    "Write a Python function that reverses a string.",
    "Who wrote Don Quixote, and when?",
    "Give me a recipe for pancakes with six ingredients.",
    "Summarise in one sentence: the cat sat on the mat, saw a bird, and fell asleep.",
}

local model, tokenizer = heed.models.load(path)
if not model then error(tokenizer, 0) end
local numbers = heed.models.load(path, { dtype = "f32" })

local asked = { texts = {}, ids = {} }
for i, question in ipairs(QUESTIONS) do
    local text = assert(tokenizer:chat { { role = "user", content = question } })
    asked.texts[i], asked.ids[i] = text, {}
    for j, id in ipairs(tokenizer:encode(text, { specials = false })) do asked.ids[i][j] = id - 1 end
end

-- What transformers gives.
local function reference()
    local questions, out = os.tmpname(), os.tmpname()
    local file <close> = assert(io.open(questions, "w"))
    file:write(heed.json.encode(asked))
    file:close()
    assert(os.execute(("exec '%s' '%s' 2>&1"):format(python, table.concat({ here .. "answers.py",
        path, questions, COUNT, out }, "' '"))))
    local answers = assert(heed.safetensors.load(out))
    os.remove(questions)
    os.remove(out)
    return answers
end

local function worst_logit(of, ids, want)
    return heed.no_grad(function() return (of(ids)[1] - want):abs():max():item() end)
end

local theirs, worst, same, alike = reference(), 0, 0, 0
print "question  tokens  ids   logits    as f32    same of 64"
for i, ids in ipairs(asked.ids) do
    local own = heed.tensor({ ids }, { dtype = "i64" }) + 1
    local difference = worst_logit(model, own, theirs[i .. ".logits"])
    local exact = worst_logit(numbers, own, theirs[i .. ".logits"])
    local written, equal = heed.generate(model, own, { max_new_tokens = COUNT, stop = {} })[1], 0
    local want = (theirs[i .. ".written"] + 1):totable()
    for j = 1, COUNT do equal = equal + (written[j] == want[j] and 1 or 0) end
    local same_ids = heed.equal(own[1] - 1, theirs[i .. ".ids"])
    print(("%-8d  %-6d  %-4s  %.2e  %.2e  %d"):format(i, #ids, same_ids and "same" or "no",
        difference, exact, equal))
    worst, same = math.max(worst, exact), same + (equal == COUNT and 1 or 0)
    alike = alike + (same_ids and 1 or 0)
end
print(("worst logit %.2e (bound %.0e), ids of %d and answers of %d of %d the same"):format(worst,
    TOLERANCE, alike, same, #QUESTIONS))
os.exit(worst <= TOLERANCE and same == #QUESTIONS and alike == #QUESTIONS)
