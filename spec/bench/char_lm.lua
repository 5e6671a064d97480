-- The language model of characters of examples/09_char_lm.lua, trained by heed and by PyTorch: the
-- same text, model, initial weights, batches and schedule. Prints both losses as they fall, and
-- both validation losses.
--
--     heed spec/bench/char_lm.lua TEXT [--python FILE] [--steps 2000] [--threads 2]
--
-- 4 layers, d_model 128, 4 heads, context 64, batch 12. heed goes first and leaves its initial
-- weights and its batches in a file for pytorch/char_lm.py. Without Python heed alone is trained.

local here = arg[0]:match "^(.*/)" or "./"
package.path = here .. "?.lua;" .. package.path

local heed = require "heed"
local models = require "models"

local LAYERS, D_MODEL, HEADS, CONTEXT, BATCH = 4, 128, 4, 64, 12
local SHOWN = 10 -- lines of the table; each is the mean of the steps since the one before

local function options()
    local parser = require "argparse"("char_lm.lua",
        "One language model, trained by heed and by PyTorch.")
    parser:argument("text", "a file")
    parser:option("--python", "a Python that has torch"):default(os.getenv "HEED_BENCH_PYTHON")
    parser:option("--steps"):convert(math.tointeger):default "2000"
    parser:option("--threads"):convert(math.tointeger):default "2"
    return parser:parse()
end

-- Windows of the text that begin at these places [B], and what follows each of their characters, as
-- [B, L] each.
local function windows(tokens, starts)
    local at = starts:view(-1, 1) + heed.range(0, CONTEXT - 1, { dtype = "i64" })
    return tokens[at], tokens[at + 1]
end

local function evaluate(model, tokens)
    local _ <close> = heed.no_grad()
    local starts = heed.range(1, #tokens - CONTEXT, CONTEXT, { dtype = "i64" })
    local total = 0
    for _, some in ipairs(starts:split(64)) do
        local inputs, targets = windows(tokens, some)
        total = total + heed.loss.cross_entropy(model(inputs), targets,
            { reduction = "sum" }):item()
    end
    return total / (#starts * CONTEXT)
end

local function train(model, tokens, starts, steps)
    local optimizer = heed.optim.AdamW(model:parameters(),
        { betas = { 0.9, 0.99 }, weight_decay = 0.1 })
    local rate = heed.optim.schedule.cosine { lr = 1e-3, min_lr = 1e-4, warmup = 100,
        steps = steps }
    local losses, begun = {}, heed.clock()
    for step in heed.progress(steps, { label = "heed" }) do
        local inputs, targets = windows(tokens, starts[step])
        local loss = heed.loss.cross_entropy(model(inputs), targets)
        optimizer:zero_grad()
        loss:backward()
        heed.optim.clip_grad_norm(model:parameters(), 1)
        optimizer.lr = rate(step)
        optimizer:step()
        losses[step] = loss:item()
    end
    return losses, heed.clock() - begun
end

local function quoted(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

-- What pytorch/char_lm.py prints: "loss VALUE" a step, "seconds VALUE", "valid VALUE".
local function pytorch(o, shared)
    local command = ("exec %s %spytorch/char_lm.py %s %s --heads %d --threads %d"):format(
        quoted(o.python), here, quoted(o.text),
        quoted(shared), HEADS, o.threads)
    local pipe = assert(io.popen(command))
    local losses, found = {}, {}
    for line in pipe:lines() do
        local name, value = line:match "^(%a+) (%S+)$"
        if name == "loss" then losses[#losses + 1] = tonumber(value) elseif name then found[name] =
            tonumber(value) end
    end
    assert(pipe:close(), "pytorch/char_lm.py failed")
    return losses, found.seconds, found.valid
end

local function mean(list, first, last)
    local total = 0
    for i = first, last do total = total + list[i] end
    return total / (last - first + 1)
end

local function print_table(steps, ours, theirs)
    print("steps        heed   PyTorch")
    for line = 1, SHOWN do
        local first, last = steps * (line - 1) // SHOWN + 1, steps * line // SHOWN
        if first <= last then
            print(("%5d %11.4f %9s"):format(last, mean(ours, first, last),
                theirs and ("%.4f"):format(mean(theirs, first, last)) or "-"))
        end
    end
end

local o = options()
heed.set_num_threads(o.threads)
local file <close> = assert(io.open(o.text))
local text = file:read "a"
local vocabulary = heed.text.chars(text, { specials = {} })
local tokens = heed.ids(vocabulary:encode(text))
local cut = math.floor(0.9 * #tokens)
local train_tokens, valid_tokens = tokens[{ { 1, cut } }], tokens[{ { cut + 1, -1 } }]

heed.manual_seed(9)
local model = models.GPT(LAYERS, D_MODEL, HEADS, 4 * D_MODEL, CONTEXT, #vocabulary)
heed.nn.init.normal_(model.tokens.weight, 0, 0.02)
local starts = heed.randint(1, #train_tokens - CONTEXT, o.steps, BATCH)
local shared = model:state_dict { names = "torch" }
for name, t in pairs(shared) do shared[name] = t:clone() end
shared.starts = starts - 1 -- PyTorch counts from 0

print(("%d characters, %d of them different; %d steps of %d x %d"):format(#tokens, #vocabulary,
    o.steps, BATCH, CONTEXT))
local ours, our_seconds = train(model, train_tokens, starts, o.steps)
local our_valid = evaluate(model, valid_tokens)
local theirs, their_seconds, their_valid
if o.python then
    local path = os.tmpname()
    assert(heed.safetensors.save(path, shared))
    theirs, their_seconds, their_valid = pytorch(o, path)
    os.remove(path)
end
print_table(o.steps, ours, theirs)
print(("valid %11.4f %9s"):format(our_valid, their_valid and ("%.4f"):format(their_valid) or "-"))
print(("time  %9.1f s %7s s"):format(our_seconds, their_seconds and ("%.1f"):format(their_seconds)
    or "-"))
