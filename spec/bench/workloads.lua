-- What is timed: the workloads of pytorch/reference.py under the same names.
--
-- workloads[name] = { make = f, work = n, unit = "flop" | "byte" }: f() gives the function to time;
-- work is what one call of it must do (PyTorch's is counted alike): 2 M N K for a product, 4 D for
-- each pair of query and key that may meet in attention forward, 14 D forward and backward, and
-- three times the forward products for a training step. Padding is no work.
--
-- workloads.names is their order.

local heed = require "heed"
local models = require "models"

local workloads = { names = {} }

local function add(name, work, unit, make)
    workloads.names[#workloads.names + 1] = name
    workloads[name] = { make = make, work = work, unit = unit }
end

local function inference(f)
    return function()
        local _ <close> = heed.no_grad()
        f()
    end
end

local function training_step(model, loss_of)
    local opt = heed.optim.AdamW(model:parameters(), { lr = 3e-4, weight_decay = 0.1 })
    return function()
        opt:zero_grad()
        local loss = loss_of(model)
        loss:backward()
        opt:step()
        return loss:item()
    end
end

-- ---- operations ---------------------------------------------------------------------------------

for _, n in ipairs { 512, 1024, 2048 } do
    add("sgemm_" .. n, 2 * n ^ 3, "flop", function()
        local a, b = heed.randn(n, n), heed.randn(n, n)
        return inference(function() return heed.matmul(a, b) end)
    end)
end

for _, m in ipairs { 1, 8, 32, 512 } do
    add(("linear_%dx768x3072"):format(m), 2 * m * 768 * 3072, "flop", function()
        local x, w, b = heed.randn(m, 768), heed.randn(3072, 768), heed.randn(3072)
        return inference(function() return heed.linear(x, w, b) end)
    end)
end

local HEADS, HEAD_DIM = 12, 64

local function visible_pairs(length, causal)
    return causal and length * (length + 1) / 2 or length ^ 2
end

local function attention_forward(length, options)
    local q, k, v = heed.randn(1, HEADS, length, HEAD_DIM), heed.randn(1, HEADS, length, HEAD_DIM),
        heed.randn(1, HEADS, length, HEAD_DIM)
    return inference(function() return heed.attention(q, k, v, options) end)
end

local function attention_forward_backward(length, options)
    local function input() return heed.randn(1, HEADS, length, HEAD_DIM):requires_grad_(true) end
    local q, k, v = input(), input(), input()
    local g = heed.randn(1, HEADS, length, HEAD_DIM)
    return function()
        q.grad, k.grad, v.grad = nil, nil, nil
        heed.attention(q, k, v, options):backward(g)
    end
end

for _, way in ipairs { "forward", "forward_backward" } do
    local make = way == "forward" and attention_forward or attention_forward_backward
    for _, length in ipairs { 128, 512, 1024, 2048, 4096 } do
        for _, causal in ipairs { false, true } do
            local work = (way == "forward" and 4 or 14) * HEAD_DIM * HEADS * visible_pairs(length,
                causal)
            add(("attention_%s_L%d%s"):format(way, length, causal and "_causal" or ""), work,
                "flop", function()
                return make(length, causal and { mask = heed.mask.causal() } or nil)
            end)
        end
    end
end

-- 4 E^2 of attention's projections and 8 E^2 of the feed-forward part.
local LAYER = 12

for _, shape in ipairs { { 8, 128 }, { 1, 512 } } do
    local batch, length = table.unpack(shape)
    local work = batch * (2 * length * LAYER * 768 ^ 2 + 4 * 768 * length ^ 2)
    local function make()
        local layer = heed.nn.TransformerEncoderLayer(768, 12, 3072):eval()
        local x = heed.randn(batch, length, 768)
        return inference(function() return layer(x) end)
    end
    -- _plain is the same here: it is PyTorch that has two paths.
    add(("encoder_layer_%dx%d"):format(batch, length), work, "flop", make)
    add(("encoder_layer_%dx%d_plain"):format(batch, length), work, "flop", make)
end

-- Rows x steps x features, as many units as features.
for _, shape in ipairs { { 32, 128, 256 }, { 1, 128, 256 } } do
    local batch, length, size = table.unpack(shape)
    for _, one in ipairs { { "gru", 3 }, { "lstm", 4 } } do
        local kind, gates = table.unpack(one)
        local work = 4 * batch * length * gates * size ^ 2
        local function layer_and_input()
            return heed.nn[kind:upper()](size, size), heed.randn(batch, length, size)
        end
        add(("%s_forward_%dx%dx%d"):format(kind, batch, length, size), work, "flop", function()
            local layer, x = layer_and_input()
            return inference(function() return layer(x) end)
        end)
        add(("%s_forward_backward_%dx%dx%d"):format(kind, batch, length, size), 3 * work, "flop",
            function()
                local layer, x = layer_and_input()
                local g, params = heed.randn(batch, length, size), layer:parameters()
                x.requires_grad, params[#params + 1] = true, x
                return function()
                    for _, p in ipairs(params) do p.grad = nil end
                    layer(x):backward(g)
                end
            end)
    end
end

-- ---- training steps -----------------------------------------------------------------------------

local function add_gpt(name, layers, dim, heads, ff, context, batch)
    local vocab, tokens = 65, batch * context
    local products = 6 * tokens * (layers * (4 * dim ^ 2 + 2 * dim * ff) + vocab * dim)
    local attention = 14 * dim * layers * batch * visible_pairs(context, true)
    add(name, products + attention, "flop", function()
        local model = models.GPT(layers, dim, heads, ff, context, vocab)
        local x, y = heed.randint(1, vocab, batch, context), heed.randint(1, vocab, batch, context)
        return training_step(model, function(f) return heed.loss.cross_entropy(f(x), y) end)
    end)
end

add_gpt("char_gpt", 6, 384, 6, 1536, 256, 16)
add_gpt("small_32x32", 2, 64, 4, 256, 32, 32)
add_gpt("small_1x32", 2, 64, 4, 256, 32, 1)
add_gpt("small_1x8", 2, 64, 4, 256, 8, 1)

do
    local layers, dim, heads, ff, vocab, pairs = 3, 256, 8, 1024, 8000, 64
    local pad, begin, shortest, longest = 1, 2, 14, 20

    -- Lengths are 14..20, each as likely: 17 in the mean, their square 293.
    local tokens, square = pairs * 17, pairs * 293
    local encoder = layers * tokens * LAYER * dim ^ 2
    local decoder = layers * tokens * (LAYER + 4) * dim ^ 2
    local attention = 14 * dim * layers * (square + (square + tokens) / 2 + tokens * 17)

    local function padded()
        local lengths = heed.randint(shortest, longest, pairs)
        local past = heed.range(1, longest):view(1, -1):gt(lengths:view(-1, 1))
        return heed.randint(2, vocab, pairs, longest):masked_fill(past, pad), lengths
    end

    add("encdec", 6 * (encoder + decoder + tokens * vocab * dim) + attention, "flop", function()
        local model = models.encoder_decoder(layers, dim, heads, ff, vocab)
        local src, src_lengths = padded()
        local labels, tgt_lengths = padded()
        local tgt = heed.cat({ heed.full({ pairs, 1 }, begin, { dtype = "i64" }),
            labels:narrow(2, 1, longest - 1) }, 2)
            :masked_fill(labels:eq(pad), pad)
        local lengths = { src_lengths = src_lengths, tgt_lengths = tgt_lengths }
        local options = { ignore_index = pad, label_smoothing = 0.1 }
        return training_step(model, function()
            local hidden = model:decode(tgt, model:encode(src, { src_lengths = src_lengths }),
                lengths)
            return heed.loss.linear_cross_entropy(hidden, model.output.weight, labels, options)
        end)
    end)
end

-- ---- decoding -----------------------------------------------------------------------------------

-- So many tokens of a source or prompt, and so many new ones, of each row.
local PROMPT, NEW = 32, 64
workloads.decoders, workloads.new_tokens = {}, NEW

-- weights: those that a token is multiplied with; kept, memory: widths of layers over what came
-- before, and over a source. One row is bound by reading them, many by their products. make(rows)
-- gives a model, its prompt and options of heed.generate.
local function add_decode(name, weights, kept, memory, make)
    workloads.decoders[name] = make
    local seen = NEW * (NEW + 1) / 2
    for _, batch in ipairs { 1, 32 } do
        local attention = 4 * batch * (kept * (seen + (memory == 0 and PROMPT * NEW
            or 0)) + memory * PROMPT * NEW)
        local work = batch == 1 and 4 * NEW * weights or 2 * batch * NEW * weights + attention
        add(("decode_%s_%d"):format(name, batch), work, batch == 1 and "read" or "flop", function()
            local model, prompt, options = make(batch)
            options.max_new_tokens = NEW
            return function() return heed.generate(model:eval(), prompt, options) end
        end)
    end
end

add_decode("gpt", 6 * LAYER * 384 ^ 2 + 65 * 384, 6 * 384, 0, function(batch)
    return models.GPT(6, 384, 6, 1536, PROMPT + NEW, 65), heed.randint(1, 65, batch, PROMPT), {}
end)

add_decode("encdec", 3 * (LAYER + 2) * 256 ^ 2 + 8000 * 256, 3 * 256, 3 * 256, function(batch)
    return models.encoder_decoder(3, 256, 8, 1024, 8000), heed.randint(3, 8000, batch, PROMPT),
        { prefix = 2 }
end)

-- ---- the optimiser ------------------------------------------------------------------------------

do
    local shapes = { { 50257, 768 }, { 1024, 768 } }
    for _ = 1, 12 do
        for _, shape in ipairs { { 768, 2304 }, { 768, 768 }, { 768, 3072 }, { 3072, 768 } } do
            shapes[#shapes + 1] = shape
        end
    end
    local count = 0
    for _, shape in ipairs(shapes) do count = count + shape[1] * shape[2] end

    -- w, g, m and v are read, w, m and v are written.
    add("adamw_124m", 7 * 4 * count, "byte", function()
        local parameters = {}
        for i, shape in ipairs(shapes) do
            parameters[i] = (heed.randn(shape) * 0.02):requires_grad_(true)
            parameters[i].grad = heed.randn(shape) * 0.01
        end
        local opt = heed.optim.AdamW(parameters, { lr = 1e-4 })
        return function() opt:step() end
    end)
end

return workloads
