-- Do GGUF files of tiny models give what the directories give that they were made of, and what
-- llama.cpp gives?
--
--     heed spec/peers/decoders.lua PYTHON LLAMA_PYTHON
--
-- Writes each recorded model that predicts the next token (spec/fixtures/families) as llama.cpp's
-- converter would, and prints the worst differences of logits. PYTHON and LLAMA_PYTHON need the
-- packages that spec/peers/decoder_files.py names.

local heed = require "heed"

local here = arg[0]:match "^(.*/)" or "./"
local python, llama_python = arg[1], arg[2]
if not llama_python then error("usage: heed spec/peers/decoders.lua PYTHON LLAMA_PYTHON", 0) end

local FOLDER = here .. "../fixtures/families/"
local NAMES = { "gpt2", "llama", "llama_tied", "llama_yarn", "mistral", "qwen2", "qwen3", "gemma2",
    "gemma3", "phi3", "phi3_long" }
-- llama.cpp looks gelu up in a table of f16.
local LOOKED_UP = { gpt2 = true, gemma2 = true, gemma3 = true }
local IDS = { 3, 17, 42, 5, 9, 30, 2, 8, 1, 55, 20, 4, 33, 6, 12, 41, 7, 50, 18, 26 } -- from 0

local function output(...)
    local pipe = assert(io.popen(("exec '%s'"):format(table.concat({ ... }, "' '"))))
    local text = pipe:read "a"
    assert(pipe:close())
    return text
end

-- What llama.cpp's files of these do not tell, and its program has otherwise.
local CHANGES = {
    mistral = function(c) c.model_type, c.sliding_window = "llama", nil end,
    qwen2 = function(c) c.use_sliding_window, c.layer_types = false, nil end,
    phi3 = function(c) c.sliding_window = nil end,
    llama_yarn = function(c) c.rope_parameters.beta_fast, c.rope_parameters.mscale = nil, nil end,
    gemma2 = function(c) c.query_pre_attn_scalar = c.head_dim end,
    gemma3 = function(c)
        c.query_pre_attn_scalar, c.layer_types = c.head_dim, nil
        c.rope_parameters.sliding_attention.rope_theta = 10000
    end,
}

-- A copy of the directory with a config that has the same.
local function changed(name)
    local folder = os.tmpname()
    os.remove(folder)
    output("cp", "-r", FOLDER .. name, folder)
    local file = assert(io.open(folder .. "/config.json"))
    local config = assert(heed.json.decode(file:read "a"))
    file:close()
    if CHANGES[name] then CHANGES[name](config) end
    file = assert(io.open(folder .. "/config.json", "w"))
    file:write(heed.json.encode(config))
    file:close()
    return folder
end

local function worst(a, b) return (a - b):abs():max():item() end

local path, ids, bad = os.tmpname() .. ".gguf", heed.tensor({ IDS }, { dtype = "i64" }) + 1, 0
print "model         directory   llama.cpp   (worst difference of logits)"
for _, name in ipairs(NAMES) do
    local folder = changed(name)
    output(python, here .. "decoder_files.py", "write", folder, path)
    local logits = assert(heed.models.load(path))(ids)[1]
    local own = worst(logits, assert(heed.models.load(folder))(ids)[1])
    output("rm", "-r", folder)
    local theirs = heed.tensor(assert(heed.json.decode(output(llama_python,
        here .. "decoder_files.py", "logits", path, table.unpack(IDS)))))
    local other = worst(logits, theirs)
    if not (own < 1e-5 and other < (LOOKED_UP[name] and 5e-3 or 1e-4)) then bad = bad + 1 end
    print(("%-12s  %.2e    %.2e"):format(name, own, other))
end
os.remove(path)
print(("%d of %d differ"):format(bad, #NAMES))
os.exit(bad == 0)
