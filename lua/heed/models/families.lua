--- The families that are known: by config.json's model_type, the class in heed.models.

local Bart = require "heed.models.bart"
local Bert = require "heed.models.bert"
local Llama = require "heed.models.llama"
local Marian = require "heed.models.marian"
local OpenNMT = require "heed.models.opennmt"
local T5 = require "heed.models.t5"

local families = {}

---@type table<string, heed.models.Family>
families.by_type = {
    bart = Bart,
    bert = Bert,
    llama = Llama,
    m2m_100 = Bart,
    marian = Bart,
    ["marian-nmt"] = Marian,
    mbart = Bart,
    mt5 = T5,
    opennmt = OpenNMT,
    t5 = T5,
}

---@type table<string, heed.models.Family>
families.classes = {
    Bart = Bart,
    Bert = Bert,
    Llama = Llama,
    Marian = Marian,
    OpenNMT = OpenNMT,
    T5 = T5,
}

---What a family's file gives: the architecture as a class, made of a config, and beside it
---@class heed.models.Family
---@field config table what a config.json leaves out
---@field names table[] heed.models.names
---@field names_of? fun(config: table): table[] where they depend on the config
---@field prefixes? string[] what files may have before all names
---@field passed_over? string[] patterns of names in files that say nothing

return families
