--- What the forms of an English word have in common: clip of clips, clipped, clipping.

-- Short forms, other spellings, and forms that no rule makes.
local SAME = {
    gradient = "grad", vocabulary = "vocab", parameter = "param", dimension = "dim",
    convolution = "conv", sequence = "seq", attn = "attention", optim = "optimize",
    optimizer = "optimize", optimization = "optimize", norm = "normalize",
    normalization = "normalize", initialization = "init", initialize = "init",
    initializer = "init", initial = "init", tokenizer = "tokenize", tokenization = "tokenize",
    scheduler = "schedule", regularization = "regularize", average = "avg", tied = "tie",
    tying = "tie", maximum = "max", minimum = "min", lr = "rate", params = "param",
    stddev = "std", deviation = "std", matrices = "matrix", indices = "index",
    indexes = "index", embeddings = "embed",
}

-- The last consonant once: clipp of clipping is clip, but add of adding is add.
local function single(word)
    local before, last = word:match "^(..+)(%l)%2$"
    return before and last:find "[bdgmnprt]" and before .. last or word
end

local function without_s(word)
    if #word < 4 or not word:find "[^siu]s$" or word:find "ias$" then return word end
    if word:find "ies$" then return (word:gsub("ies$", "y")) end
    return (word:gsub("([xsz])es$", "%1"):gsub("([^s])s$", "%1"))
end

local function without_ending(word)
    for _, ending in ipairs { "ing", "ed" } do
        local rest = word:match("^(.+)" .. ending .. "$")
        if rest and #rest >= 3 and rest:find "[aeiouy]" and word ~= "embed" then
            return single(rest)
        end
    end
    return word
end

---@param word string of small letters
---@return string
local function stem(word)
    word = word:gsub("is(ations?)$", "iz%1"):gsub("is(e[rsd]*)$", "iz%1")
    word = without_s(SAME[word] or word)
    word = without_ending(SAME[word] or word)
    word = SAME[word] or word
    return #word > 3 and word:gsub("e$", "") or word
end

return stem
