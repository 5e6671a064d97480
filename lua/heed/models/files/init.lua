--- What a path may be: files of several programs, each opened as what Hugging Face's directories
--- are, a config and tensors.

local ctranslate2 = require "heed.models.files.ctranslate2"
local gguf = require "heed.models.files.gguf"
local huggingface = require "heed.models.files.huggingface"
local marian = require "heed.models.files.marian"
local opennmt = require "heed.models.files.opennmt"

local files = {}

---A file's tensors, whatever its form. Without info and into they are asked of `tensor`.
---@class heed.models.File
---@field names string[]
---@field has fun(name: string): boolean
---@field info? fun(name: string): heed.DType, integer[], boolean the dtype in which it is read, its
---sizes, and whether it takes no memory, because it stays in the file's pages
---@field tensor fun(name: string): heed.Tensor
---@field vocabulary? string where its tokenizer is, if it is not in the same place
---@field gguf? heed.gguf.File what was opened
---@field into? fun(name: string, t: heed.Tensor) writes it into a tensor of its dtype
---@field quantized? fun(name: string): heed.Tensor|false as a quantised weight, where it can be one
---@field called? fun(field: string): string what it calls a field of the config, where not so
---@field name_of? fun(name: string): string what `names` call it, where that is another name

-- The first whose `fits` says so; a Hugging Face directory is what is left.
local KINDS = { gguf, ctranslate2, marian, opennmt }

---@param path string
---@param map boolean in the file's pages, where they can be
---@return table config as it stands there
---@return heed.models.File
function files.open(path, map)
    for _, kind in ipairs(KINDS) do
        if kind.fits(path) then return kind.open(path, map) end
    end
    return huggingface.open(path, map)
end

return files
