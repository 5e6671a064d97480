-- Lines in, their translations out, by somebody else's model.
--     heed examples/translate_with.lua MODEL [--from LANG] [--to LANG] [--beam N] [--align] < TEXT
--
-- MODEL is a directory of Hugging Face's (Marian, NLLB, T5) or of marian-nmt's. Models of many
-- languages take two: --from eng_Latn --to fra_Latn. --align prints the source words of each word.

local argparse = require "argparse"
local heed = require "heed"

local parser = argparse("translate_with.lua", "Lines in, their translations out.")
parser:argument("model", "a directory, or a file of marian-nmt's")
parser:option("--from", "the language of the lines")
parser:option("--to", "the language to translate into")
parser:option("--beam", "so many beginnings are gone on with"):convert(math.tointeger)
parser:flag("--align", "the source words of each word")
local args = parser:parse()
local BATCH = 32 -- lines that are written together
local model, tokenizer, _, problem = heed.models.load(args.model)
if not model or not tokenizer then error(problem or tokenizer, 0) end
-- Tokens of languages are special: a decoded text is without them. Others are words.
local function language(name)
    local id = tokenizer:id("__" .. name .. "__") or tokenizer:id(name)
    if id and tokenizer:decode { id } == "" then return id end
    error("there is no token for the language " .. name, 0)
end

local start, most = model.generation.prefix, model.longest or math.maxinteger
local prefix = args.to and { start[1], language(args.to) } or start

local function encode(line)
    if not args.from then return tokenizer:encode(line, { truncate = most }) end
    local ids = tokenizer:encode(line, { specials = false, truncate = most - 2 })
    return table.move(ids, 1, #ids, 2, { language(args.from), [#ids + 2] = tokenizer.eos })
end

-- The words, and which of them each token is of: a word's first has the mark of a space.
local function words_of(ids)
    local word_of, words = {}, {}
    for i, id in ipairs(ids) do
        if i == 1 or tokenizer:token(id):find "^\u{2581}" then words[#words + 1] = {} end
        table.insert(words[#words], id)
        word_of[i] = #words
    end
    for i, list in ipairs(words) do words[i] = tokenizer:decode(list):gsub("^ ", "") end
    return words, word_of
end

-- The source token that each target token came from: where the head that learned to align looked
-- most, or without one all heads of the last layer but one.
local function origins_of(source, target)
    local place = model.alignment or { layer = ("decoder.layers.%d.multihead_attn"):format(
        math.max(#model.decoder.layers - 1, 1)) }
    local read = table.move(target, 1, #target, #prefix + 1, { table.unpack(prefix) })
    local capture <close> = heed.capture(model, { layers = { place.layer } })
    heed.no_grad(function() model({ source }, { read }) end)
    local weights = capture[place.layer]:select(1, 1) -- [H, L, S]
    weights = place.head and weights[place.head] or weights:mean(1)
    return weights:narrow(1, #prefix, #target):narrow(2, 1, #source - 1):argmax(2):totable()
end

local function print_alignment(source, target)
    local words, word_of = words_of(target)
    local source_words, source_word_of = words_of(source)
    local found = {}
    for i in ipairs(words) do found[i] = {} end
    for i, from in ipairs(origins_of(source, target)) do
        local list, word = found[word_of[i]], source_words[source_word_of[from]]
        if list[#list] ~= word then list[#list + 1] = word end
    end
    for i, list in ipairs(found) do print("", words[i], table.concat(list, " ")) end
end

-- Prints the translations of lines in their order; those of like length are written together.
local function translate(lines)
    local order, sources, targets = {}, {}, {}
    for i, line in ipairs(lines) do
        sources[i], targets[i] = encode(line), {}
        if line:find "%S" then order[#order + 1] = i end
    end
    table.sort(order, function(a, b) return #sources[a] < #sources[b] end)
    for first = 1, #order, BATCH do
        local batch, last = {}, math.min(first + BATCH - 1, #order)
        for i = first, last do batch[#batch + 1] = sources[order[i]] end
        local written = heed.generate(model, batch, { prefix = prefix, beams = args.beam,
            max_new_tokens = math.min(3 * #batch[#batch] + 8, most - #prefix) })
        for i, target in ipairs(written) do targets[order[first + i - 1]] = target end
    end
    for i, target in ipairs(targets) do
        print((tokenizer:decode(target)))
        if args.align and #target > 0 then print_alignment(sources[i], target) end
    end
end

local lines = {}
for line in io.lines() do
    lines[#lines + 1] = line
    if #lines == 8 * BATCH then lines = translate(lines) or {} end
end
translate(lines)
