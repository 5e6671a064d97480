--- What a tokenizer puts around the ids of a text, or of two: the post-processors of
--- tokenizer.json.

local steps = require "heed.text.tokenizer.steps"
local unknown = require "heed.text.tokenizer.unknown"

local post = {}

---@class heed.text.tokenizer.Around
---@field single (integer|string)[] ids from 1, and "A" for those of the text
---@field pair (integer|string)[] "B" for those of the second
---@field trim boolean offsets leave out the spaces at a token's ends
---@field prefix_space boolean the first token's space was put there

local function of_template(pieces, specials)
    local list = {}
    for _, piece in ipairs(unknown.check(pieces, "table", "TemplateProcessing")) do
        if piece.Sequence then
            list[#list + 1] = unknown.check(piece.Sequence.id, "string", "TemplateProcessing")
        else
            local special = specials[piece.SpecialToken and piece.SpecialToken.id]
            if not special then unknown.refuse "TemplateProcessing: a special token without ids" end
            for _, id in ipairs(special.ids) do list[#list + 1] = id + 1 end
        end
    end
    return list
end

local function ids_of(p)
    return unknown.check(p.cls, "table", p.type)[2] + 1,
        unknown.check(p.sep, "table", p.type)[2] + 1
end

local processors
processors = {
    TemplateProcessing = function(p, around)
        around.single = of_template(p.single, p.special_tokens)
        around.pair = of_template(p.pair, p.special_tokens)
    end,
    BertProcessing = function(p, around)
        local cls, sep = ids_of(p)
        around.single, around.pair = { cls, "A", sep }, { cls, "A", sep, "B", sep }
    end,
    RobertaProcessing = function(p, around)
        local cls, sep = ids_of(p)
        around.single, around.pair = { cls, "A", sep }, { cls, "A", sep, sep, "B", sep }
        around.trim = steps.flag(p.trim_offsets, true)
        around.prefix_space = steps.flag(p.add_prefix_space, true)
    end,
    ByteLevel = function(p, around)
        around.trim = steps.flag(p.trim_offsets, true)
        around.prefix_space = steps.flag(p.add_prefix_space, true)
    end,
    Sequence = function(p, around)
        for _, each in ipairs(p.processors) do post.read(each, around) end
    end,
}

---@param described table|nil as in the file
---@param around? heed.text.tokenizer.Around
---@return heed.text.tokenizer.Around
function post.read(described, around)
    around = around or { single = { "A" }, pair = { "A", "B" } }
    if steps.absent(described) then return around end
    local read = processors[unknown.check(described, "table", "post_processor").type]
    if not read then unknown.kind("post_processor", described.type) end
    read(described, around)
    return around
end

return post
