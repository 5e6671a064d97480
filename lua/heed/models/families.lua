--- The families that are known: by config.json's model_type, the class in heed.models.

local Bert = require "heed.models.bert"
local Llama = require "heed.models.llama"

local families = {}

---@type table<string, heed.models.Family>
families.by_type = {
    bert = Bert,
    llama = Llama,
}

---@type table<string, heed.models.Family>
families.classes = {
    Bert = Bert,
    Llama = Llama,
}

---What a family's file gives: the architecture as a class, made of a config, and beside it
---@class heed.models.Family
---@field config table what a config.json leaves out
---@field names table[] heed.models.names
---@field names_of? fun(config: table): table[] where they depend on the config
---@field prefixes? string[] what files may have before all names
---@field passed_over? string[] patterns of names in files that say nothing

return families
