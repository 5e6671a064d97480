--- What vocabularies with a fixed list of tokens share, of characters or of words: special tokens
--- first, then the list; and the way from a piece of text to its id and back.

local check = require "heed.check"
local errors = require "heed.errors"
local specials = require "heed.text.specials"

local vocabulary = { RESERVED = check.set("special", "names", "tokens", "ids") }

local CALL = check.set("bos", "eos")

---Makes self the vocabulary of these tokens.
---@param self table
---@param special_names string[]
---@param tokens string[] in the order of their ids, from the first behind the special ones
function vocabulary.fill(self, special_names, tokens)
    self.special, self.names, self.tokens, self.ids = {}, {}, {}, {}
    for id, name in ipairs(special_names) do
        self.special[name], self.names[id], self.tokens[id], self[name] = id, name, "", id
    end
    for _, token in ipairs(tokens) do
        self.tokens[#self.tokens + 1] = token
        self.ids[token] = #self.tokens
    end
    return self
end

---The tokens that are not special.
---@return string[]
function vocabulary.listed(self)
    return table.move(self.tokens, #self.names + 1, #self.tokens, 1, {})
end

---The ids of pieces of text. each(emit) calls emit for every piece.
---@param where string
---@param options { bos?: boolean, eos?: boolean }|nil
---@param each fun(emit: fun(piece: string))
---@return integer[]
function vocabulary.encode(self, where, options, each)
    if options then check.options(where, options, CALL) end
    local ids, known, unknown = {}, self.ids, self.unk
    if options and options.bos then ids[1] = specials.id(self, where, "bos") end
    each(function(piece)
        local id = known[piece] or unknown
        if not id then
            errors.raise("%s: text: %q is not in the vocabulary", where, piece)
        end
        ids[#ids + 1] = id
    end)
    if options and options.eos then ids[#ids + 1] = specials.id(self, where, "eos") end
    return ids
end

---The pieces of text of ids; that of a special token is empty.
---@param where string
---@param ids integer[]|heed.Tensor
---@return string[]
function vocabulary.pieces(self, where, ids)
    local out = {}
    for i, id in ipairs(specials.list(where, ids)) do
        out[i] = self.tokens[id]
        if not out[i] then
            errors.raise("%s: ids: expected tokens from 1 to %d, got %s at %d", where,
                #self.tokens, check.describe(id), i)
        end
    end
    return out
end

---One token as a person may read it.
---@param where string
---@param id integer
---@return string
function vocabulary.token(self, where, id)
    local token = self.tokens[id]
    if not token then
        errors.raise("%s: id: expected a token from 1 to %d, got %s", where, #self.tokens,
            check.describe(id))
    end
    return self.names[id] and "<" .. self.names[id] .. ">" or token
end

---Is this, which may come from a file, a list of at most so many tokens?
---@param list any
---@param most integer
---@return boolean
function vocabulary.is_list(list, most)
    if type(list) ~= "table" or rawlen(list) > most then return false end
    for _, token in ipairs(list) do
        if type(token) ~= "string" or token == "" then return false end
    end
    return true
end

---Becomes the vocabulary of a saved state.
---@param self table
---@param special_names string[]
---@param tokens string[]
function vocabulary.refill(self, special_names, tokens)
    for key in pairs(self) do self[key] = nil end
    vocabulary.fill(self, special_names, tokens)
end

return vocabulary
