--- Greedy answers and beams of models of other people are what Hugging Face transformers gives:
--- spec/fixtures/record_generate.py.

local builders = require "spec.models.rebuilt.builders"
local heed = require "heed"
local names = require "spec.models.rebuilt.names"
local plain = require "heed.plain"
local port = require "spec.models.rebuilt.port"

local MODELS = { gpt2 = "gpt2", llama = "llama", llama3 = "llama", t5_relu_tied = "t5",
    t5_gated = "t5", marian = "marian" }
local recorded, metadata = assert(heed.safetensors.load "spec/fixtures/generate.safetensors")
local CASES = assert(plain.decode(metadata.cases))

local function build(fixture)
    local tensors, own = assert(heed.safetensors.load("spec/fixtures/models/" .. fixture
        .. ".safetensors"))
    local weights = {}
    for name, t in pairs(tensors) do
        local rest = name:match "^weights/(.*)$"
        if rest then weights[rest] = t end
    end
    local name = MODELS[fixture]
    local model = builders[name](assert(plain.decode(own.config)))
    return model:load_state_dict(port(weights, names[name]), { names = "torch" })
end

-- Without what pads it.
local function unpadded(row)
    local list = {}
    for _, token in ipairs(row) do
        if token ~= 0 then list[#list + 1] = token end
    end
    return list
end

local function prompts_of(fixture)
    local list = {}
    for b, row in ipairs(recorded[fixture .. "/prompts"]:totable()) do list[b] = unpadded(row) end
    return list
end

-- ---- the models as heed.generate takes them -----------------------------------------------------

local causal = heed.mask.causal()

-- As they stand: the whole is computed anew for every token.
local whole = {}
function whole.gpt2(model) return function(tokens, lengths) return model(tokens, lengths) end end
whole.llama = whole.gpt2
function whole.t5(model) return model end
whole.marian = whole.t5

-- With a cache.
local cached = {}

local function with(model, functions)
    local way = heed.nn.Module:extend "Way"()
    way.model = model
    for name, f in pairs(functions) do way[name] = f end
    return way
end

function cached.gpt2(model)
    return with(model, { takes_cache = true, forward = function(_, tokens, o)
        local hidden = model.decoder(model.positions(model.words(tokens), o),
            { mask = causal, cache = o.cache })
        return heed.linear(hidden, model.words.weight)
    end })
end

function cached.llama(model)
    return with(model, { takes_cache = true, forward = function(_, tokens, o)
        return model.output(model.decoder(model.words(tokens), { mask = causal, cache = o.cache }))
    end })
end

cached.t5, cached.marian = whole.t5, whole.marian

-- ---- the cases ----------------------------------------------------------------------------------

local function options_of(fixture, case)
    local kind = MODELS[fixture]
    return { max_new_tokens = 7, prefix = (kind == "t5" or kind == "marian") and 1 or nil,
        stop = recorded[fixture .. "/end"]:item(),
        beams = case.num_beams, samples = case.num_return_sequences or 1,
            length_penalty = case.length_penalty,
        repetition_penalty = case.repetition_penalty }
end

local function check(fixture, label, model, prompts, cache)
    local options = options_of(fixture, CASES[label])
    options.cache = cache
    local _, info = heed.generate(model, prompts, options)
    local want = recorded[fixture .. "/" .. label .. "/tokens"]:totable()
    local scores = recorded[fixture .. "/" .. label .. "/scores"]
    for b, answers in ipairs(want) do
        for i, row in ipairs(answers) do
            local got = table.move(info[b][i].tokens, 1, #info[b][i].tokens, 1, {})
            if info[b][i].reason == "stop" then got[#got + 1] = options.stop end
            assert.same(unpadded(row), got, ("%s of prompt %d, answer %d"):format(label, b, i))
            if scores then assert.is_true(math.abs(scores[{ b, i }] - info[b][i].score) < 1e-4) end
        end
    end
end

describe("what transformers generates with", function()
    for fixture, kind in pairs(MODELS) do
        for how, ways in pairs { ["the whole anew each time"] = whole, ["a cache"] = cached } do
            if ways[kind] then
                it(("%s is generated with %s"):format(fixture, how), function()
                    local model = ways[kind](build(fixture))
                    local prompts = prompts_of(fixture)
                    for label in pairs(CASES) do
                        check(fixture, label, model, prompts, ways == cached)
                    end
                end)
            end
        end
    end

    it("ends by a stop token in some, and at the length in others", function()
        local ended, all = 0, 0
        for fixture in pairs(MODELS) do
            local stop = recorded[fixture .. "/end"]:item()
            for label in pairs(CASES) do
                local tokens = recorded[fixture .. "/" .. label .. "/tokens"]
                ended = ended + tokens:eq(stop):any(3):to("i64"):sum():item()
                all = all + tokens:size(1) * tokens:size(2)
            end
        end
        assert.is_true(ended > 0.2 * all and ended < 0.9 * all, ended .. " of " .. all)
    end)
end)
