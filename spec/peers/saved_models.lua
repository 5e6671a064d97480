-- Do transformers, llama.cpp and the package gguf load what heed.models.save writes, with the same
-- ids, the same numbers and the same answers?
--
--     heed spec/peers/saved_models.lua PYTHON LLAMA_PYTHON MODEL...
--
-- writes each model (a directory or a GGUF file, of a family that llama.cpp has) as a directory and
-- as GGUF files, as stored and as Q8_0. PYTHON needs transformers, torch and gguf, LLAMA_PYTHON
-- llama-cpp-python. Prints what differs.

local heed = require "heed"

local here = arg[0]:match "^(.*/)" or "./"
local python, llama_python = arg[1], arg[2]
if not arg[3] then
    error("usage: heed spec/peers/saved_models.lua PYTHON LLAMA_PYTHON MODEL...", 0)
end

local TEXTS = { "The sky is blue.", "  Two  spaces, 12345 digits; naïve ﬁ ligature", "你好 wörld 😀\n\nx",
    "def f(x):\n\treturn x**2", "I'll we've don't" }
local ANSWER = 24

local function write(path, text)
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
end

-- What heed says of the texts: ids from 0, hidden states or logits, and how it goes on or the
-- vector.
local function record(model, tokenizer, folder)
    local values, expected = {}, { texts = TEXTS, ids = {}, answers = {} }
    for i, text in ipairs(TEXTS) do
        local ids = tokenizer:encode(text)
        expected.ids[i] = {}
        for j, id in ipairs(ids) do expected.ids[i][j] = id - 1 end
        values["out" .. i] = heed.no_grad(function() return model { ids } end)
        if model.embed then
            values["vector" .. i] = heed.no_grad(function() return model:embed { ids } end)
        else
            local written = heed.generate(model, ids, { max_new_tokens = ANSWER })
            expected.answers[i] = {}
            for j, id in ipairs(written) do expected.answers[i][j] = id - 1 end
        end
    end
    assert(heed.safetensors.save(folder .. "/expected.safetensors", values))
    write(folder .. "/expected.json", heed.json.encode(expected))
end

local function run(command, ...)
    local line = ("exec '%s' '%ssaved_models.py' '%s'"):format(command, here,
        table.concat({ ... }, "' '"))
    if not os.execute(line) then print("failed: " .. line) end
end

for i = 3, #arg do
    print(arg[i])
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder))
    local model, tokenizer = heed.models.load(arg[i])
    if not model then error(tokenizer, 0) end
    record(model, assert(tokenizer), folder)
    assert(heed.models.save(folder .. "/saved", model, tokenizer))
    run(python, "transformers", folder)
    assert(heed.models.save(folder .. "/saved.gguf", model, tokenizer))
    run(python, "gguf", folder)
    run(llama_python, "llama", folder, "saved.gguf")
    assert(heed.models.save(folder .. "/small.gguf", model, tokenizer, { type = "Q8_0" }))
    run(llama_python, "llama", folder, "small.gguf")
    os.execute("rm -r " .. folder)
end
