-- Do heed and PyTorch decode alike? The models of the rows decode_*, with the same weights and
-- prompts, greedily.
--
--     heed spec/bench/decode.lua PYTHON [ROWS]
--
-- prints how many of the tokens are the same. Where two logits are as near as the rounding of
-- floats, what follows in that row may part.

local here = arg[0]:match "^(.*/)" or "./"
package.path = here .. "?.lua;" .. package.path

local heed = require "heed"
local workloads = require "workloads"

local python, rows = arg[1], math.tointeger(tonumber(arg[2] or "8"))
if not python or not rows then error("usage: heed spec/bench/decode.lua PYTHON [ROWS]", 0) end

-- What heed writes, and PyTorch with these weights.
local function both(name)
    heed.manual_seed(1)
    local model, prompt, options = workloads.decoders[name](rows)
    options.max_new_tokens = workloads.new_tokens
    local tokens, path = heed.generate(model:eval(), prompt, options), os.tmpname()
    local tensors = model:state_dict { names = "torch" }
    tensors.prompt = prompt
    assert(heed.safetensors.save(path, tensors))
    local pipe = assert(io.popen(("exec '%s' '%spytorch/decode.py' %s '%s'"):format(python, here,
        name, path)))
    local theirs = {}
    for line in pipe:lines() do
        local row = {}
        for token in line:gmatch "%d+" do row[#row + 1] = math.tointeger(tonumber(token)) end
        theirs[#theirs + 1] = row
    end
    assert(pipe:close(), "decode.py failed")
    os.remove(path)
    return tokens, theirs
end

for _, name in ipairs { "gpt", "encdec" } do
    local ours, theirs = both(name)
    local same, all = 0, 0
    for b, row in ipairs(ours) do
        for i, token in ipairs(row) do
            all = all + 1
            if theirs[b][i] == token then same = same + 1 end
        end
    end
    print(("%-8s %d of %d tokens are the same"):format(name, same, all))
end
