-- Damaged files of tokenizers: nil and a message, or a tokenizer that works. Never an error that is raised, never a
-- crash. A failure names its seed; HEED_FUZZ_SEED=seed HEED_FUZZ_COUNT=1 reads that file alone.

local damage = require "spec.support.damage"
local files = require "spec.support.tokenizer_files"
local heed = require "heed"
local shell = require "spec.support.shell"

local COUNT = tonumber(os.getenv "HEED_FUZZ_COUNT") or os.getenv "HEED_SANITIZED" and 30 or 150
local SEED = tonumber(os.getenv "HEED_FUZZ_SEED") or 1

local TEXTS = { "the quick brown fox", "", "a\u{301} \u{1F600}\0\xFF<s>[CLS]", ("fox "):rep(50) }

-- It reads, writes and streams; ids that it gave itself can be decoded.
local function try(tokenizer)
    for _, text in ipairs(TEXTS) do
        local ids, offsets = tokenizer:encode(text, { offsets = true })
        assert(#ids == #offsets)
        tokenizer:decode(ids)
        local stream = tokenizer:stream()
        for _, id in ipairs(ids) do stream:push(id) end
    end
    tokenizer:encode_batch(TEXTS)
end

-- What references refuse, too: a text that a vocabulary without an unknown token has no ids for.
local function is_refusal(message) return tostring(message):find("has no unknown token", 1, true) end

local function check(seed, text, ending)
    files.with(text, function(path)
        local ok, tokenizer, message = pcall(heed.text.tokenizer, path)
        if ok and tokenizer then
            ok, tokenizer = pcall(try, tokenizer)
            ok = ok or is_refusal(tokenizer)
        elseif ok and type(message) ~= "string" then
            ok, tokenizer = false, "nil without a message"
        end
        if not ok then
            local kept = os.tmpname() .. ending
            assert(io.open(kept, "wb")):write(text):close()
            error(("HEED_FUZZ_SEED=%d: %s (%s)"):format(seed, tostring(tokenizer), kept), 0)
        end
    end, ending)
end

local function each_seed(run)
    for seed = SEED, SEED + COUNT - 1 do
        math.randomseed(seed)
        run(seed)
    end
end

local function names_of(set)
    local names = {}
    for name in pairs(set) do names[#names + 1] = name end
    table.sort(names)
    return names
end

-- A vocabulary of letters for each of llama.cpp's models.
local function gguf_metadata(model)
    local tokens, types, scores = { "<unk>", "<s>", "</s>", "▁fox", "ab" }, { 2, 3, 3, 1, 1 }, { 0, 0, 0, -1, -2 }
    for i = 6, 60 do tokens[i], types[i], scores[i] = string.char(60 + i), 1, -i end
    return { ["general.architecture"] = "llama", ["tokenizer.ggml.model"] = model,
        ["tokenizer.ggml.pre"] = "gpt-2", ["tokenizer.ggml.tokens"] = tokens,
        ["tokenizer.ggml.token_type"] = types, ["tokenizer.ggml.scores"] = scores,
        ["tokenizer.ggml.merges"] = { "a b" }, ["tokenizer.ggml.unknown_token_id"] = 0,
        ["tokenizer.ggml.bos_token_id"] = 1, ["tokenizer.ggml.eos_token_id"] = 2,
        ["tokenizer.ggml.add_bos_token"] = true, ["tokenizer.ggml.add_space_prefix"] = true,
        ["tokenizer.ggml.precompiled_charsmap"] = { 0, 0, 0, 0 } }
end

describe("a damaged tokenizer", function()
    local json, sentencepiece = names_of(files.json), names_of(files.sentencepiece)

    it("of tokenizer.json is refused or works", function()
        each_seed(function(seed)
            local text = files.json[json[math.random(#json)]].file
            if math.random(5) == 1 then return check(seed, damage.bytes(text), ".json") end
            local tree = assert(heed.json.decode(text))
            for _ = 1, math.random(3) do damage.tree(tree) end
            check(seed, heed.json.encode(tree), ".json")
        end)
    end)

    it("of SentencePiece is refused or works", function()
        each_seed(function(seed)
            local name = sentencepiece[math.random(#sentencepiece)]
            check(seed, damage.bytes(files.bytes(files.sentencepiece[name].model)), ".model")
        end)
    end)

    it("of a GGUF file is refused or works", function()
        local MODELS = { "gpt2", "llama", "bert", "t5", "gemma4" }
        each_seed(function(seed)
            local metadata, path = gguf_metadata(MODELS[math.random(#MODELS)]), os.tmpname() .. ".gguf"
            for _ = 1, math.random(3) do damage.tree(metadata) end
            local ok, saved = pcall(heed.gguf.save, path, metadata, {})
            if ok and saved then check(seed, shell.read(path), ".gguf") end
            os.remove(path)
        end)
    end)

    it("of vocab.txt is refused or works", function()
        each_seed(function(seed)
            check(seed, damage.bytes "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nfox\nthe\n##s\n##e\nq\n", "vocab.txt")
        end)
    end)
end)
