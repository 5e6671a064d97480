--- The families that are known: by config.json's model_type, the class in heed.models.

local Bert = require "heed.models.bert"
local Gemma = require "heed.models.gemma"
local GPT2 = require "heed.models.gpt2"
local Llama = require "heed.models.llama"
local Phi3 = require "heed.models.phi3"

local families = {}

---@type table<string, heed.models.Family>
families.by_type = {
    bert = Bert,
    gemma2 = Gemma,
    gemma3_text = Gemma,
    gpt2 = GPT2,
    llama = Llama,
    mistral = Llama,
    phi3 = Phi3,
    qwen2 = Llama,
    qwen3 = Llama,
}

---@type table<string, heed.models.Family>
families.classes = {
    Bert = Bert,
    Gemma = Gemma,
    GPT2 = GPT2,
    Llama = Llama,
    Phi3 = Phi3,
}

---What a family's file gives: the architecture as a class, made of a config, and beside it
---@class heed.models.Family
---@field config table what a config.json leaves out
---@field types? table<string, table> what one of this model_type leaves out, beside that
---@field names table[] heed.models.names
---@field names_of? fun(config: table): table[] where they depend on the config
---@field prefixes? string[] what files may have before all names
---@field passed_over? string[] patterns of names in files that say nothing

return families
