--- What a tokenizer puts around the ids of a text, or of two: the post-processors of
--- tokenizer.json.

local unknown = require "heed.unknown"

local post = {}

---@class heed.text.tokenizer.Around
---@field single (integer|string)[] ids from 1, and "A" for those of the text
---@field pair (integer|string)[] "B" for those of the second
---@field trim boolean offsets leave out the spaces at a token's ends
---@field prefix_space boolean the first token's space was put there

local WHERE = "TemplateProcessing"

-- Which of the two texts.
local function text_of(part)
    local id = unknown.field(part, "id", "string", WHERE)
    if id ~= "A" and id ~= "B" then unknown.kind(WHERE .. ": Sequence", id) end
    return id
end

local function append_ids(list, special)
    for _, id in ipairs(unknown.field(special, "ids", "table", WHERE)) do
        if math.type(id) ~= "integer" then unknown.check(id, "integer", WHERE .. ": ids") end
        list[#list + 1] = id + 1
    end
end

local function of_template(pieces, specials)
    local list = {}
    for _, piece in ipairs(pieces) do
        unknown.check(piece, "table", WHERE)
        local part = unknown.optional(piece, "Sequence", "table", WHERE)
        if part then
            list[#list + 1] = text_of(part)
        else
            local name = unknown.field(unknown.field(piece, "SpecialToken", "table", WHERE), "id",
                "string", WHERE)
            append_ids(list, unknown.field(specials, name, "table", WHERE .. ": special_tokens"))
        end
    end
    return list
end

local function ids_of(p)
    local function id(name)
        return unknown.field(unknown.field(p, name, "table", p.type), 2, "integer", p.type) + 1
    end
    return id "cls", id "sep"
end

local processors
processors = {
    TemplateProcessing = function(p, around)
        local specials = unknown.optional(p, "special_tokens", "table", WHERE) or {}
        around.single = of_template(unknown.field(p, "single", "table", WHERE), specials)
        around.pair = of_template(unknown.field(p, "pair", "table", WHERE), specials)
    end,
    BertProcessing = function(p, around)
        local cls, sep = ids_of(p)
        around.single, around.pair = { cls, "A", sep }, { cls, "A", sep, "B", sep }
    end,
    RobertaProcessing = function(p, around)
        local cls, sep = ids_of(p)
        around.single, around.pair = { cls, "A", sep }, { cls, "A", sep, sep, "B", sep }
        around.trim = unknown.flag(p.trim_offsets, true)
        around.prefix_space = unknown.flag(p.add_prefix_space, true)
    end,
    ByteLevel = function(p, around)
        around.trim = unknown.flag(p.trim_offsets, true)
        around.prefix_space = unknown.flag(p.add_prefix_space, true)
    end,
    Sequence = function(p, around)
        local list = unknown.field(p, "processors", "table", "post_processor: Sequence")
        for _, each in ipairs(list) do post.read(each, around) end
    end,
}

---@param described table|nil as in the file
---@param around? heed.text.tokenizer.Around
---@return heed.text.tokenizer.Around
function post.read(described, around)
    around = around or { single = { "A" }, pair = { "A", "B" } }
    if unknown.absent(described) then return around end
    local read = processors[unknown.check(described, "table", "post_processor").type]
    if not read then unknown.kind("post_processor", described.type) end
    read(described, around)
    return around
end

return post
