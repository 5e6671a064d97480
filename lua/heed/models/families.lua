--- The families that are known: by config.json's model_type, the class in heed.models.

local Albert = require "heed.models.albert"
local Bart = require "heed.models.bart"
local Bert = require "heed.models.bert"
local Clip = require "heed.models.clip"
local DistilBert = require "heed.models.distilbert"
local Gemma = require "heed.models.gemma"
local GPT2 = require "heed.models.gpt2"
local Llama = require "heed.models.llama"
local Marian = require "heed.models.marian"
local MpNet = require "heed.models.mpnet"
local OpenNMT = require "heed.models.opennmt"
local Phi3 = require "heed.models.phi3"
local Roberta = require "heed.models.roberta"
local T5 = require "heed.models.t5"
local Vit = require "heed.models.vit"
local Whisper = require "heed.models.whisper"

local families = {}

---@type table<string, heed.models.Family>
families.by_type = {
    albert = Albert,
    bart = Bart,
    bert = Bert,
    clip = Clip,
    distilbert = DistilBert,
    gemma2 = Gemma,
    gemma3_text = Gemma,
    gpt2 = GPT2,
    llama = Llama,
    m2m_100 = Bart,
    marian = Bart,
    ["marian-nmt"] = Marian,
    mbart = Bart,
    mistral = Llama,
    mpnet = MpNet,
    mt5 = T5,
    opennmt = OpenNMT,
    phi3 = Phi3,
    qwen2 = Llama,
    qwen3 = Llama,
    roberta = Roberta,
    t5 = T5,
    vit = Vit,
    whisper = Whisper,
    ["xlm-roberta"] = Roberta,
}

---@type table<string, heed.models.Family>
families.classes = {
    Albert = Albert,
    Bart = Bart,
    Bert = Bert,
    Clip = Clip,
    DistilBert = DistilBert,
    Gemma = Gemma,
    GPT2 = GPT2,
    Llama = Llama,
    Marian = Marian,
    MpNet = MpNet,
    OpenNMT = OpenNMT,
    Phi3 = Phi3,
    Roberta = Roberta,
    T5 = T5,
    Vit = Vit,
    Whisper = Whisper,
}

---What a family's file gives: the architecture as a class, made of a config, and beside it
---@class heed.models.Family
---@field needs string[] what a config.json has to have
---@field config table what it leaves out
---@field types? table<string, table> what one of this model_type leaves out, beside that
---@field names table[] heed.models.weights.names
---@field names_of? fun(config: table): table[] where they depend on the config
---@field prefixes? string[] what files may have before all names
---@field read_beside? fun(model: heed.nn.Module, beside: heed.models.Beside) takes what it needs
---of what is beside the weights
---@field passed_over? string[] patterns of names in files that say nothing

---@class heed.models.Beside
---@field path string the directory, or the file
---@field config table
---@field tokenizer heed.Tokenizer|nil
---@field dtype heed.DType|nil of parameters

return families
