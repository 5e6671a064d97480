--- The second job: pairs of a corpus. A shared BPE vocabulary is learned from them, batches are
--- counted by tokens, the checkpoint that is best on the validation pairs is kept.

local fail = require "translate.fail"
local heed = require "heed"
local run = require "translate.run"
local score = require "translate.score"

local function read(path)
    local list, message = heed.data.pairs(path)
    if not list then fail("%s", message) end
    if #list == 0 then fail("%s: no pairs in it", path) end
    return list
end

local function learn_vocabulary(examples, size)
    local lines = {}
    for i, pair in ipairs(examples) do lines[2 * i - 1], lines[2 * i] = pair[1], pair[2] end
    return heed.text.bpe.train(lines, { vocab_size = size })
end

-- Pairs that are longer than the model's positions are left out of training.
local function encode(examples, bpe, longest)
    local list = {}
    for _, pair in ipairs(examples) do
        local src, tgt = bpe:encode(pair[1], { eos = true }),
            bpe:encode(pair[2], { bos = true, eos = true })
        if #src <= longest and #tgt <= longest then list[#list + 1] = { src = src, tgt = tgt } end
    end
    return list
end

local function configuration(o, vocabulary_size)
    return { src_vocab = vocabulary_size, tgt_vocab = vocabulary_size, shared_vocab = true,
        d_model = o.d_model or 256,
        layers = o.layers or 3, heads = o.heads or 8, d_ff = o.d_ff or 4 * (o.d_model or 256),
            dropout = o.dropout or 0.1,
        max_len = 512 }
end

-- Opened before the training, so that a path which cannot be written to is known before the work
-- and not after it.
local function open_output(path)
    local file, message = io.open(path, "a")
    if not file then fail("%s", message) end
    file:close()
end

local function write_output(path, lines)
    local file, message = io.open(path, "w")
    if not file then fail("%s", message) end
    local written, write_message = file:write(table.concat(lines, "\n"), "\n")
    local closed, close_message = file:close()
    if not (written and closed) then fail("%s: %s", path, write_message or close_message) end
end

local function report(model, bpe, test, o)
    local started = heed.clock()
    local translations = score.translate(model, bpe, test, o.beams)
    if o.output then write_output(o.output, translations) end
    print "\nsource, translation, reference:"
    for i = 1, #test, math.max(1, #test // 10) do
        print(("\n  %s\n  %s\n  %s"):format(test[i][1], translations[i], test[i][2]))
    end
    print(("\nBLEU %.2f on %d pairs (%.0f s)"):format(score.bleu(translations, test), #test,
        heed.clock() - started))
end

return function(Translator, o)
    heed.manual_seed(o.seed)
    if o.threads then heed.set_num_threads(o.threads) end
    local train, valid, test = read(o.train), read(o.valid), o.test and read(o.test)
    if o.output then open_output(o.output) end
    local bpe = learn_vocabulary(train, o.vocab)
    local config = configuration(o, #bpe)
    local model = Translator(config)
    print(("%d pairs, %d tokens in the vocabulary, %d parameters"):format(#train, #bpe,
        run.count(model)))
    local finished = run.train(model, bpe, config, encode(train, bpe, config.max_len),
        encode(valid, bpe, config.max_len), o)
    if not finished then os.exit(130, true) end
    if o.save then
        local ok, message = heed.checkpoint.load(o.save, { model = model })
        if not ok then fail("%s", message) end
    end
    model:eval()
    if test then report(model, bpe, test, o) end
end
