--- What stands on an encoder's hidden states in files of a task: config.json's architectures says
--- which ("BertForMaskedLM").

local act = require("heed.nn.activation").by_name
local nn = require "heed.nn"
local unknown = require "heed.unknown"

local heads = {}

---Logits of the tokens: the embedding's rows once more, on transformed hidden states.
---@class heed.models.MaskedLMHead: heed.nn.Module
---@field dense heed.nn.Linear
---@field norm heed.nn.LayerNorm
---@field output heed.nn.Linear tied to the embedding
heads.MaskedLM = nn.Module:extend "MaskedLMHead"

---@param E integer features of hidden states
---@param words heed.nn.Embedding [V, D]
---@param options { activation: heed.Activation, eps: number, tied: boolean }
function heads.MaskedLM:init(E, words, options)
    local V, D = words.weight:size()
    self.activation = options.activation
    self.dense = nn.Linear(E, D)
    self.norm = nn.LayerNorm(D, { eps = options.eps })
    self.output = nn.Linear(D, V)
    if options.tied then self.output.weight = words.weight end
end

---@param hidden heed.Tensor [B, L, E]
---@return heed.Tensor logits [B, L, V]
function heads.MaskedLM:forward(hidden)
    return self.output(self.norm(act[self.activation](self.dense(hidden))))
end

---Logits of the classes of a text, from its first token.
---@class heed.models.SequenceClassificationHead: heed.nn.Module
---@field pooler heed.nn.Linear
---@field classifier heed.nn.Linear
heads.SequenceClassification = nn.Module:extend "SequenceClassificationHead"

---@param E integer
---@param count integer of classes
---@param activation heed.Activation
function heads.SequenceClassification:init(E, count, activation)
    self.activation = activation
    self.pooler = nn.Linear(E, E)
    self.classifier = nn.Linear(E, count)
end

---@param hidden heed.Tensor [B, L, E]
---@return heed.Tensor logits [B, count]
function heads.SequenceClassification:forward(hidden)
    return self.classifier(act[self.activation](self.pooler(hidden:select(2, 1))))
end

---Logits of the classes of each token.
---@class heed.models.TokenClassificationHead: heed.nn.Module
---@field labels heed.nn.Linear
heads.TokenClassification = nn.Module:extend "TokenClassificationHead"

---@param E integer
---@param count integer of classes
function heads.TokenClassification:init(E, count) self.labels = nn.Linear(E, count) end

---@param hidden heed.Tensor [B, L, E]
---@return heed.Tensor logits [B, L, count]
function heads.TokenClassification:forward(hidden) return self.labels(hidden) end

---How many classes a config has.
---@param c table config.json
---@return integer
function heads.count(c)
    if unknown.absent(c.id2label) then return c.num_labels or 2 end
    local count = 0
    for _ in pairs(c.id2label) do count = count + 1 end
    return count
end

---The head that a config asks for; nil when it is of hidden states alone.
---@param c table config.json
---@param E integer features of hidden states
---@param words heed.nn.Embedding
---@param options { activation: heed.Activation, eps: number, pooled: heed.Activation } pooled: of
---a text's classes
---@return heed.nn.Module|nil
function heads.of(c, E, words, options)
    local kind = not c.of_sentences and not unknown.absent(c.architectures)
        and tostring(c.architectures[1]):match "For(%w+)$"
    if kind == "MaskedLM" or kind == "PreTraining" then
        return heads.MaskedLM(E, words, { activation = options.activation, eps = options.eps,
            tied = c.tie_word_embeddings ~= false })
    elseif kind == "SequenceClassification" then
        return heads.SequenceClassification(E, heads.count(c), options.pooled)
    elseif kind == "TokenClassification" then
        return heads.TokenClassification(E, heads.count(c))
    end
end

return heads
