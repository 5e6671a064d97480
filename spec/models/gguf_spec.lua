local heed = require "heed"
local shell = require "spec.support.shell"
local typing = require "spec.support.typing"
require "heed.luassert"

local FOLDER = "spec/fixtures/families/llama/"
local LAYER = { ["input_layernorm"] = "attn_norm", ["self_attn.q_proj"] = "attn_q",
    ["self_attn.k_proj"] = "attn_k", ["self_attn.v_proj"] = "attn_v",
    ["self_attn.o_proj"] = "attn_output", ["post_attention_layernorm"] = "ffn_norm",
    ["mlp.gate_proj"] = "ffn_gate", ["mlp.up_proj"] = "ffn_up", ["mlp.down_proj"] = "ffn_down" }
local OTHERS = { ["model.embed_tokens.weight"] = "token_embd.weight",
    ["model.norm.weight"] = "output_norm.weight", ["lm_head.weight"] = "output.weight" }

local function name_of(name)
    local layer, part = name:match "^model%.layers%.(%d+)%.(.*)%.weight$"
    return layer and ("blk.%s.%s.weight"):format(layer, LAYER[part]) or OTHERS[name]
end

-- As llama.cpp keeps the rows of queries and keys: features i and i + D/2 are neighbours.
local function neighbours(w, heads)
    local rows, columns = w:size()
    return w:reshape(heads, 2, rows // heads // 2, columns):transpose(2, 3):reshape(rows, columns)
end

local TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}c"

-- The tiny Llama as a GGUF file, with a vocabulary of letters.
local function write(path, change, options)
    local tensors = {}
    for name, t in pairs(assert(heed.safetensors.load(FOLDER .. "model.safetensors"))) do
        if name:find "q_proj" then t = neighbours(t, 4) end
        if name:find "k_proj" then t = neighbours(t, 2) end
        tensors[name_of(name)] = t
    end
    local tokens, types = {}, {}
    for i = 1, 60 do tokens[i], types[i] = string.char(64 + i), 1 end
    tokens[1], types[1] = "<s>", 3
    local metadata = {
        ["general.architecture"] = "llama", ["llama.embedding_length"] = 32,
        ["llama.block_count"] = 2, ["llama.feed_forward_length"] = 48,
        ["llama.attention.head_count"] = 4, ["llama.attention.head_count_kv"] = 2,
        ["llama.attention.layer_norm_rms_epsilon"] = 1e-5, ["llama.rope.freq_base"] = 10000.0,
        ["llama.context_length"] = 64, ["tokenizer.ggml.model"] = "gpt2",
        ["tokenizer.ggml.pre"] = "gpt-2", ["tokenizer.ggml.tokens"] = tokens,
        ["tokenizer.ggml.token_type"] = types, ["tokenizer.ggml.merges"] = { "a b" },
        ["tokenizer.ggml.bos_token_id"] = 0, ["tokenizer.ggml.eos_token_id"] = 59,
        ["tokenizer.chat_template"] = TEMPLATE,
    }
    tokens[40] = "ab"
    if change then change(tensors, metadata) end
    assert(heed.gguf.save(path, metadata, tensors, options))
end

describe("a model in a GGUF file", function()
    local path

    before_each(function() path = os.tmpname() .. ".gguf" end)
    after_each(function() os.remove(path) end)

    it("computes as the directory that it was made of", function()
        write(path)
        local values = assert(heed.safetensors.load(FOLDER .. "values.safetensors"))
        local model, tokenizer, config = heed.models.load(path)
        assert(model, tokenizer)
        assert.is_close(model(values.ids + 1), values.logits, 1e-5)
        assert.are.equal("llama", config.model_type)
        assert.are.equal(64, config.max_position_embeddings)
        assert.are.equal(60, #tokenizer)
        assert.are.same({ 60, 1 }, { tokenizer.eos, tokenizer.bos })
        local written = heed.generate(model, values.ids + 1, { max_new_tokens = 12 })
        assert.are.same((values.written + 1):narrow(2, 8, 12):totable(), written)
    end)

    it("computes with quantised weights as they lie, of several types in one matrix", function()
        local kinds = { attn_q = "Q4_0", attn_k = "Q8_0", attn_v = "Q5_1", ffn_up = "Q4_1", ffn_gate = "Q8_0",
            attn_output = "Q8_0" }
        local types = {}
        for part, kind in pairs(kinds) do
            for i = 0, 1 do types[("blk.%d.%s.weight"):format(i, part)] = kind end
        end
        types["token_embd.weight"], types["output.weight"] = "Q8_0", "Q5_0"
        write(path, nil, { types = types })
        local model, numbers = assert(heed.models.load(path)), assert(heed.models.load(path, { dtype = "f32" }))
        local weight = model.decoder.layers[1].self_attn.in_proj_weight
        assert.are.equal("q4_0, q8_0, q5_1", weight.dtype)
        assert.is_true(heed.equal(weight:to "f32", numbers.decoder.layers[1].self_attn.in_proj_weight))
        assert.are.equal("q5_0", model.output.weight.dtype)
        assert.are.equal("f32", model.decoder.layers[1].linear2.weight.dtype) -- 48 columns are no blocks
        local ids = heed.ids { { 3, 17, 42, 5, 9, 30, 2 } }
        assert.is_close(model(ids), numbers(ids), 1e-4)
        local options = { max_new_tokens = 12, stop = {} }
        assert.are.same(heed.generate(numbers, ids, options), heed.generate(model, ids, options))
        for _, p in ipairs(heed.models.load(path, { grad = true }):parameters()) do
            assert.is_true(p.requires_grad)
        end
        local message = select(2, pcall(model.requires_grad_, model))
        assert.matches("a quantised weight has no gradient", message, 1, true)
    end)

    it("ties what it has no output for", function()
        write(path, function(tensors) tensors["output.weight"] = nil end)
        local model = assert(heed.models.load(path))
        assert.are.equal(model.tokens.weight, model.output.weight)
    end)

    it("is refused when it is not known or not whole", function()
        write(path, function(_, metadata) metadata["general.architecture"] = "rwkv" end)
        assert.matches("model_type: expected one of .*bert, .*llama, .*, got rwkv",
            select(2, heed.models.load(path)))
        write(path, function(tensors) tensors["blk.1.ffn_up.weight"] = nil end)
        assert.matches("expected 1 more tensors", select(2, heed.models.load(path)))
        write(path, function(_, metadata) metadata["llama.rope.scaling.type"] = "yarn" end)
        assert.matches("rope.scaling", select(2, heed.models.load(path)))
    end)

    it("talks: examples/chat.lua", function()
        write(path)
        local command = ("%s/heed examples/chat.lua %s --prompt DEF --temperature 0 --max_tokens "
            .. "5 2>&1")
            :format(os.getenv "HEED_BUILD" or "build", path)
        local model, tokenizer = heed.models.load(path)
        local ids = tokenizer:encode "DEFc"
        local want = heed.generate(model, { ids }, { max_new_tokens = 5, stop = 60 })[1]
        assert.are.equal(tokenizer:decode(want) .. "\n", shell.run(command))
        local talk = "printf 'DEF\\n\\n' | " .. command:gsub("%-%-prompt DEF ", "")
        assert.are.equal("> " .. tokenizer:decode(want) .. "\n> > \n", shell.run(talk))
        if typing.possible() then
            local seen, status = typing.at_terminal({ "wait > ", "send \\c" },
                { arguments = "examples/chat.lua " .. path })
            assert.are.same({ "> ^C\r\n", 0 }, { seen, status })
        end
        local page = os.tmpname() .. ".html"
        shell.run(command:gsub("2>&1", "--attention " .. page .. " 2>&1"))
        assert.is_truthy(shell.read(page):find("<svg", 1, true))
        os.remove(page)
    end)
end)

describe("examples/embed.lua", function()
    it("finds the nearest lines, and keeps the index", function()
        local folder = shell.lines "mktemp -d"[1]
        os.execute(("cp spec/fixtures/families/bert/* %s"):format(folder))
        local words = { "[PAD]", "[UNK]", "[CLS]", "[SEP]" }
        for i = 5, 60 do
            words[i] = i < 31 and string.char(92 + i) or "##" .. string.char(66 + i)
        end
        local function put(name, text)
            local file = assert(io.open(folder .. "/" .. name, "w"))
            file:write(text, "\n")
            file:close()
        end
        put("vocab.txt", table.concat(words, "\n"))
        put("lines.txt", "abc d\nxyz\nq q q\n")
        local heed_command = (os.getenv "HEED_BUILD" or "build") .. "/heed examples/embed.lua "
            .. folder
        local search = ("%s --search xyz %s/lines.txt --top 1 2>&1"):format(heed_command, folder)
        assert.are.equal("1.0000  xyz\n", shell.run(search))
        assert.is_truthy(heed.safetensors.load(folder .. "/lines.txt.vectors"))
        assert.are.equal("1.0000  xyz\n", shell.run(search))
        put("lines.txt", "abc\nxyz q\n")
        assert.matches("xyz q", shell.run(search))
        local groups = shell.run(("%s --cluster 5 < %s/lines.txt"):format(heed_command, folder))
        assert.are.equal("group 1\n  abc\ngroup 2\n  xyz q\n", groups)
        assert.matches("malformed argument '0'",
            shell.run(("%s --cluster 0 < %s/lines.txt 2>&1"):format(heed_command, folder)))
        assert.matches("the model is no encoder of sentences", shell.run(heed_command:sub(1, -#folder - 1)
            .. FOLDER .. " < /dev/null 2>&1"))
        put("lines.txt", "abc\n\nxyz q")
        local vectors = shell.lines(("%s --vectors < %s/lines.txt"):format(heed_command, folder))
        assert.are.equal(3, #vectors) -- a line for each, and of each number the f32 itself
        local want = heed.models.load(folder):embed { "abc", "", "xyz q" }
        for i, line in ipairs(vectors) do
            local numbers = {}
            for word in line:gmatch "%S+" do numbers[#numbers + 1] = tonumber(word) end
            assert.is_true(heed.tensor(numbers):equal(want[i]))
        end
        os.execute(("cd %s && cp lines.txt other && ln -s none other.vectors"):format(folder))
        assert.matches("^the index is not kept: [^\n]*no file\n%d[^\n]*xyz q\n$",
            shell.run((search:gsub("lines.txt", "other"))))
        os.execute("rm -r " .. folder)
    end)
end)
