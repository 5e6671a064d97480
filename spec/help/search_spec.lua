-- help's search: by what people ask for, and by PyTorch's names.

local heed = require "heed"
local help = require "heed.help"
local search = require "heed.help.search"
local stem = require "heed.help.stem"
local synonyms = require "heed.help.synonyms"

local function paths(asked)
    local list = {}
    for i, doc in ipairs(search.find(asked)) do list[i] = doc.path end
    return list
end

describe("the search of help", function()
    it("finds what people ask for", function()
        for asked, path in pairs {
            ["gradient clipping"] = "heed.optim.clip_grad_norm",
            ["clipping gradients"] = "heed.optim.clip_grad_norm",
            ["how to clip the gradient"] = "heed.optim.clip_grad_norm",
            ["dataloader"] = "heed.data.batches", ["DataLoader"] = "heed.data.batches",
            ["data loader"] = "heed.data.batches",
            ["tied weights"] = "heed.nn.Linear", ["weight tying"] = "heed.nn.Linear",
            ["learning rate warmup"] = "heed.optim.schedule",
            ["warm up"] = "heed.optim.schedule", ["lr schedule"] = "heed.optim.schedule",
            ["vocabulary"] = "heed.text.bpe",
            ["vocabulary of characters"] = "heed.text.chars",
            ["word vocabulary"] = "heed.text.words",
            ["padding mask"] = "heed.mask.padding", ["mask of padding"] = "heed.mask.padding",
            ["early stopping"] = "heed.optim.EarlyStopping",
            ["stop early"] = "heed.optim.EarlyStopping",
            ["bag"] = "heed.bincount", ["embedding bag"] = "heed.nn.Embedding",
            ["saving a model"] = "heed.models.save",
            ["saving a checkpoint"] = "heed.checkpoint.save",
            ["confusion matrix"] = "heed.metrics.confusion",
            ["normalisation of layers"] = "heed.layer_norm",
            ["count of parameters"] = "heed.nn.Module:parameters",
        } do
            assert.are.equal(path, paths(asked)[1], asked)
        end
        assert.is_truthy(table.concat(paths "vocabulary", " "):find("heed.text.chars", 1, true))
    end)

    it("says of a name what else is called so", function()
        assert.is_truthy(help.text("checkpoint"):find(
            'Elsewhere "checkpoint" is also a name of heed.recompute', 1, true))
        assert.is_nil(help.text("softmax"):find("Elsewhere", 1, true))
        assert.is_nil(help.text(heed.checkpoint):find("Elsewhere", 1, true))
    end)

    it("still says that there is nothing", function()
        for _, asked in ipairs { "quokka", "entropy of quokkas", "of the", "", "?!" } do
            assert.are.same({}, paths(asked), asked)
        end
    end)
end)

describe("a stem", function()
    it("is one of all forms of a word", function()
        for _, forms in ipairs { "clip clips clipped clipping", "save saves saved saving",
            "add adds adding", "class classes", "index indices indexes", "matrix matrices",
            "normalize normalise normalization normalised norm", "optimizer optimisers optim",
            "schedule scheduler scheduling", "tie tied tying", "gradient gradients grad",
            "embed embedding embeddings", "vocab vocabulary vocabularies", "box boxes",
            "token tokens", "tokenize tokeniser tokenization" } do
            local wanted
            for form in forms:gmatch "%S+" do
                wanted = wanted or stem(form)
                assert.are.equal(wanted, stem(form), form)
            end
        end
    end)

    it("leaves alone what has no ending", function()
        for _, word in ipairs { "bias", "loss", "axis", "focus", "string", "gru", "as", "red" } do
            assert.are.equal(word, stem(word))
        end
    end)
end)

-- The names with dots in a cell's code, without what stands in brackets and in quotes.
local function names_in(cell)
    local list = {}
    for code in cell:gmatch "`([^`]+)`" do
        code = code:gsub('"[^"]*"', ""):gsub("%b()", ""):gsub("%b[]", ""):gsub("%b{}", "")
        for name in code:gmatch "%f[%w_.:][%a_]+[.:][%a_][%w_.]*%w_?" do
            if not name:find "^math" and #name > 3 then list[#list + 1] = name end
        end
    end
    return list
end

-- The rows of docs/from_pytorch.md: what the first column calls, and the second has for it.
local function rows()
    local list = {}
    for line in io.lines "docs/from_pytorch.md" do
        local theirs, ours = line:match "^| (.-) | (.*) |$"
        local row = theirs and { theirs = names_in(theirs), ours = names_in(ours) }
        if row and #row.theirs > 0 and #row.ours > 0 then list[#list + 1] = row end
    end
    return list
end

-- Is one of the names in the text, or the table that it stands in?
local function names_one(text, names)
    for _, name in ipairs(names) do
        local key, within = name:match "[%w_]+$", name:match "^(heed%.%w+)%.[%w_]+$"
        if text:find("%f[%w_]" .. key .. "%f[^%w_]") or within and text:find(within, 1, true) then
            return true
        end
    end
end

describe("PyTorch's names", function()
    it("lead to the rows of docs/from_pytorch.md", function()
        local wrong, count = {}, 0
        for _, row in ipairs(rows()) do
            for _, name in ipairs(row.theirs) do
                count = count + 1
                local text = help.text(name)
                if not text or not names_one(text, row.ours) then
                    wrong[#wrong + 1] = name .. (text and " finds something else" or "")
                end
            end
        end
        assert.are.same({}, wrong)
        assert.is_true(count > 100)
    end)

    it("belong to what there is", function()
        local there = {}
        search.each(function(doc) there[doc.path] = true end)
        for path in pairs(synonyms) do assert.is_true(there[path], path) end
    end)
end)
