-- Lines in, their translations out, by somebody else's model.
--
--     heed examples/translate_with.lua MODEL [--from LANG] [--to LANG] [--beam N] [--align]  < TEXT
--
-- MODEL is a directory of Hugging Face's (Marian, M2M-100, NLLB, T5) or of marian-nmt's. Models of
-- many languages take the tokens of two: --from eng_Latn --to fra_Latn, or as M2M-100 has them, en
-- and fr. --align prints below each translation its words and the source words they came from.

local argparse = require "argparse"
local heed = require "heed"

local parser = argparse("translate_with.lua", "Lines in, their translations out.")
parser:argument("model", "a directory, or a file of marian-nmt's")
parser:option("--from", "the language of the lines")
parser:option("--to", "the language to translate into")
parser:option("--beam", "so many beginnings are gone on with"):convert(math.tointeger)
parser:option("--batch", "so many lines are translated at once", "32"):convert(math.tointeger)
parser:flag("--align", "the source words of each word")
local args = parser:parse()

local model, tokenizer = heed.models.load(args.model)
if not model or type(tokenizer) ~= "table" then error(tokenizer or "it has no vocabulary", 0) end

local function language(name)
    return tokenizer:id(name) or tokenizer:id("__" .. name .. "__")
        or error("there is no token for the language " .. name, 0)
end

local prefix = model.generation.prefix
if args.to then prefix = { prefix[1], language(args.to) } end

local function encode(line)
    if not args.from then return tokenizer:encode(line) end
    local ids = tokenizer:encode(line, { specials = false })
    return table.move(ids, 1, #ids, 2, { language(args.from), [#ids + 2] = tokenizer.eos })
end

-- Which word each token is of, and the words: the first token of one has the mark of a space.
local function words_of(ids)
    local word_of, words = {}, {}
    for i, id in ipairs(ids) do
        if i == 1 or tokenizer:token(id):find "^\u{2581}" then words[#words + 1] = {} end
        table.insert(words[#words], id)
        word_of[i] = #words
    end
    for i, list in ipairs(words) do words[i] = tokenizer:decode(list):gsub("^ ", "") end
    return word_of, words
end

-- The source token that each target token looked at most: by the head that learned to align, or by
-- all heads of the last layer but one.
local function looked_at(source, target)
    local paths = {}
    for path in model:named_modules() do
        if path:find "multihead_attn$" then paths[#paths + 1] = path end
    end
    local path = model.alignment and model.alignment.layer or paths[math.max(#paths - 1, 1)]
    local read = table.move(target, 1, #target, #prefix + 1, { table.unpack(prefix) })
    local capture <close> = heed.capture(model, { layers = { path } })
    heed.no_grad(function() model({ source }, { read }) end)
    local weights = capture[path]:select(1, 1) -- [H, L, S]
    weights = model.alignment and weights[model.alignment.head] or weights:mean(1)
    return weights:narrow(1, #prefix, #target):narrow(2, 1, #source - 1):argmax(2):totable()
end

local function print_alignment(source, target)
    local word_of, words = words_of(target)
    local source_word_of, source_words = words_of(source)
    local came_from = {}
    for i, place in ipairs(#target > 0 and #source > 1 and looked_at(source, target) or {}) do
        local list, word = came_from[word_of[i]] or {}, source_words[source_word_of[place]]
        came_from[word_of[i]] = list
        if list[#list] ~= word then list[#list + 1] = word end
    end
    for i, list in ipairs(came_from) do print("", words[i], table.concat(list, " ")) end
end

-- Prints the translations of lines in their order; those of like length go together.
local function translate(lines)
    local order, sources, targets = {}, {}, {}
    for i, line in ipairs(lines) do
        sources[i], targets[i] = encode(line), {}
        if line:find "%S" then order[#order + 1] = i end
    end
    table.sort(order, function(a, b) return #sources[a] < #sources[b] end)
    for first = 1, #order, args.batch do
        local batch = {}
        for i = first, math.min(first + args.batch - 1, #order) do
            batch[#batch + 1] = sources[order[i]]
        end
        local written = heed.generate(model, batch, { prefix = prefix, beams = args.beam,
            max_new_tokens = 3 * #batch[#batch] + 8 })
        for i, target in ipairs(written) do targets[order[first + i - 1]] = target end
    end
    for i, target in ipairs(targets) do
        print((tokenizer:decode(target)))
        if args.align then print_alignment(sources[i], target) end
    end
end

local lines = {}
for line in io.lines() do
    lines[#lines + 1] = line
    if #lines == 8 * args.batch then
        translate(lines)
        lines = {}
    end
end
translate(lines)
