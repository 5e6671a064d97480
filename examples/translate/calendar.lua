--- The first job: dates as people write them, to ISO 8601. Every pair is made up; the days of the
--- test are never trained on.

local heed = require "heed"
local dates = require "translate.dates"

local STEPS, BATCH, TEST_SIZE = 1000, 64, 1000

-- Character vocabularies of the two sides, from a sample that holds every character.
local function vocabularies(draw)
    local sources, targets = {}, {}
    for i, pair in ipairs(draw(2000)) do sources[i], targets[i] = pair[1], pair[2] end
    return heed.text.chars(sources), heed.text.chars(targets)
end

local function encode(pairs_of_text, source, target)
    local src, tgt = {}, {}
    for i, pair in ipairs(pairs_of_text) do
        src[i] = source:encode(pair[1], { eos = true })
        tgt[i] = target:encode(pair[2], { bos = true, eos = true })
    end
    local batch = {}
    batch.src, batch.src_lengths = heed.data.pad(src, { value = source.pad })
    batch.tgt, batch.tgt_lengths = heed.data.pad(tgt, { value = target.pad })
    return batch
end

local function train(model, draw, source, target, o)
    local optimizer = heed.optim.AdamW(model:parameters(), { lr = o.lr, betas = { 0.9, 0.98 },
        weight_decay = 0.01 })
    local rate = heed.optim.schedule.cosine { lr = o.lr, warmup = o.warmup, steps = o.steps }
    local bar = heed.progress(o.steps, { label = "training" })
    for step in bar do
        local batch = encode(draw(BATCH), source, target)
        local input, lengths = batch.tgt[{ {}, { 1, -2 } }], batch.tgt_lengths - 1
        local labels = heed.pack_sequences(batch.tgt[{ {}, { 2, -1 } }], lengths)
        local loss = heed.loss.cross_entropy(model(batch.src, batch.src_lengths, input, lengths),
            labels)
        optimizer:zero_grad()
        loss:backward()
        heed.optim.clip_grad_norm(model:parameters(), 1)
        optimizer.lr = rate(step)
        optimizer:step()
        bar:update { loss = loss:item(), tokens = labels:numel() }
    end
end

local function translate(model, batch, target)
    local _, answers = heed.generate(model, batch.src,
        { lengths = batch.src_lengths, prefix = target.bos, stop = target.eos,
        decode = target, max_new_tokens = 12 })
    local texts = {}
    for i, answer in ipairs(answers) do texts[i] = answer.text end
    return texts
end

local function exact_matches(model, test, source, target)
    local right = 0
    for first = 1, #test, 250 do
        local some = table.move(test, first, math.min(first + 249, #test), 1, {})
        for i, text in ipairs(translate(model, encode(some, source, target), target)) do
            if text == some[i][2] then right = right + 1 end
        end
    end
    return right
end

local function show_translations(model, test, source, target, count)
    print "\nDates that it has never seen:\n"
    local some = table.move(test, 1, count, 1, {})
    for i, text in ipairs(translate(model, encode(some, source, target), target)) do
        print(("  %-32s %s %s"):format(some[i][1], text, text == some[i][2] and "" or "but it is "
            .. some[i][2]))
    end
end

-- The cross-attention of the last layer, averaged over the heads: which characters it reads to
-- write each of its own.
local function show_attention(model, pair, layers, source, target)
    local batch = encode({ pair }, source, target)
    local capture <close> = heed.capture(model)
    do
        local _ <close> = heed.no_grad()
        model:decode(batch.tgt[{ {}, { 1, -2 } }], model:encode(batch.src, {}), {})
    end
    local weights = capture[("decoder.layers.%d.multihead_attn"):format(layers)]:mean(2):select(1,
        1)
    local read, written = {}, {}
    for i, id in ipairs(batch.src:select(1, 1):totable()) do
        read[i] = id == source.eos and "." or source:token(id)
    end
    for i, id in ipairs(batch.tgt:select(1, 1):totable()) do
        written[i] = id == target.eos and "." or target:token(id)
    end
    table.remove(written, 1)
    print(("\nWhat it looks at (across) to write each character (down) of %s:\n"):format(pair[2]))
    print(tostring(heed.viz.attention(weights / weights:max(), { x = read, y = written })))
end

return function(Translator, o)
    o.steps, o.lr, o.warmup = o.steps or STEPS, o.lr or 3e-3, o.warmup or 100
    heed.manual_seed(o.seed)
    if o.threads then heed.set_num_threads(o.threads) end
    local draw, test = dates.split(heed, o.seed, TEST_SIZE)
    local source, target = vocabularies(draw)
    local layers = o.layers or 2
    local model = Translator { src_vocab = #source, tgt_vocab = #target, d_model = o.d_model or 64,
        layers = layers,
        heads = o.heads or 4, d_ff = o.d_ff or 256, dropout = o.dropout or 0, max_len = 64 }
    train(model, draw, source, target, o)
    model:eval()
    show_translations(model, test, source, target, 10)
    show_attention(model, test[1], layers, source, target)
    print(("\nexact match %d of %d"):format(exact_matches(model, test, source, target), #test))
end
